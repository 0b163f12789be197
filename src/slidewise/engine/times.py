"""The times of a live window's events, oldest first: how many of them have left is found in O(log n)."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from typing import Any, Protocol

from slidewise.engine.stored import StoredState
from slidewise.monoids.monoid import Monoid
from slidewise.swag.amta import LEVELS
from slidewise.swag.paged_amta import PagedAmta


class Times(Protocol):
    """What a window asks of its events' times, which never fall."""

    def append(self, time: Any) -> None:
        """The newest event's."""

    def drop(self, n: int) -> None:
        """The n oldest events have left."""

    def older(self, than: Any, or_equal: bool) -> int:
        """How many are before a moment, or at it."""

    def __len__(self) -> int: ...


class NearTimes:
    """In memory: a list of which the oldest part is gone, cut off now and then; amortized O(1) per event."""

    def __init__(self, times: Iterable[Any] = ()) -> None:
        self._times = list(times)
        self._gone = 0

    def append(self, time: Any) -> None:
        self._times.append(time)

    def drop(self, n: int) -> None:
        self._gone += n
        if self._gone > 64 and 2 * self._gone > len(self._times):
            del self._times[: self._gone]
            self._gone = 0

    def older(self, than: Any, or_equal: bool) -> int:
        find = bisect_right if or_equal else bisect_left
        return find(self._times, than, lo=self._gone) - self._gone

    def __len__(self) -> int:
        return len(self._times) - self._gone

    def listed(self) -> list[Any]:
        """All of them, for a snapshot."""
        return self._times[self._gone :]


class FarTimes:
    """In a store: every node of the tree knows its newest time, so O(log n) pages are looked at."""

    def __init__(self, structure: PagedAmta) -> None:
        self._structure = structure

    def append(self, time: Any) -> None:
        self._structure.insert(time)

    def drop(self, n: int) -> None:
        self._structure.evict_many(n)

    def older(self, than: Any, or_equal: bool) -> int:
        leaves = (lambda _, old: old <= than) if or_equal else (lambda _, old: old < than)
        return self._structure.prefix_of(leaves)

    def __len__(self) -> int:
        return len(self._structure)


_NEVER = -(2**63)


def _newer_time(older: Any, newer: Any) -> Any:
    return older if newer == _NEVER else newer


def _newer_place(older: Any, newer: Any) -> Any:
    return older if newer is None else newer


NEWEST_TIME = Monoid(identity=_NEVER, combine=_newer_time, name="newest time", result="int64")
"""What a node knows of its times: nanoseconds, in machine code."""

NEWEST_PLACE = Monoid(identity=None, combine=_newer_place, name="newest place")
"""The same along an order of numbers of any kind."""


def far_times(stored: StoredState, *, by_time: bool) -> FarTimes:
    """The times of a window in a store."""
    if by_time:
        return FarTimes(stored.structure(NEWEST_TIME, ("int64",), 1, LEVELS))
    return FarTimes(stored.structure(NEWEST_PLACE, None, 1, LEVELS))
