"""A query: an aggregate over the last `range`, answered once per `slide`; by rows, or along times.

    rows     answers after rows slide, 2·slide, ...: the window that ends there, cut at the first row
    times    windows [k·slide, k·slide + range) for every k, those without an event left out

Both are the windows of ``sw.trailing(range).every(slide)``. In either case an *end* e is answered from what lies in
``[e − range, e)``, and ends are `slide` apart; they differ in where the first one lies (`phase`). All of it O(1).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from slidewise.duration import in_words
from slidewise.errors import ArgumentError, bad
from slidewise.monoids.monoid import Monoid
from slidewise.windows.number import Along, Length, measured

Extent = str | timedelta | int


@dataclass(frozen=True)
class Query:
    """What one user asks of a stream that many ask.

    Parameters
    ----------
    monoid
        What to compute.
    range, slide
        How far each answer looks back, and the distance between answers: numbers of rows, or durations. `slide` None:
        one row, which only a range of rows can have.
    along
        ``"order"``: `range` and `slide` are integers in whatever unit times are given, not rows.
    name
        What drawings call it, once in a plan; None: its number there.

    >>> import slidewise as sw
    >>> largest = sw.Monoid(identity=float("-inf"), combine=max, name="max")
    >>> Query(largest, 6, 2)
    max over 6 rows every 2
    >>> Query(largest, "5 min", "1 min")
    max over 5 min every 1 min
    """

    monoid: Monoid
    range: Extent
    slide: Extent | None = None
    along: Along | None = None
    name: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.monoid, Monoid):
            raise bad("monoid", self.monoid, "a slidewise.Monoid")
        if self.name is not None and (not isinstance(self.name, str) or not self.name):
            raise bad("name", self.name, "a non-empty string, or None")
        axis, length = measured("range", self.range, self.along)
        if self.slide is None and axis != "rows":
            raise bad("slide", self.slide, f"how often to answer: range={self.range!r} is no number of rows")
        other, step = measured("slide", 1 if self.slide is None else self.slide, self.along)
        if axis != other:
            raise ArgumentError(f"slide={self.slide!r}: expected the kind of length that range={self.range!r} is")
        object.__setattr__(self, "_measured", (axis, _whole("range", length), _whole("slide", step)))

    @property
    def axis(self) -> Literal["rows", "time", "order"]:
        """What it is measured along: rows, nanoseconds, or whatever times are."""
        return self._measured[0]  # type: ignore[attr-defined,no-any-return]

    @property
    def length(self) -> int:
        """The range along the axis."""
        return self._measured[1]  # type: ignore[attr-defined,no-any-return]

    @property
    def step(self) -> int:
        """The slide along the axis."""
        return self._measured[2]  # type: ignore[attr-defined,no-any-return]

    @property
    def phase(self) -> int:
        """Where its ends lie: at ``phase + k · step`` for all k."""
        return 0 if self.axis == "rows" else self.length % self.step

    def __repr__(self) -> str:
        length, step = (said(n, self.axis) for n in (self.length, self.step))
        return f"{self.monoid.name} over {length}{' rows' if self.axis == 'rows' else ''} every {step}"


def said(length: int, axis: str) -> str:
    """A length as a reader takes it.

    >>> said(60_000_000_000, "time"), said(60, "rows")
    ('1 min', '60')
    """
    return in_words(length) if axis == "time" else f"{length:,}"


def _whole(argument: str, length: Length) -> int:
    """Only whole numbers have a least common multiple."""
    if isinstance(length, float):
        raise bad(argument, length, "a whole number or a duration: edges must fall on one another exactly")
    return length
