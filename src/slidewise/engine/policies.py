"""Slide policies at work: the bounds that `evict_while` and `adwin` give, over whole columns or in pieces.

    columns ──► the policy's uses (kernels/uses.py) in an Amortized MTA (swag/enforce.py) ──► lo, hi of every row

From there on such a window is like any other: its answers come from bounds that only rise.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from slidewise.duration import NANOS
from slidewise.engine.columns import Column, as_objects
from slidewise.engine.output import Output
from slidewise.engine.plan import Plan
from slidewise.errors import ArgumentError
from slidewise.kernels.registers import HEAD, TAIL
from slidewise.kernels.spans import validity
from slidewise.kernels.uses import Use, UsesOps, uses_ops
from slidewise.swag.amta import Amta
from slidewise.swag.bank import Bank
from slidewise.swag.enforce import Access, access_of, build_enforce, by_change, by_every_prefix, by_policy
from slidewise.windows.bounds import ANSWER_FROM, ANSWER_TO, FIRST, FRESH, LAST_ROW, SLOT
from slidewise.windows.policy import Adwin, DataWindow, EvictWhile

PIECE = 2**16
"""Rows of one call: room is made for so many more than a window holds, not for all rows of a key."""


class Enforcer:
    """The policy of one window of a plan, ready to run."""

    def __init__(self, plan: Plan, window: DataWindow) -> None:
        self.window = window
        self.uses = plan.uses_of(window)
        self.code = code_of(window, [_use(output) for output in self.uses])
        self.kernel = kernel_of(window, self.code)

    @property
    def why(self) -> str:
        """Why the policy runs on Python objects; empty if it is machine code."""
        return self.code.ops.why

    def bank(self) -> Bank:
        """Room for the policy's windows."""
        return Amta.bank(self.code.ops)

    def bounds(self, bank: Bank, columns: dict[str, Column], table: Any, lo: Any, hi: Any) -> None:
        """Fill `lo` and `hi`, by row number, for the rows that the runs of `table` (windows/bounds.py) ask for."""
        inputs, valids = self._inputs(columns)
        rows = table[:, ANSWER_TO] - table[:, FIRST]
        short = rows <= PIECE
        if short.any():
            self._run(bank, inputs, valids, table[short], lo, hi)
        for run in table[~short]:
            piece = run.copy()
            for first in range(int(run[FIRST]), int(run[ANSWER_TO]), PIECE):
                last = min(first + PIECE, int(run[ANSWER_TO]))
                piece[FIRST], piece[ANSWER_TO], piece[LAST_ROW] = first, last, last
                self._run(bank, inputs, valids, piece[None, :], lo, hi)
                piece[FRESH] = 0

    def _run(self, bank: Bank, inputs: Any, valids: Any, table: Any, lo: Any, hi: Any) -> None:
        slots = table[:, SLOT]
        if bank.compiled:
            held = bank.regs[slots, TAIL] - bank.regs[slots, HEAD]
        else:
            held = np.array([bank.length(int(slot)) for slot in slots], dtype=np.int64)
        held[table[:, FRESH] != 0] = 0
        bank.compact()
        bank.reserve_all(slots, held + table[:, ANSWER_TO] - table[:, FIRST])
        if not bank.compiled:
            table, lows, highs = table.tolist(), [0] * len(lo), [0] * len(hi)
            self.kernel(bank.cols, bank.regs, inputs, valids, table, self.window.include_current, lows, highs)
            for run in table:
                asked = slice(max(run[FIRST], run[ANSWER_FROM]), run[ANSWER_TO])
                lo[asked], hi[asked] = lows[asked], highs[asked]
            return
        self.kernel(bank.cols, bank.regs, inputs, valids, table, self.window.include_current, lo, hi)

    def _inputs(self, columns: dict[str, Column]) -> tuple[Any, Any]:
        """A tuple of input columns per use, and a validity per use, empty where all rows are valid."""
        inputs, valids = [], []
        for output in self.uses:
            chosen = [columns[name] for name in output.inputs]
            valid = None if output.mask is None else columns[output.mask].values
            for column in chosen:
                if column.valid is not None:
                    valid = column.valid if valid is None else valid & column.valid
            values = [column.values for column in chosen]
            if self.code.ops.compiled:
                self._refuse_far_times(output, values, valid)
            if not self.code.ops.compiled:
                types = [_as_number(arrow) for arrow in output.types]
                values = [
                    as_objects(Column(part, valid), arrow).values for part, arrow in zip(values, types, strict=True)
                ]
            inputs.append(tuple(values))
            valid = validity(valid)
            valids.append(valid if self.code.ops.compiled else valid.tolist())
        return tuple(inputs), tuple(valids)

    def _refuse_far_times(self, output: Output, values: list[Any], valid: Any) -> None:
        """Raise `ArgumentError` for a time whose nanoseconds do not fit into 64 bits: before 1678, after 2261."""
        for part, arrow, name in zip(values, output.types, output.columns, strict=False):
            limit = (2**63 - 1) // _nanos_in(arrow)
            held = part if valid is None else part[valid]
            if limit < 2**62 and len(held) and (held.min() < -limit or held.max() > limit):
                raise ArgumentError(
                    f"window={self.window!r}: column {name!r} has times that are too far from 1970 for a policy, which "
                    "sees nanoseconds; expected years 1678 to 2261"
                )


