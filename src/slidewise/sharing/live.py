"""A shared plan at work: fed events, it answers every query where the plan says.

    with rows     an answer comes with the last row of its window
    with times    an answer comes when an event, or `advance`, reaches the end of its window

Per event one lift and at most one ⊕ into the open slice; per span and end one query of the final aggregator; per query
and end one lower. Memory is the longest range in partials, not in events.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from slidewise.errors import ArgumentError, bad, listed, shown, whole
from slidewise.sharing.factor import FactorPlan
from slidewise.sharing.final import BIntFinal, Final, FlatFAT
from slidewise.sharing.flatfit import FlatFIT
from slidewise.sharing.guard import Guard
from slidewise.sharing.parts import Parts
from slidewise.sharing.plan import SharedPlan
from slidewise.sharing.spans import AT_ONCE, Found, SpanWindows
from slidewise.sharing.staged import StagedSpans, fed_partials
from slidewise.sharing.values import check_types, entering, positions

FINALS: dict[str, type[Final]] = {one.name: one for one in (FlatFIT, FlatFAT, BIntFinal)}
"""Name -> final aggregator."""

NEVER = -(2**62)
"""A moment by which nothing is due."""


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
    factors
        A `FactorPlan` of this plan: coarse windows are aggregated from finer results as it says, by FlatFIT.

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
        factors: FactorPlan | None = None,
    ) -> None:
        if not isinstance(plan, SharedPlan):
            raise bad("plan", plan, "a SharedPlan")
        if not isinstance(final, str) or final not in FINALS:
            raise bad("final", final, f"one of {listed(FINALS)}")
        if not isinstance(write_back, bool) or (not write_back and final != "flatfit"):
            raise bad("write_back", write_back, "True or False; False only with final='flatfit'")
        check_types(types)
        self.plan = plan
        self.parts = Parts([query.monoid for query in plan.queries], types)
        self._queries: list[list[int]] = [[] for _ in plan.spans]
        """The queries of each span."""
        for number, span in enumerate(plan.span_of):
            self._queries[span].append(number)
        self._guard = Guard()
        self._ops = self.parts.ops if types is not None else fed_partials(self.parts.ops)
        """In object mode values are lifted before anything changes, so what slices take are partials."""
        self.final: Final | None = None
        """What aggregates the slices; None with `factors`, whose stages have their own."""
        self._spans: SpanWindows | StagedSpans
        if factors is not None:
            if not isinstance(factors, FactorPlan) or factors.plan is not plan or final != "flatfit" or not write_back:
                raise bad("factors", factors, "a FactorPlan of this plan, with final='flatfit' and write_back=True")
            self._spans = StagedSpans(factors, self._ops)
            return
        options = {} if write_back else {"write_back": False}
        self.final = FINALS[final](self._ops, min(plan.size, AT_ONCE), **options)
        self._spans = SpanWindows(plan, self._ops, self.final)

    def push(self, value: Any, time: int | None = None) -> list[tuple[int, int, Any]]:
        """One event, None for one without a value; what is due: (number of the query, end of the window, answer).

        Amortized O(1) and what is due: answers, slices that end, and O(log queries) per edge that is passed.
        """
        return self._in_order(self._taken([value], None if time is None else [time]))

    def advance(self, time: int) -> list[tuple[int, int, Any]]:
        """No event before `time` is to come: what is due by then. For plans along times. O(answers + edges passed)."""
        if self.plan.axis == "rows":
            raise ArgumentError(f"time={time!r}: rows have no times; expected a plan along times")
        now = whole("time", time, least=-(2**62), below=2**62)
        none = np.zeros(0, dtype=np.int64)
        column, _ = entering([], self.parts.types)
        with self._guard.changes():
            found = self._spans.at((column,), None, none, now)
        return self._in_order(found)

    def extend(self, values: Any, times: Any = None) -> list[Answers]:
        """Many events at once; the answers that are due, by query. One call of compiled code in that mode.

        Per event and answer what the final aggregator takes, and O(log n) where events have times. Raises
        `LateEventError`, with nothing taken, if an event lies before an edge that was passed. What a user's lift raises
        leaves the windows as they were, what a combine raises makes them of no more use (sharing/guard.py).
        """
        found = self._taken(values, times)
        mine = found.by_span(len(self.plan.spans))
        parts = [found.of(mine[span]) for span in self.plan.span_of]
        return [self._answers(number, part) for number, part in enumerate(parts)]

    def _taken(self, values: Any, times: Any) -> Found:
        """Take events; the partials that are due."""
        column, valid = entering(values, self.parts.types)
        x = self._positions(len(column), times)
        inputs = self._lifted(column, valid)
        with self._guard.changes():
            if self.plan.axis == "rows":
                return self._spans.rows(inputs, valid, len(column))
            return self._spans.at(inputs, valid, x, int(x.max()) if len(x) else NEVER)

    def _lifted(self, column: Any, valid: Any) -> tuple[Any, ...]:
        """What the loops take: the column itself in machine code, else the partial of each event."""
        if self.parts.types is not None:
            return (column,)
        lift_at, identity, given = self.parts.ops.lift_at, self.parts.ops.identity, (column,)
        there = [True] * len(column) if valid is None else valid
        return ([lift_at(given, row) if good else identity for row, good in enumerate(there)],)

    def _answers(self, number: int, part: tuple[tuple[Any, ...], Any, Any]) -> Answers:
        """A query's answers of its span's partials."""
        partials, ok, ends = part
        return Answers(ends, *self.parts.answers(number, partials, ok))

    def _in_order(self, found: Found) -> list[tuple[int, int, Any]]:
        """All answers by end, then by query; only queries that have one cost anything."""
        due = []
        for span in np.unique(found.spans).tolist():
            part = found.of(np.nonzero(found.spans == span)[0])
            for number in self._queries[span]:
                one = self._answers(number, part)
                due += [(int(end), number, value) for end, value in zip(one.ends, one.tolist(), strict=True)]
        due.sort(key=lambda one: one[:2])
        return [(number, end, value) for end, number, value in due]

    def _positions(self, rows: int, times: Any) -> Any:
        """Where the events lie along time; None where rows are counted."""
        if self.plan.axis == "rows":
            if times is not None:
                raise ArgumentError(f"times={shown(times)}: the plan counts rows; expected none")
            return None
        return positions(times, rows)
