"""Windows that live on between calls: rows come in pieces of any size, answers are those of one long sweep.

Spark's Arrow batches and a stream's micro-batches both go through here. Each key has a slot; a slot's window is kept in
the banks of all outputs, its times in a ring per window. Memory is the windows, not the rows seen. Per row the cost
of the sweep; per call a few NumPy passes over the runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from slidewise.engine.answers import Answers, Rows, apart, inputs_of, sweep
from slidewise.engine.carry_shared import SharedHops, SharedLanes
from slidewise.engine.columns import Column, frozen
from slidewise.engine.composite import Bounds, together
from slidewise.engine.framing import Framer
from slidewise.engine.joint import joined
from slidewise.engine.order import forever
from slidewise.engine.output import Output
from slidewise.engine.plan import Plan
from slidewise.engine.policies import Enforcer
from slidewise.engine.runs import Asked, Runs, whole_groups
from slidewise.engine.shared import shared_work
from slidewise.engine.steps import whole_steps
from slidewise.engine.whole import lengths_of, peers
from slidewise.frames.kind import Frame
from slidewise.kernels.registers import HEAD, OWN, TAIL
from slidewise.swag.bank import Bank
from slidewise.windows import bounds
from slidewise.windows.policy import DataWindow
from slidewise.windows.window import Around, Between, Expanding, Session, Trailing, Window


class Carry:
    """The live windows of many keys under one plan."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        shared, rest = ([], list(plan.outputs)) if plan.waits else shared_work(plan)
        self.lanes = [Lane(plan, window, rest) for window in plan.windows]
        self.shared = [SharedLanes(one, self.lanes) for one in shared if plan.per_event]
        self.hops = [SharedHops(plan, one) for one in shared if not plan.per_event]
        self._all: list[Lane | SharedLanes | SharedHops] = [*self.lanes, *self.shared, *self.hops]
        self._free: list[int] = []
        self.slots = 0
        self._waiting = np.zeros(0, dtype=np.int64)
        """Rows of each slot that were given and not answered."""

    def add_slot(self) -> int:
        """A slot for a new key; its first run must be fresh."""
        if self._free:
            return self._free.pop()
        for lane in self._all:
            lane.add_slot()
        self.slots += 1
        return self.slots - 1

    def copies(self, slots: Any) -> Any:
        """New slots that hold what these hold; to be released in the end. O(live)."""
        made = np.array([self.add_slot() for _ in slots], dtype=np.int64)
        for lane in self._all:
            lane.copy(slots, made)
        if len(made) and self.slots > len(self._waiting):
            self._waiting = np.concatenate([self._waiting, np.zeros(self.slots, dtype=np.int64)])
        self._waiting[made] = self._waiting[slots]
        return made

    def release(self, slot: int) -> None:
        """The key is gone: its slot may serve another, whose first run must be fresh."""
        self._free.append(slot)
        for lane in self._all:
            for bank in lane.all_banks:
                bank.empty(slot)

    def resume(self, slots: Any, seen: Any) -> None:
        """These slots, cleared by a fresh run of no rows, go on after so many rows that no window needs."""
        for lane in self.lanes:
            lane.seen[slots] = seen

    def waits(self, slots: Any) -> Any:
        """Which of these slots have rows that were given and not answered."""
        return self._waiting[slots] > 0

    def ready(self, times: Any, runs: Runs, done: Any) -> Any:
        """How many rows of each run no later row can change; all of them where `done` says that the key is complete.

        Rows beyond that wait: they are given again, first in the key's next run, until they have been answered.
        """
        counts = np.diff(runs.starts)
        for r in np.nonzero(~np.asarray(done))[0].tolist():
            part = None if times is None else times[runs.starts[r] : runs.starts[r + 1]]
            counts[r] = min(lane.ready(part, int(counts[r])) for lane in self.lanes)
        together = any(window.ties == "together" for window in self.plan.windows)
        return whole_groups(times, runs.starts, counts) if together else counts

    def events(
        self,
        columns: dict[str, Column],
        times: Any,
        runs: Runs,
        *,
        upto: Any = None,
        answer: bool = True,
        wanted: Any = None,
    ) -> list[Answers]:
        """Insert these rows; an answer for each of them, by output in the plan's order.

        `upto` answers only so many rows of each run (see `ready`). `answer` False is for rows that were answered
        before: windows move, nothing is lowered, all answers are null. `wanted` says it row by row.
        """
        given = np.diff(runs.starts)
        asked = given if upto is None else np.asarray(upto)
        if self.slots > len(self._waiting):
            self._waiting = np.concatenate([self._waiting, np.zeros(self.slots, dtype=np.int64)])
        again = np.where(runs.fresh, 0, self._waiting[runs.slots])
        self._waiting[runs.slots] = given - asked
        found = [one for lane in self.lanes for one in lane.events(columns, times, runs, asked, again, answer, wanted)]
        found += [one for several in self.shared for one in several.events(columns, runs, answer)]
        place = {id(one.output): one for one in found}
        return [place[id(output)] for output in self.plan.outputs]

    def steps(
        self,
        columns: dict[str, Column],
        times: Any,
        runs: Runs,
        upto: Any,
        *,
        answer: bool = True,
        ends: tuple[Any, Any] = (None, None),
    ) -> tuple[Rows, list[Answers]]:
        """Insert these rows; an answer for each window of run r that ends by `upto[r]` and was not answered before.

        Rows come in order, and only rows before the end of the first window that is left unanswered, or all there are.
        Of windows that do not end after the first of `ends` and by the second (None: no bound) nothing is lowered.
        Where there are several windows, a row for each end of any of them (engine/composite.py).
        """
        numbers = self.lanes[0].seen[runs.slots] * ~np.asarray(runs.fresh)
        parts = [lane.steps(columns, times, runs, upto, answer, ends) for lane in self.lanes]
        if len(parts) == 1:
            return parts[0]
        found = [lane.due for lane in self.lanes]
        rows = together(found)
        each = [rows.spread(one, number) for number, (_, several) in enumerate(parts) for one in several]
        if self.hops and self.plan.windows[0].rows is not None:
            first, sizes = runs.starts[:-1], np.diff(runs.starts)
            times = np.arange(int(runs.starts[-1]), dtype=np.int64) + np.repeat(numbers - first, sizes)
        keep = np.minimum.reduce([lane.asked.keep for lane in self.lanes])
        for one in self.hops:
            each += one.steps(columns, times, runs, found, rows, keep, answer)
        place = {id(one.output): one for one in each}
        return rows.rows, [place[id(output)] for output in self.plan.outputs]


