"""A bank whose windows own tallies: the raw values in rings as ever, the tallies in cells beside them.

    cols   ┌──── ring of raw values ────┐ ...        cells   ┌scratch┬─ slot 0 ─┬─ slot 1 ─┐ ...
           └────────────────────────────┘                    └───0───┴──────────┴──────────┘
                                                                      ▲ CELL of slot 0

What is in a cell can be made anew from the raw values. So a slot that moves, grows or is restored only becomes STALE,
and a slot with few values has no cell at all (CELL is 0): it is tallied in the scratch cell at each query.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from slidewise.kernels.ops import Ops
from slidewise.kernels.registers import HEAD, MASK, OWN
from slidewise.kernels.tallies import TallyOps
from slidewise.swag.bank import Bank

CELL, STALE, MID, RING = OWN, OWN + 1, OWN + 2, OWN + 3
"""Registers of a slot with tallies: its first cell, whether its cells must be made anew, and the structure's own."""

REGISTERS = 4


class CellBank(Bank):
    """`needs(size)` says how many cells a slot with a ring of `size` places has."""

    alike = False

    def __init__(self, ops: Ops, needs: Callable[[int], int]) -> None:
        assert ops.tally is not None
        self._tally: TallyOps = ops.tally
        self._needs = needs
        self._cells = self._tally.cells(1, machine=ops.compiled)
        self._cells_used = 1
        super().__init__(ops.columns, compiled=ops.compiled, own=REGISTERS)

    @property
    def cols(self) -> tuple[Any, ...]:
        return (*self._arena, self._cells)

    def compact(self) -> None:
        before = self._arena
        super().compact()
        if self._arena is not before:  # every slot was placed anew
            return
        live = 1 + sum(self._needs(int(registers[MASK]) + 1) for registers in self.regs)
        if self._cells_used > 2 * live + 64:
            self._cells, self._cells_used = self._tally.cells(1, machine=self.compiled), 1
            for registers in self.regs:
                self._give_cells(registers)

    def copy(self, source: int, target: int) -> None:
        super().copy(source, target)
        self.place_again(target)
        self.regs[target][MID] = self.regs[target][HEAD]

    def place_again(self, slot: int) -> None:
        """Set a slot's registers of cells right after its registers were overwritten."""
        self._give_cells(self.regs[slot])

    def _place(self, slot: int, capacity: int) -> None:
        if self.used == 0:  # the first slot of a new arena
            self._cells, self._cells_used = self._tally.cells(1, machine=self.compiled), 1
        super()._place(slot, capacity)
        self._give_cells(self.regs[slot])

    def _give_cells(self, registers: Any) -> None:
        count = self._needs(int(registers[MASK]) + 1)
        registers[STALE] = 1
        registers[CELL] = self._cells_used if count else 0
        registers[RING] = count - 2
        need = self._cells_used + count
        if need > len(self._cells):
            grown = self._tally.cells(max(need, 2 * len(self._cells)), machine=self.compiled)
            grown[: self._cells_used] = self._cells[: self._cells_used]
            self._cells = grown
        self._cells_used = need
