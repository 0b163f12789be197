"""A queue of chunks: what DABA stands on. Nothing is ever copied to make room, so no operation waits for a copy.

    paper     001 section 4.1

        ┌──────────── next ────────────┐   next    ┌─────────── next ──────────┐
        ▼                              │           ▼                           │
      [ . . F x x x x x ] ⇄ [ x x x x x x x x ] ⇄ [ x x E . . . . . ] ⇄ [ . . . . . . . . ]
            oldest                                      sentinel             spare

    push back, pop front, pointer copy, compare, + 1, − 1, read, write: each worst-case O(1)

A pointer is a place, an integer. A chunk is CHUNK places in a row (as many again for a second plane), and the chunks of
a window form a ring, linked both ways through the links column, two numbers per chunk: where the next and the previous
chunk begin. E points behind the newest element and always at a place of the window's own, the sentinel, so
`pointer == E` is well-formed where the queue ends with a chunk. Chunks behind E are empty: evictions leave them there
by moving F on, the next pushes take them again.

Where chunks come from: before each call of a kernel the bank sees to it that the ring has room for what may be
inserted, by linking free or new chunks in behind E; after it, chunks beyond one spare are unlinked, two per call at
most. Both are O(1) for an insert or an evict. Inside a kernel nothing is allocated.

- Object mode: a chunk is a list, found through a directory of fixed depth (`Pages`), as an operating system finds
  pages; a new chunk allocates at most two lists of fixed length, and no list ever grows. So insert, evict and query are
  worst-case O(1), allocation included.
- Compiled mode: chunks are stretches of one array per field, since machine code wants one base address. Steps are
  worst-case O(1), and so are calls, as long as the window does not outgrow what it has held before: freed chunks are
  kept and used again. But when the arena itself is full, the call that needs more doubles it, which copies it: log₂ n
  such calls in a life, never inside a kernel, and none at all with `capacity=`.

Invariant: a ring of k chunks holds up to (k − 1)·CHUNK elements wherever F lies, and MASK + 1 says so.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from slidewise.kernels.jit import Jit
from slidewise.kernels.ops import Ops
from slidewise.kernels.registers import BASE, HEAD, MASK, OWN
from slidewise.swag.bank import SPARSE, Bank
from slidewise.swag.structure import Structure

CHUNK = 64
"""Elements of a chunk."""

LOW = CHUNK - 1
FRONT, END = OWN, OWN + 1
"""Registers of the queue's own pointers; an algorithm's further pointers come behind them."""

BITS, FANOUT = 6, 2048
"""A directory's leaves have 2**BITS places, its inner lists FANOUT entries."""


class Pages:
    """Places of objects in lists of fixed length, under a directory of fixed depth: room is made in O(1)."""

    __slots__ = ("root",)

    def __init__(self) -> None:
        self.root: list[Any] = [None] * FANOUT

    def __len__(self) -> int:
        return FANOUT * FANOUT << BITS

    def __getitem__(self, place: int) -> Any:
        return self.root[place >> 17][(place >> 6) & 2047][place & 63]

    def __setitem__(self, place: int, value: Any) -> None:
        self.root[place >> 17][(place >> 6) & 2047][place & 63] = value

    def make(self, place: int) -> None:
        """Room for the 2**BITS places from `place` on."""
        under = self.root[place >> 17]
        if under is None:
            under = self.root[place >> 17] = [None] * FANOUT
        under[(place >> 6) & 2047] = [None] * (1 << BITS)

    def drop(self, place: int) -> None:
        """Give up the 2**BITS places from `place` on, and the objects in them."""
        self.root[place >> 17][(place >> 6) & 2047] = None


def link_of(chunk: int) -> int:
    """Where in the links column a chunk, known by its first place, says what comes next; what came before follows."""
    return chunk >> (BITS - 1)


