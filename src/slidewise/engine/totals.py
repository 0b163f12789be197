"""Windows that begin with what others have folded: the partials of rows before, in place of the rows.

    part 0 ──fold──► p0 ┐
    part 1 ──fold──► p1 ┴─► part 2 begins with p0 ⊕ p1, after as many rows

For `expanding`, whose window is one partial (swag/running.py): parts of a key are folded side by side, then each part
is answered from what lies before it. Only compiled partials: they are numbers, and travel as such.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from slidewise.engine.carry import Carry, Lane
from slidewise.kernels.ops import Ops
from slidewise.kernels.registers import BASE, HEAD, LAST, TAIL
from slidewise.swag.bank import Bank
from slidewise.swag.running import Running
from slidewise.swag.structure import NEVER, sweep_of
from slidewise.windows.window import Expanding

CODES = {"bool": "?", "int64": "q", "float64": "d"}


def totals_of(carry: Carry, slot: int) -> bytes:
    """The partials of all `expanding` windows of a slot; O(1)."""
    return b"".join(
        _layout(output.ops).pack(bank.regs[slot, LAST] >= bank.regs[slot, HEAD], *_partial(output.ops, bank, slot))
        for lane in _expanding(carry)
        for (output, _), bank in zip(lane.work, lane.banks, strict=True)
    )


def begin_with(carry: Carry, slot: int, seen: int, totals: Sequence[bytes]) -> None:
    """A slot that was cleared goes on after `seen` rows, whose partials are these, oldest first; a ⊕ for each."""
    carry.resume(np.array([slot]), np.array([seen]))
    at = 0
    for lane in _expanding(carry):
        lane.before[slot] = seen
        for (output, _), bank in zip(lane.work, lane.banks, strict=True):
            layout = _layout(output.ops)
            parts = [layout.unpack_from(total, at) for total in totals]
            _fold(output.ops, bank, slot, parts)
            valued = any(part[0] for part in parts)
            bank.regs[slot, HEAD], bank.regs[slot, TAIL] = 0, seen
            bank.regs[slot, LAST] = seen - 1 if valued else -1
            at += layout.size


def _fold(ops: Ops, bank: Bank, slot: int, parts: list[tuple[Any, ...]]) -> None:
    """Insert partials as if they were rows."""
    fed: Ops = ops.built("fed partials", lambda: replace(ops, lift_at=ops.load, _built={}))
    columns = tuple(np.array([part[k + 1] for part in parts], dtype=name) for k, name in enumerate(ops.fields))
    valid = np.array([part[0] for part in parts], dtype=np.bool_)
    none, runs = np.zeros(0, dtype=np.int64), np.array([[slot, 1, 0, len(parts), 0, 0, 0]], dtype=np.int64)
    outs, ok = ops.outputs(0), np.zeros(0, dtype=np.bool_)
    sweep_of(Running, fed)(bank.cols, bank.regs, columns, valid, True, none, none, runs, NEVER, outs, ok)


def _partial(ops: Ops, bank: Bank, slot: int) -> list[Any]:
    place = int(bank.regs[slot, BASE]) - 1
    return [column[place].item() for column in bank.cols[: len(ops.fields)]]


def _layout(ops: Ops) -> struct.Struct:
    return struct.Struct("<?" + "".join(CODES[name] for name in ops.fields))


def _expanding(carry: Carry) -> list[Lane]:
    return [lane for lane in carry.lanes if isinstance(lane.window, Expanding)]
