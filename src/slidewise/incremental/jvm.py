"""Built-in aggregates as JVM expressions: gathered from rows by Spark's own aggregation, merged and lowered by columns.

    rows of a split ──gather──► fields          sum(x >> 32), sum(x & (2^32 - 1)), count(x)
    fields, fields  ──merge───► fields          hi + hi', lo + lo', n + n'
    fields          ──lower───► answer          null where n = 0

The fields are those of the monoid's own partial, with a count of values where null must be told from nothing, so that
a field has a neutral value and `merge` reads each of its arguments once. What is not exactly ours in Spark stays in
Arrow: `why_not` says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_type

from slidewise.engine.columns import kind_of
from slidewise.engine.output import Output
from slidewise.monoids.aggregate import Aggregate, Family
from slidewise.monoids.condition import Condition

Columns = list[Any]
LOW_BITS = 2**32 - 1
OVERFLOW = "sum: a group's total does not fit in int64; cast the column to float or decimal first"


@dataclass(frozen=True)
class Expressions:
    """One aggregate in the JVM: its fields' types and neutral values, and the three steps."""

    types: tuple[str, ...]
    neutral: tuple[Any, ...]
    gather: Callable[[Columns], Columns]
    merge: Callable[[Columns, Columns], Columns]
    lower: Callable[[Columns], Any]


def why_not(output: Output, aggregate: Aggregate) -> str:
    """Why an aggregate goes through Arrow; empty if it does not."""
    if not isinstance(aggregate.source, Family):
        return "a monoid of your own goes through Arrow"
    if aggregate.source.name not in MAKERS:
        return f"{aggregate.source.name} has no exact counterpart in the JVM, so it goes through Arrow"
    kinds = [kind_of(arrow) for arrow in output.types if arrow is not None]
    if aggregate.source.name != "count" and any(kind not in ("int", "float", "bool") for kind in kinds):
        return f"{aggregate.source.name} of {output.types[0]} goes through Arrow"
    if any(not _plain_test(one) for one in output.filtered):
        return "its where() is tested in Arrow"
    return ""


def expressions_of(output: Output, aggregate: Aggregate) -> Expressions:
    """The expressions of an aggregate that `why_not` has nothing against."""
    assert isinstance(aggregate.source, Family)
    kind = kind_of(output.types[0]) if output.types else "int"
    made = MAKERS[aggregate.source.name]("float" if kind == "float" else "int")
    if output.arrow is None:  # pragma: no cover - a bound query has types
        raise TypeError(output.name)
    spark_type = from_arrow_type(output.arrow)
    return Expressions(
        made.types, made.neutral, made.gather, made.merge, lambda fields: made.lower(fields).cast(spark_type)
    )


def value_of(output: Output) -> Any:
    """The value of a row that an aggregate counts, null if it does not; a count of rows counts ones."""
    if not output.inputs:
        value: Any = F.lit(1)
    else:
        value = F.col(quoted(output.columns[0]))
        value = value.cast("double") if kind_of(output.types[0]) == "float" else value.cast("long")
    if output.columns and kind_of(output.types[0]) not in ("int", "float", "bool"):  # only counted
        value = F.when(F.col(quoted(output.columns[0])).isNotNull(), F.lit(1).cast("long"))
    for one in output.filtered:
        value = F.when(_tested(one), value)
    return value


def quoted(name: str) -> str:
    """A column's name as Spark takes any."""
    return "`" + name.replace("`", "``") + "`"


# ---- where ----------------------------------------------------------------------------------------------------------
def _plain_test(one: Condition) -> bool:
    """Tests that are the same in Spark: whole numbers, strings, booleans, and nulls."""
    values = one.value if one.test in ("in", "not in") else (one.value,)
    if one.test in ("is null", "is not null"):
        return True
    return bool(values) and all(isinstance(value, (bool, int, str)) and _small(value) for value in values)


def _small(value: Any) -> bool:
    return not isinstance(value, int) or abs(value) < 2**53


def _tested(one: Condition) -> Any:
    assert one.column is not None
    column = F.col(quoted(one.column))
    tests: dict[str, Callable[[], Any]] = {
        "==": lambda: column == one.value,
        "!=": lambda: column != one.value,
        "<": lambda: column < one.value,
        "<=": lambda: column <= one.value,
        ">": lambda: column > one.value,
        ">=": lambda: column >= one.value,
        "in": lambda: column.isin(list(one.value)),
        "not in": lambda: ~column.isin(list(one.value)),
        "is null": column.isNull,
        "is not null": column.isNotNull,
    }
    return tests[one.test]()


# ---- the aggregates -------------------------------------------------------------------------------------------------
def _added(a: Columns, b: Columns) -> Columns:
    return [x + y for x, y in zip(a, b, strict=True)]


def _null_unless(n: Any, value: Any) -> Any:
    return F.when(n > 0, value)


