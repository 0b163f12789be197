"""Windows of many keys driven by a watermark: rows come in any order, answers go out in order, once, when final.

    insert(rows) ──► pending ──advance(watermark)──► sorted by (key, order, tie) ──► Carry ──► rows with answers

Per-event windows: a row is answered when the watermark reaches its time; until then an earlier one could still come.
Windows with a step in time: answered when the watermark reaches their end; with a step of rows, when it reaches their
last row. Nothing here depends on how rows were cut into calls or in which order they arrived; the same rows and the
same last watermark leave the same state, which is what makes a crash harmless. Cost per call: a sort of the rows that
became final, and the sweep.

Rows may be forgotten once no later answer can cover them, but a step of rows numbers them from the start of the stream:
the *ledger* is how many rows of each key are stored nowhere any more. What is forgotten of a key is always older than
what any window still needs, so windows built from a ledger and the rows that are left number those rows as before.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slidewise.engine.answers import Answers
from slidewise.engine.arrange import counting_sort, key_codes, times_of
from slidewise.engine.carry import Carry, Runs
from slidewise.engine.columns import to_arrow, to_column
from slidewise.engine.plan import Plan

TIE, ORIGIN, ROW = "__tie", "__origin", "__row"
"""Hidden columns: the tie-breaker of equal order, the batch of rows a row came in, and its number there."""

GONE = "__gone"
"""The column of a ledger that holds the number of rows."""

HIDDEN = (TIE, ORIGIN, ROW, GONE)

BEGINNING = -(2**62)
"""A watermark before all time."""

NO_TIMES = np.zeros(0, dtype=np.int64)


@dataclass
class _Origin:
    """What became of rows inserted together: their newest time and, for windows of rows, each one's slot and position.

    Slot -1 is a row that still waits.
    """

    newest: int
    slots: Any
    positions: Any


class KeyedWindows:
    """Live windows by key under one plan, and the rows that wait for the watermark."""

    def __init__(self, plan: Plan, watermark: int = BEGINNING) -> None:
        self.plan = plan
        self.watermark = watermark
        self.pending: pa.Table | None = None
        self._carry = Carry(plan)
        self._slots: dict[tuple[Any, ...], int] = {}
        self._keys: dict[int, tuple[Any, ...]] = {}
        self._seen = np.zeros(8, dtype=np.int64)
        self._gone = np.zeros(8, dtype=np.int64)
        self._newest = np.full(8, BEGINNING, dtype=np.int64)
        self._origins: dict[int, _Origin] = {}
        self._width = max((plan.extent(w) for w in plan.windows if w.by_time), default=0)
        of_rows = [w.rows + (0 if w.include_current else 1) for w in plan.windows if w.rows is not None]
        self._rows = max(of_rows, default=0)
        step = plan.windows[0].step or 0
        self._at_once = plan.per_event or not plan.windows[0].by_time
        """True if a row goes into the windows as soon as the watermark reaches it."""
        self.numbers_rows = self._at_once and not plan.per_event
        """True if answers say which row of its key they are at, so that rows must be counted for ever."""
        self._step = 0 if self._at_once else plan.in_units(step)
        self._row_step = step if self.numbers_rows else 1

    def resume(self, ledger: pa.Table) -> None:
        """Go on after rows that are stored nowhere any more; before any row is inserted."""
        columns = [ledger.column(name).to_pylist() for name in self.plan.by]
        slots, fresh = self._slots_for(columns, ledger.num_rows)
        gone = ledger.column(GONE).to_numpy()
        nothing = Runs(slots, fresh, np.zeros(len(slots) + 1, dtype=np.int64))
        self._carry.steps(self.plan.enter_nothing(), NO_TIMES, nothing, np.zeros(len(slots)), answer=False)
        self._carry.resume(slots, gone)
        self._seen[slots] = self._gone[slots] = gone

    def ledger(self) -> pa.Table | None:
        """The keys of which rows are gone from storage, and how many; None if nothing is, or rows are not numbered."""
        slots = np.nonzero(self._gone)[0]
        return pa.table({**self._key_columns(slots), GONE: pa.array(self._gone[slots])}) if len(slots) else None

    # ---- rows in ----
    def is_late(self, table: pa.Table) -> Any:
        """Which rows come too late: not after the watermark; with a step in time, if all their windows are closed."""
        times = self.times(table)
        late = times <= self.watermark
        if not self._at_once:
            late &= np.floor_divide(times, self._step) * self._step + self._width <= self.watermark
        return late

    def insert(self, table: pa.Table, origin: int) -> None:
        """Take rows that are not late; `origin` names this set of rows from now on."""
        n = table.num_rows
        placed = n if self._rows else 0
        newest = int(self.times(table).max(initial=BEGINNING))
        self._origins[origin] = _Origin(newest, np.full(placed, -1), np.zeros(placed, dtype=np.int64))
        table = table.append_column(ORIGIN, pa.array(np.full(n, origin, dtype=np.int64)))
        table = table.append_column(ROW, pa.array(np.arange(n, dtype=np.int64)))
        self.pending = table if self.pending is None else pa.concat_tables([self.pending, table])

    def must_reorder(self, times: Any) -> bool:
        """True if rows of these times belong before rows already in a window: then build anew from all rows."""
        return not self._at_once and bool((times < self._applied_to()).any())

    def times(self, table: pa.Table) -> Any:
        """The order column as int64 units since the epoch."""
        return times_of(table.column(self.plan.order[0]), self.plan.unit or "us")

    # ---- answers out ----
    def advance(self, watermark: int, *, answer: bool = True) -> pa.Table | None:
        """Answer all that is final at this watermark; None if nothing is.

        `answer` False is for rows that were answered before, some of whose windows may be gone in part: the windows
        move, nothing is lowered, and what comes back says nothing.
        """
        before = self._applied_to()
        self.watermark = max(self.watermark, watermark)
        made = None
        if self._applied_to() > before:
            rows = self._take_final()
            made = self._answer_events(rows, answer) if self.plan.per_event else self._answer_steps(rows, answer)
        self._forget_keys()
        return made

    def wakes_at(self) -> int | None:
        """The earliest watermark that makes something final or, if nothing waits, empties all windows; None: never."""
        if self._at_once:
            if self.pending is not None:
                return int(self.times(self.pending).min())
            return self._empty_at()
        if self.pending is None and not self._slots:
            return None
        k = (self.watermark - self._width) // self._step + 1
        if self.pending is not None and not self._slots:
            k = max(k, (int(self.times(self.pending).min()) - self._width) // self._step + 1)
        return k * self._step + self._width

    def _empty_at(self) -> int | None:
        """The watermark at which the last key is forgotten; None if there is none, or windows of rows never empty."""
        if self._rows or not self._slots:
            return None
        return int(self._newest[np.fromiter(self._slots.values(), dtype=np.int64)].max()) + self._width

    @property
    def keys_alive(self) -> int:
        """Keys that have a window now."""
        return len(self._slots)

    def _applied_to(self) -> int:
        """Rows before this time are in the windows."""
        if self._at_once:
            return self.watermark + 1
        return ((self.watermark - self._width) // self._step) * self._step + self._width

    def _take_final(self) -> pa.Table | None:
        if self.pending is None:
            return None
        final = self.times(self.pending) < self._applied_to()
        if not final.any():
            return None
        rows = self.pending if final.all() else self.pending.filter(pa.array(final))
        self.pending = None if final.all() else self.pending.filter(pa.array(~final))
        return rows

    def _sorted_runs(self, rows: pa.Table) -> tuple[pa.Table, Any, Runs, Any]:
        """Rows by key, order and tie; their times, their runs, and the first row of each run."""
        codes, groups = key_codes([rows.column(name) for name in self.plan.by], rows.num_rows)
        times = self.times(rows)
        places = self._places(rows, times, codes, groups)
        rows = rows.take(pa.array(places)).combine_chunks()
        starts = np.array([0, rows.num_rows])
        if codes is not None:
            moved = codes[places]
            changes = np.nonzero(moved[1:] != moved[:-1])[0] + 1
            starts = np.concatenate([[0], changes, [rows.num_rows]])
        slots, fresh = self._slots_of(rows, starts[:-1])
        times = np.ascontiguousarray(times[places])
        times.flags.writeable = False
        return rows, times, Runs(slots, fresh, starts.astype(np.int64)), starts[:-1]

    def _places(self, rows: pa.Table, times: Any, codes: Any, groups: int) -> Any:
        """The permutation that sorts rows by key, order and tie."""
        places = np.argsort(times, kind="stable")  # quick where rows come nearly in order
        if codes is not None:
            places = places[counting_sort(codes[places], groups)[0]]
        moved = times[places]
        equal = moved[1:] == moved[:-1]
        if codes is not None:
            equal &= codes[places[1:]] == codes[places[:-1]]
        if not equal.any():
            return places
        tied = np.nonzero(np.append(equal, False) | np.insert(equal, 0, False))[0]
        group = np.cumsum(np.insert(~equal, 0, True))[tied]
        some = rows.take(pa.array(places[tied]))
        by = [some.column(TIE).to_numpy()] if TIE in rows.column_names else []
        by.extend(_ranks(some.column(name)) for name in reversed(self.plan.order[1:]))
        places[tied] = places[tied][np.lexsort([*by, group])]
        return places

    def _slots_of(self, rows: pa.Table, firsts: Any) -> tuple[Any, Any]:
        heads = [rows.column(name).take(pa.array(firsts)).to_pylist() for name in self.plan.by]
        return self._slots_for(heads, len(firsts))

    def _slots_for(self, columns: list[list[Any]], length: int) -> tuple[Any, Any]:
        """The slots of keys given as columns, and which of them are new."""
        keys = [key_of(key) for key in zip(*columns, strict=True)] if columns else [()] * length
        slots, fresh = np.zeros(len(keys), dtype=np.int64), np.zeros(len(keys), dtype=np.bool_)
        for k, key in enumerate(keys):
            slot = self._slots.get(key)
            if slot is None:
                slot = self._carry.add_slot()
                self._slots[key], self._keys[slot], fresh[k] = slot, key, True
                if slot >= len(self._seen):
                    self._seen = np.concatenate([self._seen, np.zeros_like(self._seen)])
                    self._gone = np.concatenate([self._gone, np.zeros_like(self._gone)])
                    self._newest = np.concatenate([self._newest, np.full_like(self._newest, BEGINNING)])
                self._seen[slot] = 0
            slots[k] = slot
        return slots, fresh

    def _note(self, rows: pa.Table, times: Any, runs: Runs) -> None:
        """Remember where each row went, so that it is known when it may be forgotten."""
        first, last = runs.starts[:-1], runs.starts[1:]
        sizes = last - first
        if self._rows:
            slot = np.repeat(runs.slots, sizes)
            position = np.arange(len(slot)) - np.repeat(first - self._seen[runs.slots], sizes)
            origin, row = rows.column(ORIGIN).to_numpy(), rows.column(ROW).to_numpy()
            for one in np.unique(origin).tolist():
                mine = origin == one
                self._origins[one].slots[row[mine]] = slot[mine]
                self._origins[one].positions[row[mine]] = position[mine]
        self._seen[runs.slots] += sizes
        self._newest[runs.slots] = np.maximum(self._newest[runs.slots], times[last - 1])

    def _answer_events(self, rows: pa.Table | None, answer: bool) -> pa.Table | None:
        if rows is None:
            return None
        rows, times, runs, _ = self._sorted_runs(rows)
        columns = self.plan.enter(rows.column, rows.num_rows)
        answers = self._carry.events(columns, times, runs, answer=answer)
        self._note(rows, times, runs)
        return _with_answers(rows.drop_columns([ORIGIN, ROW]), answers)

    def _answer_steps(self, rows: pa.Table | None, answer: bool) -> pa.Table | None:
        columns, times = self.plan.enter_nothing(), NO_TIMES
        runs = Runs(NO_TIMES, np.zeros(0, dtype=np.bool_), np.zeros(1, dtype=np.int64))
        if rows is not None:
            rows, times, runs, _ = self._sorted_runs(rows)
            columns = self.plan.enter(rows.column, rows.num_rows)
        everyone = runs if self.numbers_rows else self._with_idle(runs)
        if not len(everyone):
            return None
        upto = np.full(len(everyone), self.watermark)
        windows, answers = self._carry.steps(columns, times, everyone, upto, answer=answer)
        if rows is not None:
            self._note(rows, times, runs)
        if not len(windows.run):
            return None
        made = self._key_columns(everyone.slots[windows.run])
        for field, bound in zip(self.plan.window_fields(), (windows.starts, windows.ends), strict=True):
            made[field.name] = pa.array(bound)
            if not self.numbers_rows:
                made[field.name] = made[field.name].view(pa.timestamp("us", tz=field.type.tz)).cast(field.type)
        return _with_answers(pa.table(made), answers)

    def _with_idle(self, runs: Runs) -> Runs:
        """These runs, and an empty one for each other key: its windows may end as well."""
        idle = np.setdiff1d(np.fromiter(self._slots.values(), dtype=np.int64), runs.slots)
        return Runs(
            np.concatenate([runs.slots, idle]),
            np.concatenate([runs.fresh, np.zeros(len(idle), dtype=np.bool_)]),
            np.concatenate([runs.starts, np.full(len(idle), runs.starts[-1])]),
        )

    def _key_columns(self, slots: Any) -> dict[str, pa.Array]:
        """The keys of these slots, column by column."""
        keys = [values_of(self._keys[slot]) for slot in slots.tolist()]
        return {
            name: pa.array([key[k] for key in keys], type=self.plan.types[name]) for k, name in enumerate(self.plan.by)
        }

    # ---- forgetting ----
    def _forget_keys(self) -> None:
        """Give up the slots of keys whose time windows have emptied; windows of rows never empty."""
        if self._rows or not self._slots:
            return
        slots = np.fromiter(self._slots.values(), dtype=np.int64)
        for slot in slots[self._newest[slots] + self._width <= self.watermark].tolist():
            del self._slots[self._keys.pop(slot)]
            self._newest[slot] = BEGINNING
            self._carry.release(slot)

    def is_dead(self, origin: int) -> bool:
        """True if no row of an origin matters any more; O(1) for windows by time, O(rows) for windows of rows."""
        kept = self._origins[origin]
        if kept.newest >= self._applied_to() or (self._width and kept.newest + self._width > self.watermark):
            return False
        return not self._rows or not (kept.positions >= self._needed_from(kept.slots)).any()

    def _needed_from(self, slots: Any) -> Any:
        """The position of the first row that a later answer of each slot covers; windows of rows only."""
        return (self._seen[slots] // self._row_step + 1) * self._row_step - self._rows

    def live_rows(self, origin: int, table: pa.Table) -> Any:
        """Which rows of an origin still matter: they wait for the watermark, or some later answer may cover them."""
        kept, times = self._origins[origin], self.times(table)
        live = times >= self._applied_to()
        if self._width:
            live |= times + self._width > self.watermark
        if self._rows:
            live |= (kept.slots >= 0) & (kept.positions >= self._needed_from(kept.slots))
        return live

    def live_count(self) -> int | None:
        """How many rows and counts matter at most, where some window is of rows; None where time alone decides."""
        if not self._rows:
            return None
        waiting = 0 if self.pending is None else self.pending.num_rows
        slots = np.fromiter(self._slots.values(), dtype=np.int64)
        by_time = (len(kept.slots) for kept in self._origins.values() if kept.newest + self._width > self.watermark)
        covered = np.maximum(self._seen[slots] - np.maximum(self._needed_from(slots), 0), 1 if self.numbers_rows else 0)
        return waiting + int(covered.sum()) + (sum(by_time) if self._width else 0)

    @property
    def origins(self) -> set[int]:
        """The origins whose rows are remembered."""
        return set(self._origins)

    def drop(self, origin: int, kept: Any = None) -> None:
        """The rows of this origin are gone from storage, but for those (a mask) that are stored again under another."""
        slots = self._origins.pop(origin).slots
        if self.numbers_rows:
            self._gone += np.bincount(slots if kept is None else slots[~kept], minlength=len(self._gone))


def _ranks(column: pa.ChunkedArray) -> Any:
    """Numbers in the order of the values."""
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type) or pa.types.is_temporal(column.type):
        return to_column(column).values
    return pc.rank(column, tiebreaker="dense").to_numpy()


def key_of(values: Iterable[Any]) -> tuple[Any, ...]:
    """A key that can be compared and looked up: NaN equals itself, zero has no sign."""
    return tuple(_key_part(value) if isinstance(value, float) else value for value in values)


def _key_part(value: float) -> Any:
    return ("nan",) if math.isnan(value) else value + 0.0


def values_of(key: tuple[Any, ...]) -> tuple[Any, ...]:
    """The values of a key."""
    return tuple(math.nan if part == ("nan",) else part for part in key)


def _with_answers(table: pa.Table, answers: list[Answers]) -> pa.Table:
    for answer in answers:
        table = table.append_column(answer.output.name, answers_to_arrow(answer))
    return table


def answers_to_arrow(answer: Answers) -> pa.Array:
    """One output's answers as an Arrow array of its planned type."""
    if isinstance(answer.outs[0], list):
        values = [value if good else None for value, good in zip(answer.outs[0], answer.ok.tolist(), strict=True)]
        return to_arrow((values,), None, answer.output.arrow)
    return to_arrow(answer.outs, answer.ok, answer.output.arrow)
