"""Real queries, few, since each takes seconds: against the batch, against Spark's own windows, restarts, refusals."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import slidewise as sw
from slidewise.errors import ArgumentError
from tests.golden import MONOIDS
from tests.spark.replay import SECOND, assert_answers

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery

pytestmark = pytest.mark.spark

BASE = 1_700_000_000 * SECOND
CONCAT = sw.Monoid(name="concat", **MONOIDS["concat"])
AGGREGATES = [sw.sum("x"), sw.count(), sw.max("v"), sw.stddev("v"), sw.aggregate(CONCAT, "s")]
NAMES = [one.name for one in AGGREGATES]
FAR = 10**6


def random_rows(size: int, seed: int) -> list[dict[str, Any]]:
    """Half seconds with many ties; `n` tells rows apart."""
    source = random.Random(seed)
    return [
        {
            "n": n,
            "k": source.choice(["a", "b", None, "é"]),
            "t": BASE + n * SECOND // 4 // 500_000 * 500_000,
            "x": source.choice([None, source.randint(-9, 9)]),
            "v": source.choice([None, source.gauss(0, 9), float("nan") if n % 50 == 0 else 1.0]),
            "s": source.choice([None, "p", "q", "r"]),
        }
        for n in range(size)
    ]


def table_of(rows: list[dict[str, Any]]) -> pa.Table:
    kinds = {"n": pa.int64(), "k": pa.string(), "t": pa.timestamp("us", tz="UTC")}
    kinds |= {"x": pa.int64(), "v": pa.float64(), "s": pa.string()}
    return pa.table({name: pa.array([row[name] for row in rows], kind) for name, kind in kinds.items()})


def sentinel(after: int) -> dict[str, Any]:
    """A row so late in time that the watermark passes all others."""
    return {"n": -1, "k": "~", "t": BASE + after * SECOND, "x": None, "v": None, "s": None}


def arrivals(rows: list[dict[str, Any]], delay: float, seed: int) -> list[dict[str, Any]]:
    source = random.Random(seed)
    return sorted(rows, key=lambda row: row["t"] + source.random() * delay * SECOND)


class Files:
    """A folder of Parquet files that a query reads one per batch, in order."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.place.mkdir()
        self.count = 0

    def add(self, rows: list[dict[str, Any]], parts: int = 1) -> None:
        size = -(-len(rows) // parts)
        for first in range(0, len(rows), size):
            path = self.place / f"{self.count:04}.parquet"
            pq.write_table(table_of(rows[first : first + size]), path)
            self.count += 1
            os.utime(path, (1_000_000_000 + self.count,) * 2)  # Spark reads the oldest first

    def stream(self, spark: SparkSession) -> DataFrame:
        schema = spark.createDataFrame(table_of([])).schema
        return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(self.place))


def start(frame: DataFrame, place: Path) -> StreamingQuery:
    return (
        frame.writeStream.format("parquet")
        .option("path", str(place / "out"))
        .option("checkpointLocation", str(place / "checkpoint"))
        .trigger(availableNow=True)
        .outputMode("append")
        .start()
    )


def run(frame: DataFrame, place: Path) -> StreamingQuery:
    query = start(frame, place)
    try:
        query.awaitTermination()
    finally:
        query.stop()
    return query


def written(spark: SparkSession, place: Path) -> pa.Table:
    return spark.read.parquet(str(place / "out")).where("k is null or k <> '~'").toArrow()


def in_batch(spark: SparkSession, rows: list[dict[str, Any]], window: Any, **options: Any) -> pa.Table:
    return sw.slide(spark.createDataFrame(table_of(rows)), AGGREGATES, window, **options).toArrow()


def figures(query: StreamingQuery) -> dict[str, int]:
    """Sums over all batches of what `observe` saw."""
    seen = [progress.observedMetrics["slidewise"] for progress in query.recentProgress if progress.observedMetrics]
    return {name: sum(getattr(one, name) or 0 for one in seen) for name in ("rows_in", "rows_out", "late_rows")}


