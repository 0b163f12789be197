"""A bank: the windows of many keys in one arena, so that one compiled loop serves all of them.

    cols   ┌─extra─┬──── ring ────┐┌─extra─┬── ring ──┐ . . free . .
           └───────┴──────────────┘└───────┴──────────┘
                   ▲ BASE of slot 0         ▲ BASE of slot 1          (kernels/registers.py)

A slot's ring has a power of two of places. `reserve` gives a slot a larger ring at the end of the arena and copies
what is live: amortized O(1) per insert. The space left behind, and rings much larger than what lives in them, are
reclaimed by `compact`.

An algorithm that keeps more than one partial per element has several *planes*: plane k of position p is at place
``BASE + k * (MASK + 1) + (p & MASK)``. One that keeps integers per element (pointers, positions) has *links*: the last
column, ``cols[-1]``, of int64, with planes of the same layout. *Scratch* planes come after the others and are not
copied: an algorithm that has them builds them anew when it finds its register MOVED set.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np

from slidewise.kernels.registers import BASE, HEAD, LAST, MASK, MOVED, OWN, TAIL

SMALLEST = 4
"""Places in a new slot's ring."""

ROOMY = 64
"""A ring of no more places is not worth shrinking."""

MANY = 16
"""So many rings are moved at once rather than one by one."""

SPARSE = 65_536
"""An arena of no more places is not worth shrinking."""


