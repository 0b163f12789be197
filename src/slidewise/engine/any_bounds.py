"""Bounds in any order over whole columns (`between`): swept where they only rise, else by a tree per run."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np

from slidewise.engine.answers import Answers, inputs_of
from slidewise.engine.arrange import Arranged
from slidewise.engine.columns import Column
from slidewise.engine.output import Output
from slidewise.engine.plan import Plan
from slidewise.engine.sweep_rows import CHUNK, sweep_rows
from slidewise.engine.whole import event_bounds, runs_within
from slidewise.kernels.spans import validity
from slidewise.kernels.tree import build_grow, build_ranges
from slidewise.windows.window import Window


def any_bounds_jobs(
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
        sweep_rows(answers, columns, arranged, lo, hi, first, last)
        return
    runs = runs_within(arranged, first, last)
    largest = int((runs[:, 3] - runs[:, 0]).max())
    for answer in answers:
        inputs = inputs_of(answer.output, columns)
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
    valid = validity(valid)
    outs, ok = tuple(out[first:last] for out in answer.outs), answer.ok[first:last]
    if not output.ops.compiled:
        lo, hi, valid, held = lo.tolist(), hi.tolist(), valid.tolist(), held.tolist()
    grow(nodes, values, valid, has_nulls, first, last)
    ranges(nodes, size, lo, hi, 0, size, held, has_nulls, output.window.min_rows, outs, ok)
    if not output.ops.compiled:  # part of a list is a copy
        answer.outs[0][first:last] = outs[0]


def tree_of(output: Output) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The two kernels of the aggregation tree of an output's monoid; built once."""
    ops = output.ops
    return ops.built("grow", lambda: build_grow(ops)), ops.built("ranges", lambda: build_ranges(ops))
