"""A shared plan at work: fed events, it answers every query where the plan says.

    with rows     an answer comes with the last row of its window
    with times    an answer comes when an event, or `advance`, reaches the end of its window

Per event one lift and at most one ⊕ into the open slice; per span and end one query of the final aggregator; per query
and end one lower. Memory is the longest range in partials, not in events.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from slidewise.errors import ArgumentError, bad, listed, whole
from slidewise.kernels.spans import validity
from slidewise.sharing.cycle import Cycle
from slidewise.sharing.final import BIntFinal, Final, FlatFAT
from slidewise.sharing.flatfit import FlatFIT
from slidewise.sharing.loops import build_cycle, build_feed
from slidewise.sharing.parts import Parts
from slidewise.sharing.plan import SharedPlan
from slidewise.sharing.schedule import Due, Schedule

FINALS: dict[str, type[Final]] = {one.name: one for one in (FlatFIT, FlatFAT, BIntFinal)}
"""Name -> final aggregator."""

AT_ONCE = 4096
"""A window of no more partials is allocated at the start; a longer one grows to what it needs."""


@dataclass(frozen=True)
class Answers:
    """One query's answers: where each window ends, the values (arrays per field in machine code), which are null."""

    ends: Any
    values: tuple[Any, ...]
    ok: Any

    def __len__(self) -> int:
        return len(self.ends)

    def tolist(self) -> list[Any]:
        """The answers as plain values, None for null; O(n).

        >>> Answers(np.array([2, 4]), (np.array([1.5, 0.0]),), np.array([True, False])).tolist()
        [1.5, None]
        """
        columns = [value if isinstance(value, list) else value.tolist() for value in self.values]
        plain = columns[0] if len(columns) == 1 else list(zip(*columns, strict=True))
        return [value if good else None for value, good in zip(plain, self.ok.tolist(), strict=True)]