def code_of(window: DataWindow, uses: list[Use]) -> UsesOps:
    """The functions of the window's policies; each policy takes its own of the uses."""
    if isinstance(window, Adwin):
        return uses_ops([(_always, uses)])
    assert isinstance(window, EvictWhile)
    groups, at = [], 0
    for policy in window.policies:
        groups.append((policy.function, uses[at : at + len(policy.uses)]))
        at += len(policy.uses)
    return uses_ops(groups, objects=window.check)


def kernel_of(window: DataWindow, code: UsesOps) -> Any:
    """The loop over rows: inserts, asks, evicts."""
    decide = decide_of(window, code, access_of(code.ops))
    return build_enforce(code, decide, repeat=isinstance(window, Adwin))


def decide_of(window: DataWindow, code: UsesOps, access: Access) -> Any:
    """``decide(cols, R)``: the position of the first event that stays."""
    if isinstance(window, Adwin):
        moments = _flat_moments if code.ops.compiled else _boxed_moments
        return by_change(code, access, code.ops.jit(moments), window.delta)
    assert isinstance(window, EvictWhile)
    return by_every_prefix(code, access, repr(window)) if window.check else by_policy(code, access)


def _use(output: Output) -> Use:
    """An aggregate of the policy; answers that are times, or lengths of time, are handed over in nanoseconds."""
    arrow, result, scale = output.arrow, output.ops.monoid.result, _nanos_in(output.arrow)
    shape: int | tuple[int, ...] = scale
    if result == "difference":
        shape = _nanos_in(output.types[0])
    elif result == "run":
        time = _nanos_in(output.types[1])
        shape = (time, time, time, 1) if time != 1 else 1
    elif arrow is not None and (pa.types.is_list(arrow) or pa.types.is_large_list(arrow)):
        shape = _nanos_in(arrow.value_type)
    return Use(output.name, output.ops, len(output.inputs), shape)


def _nanos_in(arrow: pa.DataType | None) -> int:
    """How many nanoseconds one unit of a type of time is; 1 for any other type."""
    if arrow is None or not pa.types.is_temporal(arrow) or pa.types.is_interval(arrow):
        return 1
    if pa.types.is_date(arrow):
        return NANOS["d"] if pa.types.is_date32(arrow) else NANOS["ms"]
    return NANOS[arrow.unit]


def _as_number(arrow: pa.DataType | None) -> pa.DataType | None:
    return pa.int64() if arrow is not None and pa.types.is_temporal(arrow) else arrow


def _always(total: Any, old: Any) -> bool:
    return False


def _flat_moments(partial: Any) -> Any:
    return partial[0], partial[1], partial[2]


def _boxed_moments(partial: Any) -> Any:
    return partial[0][0]
