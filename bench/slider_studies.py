"""The data and queries of the Slider paper's three case studies, synthetic and seeded.

Twitter     per link the first time of each user, lowered to the edges spreader -> later follower over a follower graph
            that a hash decides. A link is posted most in the day after it appears (exponentially less after), by few or
            by many (Pareto); `lasting` links are posted all the time, so that every batch changes every key
Glasnost    packet logs as text, in pieces; per trace the least round trip, per server the exact median
NetSession  clients upload logs chained by hashes, which are audited link by link
"""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import slidewise as sw
from slidewise import incremental as inc

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

TWEETS = (1464.3, 74.2, 81.5, 79.4, 85.6)
"""Millions of posts by batch: the paper's; the first is of years, the others of a week each."""
FILES = (1147, 1176, 1710, 1976, 1941, 1441, 1333, 1551, 1500, 1726, 3310)
"""Traces by month: the paper's."""


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
SPREAD = inc.group_by("url").aggregate(sw.aggregate(PROPAGATION, "user", "at"))
DAY = sum(TWEETS[1:]) / 4 / 7
"""In millions of posts, which are the clock."""


def posts(scale: int, lasting: bool) -> list[pa.Table]:
    """The batches: `scale` posts for a million of the paper's."""
    source = np.random.default_rng(5)
    ends = np.cumsum(TWEETS)
    if lasting:
        total = int(ends[-1] * scale)
        at = np.sort(source.random(total)) * ends[-1]
        url = source.integers(0, max(1, total // 260), total)
    else:
        links = int(ends[-1] * scale / 16)
        count = np.minimum(1 + source.pareto(1.5, links) * 8, 5_000).astype(np.int64)
        url = np.repeat(np.arange(links), count)
        at = np.repeat(source.random(links) * ends[-1], count) + source.exponential(DAY, len(url))
        there = at < ends[-1]
        url, at = url[there], at[there]
        order = np.argsort(at)
        url, at = url[order], at[order]
    user = source.zipf(1.3, len(url)) % 100_000
    table = pa.table({"url": url, "user": user, "at": (at * 10**6).astype(np.int64)})
    cuts = [0, *np.searchsorted(at, ends[:-1]).tolist(), len(at)]
    return [table.slice(first, last - first) for first, last in itertools.pairwise(cuts)]


# ---- Glasnost -------------------------------------------------------------------------------------------------------
MEDIANS = inc.group_by("server").aggregate(sw.median("least"))
PIECE = 100
"""Lines of a piece of a trace."""
PACKET = re.compile(r"^(\d+)\.(\d{6}) (>|<) seq (\d+)$", re.MULTILINE)


def traces(path: Path, month: int, files: int, pieces: int) -> None:
    """A month of packet logs: a line for each segment sent (>) and each acknowledged (<), some of them sent twice."""
    source = np.random.default_rng(month)
    bank = [_lines(source) for _ in range(500)]
    schema = pa.schema([("server", pa.int64()), ("trace", pa.int64()), ("log", pa.string())])
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for first in range(0, files, 50):
            trace = np.repeat(np.arange(first, min(first + 50, files)) + month * 10_000, pieces)
            log = pa.array(bank).take(pa.array(source.integers(0, len(bank), len(trace))))
            writer.write_table(pa.table([pa.array(trace * 7919 % 5), pa.array(trace), log], schema=schema))


def _lines(source: Any) -> str:
    segments = PIECE // 2
    sent = np.cumsum(source.integers(50, 2_000, segments)) + int(source.integers(10**9))
    acked = sent + 20_000 + (source.gamma(2.0, 20_000.0, segments)).astype(np.int64)
    number = np.arange(segments) + int(source.integers(10**6))
    events = [*zip(sent, ">" * segments, number, strict=True), *zip(acked, "<" * segments, number, strict=True)]
    again = source.integers(0, segments, 3)
    events += zip(sent[again] + 15_000, ">>>", number[again], strict=True)
    return "\n".join(f"{at // 10**6}.{at % 10**6:06} {way} seq {which}" for at, way, which in sorted(events))


def least_of(log: str) -> int | None:
    """The least round trip, in microseconds; what was sent twice says nothing (Karn's rule)."""
    sent: dict[str, int | None] = {}
    least = None
    for seconds, micros, way, number in PACKET.findall(log):
        at = int(seconds) * 1_000_000 + int(micros)
        if way == ">":
            sent[number] = None if number in sent else at
        else:
            begun = sent.get(number)
            if begun is not None and (least is None or at - begun < least):
                least = at - begun
    return least


def _parsed(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        least = pa.array([least_of(log) for log in batch.column("log").to_pylist()], pa.int64())
        yield pa.RecordBatch.from_arrays(
            [batch.column("server"), batch.column("trace"), least], ["server", "trace", "least"]
        )


def least_round_trips(df: DataFrame) -> DataFrame:
    """A row per trace."""
    pieces = df.mapInArrow(_parsed, "server long, trace long, least long")
    return pieces.groupBy("server", "trace").agg({"least": "min"}).withColumnRenamed("min(least)", "least")


# ---- NetSession -----------------------------------------------------------------------------------------------------
AUDIT = inc.group_by("client").aggregate(sw.count().where("good", "==", False).alias("bad"), sw.sum("bytes"))


def _chain(before: bytes, entry: int) -> bytes:
    return hashlib.sha256(before + entry.to_bytes(8, "little")).digest()


def logs(path: Path, week: int, clients: int, entries: int) -> None:
    """A row per client: the hash its log begins with, its entries, the hash it claims to end with."""
    source = np.random.default_rng(week)
    rows: dict[str, list[Any]] = {"client": list(range(clients)), "begins": [], "entries": [], "ends": []}
    for client in range(clients):
        drawn = source.integers(0, 2**40, entries).tolist()
        begin = hashlib.sha256(f"{client} {week}".encode()).digest()
        state = begin
        for entry in drawn:
            state = _chain(state, entry)
        rows["begins"].append(begin)
        rows["entries"].append(drawn)
        rows["ends"].append(state if client % 1000 else begin)  # one in a thousand has tampered with it
    pq.write_table(pa.table(rows), path, row_group_size=max(1, clients // 4))


def fewer(path: Path, into: Path, share: int) -> None:
    """The same week, uploaded by so many clients of a hundred."""
    table = pq.read_table(path)
    some = pc.less(pc.subtract(table["client"], pc.multiply(pc.divide(table["client"], 100), 100)), share)
    pq.write_table(table.filter(some), into, row_group_size=max(1, table.num_rows // 4))


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


def audited(df: DataFrame) -> DataFrame:
    """A row per log."""
    return df.mapInArrow(_audited, "client long, good boolean, bytes long")
