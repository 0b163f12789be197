"""Sets of windows that users ask for, together and apart: at every event, once a minute, and on a stream.

    realistic     1 m, 5 m, 15 m, 1 h, 24 h, 7 d x 6 aggregates per key at every event, on a table and on a stream
    dashboard     1 m, 5 m, 15 m, 1 h x 6 aggregates per key once a minute, on a table

Ours run in turn, so that all see the same machine, on a table on one thread: the set, the same answers by one call per
window and by one per result. Polars, whose windows each take a pass, follows on all cores: in turn with the others it
has the system hand out their memory anew each time.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

import slidewise as sw
from bench.measure import Bar, Case, Report, Timing, words
from bench.spark import session
from bench.spark_streaming import LATENESS_SECONDS, batch_rates

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SEED = 20170627
SPANS = {"1m": "1 min", "5m": "5 min", "15m": "15 min", "1h": "1 h", "24h": "24 h", "7d": "7 d"}
NAMES = ("count", "sum", "mean", "min", "max", "stddev")
DAYS = 14
ONE, ALL = "slidewise, one result", "slidewise, 36 results"
PER_WINDOW, PER_RESULT = "slidewise, a call per window", "slidewise, a call per result"
POLARS = "Polars, a pass per window"
RESULTS, KEPT = 6.0, 0.6
"""The bars: 36 results through one; what a stream of all keeps of its rate."""


def aggregates() -> list[Any]:
    return [getattr(sw, name)("value") for name in NAMES]


def windows() -> dict[str, Any]:
    return {name: sw.trailing(span) for name, span in SPANS.items()}


def events(rows: int, keys: int, days: int = DAYS) -> pa.Table:
    """So many days of readings, each of some key."""
    draw = np.random.default_rng([SEED, keys])
    times = np.sort(draw.integers(0, days * 86_400_000_000, rows))
    return pa.table(
        {
            "key": draw.integers(0, keys, rows),
            "ts": pa.array(times, pa.timestamp("us")),
            "value": draw.normal(100.0, 10.0, rows),
        }
    )


def realistic(report: Report, rows: int, keys: int, times: int) -> None:
    table, case = events(rows, keys), {"realistic set": "table", "keys": keys}

    def slide(what: Any, over: Any) -> Any:
        return sw.slide(table, what, over, by="key", order="ts", threads=1)

    contestants: dict[str, Callable[[], Any]] = {
        ONE: lambda: slide(sw.max("value"), sw.trailing("1 h")),
        ALL: lambda: slide(aggregates(), windows()),
        PER_WINDOW: lambda: [slide(aggregates(), window) for window in windows().values()],
        PER_RESULT: lambda: [slide(one, window) for window in windows().values() for one in aggregates()],
    }
    peers = {POLARS: polars_events(table)}
    together = contestants[ALL]()
    wrong = {ALL: differ(together, contestants[PER_WINDOW]()), POLARS: differ(together, peers[POLARS]())}
    best = _in_turn(report, case, rows, contestants, wrong, times) | _in_turn(report, case, rows, peers, wrong, 3)
    report.bars.append(Bar(f"{words(case)}: 36 results through one", best[ALL] / best[ONE], RESULTS))
    for other in (PER_WINDOW, POLARS):
        if other in best:
            report.bars.append(Bar(f"{words(case)}: 36 at once through {other}", best[ALL] / best[other], 1.0))


def _in_turn(
    report: Report, case: Case, rows: int, contestants: dict[str, Callable[[], Any]], wrong: dict[str, str], times: int
) -> dict[str, float]:
    """Time all of them, one after the other, so many times; the best of each that was right."""
    taken: dict[str, list[float]] = {who: [] for who in contestants if not wrong.get(who)}
    for _ in range(times):
        for who in taken:
            start = time.perf_counter()
            contestants[who]()
            taken[who].append(time.perf_counter() - start)
    for who in contestants:
        report.timings.append(Timing(case, who, rows, tuple(taken.get(who, ())), wrong=wrong.get(who, "")))
    return {who: min(seconds) for who, seconds in taken.items()}


def differ(together: pa.Table, apart: list[pa.Table]) -> str:
    """How the windows of one call differ from those of a table for each; empty if they do not."""
    for name, alone in zip(SPANS, apart, strict=True):
        for aggregate in NAMES:
            ours, theirs = together[f"{aggregate}_value_{name}"].to_numpy(), alone[f"{aggregate}_value"].to_numpy()
            if not np.allclose(ours, theirs, rtol=1e-9, equal_nan=True):
                return f"{aggregate} over {name} differs from the same window alone"
    return ""


def _polars_aggregates() -> list[Any]:
    import polars as pl

    theirs = {"stddev": "std"}
    return [getattr(pl.col("value"), theirs.get(name, name))().alias(f"{name}_value") for name in NAMES]


def polars_events(table: pa.Table) -> Callable[[], list[Any]]:
    """Every window at every event by Polars, rows back in their own order."""
    import polars as pl

    frame = pl.from_arrow(table.append_column("row", pa.array(np.arange(len(table)))))

    def run() -> list[Any]:
        made = []
        for span in SPANS.values():
            rolled = frame.rolling("ts", period=span.replace(" ", "").replace("min", "m"), group_by="key")
            made.append(rolled.agg(*_polars_aggregates(), pl.col("row").last()).sort("row"))
        return made

    return run


# ---- once a minute --------------------------------------------------------------------------------------------------
MINUTES = {"1m": 1, "5m": 5, "15m": 15, "1h": 60}


def every_minute() -> dict[str, Any]:
    return {name: sw.trailing(f"{many} min").every("1 min") for name, many in MINUTES.items()}


def dashboard(report: Report, rows: int, keys: int, times: int) -> None:
    """Four windows that end together, once a minute: one call, a call each, and Polars; the last two joined."""
    table, case = events(rows, keys, days=1), {"dashboard": "4 windows every minute", "keys": keys}
    us = "slidewise, all windows in one call"

    def slide(over: Any) -> pa.Table:
        return sw.slide(table, aggregates(), over, by="key", order="ts", threads=1)

    def joined() -> pa.Table:
        made: Any = None
        for name, window in every_minute().items():
            alone = slide(window).drop_columns(["window_start"])
            alone = alone.rename_columns(["key", "window_end", *(f"{n}_{name}" for n in alone.column_names[2:])])
            made = alone if made is None else made.join(alone, ["key", "window_end"], join_type="full outer")
        return made

    ours: dict[str, Callable[[], Any]] = {
        us: lambda: slide(every_minute()),
        "slidewise, a call per window, joined": joined,
    }
    peers = {"Polars, a pass per window, joined": polars_steps(table)}
    expected = _sorted(ours[us]())
    wrong = {who: _unequal(expected, _sorted(call())) for who, call in (ours | peers).items() if who != us}
    best = _in_turn(report, case, rows, ours, wrong, times) | _in_turn(report, case, rows, peers, wrong, 3)
    for other in (who for who in best if who != us):
        report.bars.append(Bar(f"{words(case)}: one call through {other}", best[us] / best[other], 1.0))


def polars_steps(table: pa.Table) -> Callable[[], Any]:
    """Every window once a minute by Polars, joined on key and end."""
    import polars as pl

    frame = pl.from_arrow(table)

    def run() -> Any:
        made: Any = None
        for name, many in MINUTES.items():
            grouped = frame.group_by_dynamic(
                "ts", every="1m", period=f"{many}m", offset=f"-{many - 1}m", group_by="key", label="right"
            )
            alone = grouped.agg(*(one.name.suffix(f"_{name}") for one in _polars_aggregates()))
            alone = alone.rename({"ts": "window_end"})
            made = alone if made is None else made.join(alone, ["key", "window_end"], how="full", coalesce=True)
        return made

    return run


def _sorted(made: Any) -> pa.Table:
    table = made if isinstance(made, pa.Table) else made.to_arrow()
    return table.sort_by([("key", "ascending"), ("window_end", "ascending")])


def _unequal(expected: pa.Table, made: pa.Table) -> str:
    if len(expected) != len(made):
        return f"{len(made):,} rows, where one call gives {len(expected):,}"
    for name in expected.column_names[2:]:
        ours, theirs = (np.asarray(one[name].to_numpy(), dtype=np.float64) for one in (expected, made))
        if not np.allclose(ours, theirs, rtol=1e-9, equal_nan=True):
            return f"{name} differs from one call"
    return ""


# ---- a stream -------------------------------------------------------------------------------------------------------


def streamed(report: Report, rows: int, batches: int, say: Callable[[str], None]) -> None:
    """Steady rates of a stream: two weeks in so many micro-batches, 100 keys."""
    keys, tick = 100, DAYS * 86_400_000_000 // (rows * batches)
    case: Case = {"realistic set": "stream", "keys": keys}

    def slide(what: Any, over: Any) -> Callable[[DataFrame, int | str], DataFrame]:
        lateness = f"{LATENESS_SECONDS} s"
        return lambda stream, _: sw.slide(stream, what, over, by="key", order="ts", lateness=lateness)

    def hopping(stream: DataFrame, _: int | str) -> DataFrame:
        from pyspark.sql import functions as F

        asked = [getattr(F, name)("value").alias(name) for name in NAMES]
        return stream.withWatermark("ts", "2 seconds").groupBy("key", F.window("ts", "1 hour", "1 minute")).agg(*asked)

    contestants: dict[str, Any] = {
        ONE: slide(sw.max("value"), sw.trailing("1 h")),
        "slidewise, six results of one window": slide(aggregates(), sw.trailing("1 h")),
        ALL: slide(aggregates(), windows()),
        "Spark, window(1 h, 1 min)": hopping,
    }
    steady: dict[str, list[tuple[int, float]]] = {who: [] for who in contestants}
    with tempfile.TemporaryDirectory(prefix="slidewise-bench-") as scratch, session(Path(scratch)) as spark:
        for turn in range(2):  # in turn, so that all see the same machine
            for who, query in contestants.items():
                say(f"stream, turn {turn + 1}: {who}")
                found = batch_rates(spark, query, Path(scratch, "files"), keys, rows, "", batches, 60.0, tick)
                steady[who] += found[len(found) // 2 :]
    note = "Spark's copies answer for 1 h only, once a minute and key: one of the six windows"
    for who, found in steady.items():
        seconds = tuple(s * rows / n for n, s in found)
        report.timings.append(Timing(case, who, rows, seconds, note=note if who.startswith("Spark") else ""))
    best = {who: max(n / s for n, s in found) for who, found in steady.items()}
    single = best["slidewise, six results of one window"]
    report.bars.append(
        Bar("stream: 36 results keep of the rate of one window", best[ALL] / single, KEPT, at_most=False)
    )
    report.bars.append(
        Bar("stream: 36 results keep of the rate of one result", best[ALL] / best[ONE], KEPT, at_most=False)
    )