def test_a_stream_equals_the_batch(spark: SparkSession, tmp_path: Path) -> None:
    """Three windows in one pass, no key is lost, ties go by the same hash, packets come in many Arrow batches."""
    rows = random_rows(300, seed=1)
    files = Files(tmp_path / "in")
    files.add(arrivals(rows, 4.5, seed=2), parts=3)
    files.add([sentinel(FAR)])
    windows = {
        "rows": sw.trailing(5),
        "before": sw.trailing("9 s", include_current=False, min_rows=2),
        "ties": sw.trailing("3 s", ties="together"),
    }
    setting = "spark.sql.execution.arrow.maxRecordsPerBatch"
    before = str(spark.conf.get(setting))
    spark.conf.set(setting, "7")
    try:
        query = run(sw.slide(files.stream(spark), AGGREGATES, windows, by="k", order="t", lateness="5 s"), tmp_path)
    finally:
        spark.conf.set(setting, before)
    expected = in_batch(spark, rows, windows, by="k", order="t")
    names = ["n", "k", "t", "x", "v", "s", *(f"{name}_{label}" for label in windows for name in NAMES)]
    assert_answers([written(spark, tmp_path)], expected, names)
    assert figures(query) == {"rows_in": 301, "rows_out": 300, "late_rows": 0}


def test_windows_with_a_step_equal_sparks_own(spark: SparkSession, tmp_path: Path) -> None:
    """Rows later than the watermark count in windows that are still open, on both sides."""
    from pyspark.sql import functions as F

    rows = random_rows(400, seed=3)
    files = Files(tmp_path / "in")
    come = arrivals(rows[20:], 30, seed=4)
    files.add(come[:300], parts=3)
    files.add([*come[300:], *rows[:20]])  # too late for all their windows
    files.add([sentinel(FAR)])
    aggregates = [sw.count(), *(getattr(sw, name)("v") for name in ("sum", "mean", "var", "stddev", "min", "max"))]
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    window = sw.trailing("20 s").every("7 s")
    query = run(sw.slide(files.stream(spark), aggregates, window, by="k", order="t", lateness="2 s"), ours)
    own = (
        files.stream(spark)
        .withWatermark("t", "2 seconds")
        .groupBy("k", F.window("t", "20 seconds", "7 seconds").alias("w"))
        .agg(
            F.count(F.lit(1)).alias("count"),
            F.sum("v").alias("sum_v"),
            F.avg("v").alias("mean_v"),
            F.var_samp("v").alias("var_v"),
            F.stddev_samp("v").alias("stddev_v"),
            F.min("v").alias("min_v"),
            F.max("v").alias("max_v"),
        )
        .selectExpr("k", "w.start window_start", "w.end window_end", *(one.name for one in aggregates))
    )
    run(own, theirs)
    names = ["k", "window_start", "window_end", *(one.name for one in aggregates)]
    assert_answers([written(spark, ours)], written(spark, theirs), names)
    assert figures(query)["late_rows"] == 20


def test_a_step_of_rows_counts_from_the_start_of_the_stream(spark: SparkSession, tmp_path: Path) -> None:
    """Six batches and a restart; by the last of them most rows are in no page any more."""
    rows = random_rows(600, seed=9)
    came = arrivals(rows, 4.5, seed=10)
    files = Files(tmp_path / "in")
    window = sw.trailing(7).every(3)
    for part, count in ((came[:300], 3), ([*came[300:], sentinel(FAR)], 3)):
        files.add(part, parts=count)
        stream = files.stream(spark)
        run(sw.slide(stream, AGGREGATES, window, by="k", order="t", lateness="5 s"), tmp_path)
    made = written(spark, tmp_path)
    expected = in_batch(spark, rows, window, by="k", order="t")
    assert_answers([made], expected, ["k", "window_start", "window_end", *NAMES])
    assert made.num_rows > 190


