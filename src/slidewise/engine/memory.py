"""What is remembered of windows whose rows are gone: a ledger, a row per key, as of one watermark.

    key columns │ rows of the key so far │ its newest time │ of each window that needs it: {rows, totals, session, fold}

`expanding` and `session` are one total, a step of rows is a number, a slide policy is how many rows it holds: none of
them can be had again from the rows that later answers cover, so each is written down. Plain numbers are columns of
Arrow; other partials go through the monoid's codec. Nothing is ever unpickled.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from slidewise.engine.carry import Carry, Lane
from slidewise.engine.framing import Framer
from slidewise.engine.output import Output
from slidewise.engine.reach import is_folded
from slidewise.errors import SnapshotError
from slidewise.frames.fold import REGISTERS
from slidewise.frames.kind import Frame
from slidewise.kernels.registers import BASE, HEAD, LAST, TAIL
from slidewise.monoids.codec import codec_of, decode_plain, encode_plain
from slidewise.swag.bank import Bank
from slidewise.swag.cells import CELL
from slidewise.windows.bounds import NEXT_LO, STARTED
from slidewise.windows.policy import DataWindow
from slidewise.windows.window import Session

SEEN, NEWEST, MEMORY = "__seen", "__newest", "__memory"
"""The columns of a ledger beside the keys."""

GONE = "__gone"
"""In place of `SEEN` in ledgers of format 1: how many rows of the key were stored nowhere any more."""


def remembers(carry: Carry) -> bool:
    """True if some window of the plan must be written down when rows go."""
    return any(True for _ in _lanes(carry))


def memory_of(carry: Carry, slots: Any) -> pa.Array | None:
    """What must be remembered of these slots, a row each; None if no window needs it."""
    columns: dict[str, pa.Array] = {}
    for number, lane in _lanes(carry):
        columns[f"{number}_rows"] = pa.array(lane_rows(lane, slots))
        if isinstance(lane.window, Session):
            for k, name in enumerate(("first", "last")):
                columns[f"{number}_{name}"] = pa.array(np.ascontiguousarray(lane.marks[slots, k]))
        if lane.framer is not None:
            columns |= {f"{number}_{name}": column for name, column in _fold_of(lane.framer, slots).items()}
        for output, bank in _totals(carry, lane):
            at = f"{number}_{output.name}_"
            columns[f"{at}valued"] = pa.array(_register(bank, slots, LAST) >= _register(bank, slots, HEAD))
            columns |= {at + field: values for field, values in _partials(output, bank, slots).items()}
    return pa.StructArray.from_arrays(list(columns.values()), list(columns)) if columns else None


def recall(carry: Carry, slots: Any, memory: pa.StructArray) -> None:
    """Set the totals of these slots, whatever they hold, to what `memory_of` wrote down."""
    try:
        for number, lane in _lanes(carry):
            rows = memory.field(f"{number}_rows").to_numpy()
            if isinstance(lane.window, DataWindow):
                continue  # its rows are there, and were counted
            lane.seen[slots] = lane.before[slots] = rows
            lane.ahead[slots] = 0
            if isinstance(lane.window, Session):
                _open_session(lane, slots, rows, memory, number)
            if lane.framer is not None:
                _set_fold(lane.framer, slots, memory, number)
            for output, bank in _totals(carry, lane):
                at = f"{number}_{output.name}_"
                valued = memory.field(f"{at}valued").to_numpy(zero_copy_only=False)
                _put(output, bank, slots, lambda field, at=at: memory.field(at + field))
                _set_registers(bank, slots, rows, np.where(valued, rows - 1, -1))
    except KeyError as error:
        raise SnapshotError(f"the ledger does not fit this query: {error}") from error


def held_by_policies(carry: Carry, memory: pa.StructArray) -> list[tuple[Lane, Any]]:
    """Of each slide policy, and each kind of frame: how many rows its windows held."""
    found = [(number, lane) for number, lane in _lanes(carry) if isinstance(lane.window, DataWindow | Frame)]
    return [(lane, memory.field(f"{number}_rows").to_numpy()) for number, lane in found]


def lane_rows(lane: Lane, slots: Any) -> Any:
    """How many rows the windows of these slots hold now."""
    if lane.policy is not None:
        return _register(lane.policy, slots, TAIL) - _register(lane.policy, slots, HEAD)
    if lane.framer is not None:
        return lane.framer.rows(slots)
    if not isinstance(lane.window, Session):
        return lane.before[slots]
    mine = lane.ring.regs[slots]
    return np.where(mine[:, STARTED] > 0, mine[:, TAIL] - mine[:, NEXT_LO], 0)


def _lanes(carry: Carry) -> Iterator[tuple[int, Lane]]:
    for number, lane in enumerate(carry.lanes):
        if isinstance(lane.window, DataWindow | Frame) or is_folded(carry.plan, lane.window):
            yield number, lane


def _totals(carry: Carry, lane: Lane) -> Iterator[tuple[Output, Bank]]:
    """The outputs that are one total each, those that share their work as one; other windows have rows instead."""
    if is_folded(carry.plan, lane.window):
        for (output, _), bank in zip(lane.work, lane.banks, strict=True):
            yield output, bank


def _fold_of(framer: Framer, slots: Any) -> dict[str, pa.Array]:
    """Where the fold of frames stands."""
    found = {f"register{k}": pa.array(np.ascontiguousarray(framer.regs[slots, k])) for k in range(REGISTERS)}
    found |= {f"mark{k}": pa.array(np.ascontiguousarray(framer.marks[slots, k])) for k in range(2)}
    if framer.code.compiled:
        return found | {f"state{k}": pa.array(column[slots]) for k, column in enumerate(framer.cols)}
    encode, _ = framer.codec
    stored = [encode(framer.cols[0][slot]) for slot in slots.tolist()]
    return found | {"state0": pa.array(stored, type=pa.large_binary())}


def _set_fold(framer: Framer, slots: Any, memory: pa.StructArray, number: int) -> None:
    for k in range(REGISTERS):
        framer.regs[slots, k] = memory.field(f"{number}_register{k}").to_numpy()
    for k in range(2):
        framer.marks[slots, k] = memory.field(f"{number}_mark{k}").to_numpy()
    for k, column in enumerate(framer.cols):
        stored = memory.field(f"{number}_state{k}")
        if framer.code.compiled:
            column[slots] = stored.to_numpy(zero_copy_only=False)
            continue
        for slot, state in zip(slots.tolist(), stored.to_pylist(), strict=True):
            column[slot] = framer.codec[1](state)


def _open_session(lane: Lane, slots: Any, rows: Any, memory: pa.StructArray, number: int) -> None:
    lane.marks[slots, 0] = memory.field(f"{number}_first").to_numpy()
    lane.marks[slots, 1] = memory.field(f"{number}_last").to_numpy()
    registers = lane.ring.regs
    registers[slots, HEAD] = registers[slots, TAIL] = rows
    registers[slots, NEXT_LO], registers[slots, STARTED] = 0, rows > 0


def _register(bank: Bank, slots: Any, number: int) -> Any:
    if bank.compiled:
        return bank.regs[slots, number]
    return np.array([bank.regs[slot][number] for slot in slots.tolist()], dtype=np.int64)


def _set_registers(bank: Bank, slots: Any, rows: Any, last: Any) -> None:
    if bank.compiled:
        bank.regs[slots, HEAD], bank.regs[slots, TAIL], bank.regs[slots, LAST] = 0, rows, last
        return
    for slot, count, newest in zip(slots.tolist(), rows.tolist(), last.tolist(), strict=True):
        bank.regs[slot][HEAD], bank.regs[slot][TAIL], bank.regs[slot][LAST] = 0, count, newest


def _partials(output: Output, bank: Bank, slots: Any) -> dict[str, pa.Array]:
    """The total of each slot: a column per field, or one of bytes."""
    ops = output.ops
    if ops.tally is not None:
        cells = bank.cols[-1]
        found = [cells[int(cell)] for cell in _register(bank, slots, CELL)]
        stored = [cell.tobytes() if bank.compiled else encode_plain(cell) for cell in found]
        return {"cell": pa.array(stored, type=pa.large_binary())}
    places = _register(bank, slots, BASE) - 1
    if bank.compiled:
        fields = bank.cols[: len(ops.fields)]
        return {str(k): pa.array(np.ascontiguousarray(column[places])) for k, column in enumerate(fields)}
    encode, _ = codec_of(ops.monoid)
    return {"0": pa.array([encode(bank.cols[0][place]) for place in places.tolist()], type=pa.large_binary())}


def _put(output: Output, bank: Bank, slots: Any, field: Any) -> None:
    """The reverse of `_partials`."""
    ops = output.ops
    if ops.tally is not None:
        for cell, stored in zip(_register(bank, slots, CELL).tolist(), field("cell").to_pylist(), strict=True):
            if bank.compiled:
                bank.cols[-1][cell] = np.frombuffer(stored, dtype=ops.tally.tally.dtype)
            else:
                bank.cols[-1][cell] = decode_plain(stored)
        return
    places = _register(bank, slots, BASE) - 1
    if bank.compiled:
        for k, column in enumerate(bank.cols[: len(ops.fields)]):
            column[places] = field(str(k)).to_numpy(zero_copy_only=False)
        return
    _, decode = codec_of(ops.monoid)
    for place, stored in zip(places.tolist(), field("0").to_pylist(), strict=True):
        bank.cols[0][place] = decode(stored)
