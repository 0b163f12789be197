"""FlatFIT: every element points to the end of the stretch that its partial already covers.

    paper     002 algorithm 1, section 3.3
    time      insert and evict 0 ⊕; query 1 or 2 ⊕, and n − 1 once in n + 1 slides (the reset): 3(n − 1) ⊕ per n + 1
              slides, so amortized O(1), worst O(n). Queries of all n ranges at every slide: n − 1 ⊕ per slide
    space     n elements, n partials, n pointers

    position   0     1     2     3     4     5     TAIL = 6
    value      a     b     c     d     e     f
    partial    a     bcd   cd    d     ef    f             bcd: elements 1 to 3, at position 1
    pointer    1     4     4     4     6     6             from 1 one jump to 4, from there one to TAIL

Invariant: partial[p] = value[p] ⊕ .. ⊕ value[pointer[p] - 1], and p < pointer[p] ≤ TAIL. A query jumps from the oldest
element to TAIL and comes back, older ⊕ newer; on the way back each visited partial is extended to TAIL.

Where it departs from the paper: (1) lines 38 and 43 write newer ⊕ older; here older is first, as order must be kept.
(2) The Positions stack is threaded through the pointers: on the way out each visited pointer is turned to where one
came from, on the way back to TAIL, so no visit, the reset included, needs a stack. (3) The oldest position is extended
too: the paper leaves it out, since its window always slides on; with it a range asked again costs no ⊕, and queries of
all ranges cost the n − 1 ⊕ of table 1. (4) Elements are kept beside the partials, so that `update` can rebuild what
covered an element, and ranges that do not end at TAIL can be answered: these two cost O(n).
"""

from __future__ import annotations

from typing import Any

from slidewise.kernels.jit import Jit
from slidewise.kernels.ops import Ops, once
from slidewise.kernels.registers import BASE, HEAD, MASK, TAIL
from slidewise.kernels.sweep import Steps
from slidewise.monoids.laws import same
from slidewise.swag.card import Card
from slidewise.swag.positional import Ranged, Ranges


class FlatFIT(Ranged):
    """Amortized constant time, and the cheapest where many windows that end now are asked for."""

    card = Card(
        name="flatfit",
        full_name="Flat and Fast Index Traverser",
        paper="FlatFIT 2017",
        ordering="FIFO",
        needs="associative",
        amortized="O(1)",
        worst="O(n)",
        bulk_evict="O(1) each",
        space="2n + n pointers",
        local_size="2n + n pointers",
        custom_policy="head by head",
        external_store=False,
    )
    planes = 2
    links = 1

    @staticmethod
    def build(ops: Ops, jit: Jit) -> Steps:
        identity, store, traverse = ops.identity, ops.store, _traverse(ops, jit)

        def clear(cols: Any, R: Any) -> None:
            pass

        def insert(cols: Any, R: Any, p: Any) -> None:
            tail, mask = R[TAIL], R[MASK]
            place = R[BASE] + (tail & mask)
            store(cols, place, p)
            store(cols, place + mask + 1, p)
            cols[-1][place] = tail + 1
            R[TAIL] = tail + 1

        def evict(cols: Any, R: Any) -> None:
            R[HEAD] += 1

        def query(cols: Any, R: Any) -> Any:
            if R[HEAD] == R[TAIL]:
                return identity
            return traverse(cols, R, R[HEAD])

        return Steps(jit(clear), jit(insert), jit(evict), jit(query))

    @staticmethod
    def ranges(ops: Ops, jit: Jit) -> Ranges:
        combine, load, store, identity = ops.combine, ops.load, ops.store, ops.identity
        traverse = _traverse(ops, jit)

        def query(cols: Any, R: Any, first: int, last: int) -> Any:
            if last == R[TAIL]:
                return traverse(cols, R, first)
            base, mask = R[BASE], R[MASK]
            total = identity
            while first < last:
                place = base + (first & mask)
                beyond = cols[-1][place]
                if beyond <= last:
                    total = combine(total, load(cols, place + mask + 1))
                    first = beyond
                else:
                    total = combine(total, load(cols, place))
                    first += 1
            return total

        def update(cols: Any, R: Any, positions: Any, fresh: Any) -> None:
            base, mask = R[BASE], R[MASK]
            for k in range(len(positions)):
                store(cols, base + (positions[k] & mask), load(fresh, k))
            for p in range(R[HEAD], positions[len(positions) - 1] + 1):  # whatever may cover one of them
                place = base + (p & mask)
                if cols[-1][place] > positions[0]:
                    store(cols, place + mask + 1, load(cols, place))
                    cols[-1][place] = p + 1

        return Ranges(jit(query), jit(update))

    def check(self) -> None:
        super().check()
        slack = self._slack()
        registers, partials, pointers = self.state()
        head, tail = registers[0], registers[1]
        n = tail - head
        values, partials = partials[:n], partials[n : 2 * n]
        oldest: dict[int, int] = {}
        for k, pointer in enumerate(pointers[:n]):
            assert head + k < pointer <= tail, "a pointer goes forward, inside the window"
            oldest.setdefault(pointer, k)
        for pointer, first in oldest.items():
            total = self.monoid.identity
            for k in range(pointer - head - 1, first - 1, -1):
                total = self.monoid.combine(values[k], total)
                covers = pointers[k] != pointer or same(partials[k], total, slack)
                assert covers, "a partial covers what its pointer skips"


@once
def _traverse(ops: Ops, jit: Jit) -> Any:
    """The query from a position to TAIL: out along the pointers, back along the same way, extending each to TAIL."""
    combine, load, store = ops.combine, ops.load, ops.store

    def traverse(cols: Any, R: Any, first: int) -> Any:
        base, mask, tail = R[BASE], R[MASK], R[TAIL]
        partials = base + mask + 1
        p = first
        beyond = cols[-1][base + (p & mask)]
        before = first
        while beyond < tail:
            cols[-1][base + (p & mask)] = before
            before = p
            p = beyond
            beyond = cols[-1][base + (p & mask)]
        answer = load(cols, partials + (p & mask))
        while p != first:
            p = before
            before = cols[-1][base + (p & mask)]
            cols[-1][base + (p & mask)] = tail
            answer = combine(load(cols, partials + (p & mask)), answer)
            store(cols, partials + (p & mask), answer)
        return answer

    return jit(traverse)
