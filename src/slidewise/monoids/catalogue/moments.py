"""Moments: variance, skewness, kurtosis, covariance, correlation.

Merged by Chan's and Pébay's formulas, never from sums of squares, so that a large mean does not eat the digits.

    partial   (n, mean, M2, M3, M4), Mk = Σ (x − mean)^k, as many of them as the aggregate needs
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from slidewise.errors import bad
from slidewise.monoids.aggregate import Aggregate, Family
from slidewise.monoids.catalogue.base import NUMERIC, Kinds, bind, numeric
from slidewise.monoids.monoid import Monoid

Moments = tuple[float, float, float]
Third = tuple[float, float, float, float]
Fourth = tuple[float, float, float, float, float]
Pair = tuple[float, float, float, float, float, float]


def _lift_moments(x: float) -> Moments:
    value = float(x)
    zero = value - value  # NaN for an infinity, which makes the variance NaN whatever is merged first
    return (1.0, value + zero, zero)


def _merge_moments(a: Moments, b: Moments) -> Moments:
    if a[0] == 0.0:
        return b
    if b[0] == 0.0:
        return a
    n = a[0] + b[0]
    delta = b[1] - a[1]
    share = b[0] / n
    return (n, a[1] + delta * share, a[2] + b[2] + delta * delta * a[0] * share)


def _lower_var(p: Moments) -> float | None:
    if p[0] < 2.0:
        return None
    return p[2] / (p[0] - 1.0)


def _lower_stddev(p: Moments) -> float | None:
    if p[0] < 2.0:
        return None
    return math.sqrt(p[2] / (p[0] - 1.0))


def _floats(name: str, identity: Any, lift: Any, combine: Any, lower: Any) -> Monoid:
    return Monoid(
        identity=identity, lift=lift, combine=combine, lower=lower, commutative=True, name=name, result="float64"
    )


VAR_MONOID = _floats("var", (0.0, 0.0, 0.0), _lift_moments, _merge_moments, _lower_var)
STDDEV_MONOID = _floats("stddev", (0.0, 0.0, 0.0), _lift_moments, _merge_moments, _lower_stddev)


# ---- skewness, kurtosis ---------------------------------------------------------------------------------------------
def _lift_third(x: float) -> Third:
    value = float(x)
    zero = value - value
    return (1.0, value + zero, zero, zero)


def _merge_third(a: Third, b: Third) -> Third:
    if a[0] == 0.0:
        return b
    if b[0] == 0.0:
        return a
    n = a[0] + b[0]
    delta = b[1] - a[1]
    part = delta / n
    term = delta * part * a[0] * b[0]
    return (
        n,
        a[1] + part * b[0],
        a[2] + b[2] + term,
        a[3] + b[3] + term * part * (a[0] - b[0]) + 3.0 * part * (a[0] * b[2] - b[0] * a[2]),
    )


def _lift_fourth(x: float) -> Fourth:
    value = float(x)
    zero = value - value
    return (1.0, value + zero, zero, zero, zero)


def _merge_fourth(a: Fourth, b: Fourth) -> Fourth:
    if a[0] == 0.0:
        return b
    if b[0] == 0.0:
        return a
    n = a[0] + b[0]
    delta = b[1] - a[1]
    part = delta / n
    term = delta * part * a[0] * b[0]
    return (
        n,
        a[1] + part * b[0],
        a[2] + b[2] + term,
        a[3] + b[3] + term * part * (a[0] - b[0]) + 3.0 * part * (a[0] * b[2] - b[0] * a[2]),
        a[4]
        + b[4]
        + term * part * part * (a[0] * a[0] - a[0] * b[0] + b[0] * b[0])
        + 6.0 * part * part * (a[0] * a[0] * b[2] + b[0] * b[0] * a[2])
        + 4.0 * part * (a[0] * b[3] - b[0] * a[3]),
    )


def _lower_skew(bias: bool) -> Callable[[Third], float | None]:
    least = 1.0 if bias else 3.0

    def lower(p: Third) -> float | None:
        n = p[0]
        if n < least or p[2] == 0.0:
            return None
        skew = math.sqrt(n) * p[3] / (p[2] * math.sqrt(p[2]))
        return skew if bias else skew * math.sqrt(n * (n - 1.0)) / (n - 2.0)

    return lower


def _lower_kurt(bias: bool) -> Callable[[Fourth], float | None]:
    least = 1.0 if bias else 4.0

    def lower(p: Fourth) -> float | None:
        n = p[0]
        if n < least or p[2] == 0.0:
            return None
        ratio = n * p[4] / (p[2] * p[2])
        return ratio - 3.0 if bias else (n - 1.0) / ((n - 2.0) * (n - 3.0)) * ((n + 1.0) * ratio - 3.0 * (n - 1.0))

    return lower


@functools.cache
def _skew(bias: bool) -> Monoid:
    return _floats("skew", (0.0,) * 4, _lift_third, _merge_third, _lower_skew(bias))


@functools.cache
def _kurt(bias: bool) -> Monoid:
    return _floats("kurt", (0.0,) * 5, _lift_fourth, _merge_fourth, _lower_kurt(bias))


# ---- two columns ----------------------------------------------------------------------------------------------------
def _lift_pair(x: float, y: float) -> Pair:
    first, second = float(x), float(y)
    zero = (first - first) + (second - second)
    return (1.0, first + zero, second + zero, zero, zero, zero)


def _merge_pairs(a: Pair, b: Pair) -> Pair:
    if a[0] == 0.0:
        return b
    if b[0] == 0.0:
        return a
    n = a[0] + b[0]
    dx, dy = b[1] - a[1], b[2] - a[2]
    share = b[0] / n
    weight = a[0] * share
    return (
        n,
        a[1] + dx * share,
        a[2] + dy * share,
        a[3] + b[3] + dx * dx * weight,
        a[4] + b[4] + dy * dy * weight,
        a[5] + b[5] + dx * dy * weight,
    )


def _lower_covariance(p: Pair) -> float | None:
    if p[0] < 2.0:
        return None
    return p[5] / (p[0] - 1.0)


def _lower_correlation(p: Pair) -> float | None:
    if p[0] < 2.0 or p[3] == 0.0 or p[4] == 0.0:
        return None
    spread = p[3] * p[4]
    scale = math.sqrt(spread) if 1e-290 < spread < 1e290 else math.sqrt(p[3]) * math.sqrt(p[4])
    r = p[5] / scale
    return 1.0 if r > 1.0 else -1.0 if r < -1.0 else r


COVARIANCE_MONOID = _floats("covariance", (0.0,) * 6, _lift_pair, _merge_pairs, _lower_covariance)
CORRELATION_MONOID = _floats("correlation", (0.0,) * 6, _lift_pair, _merge_pairs, _lower_correlation)


# ---- the families ---------------------------------------------------------------------------------------------------
def _choose_skew(kinds: Kinds, bias: bool = False) -> Monoid | None:
    return numeric(_skew(bias))(kinds)


def _choose_kurt(kinds: Kinds, bias: bool = False) -> Monoid | None:
    return numeric(_kurt(bias))(kinds)


SECOND = ("count", "mean", "M2")
PAIR = ("count", "means", "M2 of both", "co-moment")
VAR = Family("var", NUMERIC, numeric(VAR_MONOID), nature="algebraic", parts=SECOND)
STDDEV = Family("stddev", NUMERIC, numeric(STDDEV_MONOID), nature="algebraic", parts=SECOND)
SKEW = Family("skew", NUMERIC, _choose_skew, nature="algebraic", parts=(*SECOND, "M3"))
KURT = Family("kurt", NUMERIC, _choose_kurt, nature="algebraic", parts=(*SECOND, "M3", "M4"))
COVARIANCE = Family(
    "covariance", f"two columns of {NUMERIC}", numeric(COVARIANCE_MONOID), nature="algebraic", parts=PAIR, columns=(2,)
)
CORRELATION = Family(
    "correlation",
    f"two columns of {NUMERIC}",
    numeric(CORRELATION_MONOID),
    nature="algebraic",
    parts=PAIR,
    columns=(2,),
)


def var(column: str | None = None) -> Aggregate:
    """The sample variance by Chan's formulas, float64; null below two values, NaN with an infinity among them.

    >>> import slidewise as sw
    >>> sw.slide([1.0, 3.0, 5.0], sw.var(), sw.trailing(2))
    [None, 2.0, 2.0]
    """
    return bind(VAR, column)


def stddev(column: str | None = None) -> Aggregate:
    """The sample standard deviation, the square root of `var`; null below two values.

    >>> import slidewise as sw
    >>> sw.slide([1.0, 1.0, 1.0], sw.stddev(), sw.trailing(2))
    [None, 0.0, 0.0]
    """
    return bind(STDDEV, column)


def skew(column: str | None = None, *, bias: bool = False) -> Aggregate:
    """The skewness, float64: of a sample as in pandas and DuckDB, or with ``bias=True`` of a population, as in Spark.

    Null below three values (one, with bias) and where all values are equal.

    >>> import slidewise as sw
    >>> sw.slide([1.0, 2.0, 6.0], sw.skew(), sw.trailing(3))[-1]
    1.457862967...
    """
    return bind(SKEW, column, bias=_flag(bias))


def kurt(column: str | None = None, *, bias: bool = False) -> Aggregate:
    """The excess kurtosis, float64: of a sample as in pandas and DuckDB, or with ``bias=True`` of a population, as in
    Spark. Null below four values (one, with bias) and where all values are equal.

    >>> import slidewise as sw
    >>> sw.slide([1.0, 2.0, 3.0, 4.0], sw.kurt(), sw.trailing(4))[-1]
    -1.2...
    """
    return bind(KURT, column, bias=_flag(bias))


def covariance(x: str | None = None, y: str | None = None) -> Aggregate:
    """The sample covariance of two columns, float64; a row counts if both have a value; null below two such rows.

    >>> import slidewise as sw, pyarrow as pa
    >>> table = pa.table({"x": [1.0, 2.0, 3.0], "y": [2.0, 4.0, 7.0]})
    >>> sw.slide(table, sw.covariance("x", "y"), sw.trailing(2))["covariance_x_y"].to_pylist()
    [None, 1.0, 1.5]
    """
    return bind(COVARIANCE, x, y)


def correlation(x: str | None = None, y: str | None = None) -> Aggregate:
    """Pearson's correlation of two columns, float64; null below two rows with both values, or if one does not vary.

    >>> import slidewise as sw, pyarrow as pa
    >>> table = pa.table({"x": [1.0, 2.0, 3.0], "y": [2.0, 4.0, 1.0]})
    >>> sw.slide(table, sw.correlation("x", "y"), sw.trailing(2))["correlation_x_y"].to_pylist()
    [None, 1.0, -1.0]
    """
    return bind(CORRELATION, x, y)


def _flag(bias: bool) -> bool | None:
    if not isinstance(bias, bool):
        raise bad("bias", bias, "True or False")
    return bias or None
