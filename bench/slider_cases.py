"""The three case studies of the Slider paper, on synthetic data.

Twitter     append: batches 1464.3 : 74.2 : 81.5 : 79.4 : 85.6; per URL the first time of each user, lowered to the
            edges spreader -> later follower over a follower graph that a hash decides
Glasnost    a window of 3 months by month, as many traces as the paper's files; per trace the least round trip, per
            server the exact median
NetSession  a window of 4 weeks by week, variable; clients upload hash-chained logs, audited link by link; in week 5
            100 to 75 % of the clients do
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import slidewise as sw
from bench.measure import Report
from bench.slider_meter import Meter, metered, written
from slidewise import incremental as inc

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TWEETS = (1464.3, 74.2, 81.5, 79.4, 85.6)
TWITTER = (("8.9", "14.22"), ("9.2", "13.67"), ("9.42", "14.22"), ("9.25", "14.34"))
FILES = (1147, 1176, 1710, 1976, 1941, 1441, 1333, 1551, 1500, 1726, 3310)
GLASNOST = ("2.07", "2.8", "3.79", "3.32", "2.44", "2.56", "2.43", "1.9")
NETSESSION = {100: "1.72", 95: "1.85", 90: "1.89", 85: "2.01", 80: "2.1", 75: "2.24"}


# ---- Twitter --------------------------------------------------------------------------------------------------------
def _earliest(a: dict[int, int], b: dict[int, int]) -> dict[int, int]:
    merged = dict(a)
    for user, at in b.items():
        if user not in merged or at < merged[user]:
            merged[user] = at
    return merged


def follows(user: int, other: int) -> bool:
    """The follower graph: one in twenty, as a hash says."""
    return (user * 2654435761 ^ other * 40503) % 20 == 0


def _edges(first: dict[int, int]) -> int:
    """How many users got the link from somebody they follow who had posted it before."""
    spread: list[int] = []
    edges = 0
    for user, _ in sorted(first.items(), key=lambda item: (item[1], item[0])):
        edges += any(follows(user, other) for other in spread[-50:])
        spread.append(user)
    return edges


PROPAGATION = sw.Monoid(
    identity={},
    lift=lambda user, at: {user: at},
    combine=_earliest,
    lower=_edges,
    commutative=True,
    name="propagation",
    result="int64",
)


def _tweets(path: Path, number: int, rows: int) -> None:
    source = np.random.default_rng(number)
    pq.write_table(
        pa.table(
            {
                "url": source.integers(0, 20_000, rows),
                "user": source.zipf(1.3, rows) % 100_000,
                "at": np.sort(source.integers(number * 10**6, (number + 1) * 10**6, rows)),
            }
        ),
        path,
    )


# ---- Glasnost -------------------------------------------------------------------------------------------------------
def _traces(path: Path, number: int, files: int, packets: int) -> None:
    source = np.random.default_rng(number)
    traces = np.repeat(np.arange(files) + number * 10_000, packets)
    pq.write_table(
        pa.table(
            {
                "server": (traces * 7919) % 5,
                "trace": traces,
                "rtt": np.round(source.gamma(2.0, 20.0, len(traces)) + (traces % 90), 3),
            }
        ),
        path,
    )


def _least(df: DataFrame) -> DataFrame:
    return df.groupBy("server", "trace").agg({"rtt": "min"}).withColumnRenamed("min(rtt)", "least")


# ---- NetSession -----------------------------------------------------------------------------------------------------
def _chain(before: bytes, entry: int) -> bytes:
    return hashlib.sha256(before + entry.to_bytes(8, "little")).digest()


def _logs(path: Path, week: int, clients: int, share: int, entries: int = 40) -> None:
    """A row per client: the hash its log begins with, its entries, the hash it claims to end with."""
    source = np.random.default_rng(week)
    rows: dict[str, list[Any]] = {"client": [], "week": [], "begins": [], "entries": [], "ends": []}
    for client in range(clients):
        drawn = source.integers(0, 2**40, entries)
        if client % 100 >= share:
            continue
        begin = hashlib.sha256(f"{client} {week}".encode()).digest()
        state = begin
        for entry in drawn.tolist():
            state = _chain(state, entry)
        rows["client"].append(client)
        rows["week"].append(week)
        rows["begins"].append(begin)
        rows["entries"].append(drawn.tolist())
        rows["ends"].append(state)
    pq.write_table(pa.table(rows), path, row_group_size=max(1, clients // 4))


def _audited(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Is every log what its hashes say?"""
    for batch in batches:
        good, size = [], []
        columns = (batch.column(name).to_pylist() for name in ("begins", "entries", "ends"))
        for begins, entries, ends in zip(*columns, strict=True):
            state = begins
            for entry in entries:
                state = _chain(state, entry)
            good.append(state == ends)
            size.append(sum(entries))
        yield pa.RecordBatch.from_pydict(
            {"client": batch.column("client"), "good": pa.array(good), "bytes": pa.array(size)}
        )


