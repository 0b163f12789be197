"""Amortized MTA with its middle elsewhere: each level keeps its newest nodes and some of its oldest, the rest is paged.

    level l       elsewhere ..  ┌── head ring ──┐  .. elsewhere ..  ┌── tail ring ──┐
                                │ oldest nodes  │                   │ newest nodes  │
                                └───────────────┘                   └───────────────┘
                                ▲ HEAD >> l                                         ▲ where the next one goes

    paper     000 section 4.1.5
    time      as Amortized MTA. A page of 512 nodes is handed over when it is full, and asked for when it is needed; a
              bulk eviction asks for at most one or two pages per level
    space     two rings per level: O(log n) nodes here, whatever n is

Invariant: a node that is not in its level's tail ring belongs to a page that was handed over; a node that a step reads
is in one of the two rings: `_near` sees to that before each step. Full pages never change, so where they are kept is
nobody's business here: `Pages` is injected.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from slidewise.kernels.jit import Jit
from slidewise.kernels.ops import Ops
from slidewise.kernels.registers import BASE, HEAD, MASK, OWN, TAIL
from slidewise.kernels.sweep import Steps
from slidewise.monoids.monoid import Monoid
from slidewise.swag.amta import DEPTH, KNOWN, LEVELS, STALE, Amta, height, steps_of
from slidewise.swag.bank import Bank
from slidewise.swag.mta import Levels

PAGE = 512
"""Nodes of a page."""

TAIL_LOW = OWN + Amta.own
"""The number of the oldest node in each level's tail ring; LEVELS registers."""

COMPILED_RING, OBJECT_RING = 32_768, 2_048
"""Nodes of a ring; a compiled loop inserts a quarter of one between two visits of Python."""

TAIL_AT_LEAST = 4
"""So many nodes of a level's end are always here: those that inserts read."""

Columns = tuple[Any, ...]
"""Nodes, a column per field: arrays, or one list of objects."""


class Pages(Protocol):
    """Where full pages go, and come back from."""

    def keep(self, level: int, number: int, columns: Columns) -> None:
        """Take a full page, PAGE nodes; it is the keeper's own."""

    def fetch(self, wanted: Sequence[tuple[int, int]]) -> list[Columns]:
        """These pages, by (level, number); each was kept before."""


