"""The spans of a plan over one stream of partials: what `SharedWindows` and factor windows both stand on.

    inputs ──lift──► open slice ──► final aggregator ──► Found: for each end of each span, a partial not yet lowered

Rows of a listed plan go through the loop `cycle`, everything else through `feed` (sharing/loops.py). State is the open
slice, the final aggregator, and where the stream is along the plan.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from slidewise.kernels.ops import Ops
from slidewise.kernels.spans import validity
from slidewise.sharing.cycle import Cycle
from slidewise.sharing.final import Final
from slidewise.sharing.loops import build_cycle, build_feed
from slidewise.sharing.plan import SharedPlan
from slidewise.sharing.schedule import Schedule

AT_ONCE = 4096
"""A window of no more partials is allocated at the start; a longer one grows to what it needs."""


@dataclass(frozen=True)
class Found:
    """Answers of several spans, by end and then by span: partials, and whether they hold a value."""

    spans: Any
    ends: Any
    partials: tuple[Any, ...]
    ok: Any

    def by_span(self, count: int) -> list[Any]:
        """For each of `count` spans, which answers are its own, in order; O(n)."""
        if count == 1:
            return [slice(None)]
        # A stable sort of small integers is a radix sort.
        order = np.argsort(self.spans.astype(np.int16 if count < 2**15 else np.int64), kind="stable")
        lasts = np.cumsum(np.bincount(self.spans, minlength=count))
        return [order[last - many : last] for last, many in zip(lasts, np.diff(lasts, prepend=0), strict=True)]

    def of(self, rows: Any) -> tuple[tuple[Any, ...], Any, Any]:
        """The partials, validity and ends of some of them."""
        return tuple(chosen(column, rows) for column in self.partials), self.ok[rows], self.ends[rows]


class SpanWindows:
    """The windows of all spans of a plan, with `final` for their slices.

    `counted` False: rows are not counted here, their positions are given (`at`).
    """

    def __init__(self, plan: SharedPlan, ops: Ops, final: Final, *, counted: bool = True) -> None:
        self.plan = plan
        self.ops = ops
        self.final = final
        self.seen = 0
        self._held = ops.columns(1)
        _put(self._held, ops.identity, ops.compiled)
        self._cycle = Cycle(plan) if counted and plan.axis == "rows" and plan.listable else None
        self._schedule = Schedule(plan)
        self._state = self._integers([0, 0, 0] if self._cycle else [-1, 0, 0])
        self.listed: tuple[Any, ...] = ()
        """The composite slide as the loop takes it, made once: a row must not cost the length of the plan."""
        if self._cycle is not None:
            parts = (self._cycle.lengths, self._cycle.cuts, self._cycle.firsts, self._cycle.counts)
            self.listed = tuple(self._integers(part) for part in parts)

    def rows(self, inputs: tuple[Any, ...], valid: Any, rows: int) -> Found:
        """The next rows of a stream that counts them, and all that is due after the last of them."""
        self.seen += rows
        if self._cycle is None or not rows:
            return self.at(inputs, valid, np.arange(self.seen - rows, self.seen), self.seen)
        ops, final, cycle = self.ops, self.final, self._cycle
        self._reserve(min(self.plan.size, self.seen))
        spans, ends = cycle.due(self.seen - rows, self.seen)
        partials, ok = self._room(len(ends))
        kernel = ops.built((final.key, "cycle"), lambda: build_cycle(ops, final.steps()))
        kernel(final.cols, final.R, self._held, self._state, inputs, self._mask(valid), valid is not None, rows,
               *self.listed, partials, ok)  # fmt: skip
        return Found(spans, ends, partials, ok)

    def at(self, inputs: tuple[Any, ...], valid: Any, x: Any, now: int) -> Found:
        """Events at these positions, and all that is due by `now`."""
        ops, final = self.ops, self.final
        numbers, marks, need = self._schedule.slices(x)
        self._reserve(need)
        due = self._schedule.due(marks, now)
        partials, ok = self._room(len(due.ends))
        kernel = ops.built((final.key, "feed"), lambda: build_feed(ops, final.steps()))
        given = (self._integers(part) for part in (numbers, due.hi, due.starts, due.shut))
        kernel(final.cols, final.R, self._held, self._state, inputs, self._mask(valid), valid is not None, *given,
               partials, ok)  # fmt: skip
        return Found(due.span, due.ends, partials, ok)

    def _reserve(self, need: int) -> None:
        """Have room for so many slices: twice as many as before, but no more than any answer takes."""
        if need > self.final.size:
            self.final.reserve(max(need, min(2 * self.final.size, self.plan.size)))

    def _integers(self, values: Any) -> Any:
        if self.ops.compiled:
            return np.ascontiguousarray(values, dtype=np.int64)
        return values if isinstance(values, list) else values.tolist()

    def _mask(self, valid: Any) -> Any:
        mask = validity(None if valid is None else np.array(valid, dtype=np.bool_))
        return mask if self.ops.compiled else mask.tolist()

    def _room(self, length: int) -> tuple[tuple[Any, ...], Any]:
        return self.ops.columns(length), np.ones(length, dtype=np.bool_)


def _put(cols: tuple[Any, ...], partial: Any, compiled: bool) -> None:
    parts: Sequence[Any] = partial if compiled and isinstance(partial, tuple) else (partial,)
    for column, part in zip(cols, parts, strict=True):
        column[0] = part


def chosen(column: Any, rows: Any) -> Any:
    """Some rows of an array or a list."""
    if not isinstance(column, list):
        return column[rows]
    return column[rows] if isinstance(rows, slice) else [column[row] for row in rows.tolist()]
