"""Window structures, fed element by element: the tables and figures of the papers, on our structures.

    bars          ns per element (evict, insert, query) at 2^14, against bottleneck's move_max on the same array
    001 table 2   latency of single rounds at 2^14: mean, standard deviation, p99.9, max; the worst round without noise
    001 table 3   from which window size on each structure beats recalculation
    001 fig. 13   throughput over window sizes: sum, geomean, Bloom filter
    002 fig. 13   throughput over window sizes: max, one query
    002 fig. 14   max over all ranges 1 .. n at every slide; fig. 15 is its ratio FlatFIT / FlatFAT
    002 fig. 16   memory

Where a monoid compiles, machine code runs; Bloom filters, Collect, FOA and IOA run on Python objects. A round is timed
by calling the loop of `extend` for one value, so a few hundred nanoseconds of each are the call's.
"""

from __future__ import annotations

import functools
import math
import statistics
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import slidewise as sw
from bench.arrays import SEED, workload
from bench.measure import Bar, Case, Report, Timing, timed, words
from slidewise.errors import ArgumentError
from slidewise.kernels.jit import kernel
from slidewise.kernels.ops import Ops
from slidewise.kernels.registers import HEAD, TAIL
from slidewise.monoids.catalogue import extremes, moments, sums
from slidewise.monoids.laws import same
from slidewise.swag import ALGORITHMS, Structure
from slidewise.swag.positional import Ranged
from slidewise.swag.structure import extend_of

US, PEER = "slidewise two_stacks_lite", "bottleneck move_max"
AT = 2**14
BITS = 16_384
PATIENCE = 0.1
"""Seconds that one measurement of something slow may take."""

BARS = {  # structure: {aggregate: at most this much of move_max's time}
    "two_stacks_lite": {"sum": 0.45, "max": 0.45, "stddev": 0.9},
    "daba_lite": {"sum": 0.75, "max": 0.75},
    "daba": {"sum": 0.95, "max": 0.95},
    "flatfit": {"sum": 1.4, "max": 1.4},
}
WORST_STAYS_FLAT = 3.0
"""How many times longer DABA's worst round may be in a window 64 times as large."""


def _later_of_larger(a: Any, b: Any) -> Any:
    return b if b[0] > a[0] else a


def _min_and_count(a: Any, b: Any) -> Any:
    if a[0] < b[0]:
        return a
    return b if b[0] < a[0] else (a[0], a[1] + b[1])


def _bloom(x: float) -> int:
    h = hash(x)
    return 1 << (h % BITS) | 1 << ((h >> 14) % BITS) | 1 << ((h >> 28) % BITS)


@dataclass(frozen=True)
class Subject:
    """An aggregate of the papers' experiments."""

    name: str
    monoid: sw.Monoid
    compiles: bool = True


SUBJECTS = {
    subject.name: subject
    for subject in (
        Subject("sum", sums.SUM_FLOAT),
        Subject("max", extremes.MAX_FLOAT),
        Subject(
            "argmax",
            sw.Monoid(
                identity=(-math.inf, 0.0),
                lift=lambda x: (x, x),
                combine=_later_of_larger,
                lower=lambda p: p[1],
                name="argmax",
            ),
        ),
        Subject(
            "mincount",
            sw.Monoid(
                identity=(math.inf, 0),
                lift=lambda x: (x, 1),
                combine=_min_and_count,
                lower=lambda p: p[1],
                name="mincount",
            ),
        ),
        Subject("mean", sums.MEAN_FLOAT),
        Subject("stddev", moments.STDDEV_MONOID),
        Subject(
            "geomean",
            sw.Monoid(
                identity=(0.0, 0),
                lift=lambda x: (math.log(x), 1),
                combine=lambda a, b: (a[0] + b[0], a[1] + b[1]),
                lower=lambda p: math.exp(p[0] / p[1]) if p[1] else None,
                name="geomean",
            ),
        ),
        Subject("bloom", sw.Monoid(identity=0, lift=_bloom, combine=lambda a, b: a | b, name="bloom"), compiles=False),
        Subject(
            "collect",
            sw.Monoid(
                identity=(),
                lift=lambda x: (x,),
                combine=lambda a, b: a + b,
                name="collect",
            ),
            compiles=False,
        ),
    )
}


