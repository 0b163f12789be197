"""Whole columns at once: runs are cut into chunks, chunks run on threads, each with the halo of rows its windows need.

    rows     0 ────────── chunk 0 ──────────┤├────────── chunk 1 ──────────┤
    chunk 1                        [─ halo ─]├────────── answers ──────────┤

Where chunks end depends on the data alone, never on the number of threads, so neither do the answers. A boundary is
only drawn where its halo is short beside the chunk, so that the halos' cost stays below a quarter.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from slidewise.engine.arrange import Arranged
from slidewise.engine.columns import NO_NULLS, Column, as_objects
from slidewise.engine.numbers import answer_numbers, build_numbers, outputs_of
from slidewise.engine.plan import Output, Plan
from slidewise.errors import bad
from slidewise.kernels.blocked import build_blocked
from slidewise.kernels.registers import BASE, MASK, OWN
from slidewise.kernels.spans import by_bounds, by_rows
from slidewise.swag.bank import Bank
from slidewise.swag.structure import NEVER, sweep_of
from slidewise.windows import bounds
from slidewise.windows.window import Window

CHUNK = 2**20
"""Rows of a chunk."""

FOREVER = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Answers:
    """One output's answers: arrays per field, or a list of objects, with validity."""

    output: Output
    outs: tuple[Any, ...]
    ok: Any


@dataclass(frozen=True)
class Rows:
    """Which window each answer of a stepped window is: its run, and `[starts, ends)` in time or row numbers."""

    run: Any
    starts: Any
    ends: Any


def run_events(plan: Plan, columns: dict[str, Column], arranged: Arranged, threads: int | None) -> list[Answers]:
    """An answer per row, in arranged order, for every output of a plan of per-event windows."""
    length = int(arranged.starts[-1])
    answers = [Answers(output, outputs_of(output, length), np.ones(length, dtype=np.bool_)) for output in plan.outputs]
    jobs: list[Callable[[], None]] = []
    for output in plan.outputs:  # built here, so that threads find them built
        if output.choice.numbers:
            build_numbers(output)
        else:
            blocked_of(output) if output.choice.blocked else sweep_of(output.choice.structure, output.ops)
    for window in plan.windows:
        mine = [answer for answer in answers if answer.output.window is window]
        for first, last in _chunks(plan, window, arranged):
            jobs.append(partial(_run_chunk, plan, window, mine, columns, arranged, first, last))
    run_jobs(jobs, threads)
    return answers


def run_steps(
    plan: Plan, columns: dict[str, Column], arranged: Arranged, threads: int | None
) -> tuple[Rows, list[Answers]]:
    """A row per window, by run and then by time, for a plan of one window with a step."""
    (window,) = plan.windows
    rows, lo, hi, counts = _step_bounds(plan, window, arranged)
    starts = arranged.starts
    total = len(lo)
    first_answer = np.cumsum(counts) - counts
    zeros = np.zeros(len(counts), dtype=np.int64)
    first = starts[:-1]
    runs = np.stack([zeros, zeros + 1, first, first, first_answer, first_answer + counts, first], axis=1)
    answers = [Answers(output, outputs_of(output, total), np.ones(total, dtype=np.bool_)) for output in plan.outputs]
    capacity = int((hi - lo).max(initial=0))
    jobs: list[Callable[[], None]] = []
    for answer in answers:
        if answer.output.choice.numbers:
            numbers = numbers_of(answer.output, columns)
            jobs.append(partial(answer_numbers, answer.output, numbers, by_bounds(lo, hi), answer.outs, answer.ok))
            continue
        inputs = inputs_of(plan, answer.output, columns)
        jobs.append(partial(sweep, answer.output, None, capacity, inputs, lo, hi, runs, answer.outs, answer.ok))
    run_jobs(jobs, threads)
    return rows, answers


def inputs_of(plan: Plan, output: Output, columns: dict[str, Column]) -> tuple[tuple[Any, ...], Any]:
    """An output's input arrays (lists in object mode) and the validity of their rows, None if all are valid."""
    values, valid = numbers_of(output, columns)
    if output.ops.compiled:
        return values, valid
    objects = [as_objects(Column(part, valid), arrow) for part, arrow in zip(values, output.types, strict=True)]
    return tuple(column.values for column in objects), valid


def numbers_of(output: Output, columns: dict[str, Column]) -> tuple[tuple[Any, ...], Any]:
    """An output's input columns as they entered, and the validity of their rows, None if all are valid."""
    chosen = [columns[name] for name in output.inputs]
    valid = None if output.mask is None else columns[output.mask].values
    for column in chosen:
        if column.valid is not None:
            valid = column.valid if valid is None else valid & column.valid
    return tuple(column.values for column in chosen), valid


