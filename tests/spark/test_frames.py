"""Frames on Spark: keys that go on from batch to batch, one long order in ranges, and real streaming queries."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import slidewise as sw
from slidewise.frames.kind import Custom, Frame, Total
from slidewise.spark import apart, batch, ranges, spark_types
from slidewise.spark.recipe import Recipe
from tests.frames.kinds import kinds

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark
ROWS = 2_000
AGGREGATES = [sw.count(), sw.sum("x"), sw.collect("s")]


@pytest.fixture(scope="module")
def table() -> pa.Table:
    """Three keys of very different size, ties of time, silences, nulls."""
    draw = random.Random(11)
    time, rows = 0, []
    for n in range(ROWS):
        time += draw.choice([0, 250_000, 250_000, 500_000, 2_500_000])
        x = None if draw.random() < 0.05 else draw.randint(-4, 5)
        rows.append((draw.choice(["a"] * 20 + ["ü", None]), time, x, str(n % 7)))
    draw.shuffle(rows)
    return pa.table(
        {
            "k": pa.array([row[0] for row in rows], pa.string()),
            "t": pa.array([row[1] for row in rows], pa.timestamp("us", "UTC")),
            "x": pa.array([row[2] for row in rows], pa.int64()),
            "s": pa.array([row[3] for row in rows], pa.string()),
        }
    )


@pytest.fixture(scope="module")
def df(spark: SparkSession, table: pa.Table) -> DataFrame:
    return spark.createDataFrame(table).cache()


def ordered(table: pa.Table, df: DataFrame) -> pa.Table:
    """The rows as Spark orders them: ties by a hash of the row."""
    return (
        df.withColumn("__tie", batch.tie_of(df))
        .toArrow()
        .cast(pa.schema([*table.schema, pa.field("__tie", pa.int64())]))
    )


def said(made: pa.Table) -> list[str]:
    return sorted(repr(tuple(row.values())) for row in made.to_pylist())


def compare(got: pa.Table, expected: pa.Table) -> None:
    assert got.column_names == expected.column_names
    assert said(got.cast(expected.schema)) == said(expected)


KINDS = kinds()
SOME = [KINDS[place] for place in (1, 9)]
"""In the normal run; all are in the slow one."""
ALL = [one if one in SOME else pytest.param(one, marks=pytest.mark.slow) for one in KINDS]


@pytest.mark.parametrize("kind", ALL, ids=str)
def test_keys_go_on_from_batch_to_batch(spark: SparkSession, df: DataFrame, table: pa.Table, kind: Frame) -> None:
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "37")
    try:
        got = sw.slide(df, AGGREGATES, kind, by="k", order="t").toArrow()
    finally:
        spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")
    compare(got, sw.slide(ordered(table, df), AGGREGATES, kind, by="k", order=["t", "__tie"]))


@pytest.mark.parametrize("kind", ALL, ids=str)
@pytest.mark.parametrize("by", [None, pytest.param("k", marks=pytest.mark.slow)], ids=["no key", "a huge key"])
def test_one_long_order_in_ranges(
    df: DataFrame, table: pa.Table, kind: Frame, by: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranges, "WORTH", 0)
    recipe = Recipe(spark_types(df), AGGREGATES, kind, by, "t", "auto")
    plan = recipe.plan()
    if isinstance(kind, Custom) and kind.carries:
        assert not ranges.can_cut(df, plan)
        return
    splits = apart.splits_of(df, recipe, plan, 5, batch.tie_of(df))
    assert len(splits) == 1
    counts = isinstance(kind, Total) and kind.aggregate.source.name == "count"
    assert len(splits[0].ranges) >= (2 if counts else 3), "most cuts are found, but where counting ripples on for ever"
    got = apart.slide_apart(df, recipe, plan, splits, batch.tie_of(df)).toArrow()
    compare(got, sw.slide(ordered(table, df), AGGREGATES, kind, by=by, order=["t", "__tie"]))


@pytest.mark.slow
def test_a_speculation_that_fails_ends_the_cutting(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Frames of five rows each, whatever the values: a range that begins in mid-frame never agrees with its guess."""
    monkeypatch.setattr(ranges, "WORTH", 0)
    table = pa.table({"t": pa.array(range(1003), pa.int64()), "x": pa.array([1] * 1003, pa.int64())})
    df = spark.createDataFrame(table)
    kind = sw.frames.aggregate(sw.sum("x"), 5)
    recipe = Recipe(spark_types(df), [sw.count()], kind, None, "t", "auto")
    splits = apart.splits_of(df, recipe, recipe.plan(), 4, batch.tie_of(df))
    got = sw.slide(df, sw.count(), kind, order="t", threads=4).toArrow()
    compare(got, sw.slide(table, sw.count(), kind, order="t"))
    assert len(splits) <= 1


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    "kind",
    [sw.frames.delta("x", 3.0), sw.frames.aggregate(sw.sum("v"), 100), sw.frames.threshold("x", at_least=1)],
    ids=str,
)
def test_five_million_events_of_one_key(spark: SparkSession, kind: Frame) -> None:
    df = spark.range(5_000_000).selectExpr("id AS t", "sin(id / 17) * 5 + rand(3) AS x", "id * 7919 % 23 AS v")
    df = df.repartition(8).cache()
    whole = df.toArrow()
    got = sw.slide(df, [sw.count(), sw.sum("v")], kind, order="t", threads=6).toArrow()
    expected = sw.slide(whole, [sw.count(), sw.sum("v")], kind, order="t")
    assert got.sort_by("window_start").cast(expected.schema).equals(expected)
    df.unpersist()


