"""What the structures that own tallies share: the ring holds raw values, and cells can be made anew from them."""

from __future__ import annotations

from typing import Any

from slidewise.errors import ArgumentError
from slidewise.kernels.ops import Ops
from slidewise.kernels.registers import HEAD
from slidewise.kernels.tallies import compiled_tally_ops, object_tally_ops
from slidewise.monoids.laws import same
from slidewise.monoids.monoid import Monoid
from slidewise.swag.cells import CELL, MID, REGISTERS, RING, STALE, CellBank
from slidewise.swag.structure import Structure


class Tallied(Structure):
    """A structure over raw values and tallies; see the subclasses."""

    own = REGISTERS
    tallies = True

    @classmethod
    def refuse(cls, monoid: Monoid) -> None:
        super().refuse(monoid)
        if monoid.tally is None:
            raise ArgumentError(f"{cls.card.name}: {monoid!r} has no tally; expected a monoid that has one")

    @classmethod
    def ops(cls, monoid: Monoid, types: tuple[str, ...] | None, arity: int = 1) -> Ops:
        return object_tally_ops(monoid, arity) if types is None else compiled_tally_ops(monoid, types)

    def set_state(self, registers: list[int], partials: list[Any], links: list[int]) -> None:
        """Continue from what `state` returned; where cells lie is this bank's own affair."""
        super().set_state(registers, partials, links)
        mine = self._bank.regs[0]
        mine[STALE], mine[MID] = 1, mine[HEAD]
        assert isinstance(self._bank, CellBank)
        self._bank.place_again(0)

    def check(self) -> None:
        super().check()
        registers, rows, _ = self.state()
        if registers[CELL - HEAD] == 0 or registers[STALE - HEAD]:
            return
        tally = self.monoid.tally
        assert tally is not None
        wanted = tally.empty()
        first = registers[0] if registers[RING - HEAD] < 0 else registers[MID - HEAD]
        for *values, there in rows[max(0, first - registers[0]) :]:
            if there:
                tally.add(wanted, *values)
        held = self._bank.cols[-1][registers[CELL - HEAD]]
        alike = held == wanted if isinstance(held, dict) else same(list(held), list(wanted), 0.0)
        assert alike, "the cell is the tally of its rows"
