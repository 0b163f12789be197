"""Amortized MTA: a forest of binary trees behind a stack, so that single steps are cheap and many evictions are one.

    paper     000 section 4.2 (Villalba, Berral, Carrera: Constant-time sliding window framework, TPDS 2018)
    time      insert, evict, query ≤ 4 ⊕ on average, worst O(log n); evicting any number at once O(log n); a policy
              finds the longest prefix to evict in O(log n) looks. Beside that the ring doubles and halves, on insert
    space     2N + log₂ N + 3 partials, N the power of two above n; of these only O(log n) are near at any time

    level 2                   6                             a node is made when the next one of its level comes,
    level 1         3         3         3                   so the last pair of each level has no parent yet:
    level 0     1   2     1   2     1   2     1   2         it is the root of a tree of its own
                └──── leftmost tree ─┘  └──── rest ────┘
                R0 = 6, stack 3, 5      R1 = 3 ⊕ (1 ⊕ 2) = 6        5 on top is R0 without the oldest element

Invariant: the answer is R0 ⊕ R1, R0 over the leftmost tree, positions [HEAD, END), R1 over the rest. The stack has, for
each level where the oldest node has a right sibling, the sum of what is behind that node in the leftmost tree: an evict
pops the next R0. Level l has had ((TAIL + 1) >> l) - 1 nodes, node q of them over positions
[q << l, (q + 1) << l); those that reach beyond HEAD hold nothing that is ever read. Where the leftmost tree grows or
is gone, R and the stack are STALE and are computed anew, once, when next asked for, by whatever came in between.
"""

from __future__ import annotations

from typing import Any

from slidewise.kernels.jit import Jit
from slidewise.kernels.ops import Ops, once
from slidewise.kernels.registers import BASE, HEAD, MOVED, OWN, TAIL
from slidewise.kernels.sweep import Steps
from slidewise.swag.card import Card
from slidewise.swag.dyadic import finish_of, node
from slidewise.swag.mta import Levels, Mta, ring_levels

DEPTH, LEVEL, END, STALE, KNOWN = range(OWN + 1, OWN + 6)
"""Height of the stack; level of the leftmost tree's root; its end; R and stack are stale; the answer is known."""

R0, R1, ANSWER, STACK = 1, 2, 3, 4
"""Extra partials: number k lies at BASE - k; the stack's lowest at BASE - STACK."""

LEVELS = 64
"""More levels than any window has."""


