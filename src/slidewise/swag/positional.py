"""What windows share whose elements can be named: number i is the i-th oldest, 0 the oldest.

    Positional    keeps each element's own partial, and knows which are null, since a partial does not tell
    NonFifo       insert_at(i, x), evict_at(i): elements come and go anywhere
    Ranged        query_range(i, j), update(i, partial): any part of the window, and changes to what is in it

Invariant: `_nulls` holds, in order, the positions of all null elements of the window, and perhaps older ones. An
`insert_at` or `evict_at` moves the elements newer than i: O(n - i) beside the algorithm's own cost, so little for
an element that comes a bit late.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from slidewise.errors import ArgumentError, bad, whole
from slidewise.kernels.jit import Jit
from slidewise.kernels.ops import Ops
from slidewise.kernels.registers import BASE, HEAD, LAST, MASK, TAIL
from slidewise.swag.structure import Structure


class Positional(Structure):
    """A window of elements by number, which remembers which of them are null."""

    named = True
    _nulls: list[int]

    def clear(self) -> None:
        self._nulls = []
        super().clear()

    def insert_null(self) -> None:
        super().insert_null()
        if not self.named:
            return
        if len(self._nulls) > 2 * len(self):  # most of them left long ago
            del self._nulls[: bisect_left(self._nulls, self.register(HEAD))]
        self._nulls.append(self.register(TAIL) - 1)

    def state(self) -> tuple[list[int], list[Any], list[int]]:
        registers, partials, links = super().state()
        return registers, partials, [*links, *self._nulls[bisect_left(self._nulls, registers[0]) :]]

    def set_state(self, registers: list[int], partials: list[Any], links: list[int]) -> None:
        own = self.links * (registers[1] - registers[0])
        super().set_state(registers, partials, links[:own])
        self._nulls = list(links[own:])

    def check(self) -> None:
        super().check()
        if not self.named:
            return
        head, tail, last = self.register(HEAD), self.register(TAIL), self.register(LAST)
        nulls = self._nulls[bisect_left(self._nulls, head) :]
        assert nulls == sorted(set(nulls)), "nulls in order"
        assert nulls == [] or nulls[-1] < tail, "nulls inside the window"
        known = set(nulls)
        newest = next((p for p in range(tail - 1, head - 1, -1) if p not in known), None)
        assert last < head if newest is None else last == newest, "LAST is the newest value"

    def _elements(self) -> Iterator[tuple[Any, bool]]:
        nulls = set(self._nulls[bisect_left(self._nulls, self.register(HEAD)) :])
        positions = range(self.register(HEAD), self.register(TAIL))
        return ((self._at(self._place(position)), position not in nulls) for position in positions)

    def register(self, number: int) -> int:
        """One of the window's registers (kernels/registers.py)."""
        return int(self._bank.regs[0][number])

    def _place(self, position: int) -> int:
        return self.register(BASE) + (position & self.register(MASK))

    def _position(self, argument: str, i: object, below: int) -> int:
        """The position of element i, or IndexError."""
        number = whole(argument, i, least=0)
        if number >= below:
            raise IndexError(f"{argument}={number}: the window holds {len(self)} elements")
        return self.register(HEAD) + number


class NonFifo(Positional):
    """A window whose elements come and go anywhere. A subclass says what each change does to its extra partials."""

    def _inserted(self, position: int, partial: Any) -> None:
        """An element is about to be inserted before `position`."""

    def _evicted(self, position: int) -> None:
        """The element at `position` is about to leave."""

    def _moved(self, positions: range) -> None:
        """Other elements than before are at these positions; at one that is not before TAIL there is none now."""

    def insert_at(self, i: int, *value: Any) -> None:
        """Insert an element so that it becomes number i; those that were i and newer move up by one."""
        position = self._position("i", i, below=len(self) + 1)
        if position == self.register(TAIL):
            self.insert(*value)
            return
        self._make_room(1)
        partial = self._lifted(value)
        self._inserted(position, partial)
        registers = self._bank.regs[0]
        for p in range(self.register(TAIL), position, -1):
            self._put(self._place(p), self._at(self._place(p - 1)))
        self._put(self._place(position), partial)
        registers[TAIL] += 1
        cut = bisect_left(self._nulls, position)
        self._nulls[cut:] = [p + 1 for p in self._nulls[cut:]]
        registers[LAST] = max(position, self.register(LAST) + (1 if registers[LAST] >= position else 0))
        self._moved(range(position, self.register(TAIL)))

    def evict_at(self, i: int) -> None:
        """Drop element i; newer ones move down by one."""
        if len(self) == 0:
            raise IndexError("evict_at from an empty window")
        position = self._position("i", i, below=len(self))
        if position == self.register(HEAD):
            self.evict()
            return
        self._evicted(position)
        registers = self._bank.regs[0]
        for p in range(position, self.register(TAIL) - 1):
            self._put(self._place(p), self._at(self._place(p + 1)))
        registers[TAIL] -= 1
        cut = bisect_left(self._nulls, position)
        self._nulls[cut:] = [p - 1 for p in self._nulls[cut:] if p != position]
        newest, nulls = self.register(TAIL) - 1, set(self._nulls)
        while newest >= registers[HEAD] and newest in nulls:
            newest -= 1
        registers[LAST] = newest
        self._moved(range(position, self.register(TAIL) + 1))

    def _lifted(self, value: tuple[Any, ...]) -> Any:
        return self._ops.called("lift_at")(self._columns(value), 0)