def queue_of(ops: Ops, jit: Jit) -> tuple[Any, Any]:
    """`after(cols, p)` and `before(cols, p)`: the pointer one on and one back."""

    link = jit(link_of)

    def after(cols: Any, p: int) -> int:
        if (p & LOW) == LOW:
            p = cols[-1][link(p - LOW)]
        else:
            p += 1
        return p

    def before(cols: Any, p: int) -> int:
        if (p & LOW) == 0:
            p = cols[-1][link(p) + 1] + LOW
        else:
            p -= 1
        return p

    return jit(after), jit(before)


class ChunkBank(Bank):
    """A bank whose slots have rings of chunks in place of rings of places; FRONT is the first of `pointers`."""

    alike = False

    def __init__(self, ops: Ops, *, planes: int, extra: int, own: int, pointers: int) -> None:
        self._chunk = planes * CHUNK
        self._pointers = range(FRONT, FRONT + pointers)
        self._free = -1
        self._spare = 0
        super().__init__(ops.columns, compiled=ops.compiled, planes=planes, extra=extra, own=own, links=1)

    @property
    def held(self) -> int:
        return self.used - self._spare * self._chunk

    def shrink(self, slot: int) -> None:
        """Unlink up to two empty chunks, so that one spare stays; O(1)."""
        for _ in range(2):
            self._unlink(slot)

    def compact(self) -> None:
        """Let slots that hold much less than they did give their chunks to the others; no element moves."""
        if self.held > max(SPARSE, 8 * self._live()):
            for slot in range(self.slots):
                while self._unlink(slot):
                    pass

    def pointers(self, slot: int, n: int) -> list[int]:
        """The places of the n oldest elements of a slot, oldest first; O(n)."""
        p, found = int(self.regs[slot][FRONT]), []
        for _ in range(n):
            found.append(p)
            p = self._next(p - LOW) if p & LOW == LOW else p + 1
        return found

    def copy(self, source: int, target: int) -> None:
        n, mine, theirs = self.length(source), self.regs[target], self.regs[source]
        self.empty(target)
        mine[FRONT] = mine[END]
        self.reserve(target, n)
        placed = dict(zip(self.pointers(source, n + 1), self.pointers(target, n + 1), strict=True))
        kept = (mine[BASE], mine[MASK])
        for number in range(len(mine)):
            mine[number] = placed[int(theirs[number])] if number in self._pointers else theirs[number]
        mine[BASE], mine[MASK] = kept
        for column in self.cols[:-1]:
            for place, taken in zip(self.places(target), self.places(source), strict=True):
                column[place] = column[taken]

    def places(self, slot: int) -> list[int]:
        registers = self.regs[slot]
        held = self.pointers(slot, self.length(slot))
        planes = [p + k * CHUNK for k in range(self.planes) for p in held]
        return [*planes, *(int(registers[BASE]) - 1 - k for k in range(self.extra))]

    def _place(self, slot: int, capacity: int) -> None:
        """Link chunks in behind E until there is room for `capacity`; a new slot gets its first ones here."""
        registers = self.regs[slot]
        if registers[MASK] < 0:
            first = self._take()
            self._link(first, first)
            if self.extra:
                registers[BASE] = self._take() + self.extra
            registers[FRONT] = registers[END] = first
            capacity = max(capacity, 1)
        while registers[MASK] + 1 < capacity:
            here, new = int(registers[END]) & ~LOW, self._take()
            self._link(new, self._next(here))
            self._link(here, new)
            registers[MASK] += CHUNK

    def _next(self, chunk: int) -> int:
        return int(self.cols[-1][link_of(chunk)])

    def _link(self, chunk: int, then: int) -> None:
        self.cols[-1][link_of(chunk)] = then
        self.cols[-1][link_of(then) + 1] = chunk

    def _unlink(self, slot: int) -> bool:
        """Take the empty chunk behind E out of the ring, if there is another spare one."""
        registers = self.regs[slot]
        if int(registers[MASK]) + 1 < self.length(slot) + 2 * CHUNK:
            return False
        here = int(registers[END]) & ~LOW
        gone = self._next(here)
        self._link(here, self._next(gone))
        registers[MASK] -= CHUNK
        self.cols[-1][link_of(gone)], self._free = self._free, gone
        self._spare += 1
        if not self.compiled:
            for k in range(self.planes):
                self.cols[0].drop(gone + k * CHUNK)
        return True

    def _take(self) -> int:
        """A chunk that nobody has: a freed one, else the next of the arena."""
        if self._free >= 0:
            chunk, self._spare = self._free, self._spare - 1
            self._free = self._next(chunk)
            if not self.compiled:
                self._furnish(chunk)
            return chunk
        chunk = self.used
        self._make_room(self._chunk)
        self.used += self._chunk
        return chunk

    def _make_room(self, need: int) -> None:
        if self.compiled:
            super()._make_room(need)
        elif self.used + need > len(self.cols[0]):
            raise OverflowError(f"{len(self.cols[0]):,} places are the most that one process keeps in object mode")
        else:
            if link_of(self.used) % (1 << BITS) == 0:
                self.cols[-1].make(link_of(self.used))
            self._furnish(self.used)

    def _furnish(self, chunk: int) -> None:
        for k in range(self.planes):
            self.cols[0].make(chunk + k * CHUNK)

    def _columns(self, length: int) -> tuple[Any, ...]:
        if not self.compiled:
            return (Pages(), Pages())
        return (*self.columns(length), np.zeros(link_of(length) + 2, dtype=np.int64))