@pytest.mark.parametrize("emit", [pytest.param("window", marks=pytest.mark.slow), "update"])
def test_a_query_gives_the_frames_of_the_batch(spark: SparkSession, tmp_path: Path, emit: str) -> None:
    """Files, a few rows each, late ones among them; the last file only moves the watermark."""
    draw = random.Random(5)
    rows = [(draw.choice("ab"), second, draw.randint(0, 6)) for second in range(120)]
    arrived = sorted(rows, key=lambda row: row[1] + draw.randint(0, 4))
    source = tmp_path / "in"
    source.mkdir()
    for number, first in enumerate(range(0, len(arrived), 20)):
        _write(source / f"{number}.parquet", arrived[first : first + 20])
    _write(source / "99.parquet", [("z", 10_000, 0)])
    stream = (
        spark.readStream.schema("k string, t timestamp, x int").option("maxFilesPerTrigger", 1).parquet(str(source))
    )
    kind = sw.frames.delta("x", 3)
    frames = sw.slide(stream, [sw.count(), sw.sum("x")], kind, by="k", order="t", lateness="6 s", emit=emit)
    query = frames.writeStream.format("parquet").option("path", str(tmp_path / "out"))
    query.option("checkpointLocation", str(tmp_path / "c")).trigger(availableNow=True).start().awaitTermination()
    got = spark.read.parquet(str(tmp_path / "out")).toArrow().to_pylist()
    table = pa.table(
        {
            "k": [row[0] for row in rows],
            "t": pa.array([row[1] * 1_000_000 for row in rows], pa.timestamp("us", "UTC")),
            "x": pa.array([row[2] for row in rows], pa.int32()),
        }
    )
    expected = sw.slide(table, [sw.count(), sw.sum("x")], kind, by="k", order="t").to_pylist()
    if emit == "window":
        last = {row["k"]: row for row in expected}
        expected = [row for row in expected if row is not last[row["k"]]]
        assert sorted(map(repr, map(_plain, got))) == sorted(map(repr, map(_plain, expected)))
        return
    assert {"+I", "-U", "+U"} <= {row["op"] for row in got}
    held: list[str] = []
    for row in sorted(got, key=lambda row: (row["version"], row["op"][0] == "+")):
        text = repr(_plain(row))
        held.append(text) if row["op"][0] == "+" else held.remove(text)
    assert sorted(held) == sorted([*(repr(_plain(row)) for row in expected), repr(_plain(_last()))])


def _last() -> dict[str, Any]:
    at = pa.scalar(10_000 * 1_000_000, pa.timestamp("us", "UTC")).as_py()
    return {"k": "z", "window_start": at, "window_end": at, "count": 1, "sum_x": 0}


def _plain(row: dict[str, Any]) -> tuple[Any, ...]:
    bounds = (str(row[name].astimezone().timestamp()) for name in ("window_start", "window_end"))
    return (row["k"], *bounds, row["count"], row["sum_x"])


def _write(path: Path, rows: list[tuple[str, int, int]]) -> None:
    import pyarrow.parquet as pq

    columns = {
        "k": [row[0] for row in rows],
        "t": pa.array([row[1] * 1_000_000 for row in rows], pa.timestamp("us", "UTC")),
        "x": pa.array([row[2] for row in rows], pa.int32()),
    }
    pq.write_table(pa.table(columns), path)
    os.utime(path, (1_000_000_000 + int(path.stem),) * 2)  # Spark reads the oldest first
