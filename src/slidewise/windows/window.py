"""Windows, as frozen values: which events belong to an answer. They hold no state and never see a value.

trailing("5 s")             at every event, the events of (t − 5 s, t]
──●──●───●─●───●──►
     [───────────]

trailing("5 s").every("2 s")    one answer per window [start, start + 5 s), start = ..., −2 s, 0, 2 s, ...
──●──●───●─●───●──►
  [─────────)
    [─────────)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Literal

from slidewise.duration import ALLOWED, in_words, nanoseconds
from slidewise.errors import ArgumentError, bad, shown, whole

Ties = Literal["apart", "together"]


@dataclass(frozen=True)
class Window:
    """What every window has: an extent in rows or in nanoseconds, and the fewest rows it answers for.

    Exactly one of `rows` and `nanos` is set. `step` (of the same sort) makes it one answer per window instead of one
    per event. Make windows with `trailing` and `tumbling`, not with this class.
    """

    rows: int | None = None
    nanos: int | None = None
    include_current: bool = True
    min_rows: int = 0
    ties: Ties = "apart"
    step: int | None = None

    @property
    def by_time(self) -> bool:
        """True if the window is a stretch of time, False if it is a number of rows."""
        return self.nanos is not None

    @property
    def per_event(self) -> bool:
        """True if there is an answer for every event."""
        return self.step is None

    def every(self, step: str | timedelta | int) -> Window:
        """One answer per window `[start, end)`, a new one every `step`, aligned to the epoch; O(1).

        A window of rows takes a number of rows: answers at rows m, 2m, 3m, ... of each key.

        >>> import slidewise as sw
        >>> sw.trailing("1 h").every("1 min")
        trailing('1 h').every('1 min')
        """
        if self.step is not None:
            raise ArgumentError(f"every({shown(step)}): {self!r} has a step already")
        if not self.include_current or self.ties != "apart":
            raise ArgumentError(f"every({shown(step)}): include_current and ties belong to per-event windows")
        if self.by_time:
            return replace(self, step=nanoseconds(step, "every"))
        return replace(self, step=_rows("every", step, f"; {self!r} counts rows"))

    def __repr__(self) -> str:
        extent = repr(in_words(self.nanos)) if self.nanos is not None else str(self.rows)
        options = "".join(
            (
                "" if self.include_current else ", include_current=False",
                f", min_rows={self.min_rows}" if self.min_rows else "",
                f", ties={self.ties!r}" if self.ties != "apart" else "",
            )
        )
        if self.step is None:
            return f"trailing({extent}{options})"
        if self.step == (self.nanos if self.by_time else self.rows):
            return f"tumbling({extent}{options})"
        step = repr(in_words(self.step)) if self.by_time else str(self.step)
        return f"trailing({extent}{options}).every({step})"


def trailing(
    extent: int | str | timedelta, *, include_current: bool = True, min_rows: int = 0, ties: Ties = "apart"
) -> Window:
    """The last `extent` rows, this one included, or the events of the last stretch of time `(t − extent, t]`.

    Parameters
    ----------
    extent
        A number of rows, or a duration such as ``"5 min"``; a duration needs `order=`.
    include_current
        False leaves the current row out (the `extent` rows before it): features without leakage.
    min_rows
        Answer null for a window of fewer rows.
    ties
        ``"together"``: rows of equal time see each other, as SQL's RANGE; time windows only.

    >>> import slidewise as sw
    >>> sw.slide([1, 2, 3, 4], sw.sum(), sw.trailing(2, include_current=False))
    [None, 1, 3, 5]
    >>> sw.slide([1, 2, 3, 4], sw.sum(), sw.trailing(3, min_rows=3))
    [None, None, 6, 9]
    """
    if not isinstance(include_current, bool):
        raise bad("include_current", include_current, "True or False")
    min_rows = whole("min_rows", min_rows, least=0)
    if ties not in ("apart", "together"):
        raise bad("ties", ties, "'apart' or 'together'")
    if isinstance(extent, (str, timedelta)):
        return Window(
            nanos=nanoseconds(extent, "trailing"), include_current=include_current, min_rows=min_rows, ties=ties
        )
    if ties == "together":
        raise ArgumentError(
            f"ties='together': {shown(extent)} counts rows; expected a window by time, e.g. trailing('5 min')"
        )
    rows = _rows("trailing", extent, f", or {ALLOWED}")
    if min_rows > rows:
        raise ArgumentError(f"min_rows={min_rows}: a window of {rows} rows never has as many; expected at most {rows}")
    return Window(rows=rows, include_current=include_current, min_rows=min_rows)


def tumbling(extent: int | str | timedelta, *, min_rows: int = 0) -> Window:
    """Windows side by side: one answer per `[start, start + extent)`, aligned to the epoch.

    >>> import slidewise as sw
    >>> sw.tumbling("1 h")
    tumbling('1 h')
    """
    if isinstance(extent, (str, timedelta)):
        nanoseconds(extent, "tumbling")
    else:
        _rows("tumbling", extent, f", or {ALLOWED}")
    return trailing(extent, min_rows=min_rows).every(extent)


def _rows(argument: str, value: object, otherwise: str) -> int:
    return whole(argument, value, 1, f"a number of rows, an integer of at least 1{otherwise}", below=2**40)
