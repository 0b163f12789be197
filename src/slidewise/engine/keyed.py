"""Windows of many keys driven by a watermark: rows come in any order, answers go out in order, once, when final.

    insert(rows) ──► pending ──advance(watermark)──► sorted by (key, order, tie) ──► Carry ──► rows with answers

Per-event windows: a row is answered when the watermark reaches its time, or the end of what its window looks ahead to;
until then an earlier one could still come. Windows with a step in time, and sessions: answered when the watermark
reaches their end; with a step of rows, when it reaches their last row. Nothing here depends on how rows were cut into
calls or in which order they arrived; the same rows and the same last watermark leave the same state, which is what
makes a crash harmless. Cost per call: a sort of the rows that became final, and the sweep.

Rows may be forgotten once no later answer can cover them (engine/reach.py). What cannot be had from the rows that are
left is in the *ledger* (engine/memory.py), written down as of some watermark. Windows are built again from a ledger and
the rows: those up to its watermark go into the windows as they were, then the totals are set to what it says.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from slidewise.engine.answers import Answers, Rows, with_answers
from slidewise.engine.arrange import times_of
from slidewise.engine.arrivals import TIE, Stretches, stretches
from slidewise.engine.carry import Carry
from slidewise.engine.keys import BEGINNING, Keys
from slidewise.engine.memory import (
    GONE,
    MEMORY,
    NEWEST,
    SEEN,
    held_by_policies,
    lane_rows,
    memory_of,
    recall,
    remembers,
)
from slidewise.engine.order import forever, window_columns
from slidewise.engine.origins import ORIGIN, ROW, WAITS, Origins
from slidewise.engine.plan import CLOSED, Plan
from slidewise.engine.reach import reach_of
from slidewise.engine.runs import Runs, whole_groups
from slidewise.errors import SnapshotError

__all__ = ["BEGINNING", "HIDDEN", "NO_RUNS", "NO_TIMES", "TIE", "KeyedWindows", "Ledger"]

HIDDEN = (TIE, ORIGIN, ROW, SEEN, NEWEST, MEMORY, GONE)
"""Names of columns that a stream uses itself."""

NO_TIMES = np.zeros(0, dtype=np.int64)
NO_RUNS = Runs(NO_TIMES, np.zeros(0, dtype=np.bool_), np.zeros(1, dtype=np.int64))


@dataclass(frozen=True)
class Ledger:
    """What the windows of each key had come to at a watermark, beside the rows that are left of them."""

    table: pa.Table
    watermark: int


class KeyedWindows:
    """Live windows by key under one plan, and the rows that wait for the watermark.

    `idle`, in units of `order`: a key that is silent for longer begins anew, where its windows do not end by
    themselves. `hold` more rows of each key wait than must, so that their answers can be had again. Windows that end by
    `from_time` are history and not answered.
    """

    def __init__(self, plan: Plan, *, idle: Any = None, hold: int = 0, from_time: int = BEGINNING) -> None:
        self.plan = plan
        self.watermark = BEGINNING
        self.from_time = from_time
        self.pending: pa.Table | None = None
        self.reach = reach_of(plan, hold)
        self.hold = hold
        self.idle = max(idle, self.reach.width) if idle is not None and self.reach.lasting else None
        self.carry = Carry(plan)
        self.keys = Keys(plan, self.carry)
        self.origins = Origins(self.reach.tracked)
        self.keeps_ledger = self.reach.numbers or remembers(self.carry)
        """True if rows must not go without a ledger."""

    # ---- rows in ----
    def is_late(self, table: pa.Table) -> Any:
        """Which rows come too late: not after the watermark; with a step in time, if all their windows are closed."""
        times = self.times(table)
        late = times <= self.watermark
        if not self.reach.at_once:
            for width, step in self.reach.steps:
                late &= np.floor_divide(times, step) * step + width <= self.watermark
        return late

    def insert(self, table: pa.Table, origin: int, *, seeded: bool = False) -> None:
        """Take rows that are not late; `origin` names this set of rows from now on. `seeded`: they are history."""
        newest = int(self.times(table).max(initial=BEGINNING))
        table = self.origins.add(origin, table, newest, seeded)
        self.pending = table if self.pending is None else pa.concat_tables([self.pending, table])

    def must_reorder(self, times: Any) -> bool:
        """True if rows of these times belong before rows already in a window: then build anew from all rows."""
        return not self.reach.at_once and bool((times < self._applied_to()).any())

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
        made = self._answer(answer, None) if self._applied_to() > before else None
        return self._joined([made, self._forget_keys(answer)])

    def resume(self, ledger: Ledger) -> None:
        """Put the rows up to a ledger's watermark into the windows as they were then; before any other `advance`."""
        if MEMORY in ledger.table.column_names and not remembers(self.carry):
            raise SnapshotError("the ledger holds totals, and the windows of this query are kept as rows")
        self.watermark = ledger.watermark
        self._answer(False, ledger.table)
        columns = [ledger.table.column(name).to_pylist() for name in self.plan.by]
        slots, fresh = self._placed(columns, ledger.table.num_rows)
        if self.frames:  # nothing was open in the others; some of their rows are gone, and what is left may look open
            self._forget(np.setdiff1d(self.keys.slots, slots), answer=False)
        if MEMORY in ledger.table.column_names:
            recall(self.carry, slots, ledger.table.column(MEMORY).combine_chunks())
        if self.reach.numbers:
            seen = ledger.table.column(GONE if GONE in ledger.table.column_names else SEEN).to_numpy()
            self.keys.seen[slots[fresh]] = seen[fresh]  # the others were counted on
            self.carry.resume(slots, self.keys.seen[slots])
        if NEWEST in ledger.table.column_names:
            newest = ledger.table.column(NEWEST).to_numpy()
            self.keys.newest[slots] = np.maximum(self.keys.newest[slots], newest)

    def ledger(self) -> pa.Table | None:
        """What must be remembered as of this watermark; None if nothing must. Of frames: that nothing is open, too."""
        slots = self.keys.slots
        if not self.keeps_ledger or not (len(slots) or self.frames):
            return None
        columns: dict[str, Any] = self.keys.columns(slots)
        columns |= {SEEN: pa.array(self.keys.seen[slots]), NEWEST: pa.array(self.keys.newest[slots])}
        memory = memory_of(self.carry, slots)
        return pa.table(columns if memory is None else {**columns, MEMORY: memory})

    def wakes_at(self) -> int | None:
        """The earliest watermark that makes something final or, if nothing waits, empties all windows; None: never."""
        if not self.reach.at_once:
            return self._next_step()
        found = []
        if self.pending is not None:
            times = self.times(self.pending)
            times = times[times > self.watermark - self.reach.ahead]
            found += [int(times.min()) + self.reach.ahead] if len(times) else []
        newest = self.keys.newest[self.keys.slots]
        if len(newest) and not self.plan.per_event and not self.reach.numbers and not self.reach.lasting:
            found.append(int(newest.min()) + self.reach.width)  # a session ends
        elif len(newest) and self._outlives is not None and (self.reach.ahead_rows or not found):
            found.append(int(newest.min() if self.reach.ahead_rows else newest.max()) + self._outlives)
        return min(found, default=None)

    @property
    def _outlives(self) -> Any:
        """How long after its newest row a key is forgotten; None: never."""
        return self.idle if self.reach.lasting else self.reach.width

    @property
    def frames(self) -> bool:
        """True if windows are frames, which a silence may end without a row."""
        return self.carry.lanes[0].framer is not None

    @property
    def keys_alive(self) -> int:
        """Keys that have a window now."""
        return len(self.keys)

    def _next_step(self) -> int | None:
        if self.pending is None and not len(self.keys):
            return None
        oldest = self.watermark
        if self.pending is not None and not len(self.keys):
            oldest = max(oldest, int(self.times(self.pending).min()))
        return int(min(((oldest - width) // step + 1) * step + width for width, step in self.reach.steps))

    def _applied_to(self) -> int:
        """Rows before this time are in the windows, or wait for what their windows look ahead to."""
        if self.reach.at_once:
            return self.watermark + 1
        return int(max((self.watermark - width) // step * step + width for width, step in self.reach.steps))

    def _answer(self, answer: bool, ledger: pa.Table | None) -> pa.Table | None:
        """Take the rows that are final; put them into the windows; what these answer."""
        rows = self._take_final()
        parts: list[pa.Table | None] = []
        for part in () if rows is None else stretches(self.plan, rows, self.times(rows), self.idle):
            parts.append(self._forget_silent(part, answer))
            if self.plan.per_event:
                parts.append(self._answer_events(part, answer, ledger))
            else:
                parts.append(self._answer_steps(part, answer, ledger))
        if not parts and not self.plan.per_event and not self.reach.numbers:
            parts = [self._answer_steps(None, answer, ledger)]
        return self._joined(parts)

    def _joined(self, parts: list[pa.Table | None]) -> pa.Table | None:
        found = [part for part in parts if part is not None]
        return pa.concat_tables(found) if found else None

    def _take_final(self) -> pa.Table | None:
        if self.pending is None:
            return None
        final = self.times(self.pending) < self._applied_to()
        if not final.any():
            return None
        rows = self.pending if final.all() else self.pending.filter(pa.array(final))
        self.pending = None if final.all() else self.pending.filter(pa.array(~final))
        return rows

    def _give_back(self, rows: pa.Table) -> None:
        """These rows still wait."""
        self.pending = rows if self.pending is None else pa.concat_tables([self.pending, rows])

    def _placed(self, columns: list[list[Any]], length: int) -> tuple[Any, Any]:
        """The slots of these keys, and which of them are new; the windows of those are empty."""
        slots, fresh = self.keys.place(columns, length)
        if fresh.any():
            made = slots[fresh]
            none = np.zeros(len(made) + 1, dtype=np.int64)
            nothing = Runs(made, np.ones(len(made), dtype=np.bool_), none)
            if self.plan.per_event:
                self.carry.events(self.plan.enter_nothing(), NO_TIMES, nothing, answer=False)
            else:
                self.carry.steps(self.plan.enter_nothing(), NO_TIMES, nothing, np.zeros(len(made)), answer=False)
        return slots, fresh

    def _runs(self, part: Stretches, ledger: pa.Table | None) -> Runs:
        """The stretches as runs of slots; with a ledger, they end where it says."""
        columns = part.keys(self.plan.by)
        if ledger is None:
            return Runs(*self.keys.place(columns, len(part)), part.starts)
        slots, _ = self._placed(columns, len(part))
        known = self.keys.find([ledger.column(name).to_pylist() for name in self.plan.by], ledger.num_rows)
        place = np.full(len(self.keys.seen), -1)
        place[known[known >= 0]] = np.nonzero(known >= 0)[0]
        at = np.where(part.last, place[slots], -1)
        mine, rows = slots[at >= 0], at[at >= 0]
        sizes = np.diff(part.starts)[at >= 0]
        if self.reach.numbers:
            before = _rows_before(ledger, rows, sizes)
            self.carry.resume(mine, before)
            self.keys.seen[mine] = before
        if MEMORY in ledger.column_names:
            memory = ledger.column(MEMORY).combine_chunks()
            for lane, held in held_by_policies(self.carry, memory):
                lane.held[mine] = held[rows]
        return Runs(slots, np.zeros(len(slots), dtype=np.bool_), part.starts)

    def _note(self, rows: pa.Table, part: Stretches, slots: Any, taken: Any) -> None:
        """Remember where each row went, so that it is known when it may be forgotten."""
        slot = np.repeat(slots, taken)
        first = np.cumsum(taken) - taken
        position = np.arange(len(slot)) - np.repeat(first - self.keys.seen[slots], taken)
        self.origins.note(rows, slot, position)
        self.keys.seen[slots] += taken
        self.keys.newest[slots] = np.maximum(self.keys.newest[slots], part.times[part.starts[1:] - 1])

    def _answer_events(self, part: Stretches, answer: bool, ledger: pa.Table | None) -> pa.Table | None:
        runs = self._runs(part, ledger)
        rows, upto = part.rows, self._upto(part)
        columns = self.plan.enter(rows.column, rows.num_rows)
        answers = self.carry.events(columns, part.times, runs, upto=upto, answer=answer)
        sizes = np.diff(part.starts)
        if upto is not None and (upto < sizes).any():
            nth = np.arange(rows.num_rows) - np.repeat(part.starts[:-1], sizes)
            done = nth < np.repeat(upto, sizes)
            self._give_back(rows.filter(pa.array(~done)))
            rows = rows.filter(pa.array(done))
        self._note(rows, part, runs.slots, sizes if upto is None else upto)
        for lane in self.carry.lanes:
            lane.held[:] = -1
        history = self.origins.seeded(rows)
        made = with_answers(rows.drop_columns([ORIGIN, ROW]), answers)
        made = made if history is None else made.filter(pa.array(~history))
        return made if made.num_rows else None

    def _upto(self, part: Stretches) -> Any:
        """How many rows of each stretch have an answer that nothing can change any more; None: all."""
        if not self.reach.ahead and not self.reach.ahead_rows:
            return None
        upto = self.settled(part, self.reach.ahead_rows - self.hold)
        held = np.where(self._ended(part), upto, np.maximum(upto - self.hold, 0))
        if any(window.ties == "together" for window in self.plan.windows):
            return whole_groups(part.times, part.starts, held)
        return held

    def settled(self, part: Stretches, later: int) -> Any:
        """How many rows of each stretch the watermark has settled, those that `later` rows follow."""
        first = part.starts[:-1]
        final = np.add.reduceat(part.times <= self.watermark, first).astype(np.int64)
        seen = np.add.reduceat(part.times + self.reach.ahead <= self.watermark, first).astype(np.int64)
        return np.where(self._ended(part), final, np.minimum(seen, np.maximum(final - later, 0)))

    def _ended(self, part: Stretches) -> Any:
        """Which stretches nothing more can follow: their keys have been silent for too long."""
        if self.idle is None:
            return np.zeros(len(part), dtype=np.bool_)
        return part.times[part.starts[1:] - 1] + self.idle <= self.watermark

    def _answer_steps(self, part: Stretches | None, answer: bool, ledger: pa.Table | None) -> pa.Table | None:
        columns, times, runs = self.plan.enter_nothing(), NO_TIMES, NO_RUNS
        if part is not None:
            runs, times = self._runs(part, ledger), part.times
            columns = self.plan.enter(part.rows.column, part.rows.num_rows)
        everyone = runs if self.reach.numbers else self._with_idle(runs)
        if not len(everyone):
            return None
        before = self.keys.seen[everyone.slots].copy()
        after = None if self.reach.numbers else self.from_time
        upto = np.full(len(everyone), self.watermark + (1 if self.reach.at_once else 0))  # a session ends before it
        windows, answers = self.carry.steps(columns, times, everyone, upto, answer=answer, ends=(after, None))
        for lane in self.carry.lanes:
            lane.held[:] = -1
        history = None
        if part is not None:
            history = self.origins.seeded(part.rows)
            self._note(part.rows, part, runs.slots, np.diff(part.starts))
        if not len(windows.run):
            return None
        table = self.window_rows(self.keys.columns(everyone.slots[windows.run]), windows, answers)
        if not self.reach.numbers:
            return table if self.from_time == BEGINNING else table.filter(pa.array(windows.ends > self.from_time))
        if history is None:
            return table
        ends_at = everyone.starts[windows.run] + windows.ends - before[windows.run] - 1  # the row that closed it
        return table.filter(pa.array(~history[ends_at]))

    def window_rows(self, keys: dict[str, pa.Array], windows: Rows, answers: list[Answers]) -> pa.Table:
        """A row per window: its key, its bounds, whether an event closed it if it is a frame, its answers."""
        made = {**keys, **window_columns(self.plan, windows)}
        if windows.closed is not None:
            made[CLOSED] = pa.array(windows.closed)
        return with_answers(pa.table(made), answers)

    def _with_idle(self, runs: Runs) -> Runs:
        """These runs, and an empty one for each other key whose windows may end as well."""
        slots = self.keys.slots
        if self.reach.at_once:
            slots = slots[self.keys.newest[slots] + self.reach.width <= self.watermark]
        idle = np.setdiff1d(slots, runs.slots)
        return Runs(
            np.concatenate([runs.slots, idle]),
            np.concatenate([runs.fresh, np.zeros(len(idle), dtype=np.bool_)]),
            np.concatenate([runs.starts, np.full(len(idle), runs.starts[-1])]),
        )

    # ---- forgetting ----
    def _forget_keys(self, answer: bool) -> pa.Table | None:
        """Give up the keys whose windows have emptied, or that were silent for too long; what these still answer."""
        if not len(self.keys):
            return None
        slots, framer = self.keys.slots, self.carry.lanes[0].framer
        gone = np.zeros(len(slots), dtype=np.bool_)
        if self._outlives is not None:
            gone = self.keys.newest[slots] + self._outlives <= self.watermark
        if framer is not None:
            gone |= framer.is_initial(slots)
        return self._forget(slots[gone], answer)

    def _forget_silent(self, part: Stretches, answer: bool) -> pa.Table | None:
        """Keys that come back after too long a silence begin anew; what their windows still answer."""
        if self.idle is None:
            return None
        slots = self.keys.find(part.keys(self.plan.by), len(part))
        there = slots >= 0
        silent = part.times[part.starts[:-1]][there] - self.keys.newest[slots[there]] > self.idle
        return self._forget(slots[there][silent], answer)

    def _forget(self, slots: Any, answer: bool) -> pa.Table | None:
        if not len(slots):
            return None
        left = self._cut_frames(slots, answer)
        self.origins.forget(slots)
        self.keys.forget(slots)
        return left

    def _cut_frames(self, slots: Any, answer: bool) -> pa.Table | None:
        """The frames that are open in these slots: nothing can close them any more but the silence."""
        if self.carry.lanes[0].framer is None:
            return None
        runs = Runs(slots, np.zeros(len(slots), dtype=np.bool_), np.zeros(len(slots) + 1, dtype=np.int64))
        upto = np.full(len(slots), forever(self.plan))
        ends = (self.from_time, None)
        windows, answers = self.carry.steps(self.plan.enter_nothing(), NO_TIMES, runs, upto, answer=answer, ends=ends)
        if not len(windows.run):
            return None
        table = self.window_rows(self.keys.columns(slots[windows.run]), windows, answers)
        return table if self.from_time == BEGINNING else table.filter(pa.array(windows.ends > self.from_time))

    def is_dead(self, origin: int) -> bool:
        """True if no row of an origin matters any more; O(1) for windows by time, O(rows) for windows of rows."""
        kept, width = self.origins[origin], self.reach.width
        if kept.newest >= self._applied_to() or (width and kept.newest + width > self.watermark):
            return False
        return not self.reach.tracked or not self._needed(kept.slots, kept.positions).any()

    def _needed(self, slots: Any, positions: Any) -> Any:
        """Which of these rows wait, or are in windows that are kept as rows."""
        found, placed = slots == WAITS, slots >= 0
        found[placed] = positions[placed] >= self._needed_from(slots[placed])
        return found

    def _needed_from(self, slots: Any) -> Any:
        """The position of the first row that a later answer of each slot covers; where rows are tracked."""
        first = seen = self.keys.seen[slots]
        for rows, step in self.reach.row_steps:
            first = np.minimum(first, (seen // step + 1) * step - rows)
        for lane in self.carry.lanes if self.reach.measured else ():
            if lane.policy is not None or not self.plan.per_event:
                first = np.minimum(first, seen - lane_rows(lane, slots))
        for lane in self.carry.lanes if self.reach.ahead_rows else ():
            if lane.window.by_time:  # what a row that waits looks back to, the watermark may have left behind
                first = np.where(self.carry.waits(slots), np.minimum(first, seen - lane.before[slots]), first)
        return first

    def live_rows(self, origin: int, table: pa.Table) -> Any:
        """Which rows of an origin still matter: they wait for the watermark, or some later answer may cover them."""
        kept, times = self.origins[origin], self.times(table)
        live = times >= self._applied_to()
        if self.reach.width:
            live |= times + self.reach.width > self.watermark
        if self.reach.tracked:
            live |= self._needed(kept.slots, kept.positions)
        return live

    def live_count(self) -> int | None:
        """How many rows and counts matter at most, where some window is of rows; None where time alone decides."""
        if not self.reach.tracked:
            return None
        waiting = 0 if self.pending is None else self.pending.num_rows
        slots, width = self.keys.slots, self.reach.width
        fewest = 1 if self.reach.numbers else 0
        covered = np.maximum(self.keys.seen[slots] - np.maximum(self._needed_from(slots), 0), fewest)
        return waiting + int(covered.sum()) + (self.origins.kept_longer(self.watermark - width) if width else 0)


def _rows_before(ledger: pa.Table, rows: Any, sizes: Any) -> Any:
    """How many rows of these keys came before so many that are stored."""
    if GONE in ledger.column_names:
        return ledger.column(GONE).to_numpy()[rows]
    return ledger.column(SEEN).to_numpy()[rows] - sizes