@dataclass(frozen=True)
class Ranges:
    """What a ranged algorithm's `ranges` returns, over one window's columns and registers, with positions.

    `query(cols, R, first, last)` gives the partial of elements ``[first, last)``, of which there is one at least;
    `update(cols, R, positions, fresh)` replaces the elements at these positions, ascending, by the partials `fresh`.
    """

    query: Callable[..., Any]
    update: Callable[..., Any]


class Ranged(Positional):
    """A window that answers for any part of itself, and whose elements can be replaced."""

    @staticmethod
    def ranges(ops: Ops, jit: Jit) -> Ranges:
        """The algorithm's further steps for one monoid, each passed through `jit`."""
        raise TypeError("a ranged algorithm must define ranges(ops, jit)")

    def query_range(self, first: int, last: int) -> Any:
        """The answer over elements `[first, last)`; None (null) if they hold no value, as for the whole window."""
        begin = self._position("first", first, below=len(self) + 1)
        end = self._position("last", last, below=len(self) + 1)
        if end < begin:
            raise bad("last", last, f"a number of at least first={first}")
        nulls = bisect_left(self._nulls, end) - bisect_left(self._nulls, begin)
        if nulls == end - begin:
            return self.monoid.lowered(self.monoid.identity) if self.monoid.answers_empty else None
        ops, bank = self._ops, self._bank
        outs, ok = ops.outputs(1), np.ones(1, dtype=np.bool_)
        ops.built((type(self), "ranges"), self._build_query)(bank.cols, bank.regs[0], begin, end, outs, ok)
        (answer,) = self._answers(outs, ok)
        return answer

    def update(self, i: int, partial: Any) -> None:
        """Replace element i by a partial."""
        self.update_many({i: partial})

    def update_many(self, changes: Mapping[int, Any]) -> None:
        """Replace several elements by partials, at once: what they share is computed once.

        >>> from slidewise.swag import ALGORITHMS
        >>> import slidewise as sw
        >>> window = ALGORITHMS["reactive"](sw.Monoid(identity="", combine=lambda a, b: a + b, name="concat"))
        >>> for letter in "abcd": window.insert(letter)
        >>> window.update_many({1: "B", 3: "D"}); window.query()
        'aBcD'
        """
        if not isinstance(changes, Mapping):
            raise ArgumentError(f"changes={changes!r}: expected a mapping of numbers to partials")
        if not changes:
            return
        found = sorted((self._position("i", i, below=len(self)), i) for i in changes)
        self._change([(position, changes[i]) for position, i in found])
        self._bank.regs[0][LAST] = max(self.register(LAST), found[-1][0])
        replaced = {position for position, _ in found}
        self._nulls = [position for position in self._nulls if position not in replaced]

    def _change(self, found: list[tuple[int, Any]]) -> None:
        """Put these partials at these positions, which ascend."""
        ops, bank = self._ops, self._bank
        positions: Any = [position for position, _ in found]
        fresh = ops.columns(len(found))
        for number, (_, partial) in enumerate(found):
            parts = partial if ops.compiled and isinstance(ops.identity, tuple) else (partial,)
            for column, part in zip(fresh, parts, strict=True):
                column[number] = part
        if ops.compiled:
            positions = np.array(positions, dtype=np.int64)
        ops.built((type(self), "update"), self._build_update)(bank.cols, bank.regs[0], positions, fresh)

    def _build_query(self) -> Any:
        ops, answer = self._ops, self._ops.answer
        query = self.ranges(ops, ops.jit).query

        def ask(cols: Any, R: Any, first: int, last: int, outs: Any, ok: Any) -> None:
            answer(cols, outs, ok, 0, query(cols, R, first, last))

        return ops.kernel(ask)

    def _build_update(self) -> Any:
        update = self.ranges(self._ops, self._ops.jit).update

        def change(cols: Any, R: Any, positions: Any, fresh: Any) -> None:
            update(cols, R, positions, fresh)

        return self._ops.kernel(change)
