"""Which slice each event belongs to, and which ends are due after how many of them: a stretch of a stream at a time.

    x        ..  6   7      9          13            events, at their row numbers or times
    edges    |       |          |            |       7, 10, 14: what an event lies after is its *mark*
    slices   4   4   5      5          6             only slices that hold an event have a number
    due              after the first two: the windows that end at 7, and so on

For a slice that no event fell into nothing is kept, so a silence costs nothing, and windows without an event are left
out. An event may come late inside its stretch between two edges: slices and windows are the same. O(log n) per event
and answer, with NumPy, and O(beats) per event where cuts are denser than events.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from slidewise.errors import LateEventError
from slidewise.sharing.plan import SharedPlan, Span, positions
from slidewise.sharing.query import said
from slidewise.sharing.slicing import Beat


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
        self._closing = [_always_cut(span, plan.cuts) for span in plan.spans]
        self._answered: list[int | None] = [None] * len(plan.spans)
        self._mark: int | None = None
        """The newest edge that some event or `advance` has reached."""
        self._newest: int | None = None
        """The mark of the newest event."""
        self._begins = np.zeros(0, dtype=np.int64)
        """Where the slices begin that some window to come may hold, the first of them number `_first`."""
        self._first = 0

    def slices(self, x: Any) -> tuple[Any, Any, int]:
        """For each event its slice's number and its mark; and how many slices the final aggregator must hold."""
        marks, begins = last_before(self._marks, x), last_before(self.plan.cuts, x)
        self._refuse_late(x, marks)
        known = self._begins[-1] if len(self._begins) else None
        new = np.ones(len(x), dtype=np.bool_)
        new[1:] = begins[1:] != begins[:-1]
        if len(x) and known is not None and begins[0] == known:
            new[0] = False
        numbers = self._first + len(self._begins) - 1 + np.cumsum(new)
        self._begins = np.concatenate([self._begins, begins[new]])
        fresh = self._begins[len(self._begins) - int(new.sum()) :]
        oldest = np.searchsorted(self._begins, fresh - self.plan.longest)
        ranks = np.arange(len(self._begins) - len(fresh), len(self._begins))
        need = int((ranks - oldest + 1).max(initial=0))
        return numbers, marks, need

    def due(self, marks: Any, now: int) -> Due:
        """What is due by `now`, after events of these marks; each end once in a stream's life."""
        held = marks[np.append(True, marks[1:] != marks[:-1])] if len(marks) else marks
        if self._newest is not None:
            held = np.append(self._newest, held)
        found = [self._span_due(number, span, held, now) for number, span in enumerate(self.plan.spans)]
        spans = np.repeat(np.arange(len(found)), [len(ends) for ends in found])
        ends = np.concatenate(found)
        order = np.lexsort((spans, ends))
        spans, ends = spans[order], ends[order]
        lengths = np.array([span.length for span in self.plan.spans])
        starts = self._first + np.searchsorted(self._begins, ends - lengths[spans])
        if len(marks):
            self._newest = int(marks[-1])
        reached = int(last_before(self._marks, np.array([now]))[0])
        self._mark = reached if self._mark is None else max(self._mark, reached)
        self._forget()
        return Due(spans, ends, np.searchsorted(marks, ends), starts, self._shuts(spans, ends))

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
        shut = np.array(self._closing)[spans]
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
        """Drop what no window to come can hold; O(1) on average."""
        if self._mark is None:
            return
        gone = int(np.searchsorted(self._begins, self._mark - self.plan.longest))
        if gone > len(self._begins) - gone and gone < len(self._begins):
            self._begins, self._first = self._begins[gone:].copy(), self._first + gone


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
