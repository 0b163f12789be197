"""Spark's own windows as outside oracles of the new ones, on batches of seven rows, so that every key spans several.

unboundedPreceding to currentRow       =  expanding(); as RANGE, ties="together"
rowsBetween(-b, a)                     =  around(b, a)
rangeBetween(-(b - 1), a) on integers  =  around(b, a, along="order")
session_window(t, gap)                 =  session(gap)
a join on lo <= t <= hi                =  between("lo", "hi")
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import slidewise as sw

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def small(spark: SparkSession) -> Iterator[SparkSession]:
    setting = "spark.sql.execution.arrow.maxRecordsPerBatch"
    before = spark.conf.get(setting)
    spark.conf.set(setting, "7")
    yield spark
    spark.conf.set(setting, str(before))


def frame(spark: SparkSession, *, ties: bool, size: int = 200) -> DataFrame:
    draw = random.Random(7)
    places = [draw.randrange(150) for _ in range(size)] if ties else draw.sample(range(1000), size)
    table = pa.table(
        {
            "row_": range(size),
            "k": [draw.choice(["a", "b", None, "rare"] if n < 190 else ["a"]) for n in range(size)],
            "o": places,
            "t": pa.array([place * 1_000_000 for place in places], pa.timestamp("us", tz="UTC")),
            "lo": pa.array(
                [None if draw.random() < 0.1 else place - draw.randint(-5, 30) for place in places], pa.int64()
            ),
            "hi": [place + draw.randint(-5, 30) for place in places],
            "x": pa.array([draw.choice([None, draw.randint(-9, 9)]) for _ in range(size)], pa.int64()),
        }
    )
    return spark.createDataFrame(table)


def check(ours: DataFrame, theirs: DataFrame) -> None:
    names = ["row_", "sum_x", "count"]
    assert sorted(map(tuple, ours.select(*names).collect())) == sorted(map(tuple, theirs.select(*names).collect()))


@pytest.mark.parametrize("kind", ["expanding", "expanding_range", "before", "around_rows", "around_range"])
def test_frames(small: SparkSession, kind: str) -> None:
    from pyspark.sql import Window as W
    from pyspark.sql import functions as F

    data = frame(small, ties="range" in kind)
    mine: Any
    mine, theirs = {
        "expanding": (sw.expanding(), W.rowsBetween(W.unboundedPreceding, 0)),
        "expanding_range": (sw.expanding(ties="together"), W.rangeBetween(W.unboundedPreceding, 0)),
        "before": (sw.expanding(include_current=False), W.rowsBetween(W.unboundedPreceding, -1)),
        "around_rows": (sw.around(4, 9), W.rowsBetween(-4, 9)),
        "around_range": (sw.around(10, 25, along="order"), W.rangeBetween(-9, 25)),
    }[kind]
    over = theirs.partitionBy("k").orderBy("o")
    expected = data.select("*", F.sum("x").over(over).alias("sum_x"), F.count(F.lit(1)).over(over).alias("count"))
    check(sw.slide(data, [sw.sum("x"), sw.count()], mine, by="k", order="o"), expected)


def test_sessions(small: SparkSession) -> None:
    from pyspark.sql import functions as F

    data = frame(small, ties=True)
    ours = sw.slide(data, [sw.sum("x"), sw.count()], sw.session("3 s"), by="k", order="t")
    grouped = data.groupBy("k", F.session_window("t", "3 seconds").alias("w"))
    theirs = grouped.agg(F.sum("x").alias("sum_x"), F.count(F.lit(1)).alias("count"))
    theirs = theirs.select(
        "k", F.col("w.start").alias("window_start"), F.col("w.end").alias("window_end"), "sum_x", "count"
    )
    assert ours.columns == theirs.columns
    got, wanted = ours.collect(), theirs.collect()
    assert len(got) > 20
    assert sorted(map(repr, map(tuple, got))) == sorted(map(repr, map(tuple, wanted)))


def test_between(small: SparkSession) -> None:
    from pyspark.sql import functions as F

    data = frame(small, ties=True)
    ours = sw.slide(data, [sw.sum("x"), sw.count()], sw.between("lo", "hi"), by="k", order="o")
    other = data.select(F.col("k").alias("k2"), F.col("o").alias("o2"), F.col("x").alias("x2"), F.lit(1).alias("one"))
    joined = data.join(other, F.expr("k <=> k2 and o2 between lo and hi"), "left").groupBy("row_")
    check(ours, joined.agg(F.sum("x2").alias("sum_x"), F.count("one").alias("count")))
