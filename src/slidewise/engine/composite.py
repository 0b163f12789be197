"""Several windows with a step in one call: a row wherever one of them ends, with the answers of those that do.

    1 min every 1 min   ├───┼───┼───┼───┼───┤          ends 1 2 3 4 5
    2 min every 2 min   ├───────┼───────┼──             ends   2   4
    rows                    1   2   3   4   5          of 2 min: null, x, null, x, null

The rows are those of the windows asked apart, joined on key and end. What the windows share is a `SharedPlan`
(sharing/plan.py) by pairs: rows are folded once into slices that end where some window starts or ends, and every window
takes whole ones (sharing/hops.py). Along floats ends are rounded, so there each window has a sweep of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from slidewise.duration import in_words
from slidewise.engine.answers import Answers, Rows, inputs_of
from slidewise.engine.columns import Column
from slidewise.engine.plan import Plan
from slidewise.engine.shared import Room, Shared, room_for
from slidewise.kernels.ops import Ops
from slidewise.kernels.registers import HEAD, TAIL
from slidewise.kernels.spans import validity
from slidewise.sharing.factor import ANY
from slidewise.sharing.hops import FIRST_ANSWER, FRESH, LAST_ANSWER, SLOT, build_hops, slice_rows
from slidewise.sharing.plan import SharedPlan
from slidewise.sharing.query import Query
from slidewise.swag.bank import Bank
from slidewise.swag.structure import NEVER
from slidewise.windows import bounds
from slidewise.windows.number import Along


@dataclass(frozen=True)
class Bounds:
    """The answers of one window: which they are, rows `[lo, hi)` of each, how many each run has, which are wanted."""

    rows: Rows
    lo: Any
    hi: Any
    counts: Any
    wanted: Any = None


@dataclass(frozen=True)
class Together:
    """Several windows' answers as rows: the rows, where each window's answers go, and all answers as they come."""

    rows: Rows
    places: list[Any]
    order: Any

    def spread(self, answers: Answers, window: int) -> Answers:
        """One window's answers among the rows of all, null where it does not end; O(rows)."""
        place, length = self.places[window], len(self.rows.run)
        if len(place) == length:
            return answers
        ok = np.zeros(length, dtype=np.bool_)
        ok[place] = answers.ok
        outs = []
        for out in answers.outs:
            if isinstance(out, list):
                wide: Any = [None] * length
                for at, value in zip(place.tolist(), out, strict=True):
                    wide[at] = value
            else:
                wide = np.zeros((length, *out.shape[1:]), dtype=out.dtype)
                wide[place] = out
            outs.append(wide)
        return Answers(answers.output, tuple(outs), ok)


def together(found: Sequence[Bounds]) -> Together:
    """The rows of several windows, run by run, one for each end that some of them have; O(answers · windows)."""
    ends = np.concatenate([one.rows.ends for one in found])
    counts = np.stack([one.counts for one in found]).astype(np.int64)
    lengths = counts.sum(axis=1)
    firsts = np.cumsum(lengths) - lengths
    place, order = np.zeros(len(ends), dtype=np.int64), np.zeros(len(ends), dtype=np.int64)
    run, when = np.zeros(len(ends), dtype=np.int64), np.zeros_like(ends)
    n = bounds.merged_ends()(ends, firsts.copy(), np.zeros_like(firsts), counts, place, order, run, when)
    places = [place[first : first + length] for first, length in zip(firsts, lengths, strict=True)]
    return Together(Rows(run[:n].copy(), None, when[:n].copy()), places, order)


# ---- what is shared -------------------------------------------------------------------------------------------------
def shared_plan(plan: Plan, shared: Shared) -> SharedPlan:
    """The plan of windows that share: of rows, of nanoseconds, or of whatever the order counts; named as in the call.

    >>> import pyarrow as pa
    >>> import slidewise as sw
    >>> from slidewise.engine.plan import make_plan
    >>> from slidewise.engine.shared import shared_work
    >>> windows = {"1m": sw.tumbling("1 min"), "5m": sw.trailing("5 min").every("1 min")}
    >>> plan = make_plan({"t": pa.timestamp("us"), "x": pa.float64()}, sw.max("x"), windows, order="t")
    >>> (shared,), _ = shared_work(plan)
    >>> shared_plan(plan, shared).queries
    (max over 1 min every 1 min, max over 5 min every 1 min)
    """
    queries = []
    for window, members in zip(shared.windows, shared.members, strict=True):
        assert window.step is not None
        name = plan.labels[next(k for k, one in enumerate(plan.windows) if one is window)]
        monoid = replace(ANY, name="+".join(dict.fromkeys(output.ops.monoid.name for output in members)))
        if window.by_time:
            length, step = (in_words(int(part)) for part in window.lengths[:2])
            queries.append(Query(monoid, length, step, name=name))
        else:
            along: Along = "rows" if window.axis == "rows" else "order"
            queries.append(Query(monoid, plan.extent(window), plan.amount(window, window.step), along, name))
    return SharedPlan(queries)


