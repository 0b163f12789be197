"""Spark batch: 10 M rows, 4 keys and windows of 10 to 10^6 rows, then 100,000 keys; all to the noop sink.

    Parquet ──► repartition(key) ──► sortWithinPartitions(key, ts) ──► window ──► noop

Peers: Spark's own window functions, by default and with the segment tree that can be switched on. The default folds
each frame anew, so it gets fewer rows where frames are long, and none where no number of rows would both end in time
and fill the frames; its rows/s are those of the rows it had. Floor: the same shuffle and sort with a mapInArrow that
returns its rows as they are; it knows no window, so it is timed once per set of keys.
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import slidewise as sw
from bench.measure import Case, Report, Timing, words
from bench.spark import boxed, flatness, session, spread_keys, worst

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SEED = 20140901
US, TREE, DEFAULT, FLOOR = "slidewise", "Spark, segment tree", "Spark, default", "floor: identity"
TREE_SETTING = "spark.sql.window.segmentTree.enabled"
SMALL = 20_000
FLAT = 1.5


@dataclass(frozen=True)
class Size:
    """Rows; (keys, aggregate, window) of each case; seconds per contestant and case; elements the default may fold."""

    rows: int
    cases: tuple[tuple[int, str, int], ...]
    seconds: float
    folded: float


FEW_KEYS = tuple(itertools.product((4,), ("max", "stddev"), (10, 10_000, 1_000_000)))
FULL = Size(10_000_000, (*FEW_KEYS, (100_000, "max", 100)), 12.0, 1.2e9)
QUICK = Size(1_000_000, tuple(case for case in FEW_KEYS if case[1] == "max"), 1.0, 6e8)

Contestant = Callable[["DataFrame", str, int], "DataFrame"]


def slidewise(df: DataFrame, aggregate: str, w: int) -> DataFrame:
    answers: DataFrame = sw.slide(
        df, getattr(sw, aggregate)("value").alias("answer"), sw.trailing(w), by="key", order="ts"
    )
    return answers


def spark_window(df: DataFrame, aggregate: str, w: int) -> DataFrame:
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    frame = Window.partitionBy("key").orderBy("ts").rowsBetween(1 - w, 0)
    return df.withColumn("answer", getattr(F, aggregate)("value").over(frame))


def identity(df: DataFrame) -> DataFrame:
    def same(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from batches

    return df.repartition("key").sortWithinPartitions("key", "ts").mapInArrow(same, df.schema)


CONTESTANTS: dict[str, Contestant] = {US: slidewise, TREE: spark_window, DEFAULT: spark_window}


def run(quick: bool, say: Callable[[str], None]) -> Report:
    """Check and time every contestant on every case."""
    size = QUICK if quick else FULL
    report = Report("spark_batch", quick, "thousand rows/s", US)
    frames: dict[int, DataFrame] = {}
    floors: dict[int, tuple[float, ...]] = {}
    with tempfile.TemporaryDirectory(prefix="slidewise-bench-") as scratch, session(Path(scratch)) as spark:
        for keys, aggregate, w in size.cases:
            case: Case = {"aggregate": aggregate, "keys": keys, "window": w}
            say(words(case))
            if keys not in frames:
                frames[keys] = df = _workload(spark, Path(scratch), keys, size.rows)
                _write(identity(df.where(f"ts < {SMALL}")))
                floors[keys] = boxed(lambda df=df: _write(identity(df)), size.seconds)
            timings = [_timing(spark, frames[keys], who, case, size) for who in CONTESTANTS]
            report.timings += [timing for timing in timings if timing is not None]
            report.timings.append(Timing(case, FLOOR, size.rows, floors[keys]))
    _bars(report)
    return report


def _workload(spark: SparkSession, scratch: Path, keys: int, rows: int) -> DataFrame:
    """Rows in order of time, keys in turn, in as many files as there are million rows."""
    names = np.array(spread_keys(spark, keys) if keys < 1000 else range(keys))
    values = np.random.default_rng(SEED).normal(100.0, 10.0, rows)
    folder = scratch / f"rows-{keys}"
    folder.mkdir()
    for number, start in enumerate(range(0, rows, 1_000_000)):
        ts = np.arange(start, min(rows, start + 1_000_000))
        part = pa.table({"key": names[ts % keys], "ts": ts, "value": values[ts]})
        pq.write_table(part, folder / f"{number:05}.parquet")
    return spark.read.parquet(str(folder))


def _timing(spark: SparkSession, df: DataFrame, who: str, case: Case, size: Size) -> Timing | None:
    """None if the contestant cannot take part; the check has warmed it up."""
    build = CONTESTANTS[who]
    aggregate, w, keys = str(case["aggregate"]), int(case["window"]), int(case["keys"])
    rows = _fewer(size, keys, w) if who == DEFAULT else size.rows
    if rows < size.rows and rows / keys < w:
        return None
    spark.conf.set(TREE_SETTING, str(who == TREE).lower())
    small = df.where(f"ts < {SMALL}")
    wrong = _wrong(build(small, aggregate, w).toArrow(), small.toArrow(), aggregate, w)
    if wrong:
        return Timing(case, who, rows, wrong=wrong)
    part = df if rows == size.rows else df.where(f"ts < {rows}")
    seconds = boxed(lambda: _write(build(part, aggregate, w)), size.seconds)
    note = "" if rows == size.rows else f"{who}: on {rows:,} rows, window {w:,}; not extrapolated"
    return Timing(case, who, rows, seconds, note=note)


def _write(df: DataFrame) -> None:
    df.write.format("noop").mode("overwrite").save()


def _fewer(size: Size, keys: int, w: int) -> int:
    """All rows, or as many as fold no more elements than the default may."""
    frame = min(w, size.rows // keys)
    return size.rows if size.rows * frame <= size.folded else int(size.folded / frame) // 1000 * 1000


def _wrong(answers: pa.Table, rows: pa.Table, aggregate: str, w: int) -> str:
    """Compare a small run with Slidewise on the Arrow table; which is tested against the definition elsewhere."""
    expected = sw.slide(rows, getattr(sw, aggregate)("value").alias("answer"), sw.trailing(w), by="key", order="ts")
    if answers.num_rows != expected.num_rows:
        return f"{answers.num_rows:,} rows instead of {expected.num_rows:,}"
    got, wanted = (table.sort_by("ts")["answer"].to_numpy() for table in (answers, expected))
    if not np.allclose(got.astype(float), wanted.astype(float), rtol=1e-9, atol=1e-9, equal_nan=True):
        return "answers differ"
    return ""


def _bars(report: Report) -> None:
    cases = report.cases()
    tree = {words(case): report.ratio(case, TREE, US) for case in cases}
    default = {words(case): report.ratio(case, DEFAULT, US) for case in cases if case["window"] == 10_000}
    floor = {words(case): report.ratio(case, US, FLOOR) for case in cases}
    report.bars += [
        *worst("times as fast as Spark's segment tree", tree, 2.0, at_most=False),
        *worst("times as fast as Spark's default", default, 50.0, at_most=False),
        *worst("time through the floor's", floor, 1.3, at_most=True),
        *worst("flat in the window, slowest through fastest", flatness(report, US), FLAT, at_most=True),
    ]
