"""What both Monoid Tree Aggregators share: levels of nodes, the search for what a slide policy evicts, Theorem 1.

    looks      at single elements first, then at ever larger nodes, then at ever smaller ones: O(log k) to evict k
                                            ┌───────────┐
                          ┌─────┐           │           ├─────┐
               ┌──┐       │     │           │           │     ├──┐
    HEAD ──► ──┴──┴───────┴─────┴───────────┴───────────┴─────┴──┴──► the first element that stays

Invariant: a node is looked at only if it lies wholly inside the window, so it is the sum of its elements.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from slidewise.kernels.jit import Jit, plain
from slidewise.kernels.ops import Ops
from slidewise.kernels.registers import BASE, HEAD, LAST, MASK, MOVED, TAIL
from slidewise.kernels.sweep import Steps
from slidewise.kernels.uses import LEAVES, STAYS
from slidewise.monoids.laws import same
from slidewise.swag.positional import Positional
from slidewise.swag.structure import check_policy, floats_in


class _Void:
    def __repr__(self) -> str:
        return "∅"


VOID = _Void()
"""What a pair has where it has no element."""


@dataclass(frozen=True)
class Levels:
    """Where an MTA's nodes are: `place(R, level, q)`, behind BASE, of the node over ``[q << level, (q + 1) << level)``.

    `whole(R, level, q)`: is there such a node, wholly before TAIL? `made(R, level, q)` is told before a new one is
    stored. `ready(cols, R)`: all of them hold their sums.
    """

    whole: Callable[..., bool]
    place: Callable[..., int]
    made: Callable[..., None]
    ready: Callable[..., None]


def ring_levels(jit: Jit, whole: Any, node: Any, rebuild: Any) -> Levels:
    """Nodes beside their ring, at ``node(size, level, q)``, computed anew by `rebuild` when the ring was moved."""
    at = jit(node)

    def place(R: Any, level: int, q: int) -> int:
        return int(at(R[MASK] + 1, level, q))

    def made(R: Any, level: int, q: int) -> None:
        pass

    def ready(cols: Any, R: Any) -> None:
        if R[MOVED]:
            rebuild(cols, R)

    return Levels(jit(whole), jit(place), jit(made), jit(ready))


class Mta(Positional):
    """A window that evicts any number of elements, and finds how many a policy evicts, in logarithmic time."""

    bulk: ClassVar[bool] = True

    @staticmethod
    def levels_of(ops: Ops, jit: Jit) -> Levels:
        """Where the algorithm's nodes are, for one monoid, each function passed through `jit`."""
        raise TypeError("a Monoid Tree Aggregator must define levels_of(ops, jit)")

    def enforce(self, policy: Callable[[Any, Any], bool]) -> int:
        """Evict the longest prefix for which ``policy(total, old)`` holds; how many elements left. O(log n) looks.

        >>> from slidewise.swag import ALGORITHMS
        >>> import slidewise as sw
        >>> times = ALGORITHMS["amta"](sw.Monoid(identity=0, combine=max, name="latest"))
        >>> for time in [1, 2, 3, 8]: times.insert(time)
        >>> times.enforce(lambda total, old: total - old >= 4), len(times)
        (3, 1)
        """
        check_policy(policy)
        gone = self.prefix_of(policy)
        self.evict_many(gone)
        return gone

    def prefix_of(self, policy: Callable[[Any, Any], bool]) -> int:
        """How many elements `enforce` would evict; O(log n) looks."""
        levels, total, lowered = self.make_ready(), self.query(), self.monoid.lowered
        longest = longest_of(
            self.monoid.combine,
            lambda cols, R, level, q: self.node_at(level, q),
            self.monoid.identity,
            levels.whole,
            lambda _, old: bool(policy(total, lowered(old))),
            plain,
        )
        cols, R = self.raw()
        registers = [int(number) for number in R]
        registers[HEAD] = first = self._first_asked()
        stays = int(longest(cols, registers, total))
        return stays - self.register(HEAD) if stays > first else 0

    def _first_asked(self) -> int:
        """A prefix must end beyond this to be asked about: the nulls that come first have no answer."""
        first = self.register(HEAD)
        if not self.monoid.answers_empty:
            for position in self._nulls[bisect_left(self._nulls, first) :]:
                if position > first:
                    break
                first += 1
        return first

    def levels(self) -> list[list[tuple[Any, Any]]]:
        """The tree as the paper draws it: per level, leaves first, its pairs; `VOID` where a pair has no element.

        An element that has lost some of its leaves, and holds nothing that is read again, is shown as `...`.
        """
        self.make_ready()
        head = self.register(HEAD)
        levels = []
        for level in range(self._height()):
            first, last = head >> level, self._nodes(level)
            found = {q: self._shown(level, q) for q in range(first, last)}
            levels.append([(found.get(q, VOID), found.get(q + 1, VOID)) for q in range(first & ~1, last, 2)])
        return levels

    def check(self) -> None:
        """Assert invariants 1 and 2 and Theorem 1 on every node, and that each is the sum of its pair; O(n)."""
        super().check()
        levels, slack = self.levels(), self._slack()
        for pairs in levels:
            assert pairs, "a level has a pair"
            for j, (older, newer) in enumerate(pairs):
                assert older is not VOID or (newer is not VOID and j == 0), "only the first pair may lack its older"
                assert newer is not VOID or j == len(pairs) - 1, "only the last pair may lack its newer"
        for i in range(1, len(levels)):
            shift = 1 if levels[i][0][0] is VOID else 0
            for j, pair in enumerate(levels[i]):
                for k, element in enumerate(pair):
                    if element is VOID:
                        continue
                    children = levels[i - 1][2 * j + k - shift]  # Theorem 1, with j from 0
                    parts = [part for part in children if part is not VOID]
                    assert parts, "an element has children"
                    if element is not ... and not any(part is ... for part in parts):
                        whole = parts[0] if len(parts) == 1 else self.monoid.combine(*parts)
                        assert self._alike(element, whole, slack), "an element is the sum of its pair"

    def _height(self) -> int:
        """How many levels the window has."""
        raise TypeError("a Monoid Tree Aggregator must define _height()")

    def _nodes(self, level: int) -> int:
        """One more than the number of a level's last node."""
        raise TypeError("a Monoid Tree Aggregator must define _nodes(level)")

    def _shown(self, level: int, q: int) -> Any:
        if q << level < self.register(HEAD):
            return ...
        return self.node_at(level, q)

    def make_ready(self) -> Levels:
        """All nodes hold their sums; where they are."""
        if self.register(MOVED):
            ops = self._ops
            ready = ops.built((type(self), "ready"), lambda: _build_ready(ops, self.levels_of(ops, ops.jit).ready))
            ready(self._bank.cols, self._bank.regs[0])
        return self._plain_levels()

    def _plain_levels(self) -> Levels:
        return self.levels_of(self._ops, plain)

    def _alike(self, one: Any, other: Any, slack: float) -> bool:
        """Equal, but for the rounding of sums that were added in another order and may be larger than any element."""
        sizes = [abs(part) for partial in (one, other) for part in floats_in(partial) if math.isfinite(part)]
        return same(one, other, max(slack, 1e-9 * max(sizes, default=0.0)))

    def _fold(self, first: int, last: int) -> Any:
        """The sum of positions [first, last), of their elements."""
        total = self.monoid.identity
        for position in range(first, last):
            total = self.monoid.combine(total, self.node_at(0, position))
        return total

    def node_at(self, level: int, q: int) -> Any:
        """The node over positions ``[q << level, (q + 1) << level)``, as plain Python values."""
        return self._at(self.register(BASE) + self._plain_levels().place(self._bank.regs[0], level, q))

    def query(self) -> Any:
        # This and `_drop` are kernels of their own: the sweep's preparations take longer than a bulk eviction does.
        ops = self._ops
        if not ops.compiled or (self.register(LAST) < self.register(HEAD) and not self.monoid.answers_empty):
            return super().query()
        outs, ok = ops.outputs(1), np.ones(1, dtype=np.bool_)
        ask = ops.built((type(self), "ask"), lambda: _build_ask(ops, self.steps(ops)))
        ask(*self.raw(), outs, ok)
        (answer,) = self._answers(outs, ok)
        return answer

    def _drop(self, n: int) -> None:
        ops = self._ops
        if not ops.compiled:
            super()._drop(n)
            return
        drop = ops.built((type(self), "drop"), lambda: _build_drop(ops, self.steps(ops)))
        drop(*self.raw(), self.register(HEAD) + n)

    def raw(self) -> tuple[Any, Any]:
        """Columns and registers, as the steps take them."""
        return self._bank.cols, self._bank.regs[0]


