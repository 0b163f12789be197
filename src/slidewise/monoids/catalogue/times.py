"""Aggregates that look at the clock: means weighted by time, and the longest run of rising values."""

from __future__ import annotations

import functools
import math
from datetime import timedelta
from typing import Any

from slidewise.errors import ArgumentError, bad
from slidewise.monoids.aggregate import ORDER, Aggregate, Family
from slidewise.monoids.catalogue.base import NUMERIC, Kinds, bind, later
from slidewise.monoids.kinds import COMPILED, NUMBERS
from slidewise.monoids.monoid import Monoid

TIMED = f"{NUMERIC} and a column of times or numbers"


def _numbers_in_time(kinds: Kinds) -> bool:
    return len(kinds) == 2 and (kinds[0] in NUMBERS or kinds[0] == "decimal") and kinds[1] in COMPILED


# ---- time_weighted_mean: (some, area so far, first time, last time, last value) -------------------------------------
Held = tuple[bool, float, Any, Any, float]


def _lift_held(x: float, time: Any) -> Held:
    return (True, 0.0, time, time, float(x))


def _join_held(a: Held, b: Held) -> Held:
    if not a[0]:
        return b
    if not b[0]:
        return a
    held = float(b[2] - a[3])
    area = a[4] * held if held != 0.0 else 0.0  # for no time at all, not even an infinity counts
    return (True, a[1] + area + b[1], a[2], b[3], b[4])


def _lower_held(p: Held) -> float:
    if p[3] == p[2]:
        return p[4]
    return p[1] / float(p[3] - p[2])


TIME_WEIGHTED_MEAN_MONOID = Monoid(
    identity=(False, 0.0, 0, 0, 0.0),
    lift=_lift_held,
    combine=_join_held,
    lower=_lower_held,
    name="time_weighted_mean",
    result="float64",
)


def _choose_time_weighted_mean(kinds: Kinds) -> Monoid | None:
    return TIME_WEIGHTED_MEAN_MONOID if _numbers_in_time(kinds) else None


TIME_WEIGHTED_MEAN = Family(
    "time_weighted_mean",
    TIMED,
    _choose_time_weighted_mean,
    nature="algebraic",
    parts=("area", "first", "last"),
    columns=(1, 2),
    implied=lambda options: (1, ORDER),
)


def time_weighted_mean(column: str | None = None, time: str | None = None) -> Aggregate:
    """The mean of a value that holds until the next one comes, from the window's first event to its last; float64.

    `time` is the column of `order` unless given. Of events at one time only, it is the newest value.

    >>> import slidewise as sw, pyarrow as pa
    >>> table = pa.table({"t": [0, 9, 10], "x": [1.0, 11.0, 5.0]})
    >>> sw.slide(table, sw.time_weighted_mean("x"), sw.trailing(3), order="t")["time_weighted_mean_x"].to_pylist()
    [1.0, 1.0, 2.0]
    """
    return bind(TIME_WEIGHTED_MEAN, column, time)


# ---- ewm by rows: (weighted sum, weight, decay of what is older); by time: (weighted sum, weight, last time) --------
Faded = tuple[float, float, float]


def _join_faded(a: Faded, b: Faded) -> Faded:
    return (a[0] * b[2] + b[0], a[1] * b[2] + b[1], a[2] * b[2])


def _lower_faded(p: Any) -> Any:
    if p[1] == 0.0:
        return None
    return p[0] / p[1]


@functools.cache
def _ewm_rows(alpha: float) -> Monoid:
    decay = 1.0 - alpha

    def lift(x: float) -> Faded:
        return (float(x), 1.0, decay)

    return Monoid(
        identity=(0.0, 0.0, 1.0), lift=lift, combine=_join_faded, lower=_lower_faded, name="ewm", result="float64"
    )


@functools.cache
def _ewm_time(half_life: float) -> Monoid:
    """`half_life` in units of the column of times."""
    rate = math.log(2.0) / half_life

    def lift(x: float, time: Any) -> tuple[float, float, Any]:
        return (float(x), 1.0, time)

    def combine(a: tuple[float, float, Any], b: tuple[float, float, Any]) -> tuple[float, float, Any]:
        if a[1] == 0.0:
            return b
        if b[1] == 0.0:
            return a
        gone = float(b[2] - a[2])  # never below 0 in an answer; a tree over a ring also joins its end to its beginning
        fade = math.exp(-rate * gone) if gone > 0.0 else 1.0
        return (a[0] * fade + b[0], a[1] * fade + b[1], b[2])

    return Monoid(identity=(0.0, 0.0, 0), lift=lift, combine=combine, lower=_lower_faded, name="ewm", result="float64")


def _choose_ewm(
    kinds: Kinds, alpha: float | None = None, half_life_nanos: int | None = None, tick: int = 1
) -> Monoid | None:
    if half_life_nanos is not None:
        return _ewm_time(half_life_nanos / tick) if _numbers_in_time(kinds) else None
    numeric = len(kinds) == 1 and (kinds[0] in NUMBERS or kinds[0] == "decimal")
    return _ewm_rows(alpha if alpha is not None else 0.5) if numeric else None


