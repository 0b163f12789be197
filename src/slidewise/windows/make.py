"""How a user says which events: `trailing`, `tumbling`, `expanding`, `session`, `around`, `between`. All of it O(1).

Each function checks what it is given and makes a frozen value of windows/window.py; the costs that the docstrings name
are those of running such a window.
"""

from __future__ import annotations

from datetime import timedelta

from slidewise.duration import ALLOWED, in_words, is_duration
from slidewise.errors import ArgumentError, bad, shown, whole
from slidewise.windows.number import Along, Length, measured
from slidewise.windows.window import Around, Between, Expanding, Session, Ties, Trailing, Window

Extent = str | timedelta | Length


def trailing(
    extent: Extent,
    *,
    include_current: bool = True,
    min_rows: int = 0,
    ties: Ties = "apart",
    along: Along | None = None,
    coarse: Extent | None = None,
) -> Window:
    """The last `extent` rows, this one included, or the events of the last stretch `(t − extent, t]`.

    Amortized O(1) combines per event at any extent; memory is the window.

    Parameters
    ----------
    extent
        A number of rows; or a duration such as ``"5 min"``, which needs `order=`; or a number along the order column:
        a float, or an integer with ``along="order"``.
    include_current
        False leaves the current row out (the `extent` rows before it): features without leakage.
    min_rows
        Answer null for a window of fewer rows.
    ties
        ``"together"``: rows of equal order see each other, as SQL's RANGE; not for windows of rows.
    along
        ``"order"``: `extent` is a number in units of the order column, an integer or float one.
    coarse
        Evict whole multiples of it, counted from the epoch (or 0): the window reaches back to
        ``floor((t − extent) / coarse) · coarse``, that moment included. Not for windows of rows. A live window of
        time keeps one partial for each multiple, not for each event.

    >>> import slidewise as sw
    >>> sw.slide([1, 2, 3, 4], sw.sum(), sw.trailing(2, include_current=False))
    [None, 1, 3, 5]
    >>> sw.slide([1, 2, 3, 4], sw.sum(), sw.trailing(3, min_rows=3))
    [None, None, 6, 9]
    >>> sw.slide([1, 2, 3, 4], sw.sum(), sw.trailing(2.5), order=[0.0, 1.0, 2.5, 9.0])
    [1, 3, 5, 4]
    """
    _check_current(include_current)
    min_rows = whole("min_rows", min_rows, least=0)
    axis, length = measured("trailing", extent, along)
    _check_ties(ties, None if axis != "rows" else f"{shown(extent)} counts rows")
    if axis == "rows":
        _check_min_rows(min_rows, int(length))
    step = None if coarse is None else _coarse(coarse, extent, axis, length)
    return Trailing(
        axis=axis, extent=length, coarse=step, include_current=include_current, min_rows=min_rows, ties=ties
    )


def tumbling(extent: Extent, *, min_rows: int = 0, along: Along | None = None) -> Window:
    """Windows side by side: one answer per `[start, start + extent)`, aligned to the epoch (or to 0).

    Amortized O(1) combines per event; memory is the window.

    >>> import slidewise as sw
    >>> sw.tumbling("1 h")
    tumbling('1 h')
    >>> sw.slide([1, 2, 3], sw.sum(), sw.tumbling(10, along="order"), order=[0, 9, 10])
    [3, 3]
    """
    measured("tumbling", extent, along)
    return trailing(extent, min_rows=min_rows, along=along).every(extent)


def expanding(*, include_current: bool = True, min_rows: int = 0, ties: Ties = "apart") -> Window:
    """From the start of the key through the current row.

    One combine per event, and one partial per key: memory does not grow with the rows.

    Parameters
    ----------
    include_current
        False leaves the current row out.
    min_rows
        Answer null for a window of fewer rows.
    ties
        ``"together"``: rows of equal order (its first column, times or numbers) see each other, as SQL's RANGE.

    >>> import slidewise as sw
    >>> sw.slide([1, 2, 3, 4], sw.sum(), sw.expanding())
    [1, 3, 6, 10]
    >>> sw.slide([1, 2, 3, 4], sw.sum(), sw.expanding(ties="together"), order=[0, 1, 1, 2])
    [1, 6, 6, 10]
    """
    _check_current(include_current)
    _check_ties(ties)
    return Expanding(
        axis="any" if ties == "together" else "rows",
        include_current=include_current,
        min_rows=whole("min_rows", min_rows, least=0),
        ties=ties,
    )


