"""Columns in, answers out: what every in-process container shares.

adapter.column(name) ──► arranged by key and order ──► engine ──► answers in the rows' own order
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slidewise.engine.answers import Answers, Rows, run_jobs
from slidewise.engine.arrange import Arranged, arrange, sortable
from slidewise.engine.batch import run_events
from slidewise.engine.columns import Column, to_arrow
from slidewise.engine.order import window_columns
from slidewise.engine.plan import Plan
from slidewise.engine.steps import run_steps
from slidewise.kernels.gather import backwards, taken

Source = Callable[[str], pa.ChunkedArray | Column]
"""Gives a column by name: an Arrow one, or Python objects of no Arrow type."""


@dataclass(frozen=True)
class Result:
    """One result column: answers with validity, still as the kernels wrote them."""

    name: str
    outs: tuple[Any, ...]
    ok: Any
    arrow: pa.DataType | None
    packed: bool
    inputs: tuple[str, ...] = ()

    def to_arrow(self) -> pa.Array:
        """As an Arrow array of the planned type."""
        if isinstance(self.outs[0], list):
            return to_arrow((self.to_list(),), None, self.arrow)
        return to_arrow(self.outs, self.ok, self.arrow)

    def to_list(self) -> list[Any]:
        """As Python values, None for null."""
        if isinstance(self.outs[0], list):
            answers = [value if good else None for value, good in zip(self.outs[0], self.ok.tolist(), strict=True)]
            if not _has_units(self.arrow):
                return answers
            typed = to_arrow((answers,), None, self.arrow).to_pylist()
            return [tuple(answer.values()) if isinstance(answer, dict) else answer for answer in typed]
        if self.packed:
            typed = to_arrow(self.outs, None, self.arrow).to_pylist()
            values: list[Any] = [tuple(answer.values()) for answer in typed]
        elif self.arrow is None or self.arrow in (pa.int64(), pa.float64()):
            values = self.outs[0].tolist()
        else:
            return list(to_arrow(self.outs, self.ok, self.arrow).to_pylist())
        if self.ok.all():
            return values
        return [value if good else None for value, good in zip(values, self.ok.tolist(), strict=True)]


def _has_units(arrow: pa.DataType | None) -> bool:
    """True if answers of objects are not yet values of their type: decimals to be rounded, times as numbers."""
    if arrow is None or not pa.types.is_struct(arrow):
        return arrow is not None and pa.types.is_decimal(arrow)
    return any(pa.types.is_temporal(field.type) for field in arrow)


def slide_events(plan: Plan, source: Source, length: int, threads: int | None, presorted: bool) -> list[Result]:
    """A result per output, one answer per row in the rows' own order."""
    arranged, columns = _prepare(plan, source, length, presorted)
    answers = run_events(plan, columns, arranged, threads)
    return _results(answers, None if arranged.rows is None else backwards(arranged.rows), threads)


def slide_steps(
    plan: Plan, source: Source, length: int, threads: int | None, presorted: bool
) -> tuple[pa.Table, list[Result]]:
    """The keys and windows as a table, and a result per output; rows by key (null last), then by time."""
    arranged, columns = _prepare(plan, source, length, presorted)
    rows, answers = run_steps(plan, columns, arranged, threads)
    places = _by_key(plan, source, arranged, rows)
    if places is None:
        return window_table(plan, source, arranged, rows), _results(answers, None, threads)
    return window_table(plan, source, arranged, rows.take(places)), _results(answers, places, threads)


def _by_key(plan: Plan, source: Source, arranged: Arranged, rows: Rows) -> Any:
    """Where each row of the result comes from, runs being in order of first appearance; None if that is the order."""
    if not plan.by:
        return None
    firsts = _first_rows(arranged, np.arange(len(arranged.starts) - 1))
    keys = {f"{k}": sortable(_arrow(source(name)).take(firsts)) for k, name in enumerate(plan.by)}
    order = pc.sort_indices(pa.table(keys), sort_keys=[(name, "ascending") for name in keys])
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order.to_numpy()] = np.arange(len(order))
    mine = ranks[rows.run]
    return None if (mine[1:] >= mine[:-1]).all() else np.argsort(mine, kind="stable")


def _first_rows(arranged: Arranged, runs: Any) -> pa.Array:
    places = arranged.starts[runs]
    return pa.array(places if arranged.rows is None else arranged.rows[places])


def window_table(plan: Plan, source: Source, arranged: Arranged, rows: Rows) -> pa.Table:
    """Key columns and those that say which window it is: one row per window."""
    first_rows = _first_rows(arranged, rows.run)
    found: dict[str, Any] = {}
    for name in plan.by:
        column = source(name)
        assert not isinstance(column, Column)
        found[name] = column.take(first_rows)
    return pa.table({**found, **window_columns(plan, rows)})


def _prepare(plan: Plan, source: Source, length: int, presorted: bool) -> tuple[Arranged, dict[str, Column]]:
    keys = [_arrow(source(name)) for name in plan.by]
    order = [(name, _arrow(source(name))) for name in plan.order]
    arranged = arrange(plan, length, keys, order, presorted)
    return arranged, plan.enter(source, length, arranged.rows)


def _arrow(column: Any) -> Any:
    return pa.chunked_array([pa.array(column.values)]) if isinstance(column, Column) else column


def _results(answers: list[Answers], places: Any, threads: int | None) -> list[Result]:
    """The answers in the rows' own order: row i's is at `places[i]`; None if they are in order.

    A column goes to where the answers before it were, which nobody needs any more: memory that is touched for the first
    time costs about as much as the gathering.
    """
    found: list[Result | None] = [None] * len(answers)
    chains = 1 if places is None else min(len(answers), threads or len(os.sched_getaffinity(0)))

    def job(chain: int) -> None:
        spare: Any = None
        for k in range(chain, len(answers), chains):
            found[k], spare = _result(answers[k], places, spare)

    run_jobs([partial(job, chain) for chain in range(chains)], threads)
    return [result for result in found if result is not None]


def _result(answers: Answers, places: Any, spare: Any) -> tuple[Result, Any]:
    """One output's result, written to `spare` where that fits; and what the next one may be written to."""
    outs, ok, output = answers.outs, answers.ok, answers.output
    if places is not None:
        ok = ok if ok.all() else _taken(ok, places, None)
        first = _taken(outs[0], places, spare)
        spare = outs[0]
        outs = (first, *(_taken(out, places, None) for out in outs[1:]))
    return Result(output.name, outs, ok, output.arrow, output.ops.packed, output.columns), spare


def _taken(values: Any, places: Any, spare: Any) -> Any:
    if isinstance(values, list):
        return [values[place] for place in places.tolist()]
    return taken(values, places, spare)