def sweep(
    output: Output,
    bank: Bank | None,
    capacity: int,
    inputs: tuple[tuple[Any, ...], Any],
    lo: Any,
    hi: Any,
    runs: Any,
    outs: tuple[Any, ...],
    ok: Any,
    *,
    answer: bool = True,
) -> None:
    """Drive the output's algorithm over these bounds; without a bank, in a fresh one with a single slot.

    `answer` False moves the windows and lowers nothing.
    """
    ops, structure = output.ops, output.choice.structure
    if bank is None:
        bank = structure.bank(ops)
        bank.add(capacity)
    values, valid = inputs
    has_nulls = valid is not None
    valid = NO_NULLS if valid is None else np.ascontiguousarray(valid)
    if not ops.compiled:
        lo, hi, runs, valid = lo.tolist(), hi.tolist(), runs.tolist(), valid.tolist()
    kernel = sweep_of(structure, ops)
    min_rows = output.window.min_rows if answer else NEVER
    kernel(bank.cols, bank.regs, values, valid, has_nulls, lo, hi, runs, min_rows, outs, ok)


def blocked_of(output: Output) -> Callable[..., Any]:
    """The blocked kernel of an output's monoid; built once."""
    return output.ops.built("blocked", lambda: build_blocked(output.ops))


# ---- one chunk ------------------------------------------------------------------------------------------------------
def _run_chunk(
    plan: Plan,
    window: Window,
    answers: list[Answers],
    columns: dict[str, Column],
    arranged: Arranged,
    first: int,
    last: int,
) -> None:
    runs = _chunk_runs(plan, window, arranged, first, last)
    base = int(runs[0, 0])
    local = runs - base
    blocked = [answer for answer in answers if answer.output.choice.blocked]
    numbers = [answer for answer in answers if answer.output.choice.numbers]
    swept = [answer for answer in answers if not (answer.output.choice.blocked or answer.output.choice.numbers)]
    width = plan.extent(window)
    for answer in blocked:
        values, valid, outs, ok = _views(plan, answer, columns, base, last)
        size = min(width, int((runs[:, 2] - runs[:, 0]).max()))
        old, new = answer.output.ops.columns(size), answer.output.ops.columns(size)
        skip = 0 if window.include_current else 1
        has_nulls = valid is not None
        valid = NO_NULLS if valid is None else np.ascontiguousarray(valid)
        blocked_of(answer.output)(old, new, values, valid, has_nulls, local, width, skip, window.min_rows, outs, ok)
    if numbers:
        if window.rows is not None:
            spans = by_rows(local, width, 0 if window.include_current else 1)
        else:
            spans = by_bounds(*_event_bounds(plan, window, arranged, local, base, last), begin=first - base)
        for answer in numbers:
            values, valid, outs, ok = _views(plan, answer, columns, base, last)
            answer_numbers(answer.output, (values, valid), spans, outs, ok)
    if swept:
        lo, hi = _event_bounds(plan, window, arranged, local, base, last)
        zeros = np.zeros(len(local), dtype=np.int64)
        begin = local[:, 0]
        sweep_runs = np.stack([zeros, zeros + 1, begin, begin, local[:, 1], local[:, 2], begin], axis=1)
        capacity = int((hi - lo).max(initial=0))
        for answer in swept:
            values, valid, outs, ok = _views(plan, answer, columns, base, last)
            sweep(answer.output, None, capacity, (values, valid), lo, hi, sweep_runs, outs, ok)
            if not answer.output.ops.compiled:
                answer.outs[0][first:last] = outs[0][first - base :]


def _views(plan: Plan, answer: Answers, columns: dict[str, Column], first: int, last: int) -> Any:
    needed = (*answer.output.inputs, answer.output.mask)
    part = {name: columns[name].part(first, last) for name in needed if name is not None}
    as_they_are = answer.output.choice.numbers is not None
    values, valid = numbers_of(answer.output, part) if as_they_are else inputs_of(plan, answer.output, part)
    return values, valid, tuple(out[first:last] for out in answer.outs), answer.ok[first:last]


def _chunk_runs(plan: Plan, window: Window, arranged: Arranged, first: int, last: int) -> Any:
    """The runs inside a chunk as (first row with halo, first row to answer, last row)."""
    starts = arranged.starts
    r0 = int(np.searchsorted(starts, first, side="right")) - 1
    r1 = int(np.searchsorted(starts, last, side="left"))
    begin, end = starts[r0:r1].copy(), np.minimum(starts[r0 + 1 : r1 + 1], last)
    answer_from = np.maximum(begin, first)
    begin[0] = halo_start(plan, window, arranged, int(answer_from[0]), int(begin[0]))
    begin[1:] = answer_from[1:]
    return np.stack([begin, answer_from, end], axis=1)


def halo_start(plan: Plan, window: Window, arranged: Arranged, row: int, run_start: int) -> int:
    """The oldest row in the window of `row`."""
    width = plan.extent(window)
    if window.rows is not None:
        return max(run_start, row - width + (1 if window.include_current else 0))
    times = arranged.times
    return run_start + int(np.searchsorted(times[run_start:row], times[row] - width, side="right"))


