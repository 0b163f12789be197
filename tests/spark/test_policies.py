"""Slide policies on Spark batches: they answer as a table does."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

import slidewise as sw
from tests.containers import TABLES, spark_batch
from tests.policies import AGGREGATES, POLICIES, expected, joined, table
from tests.same import assert_same

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def some_rows() -> Any:
    draw = random.Random(2)
    return table(
        [
            (draw.choice("abc"), t, draw.choice([None, 1.0, 2.0]), draw.choice([None, 1, 2, 9]), "x", True)
            for t in range(120)
        ]
    )


@pytest.mark.spark
def test_a_batch_answers_as_a_table_does(spark: SparkSession) -> None:
    """Compiled and not, several windows at once, keys that go on in the next Arrow batch."""
    columns, policies = some_rows(), [POLICIES["few"], POLICIES["since the peak"]]
    windows = {
        "ten": POLICIES["sum at most 10"].window(),
        "both": joined(policies),
        "dict": POLICIES["of a dict"].window(),
    }
    setting, before = "spark.sql.execution.arrow.maxRecordsPerBatch", None
    before = str(spark.conf.get(setting))
    spark.conf.set(setting, "7")

    def run(frame: DataFrame) -> DataFrame:
        return sw.slide(frame, AGGREGATES, windows, by="k", order="t")

    try:
        made = spark_batch(spark, columns, run)
    finally:
        spark.conf.set(setting, before)
    order = sorted(range(120), key=lambda row: made["id"].values[row])
    arrow = TABLES["arrow"].extract(sw.slide(TABLES["arrow"].build(columns), AGGREGATES, windows, by="k", order="t"))
    for name in (f"{one}_{label}" for one in ("count", "first") for label in windows):
        assert_same([made[name].values[row] for row in order], arrow[name].values)
    wanted = expected(columns, policies, ["k"])["count"]
    assert_same([made["count_both"].values[row] for row in order], wanted)
    said = sw.explain(spark.createDataFrame([(1, 2)], "k int, t int"), sw.count(), windows["dict"], by="k", order="t")
    assert "amta finds the longest prefix" in said
