"""Many queries over one stream: shared plans, and several windows in one call.

    002 fig. 13   one query: max over n rows at every row, by final aggregator
    002 fig. 14   all ranges 1 .. n at every row; fig. 15 is its ratio FlatFIT / FlatFAT
    002 fig. 16   memory of the final aggregators
    slicing       20 queries whose ranges their slides do not divide: panes, pairs, cutty
    realistic     1 m, 5 m, 15 m, 1 h, 24 h, 7 d x 6 aggregates per key at every event, on a table and on a stream

Figures 13 and 14 time the loop that slices, aggregates and answers, as the paper does; handing every query its own
answers is not in it. The realistic set is timed beside one result of it, call by call in turn, so that both see the
same machine, and on a table on one thread; then the same answers by one call per window, and by one per result.
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
from bench.arrays import workload
from bench.measure import Bar, Case, Report, Timing, timed, words
from bench.spark import session
from bench.spark_streaming import LATENESS_SECONDS, batch_rates
from bench.structures import SUBJECTS
from slidewise.sharing import FINALS, SLICINGS, Query, SharedPlan, SharedWindows
from slidewise.sharing.loops import build_cycle
from slidewise.sharing.values import entering

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SEED = 20170627
MAX = SUBJECTS["max"].monoid
US = "slidewise flatfit"
SPANS = {"1m": "1 min", "5m": "5 min", "15m": "15 min", "1h": "1 h", "24h": "24 h", "7d": "7 d"}
NAMES = ("count", "sum", "mean", "min", "max", "stddev")
DAYS = 14
ONE, ALL = "slidewise, one result", "slidewise, 36 results"
PER_WINDOW, PER_RESULT = "slidewise, a call per window", "slidewise, a call per result"
RESULTS, RANGES, KEPT = 6.0, 5.0, 0.6
"""The bars: 36 results through one; FlatFIT through FlatFAT at 1,000 ranges; what a stream of all keeps of its rate."""


def run(quick: bool, say: Callable[[str], None]) -> Report:
    """All figures; `quick` leaves out most sizes."""
    report = Report("sharing", quick, "ns per row", US)
    times = 3 if quick else 7
    for size in (16, 2**14) if quick else [4**k for k in range(11)]:
        say(f"one query, window {size:,}")
        _one_query(report, size, 100_000 if quick else 500_000, times)
    for size in (16, 1000) if quick else (1, 2, 4, 8, 16, 64, 256, 1000):
        say(f"all ranges, window {size:,}")
        _all_ranges(report, size, times)
    _ratios(report)
    report.tables["bytes per partial of a window, under max (002, figure 16)"] = memory_table(
        (1000, 1025, 2**14, 2**20)
    )
    say("slicing")
    _slicings(report, 50_000 if quick else 500_000, times)
    for keys in (100, 10_000):
        say(f"realistic set on a table, {keys:,} keys")
        _realistic(report, 200_000 if quick else 1_000_000, keys, times)
    say("realistic set on a stream")
    _streamed(report, 50_000 if quick else 200_000, 4 if quick else 10, say)
    return report


# ---- the paper's figures --------------------------------------------------------------------------------------------
def loop_of(final: str, plan: SharedPlan, values: Any) -> Callable[[], None]:
    """The execution phase of algorithm 1 over these values, room for the answers made before."""
    windows = SharedWindows(plan, final, types=("float64",))
    windows.extend(values)
    windows.extend(values[: plan.size])  # full, and compiled
    spans: Any = windows._spans
    cycle, ops, aggregator = spans._cycle, windows.parts.ops, spans.final
    kernel = ops.built((aggregator.key, "cycle"), lambda: build_cycle(ops, aggregator.steps()))
    partials, ok = spans._room(len(values) * len(plan.spans))
    given = [spans._integers(part) for part in (cycle.lengths, cycle.cuts, cycle.firsts, cycle.counts)]
    column, _ = entering(values, windows.parts.types)
    state = (aggregator.cols, aggregator.R, spans._held, spans._state)
    return lambda: kernel(*state, (column,), spans._mask(None), False, len(values), *given, partials, ok)


def _one_query(report: Report, size: int, rows: int, times: int) -> None:
    case: Case = {"queries": "one", "window": size}
    plan, values = SharedPlan([Query(MAX, size)]), workload(max(rows, size + 1))
    for final in FINALS:
        report.timings.append(
            Timing(case, f"slidewise {final}", len(values), timed(loop_of(final, plan, values), times))
        )


def _all_ranges(report: Report, size: int, times: int) -> None:
    case: Case = {"queries": "all ranges", "window": size}
    plan, values = SharedPlan([Query(MAX, count) for count in range(1, size + 1)]), workload(max(400, 200_000 // size))
    for final in FINALS:
        report.timings.append(
            Timing(case, f"slidewise {final}", len(values), timed(loop_of(final, plan, values), times))
        )


def _ratios(report: Report) -> None:
    rows = [["window", "one query", "all ranges"]]
    found: dict[int, dict[str, float]] = {}
    for timing in report.timings:
        fat = report.ratio(timing.case, "slidewise flatfat", US)
        if fat is not None:
            found.setdefault(int(timing.case["window"]), {})[str(timing.case["queries"])] = fat
    for size, ratios in sorted(found.items()):
        rows.append([f"{size:,}", *(f"{ratios[key]:.2f}" if key in ratios else "-" for key in ("one", "all ranges"))])
    report.tables["FlatFIT / FlatFAT throughput (002, figure 15)"] = rows
    at = {"queries": "all ranges", "window": 1000}
    best = {t.who: min(t.seconds) for t in report.timings if t.case == at}
    ratio = best["slidewise flatfat"] / best[US]
    report.bars.append(Bar("all ranges 1 .. 1,000: FlatFIT times as fast as FlatFAT", ratio, RANGES, at_most=False))


def memory_table(sizes: tuple[int, ...]) -> list[list[str]]:
    """002 figure 16: bytes per partial that each final aggregator holds."""
    rows = [["final aggregator", *(f"{size:,}" for size in sizes)]]
    for name, final in FINALS.items():
        cells = []
        for size in sizes:
            window = final(SharedWindows(SharedPlan([Query(MAX, 1)]), types=("float64",)).parts.ops, size)
            bank = getattr(window, "_bank", None)
            share = 1.0 if bank is None else bank.used / len(bank.cols[0])
            cells.append(f"{sum(column.nbytes for column in window.cols) * share / size:.1f}")
        rows.append([name, *cells])
    return rows


# ---- slicing --------------------------------------------------------------------------------------------------------
def _slicings(report: Report, rows: int, times: int) -> None:
    draw = np.random.default_rng(SEED)
    queries = [Query(MAX, int(slide * draw.integers(2, 40) + slide // 3), int(slide)) for slide in [12, 20, 30, 60] * 5]
    table, values = [["slicing", "partials per composite slide", "window in partials", "punctuations"]], workload(rows)
    case: Case = {"queries": "20, ranges not divisible", "window": max(query.length for query in queries)}
    for name in SLICINGS:
        plan = SharedPlan(queries, name)
        table.append([name, f"{plan.partials:,} in {plan.composite:,}", f"{plan.size:,}", f"{plan.punctuations:,}"])
        windows = SharedWindows(plan, types=("float64",))
        windows.extend(values)
        seconds = timed(lambda windows=windows: windows.extend(values), times)
        report.timings.append(Timing(case, US if name == "pairs" else f"{US}, {name}", rows, seconds))
    apart = [SharedWindows(SharedPlan([query]), types=("float64",)) for query in queries]
    seconds = timed(lambda: [windows.extend(values) for windows in apart], times)
    report.timings.append(Timing(case, "slidewise, a plan per query", rows, seconds))
    report.tables["slicing, 20 queries"] = table


# ---- the realistic set ----------------------------------------------------------------------------------------------
def aggregates() -> list[Any]:
    return [getattr(sw, name)("value") for name in NAMES]


def windows() -> dict[str, Any]:
    return {name: sw.trailing(span) for name, span in SPANS.items()}


def events(rows: int, keys: int) -> pa.Table:
    """Two weeks of readings, each of some key."""
    draw = np.random.default_rng([SEED, keys])
    times = np.sort(draw.integers(0, DAYS * 86_400_000_000, rows))
    return pa.table(
        {
            "key": draw.integers(0, keys, rows),
            "ts": pa.array(times, pa.timestamp("us")),
            "value": draw.normal(100.0, 10.0, rows),
        }
    )


def _realistic(report: Report, rows: int, keys: int, times: int) -> None:
    table, case = events(rows, keys), {"realistic set": "table", "keys": keys}

    def slide(what: Any, over: Any) -> Any:
        return sw.slide(table, what, over, by="key", order="ts", threads=1)

    contestants: dict[str, Callable[[], Any]] = {
        ONE: lambda: slide(sw.max("value"), sw.trailing("1 h")),
        ALL: lambda: slide(aggregates(), windows()),
        PER_WINDOW: lambda: [slide(aggregates(), window) for window in windows().values()],
        PER_RESULT: lambda: [slide(one, window) for window in windows().values() for one in aggregates()],
    }
    wrong = _differ(contestants[ALL](), contestants[PER_WINDOW]())
    taken: dict[str, list[float]] = {who: [] for who in contestants}
    for _ in range(times):
        for who, call in contestants.items():
            start = time.perf_counter()
            call()
            taken[who].append(time.perf_counter() - start)
    for who, seconds in taken.items():
        mine = wrong if who == ALL else ""
        report.timings.append(Timing(case, who, rows, () if mine else tuple(seconds), wrong=mine))
    best = {who: min(seconds) for who, seconds in taken.items()}
    report.bars.append(Bar(f"{words(case)}: 36 results through one", best[ALL] / best[ONE], RESULTS))
    report.bars.append(Bar(f"{words(case)}: 36 at once through a call per window", best[ALL] / best[PER_WINDOW], 1.0))


def _differ(together: pa.Table, apart: list[pa.Table]) -> str:
    for name, alone in zip(SPANS, apart, strict=True):
        for aggregate in NAMES:
            ours, theirs = together[f"{aggregate}_value_{name}"].to_numpy(), alone[f"{aggregate}_value"].to_numpy()
            if not np.allclose(ours, theirs, rtol=1e-9, equal_nan=True):
                return f"{aggregate} over {name} differs from the same window alone"
    return ""


def _streamed(report: Report, rows: int, batches: int, say: Callable[[str], None]) -> None:
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
