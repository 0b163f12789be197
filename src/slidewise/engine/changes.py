"""A changelog: answers at once, from all rows there are, and corrections when a row that came late changes them.

    before ──provisional──► answers of the keys that new rows belong to       ┐
    after  ──provisional──► the same with the new rows                        ┴─► +I  −U +U  −D

Nothing is remembered of what was sent: both sides follow from the state and the rows, so a crash changes nothing. The
windows themselves stay as they are: copies of their slots go ahead. Cost per call: the rows that wait of the keys that
got new ones, twice, and a copy of their windows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slidewise.engine.answers import with_answers
from slidewise.engine.arrange import key_codes
from slidewise.engine.arrivals import Stretches, stretches
from slidewise.engine.keyed import NO_RUNS, NO_TIMES, KeyedWindows
from slidewise.engine.keys import BEGINNING, key_of, values_of
from slidewise.engine.order import forever
from slidewise.engine.origins import ORIGIN, ROW
from slidewise.engine.plan import CLOSED, START, Plan
from slidewise.engine.runs import Runs
from slidewise.frames.kind import Frame, Silence

OP, VERSION = "op", "version"
"""The columns of a changelog beside the rows' own: what happens to the row, and in which commit."""

NTH = "__nth"

INSERTED, WITHDRAWN, RENEWED, DELETED = "+I", "-U", "+U", "-D"


@dataclass(frozen=True)
class Provisional:
    """Answers as of now: a table, what tells its rows apart, and what may change of them."""

    table: pa.Table
    names: tuple[str, ...]
    answers: tuple[str, ...]


def provisional(windows: KeyedWindows, touched: pa.Table, *, changed_only: bool = False) -> Provisional:
    """What the windows of these rows' keys would answer if nothing more came.

    `changed_only` leaves out rows whose answers are those of the row before.
    """
    waiting = _rows_of(windows, touched)
    answers = tuple(output.name for output in windows.plan.outputs)
    if windows.plan.per_event:
        parts = _events(windows, waiting, changed_only)
        names: tuple[str, ...] = (ORIGIN, ROW)
    else:
        parts = _steps(windows, waiting, touched)
        names = (*windows.plan.by, *(field.name for field in windows.plan.window_fields()))
        if isinstance(windows.plan.windows[0], Frame):
            parts, names = _numbered(parts, windows.plan.by), (*windows.plan.by, START, NTH)
            answers += (CLOSED, *(field.name for field in windows.plan.window_fields()[1:]))
    return Provisional(pa.concat_tables(parts) if parts else pa.table({}), names, answers)


def changelog(before: Provisional, after: Provisional, version: int) -> pa.Table | None:
    """What turns the one into the other: withdrawn and deleted rows first, then renewed and inserted ones."""
    if not before.table.num_rows and not after.table.num_rows:
        return None
    old, new = _codes(before, after)
    known, place = np.intersect1d(old, new), {int(code): k for k, code in enumerate(old)}
    both = np.isin(new, known)
    there = np.nonzero(both)[0]
    then = np.array([place[int(code)] for code in new[there]], dtype=np.int64)
    same = np.ones(len(there), dtype=np.bool_)
    for name in after.answers if len(there) else ():
        same &= _equal(before.table.column(name).take(pa.array(then)), after.table.column(name).take(pa.array(there)))
    parts = [
        _marked(before.table, np.nonzero(~np.isin(old, known))[0], DELETED, version),
        _marked(before.table, then[~same], WITHDRAWN, version),
        _marked(after.table, there[~same], RENEWED, version),
        _marked(after.table, np.nonzero(~both)[0], INSERTED, version),
    ]
    found = [part for part in parts if part.num_rows]
    return pa.concat_tables(found) if found else None


def ended(windows: KeyedWindows, final: pa.Table | None, version: int) -> pa.Table | None:
    """Of frames that became final: those that no event closed, only a silence, are closed now.

    Where a gap is what closes, a row that waits may have closed one before the watermark did; that was said then.
    """
    if final is None or CLOSED not in final.column_names:
        return None
    silent = final.filter(pc.invert(final.column(CLOSED)))
    if isinstance(windows.plan.windows[0], Silence) and windows.pending is not None:
        silent = silent.filter(pa.array(~_has_key_of(silent, windows.pending, windows.plan.by)))
    if not silent.num_rows:
        return None
    rows, at = np.arange(silent.num_rows), silent.column_names.index(CLOSED)
    closed = silent.set_column(at, CLOSED, pa.array(np.ones(silent.num_rows, dtype=np.bool_)))
    return pa.concat_tables([_marked(silent, rows, WITHDRAWN, version), _marked(closed, rows, RENEWED, version)])


