"""Rows without a key on Spark: ranges of the order with halos answer as one task does, and both cores work."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import slidewise as sw
from slidewise.spark import ranges, spark_types
from slidewise.spark.recipe import Recipe

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

ROWS = 3_000
AGGREGATES = [sw.max("x"), sw.count("x")]


@pytest.fixture(scope="module")
def table() -> pa.Table:
    """Times and numbers with ties, a stretch of equal ones, gaps; values with nulls. Rows in no order."""
    draw = random.Random(7)
    times = sorted(draw.choice([0, 1, 1, 2, 40]) for _ in range(ROWS))
    steps = [sum(times[: k + 1]) for k in range(0, ROWS, 100)]
    order = [steps[k // 100] + times[k] * (k % 100) // 50 for k in range(ROWS)]
    draw.shuffle(order)
    values = [None if draw.random() < 0.1 else draw.randint(-50, 50) for _ in range(ROWS)]
    return pa.table(
        {
            "id": pa.array(range(ROWS), pa.int64()),
            "n": pa.array(order, pa.int64()),
            "f": pa.array([float(v) / 2 for v in order], pa.float64()),
            "t": pa.array([v * 1_000_000 for v in order], pa.timestamp("us", "UTC")),
            "d": pa.array([v // 50 for v in order], pa.date32()),
            "x": pa.array(values, pa.int64()),
        }
    )


@pytest.fixture
def df(spark: SparkSession, table: pa.Table, monkeypatch: pytest.MonkeyPatch) -> DataFrame:
    monkeypatch.setattr(ranges, "WORTH", 0)
    return spark.createDataFrame(table)


CASES: list[tuple[str, Any]] = [
    ("n", sw.trailing(50)),
    ("n", sw.trailing(1, include_current=False)),
    ("n", sw.trailing(20, along="order")),
    ("f", sw.trailing(7.5)),
    ("t", sw.trailing("20 s", ties="together")),
    ("t", sw.trailing("90 s", coarse="30 s", min_rows=5)),
    ("d", sw.trailing("1 d")),
    ("t", {"rows": sw.trailing(10), "time": sw.trailing("15 s")}),
]


@pytest.mark.parametrize(("order", "window"), CASES)
def test_ranges_answer_as_one_task_does(df: DataFrame, order: str, window: Any) -> None:
    starts, halos = ranges.cut(df, plan_of(df, order, window))
    assert starts, "one range only: nothing is shown"
    assert all(halo is None or halo <= start for start, halo in zip(starts, halos, strict=True))
    many = sw.slide(df, AGGREGATES, window, order=order)
    one = sw.slide(df, AGGREGATES, window, order=order, threads=1)
    assert many.columns == one.columns
    assert many.orderBy("id").toArrow().equals(one.orderBy("id").toArrow())


def test_every_core_has_rows_of_its_own(df: DataFrame) -> None:
    from pyspark.sql import functions as F

    many = sw.slide(df, sw.max("x"), sw.trailing(50), order="n")
    rows = [row[1] for row in many.groupBy(F.spark_partition_id()).count().collect()]
    assert len(rows) == 2
    assert sum(rows) == ROWS
    assert min(rows) > ROWS / 10


def test_a_long_halo_means_fewer_ranges(df: DataFrame) -> None:
    assert ranges.cut(df, plan_of(df, "n", sw.trailing(ROWS))) == ([], [])


def test_few_rows_stay_in_one_task(df: DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranges, "WORTH", ROWS + 1)
    assert ranges.cut(df, plan_of(df, "n", sw.trailing(5))) == ([], [])


def test_windows_that_cannot_be_cut(df: DataFrame) -> None:
    for window in (sw.expanding(), sw.around("1 s", "1 s"), sw.session("5 s"), sw.tumbling("5 s")):
        assert not ranges.can_cut(df, plan_of(df, "t", window))
    assert not ranges.can_cut(df, plan_of(df, "t", sw.trailing(5), by="id"))


def test_explain_says_so(df: DataFrame) -> None:
    assert "cut into ranges" in sw.explain(df, sw.max("x"), sw.trailing(5), order="n")
    assert "one task" in sw.explain(df, sw.max("x"), sw.trailing(5), order="n", threads=1)


def plan_of(df: DataFrame, order: str, window: Any, by: Any = None) -> Any:
    return Recipe(spark_types(df), AGGREGATES, window, by, order, "auto").plan()
