"""How a user says where the data cuts: `threshold`, `boundary`, `delta`, `aggregate`, `session`, `custom`. All O(1).

Each function checks what it is given and makes a frozen value of frames/kind.py. A kind that watches a column takes its
name first; on a plain sequence of values the name is left out.
"""

from __future__ import annotations

import inspect
import math
import numbers
from collections.abc import Callable, Sequence
from datetime import timedelta
from decimal import Decimal
from itertools import pairwise
from typing import Any, TypedDict, Unpack

from slidewise.errors import ArgumentError, bad, shown, whole
from slidewise.frames.kind import Anchor, Boundary, Crossing, Custom, Delta, Frame, Number, Silence, Threshold, Total
from slidewise.monoids.aggregate import Aggregate
from slidewise.windows.number import measured
from slidewise.windows.window import Axis, Length


class Limits(TypedDict, total=False):
    """What every kind of frame may be given besides.

    `min_count`, `min_duration`: leave shorter frames out of the result. `max_count`, `max_duration`: close a frame that
    would grow longer; the rest of it is its next fragment, and the result says which in a column `fragment`.
    """

    min_count: int
    max_count: int | None
    min_duration: str | timedelta | Length | None
    max_duration: str | timedelta | Length | None


def threshold(
    column: str | None = None, *, at_least: Number | None = None, below: Number | None = None, **limits: Unpack[Limits]
) -> Frame:
    """Frames of events in a row whose value is at least `at_least` (or below `below`); other events are in none.

    One test per event, one partial per key. A late event changes nothing beyond its neighbours.

    Parameters
    ----------
    column
        The column to watch; None for a plain sequence.
    at_least, below
        The level, one of the two: a finite number.
    limits
        ``min_count=``, ``min_duration=``, ``max_count=``, ``max_duration=``; see the module's notes on frames.

    >>> import slidewise as sw
    >>> sw.slide([3, 7, 8, 6, 2, 1, 9, 5], sw.sum(), sw.frames.threshold(at_least=5))
    [21, 14]
    """
    _check_column(column)
    if (at_least is None) == (below is None):
        raise ArgumentError(f"at_least={shown(at_least)}, below={shown(below)}: expected one of them")
    name, level = ("at_least", at_least) if below is None else ("below", below)
    return Threshold(column=column, level=_finite(name, level), below=below is not None, **_limits(limits))


def boundary(
    column: str | Sequence[Number] | None, bounds: Sequence[Number] | None = None, **limits: Unpack[Limits]
) -> Frame:
    """Frames of events in a row whose values lie in the same cell: below the first bound, ``[b1, b2)``, ..., above.

    O(log bounds) per event, one partial per key. A late event changes nothing beyond its neighbours.

    Parameters
    ----------
    column
        The column to watch; left out for a plain sequence.
    bounds
        Finite numbers that rise.
    limits
        As for `threshold`.

    >>> import slidewise as sw
    >>> sw.slide([1, 5, 12, 15, 25, 3], sw.count(), sw.frames.boundary([0, 10, 20]))
    [2, 2, 1, 1]
    """
    if bounds is None and not isinstance(column, str):
        column, bounds = None, column
    _check_column(column)
    if isinstance(bounds, (str, bytes)) or not hasattr(bounds, "__iter__"):
        raise bad("bounds", bounds, "a list of numbers that rise, e.g. [0, 10, 20]")
    found = tuple(_finite("bounds", one) for one in (() if bounds is None else bounds))
    if not found or any(b <= a for a, b in pairwise(found)):
        raise bad("bounds", bounds, "at least one number, and each more than the one before")
    name = column if isinstance(column, str) else None
    return Boundary(column=name, bounds=found, **_limits(limits))


def delta(
    column: str | Number | None, size: Number | None = None, *, anchor: Anchor = "first", **limits: Unpack[Limits]
) -> Frame:
    """Frames of events in a row whose values stay within `size`: ``abs(x - first) < size``, or ``max - min < size``.

    O(1) per event, one partial per key. A late event changes frames up to the next jump of the values.

    Parameters
    ----------
    column
        The column to watch; left out for a plain sequence.
    size
        A positive finite number.
    anchor
        ``"first"`` measures from the frame's first value, ``"range"`` between its least and its greatest.
    limits
        As for `threshold`.

    >>> import slidewise as sw
    >>> sw.slide([3.0, 4.0, 4.5, 7.0, 8.0, 2.0], sw.count(), sw.frames.delta(2.0))
    [3, 2, 1]
    """
    if size is None and not isinstance(column, str):
        column, size = None, column
    _check_column(column)
    if anchor not in ("first", "range"):
        raise bad("anchor", anchor, "'first' or 'range'")
    size = _finite("size", size)
    if size <= 0:
        raise bad("size", size, "a positive number")
    return Delta(column=column, size=size, anchor=anchor, **_limits(limits))  # type: ignore[arg-type]


