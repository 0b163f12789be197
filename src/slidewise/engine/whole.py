"""Bounds over whole columns: for rows `[first, last)` of arranged rows, the rows `[lo, hi)` that each answer covers.

Row numbers are those of the arranged columns. Any stretch of rows can be asked by itself, if it does not part ties that
belong together, so chunks run in parallel; the rows around a chunk that windows reach into are its halo. O(rows asked),
and O(log n) to find where a halo begins; `between` O(log n) per row.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from slidewise.engine.arrange import Arranged
from slidewise.engine.columns import Column, frozen
from slidewise.engine.order import bound_values
from slidewise.engine.plan import Plan
from slidewise.engine.policies import Enforcer
from slidewise.kernels.registers import BASE, HEAD, MASK, TAIL
from slidewise.windows import bounds
from slidewise.windows.policy import DataWindow
from slidewise.windows.window import Around, Between, Expanding, Trailing, Window


def runs_within(arranged: Arranged, first: int, last: int) -> Any:
    """The runs that rows `[first, last)` touch: (first row of the run, first row asked, last row asked, last row)."""
    starts = arranged.starts
    r0 = int(np.searchsorted(starts, first, side="right")) - 1
    r1 = int(np.searchsorted(starts, last, side="left"))
    begin, end = starts[r0:r1], starts[r0 + 1 : r1 + 1]
    return np.stack([begin, np.maximum(begin, first), np.minimum(end, last), end], axis=1)


def event_bounds(
    plan: Plan, window: Window, columns: dict[str, Column], arranged: Arranged, first: int, last: int
) -> tuple[Any, Any]:
    """`lo` and `hi` for rows `[first, last)`: arrays of the caller's own."""
    runs = runs_within(arranged, first, last)
    if isinstance(window, Between):
        return _between(plan, window, columns, arranged, runs, first, last)
    if isinstance(window, DataWindow):
        return _enforced(plan, window, columns, runs, first, last)
    if window.axis != "rows" and not isinstance(window, Expanding):
        return _measured(plan, window, arranged, runs, first, last)
    rows = np.arange(first, last, dtype=np.int64)
    asked = runs[:, 2] - runs[:, 1]
    floor, ceiling = np.repeat(runs[:, 0], asked), np.repeat(runs[:, 3], asked)
    hi = rows + 1 if window.include_current else rows
    if isinstance(window, Around):
        return np.maximum(rows - window.before, floor), np.minimum(rows + window.after + 1, ceiling)
    if isinstance(window, Trailing):
        return np.maximum(hi - window.extent, floor), hi
    if window.ties == "together":
        older, newer = peers(arranged.times, rows, floor, ceiling)
        hi = newer if window.include_current else older
    return floor, hi


def peers(times: Any, rows: Any, floor: Any, ceiling: Any) -> tuple[Any, Any]:
    """The rows `[older, newer)` that have the same time as each of `rows`, within its run `[floor, ceiling)`."""
    base, end = int(floor[0]), int(ceiling[-1])
    part = times[base:end]
    changes = np.nonzero(part[1:] != part[:-1])[0] + 1 + base
    place = np.searchsorted(changes, rows, side="right")
    edges = np.concatenate([[base], changes, [end]])
    older, newer = edges[place], edges[place + 1]
    return np.maximum(older, floor), np.minimum(newer, ceiling)


def halo(plan: Plan, window: Window, arranged: Arranged, row: int) -> int:
    """How many rows a chunk that begins at `row` shares with the one before: those its windows reach back into, and
    those ahead of it that the other one's windows reach."""
    starts, times = arranged.starts, arranged.times
    run = int(np.searchsorted(starts, row, side="right")) - 1
    begin, end = int(starts[run]), int(starts[run + 1])
    if row == begin:
        return 0
    if isinstance(window, Around):
        before, after = plan.amount(window, window.before), plan.amount(window, window.after)
        if window.axis == "rows":
            return int(min(row - begin, before) + min(end - row, after))
        back = row - reached(times, begin, row, before, 0)
        return back + int(np.searchsorted(times[row:end], times[row - 1] + after, side="right"))
    if isinstance(window, Trailing) and window.axis == "rows":
        return int(min(row - begin, window.extent))
    if isinstance(window, Trailing):
        before, _, coarse = lengths_of(plan, window)
        return row - reached(times, begin, row, before, coarse)
    return row - begin


def reached(times: Any, begin: int, row: int, before: Any, coarse: Any) -> int:
    """A row of `[begin, row]` from which on lies all that the window of `row` covers, and little else."""
    slack = 2 * coarse if times.dtype == np.float64 else coarse  # floor(..) · coarse of floats is rounded
    return begin + int(np.searchsorted(times[begin:row], times[row] - before - slack, side="left"))