class SharedWindows:
    """The windows of all queries of a plan over one stream.

    Parameters
    ----------
    plan
        A `SharedPlan`.
    final
        ``"flatfit"``, ``"flatfat"`` or ``"b_int"``: what aggregates slices.
    types
        None: values are any Python objects. Dtype names, e.g. ``("float64",)``: machine code for arrays of that kind.
    write_back
        False: FlatFIT as printed in 002 (sharing/flatfit.py).

    >>> import slidewise as sw
    >>> from slidewise.sharing import Query, SharedPlan, SharedWindows
    >>> largest = sw.Monoid(identity=float("-inf"), combine=max, name="max")
    >>> windows = SharedWindows(SharedPlan([Query(largest, 6, 2), Query(largest, 8, 4)]))
    >>> windows.push(3), windows.push(9)
    ([], [(0, 2, 9)])
    >>> [answers.tolist() for answers in windows.extend([4, 1, 5, 2, 6, 0])]
    [[9, 9, 6], [9, 9]]
    """

    def __init__(
        self,
        plan: SharedPlan,
        final: str = "flatfit",
        *,
        types: tuple[str, ...] | None = None,
        write_back: bool = True,
    ) -> None:
        if not isinstance(plan, SharedPlan):
            raise bad("plan", plan, "a SharedPlan")
        if not isinstance(final, str) or final not in FINALS:
            raise bad("final", final, f"one of {listed(FINALS)}")
        if not isinstance(write_back, bool) or (not write_back and final != "flatfit"):
            raise bad("write_back", write_back, "True or False; False only with final='flatfit'")
        self.plan = plan
        self.parts = Parts([query.monoid for query in plan.queries], types)
        options = {} if write_back else {"write_back": False}
        self.final = FINALS[final](self.parts.ops, min(plan.size, AT_ONCE), **options)
        self.seen = 0
        self._held = self.parts.ops.columns(1)
        _put(self._held, self.parts.ops.identity, self.parts.ops.compiled)
        self._cycle = Cycle(plan) if plan.axis == "rows" and plan.listable else None
        self._schedule = Schedule(plan)
        self._state = self._integers([0, 0, 0] if self._cycle else [-1, 0, 0])

    def push(self, value: Any, time: int | None = None) -> list[tuple[int, int, Any]]:
        """One event, None for one without a value; what is due: (number of the query, end of the window, answer)."""
        return _in_order(self.extend([value], None if time is None else [time]))

    def advance(self, time: int) -> list[tuple[int, int, Any]]:
        """No event before `time` is to come: what is due by then. For plans along times."""
        if self.plan.axis == "rows":
            raise ArgumentError(f"time={time!r}: rows have no times; expected a plan along times")
        now = whole("time", time, least=-(2**62), below=2**62)
        none = np.zeros(0, dtype=np.int64)
        return _in_order(self._feed(self._column([]), None, none, none, now))

    def extend(self, values: Any, times: Any = None) -> list[Answers]:
        """Many events at once; the answers that are due, by query. One call of compiled code in that mode."""
        valid = _valid(values)
        column = self._column(
            values if valid is None else [x if ok else 0 for x, ok in zip(values, valid, strict=True)]
        )
        x = self._positions(len(column), times)
        if not len(x):
            none = np.zeros(0, dtype=np.int64)
            return [Answers(none, self.parts.answers(k, self.parts.ops.columns(0), none)[0], none > 0)
                    for k in range(len(self.plan.queries))]  # fmt: skip
        if self._cycle is not None:
            return self._run_cycle(self._cycle, column, valid)
        numbers, marks, need = self._schedule.slices(x)
        self._reserve(need)
        now = self.seen if self.plan.axis == "rows" else int(x.max())
        return self._feed(column, valid, numbers, marks, now)

    def _run_cycle(self, cycle: Cycle, column: Any, valid: Any) -> list[Answers]:
        ops, final, rows = self.parts.ops, self.final, len(column)
        self._reserve(min(self.plan.size, self.seen))
        spans, ends = cycle.due(self.seen - rows, self.seen)
        partials, ok = self._room(len(ends))
        kernel = ops.built((final.key, "cycle"), lambda: build_cycle(ops, final.steps()))
        given = (self._integers(part) for part in (cycle.lengths, cycle.cuts, cycle.firsts, cycle.counts))
        kernel(final.cols, final.R, self._held, self._state, (column,), self._mask(valid), valid is not None, rows,
               *given, partials, ok)  # fmt: skip
        return self._answers(spans, ends, partials, ok)

    def _feed(self, column: Any, valid: Any, numbers: Any, marks: Any, now: int) -> list[Answers]:
        ops, final = self.parts.ops, self.final
        due: Due = self._schedule.due(marks, now)
        partials, ok = self._room(len(due.ends))
        kernel = ops.built((final.key, "feed"), lambda: build_feed(ops, final.steps()))
        given = (self._integers(part) for part in (numbers, due.hi, due.starts, due.shut))
        kernel(final.cols, final.R, self._held, self._state, (column,), self._mask(valid), valid is not None, *given,
               partials, ok)  # fmt: skip
        return self._answers(due.span, due.ends, partials, ok)

    def _answers(self, spans: Any, ends: Any, partials: tuple[Any, ...], ok: Any) -> list[Answers]:
        """Each query's own, of the answers of all spans."""
        count = len(self.plan.spans)
        # A stable sort of small integers is a radix sort.
        order = np.argsort(spans.astype(np.int16 if count < 2**15 else np.int64), kind="stable")
        lasts = np.cumsum(np.bincount(spans, minlength=count))
        found = []
        for number, span in enumerate(self.plan.span_of):
            mine: Any = slice(None)
            if count > 1:
                mine = order[lasts[span - 1] if span else 0 : lasts[span]]
            part = tuple(_chosen(column, mine) for column in partials)
            values, good = self.parts.answers(number, part, ok[mine])
            found.append(Answers(ends[mine], values, good))
        return found

    def _reserve(self, need: int) -> None:
        """Have room for so many slices: twice as many as before, but no more than any answer takes."""
        if need > self.final.size:
            self.final.reserve(max(need, min(2 * self.final.size, self.plan.size)))

    def _positions(self, rows: int, times: Any) -> Any:
        """Where the events lie: their numbers, or their times."""
        if self.plan.axis == "rows":
            if times is not None:
                raise ArgumentError(f"times={_type(times)}: the plan counts rows; expected none")
            self.seen += rows
            return np.arange(self.seen - rows, self.seen)
        if times is None or len(times) != rows:
            raise ArgumentError(f"times={_type(times)}: expected {rows:,} integers, one for each value")
        x = np.asarray(times)
        if x.dtype.kind not in "iu" and rows:
            raise ArgumentError(f"times={_type(times)}: expected integers, in the unit of ranges and slides")
        self.seen += rows
        return x.astype(np.int64, copy=False)

    def _column(self, values: Any) -> Any:
        if self.parts.types is None:
            return list(values)
        column = np.ascontiguousarray(values, dtype=self.parts.types[0]).view()
        column.flags.writeable = False
        return column

    def _integers(self, values: Any) -> Any:
        if self.parts.ops.compiled:
            return np.ascontiguousarray(values, dtype=np.int64)
        return values if isinstance(values, list) else values.tolist()

    def _mask(self, valid: Any) -> Any:
        mask = validity(None if valid is None else np.array(valid, dtype=np.bool_))
        return mask if self.parts.ops.compiled else mask.tolist()

    def _room(self, length: int) -> tuple[tuple[Any, ...], Any]:
        return self.parts.ops.columns(length), np.ones(length, dtype=np.bool_)


def _put(cols: tuple[Any, ...], partial: Any, compiled: bool) -> None:
    parts: Sequence[Any] = partial if compiled and isinstance(partial, tuple) else (partial,)
    for column, part in zip(cols, parts, strict=True):
        column[0] = part


def _chosen(column: Any, rows: Any) -> Any:
    if not isinstance(column, list):
        return column[rows]
    return column[rows] if isinstance(rows, slice) else [column[row] for row in rows.tolist()]


def _valid(values: Any) -> list[bool] | None:
    """Which values there are, if not all."""
    if isinstance(values, np.ndarray) or all(value is not None for value in values):
        return None
    return [value is not None for value in values]


def _in_order(answers: list[Answers]) -> list[tuple[int, int, Any]]:
    found = [
        (int(end), number, value)
        for number, one in enumerate(answers)
        for end, value in zip(one.ends, one.tolist(), strict=True)
    ]
    found.sort(key=lambda one: one[:2])
    return [(number, end, value) for end, number, value in found]


def _type(times: Any) -> str:
    return "None" if times is None else f"<{type(times).__name__} of {len(times)}>"