def window_of(algorithm: str, subject: Subject, **options: Any) -> Structure | None:
    """An empty window, compiled if it can be; None where the structure refuses the monoid."""
    structure = ALGORITHMS[algorithm]
    types = ("float64",) if subject.compiles and structure.card.compiles else None
    try:
        return structure(subject.monoid, types=types, **options)
    except ArgumentError:
        return None


def values_for(window: Structure, values: Any) -> Any:
    """Values as the window's mode takes them."""
    if not window._ops.compiled:
        return values.tolist()
    values = np.ascontiguousarray(values)
    values.flags.writeable = False
    return values


# ---- throughput -----------------------------------------------------------------------------------------------------
def throughput(algorithm: str, subject: Subject, size: int, most: int, times: int) -> Timing | None:
    """Nanoseconds per element at a window of `size`: as many elements as `most`, or as there is patience for."""
    case: Case = {"aggregate": subject.name, "window": size}
    window = window_of(algorithm, subject)
    if window is None or _hopeless(algorithm, subject, size):
        return None
    draw = workload(size + most)
    fill(window, values_for(window, draw[:size]), size)
    rows, taken = 16, 0.0
    while rows < most and taken < PATIENCE / 4:  # how many there is patience for
        rows = min(most, rows * 4)
        start = time.perf_counter()
        window.extend_arrays(values_for(window, draw[size : size + rows]), size)
        taken = time.perf_counter() - start
    fed = values_for(window, draw[size : size + rows])
    wrong = _wrong(window, subject, fed, size)
    if wrong:
        return Timing(case, f"slidewise {algorithm}", rows, wrong=wrong)
    note = "" if window._ops.compiled else "on Python objects, as many elements as there was patience for"
    seconds = timed(lambda: window.extend_arrays(fed, size), times)
    return Timing(case, f"slidewise {algorithm}", rows, seconds, note=note)


def fill(window: Structure, values: Any, size: int) -> None:
    """Fill a window without asking it anything."""
    window._make_room(size)
    window._sweep((values,), len(values))


def _hopeless(algorithm: str, subject: Subject, size: int) -> bool:
    """True where one element would take seconds: recalculation of large windows, copies of large partials."""
    if algorithm == "recalculate":
        return size > (2**16 if subject.compiles else 2**14)
    return not subject.compiles and size > 2**14


def _wrong(window: Structure, subject: Subject, fed: Any, size: int) -> str:
    """Compare the newest answer with a fold of the window."""
    if len(fed) < size:
        return ""
    outs, ok = window.extend_arrays(fed, size)
    got = window._answers(outs, ok)[-1]
    monoid, lifted = subject.monoid, [subject.monoid.lifted(x) for x in list(fed[-size:])]
    expected = monoid.lowered(functools.reduce(monoid.combine, lifted))
    slack = 1e-9 * abs(expected) if isinstance(expected, float) else 0.0
    return "" if same(got, expected, slack) else f"answers {got!r}, expected {expected!r}"


# ---- latency --------------------------------------------------------------------------------------------------------
def latencies(window: Structure, size: int, rounds: int, repeats: int) -> tuple[Any, Any]:
    """Nanoseconds of each of `rounds` rounds in the first run, and the least of all runs, which begin alike."""
    ops, bank = window._ops, window._bank
    loop = extend_of(type(window), ops)
    outs, ok = ops.outputs(1), np.ones(1, dtype=np.bool_)
    taken = np.zeros((repeats, rounds), dtype=np.int64)
    clock = time.perf_counter_ns
    for k in range(repeats):
        draw = np.random.default_rng(SEED).normal(100.0, 10.0, size + rounds)
        window.clear()
        fill(window, values_for(window, draw[:size]), size)
        window._make_room(1)
        room: Any = np.zeros(1)
        inputs = (room.view(),) if ops.compiled else ([0.0],)
        if ops.compiled:
            inputs[0].flags.writeable = False
        held = room if ops.compiled else inputs[0]
        for i, x in enumerate(draw[size:].tolist()):
            held[0] = x
            start = clock()
            loop(bank.cols, bank.regs[0], inputs, 1, size, outs, ok)
            taken[k, i] = clock() - start
    return taken[0], taken.min(axis=0)


