"""Slider: batch windows that pay for what changed, beside recomputing and beside the strawman.

A window of 20 splits; p % of change is p/5 splits that come (and, unless the window only grows, as many that leave).
Splits are made so large that recomputing, one plain run over 20 of them, takes half a minute or more on the machine at
hand (`sized`); it is run before the slides, among them and after them, and the middle one counts. Work is the sum of
task times, and what has no noise: tables and partials combined, rows read. Answers are compared with the plain run's.

The paper's figures stand beside ours: 7 and 8 (speedups), 9 (map and contraction), 11 (split processing), 12
(randomized folding), 13 (first run and state), table 2 (state in memory); table 1 is bench/slider_cluster.py, tables 3
to 5 are bench/slider_cases.py. Figure 10 is of queries of several stages, which are not built yet.
"""

from __future__ import annotations

import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bench.measure import Bar, Report, Timing
from bench.slider_apps import APPS, App
from bench.slider_meter import Meter, metered, written
from bench.spark import session
from slidewise import incremental as inc
from slidewise.contraction import Folding, Randomized
from slidewise.incremental.ahead import wanted_next
from slidewise.incremental.book import Book
from slidewise.incremental.hot import Hot
from slidewise.incremental.incoming import Reading, unpacked_types
from slidewise.incremental.making import Maker
from slidewise.incremental.memo import Memo
from slidewise.incremental.plain import engine_of
from slidewise.incremental.steps import Source
from slidewise.spark.fingerprint import digest

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SPLITS = 20
CHANGES = (1, 2, 5)
"""Splits per slide: 5, 10 and 25 % of the window."""
LEAST = 33.0
"""Seconds that recomputing is sized to take."""
TIMES = 2
"""Slides of one split that are timed."""
PAIRS = 4
"""Slides that are timed with and without work ahead, by turns."""
WINDOWS = {"fixed": inc.splits(SPLITS), "variable": inc.splits(variable=True), "append": inc.splits()}
READ = {"K-Means": "49 %", "HCT": "57 %", "KNN": "53 %", "Matrix": "68 %", "subStr": "66 %"}
"""Table 2: how much less time memoized state takes to read from memory."""
PAPER = {True: "1.5 to 35", False: "1.5 to 8"}
"""Figure 7: speedups of K-Means and KNN, and of the others."""


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
        """A plain run; its answers are kept by its first split, to be compared."""
        df = self.frame(first, last)
        with metered(self.spark) as meter:
            self.app.query.run(df).write.mode("overwrite").parquet(str(self.place / f"plain-{first}"))
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

    def wrong(self, job: inc.Job, first: int) -> str:
        """How the job's answers differ from a plain run's over the same splits: counts not at all, floats by 1e-9."""
        mine, theirs = job.result(), self.spark.read.parquet(str(self.place / f"plain-{first}"))
        if not self.app.heavy:
            differing = mine.exceptAll(theirs).count() + theirs.exceptAll(mine).count()
            return f"{differing} rows differ" if differing else ""
        got, wanted = (dict(map(tuple, df.collect())) for df in (mine, theirs))
        if got.keys() != wanted.keys():
            return f"{len(got.keys() ^ wanted.keys())} keys differ"
        differing = sum(not np.allclose(_numbers(got[key]), _numbers(wanted[key]), rtol=1e-9) for key in wanted)
        return f"{differing} rows differ" if differing else ""

    def sized(self, least: float) -> None:
        """Make splits so large that recomputing takes so many seconds, by the pace of a few, then of all of them.

        Plain runs are warm by then: classes are loaded, code is compiled, workers have started. So a first run and a
        slide over the small splits come before anything is measured.
        """
        self.plain(0, 1)
        for window in (WINDOWS["fixed"], WINDOWS["append"]):
            job = self.job("small", window)
            self.slide(job, 0, SPLITS, window)
            self.slide(job, SPLITS, 1, window)
        for some in (4, SPLITS):
            took = self.plain(0, some).seconds * SPLITS / some
            self.rows = max(100, int(self.rows * max(least / took, 0.2)))
            shutil.rmtree(self.place)


