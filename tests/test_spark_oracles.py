"""Spark's own windows as outside oracles: rowsBetween, rangeBetween and groupBy(window()), for all seven aggregates.

rowsBetween(-(n - 1), 0)             =  trailing(n)                                    unique order
rowsBetween(-n, -1)                  =  trailing(n, include_current=False)             unique order
rangeBetween(-(d - 1), 0) on seconds =  trailing("d s", ties="together")               (t - d, t], whole seconds
groupBy(window(t, d, step))          =  trailing(d).every(step), tumbling(d)
"""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING, Any

import pytest

import slidewise as sw
from tests import golden, oracle
from tests.containers import LATENESS, from_arrow, spark_stream, to_arrow
from tests.golden import Aggregate, Column, Columns, Window
from tests.oracle import key_rank
from tests.same import assert_same
from tests.strategies import aggregates_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

_SPARK_NAMES = {
    "sum": "sum",
    "mean": "avg",
    "var": "var_samp",
    "stddev": "stddev_samp",
    "min": "min",
    "max": "max",
    "count": "count",
}
SPECS = aggregates_of("n", "v")


def _table(*, ties: bool, size: int = 400) -> Columns:
    """Whole seconds; nulls, NaN and infinities; null and unicode keys; values small enough for one tolerance."""
    source = random.Random(11)
    seconds = [source.randrange(-50, 100) for _ in range(size)] if ties else source.sample(range(-400, 600), size)
    specials = [None, None, math.nan, math.inf, -math.inf]
    return {
        "row_": Column("int64", list(range(size))),
        "k": Column("string", [source.choice(["a", "b", "ä", None]) for _ in range(size)]),
        "t": Column("timestamp", [second * 1_000_000 for second in seconds]),
        "n": Column("int64", [source.choice([None, source.randint(-1000, 1000)]) for _ in range(size)]),
        "v": Column(
            "float64", [source.choice([*specials, *(source.gauss(0, 10) for _ in range(60))]) for _ in range(size)]
        ),
    }


def _theirs(spec: Aggregate) -> Any:
    """Spark's own aggregate, without a name."""
    from pyspark.sql import functions as F

    function = getattr(F, _SPARK_NAMES[spec.function])
    return function(spec.columns[0]) if spec.columns else function(F.lit(1))


def _ours(frame: DataFrame, window: Window, **options: Any) -> DataFrame:
    return sw.slide(frame, golden.aggregates(SPECS), golden.window(window), by="k", order="t", **options)


def _over(frame: DataFrame, window: Any) -> Columns:
    return from_arrow(frame.select("*", *(_theirs(spec).over(window).alias(spec.name()) for spec in SPECS)).toArrow())


def _rows(columns: Columns, key: list[str]) -> Columns:
    size = len(next(iter(columns.values())))
    places = sorted(range(size), key=lambda row: key_rank(tuple(columns[name].values[row] for name in key)))
    return {name: Column(column.type, [column.values[place] for place in places]) for name, column in columns.items()}


def _check(ours: Columns, theirs: Columns, columns: Columns, window: Window, key: list[str]) -> None:
    """Both sorted by `key`, measured by the Σ|x| of each window, which the naive oracle knows."""
    ours, theirs = _rows(ours, key), _rows(theirs, key)
    assert {name: column.type for name, column in ours.items()} == {name: c.type for name, c in theirs.items()}
    assert_same(
        {name: column.values for name, column in ours.items()},
        {name: column.values for name, column in theirs.items()},
        scale=oracle.slide(columns, SPECS, {"": window}, ["k"], ["t"]).scales,
    )


@pytest.mark.parametrize("current", [True, False], ids=["through_current", "before_current"])
def test_rows_between(spark: SparkSession, current: bool) -> None:
    from pyspark.sql import Window as SparkWindow

    columns = _table(ties=False)
    frame = spark.createDataFrame(to_arrow(columns))
    theirs = SparkWindow.partitionBy("k").orderBy("t").rowsBetween(*((-8, 0) if current else (-9, -1)))
    window = {"trailing": 9, "include_current": current}
    _check(from_arrow(_ours(frame, window).toArrow()), _over(frame, theirs), columns, window, ["row_"])


@pytest.mark.parametrize("current", [True, False], ids=["through_current", "before_current"])
def test_range_between(spark: SparkSession, current: bool) -> None:
    from pyspark.sql import Window as SparkWindow
    from pyspark.sql import functions as F

    columns = _table(ties=True)
    frame = spark.createDataFrame(to_arrow(columns))
    seconds = F.col("t").cast("long")
    theirs = SparkWindow.partitionBy("k").orderBy(seconds).rangeBetween(-9, 0 if current else -1)
    window = {"trailing": "10 s", "include_current": current, "ties": "together"}
    _check(from_arrow(_ours(frame, window).toArrow()), _over(frame, theirs), columns, window, ["row_"])


def _group_by_window(frame: DataFrame, size: str, step: str | None) -> Columns:
    from pyspark.sql import functions as F

    window = F.window("t", size, step) if step else F.window("t", size)
    grouped = frame.groupBy("k", window).agg(*(_theirs(spec).alias(spec.name()) for spec in SPECS))
    bounds = [F.col("window.start").alias("window_start"), F.col("window.end").alias("window_end")]
    return from_arrow(grouped.select("k", *bounds, *(spec.name() for spec in SPECS)).toArrow())


WINDOWS: dict[str, tuple[Window, str, str | None]] = {
    "tumbling": ({"tumbling": "10 s"}, "10 seconds", None),
    "sliding": ({"trailing": "30 s", "every": "10 s"}, "30 seconds", "10 seconds"),
    "step_not_a_divisor": ({"trailing": "25 s", "every": "10 s"}, "25 seconds", "10 seconds"),
}


@pytest.mark.parametrize("name", WINDOWS)
def test_group_by_window(spark: SparkSession, name: str) -> None:
    window, size, step = WINDOWS[name]
    columns = _table(ties=True)
    frame = spark.createDataFrame(to_arrow(columns))
    ours = from_arrow(_ours(frame, window).toArrow())
    _check(ours, _group_by_window(frame, size, step), columns, window, ["k", "window_end"])


def test_group_by_window_on_a_stream(spark: SparkSession) -> None:
    """The same rows as Spark's own groupBy(key, window(ts, range, step))."""
    window, size, step = WINDOWS["step_not_a_divisor"]
    columns = _table(ties=True)
    theirs = _group_by_window(spark.createDataFrame(to_arrow(columns)), size, step)
    ours = spark_stream(spark, columns, lambda frame: _ours(frame, window, lateness=LATENESS), key="k", time="t")
    _check(ours, theirs, columns, window, ["k", "window_end"])