def _event_bounds(plan: Plan, window: Window, arranged: Arranged, local: Any, base: int, last: int) -> tuple[Any, Any]:
    """The bounds of every row to answer, in rows counted from `base`."""
    length = last - base
    width = plan.extent(window)
    if window.rows is not None:
        rows = np.arange(length, dtype=np.int64)
        hi = rows + 1 if window.include_current else rows
        floor = np.repeat(local[:, 0], local[:, 2] - local[:, 0])
        return np.maximum(hi - width, floor), hi
    lo, hi = np.zeros(length, dtype=np.int64), np.zeros(length, dtype=np.int64)
    times = arranged.times[base:last]
    zeros = np.zeros(len(local), dtype=np.int64)
    runs = np.stack([zeros, zeros, local[:, 0], local[:, 1], local[:, 2], zeros], axis=1)
    regs = _array_registers()
    together = window.ties == "together"
    bounds.event_bounds()(times, times, regs, runs, width, window.include_current, together, False, lo, hi)
    return lo, hi


def _array_registers(slots: int = 1) -> Any:
    """Registers that make an array its own ring: position p is at place p."""
    regs = np.zeros((slots, bounds.REGISTERS), dtype=np.int64)
    regs[:, BASE], regs[:, MASK] = 0, -1
    return regs


def _chunks(plan: Plan, window: Window, arranged: Arranged) -> Iterable[tuple[int, int]]:
    """Where to cut: every CHUNK rows, unless the halo there would be long beside the chunk."""
    starts, length = arranged.starts, int(arranged.starts[-1])
    first = 0
    for cut in range(CHUNK, length, CHUNK):
        row = _tie_start(window, arranged, cut)
        run_start = int(starts[np.searchsorted(starts, row, side="right") - 1])
        halo = row - halo_start(plan, window, arranged, row, run_start)
        if row > first and halo * 4 <= row - first:
            yield first, row
            first = row
    if first < length:
        yield first, length


def _tie_start(window: Window, arranged: Arranged, row: int) -> int:
    """The first row of equal time, where rows of equal time belong together."""
    if window.ties != "together":
        return row
    run_start = int(arranged.starts[np.searchsorted(arranged.starts, row, side="right") - 1])
    return run_start + int(np.searchsorted(arranged.times[run_start:row], arranged.times[row], side="left"))


# ---- windows with a step --------------------------------------------------------------------------------------------
def _step_bounds(plan: Plan, window: Window, arranged: Arranged) -> tuple[Rows, Any, Any, Any]:
    """All windows of all runs: which they are, their bounds, and how many each run has."""
    starts = arranged.starts
    runs_count = len(starts) - 1
    width, step = plan.extent(window), window.step or 0
    if window.rows is not None:
        sizes = np.diff(starts)
        counts = sizes // step
        run = np.repeat(np.arange(runs_count), counts)
        ends = (np.arange(len(run)) - np.repeat(np.cumsum(counts) - counts, counts) + 1) * step
        begins = np.maximum(ends - width, 0)
        return Rows(run, begins, ends), starts[run] + begins, starts[run] + ends, counts
    step = plan.in_units(step)
    regs = _array_registers(max(1, runs_count))
    regs[:runs_count, OWN - 3], regs[:runs_count, OWN - 2] = starts[:-1], starts[1:]
    slots = np.arange(runs_count, dtype=np.int64)
    forever = np.full(runs_count, FOREVER)
    runs = np.stack([slots, slots * 0, starts[:-1], starts[:-1], starts[1:], forever], axis=1)
    counts = np.zeros(runs_count, dtype=np.int64)
    empty = np.zeros(0, dtype=np.int64)
    kernel = bounds.step_bounds()
    kernel(arranged.times, regs, runs, width, step, False, counts, empty, empty, empty)
    total = int(counts.sum())
    lo, hi, begins = (np.zeros(total, dtype=np.int64) for _ in range(3))
    kernel(arranged.times, regs, runs, width, step, True, counts, lo, hi, begins)
    return Rows(np.repeat(slots, counts), begins, begins + width), lo, hi, counts


# ---- threads --------------------------------------------------------------------------------------------------------
def run_jobs(jobs: list[Callable[[], None]], threads: int | None) -> None:
    """All jobs, on `threads` threads (None: all cores); the first error is raised."""
    if threads is not None and (isinstance(threads, bool) or not isinstance(threads, int) or threads < 1):
        raise bad("threads", threads, "an integer of at least 1, or None for all cores")
    workers = min(len(jobs), threads if threads is not None else len(os.sched_getaffinity(0)))
    if workers <= 1:
        for job in jobs:
            job()
        return
    with ThreadPoolExecutor(workers) as pool:
        for done in [pool.submit(job) for job in jobs]:
            done.result()
