"""Monoid Tree Aggregators, in memory and in stores: the experiments of the MTA paper (000, section 5).

    fig. 6    a window of constant size: ns per element for insert, evict and query, over window sizes
    fig. 7    one eviction of 1 to almost all of 2^23 elements, and the answer after it: µs
    table 2   aggregates of a memory-usage stream, one reading per second, at most 2^20 of them; `max` also evicts what
              is older than the maximum, the longest increasing run what is older than the run: ns per reading
    fig. 8    the window size that is reached under a memory limit: full, out of memory, or an update over 5 s
    fig. 9    k counts in one window of 2^15, k from 1 to 50: ns per element, beside k times the first

Everything in memory is machine code over doubles. The disk store is LMDB, Redis a server of its own on this machine
(left out where there is no `redis-server`). SLIDEWISE_BENCH_LARGE=1 goes up to 2^25 elements and 62,208,000 readings.
"""

from __future__ import annotations

import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa

import slidewise as sw
from bench.arrays import SEED
from bench.measure import Bar, Case, Report, Timing
from bench.stores import server
from slidewise.engine.columns import Column
from slidewise.engine.plan import make_plan
from slidewise.engine.policies import Enforcer
from slidewise.engine.stored import StoredState
from slidewise.kernels.ops import write
from slidewise.kernels.registers import HEAD, LAST, TAIL
from slidewise.kernels.uses import LEAVES
from slidewise.swag import ALGORITHMS, Structure
from slidewise.swag.recalculate import Recalculate
from slidewise.windows.policy import DataWindow

US = "slidewise amta"
LARGE = os.environ.get("SLIDEWISE_BENCH_LARGE") == "1"
LISTING_2 = sw.Monoid(
    identity=(0, 0.0),
    lift=lambda x: (1, x),
    combine=lambda a, b: (a[0] + b[0], b[1]),
    lower=lambda p: p[0],
    name="count",
)
"""The paper's monoid: how many there are, and the size that the newest one asks for."""

FLAT, AT_2_22_NS = 2.0, 80.0
EVICT_US = {"slidewise amta": 20.0, "slidewise amta on disk": 1_000.0, "slidewise amta on redis": 5_000.0}
TIMEOUT = 5.0
"""Seconds after which an update counts as stuck, as in the paper."""


@contextmanager
def redis_server() -> Iterator[str | None]:
    """The URL of a durable server of our own; None where there is no `redis-server`."""
    if shutil.which("redis-server") is None:
        yield None
        return
    with tempfile.TemporaryDirectory() as folder, server(folder) as url:
        yield url


# ---- contestants ----------------------------------------------------------------------------------------------------
@contextmanager
def window_of(who: str, redis: str | None, monoid: sw.Monoid = LISTING_2) -> Iterator[Structure]:
    """An empty window of a contestant, compiled; those in stores have one of their own."""
    if " on " not in who:
        yield ALGORITHMS[who.removeprefix("slidewise ")](monoid, types=("float64",))
        return
    with tempfile.TemporaryDirectory() as folder:
        url = f"disk:{folder}/store" if who.endswith("disk") else str(redis)
        state = StoredState(url, f"bench-{time.perf_counter_ns()}", create=True)
        try:
            yield state.structure(monoid, ("float64",), 1)
        finally:
            state.close()


def contestants(redis: str | None) -> list[str]:
    stores = ["slidewise amta on disk", *(["slidewise amta on redis"] if redis else [])]
    return [US, "slidewise log_mta", "slidewise daba", "slidewise recalculate", *stores]


def feed(window: Structure, values: Any, size: int | None) -> None:
    """Insert values in pieces, so that their answers need no memory; recalculation is not asked for answers."""
    if size is None and isinstance(window, Recalculate):
        window._make_room(len(values))
        window._sweep((values,), len(values))
        return
    for first in range(0, len(values), 2**20):
        window.extend_arrays(values[first : first + 2**20], size)


