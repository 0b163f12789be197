"""Beats as a stream goes on: the last position that any of them has, O(log beats) for each beat that is passed.

    beats     4 · k          0       4       8       12
              4 · k + 3          3       7       11
    upto(9)                              8 ▲             next: 11

A heap has the next position of every beat. A silence is leapt over: a beat that was passed many times is moved once.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import Any

import numpy as np

from slidewise.sharing.slicing import Beat


class Rhythm:
    """Where a stream is among the positions of some beats; it never goes back.

    >>> rhythm = Rhythm([Beat(4, 0), Beat(4, 3)])
    >>> rhythm.upto(9), rhythm.upto(10), rhythm.upto(12), rhythm.moved
    (8, 8, 12, 4)
    """

    def __init__(self, beats: Sequence[Beat]) -> None:
        self._beats = tuple(beats)
        self._ahead: list[tuple[int, int]] = []
        self._last = 0
        self.moved = 0
        """How often a beat was moved: the work that was done."""

    def upto(self, x: int) -> int:
        """The last position at or before x, or the one that an earlier call found after x."""
        if not self._ahead:
            found = [x - (x - beat.offset) % beat.period for beat in self._beats]
            self._ahead = [(at + beat.period, k) for k, (at, beat) in enumerate(zip(found, self._beats, strict=True))]
            heapq.heapify(self._ahead)
            self._last = max(found)
            self.moved += len(found)
        while self._ahead[0][0] <= x:
            k = self._ahead[0][1]
            beat = self._beats[k]
            at = x - (x - beat.offset) % beat.period
            self._last = max(self._last, at)
            heapq.heapreplace(self._ahead, (at + beat.period, k))
            self.moved += 1
        return self._last


class Growing:
    """Ascending integers that come at one end and leave at the other; both amortized O(1).

    >>> numbers = Growing()
    >>> for n in range(100): numbers.append([n])
    >>> numbers.drop(97); numbers.values.tolist()
    [97, 98, 99]
    """

    def __init__(self) -> None:
        self._room = np.zeros(16, dtype=np.int64)
        self._first = self._last = 0

    @property
    def values(self) -> Any:
        """What is there, oldest first."""
        return self._room[self._first : self._last]

    def append(self, more: Any) -> None:
        """Some more at the end."""
        count, live = len(more), self._last - self._first
        if self._last + count > len(self._room):
            room = np.zeros(max(16, 2 * (live + count)), dtype=np.int64)
            room[:live] = self.values
            self._room, self._first, self._last = room, 0, live
        self._room[self._last : self._last + count] = more
        self._last += count

    def drop(self, count: int) -> None:
        """The oldest leave."""
        self._first += count
