"""Windows that live on between calls: rows come in pieces of any size, answers are those of one long sweep.

Spark's Arrow batches and a stream's micro-batches both go through here. Each key has a slot; a slot's window is kept in
the banks of all outputs, its times in a ring per window. Memory is the windows, not the rows seen. Per row the cost
of the sweep; per call a few NumPy passes over the runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from slidewise.engine.batch import Answers, Rows, inputs_of, sweep
from slidewise.engine.columns import Column, frozen
from slidewise.engine.plan import Plan
from slidewise.kernels.registers import HEAD, OWN, TAIL
from slidewise.swag.bank import Bank
from slidewise.windows import bounds
from slidewise.windows.window import Window

NONE = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True)
class Runs:
    """Stretches of rows of one key each, in order: run r is rows `[starts[r], starts[r + 1])`.

    `slots` says whose window it continues; `fresh` True begins that slot anew. A key has at most one run per call.
    """

    slots: Any
    fresh: Any
    starts: Any

    def __len__(self) -> int:
        return len(self.slots)


class Carry:
    """The live windows of many keys under one plan."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._lanes = [_Lane(plan, window) for window in plan.windows]
        self._free: list[int] = []
        self.slots = 0

    def add_slot(self) -> int:
        """A slot for a new key; its first run must be fresh."""
        if self._free:
            return self._free.pop()
        for lane in self._lanes:
            lane.add_slot()
        self.slots += 1
        return self.slots - 1

    def release(self, slot: int) -> None:
        """The key is gone: its slot may serve another, whose first run must be fresh."""
        self._free.append(slot)
        for lane in self._lanes:
            for bank in (*lane.banks, lane.ring):
                bank.empty(slot)

    def resume(self, slots: Any, seen: Any) -> None:
        """These slots, cleared by a fresh run of no rows, go on after so many rows that no window needs."""
        for lane in self._lanes:
            lane.seen[slots] = seen

    def events(self, columns: dict[str, Column], times: Any, runs: Runs, *, answer: bool = True) -> list[Answers]:
        """Insert these rows; an answer for each of them, by output in the plan's order.

        `answer` False is for rows that were answered before: windows move, nothing is lowered, all answers are null.
        """
        found = [one for lane in self._lanes for one in lane.events(columns, times, runs, answer)]
        place = {id(one.output): one for one in found}
        return [place[id(output)] for output in self.plan.outputs]

    def steps(
        self, columns: dict[str, Column], times: Any, runs: Runs, upto: Any, *, answer: bool = True
    ) -> tuple[Rows, list[Answers]]:
        """Insert these rows; an answer for each window of run r that ends by `upto[r]` and was not answered before.

        Rows come in order, and only rows before the end of the first window that is left unanswered, or all there are.
        """
        return self._lanes[0].steps(columns, times, runs, upto, answer)


