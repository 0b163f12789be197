"""B-Int: base intervals. An insert finishes the dyadic intervals that end at it, and touches no other.

    paper     002 section 2.2 (Arasu, Widom: Resource sharing in continuous sliding-window aggregates, VLDB 2004)
    time      insert < 1 ⊕ on average, ≤ log₂ N; evict 0 ⊕; query and range ≤ 2 log₂ N ⊕; update ≤ log₂ N ⊕.
              Worst O(n): the ring doubles and halves
    space     2N partials, N the power of two above n

    level 3   [───────────────────────────────]
    level 2   [───────────────][───────────────]        an interval of level l covers 2^l elements
    level 1   [───────][───────][───────][──────   ·    this one waits for its last element
    level 0   [───][───][───][───][───][───][───]  ·
    position    0    1    2    3    4    5    6    7

Invariant: an interval that lies wholly inside the window is the sum of its two halves. An interval that reaches beyond
the oldest element, or has not ended, holds nothing that is ever read: evictions and half-done intervals cost nothing,
where FlatFAT keeps every node above a change right; a query has more to combine instead.
"""

from __future__ import annotations

from typing import Any

from slidewise.kernels.jit import Jit
from slidewise.kernels.ops import Ops, once
from slidewise.kernels.registers import BASE, HEAD, MASK, MOVED, TAIL
from slidewise.kernels.sweep import Steps
from slidewise.monoids.laws import same
from slidewise.swag.card import Card
from slidewise.swag.dyadic import cover_of, finish_of, node
from slidewise.swag.positional import Ranged, Ranges


class BInt(Ranged):
    """Logarithmic queries over any range, cheap inserts, free evictions."""

    card = Card(
        name="b_int",
        full_name="Base Intervals",
        paper="VLDB 2004",
        ordering="FIFO",
        needs="associative",
        amortized="O(log n)",
        worst="O(n)",
        bulk_evict="O(1) each",
        space="2N, N = 2^⌈log n⌉",
        local_size="2N",
        custom_policy="head by head",
        external_store=False,
    )
    own = 1
    scratch = 1

    @staticmethod
    def build(ops: Ops, jit: Jit) -> Steps:
        store = ops.store
        finish, rebuild, cover = finish_of(ops, jit), _rebuild(ops, jit), cover_of(ops, jit)

        def clear(cols: Any, R: Any) -> None:
            pass

        def insert(cols: Any, R: Any, p: Any) -> None:
            if R[MOVED]:
                rebuild(cols, R)
            tail = R[TAIL]
            store(cols, R[BASE] + (tail & R[MASK]), p)
            R[TAIL] = tail + 1
            level = 1
            # One bit of tail + 1 after the other: the intervals that end here, as far as they lie in the window.
            while ((tail + 1) >> level) << level == tail + 1 and tail + 1 - (1 << level) >= R[HEAD]:
                finish(cols, R, level, tail >> level)
                level += 1

        def evict(cols: Any, R: Any) -> None:
            R[HEAD] += 1

        def query(cols: Any, R: Any) -> Any:
            if R[MOVED]:
                rebuild(cols, R)
            return cover(cols, R, R[HEAD], R[TAIL])

        return Steps(jit(clear), jit(insert), jit(evict), jit(query))

    @staticmethod
    def ranges(ops: Ops, jit: Jit) -> Ranges:
        load, store = ops.load, ops.store
        finish, rebuild, cover = finish_of(ops, jit), _rebuild(ops, jit), cover_of(ops, jit)

        def query(cols: Any, R: Any, first: int, last: int) -> Any:
            if R[MOVED]:
                rebuild(cols, R)
            return cover(cols, R, first, last)

        def update(cols: Any, R: Any, positions: Any, fresh: Any) -> None:
            if R[MOVED]:
                rebuild(cols, R)
            for k in range(len(positions)):
                store(cols, R[BASE] + (positions[k] & R[MASK]), load(fresh, k))
            level = 1
            while 1 << level <= R[TAIL] - R[HEAD]:
                done = -1
                for k in range(len(positions)):
                    q = positions[k] >> level
                    if q != done and q << level >= R[HEAD] and (q + 1) << level <= R[TAIL]:
                        finish(cols, R, level, q)
                        done = q
                level += 1

        return Ranges(jit(query), jit(update))

    def check(self) -> None:
        super().check()
        slack = self._slack()
        if self.register(MOVED):
            return
        head, tail, size = self.register(HEAD), self.register(TAIL), self.register(MASK) + 1
        level = 1
        while 1 << level <= tail - head:
            for q in range(-(-head >> level), tail >> level):
                whole, left, right = (
                    self._at(self.register(BASE) + node(size, *of))
                    for of in ((level, q), (level - 1, 2 * q), (level - 1, 2 * q + 1))
                )
                assert same(whole, self.monoid.combine(left, right), slack), "an interval is its two halves"
            level += 1


@once
def _rebuild(ops: Ops, jit: Jit) -> Any:
    """After the ring was moved: every interval inside the window, level by level; < n ⊕."""
    finish = finish_of(ops, jit)

    def rebuild(cols: Any, R: Any) -> None:
        level = 1
        first, last = (R[HEAD] + 1) >> 1, R[TAIL] >> 1
        while first < last:
            for q in range(first, last):
                finish(cols, R, level, q)
            level += 1
            first, last = (first + 1) >> 1, last >> 1
        R[MOVED] = 0

    return jit(rebuild)
