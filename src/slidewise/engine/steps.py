"""A row per window over whole columns: `.every`, `tumbling`, sessions, frames: found first, then swept."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from slidewise.engine.answers import Answers, Rows, apart, inputs_of, numbers_of, run_jobs, sweep
from slidewise.engine.arrange import Arranged
from slidewise.engine.columns import Column
from slidewise.engine.framing import Framer
from slidewise.engine.joint import joined
from slidewise.engine.numbers import answer_numbers, outputs_of
from slidewise.engine.order import forever
from slidewise.engine.plan import Plan
from slidewise.engine.whole import step_registers
from slidewise.frames.kind import Frame
from slidewise.kernels.spans import by_bounds
from slidewise.windows import bounds
from slidewise.windows.window import Session, Window


def run_steps(
    plan: Plan, columns: dict[str, Column], arranged: Arranged, threads: int | None
) -> tuple[Rows, list[Answers]]:
    """A row per window, by run and then by time, for a plan of one window that is not per event."""
    (window,) = plan.windows
    rows, lo, hi, counts = _window_bounds(plan, window, columns, arranged)
    starts = arranged.starts
    total = len(lo)
    first_answer = np.cumsum(counts) - counts
    zeros = np.zeros(len(counts), dtype=np.int64)
    first = starts[:-1]
    runs = np.stack([zeros, zeros + 1, first, first, first_answer, first_answer + counts, first], axis=1)
    work = joined(plan.outputs)
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
    run_jobs(jobs, threads)
    return rows, apart(plan.outputs, work, answers)


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
