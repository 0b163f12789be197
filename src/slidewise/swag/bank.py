"""A bank: the windows of many keys in one arena, so that one compiled loop serves all of them.

    cols   ┌─extra─┬────ring────┐┌─extra─┬──ring──┐ . . free . .
           └───────┴────────────┘└───────┴────────┘
                   ▲ BASE of slot 0       ▲ BASE of slot 1          (registers.py)

A slot's ring holds a power of two of partials. `reserve` gives a slot a larger ring at the end of the arena and copies
what is live: amortized O(1) per insert. The space left behind is reclaimed when it is more than half of the arena.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from slidewise.kernels.registers import BASE, HEAD, LAST, MASK, OWN, TAIL

SMALLEST = 4
"""Partials in a new slot's ring."""


class Bank:
    """Windows by slot number: `cols` and `regs` are what the kernels take.

    `columns(length)` makes room for that many partials: arrays if `compiled`, else a list. `extra` is how many
    partials, `own` how many registers an algorithm keeps beside the ring.
    """

    def __init__(
        self, columns: Callable[[int], tuple[Any, ...]], *, compiled: bool, extra: int = 0, own: int = 0
    ) -> None:
        self.columns = columns
        self.compiled = compiled
        self.extra = extra
        self.own = own
        self.cols = columns(64)
        self._rows: Any = np.zeros((8, OWN + own), dtype=np.int64) if compiled else []
        self.regs: Any = self._rows[:0]
        self.used = 0
        self.wasted = 0
        self.free: list[int] = []

    @property
    def slots(self) -> int:
        """How many slots exist, free ones included."""
        return len(self.regs)

    def length(self, slot: int) -> int:
        """Elements in the window; O(1)."""
        return int(self.regs[slot][TAIL] - self.regs[slot][HEAD])

    def add(self, capacity: int = SMALLEST) -> int:
        """A new empty slot with room for `capacity`; it must be cleared by the kernel (a fresh run) or the caller."""
        if self.free:
            slot = self.free.pop()
            self.reserve(slot, capacity)
            return slot
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

    def release(self, slot: int) -> None:
        """Give a slot up for reuse; O(1)."""
        registers = self.regs[slot]
        registers[HEAD] = registers[TAIL] = 0
        registers[LAST] = -1
        self.free.append(slot)

    def reserve(self, slot: int, capacity: int) -> None:
        """Make room for `capacity` live elements in a slot; amortized O(1) per element ever inserted."""
        if int(self.regs[slot][MASK]) + 1 < capacity:
            self._place(slot, capacity)

    def reserve_all(self, slots: Any, capacities: Any) -> None:
        """`reserve` for many slots; only those that lack room cost anything. A slot may be named more than once."""
        if self.compiled:
            lacking = np.nonzero(self.regs[slots, MASK] + 1 < capacities)[0]
            for k in lacking.tolist():
                self.reserve(int(slots[k]), int(capacities[k]))
        else:
            for slot, capacity in zip(list(slots), list(capacities), strict=True):
                self.reserve(int(slot), int(capacity))

    def places(self, slot: int) -> list[int]:
        """Where in the arena a slot's live partials lie, oldest first, then its extra partials."""
        registers = self.regs[slot]
        base, mask = int(registers[BASE]), int(registers[MASK])
        live = [base + (position & mask) for position in range(int(registers[HEAD]), int(registers[TAIL]))]
        return live + [base - 1 - k for k in range(self.extra)]

    def _place(self, slot: int, capacity: int) -> None:
        """Move a slot to a larger ring at the end of the arena."""
        size = SMALLEST
        while size < capacity:
            size *= 2
        registers = self.regs[slot]
        old_base, old_mask = int(registers[BASE]), int(registers[MASK])
        need = self.extra + size
        if old_mask >= 0:
            self.wasted += self.extra + old_mask + 1
        self._make_room(need)
        base = self.used + self.extra
        self.used += need
        if old_mask >= 0:
            self._copy(registers, old_base, old_mask, base, size - 1)
        registers[BASE], registers[MASK] = base, size - 1

    def _make_room(self, need: int) -> None:
        length = len(self.cols[0])
        if self.used + need <= length:
            return
        length = max(2 * length, self.used + need)
        if self.compiled:
            self.cols = tuple(_longer(column, length) for column in self.cols)
        else:
            self.cols[0].extend([None] * (length - len(self.cols[0])))

    def _copy(self, registers: Any, old_base: int, old_mask: int, base: int, mask: int) -> None:
        positions = np.arange(int(registers[HEAD]), int(registers[TAIL]))
        source = np.concatenate([old_base + (positions & old_mask), old_base - 1 - np.arange(self.extra)])
        target = np.concatenate([base + (positions & mask), base - 1 - np.arange(self.extra)])
        if self.compiled:
            for column in self.cols:
                column[target] = column[source]
        else:
            column = self.cols[0]
            for place, taken in zip(target.tolist(), source.tolist(), strict=True):
                column[place], column[taken] = column[taken], None

    def compact(self) -> None:
        """Reclaim what `reserve` left behind, if it is more than half of the arena; O(live)."""
        if self.wasted * 2 <= self.used:
            return
        fresh = Bank(self.columns, compiled=self.compiled, extra=self.extra, own=self.own)
        fresh._make_room(self.used - self.wasted)
        for slot in range(self.slots):
            registers = self.regs[slot]
            base, mask = int(registers[BASE]), int(registers[MASK])
            size = self.extra + mask + 1
            place = fresh.used
            for old, new in zip(self.cols, fresh.cols, strict=True):
                new[place : place + size] = old[base - self.extra : base + mask + 1]
            registers[BASE] = place + self.extra
            fresh.used += size
        self.cols, self.used, self.wasted = fresh.cols, fresh.used, 0


def _longer(column: Any, length: int) -> Any:
    grown = np.zeros(length, dtype=column.dtype)
    grown[: len(column)] = column
    return grown
