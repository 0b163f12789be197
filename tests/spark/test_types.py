"""Columns of every Spark SQL type: answers and their types are those of Spark's own windows, others pass untouched."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

import slidewise as sw
from slidewise.errors import ArgumentError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

UTC = dt.UTC
NUMBERS = {
    "tinyint": [1, None, -3, 127, -128],
    "smallint": [1, None, -3, 2**15 - 1, -(2**15)],
    "int": [1, None, -3, 2**31 - 1, -(2**31)],
    "bigint": [1, None, -3, 2**52, -(2**60)],
    "float": [0.5, None, -0.25, float("inf"), float("nan")],
    "double": [0.5, None, -0.25, float("-inf"), float("nan")],
    "decimal(10,2)": [Decimal("0.50"), None, Decimal("-3.25"), Decimal("99999999.99"), Decimal("0.01")],
    "decimal(38,18)": [Decimal("0.5"), None, Decimal("-3.25"), Decimal(10) ** 12, Decimal("0.000000000000000001")],
}
OTHERS = {
    "date": [dt.date(2026, 1, 2), None, dt.date(1969, 12, 31), dt.date(9999, 12, 31), dt.date(1, 1, 1)],
    "timestamp": [dt.datetime(2026, 1, 2, 3, 4, 5, 6, UTC), None, dt.datetime(1969, 1, 1, tzinfo=UTC), None, None],
    "timestamp_ntz": [dt.datetime(2026, 1, 2, 3, 4, 5, 6), None, dt.datetime(1969, 1, 1), None, None],
    "string": ["b", None, "", "日本", "a"],
    "binary": [b"b", None, b"", b"\xff", b"a"],
    "boolean": [True, None, False, True, False],
}
NESTED = {
    "array<int>": [[1, None], None, [], [3], [2, 2]],
    "struct<a:int,b:string>": [(1, "x"), None, (None, None), (2, "ä"), (3, None)],
    "array<struct<a:double>>": [[(0.5,)], None, [], [(None,)], [None]],
    "map<string,int>": [{"a": 1}, None, {}, {"b": None}, {"ä": 3}],
}
PLACES = [3, 1, 4, 2, 5]
WINDOW = sw.trailing(3)


def frame_of(spark: SparkSession, kind: str, values: list[Any]) -> DataFrame:
    """Rows in no order, one key; `n` numbers them, `x` is of the type."""
    rows = [("k", place, float(-place), value) for place, value in zip(PLACES, values, strict=True)]
    return spark.createDataFrame(rows, f"k string, n int, w double, x {kind}")


def check(df: DataFrame, pairs: dict[str, tuple[Any, Any]]) -> None:
    """Each aggregate against a column of Spark's, over the last three rows: type and values."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    frame = Window.partitionBy("k").orderBy("n").rowsBetween(-2, 0)
    mine = sw.slide(df, [one.alias(name) for name, (one, _) in pairs.items()], WINDOW, by="k", order="n")
    spark = df.withColumns({name: theirs.over(frame) for name, (_, theirs) in pairs.items()})
    some = F.when(F.size("collect") > 0, F.col("collect"))  # of no values Spark collects an empty array, we null
    spark = spark.withColumn("collect", some)
    assert mine.columns == spark.columns
    assert _types(mine) == _types(spark)
    got, wanted = (table.orderBy("n").collect() for table in (mine, spark))
    assert repr(got) == repr(wanted)  # by their words: NaN is NaN


def _types(df: DataFrame) -> dict[str, str]:
    """But for nullability: all answers may be null."""
    return {field.name: field.dataType.simpleString() for field in df.schema.fields}


OFTEN = ("bigint", "float", "decimal(10,2)", "timestamp", "string", "boolean", "struct<a:int,b:string>")
"""What the normal run has; each is a query of its own."""


def kinds(of: dict[str, list[Any]]) -> list[Any]:
    return [pytest.param(kind, marks=[] if kind in OFTEN else [pytest.mark.slow]) for kind in of]


@pytest.mark.parametrize("kind", kinds(NUMBERS | OTHERS))
def test_plain_types(spark: SparkSession, kind: str) -> None:
    from pyspark.sql import functions as F

    df = frame_of(spark, kind, {**NUMBERS, **OTHERS}[kind])
    pairs: dict[str, tuple[Any, Any]] = {
        "count": (sw.count("x"), F.count("x")),
        "first": (sw.first("x"), F.first("x", ignorenulls=True)),
        "last": (sw.last("x"), F.last("x", ignorenulls=True)),
        "collect": (sw.collect("x"), F.collect_list("x")),
        "argmax": (sw.argmax("x", "w"), F.max_by("x", "w")),
    }
    if kind != "boolean":
        pairs |= {"min": (sw.min("x"), F.min("x")), "max": (sw.max("x"), F.max("x"))}
    if kind in NUMBERS:
        pairs |= {"sum": (sw.sum("x"), F.sum("x")), "mean": (sw.mean("x"), F.avg("x"))}
    check(df, pairs)


@pytest.mark.parametrize("kind", kinds(NESTED))
def test_nested_types(spark: SparkSession, kind: str) -> None:
    from pyspark.sql import functions as F

    check(
        frame_of(spark, kind, NESTED[kind]),
        {
            "count": (sw.count("x"), F.count("x")),
            "first": (sw.first("x"), F.first("x", ignorenulls=True)),
            "last": (sw.last("x"), F.last("x", ignorenulls=True)),
            "collect": (sw.collect("x"), F.collect_list("x")),
            "argmax": (sw.argmax("x", "w"), F.max_by("x", "w")),
        },
    )


def test_other_columns_pass_untouched(spark: SparkSession) -> None:
    df = frame_of(spark, "int", [1, None, 3, 4, 5]).selectExpr(
        "*",
        "cast(n as decimal(20,3)) money",
        "array(map('a', named_struct('b', n))) nested",
        "cast('2026-01-01 00:00:00' as timestamp_ntz) moment",
        "cast(null as void) nothing",
        "cast('x' as binary) raw",
    )
    out = sw.slide(df, sw.sum("x"), WINDOW, by="k", order="n")
    assert out.schema.fields[:-1] == df.schema.fields
    assert out.drop("sum_x").orderBy("n").collect() == df.orderBy("n").collect()


@pytest.mark.parametrize("kind", ["interval day to second", "interval year to month"])
def test_intervals_are_refused_by_name(spark: SparkSession, kind: str) -> None:
    df = spark.sql(f"select 1 n, cast(null as {kind}) x")
    with pytest.raises(ArgumentError, match=f"column 'x'.*{kind}"):
        sw.slide(df, sw.max("x"), WINDOW, order="n")
