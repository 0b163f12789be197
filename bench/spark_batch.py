"""Spark batch: 10 M rows of 1, 4 and 100,000 keys and windows of 10 to 10^6 rows, all to the noop sink.

    Parquet ──► repartition(key) ──► sortWithinPartitions(key, ts) ──► window ──► noop

Peers (spark_peers.py): Spark's own window functions, by default and with the segment tree that can be switched on; a
pandas UDF over the window; DuckDB and Polars on the same files, without Spark. Spark's default folds each frame anew,
and a pandas UDF is called for each row, so they get fewer rows, and none where no number of rows would both end in time
and fill the frames; their rows/s are those of the rows they had. Floor: the same shuffle and sort with a mapInArrow
that returns its rows as they are; it knows no window, so it is timed once per set of keys.
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import slidewise as sw
from bench.measure import Case, Report, Timing, words
from bench.spark import boxed, flatness, session, spread_keys, worst
from bench.spark_peers import (
    MANY,
    TREE_SETTING,
    Contestant,
    OnFiles,
    asked,
    duckdb,
    identity,
    in_ranges,
    pandas_udf,
    polars,
    slidewise,
    spark_window,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SEED = 20140901
US, RANGES, TREE, DEFAULT, PANDAS = (
    "slidewise",
    "slidewise, two ranges",
    "Spark, segment tree",
    "Spark, default",
    "Spark, pandas UDF",
)
FLOOR = "floor: identity"
SMALL = 20_000
FLAT = 1.5


@dataclass(frozen=True)
class Size:
    """Rows; (keys, aggregate, window) of each case; seconds per contestant and case; elements that may be folded."""

    rows: int
    cases: tuple[tuple[int, str, int], ...]
    seconds: float
    folded: float


FEW_KEYS = tuple(itertools.product((4,), ("max", "stddev"), (10, 10_000, 1_000_000)))
OTHERS = ((4, "drawdown", 1_000), (4, MANY, 10_000), (100_000, "max", 100), (1, "max", 1_000))
FULL = Size(10_000_000, (*FEW_KEYS, *OTHERS), 12.0, 1.2e9)
QUICK = Size(1_000_000, (*(case for case in FEW_KEYS if case[1] == "max"), *OTHERS[:2]), 1.0, 6e8)

CONTESTANTS: dict[str, Contestant] = {
    US: slidewise,
    RANGES: in_ranges,
    TREE: spark_window,
    DEFAULT: spark_window,
    PANDAS: pandas_udf,
}
ON_FILES: dict[str, OnFiles] = {"DuckDB": duckdb, "Polars": polars}


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
            folder = Path(scratch) / f"rows-{keys}"
            if keys not in frames:
                frames[keys] = df = _workload(spark, folder, keys, size.rows)
                _write(identity(df.where(f"ts < {SMALL}")))
                floors[keys] = boxed(lambda df=df: _write(identity(df)), size.seconds)
            timings = [_timing(spark, frames[keys], who, case, size) for who in CONTESTANTS]
            timings += [_on_files(frames[keys], folder, who, case, size) for who in ON_FILES]
            report.timings += [timing for timing in timings if timing is not None]
            report.timings.append(Timing(case, FLOOR, size.rows, floors[keys]))
    _bars(report)
    return report


def _workload(spark: SparkSession, folder: Path, keys: int, rows: int) -> DataFrame:
    """Rows in order of time, keys in turn, in as many files as there are million rows."""
    names = np.array(spread_keys(spark, keys) if keys < 1000 else range(keys))
    values = np.random.default_rng(SEED).normal(100.0, 10.0, rows)
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
    rows = _rows(who, size, keys, w)
    if (who == RANGES and keys > 1) or (rows < size.rows and rows / keys < w):
        return None
    spark.conf.set(TREE_SETTING, str(who == TREE).lower())
    small = df.where(f"ts < {min(SMALL, rows)}")
    checked = build(small, aggregate, w)
    if checked is None:
        return None
    wrong = _wrong(checked.toArrow(), small.toArrow(), aggregate, w)
    if wrong:
        return Timing(case, who, rows, wrong=wrong)
    part = df if rows == size.rows else df.where(f"ts < {rows}")

    def timed() -> None:
        made = build(part, aggregate, w)
        assert made is not None
        _write(made)

    note = "" if rows == size.rows else f"{who}: on {rows:,} rows, window {w:,}; not extrapolated"
    return Timing(case, who, rows, boxed(timed, size.seconds), note=note)


def _on_files(df: DataFrame, folder: Path, who: str, case: Case, size: Size) -> Timing | None:
    """The same for those who read the files themselves; their rows stay in memory."""
    read = ON_FILES[who]
    aggregate, w = str(case["aggregate"]), int(case["window"])
    small = read(folder, aggregate, w, SMALL)
    if small is None:
        return None
    wrong = _wrong(small, df.where(f"ts < {SMALL}").toArrow(), aggregate, w)
    if wrong:
        return Timing(case, who, size.rows, wrong=wrong)

    def timed() -> None:
        read(folder, aggregate, w, size.rows)

    return Timing(case, who, size.rows, boxed(timed, size.seconds))


def _rows(who: str, size: Size, keys: int, w: int) -> int:
    """All rows, or as many as fold no more elements than a contestant may that folds each frame anew."""
    if who == PANDAS:
        return min(size.rows, SMALL)
    return _fewer(size, keys, w) if who == DEFAULT else size.rows


def _write(df: DataFrame) -> None:
    df.write.format("noop").mode("overwrite").save()


def _fewer(size: Size, keys: int, w: int) -> int:
    """All rows, or as many as fold no more elements than the default may."""
    frame = min(w, size.rows // keys)
    return size.rows if size.rows * frame <= size.folded else int(size.folded / frame) // 1000 * 1000


def _wrong(answers: pa.Table, rows: pa.Table, aggregate: str, w: int) -> str:
    """Compare a small run with Slidewise on the Arrow table; which is tested against the definition elsewhere."""
    aggregates, window = asked(aggregate, w)
    expected = sw.slide(rows, aggregates, window, by="key", order="ts")
    if answers.num_rows != expected.num_rows:
        return f"{answers.num_rows:,} rows instead of {expected.num_rows:,}"
    answers, expected = answers.sort_by("ts"), expected.sort_by("ts")
    for name in expected.column_names[rows.num_columns :]:
        got, wanted = (table[name].to_numpy().astype(float) for table in (answers, expected))
        if not np.allclose(got, wanted, rtol=1e-9, atol=1e-9, equal_nan=True):
            return f"{name} differs"
    return ""


def _bars(report: Report) -> None:
    cases = report.cases()
    one = [case for case in cases if case["aggregate"] != MANY]
    tree = {words(case): report.ratio(case, TREE, US) for case in one}
    default = {words(case): report.ratio(case, DEFAULT, US) for case in one if case["window"] == 10_000}
    floor = {words(case): report.ratio(case, US, FLOOR) for case in one}
    best = {words(case): _best(report, case) for case in cases if case["aggregate"] == MANY}
    report.bars += [
        *worst("times as fast as Spark's segment tree", tree, 2.0, at_most=False),
        *worst("times as fast as Spark's default", default, 50.0, at_most=False),
        *worst("time through the floor's", floor, 1.3, at_most=True),
        *worst("flat in the window, slowest through fastest", flatness(report, US), FLAT, at_most=True),
        *worst("times as fast as Spark's best", best, 5.0, at_most=False),
    ]


def _best(report: Report, case: Case) -> float | None:
    """How many times our time the faster of Spark's two ways takes."""
    known = [ratio for who in (TREE, DEFAULT) if (ratio := report.ratio(case, who, US)) is not None]
    return min(known, default=None)