def _joined(hi: Any, lo: Any) -> Any:
    high = hi + F.shiftright(lo, 32)
    fits = (high >= -(2**31)) & (high < 2**31)
    low = lo.bitwiseAND(F.lit(LOW_BITS))
    return F.when(fits, F.shiftleft(high, 32) + low).otherwise(F.raise_error(F.lit(OVERFLOW)).cast("long"))


def _halves(x: Columns) -> Columns:
    value = x[0]
    return [F.sum(F.shiftright(value, 32)), F.sum(value.bitwiseAND(F.lit(LOW_BITS))), F.count(value)]


def _sum(kind: str) -> Expressions:
    if kind == "float":
        return Expressions(
            ("double", "long"),
            (0.0, 0),
            lambda x: [F.sum(x[0]), F.count(x[0])],
            _added,
            lambda p: _null_unless(p[1], p[0]),
        )
    return Expressions(
        ("long", "long", "long"), (0, 0, 0), _halves, _added, lambda p: _null_unless(p[2], _joined(p[0], p[1]))
    )


def _mean(kind: str) -> Expressions:
    if kind == "float":
        of_float = _sum("float")
        return Expressions(
            of_float.types, of_float.neutral, of_float.gather, _added, lambda p: _null_unless(p[1], p[0] / p[1])
        )

    def lower(p: Columns) -> Any:
        high = (p[0] + F.shiftright(p[1], 32)).cast("double")
        low = p[1].bitwiseAND(F.lit(LOW_BITS)).cast("double")
        return _null_unless(p[2], (high * F.lit(4294967296.0) + low) / p[2])

    return Expressions(("long", "long", "long"), (0, 0, 0), _halves, _added, lower)


def _count(kind: str) -> Expressions:
    return Expressions(("long",), (0,), lambda x: [F.count(x[0])], _added, lambda p: p[0])


def _extreme(gather: Callable[[Any], Any], merge: Callable[..., Any]) -> Callable[[str], Expressions]:
    def made(kind: str) -> Expressions:
        held = "double" if kind == "float" else "long"
        return Expressions((held,), (None,), lambda x: [gather(x[0])], lambda a, b: [merge(a[0], b[0])], lambda p: p[0])

    return made


def _spread(kind: str) -> Expressions:
    held = "double" if kind == "float" else "long"
    return Expressions(
        (held, held),
        (None, None),
        lambda x: [F.min(x[0]), F.max(x[0])],
        lambda a, b: [F.least(a[0], b[0]), F.greatest(a[1], b[1])],
        lambda p: p[1] - p[0],
    )


def _product(kind: str) -> Expressions:
    return Expressions(
        ("double", "long"),
        (1.0, 0),
        lambda x: [F.product(x[0].cast("double")), F.count(x[0])],
        lambda a, b: [a[0] * b[0], a[1] + b[1]],
        lambda p: _null_unless(p[1], p[0]),
    )


def _moments(lower: Callable[[Any], Any]) -> Callable[[str], Expressions]:
    """(n, mean, M2) by Spark's own one-pass aggregation, which is Chan's too, and merged by Chan's formula."""

    def gather(x: Columns) -> Columns:
        value = x[0].cast("double")
        n = F.count(value)
        return [n.cast("double"), F.avg(value), F.var_pop(value) * n]

    def merge(a: Columns, b: Columns) -> Columns:
        n = a[0] + b[0]
        share = F.when(n > 0, b[0] / F.greatest(n, F.lit(1.0))).otherwise(F.lit(0.0))
        delta = b[1] - a[1]
        mean = F.when(a[0] == 0, b[1]).when(b[0] == 0, a[1]).otherwise(a[1] + delta * share)
        both = (a[0] > 0) & (b[0] > 0)
        return [n, mean, a[2] + b[2] + F.when(both, delta * delta * a[0] * share).otherwise(F.lit(0.0))]

    def lowered(p: Columns) -> Any:
        return F.when(p[0] >= 2, lower(p[2] / F.greatest(p[0] - 1, F.lit(1.0))))

    return lambda kind: Expressions(("double",) * 3, (0.0, 0.0, 0.0), gather, merge, lowered)


MAKERS: dict[str, Callable[[str], Expressions]] = {
    "count": _count,
    "sum": _sum,
    "mean": _mean,
    "product": _product,
    "min": _extreme(F.min, F.least),
    "max": _extreme(F.max, F.greatest),
    "spread": _spread,
    "var": _moments(lambda v: v),
    "stddev": _moments(F.sqrt),
}
"""The built-ins that have the same answers in the JVM, for columns of integers, floats and booleans."""


def filled(expressions: Expressions, fields: Sequence[Any]) -> Columns:
    """Fields with the neutral value where there is none."""
    pairs = zip(fields, expressions.neutral, expressions.types, strict=True)
    return [one if neutral is None else F.coalesce(one, F.lit(neutral).cast(kind)) for one, neutral, kind in pairs]


def arrow_types(expressions: Expressions) -> list[pa.DataType]:
    """As the fields are stored."""
    return [pa.float64() if kind == "double" else pa.int64() for kind in expressions.types]
