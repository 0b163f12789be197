"""The times of a live window's events, oldest first: how many of them have left is found in O(log n)."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from typing import Any, Protocol

from slidewise.monoids.monoid import Monoid
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


NEWEST = Monoid(identity=-(2**63), combine=lambda older, newer: newer, name="newest")
"""What a node knows of its times."""