class PagedAmta(Amta):
    """A window of any size in the memory of a small one."""

    own = Amta.own + LEVELS
    scratch = 0
    named = False  # its elements are elsewhere, and nulls are not remembered: their number has no bound

    def __init__(
        self, monoid: Monoid, pages: Pages, *, types: tuple[str, ...] | None = None, arity: int = 1, ring: int = 0
    ) -> None:
        self._pages = pages
        self._ring = ring or (OBJECT_RING if types is None else COMPILED_RING)
        self._last_page: tuple[tuple[int, int], Columns] | None = None
        self.reads = 0
        """Pages that were fetched."""
        super().__init__(monoid, types=types, arity=arity)

    @classmethod
    def bank(cls, ops: Ops) -> Bank:
        return Bank(ops.columns, compiled=ops.compiled, extra=cls.extra, own=cls.own)

    @staticmethod
    def build(ops: Ops, jit: Jit) -> Steps:
        return steps_of(ops, jit, PagedAmta.levels_of(ops, jit))

    @staticmethod
    def levels_of(ops: Ops, jit: Jit) -> Levels:
        def whole(R: Any, level: int, q: int) -> bool:
            return bool(q < ((R[TAIL] + 1) >> level) - 1)

        def place(R: Any, level: int, q: int) -> int:
            ring = R[MASK] + 1
            at = 2 * level * ring + (q & R[MASK])
            return int(at if q >= R[TAIL_LOW + level] else at + ring)

        def made(R: Any, level: int, q: int) -> None:
            if q - R[TAIL_LOW + level] > R[MASK]:
                R[TAIL_LOW + level] = q - R[MASK]

        def ready(cols: Any, R: Any) -> None:
            pass

        return Levels(jit(whole), jit(place), jit(made), jit(ready))

    # ---- the window ----
    def clear(self) -> None:
        registers = self._bank.regs[0]
        if int(registers[MASK]) + 1 != self._ring:
            self._bank.whole(self._ring, 2 * LEVELS)
        for level in range(LEVELS):
            registers[TAIL_LOW + level] = 0
        self.saved = [0] * LEVELS
        """How many nodes of each level were handed over."""
        self._cached = [range(0)] * LEVELS
        """The pages in each level's head ring."""
        self._checked, self._until = -1, 0
        """Heads of at most `_checked` find all they read, as long as TAIL is at most `_until`."""
        super().clear()

    def extend_arrays(self, values: Any, size: int | None = None) -> tuple[tuple[Any, ...], Any]:
        n, piece = len(values), self._ring // 4
        outs, ok = self._ops.outputs(n), self._valid(n)
        for first in range(0, n, piece):
            part = values[first : first + piece]
            leaving = 0 if size is None else max(0, len(self) + len(part) - size)
            head = self.register(HEAD)
            self._near(head, head + leaving, len(part))
            found, good = super().extend_arrays(part, size)
            for whole, some in zip((*outs, ok), (*found, good), strict=True):
                whole[first : first + len(part)] = some
        return outs, ok

    def query(self) -> Any:
        if self.register(STALE) and len(self):
            head = self.register(HEAD)
            self._near(head, head)
        return super().query()

    def _drop(self, n: int) -> None:
        head = self.register(HEAD)
        single = n <= 2 * LEVELS  # then perhaps one by one: every head on the way is asked
        self._near(head if single else head + n, head + n)
        super()._drop(n)

    def _make_room(self, more: int) -> None:
        self.save(all_levels=False)

    def _give_back(self) -> None:
        pass

    # ---- pages ----
    def save(self, *, all_levels: bool = True) -> None:
        """Hand over every page that is full; without `all_levels` only when one of level 0 is, in O(1) if none is."""
        if not all_levels and self.register(TAIL) - self.saved[0] < PAGE:
            return
        registers, place, base = self._bank.regs[0], self._plain_levels().place, self.register(BASE)
        for level in range(LEVELS):
            nodes = self._nodes(level)
            if nodes < PAGE:
                break
            for number in range(self.saved[level] // PAGE, nodes // PAGE):
                at = base + place(registers, level, number * PAGE)
                self._pages.keep(level, number, tuple(column[at : at + PAGE].copy() for column in self._bank.cols))
                self.saved[level] = (number + 1) * PAGE

    def _near(self, first: int, last: int, more: int = 1) -> None:
        """See to it that steps with a head of `[first, last]` find the nodes they read, while `more` elements come."""
        tail = self.register(TAIL)
        if last <= self._checked and tail + more <= self._until:
            return
        self.save()
        ahead = min(tail, last + PAGE // 2)  # further than asked, so that single steps seldom come here
        wanted: list[tuple[int, int]] = []
        for level in range(height(first, tail) + 1 if first < tail else 0):
            nodes = self._nodes(level)
            stays = max(self.register(TAIL_LOW + level), nodes - self._ring // 2)  # in the tail ring, for a while
            low, high = first >> level, min((ahead >> level) + 2, nodes, stays)
            if low >= high:
                continue
            pages, cached = range(low // PAGE, (high - 1) // PAGE + 1), self._cached[level]
            if pages[0] not in cached or pages[-1] not in cached:
                wanted += [(level, number) for number in pages if number not in cached]
                self._cached[level] = pages
        for (level, number), columns in zip(wanted, self._fetch(wanted), strict=True):
            at = self.register(BASE) + (2 * level + 1) * self._ring + (number * PAGE & (self._ring - 1))
            for column, part in zip(self._bank.cols, columns, strict=True):
                column[at : at + PAGE] = part
        self._checked, self._until = ahead, tail + self._ring // 4

    def _fetch(self, wanted: list[tuple[int, int]]) -> list[Columns]:
        self.reads += len(wanted)
        return self._pages.fetch(wanted) if wanted else []

    def node_at(self, level: int, q: int) -> Any:
        number = q // PAGE
        if q >= self.register(TAIL_LOW + level) or number in self._cached[level]:
            return super().node_at(level, q)
        if self._last_page is None or self._last_page[0] != (level, number):
            (columns,) = self._fetch([(level, number)])
            self._last_page = ((level, number), columns)
        return self._partial(self._last_page[1], q % PAGE)

    # ---- what must be written down beside the pages ----
    def tails(self) -> tuple[list[int], list[Columns]]:
        """The registers that matter, and per level the nodes that are in no page, a few more at least; O(log n)."""
        self.save()
        registers, place, base = self._bank.regs[0], self._plain_levels().place, self.register(BASE)
        kept = []
        for level in range(LEVELS):
            nodes = self._nodes(level)
            if nodes <= 0:
                break
            first = max(0, min(self.saved[level], nodes - TAIL_AT_LEAST))
            places = [base + place(registers, level, q) for q in range(first, nodes)]
            kept.append(tuple(_picked(column, places) for column in self._bank.cols))
        return [int(value) for value in registers[HEAD:OWN]], kept

    def set_tails(self, registers: list[int], kept: list[Columns]) -> None:
        """Continue from what `tails` returned; the pages are where they were."""
        self.clear()
        mine = self._bank.regs[0]
        for number, value in enumerate(registers, start=HEAD):
            mine[number] = value
        for level, columns in enumerate(kept):
            nodes = self._nodes(level)
            first = nodes - len(columns[0])
            self.saved[level] = nodes // PAGE * PAGE
            mine[TAIL_LOW + level] = first
            for k in range(len(columns[0])):
                at = self.register(BASE) + 2 * level * self._ring + (first + k & (self._ring - 1))
                for column, part in zip(self._bank.cols, columns, strict=True):
                    column[at] = part[k]
        mine[STALE], mine[KNOWN], mine[DEPTH] = 1, 0, 0

    def state(self) -> tuple[list[int], list[Any], list[int]]:
        registers = [int(value) for value in self._bank.regs[0]][HEAD:]
        return registers, [self.node_at(0, p) for p in range(self.register(HEAD), self.register(TAIL))], []

    def set_state(self, registers: list[int], partials: list[Any], links: list[int]) -> None:
        raise TypeError("a paged window goes on from its tails and pages: set_tails")

    def make_ready(self) -> Levels:
        if len(self):
            self._near(self.register(HEAD), self.register(HEAD))
        return self._plain_levels()

    def _partial(self, columns: Columns, k: int) -> Any:
        if not self._ops.compiled:
            return columns[0][k]
        values = tuple(column[k].item() for column in columns)
        return values if isinstance(self._ops.identity, tuple) else values[0]

    def _valid(self, n: int) -> Any:
        import numpy as np

        return np.ones(n, dtype=np.bool_)


def _picked(column: Any, places: list[int]) -> Any:
    return [column[place] for place in places] if isinstance(column, list) else column[places]
