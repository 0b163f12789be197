"""Whole Tally: one tally of all there is, for windows that lose nothing, or everything at once.

    needs     a tally
    time      insert one `add`, query nothing but the answer; evict nothing, and one reset when the last one goes
    space     1 tally, no raw values

    cells     CELL = x added, x added, x added ..      HEAD ─────────► TAIL count, hold nothing

Invariant: the cell is the tally of the window if none or all of what was inserted has been evicted: what
swag/running.py is for partials. Its values cannot be read back, so it serves columns, not windows with snapshots.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from slidewise.kernels.jit import Jit
from slidewise.kernels.ops import Ops
from slidewise.kernels.registers import BASE, HEAD, MASK, TAIL
from slidewise.kernels.sweep import Steps
from slidewise.swag.bank import Bank
from slidewise.swag.card import Card
from slidewise.swag.cells import CELL, CellBank
from slidewise.swag.tallied import Tallied


class OneCellBank(CellBank):
    """A cell per slot and no rings: slot s has cell s + 1 for good."""

    def __init__(self, ops: Ops) -> None:
        super().__init__(ops, lambda size: 1)

    def compact(self) -> None:
        """Nothing is ever left behind."""

    def copy(self, source: int, target: int) -> None:
        registers = self.regs[target]
        cell = int(registers[CELL])
        for number in range(len(registers)):
            registers[number] = self.regs[source][number]
        registers[CELL] = cell
        self._cells[cell] = deepcopy(self._cells[int(self.regs[source][CELL])])

    def _place(self, slot: int, capacity: int) -> None:
        registers = self.regs[slot]
        registers[BASE], registers[MASK] = 0, 2**62 - 1  # as many places as anybody asks for, none of them used
        self._give_cells(registers)


class WholeTally(Tallied):
    """One tally and one `add` per element; cannot evict a part of what it holds."""

    card = Card(
        name="whole_tally",
        full_name="Whole Tally",
        paper="a fold, in place",
        ordering="FIFO",
        needs="a tally",
        amortized="O(1)",
        worst="O(1)",
        bulk_evict="all or nothing",
        space="1 tally",
        local_size="1 tally",
        custom_policy="none",
        external_store=False,
    )

    @classmethod
    def bank(cls, ops: Ops) -> Bank:
        return OneCellBank(ops)

    @staticmethod
    def build(ops: Ops, jit: Jit) -> Steps:
        assert ops.tally is not None
        reset, add = ops.tally.reset, ops.tally.add
        there = len(ops.identity) - 1

        def clear(cols: Any, R: Any) -> None:
            reset(cols[-1], R[CELL])

        def insert(cols: Any, R: Any, p: Any) -> None:
            R[TAIL] += 1
            if p[there]:
                add(cols[-1][R[CELL]], p)

        def evict(cols: Any, R: Any) -> None:
            R[HEAD] += 1
            if R[HEAD] == R[TAIL]:
                reset(cols[-1], R[CELL])

        def query(cols: Any, R: Any) -> Any:
            return R[CELL]

        return Steps(jit(clear), jit(insert), jit(evict), jit(query))