def aggregate(
    aggregate: Aggregate,
    limit: Number,
    *,
    crossing: Crossing = "exclude",
    strict: bool = True,
    **limits: Unpack[Limits],
) -> Frame:
    """Frames that close before an aggregate of theirs would exceed `limit`; the event that would opens the next.

    One ⊕ per event, one partial per key. A late event may move all frames after it. An event that exceeds the limit by
    itself opens a frame all the same; the next one joins it only if it brings the aggregate back within the limit.

    Parameters
    ----------
    aggregate
        Any aggregate whose answer is a number; a null answer exceeds nothing, NaN exceeds everything.
    limit
        A finite number.
    crossing
        ``"include"`` keeps the event that exceeds the limit in the frame, which closes with it.
    strict
        False: reaching the limit is enough.
    limits
        As for `threshold`.

    >>> import slidewise as sw
    >>> sw.slide([1, 2, 0, 1, 1, 2, 0, 2, 1], sw.sum(), sw.frames.aggregate(sw.sum(), limit=3))
    [3, 2, 2, 3]
    >>> sw.slide([1, 2, 0, 1, 1, 2], sw.sum(), sw.frames.aggregate(sw.sum(), limit=3, crossing="include"))
    [4, 3]
    """
    if not isinstance(aggregate, Aggregate):
        raise bad("aggregate", aggregate, "an aggregate such as sw.sum('v')")
    if crossing not in ("exclude", "include"):
        raise bad("crossing", crossing, "'exclude' or 'include'")
    if not isinstance(strict, bool):
        raise bad("strict", strict, "True or False")
    limit = _finite("limit", limit)
    return Total(aggregate=aggregate, limit=limit, crossing=crossing, strict=strict, **_limits(limits))


def session(gap: str | timedelta | Length, **limits: Unpack[Limits]) -> Frame:
    """Frames of events that follow one another within `gap`, as `sw.session`; a frame ends at its last event.

    O(1) per event, one partial per key.

    Parameters
    ----------
    gap
        A duration, or a number along the order column.
    limits
        As for `threshold`.

    >>> import slidewise as sw
    >>> sw.slide([1, 2, 3, 4], sw.sum(), sw.frames.session(2, max_count=2), order=[0, 2, 3, 9])
    [3, 3, 4]
    """
    axis, length = measured("gap", gap, "order")
    return Silence(gap=length, **_limits(limits, axis))


def custom(
    open: Callable[..., Any],
    update: Callable[..., Any],
    close: Callable[..., Any],
    state: Any,
    *columns: str,
    carries: bool = False,
    **limits: Unpack[Limits],
) -> Frame:
    """Frames of your own kind: three functions over a state, asked for each event.

    ``close(state, x)``: a frame is open; does x end it? Then x is not in it. ``update(state, x)`` gives the state with
    x in it. ``open(state, x)``: no frame is open; does x open one? Each gets one value per column. Functions of numbers
    over a state of numbers (or a flat tuple of them) run as machine code, others as they are. O(1) calls per event.

    Parameters
    ----------
    open, update, close
        The three functions; they must not depend on anything but what they are given, nor change it: `update` returns
        a new state. As machine code integers have 64 bits, and wrap.
    state
        The state before the first event.
    columns
        The columns whose values they get; none for a plain sequence. An event with a null among them says nothing: it
        is in the frame that is open, if one is.
    carries
        False: the state sums up the open frame; every frame begins with ``update(state, x)`` of the `state` given here.
        True: it is updated with every event, in a frame or not, and never begins anew.
    limits
        As for `threshold`.

    Price runs: opened by a rise, closed by a fall. The state is the last price, so it must be carried.

    >>> import slidewise as sw
    >>> run = sw.frames.custom(
    ...     open=lambda last, price: price > last,
    ...     update=lambda last, price: price,
    ...     close=lambda last, price: price < last,
    ...     state=100.0,
    ...     carries=True,
    ... )
    >>> sw.slide([101.0, 102.0, 102.0, 99.0, 98.0, 99.5, 101.0], sw.last(), run)
    [102.0, 101.0]
    """
    for name, function in (("open", open), ("update", update), ("close", close)):
        if not callable(function):
            raise bad(name, function, "a function of (state, value)")
        _check_arity(name, function, max(1, len(columns)))
    for column in columns:
        _check_column(column)
    if not isinstance(carries, bool):
        raise bad("carries", carries, "True or False")
    return Custom(
        open=open, update=update, close=close, state=state, columns=columns, carries=carries, **_limits(limits)
    )


# ---- checks ---------------------------------------------------------------------------------------------------------
def _check_arity(name: str, function: Callable[..., Any], values: int) -> None:
    try:
        inspect.signature(function).bind(*range(values + 1))
    except TypeError as error:
        raise ArgumentError(
            f"{name}={shown(function)}: is called with the state and {values} value(s): {error}"
        ) from error
    except ValueError:  # a built-in without a signature: found out when it is called
        return


def _check_column(column: object) -> None:
    if column is not None and (not isinstance(column, str) or not column):
        raise bad("column", column, "the name of a column; for a plain sequence it is left out")


def _finite(name: str, value: object) -> Number:
    if isinstance(value, numbers.Integral) and not isinstance(value, bool) and abs(int(value)) < 2**1023:
        return int(value)
    if isinstance(value, Decimal) and value.is_finite():
        return value
    if isinstance(value, numbers.Real) and not isinstance(value, numbers.Integral) and math.isfinite(value):
        return float(value)
    raise bad(name, value, "a finite number")


def _limits(given: Limits, axis: Axis = "any") -> dict[str, Any]:
    """The options that all kinds share, and what their lengths are measured along."""
    known = ("min_count", "max_count", "min_duration", "max_duration")
    for name in given:
        if name not in known:
            raise ArgumentError(f"{name}={shown(given[name])}: no such option; there are {', '.join(known)}")  # type: ignore[literal-required]
    found: dict[str, Any] = {"min_count": whole("min_count", given.get("min_count", 0), least=0)}
    most = given.get("max_count")
    found["max_count"] = None if most is None else whole("max_count", most, least=1)
    for name in ("min_duration", "max_duration"):
        length = given.get(name)
        if length is None:
            continue
        mine, found[name] = measured(name, length, "order", or_zero=name == "min_duration")
        if axis not in ("any", mine):
            raise ArgumentError(f"{name}={shown(length)}: expected all lengths of a frame to be durations, or numbers")
        axis = mine
    return {**found, "axis": axis}
