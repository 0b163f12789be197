"""Slider: batch windows that pay for what changed, beside recomputing and beside the strawman.

A window of 20 splits; p % of change is p/5 splits that come (and, unless the window only grows, as many that leave).
Recomputing is one plain run over 20 splits; a window that only grows is compared with the same run, though it has more.
Work is the sum of task times, and what has no noise: tables combined and rows read and written. The paper's figures
stand beside ours: 7 and 8 (speedups), 9 (map and contraction), 11 (split processing), 12 (randomized folding),
13 (first run and state); tables 3 to 5 are bench/slider_cases.py. Table 1 needs machines of different speed, table 2 a
cache in memory, figure 10 queries of several stages: they are not here.
"""

from __future__ import annotations

import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.measure import Bar, Report, Timing
from bench.slider_apps import APPS, App
from bench.slider_cases import run_cases
from bench.spark import session
from slidewise import incremental as inc
from slidewise.contraction import Folding, Randomized

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SPLITS = 20
CHANGES = (1, 5)
"""Splits per slide: 5 and 25 % of the window."""
TIMES = 2
"""Slides of one split that are timed."""
WINDOWS = {"fixed": inc.splits(SPLITS), "variable": inc.splits(variable=True), "append": inc.splits()}
PAPER = {True: "1.5 to 35", False: "1.5 to 8"}
"""Figure 7: speedups of K-Means and KNN, and of the others."""


@dataclass
class Meter:
    """Seconds, and task seconds by stage, of what ran while it did."""

    seconds: float = 0.0
    stages: list[float] = field(default_factory=list)

    @property
    def work(self) -> float:
        """The sum of task times."""
        return sum(self.stages)


@contextmanager
def metered(spark: SparkSession) -> Iterator[Meter]:
    """Measure what runs inside."""
    before = set(stages(spark))
    meter, start = Meter(), time.perf_counter()
    yield meter
    meter.seconds = time.perf_counter() - start
    time.sleep(0.2)  # the listener lags behind
    after = stages(spark)
    meter.stages = [after[key] for key in sorted(after) if key not in before and after[key]]


def stages(spark: SparkSession) -> dict[tuple[int, int], float]:
    """Task seconds of every stage that has run."""
    context = spark.sparkContext
    jvm, gateway = context._jvm, context._gateway
    nothing = jvm.java.util.ArrayList()
    found = context._jsc.sc().statusStore().stageList(nothing, False, False, gateway.new_array(jvm.double, 0), nothing)
    every = (found.apply(k) for k in range(found.size()))
    return {(one.stageId(), one.attemptId()): one.executorRunTime() / 1000 for one in every}


def written(df: DataFrame) -> None:
    """Compute all of it, keep nothing."""
    df.write.format("noop").mode("overwrite").save()


class Bench:
    """One application over its splits."""

    def __init__(self, spark: SparkSession, app: App, place: Path, rows: int, tell: Callable[[str], None]) -> None:
        self.spark, self.app, self.place, self.tell = spark, app, place, tell
        self.rows = rows
        self.last = 0

    def path(self, number: int) -> str:
        path = self.place / f"{number}.parquet"
        if not path.exists():
            self.place.mkdir(parents=True, exist_ok=True)
            self.app.write(path, number, self.rows)
        return str(path)

    def frame(self, first: int, last: int) -> DataFrame:
        return self.app.mapped(self.spark.read.parquet(*[self.path(k) for k in range(first, last)]))

    def new(self, first: int, count: int) -> dict[str, Any]:
        return {f"{k:04}": self.frame(k, k + 1) for k in range(first, first + count)}

    def plain(self, first: int, last: int) -> Meter:
        """A plain run; its answers are kept, to be compared."""
        df = self.frame(first, last)
        with metered(self.spark) as meter:
            self.app.query.run(df).write.mode("overwrite").parquet(str(self.place / "plain"))
        return meter

    def job(self, name: str, window: inc.Splits) -> inc.Job:
        state = self.place / f"state-{name}"
        shutil.rmtree(state, ignore_errors=True)
        return inc.Job(self.spark, state=str(state), query=self.app.query, window=window)

    def slide(self, job: inc.Job, number: int, count: int, window: inc.Splits) -> Meter:
        add = self.new(number, count)
        with metered(self.spark) as meter:
            written(job.advance(add, count if window.variable and number >= SPLITS else None))
        return meter

    def wrong(self, job: inc.Job) -> str:
        """How the job's answers differ from the plain run that was kept: rows, and for counts every one of them."""
        mine, theirs = job.result(), self.spark.read.parquet(str(self.place / "plain"))
        if not self.app.heavy:
            differing = mine.exceptAll(theirs).count() + theirs.exceptAll(mine).count()
            return f"{differing} rows differ" if differing else ""
        got, wanted = mine.count(), theirs.count()
        return "" if got == wanted else f"{got} rows, not {wanted}"