def test_a_restart_goes_on_and_another_query_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    from pyspark.errors import StreamingQueryException

    rows = random_rows(300, seed=5)
    came = arrivals(rows, 4.5, seed=6)
    files = Files(tmp_path / "in")
    windows = {"rows": sw.trailing(5), "time": sw.trailing("9 s")}
    plain: dict[str, Any] = {"by": "k", "order": "t", "lateness": "5 s"}
    files.add(came[:170], parts=2)
    run(sw.slide(files.stream(spark), AGGREGATES, windows, **plain), tmp_path)
    files.add(came[170:])
    files.add([sentinel(FAR)])
    zone, partitions = "spark.sql.session.timeZone", "spark.sql.shuffle.partitions"
    others: list[tuple[str, dict[str, str], Any]] = [
        ("min_v", {}, lambda s: sw.slide(s, [*AGGREGATES[:-1], sw.min("v")], windows, **plain)),
        ("trailing_6", {}, lambda s: sw.slide(s, AGGREGATES, {**windows, "rows": sw.trailing(6)}, **plain)),
        ("by_s_string", {}, lambda s: sw.slide(s, AGGREGATES, windows, **{**plain, "by": "s"})),
        ("buckets_3", {partitions: "3"}, lambda s: sw.slide(s, AGGREGATES, windows, **plain)),
        ("more", {}, lambda s: sw.slide(s.selectExpr("*", "1 more"), AGGREGATES, windows, **plain)),
    ]
    for said, settings, other in others:
        before = {name: str(spark.conf.get(name)) for name in settings}
        for name, value in settings.items():
            spark.conf.set(name, value)
        try:
            with pytest.raises(StreamingQueryException) as refused:
                run(other(files.stream(spark)), tmp_path)
        finally:
            for name, value in before.items():
                spark.conf.set(name, value)
        text = str(refused.value)
        assert "STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE" in text
        assert said in text, text
        assert "by_k_string" in text
        assert "sum_x_rows_sum_v1_x_int64_over_trailing_5" in text
    before_zone = str(spark.conf.get(zone))
    try:
        spark.conf.set(zone, "America/New_York")  # the rows in state do not mind
        run(sw.slide(files.stream(spark), AGGREGATES, windows, **plain), tmp_path)
    finally:
        spark.conf.set(zone, before_zone)
    names = ["n", "t", *(f"{name}_{label}" for label in windows for name in NAMES)]
    assert_answers([written(spark, tmp_path)], in_batch(spark, rows, windows, by="k", order="t"), names)


def test_order_is_promised_without_lateness(spark: SparkSession, tmp_path: Path) -> None:
    from pyspark.errors import StreamingQueryException

    rows = random_rows(40, seed=7)
    files = Files(tmp_path / "in")
    for part in (rows[20:], rows[39:], rows[:3]):
        files.add(part)
    with pytest.raises(StreamingQueryException, match=r"event\(s\) came after their answers, .* lateness="):
        run(sw.slide(files.stream(spark), AGGREGATES, sw.trailing(3), by="k", order="t"), tmp_path)


def test_late_rows_flagged_and_no_key(spark: SparkSession, tmp_path: Path) -> None:
    rows = random_rows(60, seed=8)
    files = Files(tmp_path / "in")
    for part in (rows[20:], [sentinel(60)], rows[:20], [sentinel(FAR)]):
        files.add(part)
    stream = files.stream(spark).select("n", "k", "t", "x")
    query = run(sw.slide(stream, sw.count(), sw.trailing(100), order="t", lateness="1 s", late="column"), tmp_path)
    made = written(spark, tmp_path).sort_by("n").select(["n", "count", "late"]).to_pydict()
    assert made["n"] == list(range(60))
    assert made["late"] == [True] * 20 + [False] * 40
    assert made["count"][:20] == [None] * 20
    assert sorted(made["count"][20:]) == list(range(1, 41))
    assert figures(query)["late_rows"] == 20


@pytest.mark.parametrize("kind", ["timestamp_ntz", "date", "long"])
def test_order_must_be_a_timestamp(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    stream = Files(tmp_path / "in").stream(spark).selectExpr("k", f"cast(t as {kind}) t")
    with pytest.raises(ArgumentError, match=r"order='t': is of type .*; a stream is ordered by event time"):
        sw.slide(stream, sw.count(), sw.trailing(3), by="k", order="t")


def test_names_that_a_stream_uses_itself_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    stream = Files(tmp_path / "in").stream(spark).selectExpr("k __gone", "t")
    with pytest.raises(ArgumentError, match="data: has a column named '__gone', which a stream uses itself; expected"):
        sw.slide(stream, sw.count(), sw.tumbling(3), by="__gone", order="t")


def test_null_order_stops_the_query(spark: SparkSession, tmp_path: Path) -> None:
    from pyspark.errors import StreamingQueryException

    files = Files(tmp_path / "in")
    files.add([{**sentinel(0), "t": None}])
    with pytest.raises(StreamingQueryException, match=r"order='t': holds 1 null\(s\); expected a value in every row"):
        run(sw.slide(files.stream(spark), sw.count(), sw.trailing(3), by="k", order="t"), tmp_path)
