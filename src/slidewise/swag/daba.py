"""DABA, the De-Amortized Banker's Aggregator: Two-Stacks whose flip is spread over the steps before it is needed.

    paper     001 figures 8 to 12
    time      query 1 ⊕, insert ≤ 4 ⊕, evict ≤ 3 ⊕, always; insert + evict 4.0 ⊕ on average: worst O(1)
              `cached=True`: insert ≤ 3, evict ≤ 2, together 3.0 on average
    space     2n partials in chunks (swag/chunked_queue.py); one more if cached

              F           L           R           A           B           E
    vals      x  x  x  x  x  x  x  x  x  x  x  x  x  x  x  x  x  x  x  x
    aggs      ──────────────────────────────────────────────►                  F .. L: to the end of the front
                          ──────────►                                          L .. R: to R
                                      ◄───────────                             R .. A: from R
                                                  ──────────►                  A .. B: to the end of the front
                                                              ◄────────────    B .. E: from B
              └──────────────────── front ───────────────────┘└─── back ───┘

Invariant: aggs as drawn, F ≤ L ≤ R ≤ A ≤ B ≤ E, and either the window is empty or
|L..R| + |R..A| + |A..B| + 1 = |F..B| − |B..E| and |L..R| = |R..A|: what is left of the reversal fits in the steps
that are left until it must be done. Each insert and evict does one step of it (`fixup`): shrink takes the outermost
elements of L..R and R..A to their final sums, shift moves on through A..B, which has them already; when all three are
empty, flip begins the next reversal: front and back become L..R and R..A. In the long run (shrink⁺ shift⁺ flip)*.

The cached variant keeps Σ of R .. B apart. It does not change between flips, so a shrink needs two ⊕ in place of three.
"""

from __future__ import annotations

from functools import reduce
from itertools import accumulate
from typing import Any

from slidewise.kernels.jit import Jit
from slidewise.kernels.ops import Ops
from slidewise.kernels.registers import BASE, HEAD, TAIL
from slidewise.kernels.sweep import Steps
from slidewise.monoids.laws import same
from slidewise.monoids.monoid import Monoid
from slidewise.swag.card import Card
from slidewise.swag.chunked_queue import CHUNK, END, FRONT, Chunked, queue_of

LEFT, RIGHT, ACCUMULATED, BACK, CACHED = range(END + 1, END + 6)


class Daba(Chunked):
    """Constant time at every single step, for any monoid: for latency. `cached=True` spares a ⊕ in every other step."""

    card = Card(
        name="daba",
        full_name="De-Amortized Banker's Aggregator",
        paper="DABA 2017, fig. 8 to 12",
        ordering="FIFO",
        needs="associative",
        amortized="O(1)",
        worst="O(1)",
        bulk_evict="O(1) each",
        space="2n",
        local_size="2n",
        custom_policy="head by head",
        external_store=False,
    )
    planes = 2
    extra = 1
    own = 7
    pointers = 4

    def __init__(
        self,
        monoid: Monoid,
        capacity: int | None = None,
        *,
        types: tuple[str, ...] | None = None,
        arity: int = 1,
        heads: bool = False,
        cached: bool = False,
    ) -> None:
        super().__init__(monoid, capacity, types=types, arity=arity, heads=heads)
        self._bank.regs[0][CACHED] = int(cached)

    @staticmethod
    def build(ops: Ops, jit: Jit) -> Steps:
        combine, load, store, identity = ops.combine, ops.load, ops.store, ops.identity
        after, before = queue_of(ops, jit)

        def fixup(cols: Any, R: Any) -> None:
            end = R[END]
            if R[FRONT] == R[BACK]:  # a single element, or none
                R[LEFT] = end
                R[RIGHT] = end
                R[ACCUMULATED] = end
                R[BACK] = end
                return
            if R[LEFT] == R[BACK]:  # flip
                if R[CACHED]:
                    newer = identity
                    if R[BACK] != end:
                        newer = load(cols, before(cols, end) + CHUNK)
                    store(cols, R[BASE] - 1, newer)
                R[LEFT] = R[FRONT]
                R[ACCUMULATED] = end
                R[BACK] = end
            if R[LEFT] == R[RIGHT]:  # shift
                R[ACCUMULATED] = after(cols, R[ACCUMULATED])
                R[RIGHT] = after(cols, R[RIGHT])
                R[LEFT] = R[RIGHT]
            else:  # shrink
                left, accumulated = R[LEFT], R[ACCUMULATED]
                last = before(cols, accumulated)
                sum_a = identity
                if accumulated != R[BACK]:
                    sum_a = load(cols, accumulated + CHUNK)
                total = load(cols, left + CHUNK)
                if R[CACHED]:
                    total = combine(total, load(cols, R[BASE] - 1))
                else:
                    total = combine(combine(total, load(cols, last + CHUNK)), sum_a)
                store(cols, left + CHUNK, total)
                R[LEFT] = after(cols, left)
                store(cols, last + CHUNK, combine(load(cols, last), sum_a))
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

        def insert(cols: Any, R: Any, p: Any) -> None:
            end = R[END]
            newer = identity
            if R[BACK] != end:
                newer = load(cols, before(cols, end) + CHUNK)
            store(cols, end, p)
            store(cols, end + CHUNK, combine(newer, p))
            R[END] = after(cols, end)
            R[TAIL] += 1
            fixup(cols, R)

        def evict(cols: Any, R: Any) -> None:
            R[FRONT] = after(cols, R[FRONT])
            R[HEAD] += 1
            fixup(cols, R)

        def query(cols: Any, R: Any) -> Any:
            end = R[END]
            older, newer = identity, identity
            if R[FRONT] != R[BACK]:
                older = load(cols, R[FRONT] + CHUNK)
            if R[BACK] != end:
                newer = load(cols, before(cols, end) + CHUNK)
            return combine(older, newer)

        return Steps(jit(clear), jit(insert), jit(evict), jit(query))

    def check(self) -> None:
        super().check()
        slack = self._slack()
        n = len(self)
        _, partials, _ = self.state()
        vals, aggs, cached = partials[:n], partials[n : 2 * n], partials[-1]
        f, left, right, acc, back, end = self.positions()
        assert f == 0 <= left <= right <= acc <= back <= end == n, "F ≤ L ≤ R ≤ A ≤ B ≤ E"
        if n:
            assert (right - left) + (acc - right) + (back - acc) + 1 == back - (end - back), "first size invariant"
            assert right - left == acc - right, "second size invariant"
        combine = self.monoid.combine
        for first, last, to in ((f, left, back), (left, right, right), (acc, back, back)):
            sums = list(accumulate(reversed(vals[first:to]), lambda newer, older: combine(older, newer)))[::-1]
            assert same(aggs[first:last], sums[: last - first], slack), "sums up to B, R and B"
        for first, last in ((right, acc), (back, end)):
            assert same(aggs[first:last], list(accumulate(vals[first:last], combine)), slack), "sums from R and B on"
        if self._bank.regs[0][CACHED] and left < right:
            assert same(cached, reduce(combine, vals[right:back]), slack), "the cached sum is that of R .. B"
