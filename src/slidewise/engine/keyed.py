"""Windows of many keys driven by a watermark: rows come in any order, answers go out in order, once, when final.

    insert(rows) ──► pending ──advance(watermark)──► sorted by (key, order, tie) ──► Carry ──► rows with answers

Per-event windows: a row is answered when the watermark reaches its time; until then an earlier one could still come.
Windows with a step: answered when the watermark reaches their end. Nothing here depends on how rows were cut into calls
or in which order they arrived; the same rows and the same last watermark leave the same state, which is what makes a
crash harmless. Cost per call: a sort of the rows that became final, and the sweep.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slidewise.engine.arrange import counting_sort, key_codes, times_of
from slidewise.engine.batch import Answers
from slidewise.engine.carry import Carry, Runs
from slidewise.engine.columns import to_arrow, to_column
from slidewise.engine.plan import END, START, Plan

TIE, ORIGIN, ROW = "__tie", "__origin", "__row"
"""Hidden columns: the tie-breaker of equal order, the batch of rows a row came in, and its number there."""

BEGINNING = -(2**62)
"""A watermark before all time."""


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
        self._newest = np.full(8, BEGINNING, dtype=np.int64)
        self._origins: dict[int, _Origin] = {}
        self._width = max((plan.extent(w) for w in plan.windows if w.by_time), default=0)
        of_rows = [w.rows + (0 if w.include_current else 1) for w in plan.windows if w.rows is not None]
        self._rows = max(of_rows, default=0)
        self._step = plan.in_units(plan.windows[0].step or 0)

    # ---- rows in ----
    def is_late(self, table: pa.Table) -> Any:
        """Which rows come too late: not after the watermark; with a step, if all their windows are closed."""
        times = self.times(table)
        late = times <= self.watermark
        if not self.plan.per_event:
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
        return not self.plan.per_event and bool((times < self._applied_to()).any())

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
        if self.plan.per_event:
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
        if self.plan.per_event:
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
            places = places[counting_sort(codes[places], groups)]
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
        keys = [key_of(key) for key in zip(*heads, strict=True)] if heads else [()]
        slots, fresh = np.zeros(len(keys), dtype=np.int64), np.zeros(len(keys), dtype=np.bool_)
        for k, key in enumerate(keys):
            slot = self._slots.get(key)
            if slot is None:
                slot = self._carry.add_slot()
                self._slots[key], self._keys[slot], fresh[k] = slot, key, True
                if slot >= len(self._seen):
                    self._seen = np.concatenate([self._seen, np.zeros_like(self._seen)])
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
        if rows is not None:
            rows, times, runs, _ = self._sorted_runs(rows)
            columns = self.plan.enter(rows.column, rows.num_rows)
        else:
            columns, times = {}, np.zeros(0, dtype=np.int64)
            runs = Runs(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.bool_), np.zeros(1, dtype=np.int64))
        idle = np.setdiff1d(np.fromiter(self._slots.values(), dtype=np.int64), runs.slots)
        if rows is None and len(idle):
            columns = self.plan.enter_nothing()
        total = runs.starts[-1]
        everyone = Runs(
            np.concatenate([runs.slots, idle]),
            np.concatenate([runs.fresh, np.zeros(len(idle), dtype=np.bool_)]),
            np.concatenate([runs.starts, np.full(len(idle), total)]),
        )
        if not len(everyone):
            return None
        upto = np.full(len(everyone), self.watermark)
        windows, answers = self._carry.steps(columns, times, everyone, upto, answer=answer)
        if rows is not None:
            self._note(rows, times, runs)
        if not len(windows.run):
            return None
        keys = [values_of(self._keys[int(slot)]) for slot in everyone.slots[windows.run]]
        start, end = self.plan.window_fields()
        made = {
            name: pa.array([key[k] for key in keys], type=self.plan.types[name]) for k, name in enumerate(self.plan.by)
        }
        made[START] = pa.array(windows.starts).view(pa.timestamp("us", tz=start.type.tz)).cast(start.type)
        made[END] = pa.array(windows.ends).view(pa.timestamp("us", tz=end.type.tz)).cast(end.type)
        return _with_answers(pa.table(made), answers)

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
        return not self._rows or not (self._seen[kept.slots] - kept.positions < self._rows).any()

    def live_rows(self, origin: int, table: pa.Table) -> Any:
        """Which rows of an origin still matter: they wait for the watermark, or some later answer may cover them."""
        kept, times = self._origins[origin], self.times(table)
        live = times >= self._applied_to()
        if self._width:
            live |= times + self._width > self.watermark
        if self._rows:
            live |= (kept.slots >= 0) & (self._seen[kept.slots] - kept.positions < self._rows)
        return live

    def live_count(self) -> int | None:
        """How many rows matter at most, where some window is of rows; None where time alone decides, by origin."""
        if not self._rows:
            return None
        waiting = 0 if self.pending is None else self.pending.num_rows
        slots = np.fromiter(self._slots.values(), dtype=np.int64)
        by_time = (len(kept.slots) for kept in self._origins.values() if kept.newest + self._width > self.watermark)
        return waiting + int(np.minimum(self._seen[slots], self._rows).sum()) + (sum(by_time) if self._width else 0)

    @property
    def origins(self) -> set[int]:
        """The origins whose rows are remembered."""
        return set(self._origins)

    def drop(self, origin: int) -> None:
        """The rows of this origin are gone from storage."""
        del self._origins[origin]


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