def cuts_of(plan: Plan, shared: Shared) -> tuple[Any, Any]:
    """The cuts of the windows' plan as the kernel takes them: periods and offsets, in units of the order."""
    made = shared_plan(plan, shared)
    beats = [(beat.period, beat.offset) for beat in made.cuts]
    if made.axis == "time":
        beats = [(plan.in_units(period), plan.in_units(offset)) for period, offset in beats]
    periods, offsets = (np.array(part, dtype=np.int64) for part in zip(*beats, strict=True))
    return periods, offsets


def hops_of(ops: Ops) -> Any:
    """The loop of one product; built once."""
    return ops.built("hops", lambda: build_hops(ops))


def room_for_steps(shared: Shared, mine: Sequence[int], found: Sequence[Bounds], rows: Together) -> Room:
    """Room for an answer per row and window; those that are due and wanted are `ok`."""
    length = len(rows.rows.run)
    room = room_for(shared, length, np.zeros(length, dtype=np.bool_))
    for ok, window in zip(room.ok, mine, strict=True):
        wanted = found[window].wanted
        ok[rows.places[window]] = True if wanted is None else wanted
    return room


def run_hops(
    shared: Shared,
    banks: tuple[Bank, Bank],
    cuts: tuple[Any, Any],
    columns: dict[str, Column],
    times: Any,
    table: Any,
    mine: Sequence[int],
    found: Sequence[Bounds],
    rows: Together,
    room: Room,
    *,
    answer: bool = True,
) -> None:
    """The loop over these runs (sharing/hops.py), for the windows numbered `mine` of all that were `found`.

    `table` has a run per row: slot, fresh, first and last row, nothing, nothing, the first row that stays. `answer`
    False moves the windows and lowers nothing.
    """
    ops, (slices, ring) = shared.ops, banks
    begins, counts = np.zeros(len(times), dtype=np.bool_), np.zeros(len(table), dtype=np.int64)
    slice_rows()(times, table, *cuts, begins, counts)
    lo, hi, which, place, due = _due(mine, found, rows)
    table[:, FIRST_ANSWER], table[:, LAST_ANSWER] = due[:-1], due[1:]
    slots = table[:, SLOT]
    if len(np.unique(slots)) < len(slots):  # whole columns: runs one after the other in one slot
        need = np.full(len(slots), counts.max(initial=0))
    else:
        need = counts + np.where(table[:, FRESH], 0, ring.regs[slots, TAIL] - ring.regs[slots, HEAD])
    for bank in banks:
        bank.compact()
        bank.reserve_all(slots, need + 1)
    values, valid = inputs_of(shared.joints[0], columns)
    least = np.array([window.min_rows if answer else NEVER for window in shared.windows], dtype=np.int64)
    given = (values, validity(valid), valid is not None, begins, table, lo, hi, which, place, least)
    hops_of(ops)(slices.cols, slices.regs, ring.cols[0], ring.regs, *given, room.outs, room.ok)


def _due(mine: Sequence[int], found: Sequence[Bounds], rows: Together) -> tuple[Any, Any, Any, Any, Any]:
    """The answers of the windows `mine` as they come: bounds, window, place; and where each run's begin."""
    lengths = [len(one.lo) for one in found]
    window = np.repeat(np.arange(len(found)), lengths)
    order = rows.order
    if len(mine) < len(found):
        order = order[np.isin(window[order], mine)]
    rank = np.full(len(found), -1)
    rank[list(mine)] = np.arange(len(mine))
    which = rank[window[order]]
    lo, hi = (np.concatenate(part)[order] for part in ([one.lo for one in found], [one.hi for one in found]))
    place = np.concatenate(rows.places)[order]
    counts = np.sum([found[window].counts for window in mine], axis=0)
    return lo, hi, which, place, np.append(0, np.cumsum(counts)).astype(np.int64)
