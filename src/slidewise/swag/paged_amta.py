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

import numpy as np

from slidewise.errors import bad, whole
from slidewise.kernels.jit import Jit
from slidewise.kernels.ops import Ops, once
from slidewise.kernels.registers import BASE, HEAD, MASK, OWN, TAIL
from slidewise.kernels.sweep import Steps
from slidewise.monoids.monoid import Monoid
from slidewise.swag.amta import DEPTH, KNOWN, LEVELS, STACK, STALE, Amta, height, steps_of
from slidewise.swag.bank import Bank
from slidewise.swag.mta import Levels

PAGE = 512
"""Nodes of a page."""

TAIL_LOW = OWN + Amta.own
"""The number of the oldest node in each level's tail ring; LEVELS registers."""

COMPILED_RING, OBJECT_RING = 32_768, 2_048
"""Nodes of a ring; a compiled loop inserts a quarter of one between two visits of Python."""

SMALLEST_RING = 4 * PAGE
"""Room for what is not handed over yet, and for the pages around the oldest element."""

TAIL_AT_LEAST = 4
"""So many nodes of a level's end are always here: those that inserts read."""

Columns = tuple[Any, ...]
"""Nodes, a column per field: arrays, or one list of objects."""


class Pages(Protocol):
    """Where full pages go, and come back from."""

    def ready(self) -> None:
        """Called before elements come: raise here, or wait, if no more pages can be taken."""

    def keep(self, level: int, first: int, columns: Columns) -> None:
        """Take full pages, PAGE nodes each, from number `first` on; the columns are only lent. Raises nothing."""

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
        if self._ring < SMALLEST_RING or self._ring & (self._ring - 1):
            raise bad("ring", ring, f"a power of two of at least {SMALLEST_RING:,}")
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
    @once
    def levels_of(ops: Ops, jit: Jit) -> Levels:
        def finished(R: Any, level: int, q: int) -> bool:
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

        return Levels(jit(finished), jit(place), jit(made), jit(ready))

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
        self._looked: dict[tuple[int, int], Columns] = {}
        """Pages that a policy has looked at; what it evicts lies there too."""
        self._floor: int | None = None
        """HEAD where it may return to (`mark`)."""
        super().clear()

    def extend_arrays(self, values: Any, size: int | None = None) -> tuple[tuple[Any, ...], Any]:
        size = None if size is None else whole("size", size, least=1)
        n, piece = len(values), self._ring // 4
        outs, ok = self._ops.outputs(n), np.ones(n, dtype=np.bool_)
        for first in range(0, n, piece):
            self._pages.ready()
            part = values[first : first + piece]
            if size is not None and len(self) > size:
                self.evict_many(len(self) - size)
            leaving = 0 if size is None else max(0, len(self) + len(part) - size)
            head = self.register(HEAD)
            self._near(head, head + leaving, len(part))
            found, good = super().extend_arrays(part, size)
            for several, some in zip((*outs, ok), (*found, good), strict=True):
                several[first : first + len(part)] = some
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
        """Hand over every page that is full; without `all_levels` only when one of level 0 is, in O(1) if none is.

        Pages that have left the window are not handed over: a small window has none elsewhere.
        """
        if not all_levels and self.register(TAIL) - self.saved[0] < PAGE:
            return
        head = self.register(HEAD) if self._floor is None else self._floor
        for level in range(LEVELS):
            full = self._nodes(level) // PAGE * PAGE
            if full <= 0:
                break
            first = max(self.saved[level], (head >> level) // PAGE * PAGE)
            while first < full:
                count = min(full - first, self._ring - (first & self._ring - 1))  # up to the ring's end
                at = self._tail_ring(level) + (first & self._ring - 1)
                self._pages.keep(level, first // PAGE, tuple(column[at : at + count] for column in self._bank.cols))
                first += count
            self.saved[level] = full

    def _near(self, first: int, last: int, more: int = 1) -> None:
        """See to it that steps with a head of `[first, last]` find the nodes they read, while `more` elements come.

        Only this reads. If it raises, nothing has changed.
        """
        tail = self.register(TAIL)
        if last <= self._checked and tail + more <= self._until:
            return
        self.save()
        ahead = min(tail, last + PAGE // 2)  # further than asked, so that single steps seldom come here
        wanted: list[tuple[int, int]] = []
        cached = list(self._cached)
        for level in range(height(first, tail) + 1 if first < tail else 0):
            nodes = self._nodes(level)
            stays = max(self.register(TAIL_LOW + level), nodes - self._ring // 2)  # in the tail ring, for a while
            low, high = first >> level, min((ahead >> level) + 2, nodes, stays)
            if low >= high:
                continue
            pages, here = range(low // PAGE, (high - 1) // PAGE + 1), cached[level]
            if pages[0] not in here or pages[-1] not in here:
                wanted += [(level, number) for number in pages if number not in here]
                cached[level] = pages
        self._checked = -1
        for (level, number), columns in zip(wanted, self._fetch(wanted), strict=True):
            at = self._tail_ring(level) + self._ring + (number * PAGE & self._ring - 1)
            for column, part in zip(self._bank.cols, columns, strict=True):
                column[at : at + PAGE] = part
        self._cached = cached
        self._checked, self._until = ahead, tail + self._ring // 4
        self._looked.clear()

    def _fetch(self, wanted: list[tuple[int, int]]) -> list[Columns]:
        missing = [at for at in wanted if at not in self._looked]
        if missing:
            found = self._pages.fetch(missing)
            self.reads += len(missing)
            self._looked.update(zip(missing, found, strict=True))
        return [self._looked[at] for at in wanted]

    def node_at(self, level: int, q: int) -> Any:
        number = int(q) // PAGE
        if q >= self.register(TAIL_LOW + level) or number in self._cached[level]:
            return super().node_at(level, q)
        if len(self._looked) > 2 * LEVELS:
            self._looked.clear()
        (columns,) = self._fetch([(level, number)])
        return self._partial(columns, q % PAGE)

    def _tail_ring(self, level: int) -> int:
        """Where a level's tail ring begins; its head ring follows."""
        return self.register(BASE) + 2 * level * self._ring

    # ---- taking back ----
    def mark(self) -> Any:
        """What `back_to` needs to undo all that is done from here on, until the next mark; O(1)."""
        marked = self._bank.regs[0][HEAD:TAIL_LOW]
        self._floor = int(marked[0])
        return marked if isinstance(marked, list) else marked.copy()

    def back_to(self, marked: Any) -> None:
        """The window as it was when it was marked: full pages never change, and what came after is written again."""
        self._bank.regs[0][HEAD:TAIL_LOW] = marked
        self.saved = [max(0, min(saved, self._nodes(level) // PAGE * PAGE)) for level, saved in enumerate(self.saved)]
        self._looked.clear()
        registers = self._bank.regs[0]
        registers[STALE], registers[KNOWN], registers[DEPTH] = 1, 0, 0
        self._checked = -1

    # ---- what must be written down beside the pages ----
    def tails(self) -> tuple[list[int], Columns, list[Columns]]:
        """The registers; R and the stack; and per level the nodes of the window that are in no page, a few at least.

        At most a page and a bit per level: O(log n).
        """
        self.save()
        kept = []
        for level in range(LEVELS):
            nodes = self._nodes(level)
            if nodes <= 0:
                break
            first = max(0, min(self.saved[level], nodes - TAIL_AT_LEAST))
            first = max(first, min(self.register(HEAD) >> level, nodes))  # older ones are never read again
            kept.append(tuple(_picked(column, self._places(level, first, nodes)) for column in self._bank.cols))
        ends = tuple(_picked(column, self._ends()) for column in self._bank.cols)
        return [int(value) for value in self._bank.regs[0][HEAD:TAIL_LOW]], ends, kept

    def set_tails(self, registers: list[int], ends: Columns, kept: list[Columns]) -> None:
        """Continue, to the bit, from what `tails` returned; the pages are where they were."""
        self.clear()
        mine = self._bank.regs[0]
        for number, value in enumerate(registers, start=HEAD):
            mine[number] = value
        _put_back(self._bank.cols, self._ends(), ends)
        for level, columns in enumerate(kept):
            nodes = self._nodes(level)
            first = nodes - len(columns[0])
            self.saved[level] = nodes // PAGE * PAGE
            mine[TAIL_LOW + level] = first
            _put_back(self._bank.cols, self._places(level, first, nodes), columns)

    def _ends(self) -> list[int]:
        """Where R, the answer and the stack lie; nowhere if they are to be computed anew."""
        base, count = self.register(BASE), 0 if self.register(STALE) else STACK - 1 + self.register(DEPTH)
        return [base - 1 - k for k in range(count)]

    def _places(self, level: int, first: int, last: int) -> list[int]:
        """Where in the tail ring these nodes of a level lie."""
        start, mask = self._tail_ring(level), self._ring - 1
        return [start + (q & mask) for q in range(first, last)]

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


def _put_back(columns: Columns, places: list[int], kept: Columns) -> None:
    for column, part in zip(columns, kept, strict=True):
        for place, node in zip(places, part, strict=True):
            column[place] = node


def _picked(column: Any, places: list[int]) -> Any:
    return [column[place] for place in places] if isinstance(column, list) else column[places]
