"""A row per window over whole columns: `.every`, `tumbling`, sessions, frames: found first, then swept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from slidewise.engine.answers import Answers, Rows, apart, inputs_of, numbers_of, run_jobs, sweep
from slidewise.engine.arrange import Arranged
from slidewise.engine.columns import Column
from slidewise.engine.composite import Bounds, Together, cuts_of, hops_of, room_for_steps, run_hops, together
from slidewise.engine.framing import Framer
from slidewise.engine.joint import joined
from slidewise.engine.numbers import answer_numbers, outputs_of
from slidewise.engine.order import forever
from slidewise.engine.output import Output
from slidewise.engine.plan import Plan
from slidewise.engine.shared import Room, Shared, shared_work
from slidewise.engine.whole import step_registers
from slidewise.frames.kind import Frame
from slidewise.kernels.spans import by_bounds
from slidewise.sharing.hops import hop_banks
from slidewise.windows import bounds
from slidewise.windows.window import Session, Window


def run_steps(
    plan: Plan, columns: dict[str, Column], arranged: Arranged, threads: int | None
) -> tuple[Rows, list[Answers]]:
    """A row per window, by run and then by time; where there are several windows, a row for each end of any of them."""
    found = [Bounds(*_window_bounds(plan, window, columns, arranged)) for window in plan.windows]
    if len(found) == 1:
        answers, jobs = _sweeps(plan, plan.outputs, found[0], columns, arranged)
        run_jobs(jobs, threads)
        return found[0].rows, answers()
    rows = together(found)
    shared, rest = shared_work(plan)
    apart_, all_jobs = [], []
    for number, window in enumerate(plan.windows):
        mine = [output for output in rest if output.window is window]
        answers, jobs = _sweeps(plan, mine, found[number], columns, arranged)
        apart_.append(answers)
        all_jobs += jobs
    made = [_hops(plan, one, found, rows, columns, arranged) for one in shared]
    run_jobs([*all_jobs, *(job for job, _ in made)], threads)
    each = [rows.spread(one, number) for number, answers in enumerate(apart_) for one in answers()]
    for one, (_, room) in zip(shared, made, strict=True):
        members = [output for several in one.members for output in several]
        each += apart(members, list(zip(one.joints, one.members, strict=True)), room.answers)
    place = {id(one.output): one for one in each}
    return rows.rows, [place[id(output)] for output in plan.outputs]


def _sweeps(
    plan: Plan, outputs: Sequence[Output], found: Bounds, columns: dict[str, Column], arranged: Arranged
) -> tuple[Callable[[], list[Answers]], list[Callable[[], None]]]:
    """Jobs that sweep one window, and what to call after them for the answers of its outputs."""
    lo, hi, counts = found.lo, found.hi, found.counts
    total, first = len(lo), arranged.starts[:-1]
    first_answer = np.cumsum(counts) - counts
    zeros = np.zeros(len(counts), dtype=np.int64)
    runs = np.stack([zeros, zeros + 1, first, first, first_answer, first_answer + counts, first], axis=1)
    work = joined(outputs)
    answers = [Answers(output, outputs_of(output, total), np.ones(total, dtype=np.bool_)) for output, _ in work]
    capacity = int((hi - lo).max(initial=0))
    jobs: list[Callable[[], None]] = []
    for answer in answers:
        if answer.output.choice.numbers:
            numbers = numbers_of(answer.output, columns)
            jobs.append(partial(answer_numbers, answer.output, numbers, by_bounds(lo, hi), answer.outs, answer.ok))
            continue
        inputs = inputs_of(answer.output, columns)
        jobs.append(partial(sweep, answer.output, None, capacity, inputs, lo, hi, runs, answer.outs, answer.ok))
    return partial(apart, outputs, work, answers), jobs


def _hops(
    plan: Plan, shared: Shared, found: list[Bounds], rows: Together, columns: dict[str, Column], arranged: Arranged
) -> tuple[Callable[[], None], Room]:
    """The job that answers the windows of a shared plan, and the answers it writes."""
    mine = [number for number, window in enumerate(plan.windows) if any(window is one for one in shared.windows)]
    room, banks = room_for_steps(shared, mine, found, rows), hop_banks(shared.ops)
    for bank in banks:
        bank.add()
    starts = arranged.starts
    zeros = np.zeros(len(starts) - 1, dtype=np.int64)
    table = np.stack([zeros, zeros + 1, starts[:-1], starts[1:], zeros, zeros, starts[1:]], axis=1)
    times = arranged.times
    if plan.windows[0].rows is not None:
        times = np.arange(int(starts[-1]), dtype=np.int64) - np.repeat(starts[:-1], np.diff(starts))
    hops_of(shared.ops)  # built here, so that threads find it built
    given = (shared, banks, cuts_of(plan, shared), columns, times, table, mine, found, rows, room)
    return partial(run_hops, *given), room


def _window_bounds(
    plan: Plan, window: Window, columns: dict[str, Column], arranged: Arranged
) -> tuple[Rows, Any, Any, Any]:
    """All windows of all runs: which they are, their bounds, and how many each run has."""
    if isinstance(window, Frame):
        return _frame_bounds(plan, window, columns, arranged)
    if isinstance(window, Session):
        return _session_bounds(plan, window, arranged)
    starts = arranged.starts
    runs_count = len(starts) - 1
    assert window.step is not None
    width, step = plan.extent(window), plan.amount(window, window.step)
    if window.rows is not None:
        sizes = np.diff(starts)
        counts = sizes // step
        run = np.repeat(np.arange(runs_count), counts)
        ends = (np.arange(len(run)) - np.repeat(np.cumsum(counts) - counts, counts) + 1) * step
        begins = np.maximum(ends - width, 0)
        return Rows(run, begins, ends), starts[run] + begins, starts[run] + ends, counts
    regs, times = step_registers(starts), arranged.times
    slots = np.arange(runs_count, dtype=np.int64)
    runs = np.stack([slots, slots * 0, starts[:-1], starts[:-1], starts[1:], starts[1:]], axis=1)
    upto = np.full(runs_count, forever(plan), dtype=times.dtype)
    counts, none = np.zeros(runs_count, dtype=np.int64), np.zeros(0, dtype=np.int64)
    kernel = bounds.step_bounds()
    nowhen, many = np.zeros(0, dtype=times.dtype), whole_steps(width, step)
    kernel(times, regs, runs, upto, width, step, many, False, counts, none, none, nowhen, nowhen)
    total = int(counts.sum())
    lo, hi = np.zeros(total, dtype=np.int64), np.zeros(total, dtype=np.int64)
    begins, ends = np.zeros(total, dtype=times.dtype), np.zeros(total, dtype=times.dtype)
    kernel(times, regs, runs, upto, width, step, many, True, counts, lo, hi, begins, ends)
    return Rows(np.repeat(slots, counts), begins, ends), lo, hi, counts


def _frame_bounds(
    plan: Plan, window: Frame, columns: dict[str, Column], arranged: Arranged
) -> tuple[Rows, Any, Any, Any]:
    framer, starts = Framer(plan, window), arranged.starts
    framer.grow(1)
    zeros = np.zeros(len(starts) - 1, dtype=np.int64)
    runs = np.stack([zeros, zeros + 1, starts[:-1], starts[1:]], axis=1)
    ever = forever(plan)
    found: tuple[Rows, Any, Any, Any] = framer.frames(columns, arranged.times, runs, np.full(len(runs), ever), ever)
    return found


def _session_bounds(plan: Plan, window: Session, arranged: Arranged) -> tuple[Rows, Any, Any, Any]:
    starts, times, gap = arranged.starts, arranged.times, plan.extent(window)
    runs_count, length = len(starts) - 1, int(starts[-1])
    begins = np.zeros(length, dtype=np.bool_)
    with np.errstate(invalid="ignore"):  # inf - inf is no number, so not more than the gap: equal times stay together
        begins[1:] = times[1:] - times[:-1] > gap
    begins[starts[:-1]] = True
    lo = np.flatnonzero(begins).astype(np.int64, copy=False)
    hi = np.append(lo[1:], length)[: len(lo)].astype(np.int64)
    run = np.searchsorted(starts, lo, side="right") - 1
    return Rows(run, times[lo], times[hi - 1] + gap), lo, hi, np.bincount(run, minlength=runs_count)


def whole_steps(width: Any, step: Any) -> int:
    """How many steps a width is; 0 if it is no whole number of them."""
    many = round(width / step)
    return many if many * step == width else 0
