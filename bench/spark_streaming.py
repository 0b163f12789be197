"""Spark streaming, steady state: an answer per event, 10 and 10,000 keys, windows of 10 to 10^5 rows and of 60 s.

    Parquet files, one per micro-batch ──► query ──► noop; rows/s of a batch = its rows through its trigger's time

The first batches start workers, load kernels and compile Spark's own code; they are reported apart.
Peer: Spark's ``window(60 s, 1 s)``, which copies each row 60 times and answers once a second and key, not once an
event; it gets fewer batches. Floor: the same packets through a processor that returns them as they are.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import slidewise as sw
from bench.identity import identity
from bench.measure import Bar, Case, Report, Timing, words
from bench.spark import CORES, session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SEED = 20120222
SCHEMA = "key LONG, ts TIMESTAMP, value DOUBLE"
START = 1_600_000_000_000_000
TICK = 100  # microseconds between events
LATENESS_SECONDS = 2
LATENESS = f"{LATENESS_SECONDS} s"
KEYS = (10, 10_000)
TIME = "60 s"
US, SPARK, FLOOR = "slidewise", "Spark, window(60 s, 1 s)", "floor: identity"
FIRST = "slidewise, first batches"
FLAT = 1.5
ROWS_PER_SECOND_ON_TWO_CORES = 350_000


@dataclass(frozen=True)
class Size:
    """Rows per batch, how many batches, the first that counts as steady; batches for Spark's own window; windows."""

    rows: int
    batches: int
    steady: int
    spark_batches: int
    spark_steady: int
    windows: tuple[int | str, ...]


FULL = Size(500_000, 14, 8, 5, 3, (10, 1_000, 100_000, TIME))
QUICK = Size(100_000, 6, 3, 3, 2, (10, 100_000, TIME))


def slidewise(events: DataFrame, window: int | str) -> DataFrame:
    answers: DataFrame = sw.slide(
        events, sw.max("value"), sw.trailing(window), by="key", order="ts", lateness=_lateness(events)
    )
    return answers


def spark_window(events: DataFrame, window: int | str) -> DataFrame:
    from pyspark.sql import functions as F

    marked = events.withWatermark("ts", f"{LATENESS_SECONDS} seconds") if events.isStreaming else events
    return marked.groupBy("key", F.window("ts", "60 seconds", "1 second")).agg(F.max("value").alias("max_value"))


def floor(events: DataFrame, window: int | str) -> DataFrame:
    return identity(events.withWatermark("ts", f"{LATENESS_SECONDS} seconds"), "key")


def _lateness(events: DataFrame) -> str | None:
    return LATENESS if events.isStreaming else None


def run(quick: bool, say: Callable[[str], None]) -> Report:
    """Check and time every contestant on every case."""
    size = QUICK if quick else FULL
    report = Report("spark_streaming", quick, "thousand rows/s", US)
    with tempfile.TemporaryDirectory(prefix="slidewise-bench-") as scratch, session(Path(scratch)) as spark:
        for keys in KEYS:
            folder = _write_files(Path(scratch, f"events-{keys}"), keys, size)
            wrong = _wrong(spark, Path(scratch, f"check-{keys}"), keys)
            for window in size.windows:
                case: Case = {"keys": keys, "window": window}
                say(words(case))
                rates = _rates(spark, slidewise, folder, window, size.batches)
                _add(report, case, US, rates[size.steady :], wrong[US])
                _add(report, case, FIRST, rates[: size.steady], wrong[US], note=f"{FIRST}: before batch {size.steady}")
            say(f"keys {keys:,}: {FLOOR}")
            rates = _rates(spark, floor, folder, "", size.batches)
            for window in size.windows:
                _add(report, {"keys": keys, "window": window}, FLOOR, rates[size.steady :], "")
            say(f"keys {keys:,}: {SPARK}")
            rates = _rates(spark, spark_window, folder, TIME, size.spark_batches)[size.spark_steady :]
            note = f"{SPARK}: {size.spark_batches} batches, steady from batch {size.spark_steady}; an answer per second"
            _add(report, {"keys": keys, "window": TIME}, SPARK, rates, wrong[SPARK], note=note)
    _bars(report)
    return report


def _write_files(folder: Path, keys: int, size: Size) -> Path:
    """A file per micro-batch: events in order of time but for the last second of disorder, keys at random."""
    folder.mkdir(parents=True)
    now = time.time()
    for number in range(size.batches):
        path = folder / f"{number:05}.parquet"
        pq.write_table(_events(number, size.rows, keys), path)
        os.utime(path, (now - size.batches + number,) * 2)  # Spark takes the oldest file first
    return folder


def _events(number: int, rows: int, keys: int) -> pa.Table:
    generator = np.random.default_rng([SEED, keys, number])
    ticks = (number * rows + np.arange(rows)) * TICK
    order = np.argsort(ticks + generator.integers(0, 1_000_000, rows))
    return pa.table(
        {
            "key": generator.integers(0, keys, rows),
            "ts": pa.array(START + ticks[order], pa.timestamp("us", tz="UTC")),
            "value": generator.normal(100.0, 10.0, rows),
        }
    )