def run(quick: bool, tell: Callable[[str], None]) -> Report:
    """All applications, then the case studies."""
    report = Report("slider", quick, "M rows/s", "slidewise")
    speed = [["app, window, change", "plain s", "ours s", "time ×", "work ×", "paper ×", "tables", "rows read"]]
    parts = [["app, window, change", "map s", "contraction + reduce s", "of plain's map", "of plain's reduce"]]
    split = [["app", "slide s", "prepared s", "faster by", "ahead s", "paper: faster by"]]
    first = [["app, window", "plain s", "first run s", "× time", "× work", "state / input"]]
    straw = [["app, change", "strawman s", "ours s", "time ×", "tables combined by the strawman", "paper: work ×"]]
    with tempfile.TemporaryDirectory(prefix="slidewise-bench-") as scratch, session(Path(scratch)) as spark:
        spark.conf.set("spark.sql.files.openCostInBytes", "0")
        spark.conf.set("spark.sql.files.minPartitionNum", "2")
        for app in APPS:
            bench = Bench(spark, app, Path(scratch) / app.name, app.rows // (20 if quick else 1), tell)
            _app(bench, report, speed, parts, split, first, straw)
            shutil.rmtree(bench.place)
        report.tables["Figure 7: speedup over recomputing"] = speed
        report.tables["Figure 8: beside the strawman, variable width"] = straw
        report.tables["Figure 9: task seconds by part, fixed width"] = parts
        report.tables["Figure 11: split processing, fixed width, 5 %"] = split
        report.tables["Figure 12: combines after the window shrinks, then slides by 1 %"] = _randomized()
        report.tables["Figure 13: the first run, and the state"] = first
        run_cases(spark, Path(scratch), quick, report, metered, written, tell)
    return report


def _app(
    bench: Bench,
    report: Report,
    speed: list[list[str]],
    parts: list[list[str]],
    split: list[list[str]],
    first: list[list[str]],
    straw: list[list[str]],
) -> None:
    app, tell = bench.app, bench.tell
    bench.plain(0, 1)  # compiled, workers started
    base = bench.plain(1, SPLITS + 1)
    tell(f"{app.name}: plain {base.seconds:.1f} s, work {base.work:.1f} s")
    input_bytes = sum((bench.place / f"{k}.parquet").stat().st_size for k in range(SPLITS))
    at_five: dict[str, tuple[float, float]] = {}
    for name, window in WINDOWS.items():
        job = bench.job(name, window)
        begun = bench.slide(job, 0, SPLITS, window)
        size = job.report().state_bytes / input_bytes
        first.append(
            [
                f"{app.name}, {name}",
                f"{base.seconds:.1f}",
                f"{begun.seconds:.1f}",
                f"{begun.seconds / base.seconds:.2f}",
                f"{begun.work / base.work:.2f}",
                f"{size:.2f}",
            ]
        )
        report.bars.append(Bar(f"{app.name}, {name}: first run through plain", begun.seconds / base.seconds, 1.25))
        number = SPLITS
        for count in CHANGES:
            slides = []
            for _ in range(TIMES if count == 1 else 1):
                slides.append(bench.slide(job, number, count, window))
                if number == SPLITS and name != "append" and (wrong := bench.wrong(job)):
                    report.timings.append(Timing({"app": app.name, "window": name}, "slidewise", 1, wrong=wrong))
                number += count
            took = statistics.median(one.seconds for one in slides)
            work = statistics.median(one.work for one in slides)
            done = job.report()
            times, works = base.seconds / took, base.work / work
            case = {"app": app.name, "window": name, "change": f"{100 * count // SPLITS} %"}
            speed.append(
                [
                    ", ".join(map(str, case.values())),
                    f"{base.seconds:.1f}",
                    f"{took:.2f}",
                    f"{times:.1f}",
                    f"{works:.1f}",
                    PAPER[app.heavy],
                    f"{done.combines}",
                    f"{done.rows_read:,}",
                ]
            )
            tell(f"{app.name}, {name}, {count} of {SPLITS}: {took:.2f} s, time {times:.1f}x, work {works:.1f}x")
            if count == 1:
                at_five[name] = (times, works)
            if name == "fixed":
                mapped, reduced = _by_part(slides[-1])
                plain_map, plain_reduce = _by_part(base)
                parts.append(
                    [
                        ", ".join(map(str, case.values())),
                        f"{mapped:.2f}",
                        f"{reduced:.2f}",
                        f"{mapped / max(plain_map, 1e-9):.0%}",
                        f"{reduced / max(plain_reduce, 1e-9):.0%}",
                    ]
                )
            rows = bench.rows * SPLITS
            report.timings.append(Timing(case, "slidewise", rows, tuple(one.seconds for one in slides)))
            report.timings.append(Timing(case, "plain", rows, (base.seconds,)))
        if name == "fixed":
            _split_processing(bench, job, number, window, split, report, statistics.median(_fives(report, app.name)))
    _strawman(bench, report, straw)
    limits = (10, 5) if app.heavy else (4, 2)
    times, works = at_five["fixed"]
    report.bars.append(Bar(f"{app.name}, fixed, 5 %: recomputing's work through ours", works, limits[0], at_most=False))
    report.bars.append(Bar(f"{app.name}, fixed, 5 %: recomputing's time through ours", times, limits[1], at_most=False))
    ratio = times / at_five["variable"][0]
    report.bars.append(Bar(f"{app.name}, 5 %: time of variable width through fixed", ratio, 2))


def _fives(report: Report, app: str) -> tuple[float, ...]:
    found = report.find({"app": app, "window": "fixed", "change": "5 %"}, "slidewise")
    assert found is not None
    return found.seconds


def _by_part(meter: Meter) -> tuple[float, float]:
    """The first stage, which maps and reads, and the rest."""
    return meter.stages[0], sum(meter.stages[1:])


def _split_processing(
    bench: Bench, job: inc.Job, number: int, window: inc.Splits, split: list[list[str]], report: Report, usual: float
) -> None:
    prepared, ahead = [], []
    for _ in range(TIMES):
        with metered(bench.spark) as meter:
            job.prepare()
        ahead.append(meter.seconds)
        prepared.append(bench.slide(job, number, 1, window).seconds)
        number += 1
    took = statistics.median(prepared)
    split.append(
        [
            bench.app.name,
            f"{usual:.2f}",
            f"{took:.2f}",
            f"{1 - took / usual:.0%}",
            f"{statistics.median(ahead):.2f}",
            "25 to 40 %",
        ]
    )
    report.bars.append(Bar(f"{bench.app.name}: prepared slide is faster by", 1 - took / usual, 0.25, at_most=False))


def _strawman(bench: Bench, report: Report, straw: list[list[str]]) -> None:
    window = inc.splits(variable=True, tree="strawman")
    job = bench.job("strawman", window)
    bench.slide(job, 0, SPLITS, window)
    number = SPLITS
    for count in CHANGES[:1]:
        meter = bench.slide(job, number, count, window)
        number += count
        case = {"app": bench.app.name, "window": "variable", "change": f"{100 * count // SPLITS} %"}
        ours = report.find(case, "slidewise")
        assert ours is not None
        seconds = statistics.median(ours.seconds)
        report.timings.append(Timing(case, "strawman", bench.rows * SPLITS, (meter.seconds,)))
        straw.append(
            [
                f"{bench.app.name}, {case['change']}",
                f"{meter.seconds:.2f}",
                f"{seconds:.2f}",
                f"{meter.seconds / seconds:.1f}",
                f"{job.report().combines}",
                "2 to 4",
            ]
        )


def _randomized() -> list[list[str]]:
    """Work in combines, which need no machine: a window of 200 splits loses 25 or 50 %, then slides by 1 %."""
    rows = [["removed", "folding: combines", "randomized: combines", "folding through randomized", "paper"]]
    for removed, paper in ((25, "folding a little better"), (50, "1.15 to 1.22")):
        costs = {}
        for name, tree in (
            ("folding", Folding(lambda level, parts: "")),
            ("randomized", Randomized(lambda level, parts: "", seed=1)),
        ):
            tree.advance({f"{k}": "" for k in range(200)})
            tree.advance({}, 2 * removed)
            before = tree.combines
            for k in range(10):
                tree.advance({f"{200 + 2 * k}": "", f"{201 + 2 * k}": ""}, 2)
            costs[name] = (tree.combines - before) / 10
        ratio = costs["folding"] / costs["randomized"]
        rows.append([f"{removed} %", f"{costs['folding']:.1f}", f"{costs['randomized']:.1f}", f"{ratio:.2f}", paper])
    return rows