def _numbers(value: bytes | float) -> Any:
    return np.frombuffer(value) if isinstance(value, bytes) else np.array([value])


class Tables:
    """The tables of the report, which fill app by app."""

    def __init__(self) -> None:
        self.speed = [
            [
                "app, window, change",
                "plain s",
                "ours s",
                "time ×",
                "work ×",
                "paper ×",
                "tables",
                "partials",
                "rows read",
            ]
        ]
        self.straw = [
            ["app, change", "strawman s", "ours s", "time ×", "work ×", "paper: work ×", "strawman's tables", "ours"]
        ]
        self.parts = [["app, window, change", "map s", "contraction + reduce s", "of plain's map", "of plain's reduce"]]
        self.split = [
            [
                "app",
                "slide s",
                "prepared s",
                "faster by",
                "plain run of the new split s",
                "ahead s",
                "share of work ahead",
                "paper: faster by",
            ]
        ]
        self.first = [["app, window", "plain s", "first run s", "× time", "× work", "state / input"]]
        self.read = [["app", "nodes", "rows", "from files s", "from memory s", "less by", "paper: less by"]]

    def into(self, report: Report) -> None:
        report.tables["Figure 7: speedup over recomputing"] = self.speed
        report.tables["Figure 8: beside the strawman, variable width"] = self.straw
        report.tables["Figure 9: task seconds by part, fixed width"] = self.parts
        report.tables["Figure 11: split processing, fixed width, 5 %"] = self.split
        report.tables["Figure 12: combines after the window shrinks, then slides by 1 %"] = _randomized()
        report.tables["Figure 13: the first run, and the state"] = self.first
        report.tables["Table 2: reading the nodes that the next slide reads, fixed width"] = self.read