def run_cases(
    spark: SparkSession,
    place: Path,
    quick: bool,
    report: Report,
    tell: Callable[[str], None],
) -> None:
    """All three, each a table of the report."""
    small = 100 if quick else 1
    _twitter(spark, place / "twitter", 3_000 // small, report, tell)
    _glasnost(spark, place / "glasnost", 15_000 // small, report, tell)
    _netsession(spark, place / "netsession", 80_000 // small, report, tell)


def _compared(
    spark: SparkSession,
    place: Path,
    job: inc.Job,
    query: inc.Query,
    add: dict[str, Any],
    drop: int | None,
    window: Any,
) -> tuple[Meter, Meter]:
    with metered(spark) as ours:
        written(job.advance(add, drop))
    kept = str(place / "plain")
    with metered(spark) as plain:
        query.run(window).write.mode("overwrite").parquet(kept)
    differing = job.result().exceptAll(spark.read.parquet(kept)).count()
    assert not differing, f"{differing} rows differ from the plain run"
    return ours, plain


def _twitter(spark: SparkSession, place: Path, scale: int, report: Report, tell: Any) -> None:
    place.mkdir()
    query = inc.group_by("url").aggregate(sw.aggregate(PROPAGATION, "user", "at"))
    job = inc.Job(spark, state=str(place / "state"), query=query, window=inc.splits())
    rows = [["batch", "plain s", "ours s", "time ×", "work ×", "paper: time ×", "paper: work ×"]]
    for number, tweets in enumerate(TWEETS):
        _tweets(place / f"{number}.parquet", number, int(tweets * scale))
        add = {f"{number}": spark.read.parquet(str(place / f"{number}.parquet"))}
        window = spark.read.parquet(*[str(place / f"{k}.parquet") for k in range(number + 1)])
        ours, plain = _compared(spark, place, job, query, add, None, window)
        paper = ("-", "-") if number == 0 else TWITTER[number - 1]
        rows.append(_row(f"{tweets} M scaled", plain, ours, *paper))
        tell(f"Twitter {number}: plain {plain.seconds:.1f} s, ours {ours.seconds:.1f} s")
    report.tables["Table 4: Twitter propagation trees, append"] = rows


def _glasnost(spark: SparkSession, place: Path, packets: int, report: Report, tell: Any) -> None:
    place.mkdir()
    query = inc.group_by("server").aggregate(sw.median("least"))
    job = inc.Job(spark, state=str(place / "state"), query=query, window=inc.splits(3))
    rows = [["month", "plain s", "ours s", "time ×", "work ×", "paper: time ×"]]
    for month, files in enumerate(FILES):
        _traces(place / f"{month}.parquet", month, files, packets)
    frames = [_least(spark.read.parquet(str(place / f"{month}.parquet"))) for month in range(len(FILES))]
    written(job.advance({f"{month}": frames[month] for month in range(3)}))
    for month in range(3, len(FILES)):
        window = _least(spark.read.parquet(*[str(place / f"{k}.parquet") for k in range(month - 2, month + 1)]))
        ours, plain = _compared(spark, place, job, query, {f"{month}": frames[month]}, None, window)
        rows.append(_row(f"{month + 1}/2011, {FILES[month]} files", plain, ours, GLASNOST[month - 3]))
        tell(f"Glasnost {month}: plain {plain.seconds:.1f} s, ours {ours.seconds:.1f} s")
    report.tables["Table 3: Glasnost, window of 3 months"] = rows
    shutil.rmtree(place)


def _netsession(spark: SparkSession, place: Path, clients: int, report: Report, tell: Any) -> None:
    place.mkdir()
    query = inc.group_by("client").aggregate(sw.count().where("good", "==", False).alias("bad"), sw.sum("bytes"))

    def audited(*names: str) -> DataFrame:
        logs = spark.read.parquet(*[str(place / f"{name}.parquet") for name in names])
        return logs.mapInArrow(_audited, "client long, good boolean, bytes long")

    weeks = [f"{week}" for week in range(4)]
    for week in range(4):
        _logs(place / f"{week}.parquet", week, clients, 100)
    rows = [["clients in week 5", "plain s", "ours s", "time ×", "work ×", "paper: time ×"]]
    first = place / "state"
    written(
        inc.Job(spark, state=str(first), query=query, window=inc.splits(variable=True)).advance(
            {week: audited(week) for week in weeks}
        )
    )
    for share, paper in NETSESSION.items():
        state = shutil.copytree(first, place / f"state-{share}")
        job = inc.Job(spark, state=str(state), query=query, window=inc.splits(variable=True))
        _logs(place / f"five-{share}.parquet", 4, clients, share)
        window = audited(*weeks[1:], f"five-{share}")
        ours, plain = _compared(spark, place, job, query, {"five": audited(f"five-{share}")}, 1, window)
        rows.append(_row(f"{share} %", plain, ours, paper))
        tell(f"NetSession {share} %: plain {plain.seconds:.1f} s, ours {ours.seconds:.1f} s")
    report.tables["Table 5: NetSession audits, window of 4 weeks"] = rows


def _row(what: str, plain: Meter, ours: Meter, *paper: str) -> list[str]:
    times, works = plain.seconds / ours.seconds, plain.work / ours.work
    return [what, f"{plain.seconds:.1f}", f"{ours.seconds:.2f}", f"{times:.2f}", f"{works:.2f}", *paper]
