"""Where a query's stream is cut into slices, so that every window is made of whole ones.

    range 5, slide 3          . . . . . . . . .        the windows: [4, 9), the next one [7, 12)
    panes   gcd 1             |.|.|.|.|.|.|.|.|.|      5 partials per window
    pairs   5 mod 3, the rest |.|. .|.|. .|.|. .|      3
    cutty   window starts     |. . .|. . .|. . .|      2, the newest of them not ended where the answer is due

Each technique is a small frozen value that gives *beats*: positions ``offset + k · period`` for all k. Nothing is
listed, so a slide of a day in nanoseconds costs what a slide of three rows does: O(1).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

from slidewise.errors import bad, listed
from slidewise.sharing.query import Query


@dataclass(frozen=True, order=True)
class Beat:
    """The positions ``offset + k · period``, with ``0 ≤ offset < period``."""

    period: int
    offset: int

    @staticmethod
    def of(period: int, anywhere: int) -> Beat:
        """The beat of this period that goes through a position.

        >>> Beat.of(3, 10)
        Beat(period=3, offset=1)
        """
        return Beat(period, anywhere % period)


class Slicing(Protocol):
    """A slicing technique. `punctuates`: slice starts travel in the stream, as no plan knows them beforehand."""

    @property
    def name(self) -> str: ...

    @property
    def punctuates(self) -> bool: ...

    def beats(self, query: Query) -> tuple[Beat, ...]:
        """Where a slice of this query ends and the next one starts; its windows' starts are among them."""
        ...

    def partials(self, query: Query) -> int:
        """The most slices that one window of the query has, where no other query cuts."""
        ...


@dataclass(frozen=True)
class Panes:
    """Slices of one length, the greatest common divisor of range and slide: range / gcd partials per window.

    >>> import slidewise as sw
    >>> Panes().partials(Query(sw.Monoid(identity=0, combine=max), 10, 4))
    5
    """

    name = "panes"
    punctuates = False

    def beats(self, query: Query) -> tuple[Beat, ...]:
        return (Beat.of(math.gcd(query.length, query.step), query.phase),)

    def partials(self, query: Query) -> int:
        return query.length // math.gcd(query.length, query.step)


@dataclass(frozen=True)
class Pairs:
    """Two lengths in turn, range mod slide and the rest of the slide, so that windows start and end at a cut.

    range / slide partials per window if that divides, else 2 ⌊range / slide⌋ + 1. An answer is due after the fragment
    of length range mod slide: 002 names it f1 and says f2 in its text, which would cut no window's start.

    >>> import slidewise as sw
    >>> Pairs().partials(Query(sw.Monoid(identity=0, combine=max), 10, 4))
    5
    >>> Pairs().partials(Query(sw.Monoid(identity=0, combine=max), 101, 25)), 101
    (9, 101)
    """

    name = "pairs"
    punctuates = False

    def beats(self, query: Query) -> tuple[Beat, ...]:
        ends, starts = (Beat.of(query.step, at) for at in (query.phase, query.phase - query.length))
        return (ends,) if ends == starts else (ends, starts)

    def partials(self, query: Query) -> int:
        whole, rest = divmod(query.length, query.step)
        return 2 * whole + 1 if rest else whole


@dataclass(frozen=True)
class Cutty:
    """A slice starts only where a window starts; an answer may be due in the middle of one: ≤ ⌊range / slide⌋ + 1.

    A query is then answered from whole slices and what the open one holds so far. Starts are read off punctuations in
    the stream; a plan says how many there are.

    >>> import slidewise as sw
    >>> Cutty().partials(Query(sw.Monoid(identity=0, combine=max), 10, 4))
    3
    """

    name = "cutty"
    punctuates = True

    def beats(self, query: Query) -> tuple[Beat, ...]:
        return (Beat.of(query.step, query.phase - query.length),)

    def partials(self, query: Query) -> int:
        return -(-query.length // query.step)


SLICINGS: dict[str, Slicing] = {one.name: one for one in (Panes(), Pairs(), Cutty())}
"""Name -> technique."""


def slicing_of(given: object) -> Slicing:
    """A technique by its name, or a value of one's own as it is.

    >>> slicing_of("pairs")
    Pairs()
    """
    if isinstance(given, str) and given in SLICINGS:
        return SLICINGS[given]
    if isinstance(given, str) or not callable(getattr(given, "beats", None)):
        raise bad("slicing", given, f"one of {listed(SLICINGS)}, or a value with their methods")
    return given  # type: ignore[return-value]