def run(quick: bool, tell: Callable[[str], None]) -> Report:
    """All applications."""
    report, tables = Report("slider", quick, "M rows/s", "slidewise"), Tables()
    with tempfile.TemporaryDirectory(prefix="slidewise-bench-") as scratch, session(Path(scratch)) as spark:
        spark.conf.set("spark.sql.files.openCostInBytes", "0")
        spark.conf.set("spark.sql.files.minPartitionNum", "2")
        for app in APPS:
            bench = Bench(spark, app, Path(scratch) / app.name, app.rows // (20 if quick else 1), tell)
            bench.sized(LEAST / 50 if quick else LEAST)
            _Run(bench, report, tables).all()
            shutil.rmtree(bench.place)
        tables.into(report)
    return report


class _Run:
    """All windows of one application."""

    def __init__(self, bench: Bench, report: Report, tables: Tables) -> None:
        self.bench, self.report, self.tables = bench, report, tables
        self.app, self.tell = bench.app, bench.tell
        self.slides: dict[tuple[str, int], list[Meter]] = {}
        """By window and splits per slide."""

    def all(self) -> None:
        bench = self.bench
        plain = [bench.plain(1, SPLITS + 1)]
        self.base = plain[0]
        self.tell(f"{self.app.name}: plain {plain[0].seconds:.1f} s, work {plain[0].work:.1f} s, {bench.rows} rows")
        size = sum(Path(bench.path(k)).stat().st_size for k in range(SPLITS))
        first: dict[str, tuple[Meter, float]] = {}
        for name in ("fixed", "append", "variable"):
            first[name] = self._window(name, size)
            if name != "append":  # a plain run in between, over what append then has; and one at the end
                plain.append(bench.plain(0, SPLITS + 1))
        fair = [plain[0].seconds, *(one.seconds * SPLITS / (SPLITS + 1) for one in plain[1:])]
        self.base = Meter(statistics.median(fair), plain[0].stages)
        self.tell(f"{self.app.name}: plain runs {', '.join(f'{one:.1f}' for one in fair)} s")
        self._strawman()
        self._tell_of(first)

    def _window(self, name: str, input_bytes: int) -> tuple[Meter, float]:
        """The first run, then slides by each count; the first run's meter and the size of the state."""
        bench, window = self.bench, WINDOWS[name]
        job = bench.job(name, window)
        begun = bench.slide(job, 0, SPLITS, window)
        size = job.report().state_bytes / input_bytes
        number = SPLITS
        for count in CHANGES:
            for _ in range(TIMES if count == 1 else 1):
                self.slides.setdefault((name, count), []).append(bench.slide(job, number, count, window))
                if number == SPLITS:
                    self._check(name, job)
                number += count
            self._row(name, count, job.report())
        if name == "fixed":
            self._split_processing(number)
            self._memory(bench.place / "state-fixed")
        return begun, size

    def _check(self, name: str, job: inc.Job) -> None:
        """After the first slide of one split: against the plain run over the same splits."""
        if wrong := self.bench.wrong(job, 0 if name == "append" else 1):
            self.report.timings.append(Timing({"app": self.app.name, "window": name}, "slidewise", 1, wrong=wrong))

    def _row(self, name: str, count: int, done: inc.Report) -> None:
        slides = self.slides[name, count]
        took, work = _median(slides)
        times, works = self.base.seconds / took, self.base.work / work
        case = {"app": self.app.name, "window": name, "change": f"{100 * count // SPLITS} %"}
        shown = [f"{self.base.seconds:.1f}", f"{took:.2f}", f"{times:.1f}", f"{works:.1f}", PAPER[self.app.heavy]]
        counted = [f"{done.combines}", f"{done.key_combines:,}", f"{done.rows_read:,}"]
        self.tables.speed.append([", ".join(case.values()), *shown, *counted])
        self.tell(f"{self.app.name}, {name}, {count} of {SPLITS}: {took:.2f} s, time {times:.1f}x, work {works:.1f}x")
        if name == "fixed":
            mapped, reduced = _by_part(slides[-1])
            plain_map, plain_reduce = _by_part(self.base)
            self.tables.parts.append(
                [
                    ", ".join(case.values()),
                    f"{mapped:.2f}",
                    f"{reduced:.2f}",
                    f"{mapped / max(plain_map, 1e-9):.0%}",
                    f"{reduced / max(plain_reduce, 1e-9):.0%}",
                ]
            )
        rows = self.bench.rows * SPLITS
        self.report.timings.append(Timing(case, "slidewise", rows, tuple(one.seconds for one in slides)))
        self.report.timings.append(Timing(case, "plain", rows, (self.base.seconds,)))

    def _split_processing(self, number: int) -> None:
        """Two jobs from one state move by the same splits, by turns; one of them works ahead.

        A plain run over the new split alone is beside them: no slide can take less than its map.
        """
        bench, window = self.bench, WINDOWS["fixed"]
        state, ahead_state = bench.place / "state-fixed", bench.place / "state-ahead"
        shutil.copytree(state, ahead_state, dirs_exist_ok=True)
        never = inc.Job(bench.spark, state=str(state), query=self.app.query, window=window)
        always = inc.Job(bench.spark, state=str(ahead_state), query=self.app.query, window=window)
        usual, prepared, ahead, alone = [], [], [], []
        for k in range(number, number + PAIRS):
            alone.append(bench.plain(k, k + 1))
            usual.append(bench.slide(never, k, 1, window))
            with metered(bench.spark) as meter:
                always.prepare()
            ahead.append(meter)
            prepared.append(bench.slide(always, k, 1, window))
        (slow, _), (took, work), (before, work_before) = _median(usual), _median(prepared), _median(ahead)
        self.tables.split.append(
            [
                self.app.name,
                f"{slow:.2f}",
                f"{took:.2f}",
                f"{1 - took / slow:.0%}",
                f"{_median(alone)[0]:.2f}",
                f"{before:.2f}",
                f"{work_before / (work + work_before):.0%}",
                "25 to 40 %",
            ]
        )
        self.report.bars.append(
            Bar(f"{self.app.name}: prepared slide is faster by", 1 - took / slow, 0.25, at_most=False)
        )

    def _memory(self, state: Path) -> None:
        """How long the nodes that the next slide reads take to read, from files and from Spark's cache."""
        nodes, rows, files, memory = read_times(self.bench.spark, str(state), self.app.query, WINDOWS["fixed"])
        shown = [f"{nodes}", f"{rows:,}", f"{files:.2f}", f"{memory:.2f}", f"{1 - memory / files:.0%}"]
        self.tables.read.append([self.app.name, *shown, READ[self.app.name]])

    def _strawman(self) -> None:
        window = inc.splits(variable=True, tree="strawman")
        job = self.bench.job("strawman", window)
        self.bench.slide(job, 0, SPLITS, window)
        number = SPLITS
        for count in (CHANGES[0], CHANGES[-1]):
            meter = self.bench.slide(job, number, count, window)
            number += count
            case = {"app": self.app.name, "window": "variable", "change": f"{100 * count // SPLITS} %"}
            seconds, work = _median(self.slides["variable", count])
            self.report.timings.append(Timing(case, "strawman", self.bench.rows * SPLITS, (meter.seconds,)))
            self.tables.straw.append(
                [
                    f"{self.app.name}, {case['change']}",
                    f"{meter.seconds:.2f}",
                    f"{seconds:.2f}",
                    f"{meter.seconds / seconds:.1f}",
                    f"{meter.work / work:.1f}",
                    "2 to 4",
                    f"{job.report().combines}",
                    self._tables_combined(count),
                ]
            )

    def _tables_combined(self, count: int) -> str:
        case = f"{self.app.name}, variable, {100 * count // SPLITS} %"
        return next(row[-3] for row in self.tables.speed if row[0] == case)

    def _tell_of(self, first: dict[str, tuple[Meter, float]]) -> None:
        """Bars, and the first runs, beside both plain runs."""
        base, bars, name = self.base, self.report.bars, self.app.name
        for window, (begun, size) in first.items():
            times = begun.seconds / base.seconds
            shown = [f"{base.seconds:.1f}", f"{begun.seconds:.1f}", f"{times:.2f}", f"{begun.work / base.work:.2f}"]
            self.tables.first.append([f"{name}, {window}", *shown, f"{size:.2f}"])
            bars.append(Bar(f"{name}, {window}: first run through plain", times, 1.25))
        least = (10, 5) if self.app.heavy else (4, 2)
        fixed, work = _median(self.slides["fixed", 1])
        variable, _ = _median(self.slides["variable", 1])
        bars.append(
            Bar(f"{name}, fixed, 5 %: recomputing's work through ours", base.work / work, least[0], at_most=False)
        )
        bars.append(
            Bar(f"{name}, fixed, 5 %: recomputing's time through ours", base.seconds / fixed, least[1], at_most=False)
        )
        bars.append(Bar(f"{name}, 5 %: time of variable width through fixed", variable / fixed, 2))


def _median(meters: list[Meter]) -> tuple[float, float]:
    """Seconds and work."""
    return statistics.median(one.seconds for one in meters), statistics.median(one.work for one in meters)


def _by_part(meter: Meter) -> tuple[float, float]:
    """The first stage, which maps and reads, and the rest."""
    return meter.stages[0], sum(meter.stages[1:])


def read_times(spark: SparkSession, state: str, query: inc.Query, window: inc.Splits) -> tuple[int, int, float, float]:
    """How many nodes the next slide reads, of how many rows, and the middle seconds that takes: files, memory."""
    memo = Memo((state,))
    manifest = memo.load()
    assert manifest is not None
    engine = engine_of(query, query.bind(unpacked_types(manifest.types)))
    tree = window.make(Book(digest(manifest.query)).fold)
    tree.restore(manifest.tree)
    nodes = sorted(wanted_next(digest(manifest.query), window, tree, len(manifest.splits)))
    taken = []
    for cached in (False, True):
        hot = Hot(spark, cached)
        hot.want(nodes)
        maker = Maker(spark, memo, hot, Reading(), engine, manifest)
        if cached:
            maker.warm()
        several = []
        for _ in range(6):
            start = time.perf_counter()
            written(maker.read([(0, Source(node)) for node in nodes]))
            several.append(time.perf_counter() - start)
        taken.append(statistics.median(several[1:]))  # the first is for the files' turn in the system's own cache
        hot.forget(nodes)
    return len(nodes), sum(manifest.nodes[node].rows for node in nodes), taken[0], taken[1]


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