def _build_ready(ops: Ops, ready: Any) -> Any:
    def make_ready(cols: Any, R: Any) -> None:
        ready(cols, R)

    return ops.kernel(make_ready)


def _build_ask(ops: Ops, steps: Steps) -> Any:
    query, answer = steps.query, ops.answer

    def ask(cols: Any, R: Any, outs: Any, ok: Any) -> None:
        answer(cols, outs, ok, 0, query(cols, R))

    return ops.kernel(ask)


def _build_drop(ops: Ops, steps: Steps) -> Any:
    evict_to = steps.dropping(ops.jit)

    def drop(cols: Any, R: Any, start: int) -> None:
        evict_to(cols, R, start)

    return ops.kernel(drop)


def value_of(ops: Ops, levels: Levels, jit: Jit) -> Any:
    """``value(cols, R, level, q)``: a node's partial."""
    load, place = ops.load, levels.place

    def value(cols: Any, R: Any, level: int, q: int) -> Any:
        return load(cols, R[BASE] + place(R, level, q))

    return jit(value)


def longest_of(combine: Any, value: Any, identity: Any, whole: Any, holds: Any, jit: Jit) -> Any:
    """`longest(cols, R, total)`: the position behind the longest prefix for which ``holds(total, prefix)``.

    That is one of STAYS (or False), LEAVES (or True) and UNKNOWN: such a prefix leaves with a longer one or not at all.
    """

    def longest(cols: Any, R: Any, total: Any) -> int:
        position, tail = R[HEAD], R[TAIL]
        sure = position
        old = identity
        level = 0
        climbing, bounded = True, False
        while level >= 0 and position < tail:
            q = position >> level
            if not whole(R, level, q):
                climbing = False
                level -= 1
                continue
            longer = combine(old, value(cols, R, level, q))
            said = holds(total, longer)
            if said == STAYS:
                climbing, bounded = False, True
                level -= 1
                continue
            old = longer
            position = (q + 1) << level
            if said == LEAVES:
                sure = position
            if climbing:
                if q & 1:
                    level += 1
            elif bounded:
                level -= 1
        return int(sure)

    return jit(longest)