# ---- figure 6 -------------------------------------------------------------------------------------------------------
def constant_size(report: Report, sizes: list[int], redis: str | None, times: int, say: Callable[[str], None]) -> None:
    for size in sizes:
        case: Case = {"figure": "6", "window": size}
        rows = min(2**21, max(2**16, 2 * size))
        values = np.full(rows, float(size))
        values.flags.writeable = False
        for who in contestants(redis):
            if who.endswith("recalculate") and size > 2**12:
                continue
            say(f"constant size {size:,}: {who}")
            few = values[: max(64, 2**22 // size)] if who.endswith("recalculate") else values
            with window_of(who, redis) as window:
                feed(window, np.full(size, float(size)), size)
                taken = []
                for _ in range(times):
                    start = time.perf_counter()
                    feed(window, few, size)
                    taken.append(time.perf_counter() - start)
                wrong = "" if window.query() == size and len(window) == size else f"answers {window.query()}"
            report.timings.append(Timing(case, who, len(few), () if wrong else tuple(taken), wrong))
    _move_max(report, sizes[-1], times)
    _bars_6(report, sizes[-1])


def _move_max(report: Report, size: int, times: int) -> None:
    import bottleneck as bn

    values = np.random.default_rng(SEED).random(2 * size)
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        bn.move_max(values, size, 1)
        taken.append(time.perf_counter() - start)
    report.timings.append(Timing({"figure": "6", "window": size}, "bottleneck move_max", len(values), tuple(taken)))


def _bars_6(report: Report, largest: int) -> None:
    found = [t for t in report.timings if t.who == US and t.case.get("figure") == "6" and int(t.case["window"]) >= 2**9]
    each = [t.nanoseconds for t in found if t.nanoseconds is not None]
    report.bars.append(
        Bar(
            f"constant size from 512 to {largest:,}: {US} is flat, slowest through fastest", max(each) / min(each), FLAT
        )
    )
    report.bars.append(Bar(f"constant size {largest:,}: {US}, ns per element", each[-1], AT_2_22_NS))


# ---- figure 7 -------------------------------------------------------------------------------------------------------
def bulk_evictions(report: Report, size: int, redis: str | None, repeats: int, say: Callable[[str], None]) -> None:
    leaving = [1, 2**4, 2**8, 2**12, 2**16, size // 8, size // 2, size - 1]
    rows = [["structure", *(f"{k:,}" for k in leaving)]]
    values = np.ones(size)
    values.flags.writeable = False
    for who in contestants(redis):
        say(f"bulk evictions from {size:,}: {who}")
        cells, worst = [], 0.0
        with window_of(who, redis) as window:
            feed(window, values, None)
            window.evict_many(1)  # whatever is compiled at first use
            window.query()
            for k in leaving:
                taken = []
                for _ in range(2 if who.endswith(("daba", "recalculate")) else repeats):
                    feed(window, values[: size - len(window)], None)
                    window.evict_many(0)  # refilling has pushed the code itself out of the caches
                    start = time.perf_counter()
                    window.evict_many(k)
                    answer = window.query()
                    taken.append(time.perf_counter() - start)
                    assert answer == size - k, f"{who} answers {answer} after {k} of {size} left"
                cells.append(statistics.median(taken) * 1e6)
            worst = max(cells)
        rows.append([who, *(f"{cell:,.1f}" for cell in cells)])
        if who in EVICT_US:
            report.bars.append(
                Bar(f"an eviction of any size from {size:,}, and the answer: {who}, µs", worst, EVICT_US[who])
            )
    report.tables[f"fig. 7: an eviction from {size:,} elements and the answer, µs"] = rows


# ---- table 2 --------------------------------------------------------------------------------------------------------
def memory_usage(rows: int) -> tuple[Any, Any]:
    """One reading per second: a daily wave, processes that come and go, noise; in megabytes. Times in seconds."""
    draw = np.random.default_rng(SEED)
    time = np.arange(rows, dtype=np.int64)
    steps = np.where(draw.random(rows) < 1 / 600, draw.normal(0.0, 300.0, rows), 0.0)
    jobs = np.cumsum(steps)
    jobs -= np.minimum.accumulate(jobs)
    return 4000.0 + 500.0 * np.sin(time * (2 * np.pi / 86_400)) + jobs % 8000.0 + draw.normal(0.0, 5.0, rows), time


def policies(most: int) -> dict[str, tuple[sw.Aggregate, Any]]:
    """The aggregates and slide policies of the experiment, over columns x and t."""
    full = sw.evict_while(lambda total, old: total.n - old.n >= most, uses={"n": sw.count()})
    peak = sw.evict_while(lambda total, old: old.peak < total.peak, uses={"peak": sw.max("x")})
    run = sw.evict_while(
        lambda total, old: old.newest < total.run[0],
        uses={"run": sw.longest_increasing_run("x", "t"), "newest": sw.max("t")},
    )
    plain = {"sum": sw.sum("x"), "mean": sw.mean("x"), "geomean": sw.geomean("x"), "stddev": sw.stddev("x")}
    both = {"max": (sw.max("x"), full | peak), "longest run": (sw.longest_increasing_run("x", "t"), full | run)}
    return {**{name: (one, full) for name, one in plain.items()}, **both}


def head_by_head(enforcer: Enforcer, structure: type[Structure]) -> Any:
    """How structures without bulk eviction enforce a policy: the oldest element alone, again and again."""
    code, ops = enforcer.code, enforcer.code.ops
    steps = structure.build(ops, ops.jit)
    insert, evict, query, clear, lift_row = steps.insert, steps.evict, steps.query, steps.clear, code.lift_row
    names = {f"holds{k}": one for k, one in enumerate(code.holds)}
    asked = " or ".join(f"{name}(total, old) == {LEAVES}" for name in names)
    leaves = ops.jit(write("leaves(total, old)", f"return {asked}", names))
    load, store = ops.load, ops.store

    def loop(cols: Any, R: Any, heads: Any, mask: int, inputs: Any, valids: Any, rows: int) -> int:
        R[HEAD], R[TAIL], R[LAST] = 0, 0, -1
        clear(cols, R)
        for row in range(rows):
            p = lift_row(inputs, valids, row)
            store(heads, row & mask, p)
            insert(cols, R, p)
            while R[HEAD] < R[TAIL] and leaves(query(cols, R), load(heads, R[HEAD] & mask)):
                evict(cols, R)
        return int(R[TAIL] - R[HEAD])

    return ops.kernel(loop)


def analytics(report: Report, rows: int, most: int, times: int, say: Callable[[str], None]) -> None:
    x, t = memory_usage(rows)
    for array in (x, t):
        array.flags.writeable = False
    for name, (aggregate, window) in policies(most).items():
        case: Case = {"table": "2", "aggregate": name, "readings": rows}
        joint = window | sw.evict_while(lambda total, old: False, uses={"answer": aggregate})
        plan = make_plan({"x": pa.float64(), "t": pa.int64()}, aggregate, joint)
        (asked,) = plan.windows
        assert isinstance(asked, DataWindow)
        enforcer = Enforcer(plan, asked)
        columns = {"x": Column(x), "t": Column(t)}
        say(f"analytics, {name}: {US}")
        left, seconds = 0, []
        for _ in range(times + 1):
            bank = enforcer.bank()
            bank.add()
            lo, hi = np.zeros(rows, dtype=np.int64), np.zeros(rows, dtype=np.int64)
            start = time.perf_counter()
            enforcer.bounds(bank, columns, np.array([[0, 1, 0, 0, rows, rows]]), lo, hi)
            seconds.append(time.perf_counter() - start)
            left = int(hi[-1] - lo[-1])
        report.timings.append(Timing(case, US, rows, tuple(seconds[1:])))
        inputs, valids = enforcer._inputs(columns)
        for algorithm in ("daba", "recalculate"):
            few = min(rows, 2_000) if algorithm == "recalculate" else rows
            say(f"analytics, {name}: slidewise {algorithm}")
            structure = ALGORITHMS[algorithm]
            kernel, seconds = head_by_head(enforcer, structure), []
            for _ in range(times + 1):
                bank = structure.bank(enforcer.code.ops)
                bank.add(min(most, rows) + 1)
                size = 1 << (min(most, rows)).bit_length()
                heads = enforcer.code.ops.columns(size)
                start = time.perf_counter()
                held = kernel(bank.cols, bank.regs[0], heads, size - 1, inputs, valids, few)
                seconds.append(time.perf_counter() - start)
            wrong = "" if few < rows or held == left else f"holds {held}, expected {left}"
            note = f"on {few:,} readings" if few < rows else ""
            report.timings.append(
                Timing(case, f"slidewise {algorithm}", few, () if wrong else tuple(seconds[1:]), wrong, note=note)
            )


# ---- figure 8 -------------------------------------------------------------------------------------------------------
LIMITED = """
import sys
from bench.mta import reach
print(reach(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
"""


def reach(who: str, capacity: int, megabytes: int) -> str:
    """Fill a window under a limit of private memory beyond what an empty one takes; runs in a process of its own."""
    with window_of(who, None) as window:
        feed(window, np.ones(2**12), None)
        values = np.ones(2**12)
        used = _private()
        resource.setrlimit(resource.RLIMIT_DATA, (used + megabytes * 2**20, resource.RLIM_INFINITY))
        try:
            while len(window) < capacity:
                start = time.perf_counter()
                feed(window, values, None)
                window.query()
                if time.perf_counter() - start > TIMEOUT:
                    return f"{len(window):,} (an update over 5 s)"
        except MemoryError:
            return f"{len(window):,} (out of memory)"
        finally:
            resource.setrlimit(resource.RLIMIT_DATA, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        return f"{len(window):,} (full)"


def _private() -> int:
    with open("/proc/self/status", encoding="ascii") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("VmData")) * 1024


def under_limits(report: Report, capacity: int, limits: list[int], say: Callable[[str], None]) -> None:
    rows = [["structure", *(f"{limit:,} MB" for limit in limits)]]
    for who in [US, "slidewise daba", "slidewise recalculate", "slidewise amta on disk"]:
        cells = []
        for limit in limits:
            say(f"memory limit {limit:,} MB: {who}")
            asked = [sys.executable, "-c", LIMITED, who, str(capacity), str(limit)]
            done = subprocess.run(asked, capture_output=True, text=True, check=False)
            cells.append(done.stdout.strip() or "out of memory at once")
        rows.append([who, *cells])
    report.tables[f"fig. 8: elements reached under a limit of private memory, capacity {capacity:,}"] = rows


# ---- figure 9 -------------------------------------------------------------------------------------------------------
def counts(k: int) -> sw.Monoid:
    """k counts and the newest's size, in one partial."""
    lifted = ", ".join("1" for _ in range(k))
    added = ", ".join(f"a[{i}] + b[{i}]" for i in range(k))
    scope: dict[str, Any] = {}
    exec(f"lift = lambda x: ({lifted}, x)\ncombine = lambda a, b: ({added}, b[{k}])\nlower = lambda p: p[0]", scope)
    identity = (*(0 for _ in range(k)), 0.0)
    return sw.Monoid(
        identity=identity, lift=scope["lift"], combine=scope["combine"], lower=scope["lower"], name=f"counts{k}"
    )


def dimensions(report: Report, ks: list[int], size: int, rows: int, times: int, say: Callable[[str], None]) -> None:
    values = np.full(rows, float(size))
    values.flags.writeable = False
    for who in (US, "slidewise amta on disk"):
        each = []
        for k in ks:
            say(f"{k} dimensions: {who}")
            with window_of(who, None, counts(k)) as window:
                feed(window, values[:size], size)
                taken = []
                for _ in range(times + 1):
                    start = time.perf_counter()
                    feed(window, values, size)
                    taken.append(time.perf_counter() - start)
            timing = Timing({"figure": "9", "dimensions": k}, who, rows, tuple(taken[1:]))
            report.timings.append(timing)
            each.append(timing.nanoseconds or 0.0)
        slope, intercept = np.polyfit(ks, each, 1)
        table = report.tables.setdefault(
            f"fig. 9: k counts in a window of {size:,}, ns per element",
            [["structure", "a + b·k by regression", *(f"k = {k}" for k in ks), f"{ks[-1]} times k = 1"]],
        )
        cells = [f"{one:,.0f}" for one in each]
        table.append([who, f"{intercept:,.0f} + {slope:,.1f}·k", *cells, f"{each[0] * ks[-1]:,.0f}"])
        what = f"{ks[-1]} dimensions in one window through {ks[-1]} windows of one: {who}"
        report.bars.append(Bar(what, each[-1] / (each[0] * ks[-1]), 0.5))


# ---- everything -----------------------------------------------------------------------------------------------------
def run(quick: bool, say: Callable[[str], None]) -> Report:
    """All figures; `quick` leaves out most sizes."""
    report = Report("mta", quick, "ns per row", US)
    times = 2 if quick else 3
    largest = 25 if LARGE else 18 if quick else 22
    with redis_server() as redis:
        constant_size(
            report,
            [2**k for k in ((9, largest) if quick else (0, 3, 6, 9, 12, 15, 18, 20, largest))],
            redis,
            times,
            say,
        )
        bulk_evictions(report, 2**20 if quick else 2**23, redis, 5 if quick else 9, say)
    analytics(report, 62_208_000 if LARGE else 200_000 if quick else 4_000_000, 2**14 if quick else 2**20, times, say)
    under_limits(report, 2**25 if LARGE else 2**20 if quick else 2**23, [4, 64] if quick else [16, 64, 256, 1024], say)
    dimensions(
        report, [1, 10] if quick else [1, 2, 5, 10, 20, 30, 40, 50], 2**15, 2**17 if quick else 2**19, times, say
    )
    return report
