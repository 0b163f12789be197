"""Which slice each event belongs to, and which ends are due after how many of them: a stretch of a stream at a time.

    x        ..  6   7      9          13            events, at their row numbers or times
    edges    |       |          |            |       7, 10, 14: what an event lies after is its *mark*
    slices   4   4   5      5          6             only slices that hold an event have a number
    due              after the first two: the windows that end at 7, and so on

For a slice that no event fell into nothing is kept, so a silence costs nothing, and windows without an event are left
out. An event may come late inside its stretch between two edges: slices and windows are the same. An event alone costs
O(log n) for each beat and span that it passes, however long the plan is; many at once O(log n) per event and answer,
with NumPy, and O(beats) per event where cuts are denser than events.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from slidewise.errors import LateEventError
from slidewise.sharing.plan import SharedPlan, Span, positions
from slidewise.sharing.query import said
from slidewise.sharing.rhythm import Growing, Rhythm
from slidewise.sharing.slicing import Beat

NONE = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True)
class Due:
    """The answers of one stretch, by end and then by span.

    After `hi` events the answer over slices from number `starts` on is due; `shut`: a slice ends there.
    """

    span: Any
    ends: Any
    hi: Any
    starts: Any
    shut: Any


class Schedule:
    """Where a stream is, along its plan."""

    def __init__(self, plan: SharedPlan) -> None:
        self.plan = plan
        self._marks = tuple(sorted({*plan.cuts, *(() if _all_cut(plan) else plan.ends)}))
        self._marked, self._cut = Rhythm(self._marks), Rhythm(plan.cuts)
        self._lengths = np.array([span.length for span in plan.spans])
        self._closing = np.array([_always_cut(span, plan.cuts) for span in plan.spans])
        self._answered: list[int | None] = [None] * len(plan.spans)
        self._ends: list[tuple[int, int]] = []
        """A heap of the next end of each span that was not looked at yet."""
        self._mark: int | None = None
        """The newest edge that some event or `advance` has reached."""
        self._newest: int | None = None
        """The mark of the newest event."""
        self._begins = Growing()
        """Where the slices begin that some window to come may hold, the first of them number `_first`."""
        self._first = 0

    def slices(self, x: Any) -> tuple[Any, Any, int]:
        """For each event its slice's number and its mark; and how many slices the final aggregator must hold."""
        marks, begins = self._placed(x)
        known = self._begins.values
        new = np.ones(len(x), dtype=np.bool_)
        new[1:] = begins[1:] != begins[:-1]
        if len(x) and len(known) and begins[0] == known[-1]:
            new[0] = False
        numbers = self._first + len(known) - 1 + np.cumsum(new)
        fresh = begins[new]
        self._begins.append(fresh)
        known = self._begins.values
        oldest = np.searchsorted(known, fresh - self.plan.longest)
        need = int((np.arange(len(known) - len(fresh), len(known)) - oldest + 1).max(initial=0))
        return numbers, marks, need

    def due(self, marks: Any, now: int) -> Due:
        """What is due by `now`, after events of these marks; each end once in a stream's life.

        O(log spans) for each span that has an end since the last call, and O(log slices) per answer.
        """
        held = marks[np.append(True, marks[1:] != marks[:-1])] if len(marks) else marks
        if self._newest is not None:
            held = np.append(self._newest, held)
        passed = self._passed(now)
        found = [self._span_due(number, self.plan.spans[number], held, now) for number in passed]
        spans = np.repeat(np.array(passed, dtype=np.int64), [len(ends) for ends in found])
        ends = np.concatenate(found) if found else NONE
        order = np.lexsort((spans, ends))
        spans, ends = spans[order], ends[order]
        starts = self._first + np.searchsorted(self._begins.values, ends - self._lengths[spans])
        if len(marks):
            self._newest = int(marks[-1])
        reached = self._marked.upto(now)
        self._mark = reached if self._mark is None else max(self._mark, reached)
        self._forget()
        return Due(spans, ends, np.searchsorted(marks, ends), starts, self._shuts(spans, ends))

    def _placed(self, x: Any) -> tuple[Any, Any]:
        """The mark and the beginning of the slice of each event; late ones are refused before anything changes."""
        if len(x) == 1 and (self._mark is None or int(x[0]) >= self._mark):
            at = int(x[0])
            return np.array([self._marked.upto(at)]), np.array([self._cut.upto(at)])
        marks = last_before(self._marks, x)
        self._refuse_late(x, marks)
        return marks, last_before(self.plan.cuts, x)

    def _passed(self, now: int) -> list[int]:
        """The spans that have an end by `now` which no call before had."""
        if not self._ends:
            passed = list(range(len(self.plan.spans)))
        else:
            passed = []
            while self._ends and self._ends[0][0] <= now:
                passed.append(heapq.heappop(self._ends)[1])
        for number in passed:
            span = self.plan.spans[number]
            last = (now - span.phase) // span.step
            heapq.heappush(self._ends, (span.phase + span.step * (last + 1), number))
        return sorted(passed)

    def _span_due(self, number: int, span: Span, held: Any, now: int) -> Any:
        """The ends by `now` of windows that hold one of these marks, less those answered before."""
        last = (now - span.phase) // span.step
        answered = self._answered[number]
        self._answered[number] = last if answered is None else max(last, answered)
        if not len(held):
            return np.zeros(0, dtype=np.int64)
        first = (held - span.phase) // span.step + 1
        upto = np.minimum((held + span.length - span.phase) // span.step, last)
        first[1:] = np.maximum(first[1:], upto[:-1] + 1)
        if answered is not None:
            first = np.maximum(first, answered + 1)
        counts = np.maximum(upto - first + 1, 0)
        nth = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
        return span.phase + span.step * (np.repeat(first, counts) + nth)

    def _shuts(self, spans: Any, ends: Any) -> Any:
        shut = self._closing[spans]
        if not shut.all():
            rest = np.nonzero(~shut)[0]
            shut[rest] = last_before(self.plan.cuts, ends[rest]) == ends[rest]
        return shut

    def _refuse_late(self, x: Any, marks: Any) -> None:
        before = marks[:-1] if self._mark is None else np.append(self._mark, marks[:-1])
        late = np.nonzero(marks[len(marks) - len(before) :] < before)[0]
        if len(late):
            at = int(late[0]) + len(marks) - len(before)
            time, edge = said(int(x[at]), "order"), said(int(before[int(late[0])]), "order")
            raise LateEventError(f"time={time}: lies before the edge {edge}, which was passed; expected times in order")

    def _forget(self) -> None:
        """Drop what no window to come can hold; O(log slices)."""
        if self._mark is None:
            return
        known = self._begins.values
        gone = min(int(np.searchsorted(known, self._mark - self.plan.longest)), max(0, len(known) - 1))
        self._begins.drop(gone)
        self._first += gone


def last_before(beats: Iterable[Beat], x: Any) -> Any:
    """For each position the last one of any beat at it or before it.

    >>> last_before((Beat(4, 0), Beat(4, 3)), np.array([5, 7, 9, 2])).tolist()
    [4, 7, 8, 0]
    """
    beats = tuple(beats)
    if not len(x):
        return x
    low, high = int(x.min()), int(x.max())
    if sum((high - low) // beat.period + 2 for beat in beats) <= len(beats) * len(x):
        before = max(low - (low - beat.offset) % beat.period for beat in beats)
        marks = np.append(before, positions(beats, low, high))
        return marks[np.searchsorted(marks, x, side="right") - 1]
    found = x - (x - beats[0].offset) % beats[0].period
    for beat in beats[1:]:
        found = np.maximum(found, x - (x - beat.offset) % beat.period)
    return found


def _always_cut(span: Span, cuts: tuple[Beat, ...]) -> bool:
    return any(span.step % cut.period == 0 and (span.phase - cut.offset) % cut.period == 0 for cut in cuts)


def _all_cut(plan: SharedPlan) -> bool:
    return all(_always_cut(span, plan.cuts) for span in plan.spans)
