"""DABA Lite: DABA with every element kept once, and two sums apart.

    paper     Tangwongsan, Hirzel, Schneider: In-order sliding-window aggregation in worst-case constant time,
              VLDB Journal 2021
    time      query 1 ⊕, insert ≤ 3 ⊕, evict ≤ 2 ⊕, always; insert + evict 3.0 ⊕ on average: worst O(1)
    space     n + 2 partials in chunks (swag/chunked_queue.py)

              F           L           R           A           B           E
    deque     ──────────────────────────────────────────────►                  F .. L: to the end of the front
                          ──────────►                                          L .. R: to R
                                       x  x  x  x                              R .. A: elements
                                                  ──────────►                  A .. B: to the end of the front
                                                               x  x  x  x      B .. E: elements
    SUM_RB                            └──────── Σ ──────────┘
    SUM_BACK                                                  └──── Σ ────┘

Invariant: the deque and the two sums as drawn (SUM_RB while L..R is not empty), with the size invariants of DABA:
either the window is empty or |L..R| + |R..A| + |A..B| + 1 = |F..B| − |B..E| and |L..R| = |R..A|. Steps as in
swag/daba.py. The sum over R .. B is that of the back when it was flipped, so it costs nothing.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

from slidewise.kernels.jit import Jit
from slidewise.kernels.ops import Ops
from slidewise.kernels.registers import BASE, HEAD, TAIL
from slidewise.kernels.sweep import Steps
from slidewise.monoids.laws import same
from slidewise.swag.card import Card
from slidewise.swag.chunked_queue import END, FRONT, Chunked, queue_of

LEFT, RIGHT, ACCUMULATED, BACK = range(END + 1, END + 5)


class DabaLite(Chunked):
    """Constant time at every single step, with half the partials of DABA."""

    card = Card(
        name="daba_lite",
        full_name="DABA Lite",
        paper="VLDBJ 2021",
        ordering="FIFO",
        needs="associative",
        amortized="O(1)",
        worst="O(1)",
        bulk_evict="O(1) each",
        space="n + 2",
        local_size="n + 2",
        custom_policy="head by head",
        external_store=False,
    )
    extra = 2
    own = 6
    pointers = 4

    @staticmethod
    def build(ops: Ops, jit: Jit) -> Steps:
        combine, load, store, identity = ops.combine, ops.load, ops.store, ops.identity
        after, before = queue_of(ops, jit)

        def fixup(cols: Any, R: Any) -> None:
            end, sum_back, sum_rb = R[END], R[BASE] - 1, R[BASE] - 2
            if R[FRONT] == R[BACK]:  # a single element, or none
                R[LEFT] = end
                R[RIGHT] = end
                R[ACCUMULATED] = end
                R[BACK] = end
                store(cols, sum_back, identity)
                return
            if R[LEFT] == R[BACK]:  # flip
                R[LEFT] = R[FRONT]
                R[ACCUMULATED] = end
                R[BACK] = end
                store(cols, sum_rb, load(cols, sum_back))
                store(cols, sum_back, identity)
            if R[LEFT] == R[RIGHT]:  # shift
                R[ACCUMULATED] = after(cols, R[ACCUMULATED])
                R[RIGHT] = after(cols, R[RIGHT])
                R[LEFT] = R[RIGHT]
            else:  # shrink
                left, accumulated = R[LEFT], R[ACCUMULATED]
                last = before(cols, accumulated)
                sum_a = identity
                if accumulated != R[BACK]:
                    sum_a = load(cols, accumulated)
                store(cols, left, combine(load(cols, left), load(cols, sum_rb)))
                R[LEFT] = after(cols, left)
                store(cols, last, combine(load(cols, last), sum_a))
                R[ACCUMULATED] = last

        fixup = jit(fixup)

        def clear(cols: Any, R: Any) -> None:
            end = R[END]
            R[FRONT] = end
            R[LEFT] = end
            R[RIGHT] = end
            R[ACCUMULATED] = end
            R[BACK] = end
            store(cols, R[BASE] - 1, identity)
            store(cols, R[BASE] - 2, identity)

        def insert(cols: Any, R: Any, p: Any) -> None:
            end, sum_back = R[END], R[BASE] - 1
            store(cols, end, p)
            store(cols, sum_back, combine(load(cols, sum_back), p))
            R[END] = after(cols, end)
            R[TAIL] += 1
            fixup(cols, R)

        def evict(cols: Any, R: Any) -> None:
            R[FRONT] = after(cols, R[FRONT])
            R[HEAD] += 1
            fixup(cols, R)

        def query(cols: Any, R: Any) -> Any:
            older = identity
            if R[FRONT] != R[BACK]:
                older = load(cols, R[FRONT])
            return combine(older, load(cols, R[BASE] - 1))

        return Steps(jit(clear), jit(insert), jit(evict), jit(query))

    def check(self) -> None:
        super().check()
        n = len(self)
        _, partials, _ = self.state()
        deque, sum_back, sum_rb = partials[:n], partials[n], partials[n + 1]
        f, left, right, acc, back, end = self.positions()
        assert f == 0 <= left <= right <= acc <= back <= end == n, "F ≤ L ≤ R ≤ A ≤ B ≤ E"
        if n:
            assert (right - left) + (acc - right) + (back - acc) + 1 == back - (end - back), "first size invariant"
            assert right - left == acc - right, "second size invariant"
        combine, identity = self.monoid.combine, self.monoid.identity
        assert same(sum_back, reduce(combine, deque[back:], identity), 1e-6), "SUM_BACK is the back's"
        if left < right:
            rest = reduce(combine, deque[right : min(acc + 1, back)])
            assert same(sum_rb, rest, 1e-6), "SUM_RB is that of R .. B"