class Amta(Mta):
    """Constant time on average, logarithmic at worst, and for evictions of any size."""

    card = Card(
        name="amta",
        full_name="Amortized Monoid Tree Aggregator",
        paper="TPDS 2018",
        ordering="FIFO",
        needs="associative",
        amortized="O(1)",
        worst="O(log n)",
        bulk_evict="O(log n)",
        space="2N, N = 2^⌈log n⌉",
        local_size="O(log n)",
        custom_policy="O(log n)",
        external_store=True,
    )
    own = 6
    extra = STACK + LEVELS
    scratch = 1

    @staticmethod
    def build(ops: Ops, jit: Jit) -> Steps:
        return steps_of(ops, jit, Amta.levels_of(ops, jit))

    @staticmethod
    @once
    def levels_of(ops: Ops, jit: Jit) -> Levels:
        def whole(R: Any, level: int, q: int) -> bool:
            return bool(q < ((R[TAIL] + 1) >> level) - 1)

        return ring_levels(jit, whole, node, _rebuild(ops, jit))

    def _height(self) -> int:
        head, tail = self.register(HEAD), self.register(TAIL)
        return height(head, tail) + 1 if head < tail else 0

    def _nodes(self, level: int) -> int:
        return ((self.register(TAIL) + 1) >> level) - 1

    def result_pair(self) -> tuple[Any, Any]:
        """R0 and R1: the leftmost tree's partial and the rest's."""
        self.query()
        base = self.register(BASE)
        empty = len(self) == 0
        return (self.monoid.identity,) * 2 if empty else (self._at(base - R0), self._at(base - R1))

    def stack(self) -> list[Any]:
        """What R0 will be after the oldest node of each level has left; the next one is last."""
        self.query()
        base = self.register(BASE)
        return [self._at(base - STACK - k) for k in range(self.register(DEPTH))] if len(self) else []

    def state(self) -> tuple[list[int], list[Any], list[int]]:
        registers, partials, links = super().state()
        registers[STALE - HEAD], registers[KNOWN - HEAD], registers[DEPTH - HEAD] = 1, 0, 0
        return registers, partials[: len(self)], links  # R and the stack can be derived

    def set_state(self, registers: list[int], partials: list[Any], links: list[int]) -> None:
        super().set_state(registers, [*partials, *[self._ops.identity] * self.extra], links)

    def check(self) -> None:
        super().check()
        head, tail = self.register(HEAD), self.register(TAIL)
        if head == tail or self.register(STALE):
            return
        end, slack = self.register(END), self._slack()
        assert self.register(LEVEL) == height(head, tail), "the leftmost tree is as high as the levels are"
        assert end == self._nodes(self.register(LEVEL)) << self.register(LEVEL), "its end"
        base = self.register(BASE)
        assert self._alike(self._at(base - R0), self._fold(head, end), slack), "R0 is the leftmost tree"
        assert self._alike(self._at(base - R1), self._fold(end, tail), slack), "R1 is the rest"
        behind = [
            ((head >> level) + 1) << level
            for level in range(self.register(LEVEL), -1, -1)
            if not (head >> level) & 1 and (head >> level) + 1 < self._nodes(level)
        ]
        assert len(behind) == self.register(DEPTH), "an entry per level with a right sibling"
        for k, first in enumerate(behind):
            assert self._alike(self._at(base - STACK - k), self._fold(first, end), slack), "the stack has the next R0s"


def height(head: int, tail: int) -> int:
    """The highest level that still has a node over the oldest element."""
    level = 0
    while ((head >> (level + 1)) + 2) << (level + 1) <= tail + 1:
        level += 1
    return level


def steps_of(ops: Ops, jit: Jit, levels: Levels) -> Steps:
    """The algorithm over nodes that are wherever `levels` says."""
    combine, load, store, identity = ops.combine, ops.load, ops.store, ops.identity
    place, made, ready, settle = levels.place, levels.made, levels.ready, _settle(ops, jit, levels)

    def clear(cols: Any, R: Any) -> None:
        R[DEPTH] = 0
        R[STALE] = 1
        R[KNOWN] = 0

    def insert(cols: Any, R: Any, p: Any) -> None:
        ready(cols, R)
        base, tail, head = R[BASE], R[TAIL], R[HEAD]
        made(R, 0, tail)
        store(cols, base + place(R, 0, tail), p)
        R[TAIL] = tail + 1
        R[KNOWN] = 0
        grown = tail + 2  # a level has a new node where this is a multiple of its width
        level = 1
        while (grown >> level) << level == grown and ((grown >> level) - 2) << level >= head:
            q = (grown >> level) - 2
            older = load(cols, base + place(R, level - 1, 2 * q))
            newer = load(cols, base + place(R, level - 1, 2 * q + 1))
            made(R, level, q)
            store(cols, base + place(R, level, q), combine(older, newer))
            level += 1
        if R[STALE]:
            return
        store(cols, base - R1, combine(load(cols, base - R1), p))
        top = R[LEVEL]
        if (grown >> top) << top == grown:
            if (grown >> top) & 1:
                R[STALE] = 1  # the root's pair is full: what was a tree of its own belongs to the leftmost now
            else:
                R[LEVEL] = top + 1  # that pair has a parent now: the same tree, one level higher

    def evict(cols: Any, R: Any) -> None:
        head = R[HEAD]
        R[HEAD] = head + 1
        R[KNOWN] = 0
        if R[STALE]:
            return
        if head + 1 == R[END]:
            R[STALE] = 1
            return
        ready(cols, R)
        base, depth = R[BASE], R[DEPTH] - 1
        store(cols, base - R0, load(cols, base - STACK - depth))
        level = 0
        while (head >> level) & 1:
            level += 1
        while level > 0:  # the levels whose oldest pair has left, from the highest: each has a new oldest pair
            level -= 1
            newer = load(cols, base + place(R, level, ((head + 1) >> level) + 1))
            if depth > 0:
                newer = combine(newer, load(cols, base - STACK - depth + 1))
            store(cols, base - STACK - depth, newer)
            depth += 1
        R[DEPTH] = depth

    def evict_to(cols: Any, R: Any, start: int) -> None:
        if start - R[HEAD] <= 2 * R[LEVEL] + 2:
            while R[HEAD] < start:
                evict_one(cols, R)
        else:
            R[HEAD] = start
            R[STALE] = 1
            R[KNOWN] = 0

    def query(cols: Any, R: Any) -> Any:
        base = R[BASE]
        if R[KNOWN]:
            return load(cols, base - ANSWER)
        if R[HEAD] == R[TAIL]:
            return identity
        if R[STALE]:
            settle(cols, R)
        total = combine(load(cols, base - R0), load(cols, base - R1))
        store(cols, base - ANSWER, total)
        R[KNOWN] = 1
        return total

    evict_one = jit(evict)
    return Steps(jit(clear), jit(insert), evict_one, jit(query), jit(evict_to))


