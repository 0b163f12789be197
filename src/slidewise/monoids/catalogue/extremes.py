"""The smallest and the largest: the value, how often, where, and how far apart. NaN is larger than any number."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from slidewise.monoids.aggregate import POSITION, Aggregate, Family
from slidewise.monoids.catalogue.base import EXACT, ORDERED, Kinds, bind, earlier, later
from slidewise.monoids.kinds import COMPILED, Kind
from slidewise.monoids.monoid import Monoid

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1


# ---- min, max: the older wins a tie ---------------------------------------------------------------------------------
def _max_int(a: int, b: int) -> int:
    return b if b > a else a


def _min_int(a: int, b: int) -> int:
    return b if b < a else a


def _max_float(a: float, b: float) -> float:
    return a if b <= a or a != a else b  # so written it has no branch: a fifth faster than asking for b > a


def _min_float(a: float, b: float) -> float:
    return a if a <= b or b != b else b


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


def _by_kind(ints: Monoid, floats: Monoid, objects: Monoid | None) -> Callable[[Kinds], Monoid | None]:
    def choose(kinds: Kinds) -> Monoid | None:
        kind: Kind = kinds[0]
        if kind == "unordered":
            return None
        return floats if kind == "float" else ints if kind in COMPILED else objects

    return choose


MIN = Family("min", ORDERED, _by_kind(MIN_INT, MIN_FLOAT, MIN_OBJECT), parts=("min",))
MAX = Family("max", ORDERED, _by_kind(MAX_INT, MAX_FLOAT, MAX_OBJECT), parts=("max",))


def min(column: str | None = None) -> Aggregate:
    """The smallest value, in the column's own type; NaN is larger than any number.

    >>> import slidewise as sw
    >>> sw.slide([3, 1, 2], sw.min(), sw.trailing(2))
    [3, 1, 1]
    """
    return bind(MIN, column)


def max(column: str | None = None) -> Aggregate:
    """The largest value, in the column's own type; NaN is larger than any number.

    >>> import slidewise as sw
    >>> sw.slide(["b", "c", "a"], sw.max(), sw.trailing(2))
    ['b', 'c', 'c']
    """
    return bind(MAX, column)


# ---- how often: (value, count) --------------------------------------------------------------------------------------
def _once(x: Any) -> tuple[Any, int]:
    return (x, 1)


def _more(a: tuple[Any, int], b: tuple[Any, int]) -> tuple[Any, int]:
    if a[1] == 0 or (b[1] > 0 and later(a[0], b[0])):
        return b
    if b[1] == 0 or later(b[0], a[0]):
        return a
    return (a[0], a[1] + b[1])


def _less(a: tuple[Any, int], b: tuple[Any, int]) -> tuple[Any, int]:
    if a[1] == 0 or (b[1] > 0 and earlier(a[0], b[0])):
        return b
    if b[1] == 0 or earlier(b[0], a[0]):
        return a
    return (a[0], a[1] + b[1])


def _second(p: tuple[Any, int]) -> int:
    return p[1]


def _counting(name: str, zero: Any, combine: Callable[[Any, Any], Any]) -> Monoid:
    return Monoid(
        identity=(zero, 0), lift=_once, combine=combine, lower=_second, commutative=True, name=name, result="int64"
    )


def _counting_family(name: str, combine: Callable[[Any, Any], Any], part: str) -> Family:
    ints, floats, objects = (_counting(name, zero, combine) for zero in (0, 0.0, None))
    return Family(name, ORDERED, _by_kind(ints, floats, objects), nature="algebraic", parts=(part, "count"))


COUNT_OF_MIN = _counting_family("count_of_min", _less, "min")
COUNT_OF_MAX = _counting_family("count_of_max", _more, "max")


def count_of_min(column: str | None = None) -> Aggregate:
    """How many values are equal to the smallest, int64; null without values.

    >>> import slidewise as sw
    >>> sw.slide([2, 1, 1, 3], sw.count_of_min(), sw.trailing(3))
    [1, 1, 2, 2]
    """
    return bind(COUNT_OF_MIN, column)


def count_of_max(column: str | None = None) -> Aggregate:
    """How many values are equal to the largest, int64; null without values.

    >>> import slidewise as sw
    >>> sw.slide([2, 2, 1, 2], sw.count_of_max(), sw.trailing(3))
    [1, 2, 2, 2]
    """
    return bind(COUNT_OF_MAX, column)


# ---- the distance between: (min, max) -------------------------------------------------------------------------------
def _both(x: Any) -> tuple[Any, Any]:
    return (x, x)


def _span_int(a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
    return (_min_int(a[0], b[0]), _max_int(a[1], b[1]))


def _span_float(a: tuple[float, float], b: tuple[float, float]) -> tuple[float, float]:
    return (_min_float(a[0], b[0]), _max_float(a[1], b[1]))


def _span_object(a: tuple[Any, Any], b: tuple[Any, Any]) -> tuple[Any, Any]:
    return (_min_object(a[0], b[0]), _max_object(a[1], b[1]))


def _apart(p: tuple[Any, Any]) -> Any:
    return p[1] - p[0]


def _apart_int(p: tuple[int, int]) -> int:
    if p[0] < 0 and p[1] > INT64_MAX + p[0]:
        raise OverflowError("spread: a window's spread does not fit in int64; cast the column to float first")
    return p[1] - p[0]


def _apart_decimal(p: tuple[Decimal, Decimal]) -> Decimal:
    return EXACT.subtract(p[1], p[0])


def _span(identity: Any, combine: Callable[[Any, Any], Any], lower: Callable[[Any], Any]) -> Monoid:
    return Monoid(
        identity=identity,
        lift=_both,
        combine=combine,
        lower=lower,
        commutative=True,
        name="spread",
        result="difference",
    )


SPREAD_INT = _span((INT64_MAX, INT64_MIN), _span_int, _apart_int)
SPREAD_FLOAT = _span((math.nan, -math.inf), _span_float, _apart)
SPREAD_DECIMAL = _span((None, None), _span_object, _apart_decimal)


def _choose_spread(kinds: Kinds) -> Monoid | None:
    if kinds[0] == "decimal":
        return SPREAD_DECIMAL
    return _by_kind(SPREAD_INT, SPREAD_FLOAT, None)(kinds)


SPREAD = Family("spread", "numbers, decimals or times", _choose_spread, nature="algebraic", parts=("min", "max"))


def spread(column: str | None = None) -> Aggregate:
    """The largest value minus the smallest: a number of the column's own kind, a duration for times, days for dates.

    >>> import slidewise as sw
    >>> sw.slide([3, 1, 4], sw.spread(), sw.trailing(2))
    [0, 2, 3]
    """
    return bind(SPREAD, column)


# ---- where: (by, value, value is there, some row) -------------------------------------------------------------------
Where = tuple[Any, Any, bool, bool]


def _lift_where(value: Any, present: bool, by: Any) -> Where:
    return (by, value, present, True)


def _later_where(a: Where, b: Where) -> Where:
    return b if b[3] and (not a[3] or later(a[0], b[0])) else a


def _earlier_where(a: Where, b: Where) -> Where:
    return b if b[3] and (not a[3] or earlier(a[0], b[0])) else a


def _value(p: Where) -> Any:
    return p[1] if p[2] else None


def _where(name: str, combine: Callable[[Where, Where], Where], zeros: tuple[Any, Any]) -> Monoid:
    return Monoid(
        identity=(*zeros, False, False),
        lift=_lift_where,
        combine=combine,
        lower=_value,
        selective=True,
        name=name,
        result="same",
    )


def _where_family(name: str, combine: Callable[[Where, Where], Where]) -> Family:
    machine, objects = _where(name, combine, (0, 0)), _where(name, combine, (None, None))

    def choose(kinds: Kinds) -> Monoid | None:
        if len(kinds) != 2 or kinds[1] == "unordered":
            return None
        return machine if all(kind in COMPILED for kind in kinds) else objects

    return Family(
        name,
        f"a value and a column to go by, of {ORDERED}",
        choose,
        nature="algebraic",
        parts=(name.removeprefix("arg"), "value"),
        columns=(1, 2),
        implied=lambda options: (0, POSITION),
        nullable=(0,),
    )


ARGMIN, ARGMAX = _where_family("argmin", _earlier_where), _where_family("argmax", _later_where)


def argmin(value: str | None = None, by: str | None = None) -> Aggregate:
    """`value` in the row where `by` is smallest, ties to the oldest, as Spark's `min_by`; the value may be null.

    With one column, or none, the position of the smallest: the row's number in the data, from 0.

    >>> import slidewise as sw
    >>> sw.slide([3.0, 1.0, 2.0, 1.0], sw.argmin(), sw.trailing(3))
    [0, 1, 1, 1]
    """
    return bind(ARGMIN, value, by)


def argmax(value: str | None = None, by: str | None = None) -> Aggregate:
    """`value` in the row where `by` is largest, ties to the oldest, as Spark's `max_by`; the value may be null.

    With one column, or none, the position of the largest: the row's number in the data, from 0.

    >>> import slidewise as sw, pyarrow as pa
    >>> table = pa.table({"city": ["Rom", "Ulm", "Bad"], "heat": [31, 35, 33]})
    >>> sw.slide(table, sw.argmax("city", "heat"), sw.trailing(2))["argmax_city_heat"].to_pylist()
    ['Rom', 'Ulm', 'Ulm']
    """
    return bind(ARGMAX, value, by)