def latency_table(algorithms: Iterable[str], subjects: Iterable[Subject], size: int, rounds: int) -> list[list[str]]:
    """001 table 2: a row per structure and aggregate."""
    rows = [["structure", "aggregate", "mean", "sd", "p99.9", "max", "worst round"]]
    for subject in subjects:
        for algorithm in algorithms:
            window = window_of(algorithm, subject)
            if window is None or algorithm == "recalculate":
                continue
            few = rounds if window._ops.compiled else max(64, rounds // 64)
            one, least = latencies(window, size, few, 3)
            figures = [one.mean(), one.std(), np.percentile(one, 99.9), one.max(), least.max()]
            rows.append([algorithm, subject.name, *(f"{figure:,.0f}" for figure in figures)])
    return rows


def worst_round(algorithm: str, size: int) -> float:
    """The longest round of more than a whole period, scheduler's noise taken out."""
    window = window_of(algorithm, SUBJECTS["max"])
    assert window is not None
    return float(latencies(window, size, size + 64, 3)[1][8:].max())


# ---- break-even -----------------------------------------------------------------------------------------------------
def break_even(algorithm: str, subject: Subject, sizes: Iterable[int]) -> str:
    """The first size from which on the structure is faster than recalculation, or "never"."""
    since: int | None = None
    for size in sizes:
        one, naive = (throughput(name, subject, size, 5_000, 3) for name in (algorithm, "recalculate"))
        if one is None or naive is None or one.nanoseconds is None or naive.nanoseconds is None:
            return "refused"
        if one.nanoseconds >= naive.nanoseconds:
            since = None
        elif since is None:
            since = size
    return "never" if since is None else f"{since:,}"


# ---- all ranges at every slide --------------------------------------------------------------------------------------
def all_ranges(structure: type[Ranged], ops: Ops) -> Any:
    """The loop of 002's max-multi-query experiment: after each value the sums of the newest 1, 2, ..., n."""
    steps, ranges = structure.build(ops, ops.jit), structure.ranges(ops, ops.jit)
    insert, evict, lift_at, combine, query = steps.insert, steps.evict, ops.lift_at, ops.combine, ranges.query

    def loop(cols: Any, R: Any, inputs: Any, rows: int, size: int) -> Any:
        check = ops_identity
        for i in range(rows):
            while R[TAIL] - R[HEAD] >= size:
                evict(cols, R)
            insert(cols, R, lift_at(inputs, i))
            for first in range(R[HEAD], R[TAIL]):
                check = combine(check, query(cols, R, first, R[TAIL]))
        return check

    ops_identity = ops.identity
    return kernel(loop)


def multi_query(algorithm: str, size: int, slides: int, times: int) -> Timing:
    """Nanoseconds per slide, all n ranges answered."""
    window = window_of(algorithm, SUBJECTS["max"])
    assert isinstance(window, Ranged)
    values = values_for(window, workload(size + slides))
    fill(window, values[:size], size)
    window._make_room(1)
    loop, bank, fed = all_ranges(type(window), window._ops), window._bank, values[size:].copy()
    fed.flags.writeable = False
    case: Case = {"aggregate": "max, all ranges", "window": size}
    seconds = timed(lambda: loop(bank.cols, bank.regs[0], (fed,), slides, size), times)
    return Timing(case, f"slidewise {algorithm}", slides, seconds)


def memory_table(sizes: Iterable[int]) -> list[list[str]]:
    """002 figure 16: bytes per element of a window of doubles, under max."""
    sizes = list(sizes)
    rows = [["structure", *(f"{size:,}" for size in sizes)]]
    for algorithm in ALGORITHMS:
        cells = []
        for size in sizes:
            window = window_of(algorithm, SUBJECTS["max"], capacity=size)
            if window is not None and window._ops.compiled:
                used, (first, *_) = window._bank.used, window._bank.cols
                taken = sum(column.nbytes for column in window._bank.cols) * used / len(first)
                cells.append(f"{taken / size:.1f}")
        if cells:
            rows.append([algorithm, *cells])
    return rows


# ---- everything -----------------------------------------------------------------------------------------------------
def run(quick: bool, say: Callable[[str], None]) -> Report:
    """All tables and figures; `quick` leaves out most sizes."""
    report = Report("structures", quick, "ns per row", US)
    most, times = (200_000, 3) if quick else (2_000_000, 5)
    _against_bottleneck(report, most, times, say)
    for subject, size in _cases(quick):
        say(f"throughput: {subject.name}, window {size:,}")
        found = (throughput(algorithm, subject, size, most, times) for algorithm in ALGORITHMS)
        report.timings += [timing for timing in found if timing is not None]
    for size in (16, 256) if quick else (1, 4, 16, 64, 256, 1024):
        say(f"all ranges, window {size:,}")
        for algorithm in ("reactive", "b_int", "flatfit"):
            report.timings.append(multi_query(algorithm, size, max(64, 100_000 // size), times))
    say("latency of single rounds")
    chosen = list(SUBJECTS.values())[: 2 if quick else None]
    report.tables["latency at 2^14, ns per round"] = latency_table(ALGORITHMS, chosen, AT, 3 * AT if quick else 2**18)
    say("break-even")
    report.tables["window size from which on it beats recalculation"] = _break_even_table(quick)
    report.tables["bytes per element, under max"] = memory_table((1000, 1025, 2**14, 2**20))
    _worst_rounds(report, quick, say)
    return report


def _cases(quick: bool) -> Iterator[tuple[Subject, int]]:
    for subject in SUBJECTS.values():
        yield subject, AT
    for name in ("sum", "geomean", "bloom", "max"):
        exponents = (4, 18) if quick else [k for k in range(0, 23, 2) if k != 14]
        for exponent in exponents:
            if SUBJECTS[name].compiles or exponent <= 14:
                yield SUBJECTS[name], 2**exponent


def _against_bottleneck(report: Report, rows: int, times: int, say: Callable[[str], None]) -> None:
    import bottleneck as bn

    values = workload(rows)
    for algorithm, limits in BARS.items():
        for name, limit in limits.items():
            say(f"bar: {algorithm}, {name}")
            subject = SUBJECTS[name]
            window = window_of(algorithm, subject)
            assert window is not None
            fed = values_for(window, values)
            fill(window, fed[:AT], AT)
            ratios = []
            for _ in range(times):  # side by side, so that both see the same machine
                (peer,), (ours,) = (
                    timed(lambda: bn.move_max(values, AT, 1), 1),
                    timed(
                        lambda: window.extend_arrays(fed, AT),  # noqa: B023
                        1,
                    ),
                )
                ratios.append(ours / peer)
            what = f"{words({'aggregate': name, 'window': AT})}: {algorithm} through {PEER}"
            report.bars.append(Bar(what, statistics.median(ratios), limit))


def _break_even_table(quick: bool) -> list[list[str]]:
    algorithms = [name for name in ALGORITHMS if name != "recalculate"]
    rows = [["aggregate", *algorithms]]
    sizes = [1, 4, 16, 64, 256] if quick else [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64, 128, 256, 512, 1024]
    subjects = [SUBJECTS[name] for name in ("sum", "bloom", "collect")] if quick else list(SUBJECTS.values())
    for subject in subjects:
        few = sizes if subject.compiles else sizes[: 3 if quick else 10]
        rows.append([subject.name, *(break_even(algorithm, subject, few) for algorithm in algorithms)])
    return rows


def _worst_rounds(report: Report, quick: bool, say: Callable[[str], None]) -> None:
    sizes = (2**10, 2**16) if quick else (2**10, 2**12, 2**14, 2**16, 2**18)
    rows = [["structure", *(f"{size:,}" for size in sizes)]]
    for algorithm in ("two_stacks_lite", "two_stacks", "flatfit", "daba", "daba_lite"):
        say(f"worst round: {algorithm}")
        worst = [worst_round(algorithm, size) for size in sizes]
        rows.append([algorithm, *(f"{round:,.0f}" for round in worst)])
        if algorithm in ("daba", "daba_lite"):
            what = f"{algorithm}: worst round at {sizes[-1]:,} through that at {sizes[0]:,}"
            report.bars.append(Bar(what, worst[-1] / worst[0], WORST_STAYS_FLAT))
        elif algorithm != "flatfit":
            what = f"{algorithm}: worst round at {sizes[-1]:,} through that at {sizes[0]:,}"
            report.bars.append(Bar(what, worst[-1] / worst[0], 8.0, at_most=False))
    report.tables["worst round over a period, ns"] = rows