@once
def _rebuild(ops: Ops, jit: Jit) -> Any:
    """After the ring was moved: every node inside the window, level by level; < n ⊕."""
    finish = finish_of(ops, jit)

    def rebuild(cols: Any, R: Any) -> None:
        level = 1
        while ((R[TAIL] + 1) >> level) - 1 > (R[HEAD] + (1 << level) - 1) >> level:
            for q in range((R[HEAD] + (1 << level) - 1) >> level, ((R[TAIL] + 1) >> level) - 1):
                finish(cols, R, level, q)
            level += 1
        R[MOVED] = 0

    return jit(rebuild)


def _settle(ops: Ops, jit: Jit, levels: Levels) -> Any:
    """R and the stack from the forest: algorithms 4 and 5 of the paper in one pass each; ≤ 4 log₂ n ⊕."""
    combine, load, store, identity = ops.combine, ops.load, ops.store, ops.identity
    height_of, place, ready = jit(height), levels.place, levels.ready

    def settle(cols: Any, R: Any) -> None:
        ready(cols, R)
        base, head, grown = R[BASE], R[HEAD], R[TAIL] + 1
        top = height_of(head, R[TAIL])
        depth, level = 0, top
        while level >= 0:
            i = head >> level
            if not i & 1 and i + 1 < (grown >> level) - 1:
                newer = load(cols, base + place(R, level, i + 1))
                if depth > 0:
                    newer = combine(newer, load(cols, base - STACK - depth + 1))
                store(cols, base - STACK - depth, newer)
                depth += 1
            level -= 1
        oldest = load(cols, base + place(R, 0, head))
        if depth > 0:
            oldest = combine(oldest, load(cols, base - STACK - depth + 1))
        store(cols, base - R0, oldest)
        rest = identity
        for low in range(top):  # the last pair of every level below: two nodes or one
            nodes = (grown >> low) - 1
            pair = load(cols, base + place(R, low, (nodes - 1) & ~1))
            if not nodes & 1:
                pair = combine(pair, load(cols, base + place(R, low, nodes - 1)))
            rest = combine(pair, rest)
        store(cols, base - R1, rest)
        R[DEPTH] = depth
        R[LEVEL] = top
        R[END] = ((grown >> top) - 1) << top
        R[STALE] = 0

    return jit(settle)
