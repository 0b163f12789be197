"""Windows, as frozen values: which events belong to an answer. They hold no state and never see a value.

trailing("5 s")             at every event, the events of (t − 5 s, t]
──●──●───●─●───●──►
     [───────────]

trailing("5 s").every("2 s")    one answer per window [start, start + 5 s), start = ..., −2 s, 0, 2 s, ...
──●──●───●─●───●──►
  [─────────)
    [─────────)

session("2 s")              one answer per stretch of events without a longer silence
──●──●───●──────●─●──►
  [───────]     [─]

Every kind of window is a small class; they share the face that `Window` describes. They are made by the functions of
windows/make.py, which check what a user wrote.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from datetime import timedelta
from typing import Any, Literal

from slidewise.duration import in_words, nanoseconds
from slidewise.errors import ArgumentError, shown, whole
from slidewise.windows.number import ROWS, number

Ties = Literal["apart", "together"]

Axis = Literal["rows", "time", "order", "any"]
"""What a window is measured along: rows, the times or the numbers of `order`; "any": whatever `order` is."""

Length = int | float
"""A length along an axis: rows, nanoseconds, or a number in units of `order`."""


@dataclass(frozen=True, kw_only=True)
class Window:
    """What every window has; make windows with `sw.trailing` and its like, not with this class.

    `axis` is what it is measured along. `min_rows` is the fewest rows it answers for. `include_current` False leaves
    the current row out. `ties` says whether rows of equal order see each other.
    """

    axis: Axis = "rows"
    include_current: bool = True
    min_rows: int = 0
    ties: Ties = "apart"

    @property
    def per_event(self) -> bool:
        """True if there is an answer for every event, False if there is one for every window."""
        return True

    @property
    def lengths(self) -> tuple[Length, ...]:
        """Its lengths along its axis; an event's window reaches no further from it than their sum."""
        return ()

    @property
    def step(self) -> Length | None:
        """The distance between windows of `.every`; None for all others."""
        return None

    @property
    def by_time(self) -> bool:
        """True if the window is a stretch of time."""
        return self.axis == "time"

    @property
    def rows(self) -> int | None:
        """How many rows it covers, where that is fixed."""
        return None

    def every(self, step: str | timedelta | Length) -> Window:
        """One answer per window `[start, end)`, a new one every `step`; for `trailing` windows. O(1)."""
        raise ArgumentError(f"every({shown(step)}): is for trailing windows, not for {self!r}")

    def to_dict(self) -> dict[str, Any]:
        """The window as plain values; `from_dict` of windows/stored.py makes it again."""
        return {"window": type(self).__name__, **{field.name: getattr(self, field.name) for field in fields(self)}}

    def _options(self) -> list[str]:
        return [
            *([] if self.include_current else ["include_current=False"]),
            *([f"min_rows={self.min_rows}"] if self.min_rows else []),
            *([f"ties={self.ties!r}"] if self.ties != "apart" else []),
        ]


@dataclass(frozen=True, kw_only=True, repr=False)
class Trailing(Window):
    """The last `extent` of rows, time or order up to the event; with a `step`, one answer per window.

    `coarse` moves the older end back to a multiple of it.
    """

    extent: Length
    step: Length | None = None
    coarse: Length | None = None

    @property
    def per_event(self) -> bool:
        return self.step is None

    @property
    def lengths(self) -> tuple[Length, ...]:
        return tuple(length for length in (self.extent, self.step, self.coarse) if length is not None)

    @property
    def rows(self) -> int | None:
        return int(self.extent) if self.axis == "rows" else None

    def every(self, step: str | timedelta | Length) -> Window:
        """One answer per window `[start, end)`, a new one every `step`, aligned to the epoch (or to 0); O(1).

        A window of rows takes a number of rows: answers at rows m, 2m, 3m, ... of each key.

        >>> import slidewise as sw
        >>> sw.trailing("1 h").every("1 min")
        trailing('1 h').every('1 min')
        """
        if self.step is not None:
            raise ArgumentError(f"every({shown(step)}): {self!r} has a step already")
        if not self.include_current or self.ties != "apart" or self.coarse is not None:
            raise ArgumentError(f"every({shown(step)}): include_current, ties and coarse belong to per-event windows")
        if self.axis == "time":
            return replace(self, step=nanoseconds(step, "every"))
        if self.axis == "order":
            return replace(self, step=number("every", step, f"a positive number; {self!r} goes along the order"))
        return replace(self, step=whole("every", step, 1, f"{ROWS}; {self!r} counts rows", below=2**40))

    def __repr__(self) -> str:
        coarse = [] if self.coarse is None else [f"coarse={_said(self.coarse, self.axis)}"]
        inside = ", ".join([_said(self.extent, self.axis), *self._options(), *coarse, *_along(self, self.extent)])
        if self.step is None:
            return f"trailing({inside})"
        if self.step == self.extent:
            return f"tumbling({inside})"
        return f"trailing({inside}).every({_said(self.step, self.axis)})"


@dataclass(frozen=True, kw_only=True, repr=False)
class Expanding(Window):
    """From the start of the key through the event."""

    def __repr__(self) -> str:
        return f"expanding({', '.join(self._options())})"


@dataclass(frozen=True, kw_only=True, repr=False)
class Session(Window):
    """Events that follow one another within `gap`."""

    gap: Length

    @property
    def per_event(self) -> bool:
        return False

    @property
    def lengths(self) -> tuple[Length, ...]:
        return (self.gap,)

    def __repr__(self) -> str:
        return f"session({', '.join([_said(self.gap, self.axis), *self._options()])})"


@dataclass(frozen=True, kw_only=True, repr=False)
class Around(Window):
    """From `before` the event to `after` it."""

    before: Length
    after: Length

    @property
    def lengths(self) -> tuple[Length, ...]:
        return (self.before, self.after)

    def __repr__(self) -> str:
        ends = [_said(self.before, self.axis), _said(self.after, self.axis)]
        return f"around({', '.join([*ends, *self._options(), *_along(self, self.before, self.after)])})"


@dataclass(frozen=True, kw_only=True, repr=False)
class Between(Window):
    """The events whose order lies in `[lo, hi]`, two columns of the event's own row."""

    lo: str
    hi: str
    axis: Axis = "any"

    def __repr__(self) -> str:
        return f"between({', '.join([repr(self.lo), repr(self.hi), *self._options()])})"


def _said(length: Length, axis: str) -> str:
    """A length as the user would write it."""
    return repr(in_words(int(length))) if axis == "time" else repr(length)


def _along(window: Window, *lengths: Length) -> list[str]:
    """A whole number is of rows unless it is said to be along the order."""
    return ["along='order'"] if window.axis == "order" and all(isinstance(n, int) for n in lengths) else []