def session(gap: Extent, *, min_rows: int = 0) -> Window:
    """One answer per session: events belong together while each follows the last within `gap` (``t − last ≤ gap``).

    `window_start` is the first event, `window_end` the last plus the gap, as Spark's `session_window`. A batch answers
    for the last open session too. One combine per event, and one partial per key.

    Parameters
    ----------
    gap
        A duration, or a number along the order column.
    min_rows
        Answer null for a session of fewer rows.

    >>> import slidewise as sw
    >>> sw.slide([1, 2, 3, 4], sw.sum(), sw.session(2), order=[0, 2, 5, 6])
    [3, 7]
    """
    axis, length = measured("session", gap, "order")
    return Session(axis=axis if axis == "time" else "order", gap=length, min_rows=whole("min_rows", min_rows, least=0))


def around(
    before: Extent, after: Extent, *, min_rows: int = 0, ties: Ties = "apart", along: Along | None = None
) -> Window:
    """From `before` rows before this one to `after` rows after it, or the events of `(t − before, t + after]`.

    Looks ahead, so it is for whole data: not for streams and live windows. This row is always inside. Amortized O(1)
    combines per event; memory is the window.

    Parameters
    ----------
    before, after
        Two numbers of rows, two durations, or two numbers along the order column; one of them may be 0.
    min_rows
        Answer null for a window of fewer rows.
    ties
        ``"together"``: rows of equal order see each other even where `before` or `after` is 0; not for rows.
    along
        ``"order"``: integers are in units of the order column, not rows.

    >>> import slidewise as sw
    >>> sw.slide([1, 2, 3, 4], sw.sum(), sw.around(1, 1))
    [3, 6, 9, 7]
    >>> sw.slide([1, 2, 3, 4], sw.sum(), sw.around(1.5, 0.5), order=[0.0, 1.0, 1.5, 9.0])
    [1, 6, 5, 4]
    """
    min_rows = whole("min_rows", min_rows, least=0)
    axis, back = measured("before", before, along, or_zero=True)
    other, ahead = measured("after", after, along, or_zero=True)
    if axis != other:
        raise ArgumentError(
            f"around({shown(before)}, {shown(after)}): expected two numbers of rows, two durations, or two numbers "
            "along the order"
        )
    if not back and not ahead:
        raise ArgumentError(f"around({shown(before)}, {shown(after)}): expected one of them to be more than 0")
    _check_ties(ties, None if axis != "rows" else f"{shown(before)} counts rows")
    if axis == "rows":
        _check_min_rows(min_rows, int(back + ahead) + 1)
    return Around(axis=axis, before=back, after=ahead, min_rows=min_rows, ties=ties)


def between(lo: str, hi: str, *, min_rows: int = 0) -> Window:
    """The events of the key whose order lies in ``[lo, hi]``, both included: two columns, so each row says its own.

    Bounds may come in any order and look ahead. A null or NaN bound, or ``lo > hi``, is an empty window. O(log n)
    combines per event over a tree of 2n partials; O(1) where bounds only rise. On Spark a key's rows are collected.

    Parameters
    ----------
    lo, hi
        Names of columns of times or numbers, as the order column.
    min_rows
        Answer null for a window of fewer rows.

    >>> import slidewise as sw, pyarrow as pa
    >>> table = pa.table({"t": [1, 2, 3], "lo": [0, 3, 2], "hi": [2, 9, 2], "x": [10, 20, 30]})
    >>> sw.slide(table, sw.sum("x"), sw.between("lo", "hi"), order="t")["sum_x"].to_pylist()
    [30, 30, 20]
    """
    for name, column in (("lo", lo), ("hi", hi)):
        if not isinstance(column, str) or not column:
            raise bad(name, column, "the name of a column")
    return Between(lo=lo, hi=hi, min_rows=whole("min_rows", min_rows, least=0))


def _coarse(coarse: Extent, extent: Extent, axis: str, length: Length) -> Length:
    if axis == "rows":
        raise ArgumentError(f"coarse={shown(coarse)}: {shown(extent)} counts rows; expected a duration as extent")
    if (axis == "time") != is_duration(coarse):
        allowed = ALLOWED if axis == "time" else "a positive number along the order"
        raise bad("coarse", coarse, f"{allowed}, as the extent {shown(extent)}")
    _, step = measured("coarse", coarse, None if axis == "time" else "order")
    if step > length:
        longest = repr(in_words(int(length))) if axis == "time" else repr(length)
        raise bad("coarse", coarse, f"at most the extent, {longest}")
    return step


def _check_current(include_current: object) -> None:
    if not isinstance(include_current, bool):
        raise bad("include_current", include_current, "True or False")


def _check_ties(ties: object, refusal: str | None = None) -> None:
    if ties not in ("apart", "together"):
        raise bad("ties", ties, "'apart' or 'together'")
    if ties == "together" and refusal is not None:
        raise ArgumentError(f"ties='together': {refusal}; expected a window by time or order, e.g. trailing('5 min')")


def _check_min_rows(min_rows: int, rows: int) -> None:
    if min_rows > rows:
        raise ArgumentError(f"min_rows={min_rows}: a window of {rows} rows never has as many; expected at most {rows}")