Query = Callable[["DataFrame", "int | str"], "DataFrame"]


def _rates(spark: SparkSession, query: Query, folder: Path, window: int | str, batches: int) -> list[tuple[int, float]]:
    """Rows and seconds of each micro-batch that had rows."""
    limited = folder if batches >= len(list(folder.iterdir())) else _fewer_files(folder, batches)
    events = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(limited))
    with tempfile.TemporaryDirectory(prefix="checkpoint-", dir=folder.parent) as checkpoint:
        running = (
            query(events, window)
            .writeStream.format("noop")
            .option("checkpointLocation", checkpoint)
            .trigger(availableNow=True)
            .start()
        )
        running.awaitTermination()
        progress = [report for report in running.recentProgress if report["numInputRows"]]
    return [(report["numInputRows"], report["durationMs"]["triggerExecution"] / 1000) for report in progress]


def _fewer_files(folder: Path, batches: int) -> Path:
    fewer = folder.with_name(f"{folder.name}-{batches}")
    if not fewer.exists():
        fewer.mkdir()
        for path in sorted(folder.iterdir())[:batches]:
            os.link(path, fewer / path.name)
    return fewer


def _add(report: Report, case: Case, who: str, rates: list[tuple[int, float]], wrong: str, note: str = "") -> None:
    if wrong:
        report.timings.append(Timing(case, who, 0, wrong=wrong))
    elif rates:
        rows = rates[0][0]
        report.timings.append(Timing(case, who, rows, tuple(s * rows / n for n, s in rates), note=note))


def _wrong(spark: SparkSession, folder: Path, keys: int) -> dict[str, str]:
    """Small runs against the same call on an Arrow table, which is tested against the definition elsewhere."""
    size = Size(20_000, 3, 0, 3, 0, ())
    _write_files(folder, keys, size)
    table = pa.concat_tables(_events(number, size.rows, keys) for number in range(size.batches))
    streamed = _collected(spark, folder)
    newest = START + (size.rows * size.batches - 1) * TICK
    answered = newest // 1000 * 1000 - LATENESS_SECONDS * 1_000_000  # Spark keeps its watermark in milliseconds
    expected = sw.slide(table, sw.max("value"), sw.trailing(TIME), by="key", order="ts")
    expected = expected.filter(pa.array(expected["ts"].cast(pa.int64()).to_numpy() <= answered))
    batch = spark.read.schema(SCHEMA).parquet(str(folder))
    windows = spark_window(batch, TIME).selectExpr("key", "window.end ts", "max_value").toArrow()
    steps = sw.slide(table, sw.max("value"), sw.trailing(TIME).every("1 s"), by="key", order="ts")
    steps = steps.select(["key", "window_end", "max_value"]).rename_columns(["key", "ts", "max_value"])
    return {US: _differ(streamed, expected), SPARK: _differ(windows, steps)}


def _collected(spark: SparkSession, folder: Path) -> pa.Table:
    events = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(folder))
    parts: list[pa.Table] = []
    with tempfile.TemporaryDirectory(prefix="checkpoint-", dir=folder.parent) as checkpoint:
        running = slidewise(events, TIME).writeStream.foreachBatch(lambda frame, _: parts.append(frame.toArrow()))
        running.option("checkpointLocation", checkpoint).trigger(availableNow=True).start().awaitTermination()
    return pa.concat_tables(parts)


def _differ(got: pa.Table, expected: pa.Table) -> str:
    if got.num_rows != expected.num_rows:
        return f"{got.num_rows:,} rows instead of {expected.num_rows:,}"
    by = [("key", "ascending"), ("ts", "ascending")]
    names = ["key", "ts", "max_value"]
    left, right = (list(_columns(table.select(names).sort_by(by))) for table in (got, expected))
    return "" if all(map(np.array_equal, left, right)) else "answers differ"


def _columns(table: pa.Table) -> Iterator[Any]:
    for column in table.columns:
        yield (
            column.cast(pa.timestamp("us", tz="UTC")).to_numpy()
            if pa.types.is_timestamp(column.type)
            else column.to_numpy()
        )


def _bars(report: Report) -> None:
    report.flat(US, "window", FLAT)
    for case in report.cases():
        ours = report.find(case, US)
        if ours is not None and ours.nanoseconds is not None and CORES == 2:
            what = f"{words(case)}: thousand rows/s, steady, on two cores"
            report.bars.append(Bar(what, 1e6 / ours.nanoseconds, ROWS_PER_SECOND_ON_TWO_CORES / 1000, at_most=False))
        spark = report.ratio(case, SPARK, US)
        if spark is not None:
            report.bars.append(Bar(f"{words(case)}: times as fast as {SPARK}", spark, 30.0, at_most=False))
