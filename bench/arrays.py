"""Arrays: one statistic over the last w of 10 M doubles, w from 16 to 2^20, on one core and on all.

Floor: a copy of the array, which reads and writes as much as any answer must.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable

import numpy as np

from bench.measure import Bar, Case, Report, Timing, timed, words
from bench.peers import ALL_CORES, OWN, PEERS, STATISTICS, US, Floats, Peer, largest_error, places_to_check

SEED = 20170619
WINDOWS = (16, 1024, 16384, 2**20)
FLOOR = "floor: np.copy"
TOLERANCE = 1e-6

# What the bars of DESIGN leave open, in figures.
FLAT = 1.5
SAME = 1.1
NEAR_A_COPY = 2.0
TWO_CORES = 1.6
DRIFTING = {("bottleneck", "sum"): 1.2, ("bottleneck", "mean"): 1.2, ("bottleneck", "stddev"): 2.0}


def workload(rows: int) -> Floats:
    """Readings around 100 with a slow swing."""
    generator = np.random.default_rng(SEED)
    return 100.0 + 20.0 * np.sin(np.arange(rows) / 5000.0) + generator.normal(0.0, 10.0, rows)


def run(quick: bool, say: Callable[[str], None]) -> Report:
    """Check and time every peer on every case."""
    rows, times = (1_000_000, 3) if quick else (10_000_000, 5)
    report = Report("arrays", quick, "ns per row", US)
    values = workload(rows)
    prepared: dict[tuple[str, int], object] = {}
    for statistic, w in itertools.product(STATISTICS, WINDOWS):
        case: Case = {"statistic": statistic, "window": w}
        say(words(case))
        for peer in PEERS:
            if statistic not in peer.statistics:
                continue
            mine = peer.rows(statistic, rows)
            if (peer.name, mine) not in prepared:
                prepared[peer.name, mine] = peer.prepare(values[:mine])
            report.timings.append(_timing(peer, prepared[peer.name, mine], values[:mine], rows, case, times))
        report.timings.append(Timing(case, FLOOR, rows, timed(lambda: np.copy(values), times)))
    _bars(report)
    return report


def _timing(peer: Peer, prepared: object, values: Floats, rows: int, case: Case, times: int) -> Timing:
    statistic, w = str(case["statistic"]), int(case["window"])
    places = places_to_check(len(values), w, 50, SEED)
    error = largest_error(peer.run(prepared, statistic, w), values, statistic, w, places)
    note = "" if len(values) == rows else f"{peer.name}: on {len(values):,} rows"
    if not error <= TOLERANCE:
        return Timing(case, peer.name, len(values), wrong=f"relative error {error:.1e}", error=error, note=note)
    seconds = timed(lambda: peer.run(prepared, statistic, w), times)
    return Timing(case, peer.name, len(values), seconds, error=error, note=note)


def _bars(report: Report) -> None:
    report.flat(US, "window", FLAT)
    drifts = {peer.name: peer.drifts for peer in PEERS}
    for case in report.cases():
        statistic = str(case["statistic"])
        for name in ("pandas", "Polars", "bottleneck", "numbagg", "DuckDB"):
            ratio = report.ratio(case, US, name)
            limit = DRIFTING.get((name, statistic)) if statistic in drifts[name] else 1.0
            if ratio is not None and limit is not None:
                report.bars.append(Bar(f"{words(case)}: time through {name}'s", ratio, limit))
        own = report.ratio(case, OWN, US)
        if own is not None:
            report.bars.append(Bar(f"{words(case)}: own max through the built-in", own, SAME))
        cores = report.ratio(case, US, ALL_CORES)
        if cores is not None and len(os.sched_getaffinity(0)) == 2:
            report.bars.append(Bar(f"{words(case)}: both cores through one", cores, TWO_CORES, at_most=False))
        copy = report.ratio(case, ALL_CORES, FLOOR)
        if copy is not None and statistic in ("sum", "max", "min"):
            report.bars.append(Bar(f"{words(case)}: all cores through a copy of the array", copy, NEAR_A_COPY))