class Bank:
    """Windows by slot number: `cols` and `regs` are what the kernels take.

    `columns(length)` makes room for that many partials: arrays if `compiled`, else a list. `extra` is how many
    partials, `own` how many registers an algorithm keeps beside the ring; `planes` and `links` how many partials and
    integers it keeps per element, `scratch` how many more it can derive from those. `live` names the two registers
    between which the ring is in use.
    """

    alike = True
    """Slots have rings and nothing else, so that many can be moved at once."""

    def __init__(
        self,
        columns: Callable[[int], tuple[Any, ...]],
        *,
        compiled: bool,
        extra: int = 0,
        own: int = 0,
        planes: int = 1,
        links: int = 0,
        scratch: int = 0,
        live: tuple[int, int] = (HEAD, TAIL),
    ) -> None:
        self.columns = columns
        self.compiled = compiled
        self.extra = extra
        self.own = own
        self.planes = planes
        self.links = links
        self.scratch = scratch
        self.live = live
        self._arena = self._columns(64)
        self._rows: Any = np.zeros((8, OWN + own), dtype=np.int64) if compiled else []
        self.regs: Any = self._rows[:0]
        self.used = 0
        self.wasted = 0

    @property
    def cols(self) -> tuple[Any, ...]:
        """The columns, as the kernels take them."""
        return self._arena

    @property
    def slots(self) -> int:
        """How many slots exist, free ones included."""
        return len(self.regs)

    @property
    def held(self) -> int:
        """Places of the arena that some slot has."""
        return self.used - self.wasted

    def length(self, slot: int) -> int:
        """Elements in the window; O(1)."""
        return int(self.regs[slot][TAIL] - self.regs[slot][HEAD])

    def add(self, capacity: int = SMALLEST) -> int:
        """A new empty slot with room for `capacity`; it must be cleared by the kernel (a fresh run) or the caller."""
        slot = len(self.regs)
        row = [0] * (OWN + self.own)
        row[LAST] = row[MASK] = -1
        if not self.compiled:
            self.regs.append(row)
        else:
            if slot == len(self._rows):
                self._rows = np.concatenate([self._rows, np.zeros_like(self._rows)])
            self._rows[slot] = row
            self.regs = self._rows[: slot + 1]
        self._place(slot, capacity)
        return slot

    def whole(self, ring: int, rings: int) -> None:
        """Slot 0 alone, with so many rings of `ring` places, which the algorithm lays out itself; none ever moves."""
        self._arena = self._columns(self.extra + ring * rings)
        self.regs[0][BASE], self.regs[0][MASK] = self.extra, ring - 1
        self.used, self.wasted = len(self._arena[0]), 0

    def empty(self, slot: int) -> None:
        """Drop what a slot holds; its ring goes with the next `compact`."""
        registers = self.regs[slot]
        for number in (HEAD, TAIL, *self.live):
            registers[number] = 0
        registers[LAST] = -1

    def copy(self, source: int, target: int) -> None:
        """Have one slot hold what another holds; O(live)."""
        registers, theirs = self.regs[target], self.regs[source]
        base, mask = int(theirs[BASE]), int(theirs[MASK])
        self.empty(target)
        if int(registers[MASK]) != mask:
            self._place(target, mask + 1)
        kept = (registers[BASE], registers[MASK])
        for number in range(len(registers)):
            registers[number] = theirs[number]
        registers[BASE], registers[MASK] = kept
        if self.scratch:
            registers[MOVED] = 1
        self._copy(self._arena, registers, base, mask)
        if not self.compiled:  # an algorithm may keep an object of its own there, which it changes in place
            for place in range(int(registers[BASE]) - self.extra, int(registers[BASE])):
                self._arena[0][place] = copy(self._arena[0][place])

    def reserve(self, slot: int, capacity: int) -> None:
        """Make room for `capacity` live elements in a slot; amortized O(1) per element ever inserted."""
        if int(self.regs[slot][MASK]) + 1 < capacity:
            self._place(slot, capacity)

    def shrink(self, slot: int) -> None:
        """Give a slot a smaller ring once a quarter is enough; amortized O(1) per element ever evicted."""
        size = int(self.regs[slot][MASK]) + 1
        if size > ROOMY and 4 * self.length(slot) <= size:
            self._place(slot, size // 2)
            self.compact()

    def reserve_all(self, slots: Any, capacities: Any) -> None:
        """`reserve` for many slots; only those that lack room cost anything. A slot may be named more than once."""
        if self.compiled:
            lacking = np.nonzero(self.regs[slots, MASK] + 1 < capacities)[0]
            if len(lacking) >= MANY and self.alike:
                chosen, place = np.unique(np.asarray(slots)[lacking], return_inverse=True)
                wanted = np.zeros(len(chosen), dtype=np.int64)
                np.maximum.at(wanted, place, np.asarray(capacities)[lacking])
                self.wasted += int(self._regions(self.regs[chosen, MASK] + 1).sum())
                self._place_all(chosen, wanted, self._arena)
                return
            for k in lacking.tolist():
                self.reserve(int(slots[k]), int(capacities[k]))
        else:
            for slot, capacity in zip(list(slots), list(capacities), strict=True):
                self.reserve(int(slot), int(capacity))

    def places(self, slot: int) -> list[int]:
        """Where in the arena a slot's live partials lie: plane by plane, oldest first, then its extra partials."""
        registers = self.regs[slot]
        return list(map(int, self._places(registers, int(registers[BASE]), int(registers[MASK]))))

    def compact(self) -> None:
        """Rewrite the arena where most of it is dead; O(live), so amortized O(1) per insert and evict."""
        if self.wasted * 2 <= self.used and self.used <= max(SPARSE, 8 * self._live()):
            return
        old = self._arena
        self._arena, self.used, self.wasted = self._columns(64), 0, 0
        if self.compiled and self.alike:
            everyone = np.arange(self.slots)
            self._place_all(everyone, self.regs[:, TAIL] - self.regs[:, HEAD], old)
            return
        for slot in range(self.slots):
            registers = self.regs[slot]
            base, mask = int(registers[BASE]), int(registers[MASK])
            registers[MASK] = -1
            self._place(slot, self.length(slot))
            self._copy(old, registers, base, mask)

    def _live(self) -> int:
        if self.compiled:
            held = int((self.regs[:, TAIL] - self.regs[:, HEAD]).sum())
        else:
            held = sum(registers[TAIL] - registers[HEAD] for registers in self.regs)
        each = max(self.planes, self.links) + self.scratch
        return each * (held + SMALLEST * self.slots) + self.extra * self.slots

    def _place(self, slot: int, capacity: int) -> None:
        """Give a slot a ring of at least `capacity` places at the end of the arena, with what lives in its old one."""
        size = SMALLEST
        while size < capacity:
            size *= 2
        registers = self.regs[slot]
        base, mask = int(registers[BASE]), int(registers[MASK])
        self._make_room(self._region(size))
        registers[BASE], registers[MASK] = self.used + self.extra, size - 1
        self.used += self._region(size)
        if self.scratch:
            registers[MOVED] = 1
        if mask >= 0:
            self.wasted += self._region(mask + 1)
            self._copy(self._arena, registers, base, mask)

    def _place_all(self, slots: Any, capacities: Any, old: tuple[Any, ...]) -> None:
        """As `_place`, for many slots at once; what lives in their rings of `old` goes along."""
        registers = self.regs[slots]
        bits = np.ceil(np.log2(np.maximum(capacities, SMALLEST))).astype(np.int64)
        sizes = np.int64(1) << bits
        regions = self._regions(sizes)
        total = int(regions.sum())
        if old is self._arena:
            self._make_room(total)
            old = self._arena
        else:
            self._arena = self._columns(max(64, total))
        begins = self.used + np.cumsum(regions) - regions
        self.used += total
        self.regs[slots, BASE], self.regs[slots, MASK] = begins + self.extra, sizes - 1
        if self.scratch:
            self.regs[slots, MOVED] = 1
        first, last = (registers[:, number] for number in self.live)
        moved = self.regs[slots]
        source, target = (self._all_places(rows, first, last) for rows in (registers, moved))
        for before, column in zip(old, self._arena, strict=True):
            column[target] = before[source]

    def _all_places(self, registers: Any, first: Any, last: Any) -> Any:
        """Where the live partials of many slots lie, slot by slot and plane by plane."""
        base, mask, count = registers[:, BASE], registers[:, MASK], last - first
        extra = (base[:, None] - 1 - np.arange(self.extra)).ravel()
        if not max(self.planes, self.links):
            return extra
        positions = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count - first, count)
        inside = np.repeat(base, count) + (positions & np.repeat(mask, count))
        size = np.repeat(mask + 1, count)
        return np.concatenate([*(inside + k * size for k in range(max(self.planes, self.links))), extra])

    def _regions(self, sizes: Any) -> Any:
        return self.extra + (max(self.planes, self.links) + self.scratch) * sizes

    def _region(self, size: int) -> int:
        return self.extra + (max(self.planes, self.links) + self.scratch) * size

    def _make_room(self, need: int) -> None:
        length = len(self._arena[0])
        if self.used + need > length:
            grown = self._columns(max(2 * length, self.used + need))
            for old, new in zip(self._arena, grown, strict=True):
                new[: len(old)] = old
            self._arena = grown

    def _columns(self, length: int) -> tuple[Any, ...]:
        if not self.links:
            return self.columns(length)
        links: Any = np.zeros(length, dtype=np.int64) if self.compiled else [0] * length
        return (*self.columns(length), links)

    def _places(self, registers: Any, base: int, mask: int) -> Any:
        first, last = self.live
        if not max(self.planes, self.links):
            return base - 1 - np.arange(self.extra)
        positions = np.arange(int(registers[first]), int(registers[last])) & mask
        planes = [base + k * (mask + 1) + positions for k in range(max(self.planes, self.links))]
        return np.concatenate([*planes, base - 1 - np.arange(self.extra)])

    def _copy(self, old: tuple[Any, ...], registers: Any, base: int, mask: int) -> None:
        """What lives in the ring at `base`, `mask` of `old`, into the slot's ring of today."""
        source = self._places(registers, base, mask)
        target = self._places(registers, int(registers[BASE]), int(registers[MASK]))
        for before, column in zip(old, self._arena, strict=True):
            if isinstance(column, list):
                for place, taken in zip(target.tolist(), source.tolist(), strict=True):
                    column[place] = before[taken]
            else:
                column[target] = before[source]