def _measured(plan: Plan, window: Window, arranged: Arranged, runs: Any, first: int, last: int) -> tuple[Any, Any]:
    """Windows measured along the order: one pass over the rows asked and their halo."""
    ahead = isinstance(window, Around)
    before, after, coarse = lengths_of(plan, window)
    times = arranged.times
    base = int(runs[0, 0])
    if base < first:
        base = reached(times, base, first, before, coarse)
    end = last
    if ahead:
        end += int(np.searchsorted(times[last : runs[-1, 3]], times[last - 1] + after, side="right"))
    local = runs - base
    zeros = np.zeros(len(runs), dtype=np.int64)
    begin, stop = np.maximum(local[:, 0], 0), np.minimum(local[:, 3], end - base)
    table = np.stack([zeros, zeros, begin, local[:, 1], local[:, 2], stop], axis=1)
    lo, hi = np.empty(end - base, dtype=np.int64), np.empty(end - base, dtype=np.int64)
    part, current, together = times[base:end], window.include_current, window.ties == "together"
    bounds.event_bounds()(
        part, part, array_registers(), table, before, after, coarse, current, together, ahead, False, lo, hi
    )
    lo, hi = lo[first - base : last - base], hi[first - base : last - base]
    lo += base
    hi += base
    return lo, hi


def lengths_of(plan: Plan, window: Window) -> tuple[Any, Any, Any]:
    """How far a window reaches before and after its event, and what it is rounded to, in units of the order."""
    if isinstance(window, Around):
        return plan.amount(window, window.before), plan.amount(window, window.after), plan.amount(window, 0)
    assert isinstance(window, Trailing)
    return plan.extent(window), plan.amount(window, 0), plan.amount(window, window.coarse or 0)


def _enforced(
    plan: Plan, window: DataWindow, columns: dict[str, Column], runs: Any, first: int, last: int
) -> tuple[Any, Any]:
    """What a policy leaves of each run, from the run's first row on."""
    enforcer = Enforcer(plan, window)
    bank = enforcer.bank()
    bank.add()
    base = int(runs[0, 0])
    parts = {name: columns[name].part(base, last) for use in enforcer.uses for name in use.needs}
    zeros = np.zeros(len(runs), dtype=np.int64)
    begin, asked_from, asked_to = runs[:, 0] - base, runs[:, 1] - base, runs[:, 2] - base
    table = np.stack([zeros, zeros + 1, begin, asked_from, asked_to, asked_to], axis=1)
    lo, hi = np.zeros(last - base, dtype=np.int64), np.zeros(last - base, dtype=np.int64)
    enforcer.bounds(bank, parts, table, lo, hi)
    return lo[first - base :] + base, hi[first - base :] + base


def _between(
    plan: Plan, window: Between, columns: dict[str, Column], arranged: Arranged, runs: Any, first: int, last: int
) -> tuple[Any, Any]:
    unit = plan.unit or ""
    asked = [columns[name].part(first, last) for name in (window.lo, window.hi)]
    low, has_low = bound_values(asked[0], plan.types[window.lo], unit, upper=False)
    high, has_high = bound_values(asked[1], plan.types[window.hi], unit, upper=True)
    base, end = int(runs[0, 0]), int(runs[-1, 3])
    zeros = np.zeros(len(runs), dtype=np.int64)
    # Rows asked are counted from `first`, where `low` and `high` begin; rows of the runs from `base`.
    begin, asked_from, asked_to, stop = runs[:, 0] - base, runs[:, 1] - first, runs[:, 2] - first, runs[:, 3] - base
    table = np.stack([zeros, zeros, begin, asked_from, asked_to, stop], axis=1)
    lo, hi = np.empty(last - first, dtype=np.int64), np.empty(last - first, dtype=np.int64)
    there = np.ascontiguousarray(has_low & has_high)
    bounds.between_bounds()(arranged.times[base:end], table, frozen(low), frozen(high), there, lo, hi)
    return lo + base, hi + base


def array_registers(slots: int = 1) -> Any:
    """Registers that make an array its own ring: position p is at place p."""
    regs = np.zeros((slots, bounds.REGISTERS), dtype=np.int64)
    regs[:, BASE], regs[:, MASK] = 0, -1
    return regs


def step_registers(starts: Any) -> Any:
    """Registers of one slot per run, whose ring is the run's part of the array."""
    regs = array_registers(max(1, len(starts) - 1))
    regs[: len(starts) - 1, HEAD], regs[: len(starts) - 1, TAIL] = starts[:-1], starts[1:]
    return regs
