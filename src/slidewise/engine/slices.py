"""A live window with `coarse=`: whole slices of time leave, so that one partial for each is all that is kept.

    minute     10:01   10:02   10:03        10:04
               [p1]    [p2]    [p3]     ... p4, still growing
               └── a window algorithm ──┘   └ one ⊕ per event

An answer is one ⊕ more than the algorithm's. Memory is the number of slices, however many events they hold.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import replace
from typing import Any

from slidewise.engine.fed import Fed
from slidewise.errors import ArgumentError
from slidewise.monoids.kinds import ACCEPTS
from slidewise.monoids.monoid import Monoid
from slidewise.swag.structure import Structure
from slidewise.windows.window import Window


def in_slices(fed: Fed, window: Window) -> bool:
    """True if slices are enough: they are of time, whose edges are exact, and their partials stay small."""
    return window.by_time and not any(monoid.tally for monoid in fed.monoids(ACCEPTS))


class SliceTimes:
    """When slices began and how many events each holds, oldest first; in the place of a time for each event."""

    def __init__(self, length: int) -> None:
        self._length = length
        self._starts: list[int] = []
        self._rows: list[int] = []
        self._events = 0

    def begins(self, time: int) -> bool:
        """True if an event of this time begins a slice."""
        return not self._starts or time >= self._starts[-1] + self._length

    def append(self, time: int) -> None:
        """Count an event; times never fall."""
        if self.begins(time):
            self._starts.append(time // self._length * self._length)
            self._rows.append(0)
        self._rows[-1] += 1
        self._events += 1

    def older(self, than: int, or_equal: bool = False) -> int:
        """How many events are in slices that began before a moment, an edge of slices."""
        assert not or_equal, "an edge belongs to the slice that it begins"
        return sum(self._rows[: bisect_left(self._starts, than)])

    def slices_of(self, n: int) -> int:
        """How many slices the n oldest events are; they must be whole."""
        slices = 0
        while n > 0:
            n -= self._rows[slices]
            slices += 1
        if n:
            raise ArgumentError(
                f"evict_many: {self._rows[slices - 1] + n} of the {self._rows[slices - 1]} events of a slice; a window "
                "with coarse= keeps one partial for a slice, which leaves as a whole"
            )
        return slices

    def drop(self, n: int) -> None:
        """The n oldest events have left, whole slices of them."""
        slices = self.slices_of(n)
        del self._starts[:slices], self._rows[:slices]
        self._events -= n

    def rows(self) -> list[int]:
        """How many events each slice holds."""
        return list(self._rows)

    def state(self) -> tuple[list[int], list[int]]:
        """All a snapshot needs: when each slice began, and how many events it holds."""
        return list(self._starts), list(self._rows)

    def set_state(self, starts: list[int], rows: list[int]) -> None:
        """Continue from what `state` returned."""
        self._starts, self._rows, self._events = list(starts), list(rows), sum(rows)

    def __len__(self) -> int:
        return self._events


class Slices:
    """A window of slices: closed ones under an algorithm, and the open one, to which events are still added."""

    tallies = False

    def __init__(self, structure: type[Structure], monoid: Monoid) -> None:
        self.monoid = monoid
        self.card = structure.card
        self._closed = structure(replace(monoid, lift=None, lower=_held, answers_empty=False))
        self._open: Any = monoid.identity
        self._valued = False
        self._any = False
        self._begins = False

    def begin(self) -> None:
        """The next event begins a slice."""
        self._begins = True

    def insert(self, *value: Any) -> None:
        """An event of the open slice, or of the next."""
        one = self.monoid.lifted(*value)
        if self._valued and not self._begins:
            one = self.monoid.combine(self._open, one)
        self.insert_null()
        self._open, self._valued = one, True

    def insert_null(self) -> None:
        """An event without a value: it may begin a slice, and adds nothing to it."""
        if not self._begins:
            return
        if self._any and self._valued:
            self._closed.insert(self._open)
        elif self._any:
            self._closed.insert_null()
        self._open, self._valued, self._any, self._begins = self.monoid.identity, False, True, False

    def evict_many(self, slices: int) -> None:
        """Drop the oldest slices; O(1) each, as the algorithm has it."""
        closed = len(self._closed)
        self._closed.evict_many(min(slices, closed))
        if slices > closed:
            self._open, self._valued, self._any = self.monoid.identity, False, False

    def query(self) -> Any:
        """The answer over all slices; None if they hold no value."""
        monoid, closed = self.monoid, self._closed.query()
        if closed is not None:
            return monoid.lowered(monoid.combine(closed[0], self._open) if self._valued else closed[0])
        if self._valued or monoid.answers_empty:
            return monoid.lowered(self._open)
        return None

    def __len__(self) -> int:
        """How many slices there are."""
        return len(self._closed) + self._any

    def check(self) -> None:
        """Assert the invariants; O(slices)."""
        assert self._any or not (self._valued or len(self._closed)), "closed slices are older than an open one"
        self._closed.check()

    def state(self) -> tuple[list[int], list[Any], list[int]]:
        """As a structure's: the open slice comes first."""
        registers, partials, links = self._closed.state()
        return [int(self._any), int(self._valued), *registers], [self._open, *partials], links

    def set_state(self, registers: list[int], partials: list[Any], links: list[int]) -> None:
        """Continue from what `state` returned."""
        self._any, self._valued, self._open = bool(registers[0]), bool(registers[1]), partials[0]
        self._closed.set_state(registers[2:], partials[1:], links)


def _held(partial: Any) -> tuple[Any]:
    """A partial that is there, whatever it is; where there is none the answer is None."""
    return (partial,)
