"""Two-Stacks Lite: a queue of two stacks, each partial kept once.

    paper     Tangwongsan, Hirzel, Schneider: In-order sliding-window aggregation in worst-case constant time,
              VLDB Journal 2021 (after the Two-Stacks of 001, figure 1)
    time      insert 1 ⊕; query ≤ 1 ⊕; evict 0 ⊕, but n − 1 when the front runs out: amortized O(1), worst O(n)
    space     n + 1 partials

    place     HEAD                MID                 TAIL
              [ Σ..  Σ..  Σ..  x ][ x    x    x    x ]
                front: position p     back: lifted values, their sum
                holds x_p ⊕ .. ⊕ x_(MID-1)    kept apart in BACK

Invariant: the window is front[HEAD] ⊕ BACK. An evict that finds the front empty turns the back into a front (the flip):
one pass from the newest to the oldest, older ⊕ newer throughout, so order is kept.
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


class TwoStacksLite(Structure):
    """Amortized constant time per step, n + 1 partials, any monoid: the default."""

    card = Card(
        name="two_stacks_lite",
        full_name="Two-Stacks Lite",
        paper="VLDBJ 2021",
        ordering="FIFO",
        needs="associative",
        amortized="O(1)",
        worst="O(n)",
        bulk_evict="O(n)",
        space="n + 1",
        local_size="n + 1",
        custom_policy="head by head",
        external_store=False,
    )
    own = 1
    extra = 1

    @staticmethod
    def build(ops: Ops, jit: Jit) -> Steps:
        combine, load, store, identity = ops.combine, ops.load, ops.store, ops.identity

        def clear(cols: Any, R: Any) -> None:
            R[MID] = R[HEAD]
            store(cols, R[BASE] - 1, identity)

        def insert(cols: Any, R: Any, p: Any) -> None:
            tail = R[TAIL]
            back = R[BASE] - 1
            store(cols, R[BASE] + (tail & R[MASK]), p)
            store(cols, back, combine(load(cols, back), p))
            R[TAIL] = tail + 1

        def evict(cols: Any, R: Any) -> None:
            head = R[HEAD]
            if head == R[MID]:
                base, mask, tail = R[BASE], R[MASK], R[TAIL]
                total = load(cols, base + ((tail - 1) & mask))
                for k in range(tail - 2, head, -1):
                    total = combine(load(cols, base + (k & mask)), total)
                    store(cols, base + (k & mask), total)
                store(cols, base - 1, identity)
                R[MID] = tail
            R[HEAD] = head + 1

        def query(cols: Any, R: Any) -> Any:
            back = load(cols, R[BASE] - 1)
            if R[HEAD] == R[MID]:
                return back
            return combine(load(cols, R[BASE] + (R[HEAD] & R[MASK])), back)

        return Steps(jit(clear), jit(insert), jit(evict), jit(query))

    def check(self) -> None:
        super().check()
        slack = self._slack()
        registers, partials, _ = self.state()
        head, tail, mid = registers[0], registers[1], registers[MID - HEAD]
        assert head <= mid <= tail, "the front ends inside the window"
        total = self.monoid.identity
        for partial in partials[mid - head : tail - head]:
            total = self.monoid.combine(total, partial)
        assert same(partials[-1], total, slack), "BACK is the sum of the back stack"
