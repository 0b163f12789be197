"""Reactive Aggregator, on FlatFAT: a binary tree over the ring of elements; every change climbs from leaf to root.

    paper     002 section 2.2 (Tangwongsan, Hirzel, Schneider, Wu: General incremental sliding-window aggregation, VLDB
              2015); "RA" in 000
    time      insert, evict, update log₂ N ⊕ for a ring of N ≥ n places; query 0 ⊕ where ⊕ commutes or the window does
              not run over the ring's end, else ≤ 2 log₂ N; a range ≤ 2 log₂ N. Worst O(n): the ring doubles and halves
    space     2N partials, N the power of two above n

                      Σ all                      inner nodes: left child ⊕ right child
                Σ 0..3     Σ 4..7
              0   1   2   3   4   5   6   7      leaves: position p at p mod N, the identity where there is none
              f   g   .   .   b   c   d   e      here the window b .. g runs over the end: Σ 4..7 ⊕ Σ 0..3

Invariant: every inner node is the sum of its children. Elements may come and go anywhere (`insert_at`, `evict_at`: the
nodes above each element that moves, once), any range can be asked for, and elements be replaced, many at once: each
node above them is then computed once.
"""

from __future__ import annotations

from typing import Any

from slidewise.kernels.jit import Jit
from slidewise.kernels.ops import Ops, once
from slidewise.kernels.registers import BASE, HEAD, MASK, MOVED, OWN, TAIL
from slidewise.kernels.sweep import Steps
from slidewise.monoids.laws import same
from slidewise.swag.card import Card
from slidewise.swag.dyadic import cover_of
from slidewise.swag.positional import NonFifo, Ranged, Ranges

FIRST, NEXT = OWN + 1, OWN + 2
"""Leaves of positions [FIRST, NEXT) hold elements; all others hold the identity."""


class Reactive(NonFifo, Ranged):
    """Logarithmic time for anything: FIFO or not, whole window or part, and changes in place."""

    card = Card(
        name="reactive",
        full_name="Reactive Aggregator (FlatFAT)",
        paper="VLDB 2015",
        ordering="any",
        needs="associative",
        amortized="O(log n)",
        worst="O(n)",
        bulk_evict="O(log n) each",
        space="2N, N = 2^⌈log n⌉",
        local_size="2N",
        custom_policy="head by head",
        external_store=False,
    )
    own = 3
    scratch = 1

    @staticmethod
    def build(ops: Ops, jit: Jit) -> Steps:
        load, identity, commutes = ops.load, ops.identity, ops.monoid.commutative
        put, rebuild, cover = _put(ops, jit), _rebuild(ops, jit), cover_of(ops, jit)

        def clear(cols: Any, R: Any) -> None:
            if not R[MOVED]:
                for p in range(R[FIRST], R[NEXT]):
                    put(cols, R, p, identity)
            R[FIRST] = R[HEAD]
            R[NEXT] = R[HEAD]

        def insert(cols: Any, R: Any, p: Any) -> None:
            if R[MOVED]:
                rebuild(cols, R)
            tail = R[TAIL]
            put(cols, R, tail, p)
            R[TAIL] = tail + 1
            R[NEXT] = tail + 1

        def evict(cols: Any, R: Any) -> None:
            if R[MOVED]:
                rebuild(cols, R)
            head = R[HEAD]
            put(cols, R, head, identity)
            R[HEAD] = head + 1
            R[FIRST] = head + 1

        def query(cols: Any, R: Any) -> Any:
            if R[MOVED]:
                rebuild(cols, R)
            head, tail, mask = R[HEAD], R[TAIL], R[MASK]
            if head == tail:
                return identity
            if commutes or (head & mask) <= ((tail - 1) & mask):
                return load(cols, R[BASE] + mask + 2)
            return cover(cols, R, head, tail)

        return Steps(jit(clear), jit(insert), jit(evict), jit(query))

    @staticmethod
    def ranges(ops: Ops, jit: Jit) -> Ranges:
        combine, load, store = ops.combine, ops.load, ops.store
        rebuild, cover = _rebuild(ops, jit), cover_of(ops, jit)

        def query(cols: Any, R: Any, first: int, last: int) -> Any:
            if R[MOVED]:
                rebuild(cols, R)
            return cover(cols, R, first, last)

        def update(cols: Any, R: Any, positions: Any, fresh: Any) -> None:
            if R[MOVED]:
                rebuild(cols, R)
            base, size = R[BASE], R[MASK] + 1
            wrap = 2 * size - 1
            for k in range(len(positions)):
                store(cols, base + (positions[k] & R[MASK]), load(fresh, k))
            level = 1
            while size >> level:
                done = -1
                for k in range(len(positions)):
                    h = ((positions[k] & R[MASK]) + size) >> level
                    if h != done:  # positions ascend, so nodes that two of them share come together
                        left = load(cols, base + ((2 * h + size) & wrap))
                        right = load(cols, base + ((2 * h + 1 + size) & wrap))
                        store(cols, base + size + h, combine(left, right))
                        done = h
                level += 1

        return Ranges(jit(query), jit(update))

    def check(self) -> None:
        super().check()
        slack = self._slack()
        if self.register(MOVED):
            return
        base, size = self.register(BASE), self.register(MASK) + 1
        head, tail = self.register(HEAD), self.register(TAIL)
        live = {p & (size - 1) for p in range(head, tail)}
        for place in set(range(size)) - live:
            assert same(self._at(base + place), self.monoid.identity, 0.0), "a leaf without element is neutral"
        for h in range(1, size):
            left, right = (self._at(base + ((child + size) & (2 * size - 1))) for child in (2 * h, 2 * h + 1))
            assert same(self._at(base + size + h), self.monoid.combine(left, right), slack), "a node sums its children"

    def _moved(self, positions: range) -> None:
        tail = self.register(TAIL)
        self._bank.regs[0][NEXT] = tail
        self._change([(p, self._at(self._place(p)) if p < tail else self._ops.identity) for p in positions])


@once
def _put(ops: Ops, jit: Jit) -> Any:
    """Set a leaf and climb: every node above it anew, log₂ N ⊕."""
    combine, load, store = ops.combine, ops.load, ops.store

    def put(cols: Any, R: Any, position: int, p: Any) -> None:
        base, mask = R[BASE], R[MASK]
        size = mask + 1
        wrap = size + mask
        store(cols, base + (position & mask), p)
        h = (size + (position & mask)) >> 1
        while h:
            left, right = load(cols, base + ((2 * h + size) & wrap)), load(cols, base + ((2 * h + 1 + size) & wrap))
            store(cols, base + size + h, combine(left, right))
            h >>= 1

    return jit(put)


@once
def _rebuild(ops: Ops, jit: Jit) -> Any:
    """After the ring was moved: neutral leaves where there is no element, then every node from the bottom up."""
    combine, load, store, identity = ops.combine, ops.load, ops.store, ops.identity

    def rebuild(cols: Any, R: Any) -> None:
        base, mask, head = R[BASE], R[MASK], R[HEAD]
        size = mask + 1
        wrap = size + mask
        for k in range(R[TAIL] - head, size):
            store(cols, base + ((head + k) & mask), identity)
        for h in range(mask, 0, -1):
            left, right = load(cols, base + ((2 * h + size) & wrap)), load(cols, base + ((2 * h + 1 + size) & wrap))
            store(cols, base + size + h, combine(left, right))
        R[FIRST] = head
        R[NEXT] = R[TAIL]
        R[MOVED] = 0

    return jit(rebuild)
