"""Whole columns at once: runs are cut into chunks, chunks run on threads, each with the halo of rows its windows need.

    rows     0 ────────── chunk 0 ──────────┤├────────── chunk 1 ──────────┤
    chunk 1                        [─ halo ─]├────────── answers ──────────┤

Where chunks end depends on the data alone, never on the number of threads, so neither do the answers. A boundary is
only drawn where its halo is short beside the chunk, so that the halos' cost stays below a quarter.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from slidewise.engine.arrange import Arranged
from slidewise.engine.columns import NO_NULLS, Column, as_objects
from slidewise.engine.joint import joined, members_of
from slidewise.engine.numbers import answer_numbers, build_numbers, outputs_of
from slidewise.engine.plan import Output, Plan
from slidewise.engine.whole import event_bounds, halo, runs_within, step_registers
from slidewise.errors import bad
from slidewise.kernels.blocked import build_blocked
from slidewise.kernels.leaps import LONG, build_leaps, leap_of
from slidewise.kernels.scan import build_scan
from slidewise.kernels.spans import by_bounds, by_rows
from slidewise.kernels.tree import build_grow, build_ranges
from slidewise.swag.bank import Bank
from slidewise.swag.running import Running
from slidewise.swag.structure import NEVER, sweep_of
from slidewise.windows import bounds
from slidewise.windows.window import Between, Expanding, Session, Trailing, Window

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
    """Which window each answer is, where there is a row per window: its run, and its bounds in order or row numbers."""

    run: Any
    starts: Any
    ends: Any


def run_events(plan: Plan, columns: dict[str, Column], arranged: Arranged, threads: int | None) -> list[Answers]:
    """An answer per row, in arranged order, for every output of a plan of per-event windows."""
    length = int(arranged.starts[-1])
    work = joined(plan.outputs)
    answers = [Answers(output, outputs_of(output, length), np.ones(length, dtype=np.bool_)) for output, _ in work]
    jobs: list[Callable[[], None]] = []
    for output, _ in work:  # built here, so that threads find them built
        if output.choice.numbers:
            build_numbers(output)
        elif output.choice.blocked:
            blocked_of(output)
            leaps_of(output)
        elif scans(output):
            scan_of(output)
        else:
            sweep_of(output.choice.structure, output.ops)
        if output.choice.tree:
            tree_of(output)
    for window in plan.windows:
        mine = [answer for answer in answers if answer.output.window is window]
        if isinstance(window, Between):
            jobs.extend(_any_bounds_jobs(plan, window, mine, columns, arranged))
            continue
        for first, last in _chunks(plan, window, arranged):
            jobs.append(partial(_run_chunk, plan, window, mine, columns, arranged, first, last))
    run_jobs(jobs, threads)
    return apart(plan.outputs, work, answers)


def apart(
    outputs: Sequence[Output], work: list[tuple[Output, tuple[Output, ...]]], answers: list[Answers]
) -> list[Answers]:
    """The answers of each output by itself, in this order."""
    found = {}
    for (joint, members), answer in zip(work, answers, strict=True):
        for member, (outs, ok) in zip(members, members_of(joint, answer.outs, answer.ok), strict=True):
            found[id(member)] = Answers(member, outs, ok)
    return [found[id(output)] for output in outputs]


def run_steps(
    plan: Plan, columns: dict[str, Column], arranged: Arranged, threads: int | None
) -> tuple[Rows, list[Answers]]:
    """A row per window, by run and then by time, for a plan of one window that is not per event."""
    (window,) = plan.windows
    rows, lo, hi, counts = _window_bounds(plan, window, arranged)
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
        inputs = inputs_of(plan, answer.output, columns)
        jobs.append(partial(sweep, answer.output, None, capacity, inputs, lo, hi, runs, answer.outs, answer.ok))
    run_jobs(jobs, threads)
    return rows, apart(plan.outputs, work, answers)


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


def scans(output: Output) -> bool:
    """True if the scan serves: all rows so far, one by one, in one partial."""
    window = output.window
    return output.choice.structure is Running and isinstance(window, Expanding) and window.ties == "apart"


def scan_of(output: Output) -> Callable[..., Any]:
    """The scan of an output's monoid; built once."""
    scan: Callable[..., Any] = output.ops.built("scan", lambda: build_scan(output.ops))
    return scan


def tree_of(output: Output) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The two kernels of the aggregation tree of an output's monoid; built once."""
    ops = output.ops
    return ops.built("grow", lambda: build_grow(ops)), ops.built("ranges", lambda: build_ranges(ops))