class _Lane:
    """One window of the plan: the times of its rows, and a bank for each of its outputs."""

    def __init__(self, plan: Plan, window: Window) -> None:
        self.plan = plan
        self.window = window
        self.outputs = plan.of(window)
        self.banks = [output.choice.structure.bank(output.ops) for output in self.outputs]
        self.ring = Bank(lambda n: (np.zeros(n, dtype=np.int64),), compiled=True, own=bounds.REGISTERS - OWN)
        self.seen = np.zeros(0, dtype=np.int64)
        """Rows of each slot so far."""

    def add_slot(self) -> None:
        for bank in (*self.banks, self.ring):
            bank.add()
        if len(self.seen) < self.ring.slots:
            self.seen = np.concatenate([self.seen, np.zeros(max(8, len(self.seen)), dtype=np.int64)])

    def events(self, columns: dict[str, Column], times: Any, runs: Runs, answer: bool) -> list[Answers]:
        first, last = runs.starts[:-1], runs.starts[1:]
        lo, hi = self._event_bounds(times, runs, first, last)
        keep = lo[last - 1] if len(runs) else NONE
        return self._sweep(columns, runs, lo, hi, first, last, keep, answer)

    def steps(
        self, columns: dict[str, Column], times: Any, runs: Runs, upto: Any, answer: bool
    ) -> tuple[Rows, list[Answers]]:
        first, last = runs.starts[:-1], runs.starts[1:]
        if self.window.rows is not None:
            rows, lo, hi, counts, keep = self._row_steps(runs, first, last)
        else:
            rows, lo, hi, counts, keep = self._time_steps(times, runs, first, last, upto)
        ends = np.cumsum(counts)
        return rows, self._sweep(columns, runs, lo, hi, ends - counts, ends, np.minimum(keep, last), answer)

    def _event_bounds(self, times: Any, runs: Runs, first: Any, last: Any) -> tuple[Any, Any]:
        window, width, total = self.window, self.plan.extent(self.window), int(runs.starts[-1])
        if window.rows is not None:
            self.seen[runs.slots[runs.fresh]] = 0
            hi = np.arange(total, dtype=np.int64) + (1 if window.include_current else 0)
            lo = np.maximum(hi - width, np.repeat(first - self.seen[runs.slots], last - first))
            self.seen[runs.slots] += last - first
            return lo, hi
        table, ring = self._remember(times, runs, first, last, np.zeros(len(runs), dtype=np.int64))
        lo, hi = np.zeros(total, dtype=np.int64), np.zeros(total, dtype=np.int64)
        together = window.ties == "together"
        bounds.event_bounds()(times, ring, self.ring.regs, table, width, window.include_current, together, True, lo, hi)
        return lo, hi

    def _remember(self, times: Any, runs: Runs, first: Any, last: Any, upto: Any) -> tuple[Any, Any]:
        """Put the runs' times into the ring; the table of runs that the bounds kernels take, and the ring."""
        held = self.ring.regs[runs.slots, TAIL] - self.ring.regs[runs.slots, HEAD]
        self.ring.compact()
        self.ring.reserve_all(runs.slots, held + (last - first))
        fresh = np.asarray(runs.fresh, dtype=np.int64)
        table = np.stack([runs.slots, fresh, first, first, last, upto], axis=1)
        (ring,) = self.ring.cols
        bounds.append_times()(times, ring, self.ring.regs, table)
        return table, frozen(ring)

    def _time_steps(self, times: Any, runs: Runs, first: Any, last: Any, upto: Any) -> tuple[Any, ...]:
        table, ring = self._remember(times, runs, first, last, upto)
        width, step = self.plan.extent(self.window), self.plan.in_units(self.window.step or 0)
        counts, empty = np.zeros(len(runs), dtype=np.int64), np.zeros(0, dtype=np.int64)
        kernel = bounds.step_bounds()
        kernel(ring, self.ring.regs, table, width, step, False, counts, empty, empty, empty)
        lo, hi, begins = (np.zeros(int(counts.sum()), dtype=np.int64) for _ in range(3))
        kernel(ring, self.ring.regs, table, width, step, True, counts, lo, hi, begins)
        regs = self.ring.regs[runs.slots]
        keep = regs[:, bounds.NEXT_LO] - regs[:, TAIL] + last
        return Rows(np.repeat(np.arange(len(runs)), counts), begins, begins + width), lo, hi, counts, keep

    def _row_steps(self, runs: Runs, first: Any, last: Any) -> tuple[Any, ...]:
        width, step = self.plan.extent(self.window), self.window.step or 1
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
        self, columns: dict[str, Column], runs: Runs, lo: Any, hi: Any, first: Any, last: Any, keep: Any, answer: bool
    ) -> list[Answers]:
        """Sweep answers `[first, last)` of each run; rows before `keep` need not stay."""
        fresh = np.asarray(runs.fresh, dtype=np.int64)
        begin, end = runs.starts[:-1], runs.starts[1:]
        table = np.stack([runs.slots, fresh, begin, end, first, last, keep], axis=1)
        need = end - keep
        np.maximum.at(need, np.repeat(np.arange(len(runs)), last - first), hi - lo)
        found = []
        for output, bank in zip(self.outputs, self.banks, strict=True):
            bank.compact()
            bank.reserve_all(runs.slots, need)
            outs, ok = output.ops.outputs(len(lo)), np.ones(len(lo), dtype=np.bool_)
            sweep(output, bank, 0, inputs_of(self.plan, output, columns), lo, hi, table, outs, ok, answer=answer)
            found.append(Answers(output, outs, ok))
        return found
