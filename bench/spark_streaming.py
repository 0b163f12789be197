"""Spark streaming, steady state: an answer per event, 10 and 10,000 keys, windows of 10 to 10^6 rows and of 60, 600 s.

    Parquet files, one per micro-batch ──► query ──► noop; rows/s of a batch = its rows through its trigger's time

The first batches start workers, load kernels and compile Spark's own code; they do not count. Peers: Spark's
``window(60 s, 1 s)`` and ``window(600 s, 1 s)``, which copy each row 60 and 600 times and answer once a second and key,
not once an event; each runs as many batches as fit into its time box, of a size it can manage (the larger the better
for it, since planning 600 copies of a row costs seconds by itself). And a plain per-key transformWithState that folds a
list (naive.py), over 60 s. Floor: the same packets through a processor that returns them as they are.
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
from bench.measure import Case, Report, Timing, words
from bench.naive import naive
from bench.spark import CORES, flatness, session, worst

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SEED = 20120222
SCHEMA = "key LONG, ts TIMESTAMP, value DOUBLE"
START = 1_600_000_000_000_000
TICK = 100  # microseconds between events
LATENESS_SECONDS = 2
KEYS = (10, 10_000)
SPANS = {"60 s": 60, "600 s": 600}
FOUR = "1 s, 10 s, 60 s, 600 s"
"""Four windows in one query."""
US, FLOOR, NAIVE = "slidewise", "floor: identity", "plain transformWithState"
PEERS = {span: f"Spark, window({span}, 1 s)" for span in SPANS}
LIMITS = {"60 s": 30.0, "600 s": 100.0}
FLAT = 1.5
THROUGH_FLOOR = 1.5
ROWS_PER_SECOND_ON_TWO_CORES = 350_000

Query = Callable[["DataFrame", "int | str"], "DataFrame"]


@dataclass(frozen=True)
class Size:
    """How much of everything.

    Attributes
    ----------
    rows
        Rows of a micro-batch; `peer_rows` are those of Spark's own windows, by keys and span.
    windows
        Windows of ours, with the batches each gets; the last `steady` of them count.
    seconds
        The time box of a query: at its end no further batch counts, once there is one that does.
    """

    rows: int
    peer_rows: dict[tuple[int, str], int]
    windows: dict[int | str, int]
    steady: int
    seconds: float
    peer_seconds: float
    naive_rows: int


FULL = Size(
    rows=500_000,
    peer_rows={(10, "60 s"): 500_000, (10, "600 s"): 500_000, (10_000, "60 s"): 50_000, (10_000, "600 s"): 5_000},
    windows={10: 9, 1_000_000: 24, "60 s": 9, "600 s": 14, FOUR: 14},
    steady=4,
    seconds=60.0,
    peer_seconds=25.0,
    naive_rows=5_000,
)
QUICK = Size(
    rows=100_000,
    peer_rows={(10, "60 s"): 100_000, (10_000, "60 s"): 10_000},
    windows={10: 4, "60 s": 4},
    steady=2,
    seconds=6.0,
    peer_seconds=3.0,
    naive_rows=500,
)


def slidewise(events: DataFrame, window: int | str) -> DataFrame:
    lateness = f"{LATENESS_SECONDS} s" if events.isStreaming else None
    windows: Any = sw.trailing(window)
    if window == FOUR:
        windows = {span.replace(" ", ""): sw.trailing(span) for span in FOUR.split(", ")}
    answers: DataFrame = sw.slide(events, sw.max("value"), windows, by="key", order="ts", lateness=lateness)
    return answers


def plain(events: DataFrame, window: int | str) -> DataFrame:
    return naive(events, SPANS[str(window)])


def spark_window(events: DataFrame, window: int | str) -> DataFrame:
    from pyspark.sql import functions as F

    marked = events.withWatermark("ts", f"{LATENESS_SECONDS} seconds") if events.isStreaming else events
    span = F.window("ts", f"{SPANS[str(window)]} seconds", "1 second")
    return marked.groupBy("key", span).agg(F.max("value").alias("max_value"))


def floor(events: DataFrame, window: int | str) -> DataFrame:
    return identity(events.withWatermark("ts", f"{LATENESS_SECONDS} seconds"), "key")


def run(quick: bool, say: Callable[[str], None]) -> Report:
    """Check and time every contestant on every case."""
    size = QUICK if quick else FULL
    report = Report("spark_streaming", quick, "thousand rows/s", US)
    with tempfile.TemporaryDirectory(prefix="slidewise-bench-") as scratch, session(Path(scratch)) as spark:
        for keys in KEYS:
            place = Path(scratch, str(keys))
            say(f"keys {keys:,}: {FLOOR}, and the check")
            wrong = _wrong(spark, place / "check", keys)
            least = batch_rates(spark, floor, place, keys, size.rows, "", min(size.windows.values()), size.seconds)
            for window, batches in size.windows.items():
                case: Case = {"keys": keys, "window": window}
                say(words(case))
                rates = batch_rates(spark, slidewise, place, keys, size.rows, window, batches, size.seconds)
                _add(report, case, US, rates[-size.steady :], wrong[US])
                if window in SPANS:
                    rows, span = size.peer_rows[keys, str(window)], str(window)
                    say(f"{words(case)}: {PEERS[span]}")
                    rates = batch_rates(spark, spark_window, place, keys, rows, span, 8, size.peer_seconds)
                    note = f"{PEERS[span]}: batches of {rows:,} rows with {keys:,} keys; an answer per second and key"
                    _add(report, case, PEERS[span], rates[1:] or rates, wrong[PEERS["60 s"]], note)
                if window == "60 s":
                    say(f"{words(case)}: {NAIVE}")
                    rates = batch_rates(spark, plain, place, keys, size.naive_rows, window, 8, size.peer_seconds)
                    note = f"{NAIVE}: batches of {size.naive_rows:,} rows; it takes rows as they come"
                    _add(report, case, NAIVE, rates[1:] or rates, "", note)
                _add(report, case, FLOOR, least[-size.steady :], "")
    _bars(report)
    return report


def _files(place: Path, keys: int, rows: int, batches: int, tick: int = TICK) -> Path:
    """A folder with a file per micro-batch: events in order but for the last second of disorder, keys at random."""
    place = place if tick == TICK else place / f"{tick}"
    folder = place / f"{batches}-of-{rows}"
    folder.mkdir(parents=True, exist_ok=True)
    known = place / f"all-of-{rows}"
    known.mkdir(exist_ok=True)
    now = time.time() - 3600
    for number in range(batches):
        path = known / f"{number:05}.parquet"
        if not path.exists():
            pq.write_table(_events(number, rows, keys, tick), path)
            os.utime(path, (now + number,) * 2)  # Spark takes the oldest file first
        if not (folder / path.name).exists():
            os.link(path, folder / path.name)
    return folder


def _events(number: int, rows: int, keys: int, tick: int = TICK) -> pa.Table:
    generator = np.random.default_rng([SEED, keys, number])
    ticks = (number * rows + np.arange(rows)) * tick
    order = np.argsort(ticks + generator.integers(0, 1_000_000, rows))
    return pa.table(
        {
            "key": generator.integers(0, keys, rows),
            "ts": pa.array(START + ticks[order], pa.timestamp("us", tz="UTC")),
            "value": generator.normal(100.0, 10.0, rows),
        }
    )


def batch_rates(
    spark: SparkSession,
    query: Query,
    place: Path,
    keys: int,
    rows: int,
    window: int | str,
    batches: int,
    seconds: float,
    tick: int = TICK,
) -> list[tuple[int, float]]:
    """Rows and seconds of each micro-batch that had rows and ended in time; of the first two in any case."""
    folder = _files(place, keys, rows, batches, tick)
    events = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(folder))
    with tempfile.TemporaryDirectory(prefix="checkpoint-", dir=place) as checkpoint:
        running = (
            query(events, window)
            .writeStream.format("noop")
            .option("checkpointLocation", checkpoint)
            .trigger(availableNow=True)
            .start()
        )
        deadline = time.monotonic() + seconds
        while not running.awaitTermination(0.2):
            if time.monotonic() > deadline and len(running.recentProgress) > 1:
                running.stop()
        progress = [report for report in running.recentProgress if report["numInputRows"]]
    return [(report["numInputRows"], report["durationMs"]["triggerExecution"] / 1000) for report in progress]


def _add(report: Report, case: Case, who: str, rates: list[tuple[int, float]], wrong: str, note: str = "") -> None:
    if wrong:
        report.timings.append(Timing(case, who, 0, wrong=wrong))
    elif rates:
        rows = rates[0][0]
        report.timings.append(Timing(case, who, rows, tuple(s * rows / n for n, s in rates), note=note))


def _wrong(spark: SparkSession, place: Path, keys: int) -> dict[str, str]:
    """Small runs against the same call on an Arrow table, which is tested against the definition elsewhere."""
    rows, batches, span = 20_000, 3, "60 s"
    folder = _files(place, keys, rows, batches)
    table = pa.concat_tables(_events(number, rows, keys) for number in range(batches))
    streamed = _collected(spark, folder, span)
    newest = START + (rows * batches - 1) * TICK
    answered = newest // 1000 * 1000 - LATENESS_SECONDS * 1_000_000  # Spark keeps its watermark in milliseconds
    expected = sw.slide(table, sw.max("value"), sw.trailing(span), by="key", order="ts")
    expected = expected.filter(pa.array(expected["ts"].cast(pa.int64()).to_numpy() <= answered))
    batch = spark.read.schema(SCHEMA).parquet(str(folder))
    windows = spark_window(batch, span).selectExpr("key", "window.end ts", "max_value").toArrow()
    steps = sw.slide(table, sw.max("value"), sw.trailing(span).every("1 s"), by="key", order="ts")
    steps = steps.select(["key", "window_end", "max_value"]).rename_columns(["key", "ts", "max_value"])
    return {US: _differ(streamed, expected), PEERS[span]: _differ(windows, steps)}


def _collected(spark: SparkSession, folder: Path, span: str) -> pa.Table:
    events = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(folder))
    parts: list[pa.Table] = []
    with tempfile.TemporaryDirectory(prefix="checkpoint-", dir=folder.parent) as checkpoint:
        running = slidewise(events, span).writeStream.foreachBatch(lambda frame, _: parts.append(frame.toArrow()))
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
    ours = [timing for timing in report.timings if timing.who == US and timing.nanoseconds is not None]
    rates = {words(timing.case): 1e6 / timing.nanoseconds for timing in ours if timing.nanoseconds is not None}
    if CORES == 2:
        limit = ROWS_PER_SECOND_ON_TWO_CORES / 1000
        report.bars += worst("thousand rows/s, steady, on two cores", dict(rates), limit, at_most=False)
    floors = {words(timing.case): 1 / (report.ratio(timing.case, FLOOR, US) or 1.0) for timing in ours}
    report.bars += worst("time through the floor's", floors, THROUGH_FLOOR, at_most=True)
    flat = flatness(report, US, apart=FOUR)
    report.bars += worst("flat in the window, slowest through fastest", flat, FLAT, at_most=True)
    for span, limit in LIMITS.items():
        for keys in KEYS:
            case: Case = {"keys": keys, "window": span}
            found = {words(case): report.ratio(case, PEERS[span], US)}
            report.bars += worst(f"times as fast as {PEERS[span]}", found, limit, at_most=False)