# ---- what would be answered now ----
def _rows_of(windows: KeyedWindows, touched: pa.Table) -> pa.Table | None:
    """The waiting rows of the keys that these rows have."""
    waiting, by = windows.pending, windows.plan.by
    if waiting is None or not by:
        return waiting
    return waiting.filter(pa.array(_has_key_of(waiting, touched, by)))


def _has_key_of(rows: pa.Table, others: pa.Table, by: tuple[str, ...]) -> Any:
    """Which rows have the key of some of the others."""
    if not by or not rows.num_rows:
        return np.full(rows.num_rows, others.num_rows > 0)
    columns = [pa.chunked_array([*rows.column(n).chunks, *others.column(n).chunks]) for n in by]
    codes, _ = key_codes(columns, rows.num_rows + others.num_rows)
    return np.isin(codes[: rows.num_rows], codes[rows.num_rows :])


def _ahead(windows: KeyedWindows, part: Stretches, first: bool) -> Runs:
    """Runs over copies of the windows; keys without any, or after too long a silence, begin anew."""
    found = windows.keys.find(part.keys(windows.plan.by), len(part))
    if not first:
        found[:] = -1
    elif windows.idle is not None:
        there = found >= 0
        silent = part.times[part.starts[:-1]][there] - windows.keys.newest[found[there]] > windows.idle
        found[np.nonzero(there)[0][silent]] = -1
    fresh = found < 0
    slots = np.zeros(len(part), dtype=np.int64)
    slots[~fresh] = windows.carry.copies(found[~fresh])
    slots[fresh] = [windows.carry.add_slot() for _ in range(int(fresh.sum()))]
    return Runs(slots, fresh, part.starts)


def _events(windows: KeyedWindows, waiting: pa.Table | None, changed_only: bool) -> list[pa.Table]:
    if waiting is None or not waiting.num_rows:
        return []
    made = []
    for number, part in enumerate(stretches(windows.plan, waiting, windows.times(waiting), windows.idle)):
        runs, rows = _ahead(windows, part, number == 0), part.rows
        answers = windows.carry.events(windows.plan.enter(rows.column, rows.num_rows), part.times, runs)
        _release(windows, runs.slots)
        table = with_answers(rows, answers)
        shown = np.ones(rows.num_rows, dtype=np.bool_)
        history = windows.origins.seeded(rows)
        if history is not None:
            shown &= ~history
        if changed_only:
            shown &= _differs(windows, part, table, [answer.output.name for answer in answers])
        made.append(table.filter(pa.array(shown)))
    return made


def _differs(windows: KeyedWindows, part: Stretches, table: pa.Table, names: list[str]) -> Any:
    """Which rows answer something else than the row before; not those of which that was said for good."""
    n = table.num_rows
    before, here = pa.array(np.arange(n - 1)), pa.array(np.arange(1, n))
    differs = np.zeros(n, dtype=np.bool_)
    for name in names if n > 1 else ():
        differs[1:] |= ~_equal(table.column(name).take(before), table.column(name).take(here))
    differs[part.starts[:-1]] = True
    sizes = np.diff(part.starts)
    nth = np.arange(n) - np.repeat(part.starts[:-1], sizes)
    settled = windows.settled(part, windows.reach.ahead_rows - windows.hold)
    return differs & (nth >= np.repeat(settled, sizes))


def _steps(windows: KeyedWindows, waiting: pa.Table | None, touched: pa.Table) -> list[pa.Table]:
    plan, made = windows.plan, []
    parts: list[Stretches | None] = [None]
    if waiting is not None and waiting.num_rows:
        parts = list(stretches(plan, waiting, windows.times(waiting), windows.idle))
    for number, part in enumerate(parts):
        runs, times, columns = NO_RUNS, NO_TIMES, plan.enter_nothing()
        keys: list[list[Any]] = [[] for _ in plan.by]
        if part is not None:
            runs, times, keys = _ahead(windows, part, number == 0), part.times, part.keys(plan.by)
            columns = plan.enter(part.rows.column, part.rows.num_rows)
        if number == 0 and not windows.reach.numbers:
            runs, keys = _with_quiet(windows, runs, keys, touched)
        if not len(runs):
            continue
        before = windows.carry.lanes[0].seen[runs.slots] * ~runs.fresh
        upto = np.full(len(runs), forever(plan))
        found, answers = windows.carry.steps(columns, times, runs, upto)
        _release(windows, runs.slots)
        table = windows.window_rows(_named(plan, keys, found.run.tolist()), found, answers)
        history = None if part is None else windows.origins.seeded(part.rows)
        if windows.reach.numbers and history is not None:
            table = table.filter(pa.array(~history[runs.starts[found.run] + found.ends - before[found.run] - 1]))
        elif not windows.reach.numbers and windows.from_time != BEGINNING:
            table = table.filter(pa.array(found.ends > windows.from_time))
        made.append(table)
    return made


