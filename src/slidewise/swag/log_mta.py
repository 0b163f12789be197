"""Log MTA: a binary tree over the window whose two edges are kept right, and many evictions at once.

    paper     000 section 4.1 (Villalba, Berral, Carrera: Constant-time sliding window framework, TPDS 2018)
    time      insert and evict log₂ n ⊕, query ≤ 1 ⊕; evicting any number at once log₂ n ⊕; a policy finds the longest
              prefix to evict in O(log n) looks. Beside that the ring doubles and halves, on insert
    space     3N partials, N the power of two above n; of these only O(log n) are near at any time

    level 3                      9                        the root
    level 2            6                   3
    level 1         3     3             3                 an inner node never changes again
    level 0       1   2  1   2        1   2   ·   ·       the two edges change: the newest with an insert,
                  ▲ the oldest edge       ▲ the newest    the oldest with an evict

Invariant: every node over some element of the window is the sum of those of its elements that are in the window. Node q
of level l is over positions [q << l, (q + 1) << l), so a level's pairs are those whose numbers differ in the last bit:
a pair lacks its older only at the oldest edge, its newer only at the newest (invariants 1 and 2 of the paper).
"""

from __future__ import annotations

from typing import Any

from slidewise.kernels.jit import Jit
from slidewise.kernels.ops import Ops, once
from slidewise.kernels.registers import BASE, HEAD, MASK, MOVED, OWN, TAIL
from slidewise.kernels.sweep import Steps
from slidewise.swag.card import Card
from slidewise.swag.mta import Levels, Mta, ring_levels

HEIGHT = OWN + 1
"""The root's level."""


class LogMta(Mta):
    """Logarithmic time for every step, whatever is evicted: the simpler of the two Monoid Tree Aggregators."""

    card = Card(
        name="log_mta",
        full_name="Logarithmic Monoid Tree Aggregator",
        paper="TPDS 2018",
        ordering="FIFO",
        needs="associative",
        amortized="O(log n)",
        worst="O(log n)",
        bulk_evict="O(log n)",
        space="3N, N = 2^⌈log n⌉",
        local_size="O(log n)",
        custom_policy="O(log n)",
        external_store=True,
    )
    own = 2
    scratch = 2

    @staticmethod
    def build(ops: Ops, jit: Jit) -> Steps:
        combine, load, store, identity = ops.combine, ops.load, ops.store, ops.identity
        at, root, compute, rebuild = jit(place), jit(root_of), _compute(ops, jit), _rebuild(ops, jit)

        def clear(cols: Any, R: Any) -> None:
            R[HEIGHT] = 0

        def insert(cols: Any, R: Any, p: Any) -> None:
            if R[MOVED]:
                rebuild(cols, R)
            head, tail = R[HEAD], R[TAIL]
            store(cols, R[BASE] + (tail & R[MASK]), p)
            R[TAIL] = tail + 1
            before, height = R[HEIGHT], root(head, tail, R[MASK] + 1)
            for level in range(1, height + 1):
                if level > before and head >> level != tail >> level:  # the tree has grown: its oldest edge is new
                    compute(cols, R, level, head >> level)
                compute(cols, R, level, tail >> level)
            R[HEIGHT] = height

        def evict_to(cols: Any, R: Any, start: int) -> None:
            if R[MOVED]:
                rebuild(cols, R)
            R[HEAD] = start
            if start < R[TAIL]:
                R[HEIGHT] = root(start, R[TAIL] - 1, R[MASK] + 1)
                for level in range(1, R[HEIGHT] + 1):
                    compute(cols, R, level, start >> level)
            else:
                R[HEIGHT] = 0

        def evict(cols: Any, R: Any) -> None:
            drop(cols, R, R[HEAD] + 1)

        def query(cols: Any, R: Any) -> Any:
            head, tail, size = R[HEAD], R[TAIL], R[MASK] + 1
            if head == tail:
                return identity
            if R[MOVED]:
                rebuild(cols, R)
            height = R[HEIGHT]
            oldest, newest = head >> height, (tail - 1) >> height
            total = load(cols, R[BASE] + at(size, height, oldest))
            if oldest != newest:
                total = combine(total, load(cols, R[BASE] + at(size, height, newest)))
            return total

        drop = jit(evict_to)
        return Steps(jit(clear), jit(insert), jit(evict), jit(query), drop)

    @staticmethod
    @once
    def levels_of(ops: Ops, jit: Jit) -> Levels:
        def whole(R: Any, level: int, q: int) -> bool:
            return bool(level <= R[HEIGHT] and (q + 1) << level <= R[TAIL])

        return ring_levels(jit, whole, place, _rebuild(ops, jit))

    def _height(self) -> int:
        return self.register(HEIGHT) + 1 if len(self) else 0

    def _nodes(self, level: int) -> int:
        return ((self.register(TAIL) - 1) >> level) + 1

    def _shown(self, level: int, q: int) -> Any:
        return self._at(self.register(BASE) + place(self.register(MASK) + 1, level, q))

    def check(self) -> None:
        super().check()
        head, tail, height = self.register(HEAD), self.register(TAIL), self.register(HEIGHT)
        if head == tail:
            assert height == 0, "an empty window has no tree"
            return
        assert height == root_of(head, tail - 1, self.register(MASK) + 1), "the root's level"
        total = self._shown(height, head >> height)
        if head >> height != (tail - 1) >> height:
            total = self.monoid.combine(total, self._shown(height, (tail - 1) >> height))
        assert self._alike(total, self._fold(head, tail), self._slack()), "the root is the whole window"