def leaps_of(output: Output) -> Callable[..., Any]:
    """The kernel of long windows of an output's monoid; built once."""
    leaps: Callable[..., Any] = output.ops.built("leaps", lambda: build_leaps(output.ops))
    return leaps


def blocked_of(output: Output) -> Callable[..., Any]:
    """The blocked kernel of an output's monoid; built once."""
    blocked: Callable[..., Any] = output.ops.built("blocked", lambda: build_blocked(output.ops))
    return blocked


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
    swept = []
    for answer in answers:
        if answer.output.choice.numbers:
            _run_numbers(plan, window, answer, columns, arranged, first, last)
        elif answer.output.choice.blocked:
            _run_blocked(plan, window, answer, columns, arranged, first, last)
        elif scans(answer.output):
            _run_scan(plan, answer, columns, arranged, first, last)
        else:
            swept.append(answer)
    if swept:
        lo, hi = event_bounds(plan, window, columns, arranged, first, last)
        _sweep_rows(plan, swept, columns, arranged, lo, hi, first, last)


def _run_blocked(
    plan: Plan, window: Window, answer: Answers, columns: dict[str, Column], arranged: Arranged, first: int, last: int
) -> None:
    width, skip = plan.extent(window), 0 if window.include_current else 1
    runs = runs_within(arranged, first, last)[:, :3]
    runs[:, 0] = np.maximum(runs[:, 0], runs[:, 1] - width + 1 - skip)
    base = int(runs[0, 0])
    values, valid = inputs_of(plan, answer.output, _parts(answer, columns, base, last))
    longest, ops = int((runs[:, 2] - runs[:, 0]).max()), answer.output.ops
    has_nulls = valid is not None
    valid = NO_NULLS if valid is None else np.ascontiguousarray(valid)
    outs, ok = tuple(out[base:last] for out in answer.outs), answer.ok[base:last]
    rest = (values, valid, has_nulls, runs - base, width)
    if LONG < width < longest:
        block = leap_of(width)
        room = (ops.columns(block), ops.columns(width // block))
        leaps_of(answer.output)(*room, *rest, block, skip, window.min_rows, outs, ok)
    else:
        size = min(width, longest)
        room = (ops.columns(size), ops.columns(size))
        blocked_of(answer.output)(*room, *rest, skip, window.min_rows, outs, ok)


def _run_scan(
    plan: Plan, answer: Answers, columns: dict[str, Column], arranged: Arranged, first: int, last: int
) -> None:
    output = answer.output
    runs = runs_within(arranged, first, last)[:, :3]
    base = int(runs[0, 0])
    values, valid = inputs_of(plan, output, _parts(answer, columns, base, last))
    has_nulls = valid is not None
    valid = np.ascontiguousarray(valid) if has_nulls else NO_NULLS
    outs, ok = tuple(out[first:last] for out in answer.outs), answer.ok[first:last]
    runs -= base
    if not output.ops.compiled:
        runs, valid = runs.tolist(), valid.tolist()
    window = output.window
    scan_of(output)(values, valid, has_nulls, runs, first - base, not window.include_current, window.min_rows, outs, ok)
    if not output.ops.compiled:  # part of a list is a copy
        answer.outs[0][first:last] = outs[0]


def _run_numbers(
    plan: Plan, window: Window, answer: Answers, columns: dict[str, Column], arranged: Arranged, first: int, last: int
) -> None:
    if isinstance(window, Trailing) and window.rows is not None:
        width, skip = plan.extent(window), 0 if window.include_current else 1
        runs = runs_within(arranged, first, last)[:, :3]
        runs[:, 0] = np.maximum(runs[:, 0], runs[:, 1] - width + 1 - skip)
        base = int(runs[0, 0])
        spans, end, begin = by_rows(runs - base, width, skip), last, base
    else:
        lo, hi = event_bounds(plan, window, columns, arranged, first, last)
        base = int(lo.min())
        spans, end, begin = by_bounds(lo - base, hi - base), max(base, int(hi.max())), first
    inputs = numbers_of(answer.output, _parts(answer, columns, base, end))
    outs, ok = tuple(out[begin:last] for out in answer.outs), answer.ok[begin:last]
    answer_numbers(answer.output, inputs, spans, outs, ok)


def _sweep_rows(
    plan: Plan,
    answers: list[Answers],
    columns: dict[str, Column],
    arranged: Arranged,
    lo: Any,
    hi: Any,
    first: int,
    last: int,
) -> None:
    """Answers for rows `[first, last)` over these bounds, which rise within each run."""
    asked = runs_within(arranged, first, last)[:, 1:3] - first
    base, end = int(lo.min()), int(hi.max())
    end = max(base, end)
    lo -= base
    hi -= base
    begin, zeros = lo[asked[:, 0]], np.zeros(len(asked), dtype=np.int64)
    runs = np.stack([zeros, zeros + 1, begin, begin, asked[:, 0], asked[:, 1], begin], axis=1)
    capacity = int((hi - lo).max())
    for answer in answers:
        inputs = inputs_of(plan, answer.output, _parts(answer, columns, base, end))
        outs, ok = tuple(out[first:last] for out in answer.outs), answer.ok[first:last]
        sweep(answer.output, None, capacity, inputs, lo, hi, runs, outs, ok)
        if not answer.output.ops.compiled:  # part of a list is a copy
            answer.outs[0][first:last] = outs[0]


def _parts(answer: Answers, columns: dict[str, Column], first: int, last: int) -> dict[str, Column]:
    return {name: columns[name].part(first, last) for name in answer.output.needs}


def _chunks(plan: Plan, window: Window, arranged: Arranged) -> Iterable[tuple[int, int]]:
    """Where to cut: every CHUNK rows, or where a run begins before that, unless the halo would be long."""
    starts, length = arranged.starts, int(arranged.starts[-1])
    first = 0
    for cut in range(CHUNK, length, CHUNK):
        row = _tie_start(window, arranged, cut)
        if halo(plan, window, arranged, row) * 4 > row - first:
            row = int(starts[np.searchsorted(starts, row, side="right") - 1])
        if row > first:
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


# ---- bounds in any order --------------------------------------------------------------------------------------------
def _any_bounds_jobs(
    plan: Plan, window: Window, answers: list[Answers], columns: dict[str, Column], arranged: Arranged
) -> Iterable[Callable[[], None]]:
    """Stretches of whole runs: swept where the bounds only rise, else by a tree per run."""
    starts = arranged.starts
    first = 0
    for last in starts[1:].tolist():
        if last - first >= CHUNK or last == starts[-1]:
            yield partial(_run_any_bounds, plan, window, answers, columns, arranged, first, last)
            first = last


def _run_any_bounds(
    plan: Plan,
    window: Window,
    answers: list[Answers],
    columns: dict[str, Column],
    arranged: Arranged,
    first: int,
    last: int,
) -> None:
    lo, hi = event_bounds(plan, window, columns, arranged, first, last)
    if (lo[1:] >= lo[:-1]).all() and (hi[1:] >= hi[:-1]).all():
        _sweep_rows(plan, answers, columns, arranged, lo, hi, first, last)
        return
    runs = runs_within(arranged, first, last)
    largest = int((runs[:, 3] - runs[:, 0]).max())
    for answer in answers:
        inputs = inputs_of(plan, answer.output, columns)
        nodes = answer.output.ops.columns(2 * largest)
        for begin, _, _, end in runs.tolist():
            mine = slice(begin - first, end - first)
            _climb(answer, nodes, inputs, lo[mine] - begin, hi[mine] - begin, begin, end)


def _climb(answer: Answers, nodes: Any, inputs: tuple[Any, Any], lo: Any, hi: Any, first: int, last: int) -> None:
    """Answers for the run `[first, last)` from a tree over all of it."""
    output, size = answer.output, last - first
    grow, ranges = tree_of(output)
    values, valid = inputs
    has_nulls = valid is not None
    held: Any = np.zeros(size + 1, dtype=np.int64)
    if has_nulls:
        np.cumsum(valid[first:last], out=held[1:])
    valid = np.ascontiguousarray(valid) if has_nulls else NO_NULLS
    outs, ok = tuple(out[first:last] for out in answer.outs), answer.ok[first:last]
    if not output.ops.compiled:
        lo, hi, valid, held = lo.tolist(), hi.tolist(), valid.tolist(), held.tolist()
    grow(nodes, values, valid, has_nulls, first, last)
    ranges(nodes, size, lo, hi, 0, size, held, has_nulls, output.window.min_rows, outs, ok)
    if not output.ops.compiled:  # part of a list is a copy
        answer.outs[0][first:last] = outs[0]


# ---- a row per window -----------------------------------------------------------------------------------------------
def _window_bounds(plan: Plan, window: Window, arranged: Arranged) -> tuple[Rows, Any, Any, Any]:
    """All windows of all runs: which they are, their bounds, and how many each run has."""
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


def forever(plan: Plan) -> Any:
    """After all times, in the type of the order."""
    return np.inf if plan.unit == "float" else FOREVER


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