def _numbered(parts: list[pa.Table], by: tuple[str, ...]) -> list[pa.Table]:
    """Frames of one key that begin at the same time, told apart by a number."""
    table = pa.concat_tables(parts) if parts else pa.table({})
    if not table.num_rows:
        return []
    codes, _ = key_codes([table.column(name) for name in (*by, START)], table.num_rows)
    places = np.argsort(codes, kind="stable")
    ordered = codes[places]
    first = np.searchsorted(ordered, ordered, side="left")
    nth = np.empty(len(codes), dtype=np.int64)
    nth[places] = np.arange(len(codes)) - first
    return [table.append_column(NTH, pa.array(nth))]


def _named(plan: Plan, keys: list[list[Any]], runs: list[int]) -> dict[str, pa.Array]:
    """The key of each run, as answers spell it."""
    spelled = [[values_of(key_of((value,)))[0] for value in column] for column in keys]
    columns = zip(plan.by, spelled, strict=True)
    return {name: pa.array([column[run] for run in runs], type=plan.types[name]) for name, column in columns}


def _with_quiet(
    windows: KeyedWindows, runs: Runs, keys: list[list[Any]], touched: pa.Table
) -> tuple[Runs, list[list[Any]]]:
    """Also the keys of which no row waits: their windows may be open all the same."""
    by = windows.plan.by
    mine = touched.select(by).group_by(list(by)).aggregate([]) if by else touched.slice(0, 1)
    columns = [mine.column(name).to_pylist() for name in by]
    found = windows.keys.find(columns, mine.num_rows)
    has_rows = windows.keys.find(keys, len(runs))[~runs.fresh] if len(runs) else NO_TIMES
    _, first = np.unique(found, return_index=True)  # zeros of either sign are one key
    quiet = first[(found[first] >= 0) & ~np.isin(found[first], has_rows)]
    slots = windows.carry.copies(found[quiet])
    added = [[*key, *(column[k] for k in quiet.tolist())] for key, column in zip(keys, columns, strict=True)]
    return Runs(
        np.concatenate([runs.slots, slots]),
        np.concatenate([runs.fresh, np.zeros(len(slots), dtype=np.bool_)]),
        np.concatenate([runs.starts, np.full(len(slots), runs.starts[-1])]),
    ), added


def _release(windows: KeyedWindows, slots: Any) -> None:
    for slot in slots.tolist():
        windows.carry.release(slot)


# ---- comparing ----
def _codes(before: Provisional, after: Provisional) -> tuple[Any, Any]:
    """A number for each row of both, equal where they are the same row."""
    tables = [one.table for one in (before, after) if one.table.num_rows]
    columns = [pa.chunked_array([c for table in tables for c in table.column(n).chunks]) for n in after.names]
    total = before.table.num_rows + after.table.num_rows
    codes, _ = key_codes(columns, total)
    return codes[: before.table.num_rows], codes[before.table.num_rows :]


def _equal(left: pa.ChunkedArray, right: pa.ChunkedArray) -> Any:
    """Row by row; null equals null and NaN equals NaN."""
    if pa.types.is_floating(left.type):
        a, b = (np.asarray(side.to_numpy()) for side in (left, right))
        alike = (a == b) | (np.isnan(a) & np.isnan(b))
        return alike & (np.asarray(left.is_null()) == np.asarray(right.is_null()))
    if pa.types.is_nested(left.type):
        return np.array([repr(a) == repr(b) for a, b in zip(left.to_pylist(), right.to_pylist(), strict=True)], bool)
    both_null = np.asarray(left.is_null()) & np.asarray(right.is_null())
    return np.asarray(pc.fill_null(pc.equal(left, right), False)) | both_null


def _marked(table: pa.Table, rows: Any, op: str, version: int) -> pa.Table:
    taken = table.take(pa.array(rows, type=pa.int64()))
    taken = taken.append_column(OP, pa.array([op] * len(rows), type=pa.string()))
    return taken.append_column(VERSION, pa.array([version] * len(rows), type=pa.int64()))