def place(size: int, level: int, q: int) -> int:
    """Where node q of a level lies behind BASE: elements in a ring of `size`, every level above in one twice as long.

    Twice, because both edges of a level may reach beyond the window: a node more than would fit in half of it.
    """
    if level == 0:
        return q & (size - 1)
    width = (2 * size) >> level
    return size + width + (q & (width - 1))


def root_of(first: int, last: int, size: int) -> int:
    """The lowest level with one node over both positions; the ring's own level, with two, if there is none below."""
    level = 0
    while first >> level != last >> level and 1 << level < size:
        level += 1
    return level


@once
def _compute(ops: Ops, jit: Jit) -> Any:
    """A node from those of its children that are in the window; ≤ 1 ⊕."""
    combine, load, store = ops.combine, ops.load, ops.store
    at = jit(place)

    def compute(cols: Any, R: Any, level: int, q: int) -> None:
        base, size = R[BASE], R[MASK] + 1
        oldest, newest = R[HEAD] >> (level - 1), (R[TAIL] - 1) >> (level - 1)
        if 2 * q < oldest:
            p = load(cols, base + at(size, level - 1, 2 * q + 1))
        else:
            p = load(cols, base + at(size, level - 1, 2 * q))
            if 2 * q + 1 <= newest:
                p = combine(p, load(cols, base + at(size, level - 1, 2 * q + 1)))
        store(cols, base + at(size, level, q), p)

    return jit(compute)


@once
def _rebuild(ops: Ops, jit: Jit) -> Any:
    """After the ring was moved: every node, level by level; < n + log₂ n ⊕."""
    compute, root = _compute(ops, jit), jit(root_of)

    def rebuild(cols: Any, R: Any) -> None:
        R[MOVED] = 0
        R[HEIGHT] = 0
        if R[HEAD] == R[TAIL]:
            return
        R[HEIGHT] = root(R[HEAD], R[TAIL] - 1, R[MASK] + 1)
        for level in range(1, R[HEIGHT] + 1):
            for q in range(R[HEAD] >> level, ((R[TAIL] - 1) >> level) + 1):
                compute(cols, R, level, q)

    return jit(rebuild)
