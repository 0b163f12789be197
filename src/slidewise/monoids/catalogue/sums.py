"""Sums, products and the means made of them."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

from slidewise.monoids.aggregate import Aggregate, Family
from slidewise.monoids.catalogue.base import EXACT, NUMERIC, Kinds, add, bind, numeric
from slidewise.monoids.monoid import Monoid

LOW_BITS = 2**32 - 1


# ---- sum: exact for integers ----------------------------------------------------------------------------------------
# An int64 is split into its high and low 32 bits, which are added apart: exact for 2**31 values, no carries to mind,
# subtraction is exact too. 128 bits in all.
def _split(x: int) -> tuple[int, int]:
    return (x >> 32, x & LOW_BITS)


def _add_pairs(a: tuple[Any, Any], b: tuple[Any, Any]) -> tuple[Any, Any]:
    return (a[0] + b[0], a[1] + b[1])


def _subtract_pairs(whole: tuple[Any, Any], older: tuple[Any, Any]) -> tuple[Any, Any]:
    return (whole[0] - older[0], whole[1] - older[1])


def _join_int64(p: tuple[int, int]) -> int:
    high = p[0] + (p[1] >> 32)
    if high < -(2**31) or high >= 2**31:
        raise OverflowError("sum: a window's total does not fit in int64; cast the column to float or decimal first")
    return (high << 32) + (p[1] & LOW_BITS)


def _add_decimals(a: Decimal, b: Decimal) -> Decimal:
    return EXACT.add(a, b)


def _subtract_decimals(whole: Decimal, older: Decimal) -> Decimal:
    return EXACT.subtract(whole, older)


SUM_INT = Monoid(
    identity=(0, 0),
    lift=_split,
    combine=_add_pairs,
    lower=_join_int64,
    inverse=_subtract_pairs,
    commutative=True,
    name="sum",
    result="int64",
)
SUM_FLOAT = Monoid(identity=0.0, combine=add, commutative=True, name="sum", result="float64")
SUM_DECIMAL = Monoid(
    identity=Decimal(0),
    combine=_add_decimals,
    inverse=_subtract_decimals,
    commutative=True,
    name="sum",
    result="sum_of_decimals",
)


def _choose_sum(kinds: Kinds) -> Monoid | None:
    (kind,) = kinds
    if kind in ("int", "bool"):
        return SUM_INT
    return {"float": SUM_FLOAT, "decimal": SUM_DECIMAL}.get(kind)


SUM = Family("sum", NUMERIC, _choose_sum, parts=("sum",))


def sum(column: str | None = None) -> Aggregate:
    """The sum: exact int64 for integers (OverflowError if a result does not fit), exact for decimals, float64 for
    floats, without drift.

    >>> import slidewise as sw
    >>> sw.slide([1, 2, 3, 4], sw.sum(), sw.trailing(2))
    [1, 3, 5, 7]
    """
    return bind(SUM, column)


# ---- mean -----------------------------------------------------------------------------------------------------------
def _lift_mean_float(x: float) -> tuple[float, int]:
    return (x, 1)


def _lower_mean_float(p: tuple[float, int]) -> float | None:
    if p[1] == 0:
        return None
    return p[0] / p[1]


def _lift_mean_int(x: int) -> tuple[int, int, int]:
    return (x >> 32, x & LOW_BITS, 1)


def _add_triples(a: tuple[int, int, int], b: tuple[int, int, int]) -> tuple[int, int, int]:
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


def _subtract_triples(whole: tuple[int, int, int], older: tuple[int, int, int]) -> tuple[int, int, int]:
    return (whole[0] - older[0], whole[1] - older[1], whole[2] - older[2])


def _lower_mean_int(p: tuple[int, int, int]) -> float | None:
    if p[2] == 0:
        return None
    high = p[0] + (p[1] >> 32)  # carried first: the low halves alone may be beyond what a float holds exactly
    return (float(high) * 4294967296.0 + float(p[1] & LOW_BITS)) / p[2]


def _lift_mean_decimal(x: Decimal) -> tuple[Decimal, int]:
    return (x, 1)


def _add_mean_decimals(a: tuple[Decimal, int], b: tuple[Decimal, int]) -> tuple[Decimal, int]:
    return (EXACT.add(a[0], b[0]), a[1] + b[1])


def _lower_mean_decimal(p: tuple[Decimal, int]) -> Decimal | None:
    return EXACT.divide(p[0], Decimal(p[1])) if p[1] else None


MEAN_FLOAT = Monoid(
    identity=(0.0, 0),
    lift=_lift_mean_float,
    combine=_add_pairs,
    lower=_lower_mean_float,
    commutative=True,
    name="mean",
    result="float64",
)
MEAN_INT = Monoid(
    identity=(0, 0, 0),
    lift=_lift_mean_int,
    combine=_add_triples,
    lower=_lower_mean_int,
    inverse=_subtract_triples,
    commutative=True,
    name="mean",
    result="float64",
)
MEAN_DECIMAL = Monoid(
    identity=(Decimal(0), 0),
    lift=_lift_mean_decimal,
    combine=_add_mean_decimals,
    lower=_lower_mean_decimal,
    commutative=True,
    name="mean",
    result="mean_of_decimals",
)


def _choose_mean(kinds: Kinds) -> Monoid | None:
    (kind,) = kinds
    if kind in ("int", "bool"):
        return MEAN_INT
    return {"float": MEAN_FLOAT, "decimal": MEAN_DECIMAL}.get(kind)


MEAN = Family("mean", NUMERIC, _choose_mean, nature="algebraic", parts=("sum", "count"))


def mean(column: str | None = None) -> Aggregate:
    """The arithmetic mean, float64, or decimal for decimals; null without values.

    >>> import slidewise as sw
    >>> sw.slide([1, 2, 6], sw.mean(), sw.trailing(2))
    [1.0, 1.5, 4.0]
    """
    return bind(MEAN, column)


# ---- product, geometric mean ----------------------------------------------------------------------------------------
def _lift_float(x: float) -> float:
    return float(x)


def _multiply(a: float, b: float) -> float:
    return a * b


def _lift_log(x: float) -> tuple[float, int]:
    value = float(x)
    if value < 0.0:
        return (math.nan, 1)
    if value == 0.0:
        return (-math.inf, 1)
    return (math.log(value), 1)


def _lower_geomean(p: tuple[float, int]) -> float | None:
    if p[1] == 0:
        return None
    return math.exp(p[0] / p[1])


PRODUCT_MONOID = Monoid(
    identity=1.0, lift=_lift_float, combine=_multiply, commutative=True, name="product", result="float64"
)
GEOMEAN_MONOID = Monoid(
    identity=(0.0, 0),
    lift=_lift_log,
    combine=_add_pairs,
    lower=_lower_geomean,
    commutative=True,
    name="geomean",
    result="float64",
)
PRODUCT = Family("product", NUMERIC, numeric(PRODUCT_MONOID), parts=("product",))
GEOMEAN = Family("geomean", NUMERIC, numeric(GEOMEAN_MONOID), nature="algebraic", parts=("sum of logarithms", "count"))


def product(column: str | None = None) -> Aggregate:
    """The product, float64, as Spark's; null without values.

    >>> import slidewise as sw
    >>> sw.slide([2, 3, 4], sw.product(), sw.trailing(2))
    [2.0, 6.0, 12.0]
    """
    return bind(PRODUCT, column)


def geomean(column: str | None = None) -> Aggregate:
    """The geometric mean by logarithms, float64: 0 with a zero inside, NaN with a negative number; null without values.

    >>> import slidewise as sw
    >>> [round(x, 9) for x in sw.slide([1.0, 4.0, 16.0], sw.geomean(), sw.trailing(2))]
    [1.0, 2.0, 8.0]
    """
    return bind(GEOMEAN, column)
