"""Spark batch: 10 M rows, few keys and many, windows of 10 to 10^6 rows, to the noop sink.

    Parquet ──► repartition(key) ──► sortWithinPartitions(key, ts) ──► window ──► noop

Peers: Spark's own window functions, by default and with the segment tree that can be switched on. The default folds
each frame anew; where that would take hours it runs on fewer rows, and its time is multiplied by the ratio of elements
folded. With 100,000 keys a key has 100 rows, so no frame is longer; the bars are asked for all the same.
Floor: the same shuffle and sort with a mapInArrow that returns its rows as they are.
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import slidewise as sw
from bench.measure import Bar, Case, Report, Timing, timed, words
from bench.spark import session, spread_keys

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SEED = 20140901
KEYS = (4, 100_000)
WINDOWS = (10, 10_000, 1_000_000)
AGGREGATES = ("max", "stddev")
US, TREE, DEFAULT, FLOOR = "slidewise", "Spark, segment tree", "Spark, default", "floor: identity"
TREE_SETTING = "spark.sql.window.segmentTree.enabled"
SMALL = 20_000
FOLDED = {True: 2e7, False: 3e8}  # elements that the default may fold: quick, or not
FLAT = 1.5

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


def identity(df: DataFrame, aggregate: str, w: int) -> DataFrame:
    def same(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from batches

    return df.repartition("key").sortWithinPartitions("key", "ts").mapInArrow(same, df.schema)


CONTESTANTS: dict[str, Contestant] = {US: slidewise, TREE: spark_window, DEFAULT: spark_window, FLOOR: identity}


def run(quick: bool, say: Callable[[str], None]) -> Report:
    """Check and time every contestant on every case."""
    rows, times = (1_000_000, 1) if quick else (10_000_000, 3)
    report = Report("spark_batch", quick, "thousand rows/s", US)
    with tempfile.TemporaryDirectory(prefix="slidewise-bench-") as scratch, session(Path(scratch)) as spark:
        for keys in KEYS:
            df = _workload(spark, Path(scratch), keys, rows)
            for aggregate, w in itertools.product(AGGREGATES, WINDOWS):
                case: Case = {"aggregate": aggregate, "keys": keys, "window": w}
                say(words(case))
                for who in CONTESTANTS:
                    report.timings.append(_timing(spark, df, who, case, rows, times, quick))
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


def _timing(spark: SparkSession, df: DataFrame, who: str, case: Case, rows: int, times: int, quick: bool) -> Timing:
    build = CONTESTANTS[who]
    aggregate, w, keys = str(case["aggregate"]), int(case["window"]), int(case["keys"])
    spark.conf.set(TREE_SETTING, str(who == TREE).lower())
    small = df.where(f"ts < {SMALL}")
    wrong = "" if who == FLOOR else _wrong(build(small, aggregate, w).toArrow(), small.toArrow(), aggregate, w, keys)
    if wrong:
        return Timing(case, who, rows, wrong=wrong)
    fewer = _fewer(rows, keys, w, FOLDED[quick]) if who == DEFAULT else rows
    part = df if fewer == rows else df.where(f"ts < {fewer}")
    seconds = timed(lambda: build(part, aggregate, w).write.format("noop").mode("overwrite").save(), times)
    if fewer == rows:
        return Timing(case, who, rows, seconds)
    scale = _folded(rows, keys, w) / _folded(fewer, keys, w)
    note = f"{who}: on fewer rows, extrapolated by the elements it folds"
    return Timing(case, who, rows, tuple(scale * taken for taken in seconds), note=note)


def _folded(rows: int, keys: int, w: int) -> float:
    """Elements in all frames of w rows."""
    each = rows / keys
    return keys * (each * each / 2 if each <= w else w * w / 2 + (each - w) * w)


def _fewer(rows: int, keys: int, w: int, most: float) -> int:
    """Rows, at most these, that fold at most so many elements."""
    while rows > 1000 and _folded(rows, keys, w) > most:
        rows = int(rows * 0.8)
    return rows


def _wrong(answers: pa.Table, rows: pa.Table, aggregate: str, w: int, keys: int) -> str:
    """Compare a small run with Slidewise on the Arrow table; which is tested against the definition elsewhere."""
    expected = sw.slide(rows, getattr(sw, aggregate)("value").alias("answer"), sw.trailing(w), by="key", order="ts")
    if answers.num_rows != expected.num_rows:
        return f"{answers.num_rows:,} rows instead of {expected.num_rows:,}"
    got, wanted = (table.sort_by("ts")["answer"].to_numpy() for table in (answers, expected))
    if not np.allclose(got.astype(float), wanted.astype(float), rtol=1e-9, atol=1e-9, equal_nan=True):
        return "answers differ"
    return ""


def _bars(report: Report) -> None:
    report.flat(US, "window", FLAT)
    for case in report.cases():
        tree, default = report.ratio(case, TREE, US), report.ratio(case, DEFAULT, US)
        floor = report.ratio(case, US, FLOOR)
        if tree is not None:
            report.bars.append(Bar(f"{words(case)}: times as fast as Spark's segment tree", tree, 2.0, at_most=False))
        if default is not None and case["window"] == 10_000:
            report.bars.append(Bar(f"{words(case)}: times as fast as Spark's default", default, 50.0, at_most=False))
        if floor is not None:
            report.bars.append(Bar(f"{words(case)}: time through the floor's", floor, 1.3))
