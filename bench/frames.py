"""Frames in order: the count and the sum of each frame, over an array on one core, and on Spark; then the buffers.

Peers over arrays, each as its users would write it: pandas and Polars number the runs of a condition and group by that
number, which serves thresholds, boundaries and sessions; kinds that depend on the frame so far (delta, a limited sum)
have no such form, so their peer is a loop in Python, over fewer rows. On Spark: the same data through a plain
`trailing` window, and runs numbered with Spark's own window functions. Late events: frames_buffers.py.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import slidewise as sw
from bench.measure import Bar, Case, Report, Timing, timed, words
from bench.spark import CORES, boxed, session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SEED = 20160701
US, PANDAS, POLARS, LOOP, PLAIN, JVM = (
    "slidewise",
    "pandas",
    "Polars",
    "a loop in Python",
    "slidewise, trailing(100)",
    "Spark window functions",
)
FEW = 200_000
"""Rows for the loop in Python."""
GAP = 3
KEYS = 100

RUN = sw.frames.custom(lambda last, x: x > last, lambda last, x: x, lambda last, x: x < last, 0.0, "x", carries=True)
KINDS: dict[str, Any] = {
    "threshold": sw.frames.threshold("x", at_least=0.0),
    "boundary": sw.frames.boundary("x", [-10.0, -5.0, 0.0, 5.0, 10.0]),
    "delta": sw.frames.delta("x", 5.0),
    "delta, range": sw.frames.delta("x", 5.0, anchor="range"),
    "sum": sw.frames.aggregate(sw.sum("n"), 100),
    "session": sw.frames.session(GAP),
    "custom": RUN,
}


def workload(rows: int) -> dict[str, Any]:
    """A walk that comes back, whole numbers, and times with gaps."""
    draw = np.random.default_rng(SEED)
    x = np.cumsum(draw.normal(0.0, 1.0, rows))
    x = np.abs((x + 20.0) % 80.0 - 40.0) - 20.0  # folded into [-20, 20]
    gaps = draw.choice([1, 1, 1, 2, 3, 9], rows)
    return {"t": np.cumsum(gaps), "x": x, "n": draw.integers(0, 10, rows)}


def _slide(table: Any, name: str) -> Any:
    made = sw.slide(table, [sw.count(), sw.sum("n")], KINDS[name], order="t", threads=1, presorted=True)
    return np.asarray(made["count"]), np.asarray(made["sum_n"])


def _pandas(frame: Any, name: str) -> Any:
    marks = _marks(name, frame["x"], frame["t"])
    begins = marks.ne(marks.shift()) if name != "session" else marks
    groups = frame.assign(g=begins.cumsum())
    groups = groups[marks] if name == "threshold" else groups
    made = groups.groupby("g", sort=False)["n"].agg(["count", "sum"])
    return made["count"].to_numpy(), made["sum"].to_numpy()


def _marks(name: str, x: Any, t: Any) -> Any:
    import pandas as pd

    if name == "threshold":
        return x >= 0.0
    if name == "boundary":
        return pd.Series(np.searchsorted([-10.0, -5.0, 0.0, 5.0, 10.0], x, side="right"), index=x.index)
    return t.diff().gt(GAP)


def _polars(frame: Any, name: str) -> Any:
    import polars as pl

    if name == "threshold":
        mark = pl.col("x") >= 0.0
    elif name == "boundary":
        mark = sum((pl.col("x") >= bound).cast(pl.Int64) for bound in (-10.0, -5.0, 0.0, 5.0, 10.0))
    else:
        mark = (pl.col("t").diff() > GAP).fill_null(False).cum_sum()
    numbered = frame.with_columns(m=mark).with_columns(g=pl.col("m").rle_id())
    numbered = numbered.filter(pl.col("m")) if name == "threshold" else numbered
    made = numbered.group_by("g", maintain_order=True).agg(pl.len().alias("count"), pl.col("n").sum())
    return made["count"].to_numpy(), made["n"].to_numpy()


def _loop(columns: tuple[list[float], list[int], list[int]], name: str) -> Any:
    counts: list[int] = []
    sums: list[int] = []
    first = low = high = total = count = last = 0.0
    inside = False
    for x, n, _ in zip(*columns, strict=True):
        if name == "delta":
            ends = inside and not abs(x - first) < 5.0
        elif name == "delta, range":
            ends = inside and not max(high, x) - min(low, x) < 5.0
        elif name == "sum":
            ends = inside and total + n > 100
        else:
            ends = inside and x < last
        if ends:
            counts.append(int(count))
            sums.append(int(total))
            inside = False
        if inside:
            count, total, low, high = count + 1, total + n, min(low, x), max(high, x)
        elif name != "custom" or x > last:
            inside, first, low, high, total, count = True, x, x, x, n, 1
        last = x
    if inside:
        counts.append(int(count))
        sums.append(int(total))
    return np.array(counts), np.array(sums)


def run(quick: bool, say: Callable[[str], None]) -> Report:
    """Check and time every contestant on every kind."""
    rows, times = (1_000_000, 3) if quick else (10_000_000, 5)
    report = Report("frames", quick, "ns per row", US)
    _arrays(report, rows, times, say)
    with tempfile.TemporaryDirectory(prefix="slidewise-bench-") as scratch, session(Path(scratch)) as spark:
        path = Path(scratch) / "rows"
        path.mkdir()
        _write(path, 400_000 if quick else 5_000_000)
        _spark(report, spark.read.parquet(str(path)), quick, say)
    return report


def _arrays(report: Report, rows: int, times: int, say: Callable[[str], None]) -> None:
    import pandas as pd
    import polars as pl

    columns = workload(rows)
    table, frame, polars = pa.table(columns), pd.DataFrame(columns), pl.DataFrame(columns)
    few = tuple(columns[name][:FEW].tolist() for name in ("x", "n", "t"))
    for name in KINDS:
        case: Case = {"where": "array", "kind": name}
        say(words(case))
        truth = _slide(table, name)
        report.timings.append(Timing(case, US, rows, timed(lambda n=name: _slide(table, n), times)))
        if name in ("threshold", "boundary", "session"):
            for who, call, data in ((PANDAS, _pandas, frame), (POLARS, _polars, polars)):
                report.timings.append(_checked(case, who, rows, truth, lambda c=call, d=data, n=name: c(d, n), times))
        else:
            part = _slide(table.slice(0, FEW), name)
            report.timings.append(_checked(case, LOOP, FEW, part, lambda n=name: _loop(few, n), times))
        taken = report.find(case, US)
        if taken is not None and taken.nanoseconds is not None:
            report.bars.append(Bar(f"{words(case)}: M events/s", 1e3 / taken.nanoseconds, 20.0, at_most=False))


def _checked(case: Case, who: str, rows: int, truth: Any, call: Callable[[], Any], times: int) -> Timing:
    made = call()
    if not all(np.array_equal(a, b) for a, b in zip(made, truth, strict=True)):
        return Timing(case, who, rows, wrong=f"gives other frames than {US}")
    return Timing(case, who, rows, timed(call, times))


def _write(path: Path, rows: int) -> None:
    draw = np.random.default_rng(SEED)
    columns = {**workload(rows), "k": draw.integers(0, KEYS, rows)}
    for part in range(2 * CORES):
        some = slice(part * rows // (2 * CORES), (part + 1) * rows // (2 * CORES))
        pq.write_table(pa.table({name: column[some] for name, column in columns.items()}), path / f"{part}.parquet")


def _spark(report: Report, df: DataFrame, quick: bool, say: Callable[[str], None]) -> None:
    rows = df.count()
    for name in ("threshold", "delta", "sum", "session"):
        case: Case = {"where": "Spark", "kind": name}
        say(words(case))
        contestants: dict[str, Callable[[], None]] = {
            US: partial(_ran, _frames, df, KINDS[name]),
            PLAIN: partial(_ran, _frames, df, sw.trailing(100)),
        }
        if name in ("threshold", "session"):
            contestants[JVM] = partial(_ran, _by_windows, df, name)
            theirs, mine = (_total(made) for made in (_by_windows(df, name), _frames(df, KINDS[name])))
            if theirs != mine:
                report.timings.append(Timing(case, JVM, rows, wrong=f"{theirs}, {US} {mine}"))
                del contestants[JVM]
        for who, call in contestants.items():
            call()
            report.timings.append(Timing(case, who, rows, boxed(call, 60.0, 1 if quick else 3)))
        ratio = report.ratio(case, US, PLAIN)
        if ratio is not None:
            report.bars.append(Bar(f"{words(case)}: time through a plain window's", ratio, 1.5))


def _frames(df: DataFrame, window: Any) -> DataFrame:
    return sw.slide(df, [sw.count(), sw.sum("n")], window, by="k", order="t")


def _by_windows(df: DataFrame, name: str) -> DataFrame:
    """Frames of a threshold or a session in Spark's own terms."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    ordered = Window.partitionBy("k").orderBy("t")
    inside = F.col("x") >= 0.0 if name == "threshold" else F.lit(True)
    marked = df.withColumn("inside", inside)
    before = F.lag("inside").over(ordered) if name == "threshold" else F.lag("t").over(ordered)
    begins = ~F.coalesce(before, F.lit(False)) & inside if name == "threshold" else F.col("t") - before > GAP
    numbered = marked.withColumn("begins", F.coalesce(begins, F.lit(False)).cast("long"))
    numbered = numbered.withColumn("g", F.sum("begins").over(ordered.rowsBetween(Window.unboundedPreceding, 0)))
    groups = numbered.where("inside").groupBy("k", "g")
    return groups.agg(F.min("t"), F.max("t"), F.count(F.lit(1)).alias("count"), F.sum("n").alias("sum_n"))


def _total(made: DataFrame) -> tuple[int, int]:
    from pyspark.sql import functions as F

    (row,) = made.agg(F.count(F.lit(1)), F.sum(F.hash("count", "sum_n").cast("long"))).collect()
    return row[0], row[1]


def _ran(make: Callable[..., DataFrame], *call: Any) -> None:
    make(*call).write.format("noop").mode("overwrite").save()