class Lane:
    """One window of the plan: the times of its rows, and a bank for its outputs, one for those that are joined."""

    def __init__(self, plan: Plan, window: Window, outputs: Sequence[Output]) -> None:
        self.plan = plan
        self.window = window
        self.outputs = tuple(output for output in outputs if output.window is window)
        self.work = joined(self.outputs)
        self.banks = [output.choice.structure.bank(output.ops) for output, _ in self.work]
        self.dtype = np.float64 if plan.unit == "float" else np.int64
        self.enforcer = Enforcer(plan, window) if isinstance(window, DataWindow) else None
        self.policy = self.enforcer.bank() if self.enforcer is not None else None
        self.framer = Framer(plan, window) if isinstance(window, Frame) else None
        self.ring = Bank(lambda n: (np.zeros(n, dtype=self.dtype),), compiled=True, own=bounds.REGISTERS - OWN)
        self.seen = np.zeros(0, dtype=np.int64)
        """Rows of each slot before the first that waits."""
        self.before = np.zeros(0, dtype=np.int64)
        """How many of them its window holds."""
        self.ahead = np.zeros(0, dtype=np.int64)
        """How many rows that wait its window holds."""
        self.marks = np.zeros((0, 2), dtype=self.dtype)
        """The first and the last time of each slot's open session."""
        self.held = np.full(0, -1, dtype=np.int64)
        """For rows that a policy or the fold of frames saw before: how many of each slot it kept; -1 if it is asked."""
        self.asked = Asked()
        """What the last call of `events` came to, for outputs that windows share; of `steps`, which rows stay."""
        self.due = Bounds(Rows(None, None, None), None, None, None)
        """The windows that the last call of `steps` answered."""

    @property
    def all_banks(self) -> list[Bank]:
        """Everything that has a slot per key."""
        return [*self.banks, self.ring, *([] if self.policy is None else [self.policy])]

    def add_slot(self) -> None:
        for bank in self.all_banks:
            bank.add()
        if self.framer is not None:
            self.framer.grow(self.ring.slots)
        if len(self.seen) < self.ring.slots:
            more = np.zeros(max(8, len(self.seen)), dtype=np.int64)
            self.seen, self.before, self.ahead = (
                np.concatenate([old, more]) for old in (self.seen, self.before, self.ahead)
            )
            self.marks = np.concatenate([self.marks, np.zeros((len(more), 2), dtype=self.dtype)])
            self.held = np.concatenate([self.held, more - 1])

    def copy(self, sources: Any, targets: Any) -> None:
        """Have slots hold what others hold."""
        for bank in self.all_banks:
            for source, target in zip(sources.tolist(), targets.tolist(), strict=True):
                bank.copy(source, target)
        for state in (self.seen, self.before, self.ahead, self.marks):
            state[targets] = state[sources]
        if self.framer is not None:
            self.framer.copy(sources, targets)

    # ---- an answer per event ----
    def ready(self, times: Any, rows: int) -> int:
        """How many of a run's rows have an answer that no later row can change."""
        window, together = self.window, self.window.ties == "together"
        if isinstance(window, Between):
            return 0
        if isinstance(window, Around) and window.axis == "rows":
            return max(0, rows - int(window.after))
        if isinstance(window, Around) and window.after and rows:
            return int((times + self.plan.amount(window, window.after) < times[-1]).sum())
        return int(np.searchsorted(times, times[-1], side="left")) if together and rows else rows

    def events(
        self, columns: dict[str, Column], times: Any, runs: Runs, asked: Any, again: Any, answer: bool, wanted: Any
    ) -> list[Answers]:
        """Answer the first `asked` rows of each run, whose first `again` rows were given before."""
        first, last = runs.starts[:-1], runs.starts[1:]
        for state in (self.seen, self.before, self.ahead):
            state[runs.slots[runs.fresh]] = 0
        until = first + asked
        lo, hi = self._event_bounds(columns, times, runs, first, until, last, again)
        keep, end = first - self.before[runs.slots], first + self.ahead[runs.slots]
        some = asked > 0
        begin = end.copy()
        keep[some] = lo[until[some] - 1]
        end[some] = np.maximum(np.maximum(end[some], until[some]), hi[until[some] - 1])
        self.seen[runs.slots] += asked
        self.before[runs.slots], self.ahead[runs.slots] = until - keep, end - until
        if int(asked.sum()) < len(lo):
            rows = np.repeat(first - np.cumsum(asked) + asked, asked) + np.arange(int(asked.sum()))
            lo, hi = lo[rows], hi[rows]
            wanted = None if wanted is None else wanted[rows]
        ends = np.cumsum(asked)
        self.asked = Asked(lo, begin, end, ends - asked, keep, wanted)
        return self._sweep(columns, runs, lo, hi, (begin, end), ends - asked, ends, keep, answer, wanted)

    def _event_bounds(
        self, columns: dict[str, Column], times: Any, runs: Runs, first: Any, until: Any, last: Any, again: Any
    ) -> tuple[Any, Any]:
        """`lo` and `hi` of every row, of which those up to `until` are right."""
        window, total = self.window, int(runs.starts[-1])
        if self.enforcer is not None and self.policy is not None:
            return self._policy_bounds(self.enforcer, self.policy, columns, runs, first, until, last)
        if window.axis == "rows" or isinstance(window, Expanding):
            return self._row_bounds(times, runs, first, last)
        ahead, together = isinstance(window, Around), window.ties == "together"
        before, after, coarse = lengths_of(self.plan, window)
        table, ring = self._remember(times, runs, first + again, last)
        table[:, bounds.ANSWER_FROM], table[:, bounds.ANSWER_TO] = first, until
        lo, hi = np.zeros(total, dtype=np.int64), np.zeros(total, dtype=np.int64)
        current = window.include_current
        bounds.event_bounds()(
            times, ring, self.ring.regs, table, before, after, coarse, current, together, ahead, True, lo, hi
        )
        return lo, hi

    def _policy_bounds(
        self, enforcer: Enforcer, bank: Bank, columns: dict[str, Column], runs: Runs, first: Any, until: Any, last: Any
    ) -> tuple[Any, Any]:
        """As the policy says; rows whose windows are `held` go in unasked."""
        lo, hi = (np.zeros(int(runs.starts[-1]), dtype=np.int64) for _ in range(2))
        table, held = self._table(runs, first, last), self.held[runs.slots]
        table[:, bounds.ANSWER_TO] = until
        known = held >= 0
        begin = np.maximum(until - held, first)[known]
        table[known, bounds.FIRST], table[known, bounds.ANSWER_FROM] = begin, until[known]
        enforcer.bounds(bank, columns, table, lo, hi)
        for row, start, stop in zip(begin.tolist(), first[known].tolist(), until[known].tolist(), strict=True):
            lo[start:stop], hi[start:stop] = row, np.arange(start, stop) + 1
        return lo, hi

    def _row_bounds(self, times: Any, runs: Runs, first: Any, last: Any) -> tuple[Any, Any]:
        """Windows that need no times but those of this call."""
        window, rows = self.window, np.arange(int(runs.starts[-1]), dtype=np.int64)
        floor, ceiling = (np.repeat(x, last - first) for x in (first - self.seen[runs.slots], last))
        if isinstance(window, Around):
            return np.maximum(rows - window.before, floor), np.minimum(rows + window.after + 1, ceiling)
        hi = rows + 1 if window.include_current else rows
        if isinstance(window, Trailing):
            return np.maximum(hi - window.extent, floor), hi
        if window.ties == "together" and len(rows):
            older, newer = peers(times, rows, np.repeat(first, last - first), ceiling)
            hi = newer if window.include_current else older
        return floor, hi

    # ---- an answer per window ----
    def steps(
        self, columns: dict[str, Column], times: Any, runs: Runs, upto: Any, answer: bool, owned: tuple[Any, Any]
    ) -> tuple[Rows, list[Answers]]:
        first, last = runs.starts[:-1], runs.starts[1:]
        if self.framer is not None:
            rows, lo, hi, counts, keep = self._frames(self.framer, columns, times, runs, first, last, upto)
        elif isinstance(self.window, Session):
            rows, lo, hi, counts, keep = self._sessions(times, runs, first, last, upto)
        elif self.window.rows is not None:
            rows, lo, hi, counts, keep = self._row_steps(runs, first, last)
        else:
            rows, lo, hi, counts, keep = self._time_steps(times, runs, first, last, upto)
        ends, keep = np.cumsum(counts), np.minimum(keep, last)
        after, by = owned
        wanted = np.ones(len(rows.ends), dtype=np.bool_) if after is None else rows.ends > after
        wanted &= True if by is None else rows.ends <= by
        self.due, self.asked = Bounds(rows, lo, hi, counts, wanted), Asked(keep=keep)
        return rows, self._sweep(columns, runs, lo, hi, (first, last), ends - counts, ends, keep, answer, wanted)

    def _remember(self, times: Any, runs: Runs, first: Any, last: Any) -> tuple[Any, Any]:
        """Put times of rows `[first, last)` into the ring; the table of runs that the bounds kernels take, and it."""
        held = self.ring.regs[runs.slots, TAIL] - self.ring.regs[runs.slots, HEAD]
        self.ring.compact()
        self.ring.reserve_all(runs.slots, held + (last - first))
        table = self._table(runs, first, last)
        (ring,) = self.ring.cols
        bounds.append_times()(times, ring, self.ring.regs, table)
        return table, frozen(ring)

    def _table(self, runs: Runs, first: Any, last: Any) -> Any:
        """The runs, as the bounds kernels take them."""
        return np.stack([runs.slots, np.asarray(runs.fresh, dtype=np.int64), first, first, last, last], axis=1)

    def _time_steps(self, times: Any, runs: Runs, first: Any, last: Any, upto: Any) -> tuple[Any, ...]:
        table, ring = self._remember(times, runs, first, last)
        width, step = self.plan.extent(self.window), self.plan.amount(self.window, self.window.step or 0)
        upto = np.asarray(upto, dtype=self.dtype)
        counts, none = np.zeros(len(runs), dtype=np.int64), np.zeros(0, dtype=np.int64)
        kernel, regs = bounds.step_bounds(), self.ring.regs
        nowhen, many = np.zeros(0, dtype=self.dtype), whole_steps(width, step)
        kernel(ring, regs, table, upto, width, step, many, False, counts, none, none, nowhen, nowhen)
        total = int(counts.sum())
        lo, hi = np.zeros(total, dtype=np.int64), np.zeros(total, dtype=np.int64)
        begins, ends = np.zeros(total, dtype=self.dtype), np.zeros(total, dtype=self.dtype)
        kernel(ring, regs, table, upto, width, step, many, True, counts, lo, hi, begins, ends)
        mine = regs[runs.slots]
        keep = mine[:, bounds.NEXT_LO] - mine[:, TAIL] + last
        return Rows(np.repeat(np.arange(len(runs)), counts), begins, ends), lo, hi, counts, keep

    def _sessions(self, times: Any, runs: Runs, first: Any, last: Any, upto: Any) -> tuple[Any, ...]:
        table, gap, regs = self._table(runs, first, last), self.plan.extent(self.window), self.ring.regs
        upto, ever = np.asarray(upto, dtype=self.dtype), self.dtype(forever(self.plan))
        counts, none, when = np.zeros(len(runs), dtype=np.int64), np.zeros(0, dtype=np.int64), self.marks[:0, 0].copy()
        kernel = bounds.session_bounds()
        kernel(times, self.marks, regs, table, upto, ever, gap, False, counts, none, none, when, when)
        total = int(counts.sum())
        lo, hi = np.zeros(total, dtype=np.int64), np.zeros(total, dtype=np.int64)
        starts, ends = np.zeros(total, dtype=self.dtype), np.zeros(total, dtype=self.dtype)
        kernel(times, self.marks, regs, table, upto, ever, gap, True, counts, lo, hi, starts, ends)
        mine = regs[runs.slots]
        keep = np.where(mine[:, bounds.STARTED] > 0, mine[:, bounds.NEXT_LO] - mine[:, TAIL] + last, last)
        return Rows(np.repeat(np.arange(len(runs)), counts), starts, ends), lo, hi, counts, keep

    def _frames(
        self, framer: Framer, columns: dict[str, Column], times: Any, runs: Runs, first: Any, last: Any, upto: Any
    ) -> tuple[Any, ...]:
        """The frames that end in these rows; of rows that the fold saw before, those that it `held` go in uncut."""
        held = self.held[runs.slots]
        asked = np.where(held >= 0, first, last)
        table = np.stack([runs.slots, np.asarray(runs.fresh, dtype=np.int64), first, asked], axis=1)
        rows, lo, hi, counts = framer.frames(columns, times, table, upto, forever(self.plan))
        return rows, lo, hi, counts, last - np.where(held >= 0, np.minimum(held, last - first), framer.rows(runs.slots))

    def _row_steps(self, runs: Runs, first: Any, last: Any) -> tuple[Any, ...]:
        width, step = self.plan.extent(self.window), int(self.window.step or 1)
        self.seen[runs.slots[runs.fresh]] = 0
        before = self.seen[runs.slots].copy()
        self.seen[runs.slots] += last - first
        counts = self.seen[runs.slots] // step - before // step
        run = np.repeat(np.arange(len(runs)), counts)
        nth = np.arange(len(run)) - np.repeat(np.cumsum(counts) - counts, counts)
        ends = (before[run] // step + 1 + nth) * step
        begins = np.maximum(ends - width, 0)
        shift = first[run] - before[run]
        keep = np.maximum((self.seen[runs.slots] // step + 1) * step - width, 0) + first - before
        return Rows(run, begins, ends), begins + shift, ends + shift, counts, keep

    def _sweep(
        self,
        columns: dict[str, Column],
        runs: Runs,
        lo: Any,
        hi: Any,
        rows: tuple[Any, Any],
        first: Any,
        last: Any,
        keep: Any,
        answer: bool,
        wanted: Any = None,
    ) -> list[Answers]:
        """Insert the `rows` of each run and sweep answers `[first, last)` of it; rows before `keep` need not stay."""
        fresh, (begin, end) = np.asarray(runs.fresh, dtype=np.int64), rows
        table = np.stack([runs.slots, fresh, begin, end, first, last, keep], axis=1)
        need = end - keep
        np.maximum.at(need, np.repeat(np.arange(len(runs)), last - first), hi - lo)
        found = []
        for (output, _), bank in zip(self.work, self.banks, strict=True):
            bank.compact()
            bank.reserve_all(runs.slots, need)
            outs = output.ops.outputs(len(lo))
            ok = np.ones(len(lo), dtype=np.bool_) if wanted is None else np.array(wanted)
            sweep(output, bank, 0, inputs_of(output, columns), lo, hi, table, outs, ok, answer=answer)
            found.append(Answers(output, outs, ok))
        return apart(self.outputs, self.work, found)