EWM = Family(
    "ewm",
    f"{NUMERIC}; with a half-life in time also a column of times",
    _choose_ewm,
    nature="algebraic",
    parts=("weighted sum", "weight", "decay"),
    columns=(1, 2),
    implied=lambda options: (1, ORDER) if "half_life_nanos" in options else None,
    timed=True,
)


def ewm(
    column: str | None = None,
    time: str | None = None,
    *,
    alpha: float | None = None,
    span: float | None = None,
    half_life: float | str | timedelta | None = None,
) -> Aggregate:
    """The exponentially weighted mean of the window, float64: each value weighs less than the one after it.

    Parameters
    ----------
    alpha
        A row weighs 1 − alpha times the next; 0 < alpha ≤ 1.
    span
        The same as ``alpha = 2 / (span + 1)``.
    half_life
        A number of rows after which a weight has halved; or a duration such as ``"10 s"``: then weights fade with
        time, by the column `time`, which is that of `order` unless given.

    Exactly one of the three. Over `expanding()` it is what pandas calls ``ewm(adjust=True, ignore_na=True)``.

    >>> import slidewise as sw
    >>> sw.slide([1.0, 4.0], sw.ewm(alpha=0.5), sw.trailing(2))
    [1.0, 3.0]
    """
    given = {"alpha": alpha, "span": span, "half_life": half_life}
    named = [name for name, value in given.items() if value is not None]
    if len(named) != 1:
        raise ArgumentError(f"ewm: got {' and '.join(named) or 'none'}; expected one of alpha, span and half_life")
    if isinstance(half_life, (str, timedelta)):
        return bind(EWM, column, time, half_life_nanos=_nanos(half_life))
    if time is not None:
        raise bad("time", time, "no column of times: it goes with a half_life in time, e.g. half_life='10 s'")
    value = given[named[0]]
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < math.inf:
        raise bad(named[0], value, "a number above 0" + (", or a duration" if half_life is not None else ""))
    if alpha is not None and alpha > 1:
        raise bad("alpha", alpha, "a number above 0 and at most 1")
    if span is not None:
        if span < 1:
            raise bad("span", span, "a number of at least 1")
        alpha = 2.0 / (span + 1.0)
    elif isinstance(half_life, (int, float)):
        alpha = -math.expm1(-math.log(2.0) / half_life)
    return bind(EWM, column, alpha=float(alpha) if alpha is not None else None)


def _nanos(duration: str | timedelta) -> int:
    from slidewise.duration import nanoseconds

    return nanoseconds(duration, "half_life")


# ---- longest_increasing_run -----------------------------------------------------------------------------------------
# n, first and last value, first and last time; the end and length of the run at the front, the start and length of the
# run at the back, and the start, end and length of the longest one.
Run = tuple[int, Any, Any, Any, Any, Any, int, Any, int, Any, Any, int]


def _lift_run(x: Any, time: Any) -> Run:
    return (1, x, x, time, time, time, 1, time, 1, time, time, 1)


def _join_runs(a: Run, b: Run) -> Run:
    if a[0] == 0:
        return b
    if b[0] == 0:
        return a
    joins = later(a[2], b[1])
    front_end, front = a[5], a[6]
    if joins and front == a[0]:
        front_end, front = b[5], front + b[6]
    back_start, back = b[7], b[8]
    if joins and back == b[0]:
        back_start, back = a[7], back + a[8]
    start, end, best = a[9], a[10], a[11]
    if joins and a[8] + b[6] > best:
        start, end, best = a[7], b[5], a[8] + b[6]
    if b[11] > best:
        start, end, best = b[9], b[10], b[11]
    return (a[0] + b[0], a[1], b[2], a[3], b[4], front_end, front, back_start, back, start, end, best)


def _lower_run(p: Run) -> tuple[Any, Any, Any, int]:
    return (p[9], p[10], p[10] - p[9], p[11])


LONGEST_INCREASING_RUN_MONOID = Monoid(
    identity=(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
    lift=_lift_run,
    combine=_join_runs,
    lower=_lower_run,
    name="longest_increasing_run",
    result="run",
)


def _choose_run(kinds: Kinds) -> Monoid | None:
    fits = len(kinds) == 2 and kinds[0] in COMPILED and kinds[1] in COMPILED
    return LONGEST_INCREASING_RUN_MONOID if fits else None


LONGEST_INCREASING_RUN = Family(
    "longest_increasing_run",
    "numbers or times, and a column of times or numbers",
    _choose_run,
    nature="algebraic",
    parts=("run at the front", "run at the back", "longest run"),
    columns=(1, 2),
    implied=lambda options: (1, ORDER),
)


def longest_increasing_run(column: str | None = None, time: str | None = None) -> Aggregate:
    """The longest run of strictly rising values in a row: its start, end, interval and count; the oldest of equals.

    `time` is the column of `order` unless given, or the row's number where there is no order. The longest increasing
    *subsequence* has no bounded partial; a run has.

    >>> import slidewise as sw
    >>> sw.slide([5, 1, 2, 3, 0], sw.longest_increasing_run(), sw.trailing(5))[-1]
    (1, 3, 2, 3)
    """
    return bind(LONGEST_INCREASING_RUN, column, time)
