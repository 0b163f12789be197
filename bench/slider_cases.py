"""The three case studies of the Slider paper (tables 3 to 5), on synthetic data (bench/slider_studies.py).

Twitter     append: batches 1464.3 : 74.2 : 81.5 : 79.4 : 85.6; and once more with links that are posted for ever
Glasnost    a window of 3 months by month, as many traces as the paper's files
NetSession  a window of 4 weeks by week, variable; in week 5 100 to 75 % of the clients upload

Each slide is timed with its answers, then recomputing over the same window; all answers are compared, both ways. Sized
so that recomputing takes about half a minute on two cores.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from bench import slider_studies as studies
from bench.measure import Report, Timing
from bench.slider_meter import Meter, metered, written
from bench.spark import session
from slidewise import incremental as inc

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TWITTER = (("8.9", "14.22"), ("9.2", "13.67"), ("9.42", "14.22"), ("9.25", "14.34"))
GLASNOST = ("2.07", "2.8", "3.79", "3.32", "2.44", "2.56", "2.43", "1.9")
NETSESSION = {100: "1.72", 95: "1.85", 90: "1.89", 85: "2.01", 80: "2.1", 75: "2.24"}
POSTS, PIECES, CLIENTS, ENTRIES = 10_000, 140, 100_000, 210


def run(quick: bool, tell: Callable[[str], None]) -> Report:
    """All three."""
    report = Report("slider_cases", quick, "M rows/s", "slidewise")
    small = 50 if quick else 1
    with tempfile.TemporaryDirectory(prefix="slidewise-bench-") as scratch, session(Path(scratch)) as spark:
        spark.conf.set("spark.sql.files.openCostInBytes", "0")
        spark.conf.set("spark.sql.files.minPartitionNum", "2")
        for name, lasting, batches in (("a day", False, 5), ("ever", True, 2)):
            case = _Case(spark, Path(scratch) / f"twitter {name}", report, tell)
            case.twitter(POSTS // small, lasting, batches, f"Table 4: Twitter, append, links posted for {name}")
        _Case(spark, Path(scratch) / "glasnost", report, tell).glasnost(max(1, PIECES // small))
        _Case(spark, Path(scratch) / "netsession", report, tell).netsession(CLIENTS // small, ENTRIES)
    return report


class _Case:
    """One case study: its folder, its table."""

    def __init__(self, spark: SparkSession, place: Path, report: Report, tell: Callable[[str], None]) -> None:
        self.spark, self.place, self.report, self.tell = spark, place, report, tell
        place.mkdir()

    def read(self, *names: str) -> DataFrame:
        return self.spark.read.parquet(*[str(self.place / f"{name}.parquet") for name in names])

    def compared(self, job: inc.Job, query: inc.Query, add: dict[str, Any], drop: int | None, over: Any) -> list[Meter]:
        """A slide, then a plain run over the same rows; what each took, and whether they agree."""
        with metered(self.spark) as ours:
            written(job.advance(add, drop))
        kept = str(self.place / "plain")
        with metered(self.spark) as plain:
            query.run(over).write.mode("overwrite").parquet(kept)
        mine, theirs = job.result(), self.spark.read.parquet(kept)
        differing = mine.exceptAll(theirs).count() + theirs.exceptAll(mine).count()
        if differing:
            wrong = f"{differing} rows differ"
            self.report.timings.append(Timing({"case": self.place.name}, "slidewise", 1, wrong=wrong))
        return [ours, plain]

    def warm(self, posts: pa.Table) -> None:
        """A plain run, a first run and a slide over a few posts: nobody is measured with workers to start."""
        some = self.spark.createDataFrame(posts)
        written(studies.SPREAD.run(some))
        job = inc.Job(self.spark, state=str(self.place / "warm"), query=studies.SPREAD, window=inc.splits())
        for name in ("first", "second"):
            written(job.advance({name: some}))

    def row(self, what: str, meters: list[Meter], *paper: str) -> list[str]:
        ours, plain = meters
        times, works = plain.seconds / ours.seconds, plain.work / ours.work
        self.tell(f"{self.place.name}, {what}: plain {plain.seconds:.1f} s, ours {ours.seconds:.1f} s")
        return [what, f"{plain.seconds:.1f}", f"{ours.seconds:.2f}", f"{times:.2f}", f"{works:.2f}", *paper]

    def twitter(self, scale: int, lasting: bool, batches: int, title: str) -> None:
        job = inc.Job(self.spark, state=str(self.place / "state"), query=studies.SPREAD, window=inc.splits())
        rows = [["batch", "plain s", "ours s", "time ×", "work ×", "paper: time ×", "paper: work ×", "links changed"]]
        for number, posts in enumerate(studies.posts(scale, lasting)[:batches]):
            if number == 0:
                self.warm(posts.slice(0, 200_000))
            pq.write_table(posts, self.place / f"{number}.parquet", row_group_size=max(1, posts.num_rows // 4))
            over = self.read(*map(str, range(number + 1)))
            add = {f"{number}": self.read(f"{number}")}
            meters = self.compared(job, studies.SPREAD, add, None, over)
            changed = self.read(f"{number}").select("url").distinct().count() / over.select("url").distinct().count()
            paper = ("-", "-") if number == 0 else TWITTER[number - 1]
            rows.append([*self.row(f"{studies.TWEETS[number]} M scaled", meters, *paper), f"{changed:.0%}"])
        self.report.tables[title] = rows
        shutil.rmtree(self.place)

    def glasnost(self, pieces: int) -> None:
        job = inc.Job(self.spark, state=str(self.place / "state"), query=studies.MEDIANS, window=inc.splits(3))
        rows = [["month", "plain s", "ours s", "time ×", "work ×", "paper: time ×"]]
        for month, files in enumerate(studies.FILES):
            studies.traces(self.place / f"{month}.parquet", month, files, pieces)
            if month == 2:
                job.advance({f"{k}": studies.least_round_trips(self.read(f"{k}")) for k in range(3)})
            elif month > 2:
                over = studies.least_round_trips(self.read(*map(str, range(month - 2, month + 1))))
                add = {f"{month}": studies.least_round_trips(self.read(f"{month}"))}
                meters = self.compared(job, studies.MEDIANS, add, None, over)
                rows.append(self.row(f"{month + 1}/2011, {files} files", meters, GLASNOST[month - 3]))
                (self.place / f"{month - 2}.parquet").unlink()
        self.report.tables["Table 3: Glasnost, window of 3 months"] = rows
        shutil.rmtree(self.place)

    def netsession(self, clients: int, entries: int) -> None:
        weeks = [f"{week}" for week in range(4)]
        for week in range(5):
            studies.logs(self.place / f"{week}.parquet", week, clients, entries)
        rows = [["clients in week 5", "plain s", "ours s", "time ×", "work ×", "paper: time ×"]]
        first = self.place / "state"
        window = inc.splits(variable=True)
        begun = inc.Job(self.spark, state=str(first), query=studies.AUDIT, window=window)
        begun.advance({week: studies.audited(self.read(week)) for week in weeks})
        for share, paper in NETSESSION.items():
            state = shutil.copytree(first, self.place / f"state-{share}")
            job = inc.Job(self.spark, state=str(state), query=studies.AUDIT, window=window)
            studies.fewer(self.place / "4.parquet", self.place / f"five-{share}.parquet", share)
            add = {"five": studies.audited(self.read(f"five-{share}"))}
            over = studies.audited(self.read(*weeks[1:], f"five-{share}"))
            rows.append(self.row(f"{share} %", self.compared(job, studies.AUDIT, add, 1, over), paper))
        self.report.tables["Table 5: NetSession audits, window of 4 weeks"] = rows
        shutil.rmtree(self.place)
