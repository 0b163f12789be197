"""Two-Stacks: a queue of two stacks whose entries hold their element and the sum of all below them.

    paper     001 figure 1
    time      insert 1 ⊕, query 1 ⊕; evict 0 ⊕, but n when the front runs out: amortized O(1), worst O(n)
    space     2n partials

    place     HEAD                MID                 TAIL
    vals      [ x    x    x    x ][ x    x    x    x ]
    aggs      [ Σ──────────────► ][ ◄──────────────Σ ]
                front: p holds        back: p holds
                x_p ⊕ .. ⊕ x_(MID-1)  x_MID ⊕ .. ⊕ x_p

Invariant: the tops of the stacks are aggs[HEAD] and aggs[TAIL - 1], and the window is their sum, older ⊕ newer. An
evict that finds the front empty pops the back onto the front (the flip), newest first, so order is kept.
"""

from __future__ import annotations

from typing import Any

from slidewise.kernels.jit import Jit
from slidewise.kernels.ops import Ops
from slidewise.kernels.registers import BASE, HEAD, MASK, OWN, TAIL
from slidewise.kernels.sweep import Steps
from slidewise.monoids.laws import same
from slidewise.swag.card import Card
from slidewise.swag.structure import Structure

MID = OWN


class TwoStacks(Structure):
    """Amortized constant time per step for any monoid, as first published; `two_stacks_lite` needs half the room."""

    card = Card(
        name="two_stacks",
        full_name="Two-Stacks",
        paper="DABA 2017, fig. 1",
        ordering="FIFO",
        needs="associative",
        amortized="O(1)",
        worst="O(n)",
        bulk_evict="O(n)",
        space="2n",
        local_size="2n",
        custom_policy="head by head",
        external_store=False,
    )
    own = 1
    planes = 2

    @staticmethod
    def build(ops: Ops, jit: Jit) -> Steps:
        combine, load, store, identity = ops.combine, ops.load, ops.store, ops.identity

        def clear(cols: Any, R: Any) -> None:
            R[MID] = R[HEAD]

        def insert(cols: Any, R: Any, p: Any) -> None:
            tail, mask = R[TAIL], R[MASK]
            vals = R[BASE]
            aggs = vals + mask + 1
            below = identity
            if tail > R[MID]:
                below = load(cols, aggs + ((tail - 1) & mask))
            store(cols, vals + (tail & mask), p)
            store(cols, aggs + (tail & mask), combine(below, p))
            R[TAIL] = tail + 1

        def evict(cols: Any, R: Any) -> None:
            head = R[HEAD]
            if head == R[MID]:
                tail, mask = R[TAIL], R[MASK]
                vals = R[BASE]
                aggs = vals + mask + 1
                total = identity
                for k in range(tail - 1, head - 1, -1):
                    total = combine(load(cols, vals + (k & mask)), total)
                    store(cols, aggs + (k & mask), total)
                R[MID] = tail
            R[HEAD] = head + 1

        def query(cols: Any, R: Any) -> Any:
            head, mid, tail, mask = R[HEAD], R[MID], R[TAIL], R[MASK]
            aggs = R[BASE] + mask + 1
            front = identity
            if head < mid:
                front = load(cols, aggs + (head & mask))
            back = identity
            if mid < tail:
                back = load(cols, aggs + ((tail - 1) & mask))
            return combine(front, back)

        return Steps(jit(clear), jit(insert), jit(evict), jit(query))

    def check(self) -> None:
        super().check()
        registers, partials, _ = self.state()
        head, tail, mid = registers[0], registers[1], registers[MID - HEAD]
        n, front = tail - head, mid - head
        assert head <= mid <= tail, "the front ends inside the window"
        vals, aggs = partials[:n], partials[n : 2 * n]
        total = self.monoid.identity
        for k in range(front - 1, -1, -1):
            total = self.monoid.combine(vals[k], total)
            assert same(aggs[k], total, 1e-6), "a front entry sums up to MID"
        total = self.monoid.identity
        for k in range(front, n):
            total = self.monoid.combine(total, vals[k])
            assert same(aggs[k], total, 1e-6), "a back entry sums from MID"