class Chunked(Structure):
    """An algorithm over a queue of chunks: FRONT and END are its first two own registers, then `pointers` more."""

    pointers = 0

    @classmethod
    def bank(cls, ops: Ops) -> Bank:
        return ChunkBank(ops, planes=cls.planes, extra=cls.extra, own=cls.own, pointers=2 + cls.pointers)

    def state(self) -> tuple[list[int], list[Any], list[int]]:
        registers, partials, _ = super().state()
        for number in self._pointer_registers():
            registers[number - HEAD] = self._position_of(int(self._bank.regs[0][number]))
        return registers, partials, []

    def set_state(self, registers: list[int], partials: list[Any], links: list[int]) -> None:
        self.clear()
        head, n = registers[0], registers[1] - registers[0]
        self._make_room(n)
        mine, bank = self._bank.regs[0], self._bank
        assert isinstance(bank, ChunkBank)
        places = bank.pointers(0, n + 1)
        for number, value in enumerate(registers, start=HEAD):
            mine[number] = value
        for number in self._pointer_registers():
            mine[number] = places[registers[number - HEAD] - head]
        for place, partial in zip(bank.places(0), partials, strict=True):
            self._put(place, partial)

    def check(self) -> None:
        super().check()
        bank, registers = self._bank, self._bank.regs[0]
        links, first = bank.cols[-1], int(registers[FRONT]) & ~LOW
        chunk, chunks = first, 0
        while chunks == 0 or chunk != first:
            then = int(links[link_of(chunk)])
            assert int(links[link_of(then) + 1]) == chunk, "chunks are linked both ways"
            chunk, chunks = then, chunks + 1
        assert int(registers[MASK]) + 1 == (chunks - 1) * CHUNK >= len(self), "MASK says how much the chunks hold"
        assert int(registers[END]) == self._walk()[-1], "E is behind the newest element"

    def positions(self) -> list[int]:
        """Where the pointers stand, F first and E last, as numbers of elements from the oldest; O(n)."""
        at = {place: k for k, place in enumerate(self._walk())}
        registers = self._bank.regs[0]
        between = range(END + 1, END + 1 + self.pointers)
        return [at[int(registers[number])] for number in (FRONT, *between, END)]

    def _walk(self) -> list[int]:
        assert isinstance(self._bank, ChunkBank)
        return self._bank.pointers(0, len(self) + 1)

    def _pointer_registers(self) -> range:
        return range(FRONT, END + 1 + self.pointers)

    def _position_of(self, place: int) -> int:
        return int(self._bank.regs[0][HEAD]) + self._walk().index(place)
