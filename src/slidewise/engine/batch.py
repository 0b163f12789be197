"""Whole columns at once: runs are cut into chunks, chunks run on threads, each with the halo of rows its windows need.

    rows     0 ────────── chunk 0 ──────────┤├────────── chunk 1 ──────────┤
    chunk 1                        [─ halo ─]├────────── answers ──────────┤

Where chunks end depends on the data alone, never on the number of threads, so neither do the answers. A boundary is
only drawn where its halo is short beside the chunk, so that the halos' cost stays below a quarter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np

from slidewise.engine.answers import Answers, apart, inputs_of, numbers_of, parts_of, run_jobs
from slidewise.engine.any_bounds import any_bounds_jobs, tree_of
from slidewise.engine.arrange import Arranged
from slidewise.engine.columns import Column
from slidewise.engine.joint import joined
from slidewise.engine.numbers import answer_numbers, build_numbers, outputs_of
from slidewise.engine.output import Output
from slidewise.engine.plan import Plan
from slidewise.engine.shared import room_for, shared_jobs, shared_work
from slidewise.engine.sweep_rows import CHUNK, sweep_rows
from slidewise.engine.whole import event_bounds, halo, runs_within
from slidewise.kernels.blocked import build_blocked
from slidewise.kernels.leaps import LONG, build_leaps, leap_of
from slidewise.kernels.scan import build_scan
from slidewise.kernels.spans import by_bounds, by_rows, validity
from slidewise.swag.running import Running
from slidewise.swag.structure import sweep_of
from slidewise.windows.window import Between, Expanding, Trailing, Window


def run_events(plan: Plan, columns: dict[str, Column], arranged: Arranged, threads: int | None) -> list[Answers]:
    """An answer per row, in arranged order, for every output of a plan of per-event windows."""
    length = int(arranged.starts[-1])
    shared, rest = shared_work(plan)
    work = joined(rest)
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
    rooms = [room_for(one, length) for one in shared]
    for one, room in zip(shared, rooms, strict=True):
        jobs.extend(shared_jobs(plan, one, room, columns, arranged, partial(_chunks, plan, arranged)))
    for window in plan.windows:
        mine = [answer for answer in answers if answer.output.window is window]
        if isinstance(window, Between):
            jobs.extend(any_bounds_jobs(plan, window, mine, columns, arranged))
            continue
        for first, last in _chunks(plan, arranged, window) if mine else ():
            jobs.append(partial(_run_chunk, plan, window, mine, columns, arranged, first, last))
    run_jobs(jobs, threads)
    for one, room in zip(shared, rooms, strict=True):
        work += zip(one.joints, one.members, strict=True)
        answers += room.answers
    return apart(plan.outputs, work, answers)


def scans(output: Output) -> bool:
    """True if the scan serves: all rows so far, one by one, in one partial."""
    window = output.window
    return output.choice.structure is Running and isinstance(window, Expanding) and window.ties == "apart"


def scan_of(output: Output) -> Callable[..., Any]:
    """The scan of an output's monoid; built once."""
    scan: Callable[..., Any] = output.ops.built("scan", lambda: build_scan(output.ops))
    return scan


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
        sweep_rows(swept, columns, arranged, lo, hi, first, last)


def _run_blocked(
    plan: Plan, window: Window, answer: Answers, columns: dict[str, Column], arranged: Arranged, first: int, last: int
) -> None:
    width, skip = plan.extent(window), 0 if window.include_current else 1
    runs = runs_within(arranged, first, last)[:, :3]
    runs[:, 0] = np.maximum(runs[:, 0], runs[:, 1] - width + 1 - skip)
    base = int(runs[0, 0])
    values, valid = inputs_of(answer.output, parts_of(answer.output, columns, base, last))
    longest, ops = int((runs[:, 2] - runs[:, 0]).max()), answer.output.ops
    has_nulls = valid is not None
    valid = validity(valid)
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
    values, valid = inputs_of(output, parts_of(answer.output, columns, base, last))
    has_nulls = valid is not None
    valid = validity(valid)
    outs, ok = tuple(out[first:last] for out in answer.outs), answer.ok[first:last]
    runs = runs - base  # contiguous, whatever it was cut from: one Numba type, so one kernel
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
    inputs = numbers_of(answer.output, parts_of(answer.output, columns, base, end))
    outs, ok = tuple(out[begin:last] for out in answer.outs), answer.ok[begin:last]
    answer_numbers(answer.output, inputs, spans, outs, ok)


def _chunks(plan: Plan, arranged: Arranged, window: Window, rows: int = 0) -> Iterable[tuple[int, int]]:
    """Where to cut: every so many rows (0: CHUNK), or where a run begins before that, unless the halo would be long."""
    rows = rows or CHUNK
    starts, length = arranged.starts, int(arranged.starts[-1])
    first = 0
    for cut in range(rows, length, rows):
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
