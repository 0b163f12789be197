"""Leaps: what a subtree's summary says of a frame that is open before it, without looking at the events.

    delta      (least, greatest)          no value strays too far from the first, or from the others
    sums       (sum, highest prefix sum)  the total never passes the limit on the way, also with negative values

A leap is taken only where the fold, event by event, would come to exactly the same state. Differences of floats round
the same way however many values lie between; sums of floats do not, so they leap only where every sum is exact: all
values are multiples of some 2**-k and their magnitudes add up to less than 2**52 of those. Other values are folded.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from slidewise.frames.cutter import Cutter
from slidewise.frames.feed import Feed
from slidewise.frames.kind import Delta, Total
from slidewise.frames.live import Event, State
from slidewise.monoids.aggregate import Family

FINEST = 2**200
EXACT = 2.0**52
LARGEST = 2**62


class Stretch(NamedTuple):
    """Events side by side: how many, the last one's time, how many have values, and what `Leap.part` says of those.

    `part` is None if a value among them is not to be leapt over.
    """

    rows: int
    last: Any
    values: int
    part: Any


class Leap:
    """A kind's summary of events, and the state after all of them."""

    def __init__(self, cutter: Cutter) -> None:
        self._cutter = cutter

    def part(self, event: Event) -> Any:
        """Of one event's value; None if it is not to be leapt over."""
        raise NotImplementedError

    def joined(self, older: Any, newer: Any) -> Any:
        """Of two stretches."""
        raise NotImplementedError

    def after(self, s: Any, part: Any) -> Any:
        """The kind's own state after a stretch, None if a frame might end in it."""
        raise NotImplementedError

    def measure(self, event: Event) -> Stretch:
        """One event."""
        return Stretch(1, event.key[0], int(event.ok), self.part(event) if event.ok else None)

    def combine(self, older: Stretch, newer: Stretch) -> Stretch:
        """Two stretches, one after the other."""
        part = older.part if newer.values == 0 else newer.part if older.values == 0 else None
        if older.part is not None and newer.part is not None:
            part = self.joined(older.part, newer.part)
        return Stretch(older.rows + newer.rows, newer.last, older.values + newer.values, part)

    def leap(self, state: State, stretch: Stretch) -> State | None:
        """The state after a stretch of events that all stay in the open frame; None if that cannot be told."""
        inside, valued, count, begun, fragment, following, s = state
        most = self._cutter.most
        if not inside or (most[0] and count + stretch.rows > most[0]):
            return None
        if most[1] and self._cutter.beyond(stretch.last, begun):
            return None
        if stretch.values:
            if not valued or stretch.part is None:
                return None
            s = self.after(s, stretch.part)
            if s is None:
                return None
        return (True, valued, count + stretch.rows, begun, fragment, following, s)


class FirstLeap(Leap):
    """Delta frames measured from the first value: the least and the greatest decide."""

    def __init__(self, cutter: Cutter, size: Any) -> None:
        super().__init__(cutter)
        self._size = size

    def part(self, event: Event) -> Any:
        x = event.inputs[0][0]
        return (x, x) if type(x) is int or (type(x) is float and math.isfinite(x)) else None

    def joined(self, older: Any, newer: Any) -> Any:
        return (min(older[0], newer[0]), max(older[1], newer[1]))

    def after(self, s: Any, part: Any) -> Any:
        first = s[1]
        least, greatest = min(first, part[0]), max(first, part[1])
        return s if greatest - first < self._size and first - least < self._size else None


class RangeLeap(FirstLeap):
    """Delta frames measured between the least and the greatest value."""

    def after(self, s: Any, part: Any) -> Any:
        least = part[0] if part[0] < s[1] else s[1]
        greatest = part[1] if part[1] > s[2] else s[2]
        return (True, least, greatest) if greatest - least < self._size else None


class WholeSumLeap(Leap):
    """Sums of integers: the partial of two halves, the sum, the highest prefix sum, the sum of magnitudes."""

    def __init__(self, cutter: Cutter, limit: Any, strict: bool) -> None:
        super().__init__(cutter)
        self._limit = limit
        self._strict = strict

    def part(self, event: Event) -> Any:
        x = int(event.inputs[0][0])
        return (x >> 32, x & (2**32 - 1), x, x, abs(x))

    def joined(self, older: Any, newer: Any) -> Any:
        total = older[2]
        peak = max(older[3], total + newer[3])
        return (older[0] + newer[0], older[1] + newer[1], total + newer[2], peak, older[4] + newer[4])

    def after(self, s: Any, part: Any) -> Any:
        so_far = (s[0] << 32) + s[1]
        if abs(so_far) + part[4] > LARGEST or not self._within(so_far + part[3]):
            return None
        return (s[0] + part[0], s[1] + part[1])

    def _within(self, total: Any) -> bool:
        return bool(total <= self._limit if self._strict else total < self._limit)


class FloatSumLeap(WholeSumLeap):
    """Sums of floats, where they are exact: the sum, the highest prefix sum, the sum of magnitudes, the finest unit."""

    def part(self, event: Event) -> Any:
        x = event.inputs[0][0]
        if type(x) is not float or not math.isfinite(x):
            return None
        unit = x.as_integer_ratio()[1]
        return (x, x, abs(x), unit) if unit <= FINEST else None

    def joined(self, older: Any, newer: Any) -> Any:
        peak = max(older[1], older[0] + newer[1])
        return (older[0] + newer[0], peak, older[2] + newer[2], max(older[3], newer[3]))

    def after(self, s: Any, part: Any) -> Any:
        if not math.isfinite(s) or (unit := max(s.as_integer_ratio()[1], part[3])) > FINEST:
            return None
        if (abs(s) + part[2]) * float(unit) > EXACT or not self._within(s + part[1]):
            return None
        return s + part[0]


def leap_of(cutter: Cutter, total: Feed | None) -> Leap | None:
    """How a kind leaps; None if it is folded event by event."""
    kind = cutter.kind
    if isinstance(kind, Delta):
        made: Callable[..., Leap] = RangeLeap if kind.anchor == "range" else FirstLeap
        return made(cutter, kind.size)
    if isinstance(kind, Total) and isinstance(kind.aggregate.source, Family) and kind.aggregate.source.name == "sum":
        assert total is not None
        result = total.ops.monoid.result
        if result == "int64":
            return WholeSumLeap(cutter, kind.limit, kind.strict)
        if result == "float64":
            return FloatSumLeap(cutter, kind.limit, kind.strict)
    return None
