"""The built-in aggregates: each a family of monoids, one per kind of column.

To add one: write its monoid, a `Family` that picks it by kind, a function with docstring and doctest, and register it
in `BUILTINS`. Tests enumerate `BUILTINS`, so its laws, containers and Spark are tested from then on.

Partials are flat tuples of numbers wherever possible, so that they compile. NaN is a value larger than any number, as
in Spark; null never reaches a monoid.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from slidewise.monoids.aggregate import Aggregate, Family
from slidewise.monoids.kinds import COMPILED, NUMBERS, Kind
from slidewise.monoids.monoid import Monoid

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1
LOW_BITS = 2**32 - 1


# ---- count: how many ------------------------------------------------------------------------------------------------


def _one_row() -> int:
    return 1


def _one_value(value: Any) -> int:
    return 1


def _add(a: Any, b: Any) -> Any:
    return a + b


def _subtract(whole: Any, older: Any) -> Any:
    return whole - older


def _count(lift: Callable[..., int]) -> Monoid:
    return Monoid(
        identity=0,
        lift=lift,
        combine=_add,
        inverse=_subtract,
        commutative=True,
        name="count",
        result="int64",
        answers_empty=True,
    )


COUNT_ROWS, COUNT_VALUES = _count(_one_row), _count(_one_value)


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
SUM_FLOAT = Monoid(identity=0.0, combine=_add, commutative=True, name="sum", result="float64")
SUM_DECIMAL = Monoid(
    identity=0, combine=_add, inverse=_subtract, commutative=True, name="sum", result="sum_of_decimals"
)


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
    return (float(p[0]) * 4294967296.0 + float(p[1])) / p[2]


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


# ---- var, stddev: (n, mean, sum of squared deviations), merged by Chan's formulas -----------------------------------
Moments = tuple[float, float, float]


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


def _moments(name: str, lower: Callable[[Moments], float | None]) -> Monoid:
    return Monoid(
        identity=(0.0, 0.0, 0.0),
        lift=_lift_moments,
        combine=_merge_moments,
        lower=lower,
        commutative=True,
        name=name,
        result="float64",
    )


VAR, STDDEV = _moments("var", _lower_var), _moments("stddev", _lower_stddev)


# ---- min, max: the older wins a tie; NaN is the largest number ------------------------------------------------------
def _max_int(a: int, b: int) -> int:
    return b if b > a else a


def _min_int(a: int, b: int) -> int:
    return b if b < a else a


def _max_float(a: float, b: float) -> float:
    return b if b > a or (b != b and a == a) else a


def _min_float(a: float, b: float) -> float:
    return b if b < a or (a != a and b == b) else a


def _max_object(a: Any, b: Any) -> Any:
    return b if a is None or (b is not None and b > a) else a


def _min_object(a: Any, b: Any) -> Any:
    return b if a is None or (b is not None and b < a) else a


def _selective(name: str, identity: Any, combine: Callable[[Any, Any], Any]) -> Monoid:
    return Monoid(identity=identity, combine=combine, commutative=True, selective=True, name=name, result="same")


MAX_INT, MIN_INT = _selective("max", INT64_MIN, _max_int), _selective("min", INT64_MAX, _min_int)
# -inf is below NaN, so it is max's identity; min's is NaN itself, since min(inf, NaN) is inf.
MAX_FLOAT, MIN_FLOAT = _selective("max", -math.inf, _max_float), _selective("min", math.nan, _min_float)
MAX_OBJECT, MIN_OBJECT = _selective("max", None, _max_object), _selective("min", None, _min_object)


# ---- the families ---------------------------------------------------------------------------------------------------
def _choose_sum(kind: Kind | None) -> Monoid | None:
    if kind in ("int", "bool"):
        return SUM_INT
    return {"float": SUM_FLOAT, "decimal": SUM_DECIMAL}.get(kind or "")


def _choose_mean(kind: Kind | None) -> Monoid | None:
    if kind in ("int", "bool"):
        return MEAN_INT
    return MEAN_FLOAT if kind == "float" else None


def _choose_ordered(ints: Monoid, floats: Monoid, objects: Monoid) -> Callable[[Kind | None], Monoid | None]:
    def choose(kind: Kind | None) -> Monoid | None:
        if kind is None or kind == "unordered":
            return None
        return floats if kind == "float" else ints if kind in COMPILED else objects

    return choose


def _choose_numbers(monoid: Monoid) -> Callable[[Kind | None], Monoid | None]:
    return lambda kind: monoid if kind in NUMBERS else None


NUMERIC = "numbers (integers, floats, booleans)"
ORDERED = "values with an order (numbers, decimals, times, strings, bytes)"
BUILTINS: dict[str, Family] = {
    "count": Family("count", "any column, or none", lambda k: COUNT_VALUES if k else COUNT_ROWS, columns=(0, 1)),
    "sum": Family("sum", NUMERIC + " or decimals", _choose_sum),
    "mean": Family("mean", NUMERIC, _choose_mean),
    "var": Family("var", NUMERIC, _choose_numbers(VAR)),
    "stddev": Family("stddev", NUMERIC, _choose_numbers(STDDEV)),
    "min": Family("min", ORDERED, _choose_ordered(MIN_INT, MIN_FLOAT, MIN_OBJECT)),
    "max": Family("max", ORDERED, _choose_ordered(MAX_INT, MAX_FLOAT, MAX_OBJECT)),
}
"""Name -> family, for everything that enumerates the built-ins."""


def _bound(name: str, column: str | None) -> Aggregate:
    return Aggregate(BUILTINS[name], () if column is None else (column,))


def count(column: str | None = None) -> Aggregate:
    """How many rows; with a column, how many non-null values. int64, 0 for an empty window.

    >>> import slidewise as sw
    >>> sw.slide([5, None, 7], sw.count(), sw.trailing(2))
    [1, 2, 2]
    """
    return _bound("count", column)


def sum(column: str | None = None) -> Aggregate:
    """The sum: exact int64 for integers (OverflowError if a result does not fit), float64 for floats, without drift.

    >>> import slidewise as sw
    >>> sw.slide([1, 2, 3, 4], sw.sum(), sw.trailing(2))
    [1, 3, 5, 7]
    """
    return _bound("sum", column)


def mean(column: str | None = None) -> Aggregate:
    """The arithmetic mean, float64; null without values.

    >>> import slidewise as sw
    >>> sw.slide([1, 2, 6], sw.mean(), sw.trailing(2))
    [1.0, 1.5, 4.0]
    """
    return _bound("mean", column)


def var(column: str | None = None) -> Aggregate:
    """The sample variance by Chan's formulas, float64; null below two values, NaN with an infinity among them.

    >>> import slidewise as sw
    >>> sw.slide([1.0, 3.0, 5.0], sw.var(), sw.trailing(2))
    [None, 2.0, 2.0]
    """
    return _bound("var", column)


def stddev(column: str | None = None) -> Aggregate:
    """The sample standard deviation, the square root of `var`; null below two values.

    >>> import slidewise as sw
    >>> sw.slide([1.0, 1.0, 1.0], sw.stddev(), sw.trailing(2))
    [None, 0.0, 0.0]
    """
    return _bound("stddev", column)


def min(column: str | None = None) -> Aggregate:
    """The smallest value, in the column's own type; NaN is larger than any number.

    >>> import slidewise as sw
    >>> sw.slide([3, 1, 2], sw.min(), sw.trailing(2))
    [3, 1, 1]
    """
    return _bound("min", column)


def max(column: str | None = None) -> Aggregate:
    """The largest value, in the column's own type; NaN is larger than any number.

    >>> import slidewise as sw
    >>> sw.slide(["b", "c", "a"], sw.max(), sw.trailing(2))
    ['b', 'c', 'c']
    """
    return _bound("max", column)
