"""Many queries over one stream: shared plans, and several windows in one call.

    002 fig. 13   one query: max over n rows at every row, by final aggregator, and folded afresh (naive)
    002 fig. 14   all ranges 1 .. n at every row; fig. 15 is its ratio FlatFIT / FlatFAT
    002 fig. 16   memory of the final aggregators
    slicing       20 queries whose ranges their slides do not divide: panes, pairs, cutty
    sets          what users ask for, together and apart: bench/sharing_sets.py

Figures 13 and 14 time the loop that slices, aggregates and answers, as the paper does; handing every query its own
answers is not in it. The naive contestant folds every window anew in machine code, one plain loop over the array; it is
given fewer rows where its windows are long.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np

from bench.arrays import workload
from bench.measure import Bar, Case, Report, Timing, timed
from bench.sharing_sets import SEED, dashboard, realistic, streamed
from bench.structures import SUBJECTS
from slidewise.sharing import FINALS, SLICINGS, Query, SharedPlan, SharedWindows
from slidewise.sharing.loops import build_cycle
from slidewise.sharing.values import entering

MAX = SUBJECTS["max"].monoid
US, NAIVE = "slidewise flatfit", "naive"
FIGURE_13, FIGURE_14 = "002 figure 13, one query", "002 figure 14, all ranges"
FIGURE_15 = "002 figure 15: throughput of FlatFIT through FlatFAT"
FIGURE_16 = "002 figure 16: bytes per partial, under max"
RANGES = 5.0
"""The bar: FlatFIT through FlatFAT at 1,000 ranges."""

FOLDS = 50_000_000
"""So many ⊕ at most are timed of the naive contestant."""


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
    report.tables[FIGURE_16] = memory_table((1000, 1025, 2**14, 2**20))
    say("slicing")
    _slicings(report, 50_000 if quick else 500_000, times)
    for keys in (100, 10_000):
        say(f"realistic set on a table, {keys:,} keys")
        realistic(report, 200_000 if quick else 1_000_000, keys, times)
    for keys in (10, 1000):
        say(f"dashboard on a table, {keys:,} keys")
        dashboard(report, 200_000 if quick else 1_000_000, keys, times)
    say("realistic set on a stream")
    streamed(report, 50_000 if quick else 200_000, 4 if quick else 10, say)
    return report


# ---- the paper's figures --------------------------------------------------------------------------------------------
def loop_of(final: str, plan: SharedPlan, values: Any) -> Callable[[], None]:
    """The execution phase of algorithm 1 over these values, room for the answers made before."""
    windows = SharedWindows(plan, final, types=("float64",))
    windows.extend(values)
    windows.extend(values[: plan.size])  # full, and compiled
    spans: Any = windows._spans
    ops, aggregator = windows.parts.ops, spans.final
    kernel = ops.built((aggregator.key, "cycle"), lambda: build_cycle(ops, aggregator.steps()))
    partials, ok = spans._room(len(values) * len(plan.spans))
    column, _ = entering(values, windows.parts.types)
    state = (aggregator.cols, aggregator.R, spans._held, spans._state)
    return lambda: kernel(*state, (column,), spans._mask(None), False, len(values), *spans.listed, partials, ok)


@numba.njit(nogil=True)  # type: ignore[untyped-decorator]
def naive_one(values: Any, size: int, answers: Any) -> None:
    """The maximum of the last `size` values at every row, each folded from all of them."""
    for i in range(len(values)):
        largest = -np.inf
        for j in range(max(0, i + 1 - size), i + 1):
            largest = max(largest, values[j])
        answers[i] = largest


@numba.njit(nogil=True)  # type: ignore[untyped-decorator]
def naive_all(values: Any, size: int, answers: Any) -> None:
    """The same for every range 1 .. size, none of which knows of another."""
    for i in range(len(values)):
        for count in range(1, size + 1):
            largest = -np.inf
            for j in range(max(0, i + 1 - count), i + 1):
                largest = max(largest, values[j])
            answers[i, count - 1] = largest


def _one_query(report: Report, size: int, rows: int, times: int) -> None:
    case: Case = {"queries": FIGURE_13, "window": size}
    plan, values = SharedPlan([Query(MAX, size)]), workload(max(rows, size + 1))
    _finals(report, case, plan, values, times)
    fewer = values[: min(len(values), max(2 * size, FOLDS // size))]
    if len(fewer) * size <= 10 * FOLDS:
        answers = np.empty(len(fewer))
        seconds = timed(lambda: naive_one(fewer, size, answers), times)
        report.timings.append(Timing(case, NAIVE, len(fewer), seconds, wrong=_wrong(plan, fewer, answers[:, None])))


def _all_ranges(report: Report, size: int, times: int) -> None:
    case: Case = {"queries": FIGURE_14, "window": size}
    plan, values = SharedPlan([Query(MAX, count) for count in range(1, size + 1)]), workload(max(400, 200_000 // size))
    _finals(report, case, plan, values, times)
    fewer = values[: min(len(values), max(2, 2 * FOLDS // size**2))]
    answers = np.empty((len(fewer), size))
    seconds = timed(lambda: naive_all(fewer, size, answers), times)
    report.timings.append(Timing(case, NAIVE, len(fewer), seconds, wrong=_wrong(plan, fewer, answers)))


def _finals(report: Report, case: Case, plan: SharedPlan, values: Any, times: int) -> None:
    for final in FINALS:
        seconds = timed(loop_of(final, plan, values), times)
        report.timings.append(Timing(case, f"slidewise {final}", len(values), seconds))


def _wrong(plan: SharedPlan, values: Any, answers: Any) -> str:
    """How answers, a column per query, differ from those of the plan."""
    found = SharedWindows(plan, types=("float64",)).extend(values)
    alike = all(np.array_equal(one.values[0], answers[:, number]) for number, one in enumerate(found))
    return "" if alike else "answers differ from the shared plan's"


def _ratios(report: Report) -> None:
    rows = [["window", "one query", "all ranges"]]
    found: dict[int, dict[str, float]] = {}
    for timing in report.timings:
        fat = report.ratio(timing.case, "slidewise flatfat", US)
        if fat is not None:
            found.setdefault(int(timing.case["window"]), {})[str(timing.case["queries"])] = fat
    for size, ratios in sorted(found.items()):
        rows.append([f"{size:,}", *(f"{ratios[key]:.2f}" if key in ratios else "-" for key in (FIGURE_13, FIGURE_14))])
    report.tables[FIGURE_15] = rows
    at = {"queries": FIGURE_14, "window": 1000}
    best = {t.who: min(t.seconds) for t in report.timings if t.case == at and t.seconds}
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
    rows.append([NAIVE, *("8.0" for _ in sizes)])  # the values themselves
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
