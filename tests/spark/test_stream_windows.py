"""Windows that a stream cannot tell from its rows alone, in real queries: each equals the batch of the same rows.

    file ── file ── restart ── file ── sentinel        rows out of order within the lateness, many keys, one null

Aggregates are compiled and of objects at once, so that what is remembered of rows that are gone goes both ways.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import slidewise as sw
from tests.spark.replay import SECOND, assert_answers
from tests.spark.test_stream import CONCAT, FAR, Files, arrivals, figures, random_rows, run, sentinel, table_of, written

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery

pytestmark = pytest.mark.spark

Row = dict[str, Any]
AGGREGATES = [sw.count(), sw.sum("x"), sw.aggregate(CONCAT, "s")]
NAMES = [one.name for one in AGGREGATES]
PLAIN: dict[str, Any] = {"by": "k", "order": "t", "lateness": "5 s"}
BOUNDS = ["k", "window_start", "window_end"]

# A policy on another line pickles otherwise, so the restarted query finds nothing in the memory of old workers.
FEW = sw.evict_while(lambda total, old: total.n - old.n >= 3, uses={"n": sw.count()})
FEW_AGAIN = sw.evict_while(lambda total, old: total.n - old.n >= 3, uses={"n": sw.count()})


def columns(windows: dict[str, Any]) -> list[str]:
    return ["n", "k", "t", *(f"{name}_{label}" for label in windows for name in NAMES)]


def apart(rows: list[Row]) -> list[Row]:
    """The same rows without ties of time, so that a table and a stream agree on their order."""
    return [{**row, "t": row["t"] + row["n"] % 2 * SECOND // 4} for row in rows]


def in_table(rows: list[Row], windows: Any) -> pa.Table:
    return sw.slide(table_of(rows), AGGREGATES, windows, by="k", order="t")


def runs(
    spark: SparkSession, place: Path, halves: list[list[Row]], slide: Callable[[DataFrame, bool], DataFrame]
) -> StreamingQuery:
    """Each half in two files by a query of its own, which goes on where the one before ended; then the sentinel."""
    files = Files(place / "in")
    for number, half in enumerate(halves):
        files.add(half, parts=2)
        if number == len(halves) - 1:
            files.add([sentinel(FAR)])
        query = run(slide(files.stream(spark), number > 0), place)
    return query


def last_figures(query: StreamingQuery) -> Any:
    return query.recentProgress[-1].observedMetrics["slidewise"]


def test_windows_that_remember_more_than_rows(spark: SparkSession, tmp_path: Path) -> None:
    rows = apart(random_rows(240, seed=21))
    come = arrivals(rows, 4.5, seed=22)

    def windows(again: bool) -> dict[str, Any]:
        policy = FEW_AGAIN if again else FEW
        return {"all": sw.expanding(), "policy": policy, "ahead": sw.around("2 s", "1 s"), "rows": sw.trailing(3)}

    query = runs(
        spark,
        tmp_path,
        [come[:120], come[120:]],
        lambda stream, again: sw.slide(stream, AGGREGATES, windows(again), **PLAIN),
    )
    assert_answers([written(spark, tmp_path)], in_table(rows, windows(False)), columns(windows(False)))
    assert figures(query)["late_rows"] == 0


@pytest.mark.slow
def test_more_windows_that_remember(spark: SparkSession, tmp_path: Path) -> None:
    """Adwin, a policy on objects, coarse windows, rows ahead in number, and what comes before the row."""
    rows = apart(random_rows(240, seed=23))
    come = arrivals(rows, 4.5, seed=24)
    text = {"text": sw.aggregate(CONCAT, "s")}
    windows = {
        "adwin": sw.adwin(0.5, column="n"),
        "short": sw.evict_while(lambda total, old: len(total.text) - len(old.text) >= 4, uses=text),
        "coarse": sw.trailing("6 s", coarse="2 s"),
        "before": sw.expanding(include_current=False, min_rows=2),
        "next": sw.around(2, 3),
    }
    halves = [come[:120], come[120:]]
    runs(spark, tmp_path, halves, lambda stream, _: sw.slide(stream, AGGREGATES, windows, idle="1 min", **PLAIN))
    assert_answers([written(spark, tmp_path)], in_table(rows, windows), columns(windows))


@pytest.mark.slow
def test_sessions(spark: SparkSession, tmp_path: Path) -> None:
    """Some are open at the restart; every one is ended by the sentinel's watermark, none is answered before its end."""
    rows = apart(random_rows(240, seed=25))
    come = arrivals(rows, 4.5, seed=26)
    window = sw.session("700 ms")
    halves = [come[:120], come[120:]]
    runs(spark, tmp_path, halves, lambda stream, _: sw.slide(stream, AGGREGATES, window, **PLAIN))
    batch = in_table(rows, window)
    assert_answers([written(spark, tmp_path)], batch, [*BOUNDS, *NAMES])
    assert batch.num_rows > 40


# ---- history ----
def test_history_fills_the_windows_and_is_not_answered(spark: SparkSession, tmp_path: Path) -> None:
    """History overlaps the stream in time, lacks columns that no window needs, and counts once though named twice."""
    rows = apart(random_rows(240, seed=27))
    come = arrivals(rows, 4.5, seed=28)
    past, halves = come[:100], [come[100:170], come[170:]]
    windows = {"all": sw.expanding(), "rows": sw.trailing(3), "time": sw.trailing("9 s")}
    history = spark.createDataFrame(table_of(past)).select("s", "x", "t", "k")
    runs(
        spark,
        tmp_path,
        halves,
        lambda stream, _: sw.slide(stream, AGGREGATES, windows, initial=history, **PLAIN),
    )
    old = {row["n"] for row in past}
    batch = in_table(rows, windows)
    batch = batch.filter(pa.array([n not in old for n in batch.column("n").to_pylist()]))
    assert batch.num_rows == 140
    assert_answers([written(spark, tmp_path)], batch, columns(windows))


@pytest.mark.slow
def test_windows_that_end_with_history_are_history(spark: SparkSession, tmp_path: Path) -> None:
    """Also those of a key that the stream never has; an open one has the rows of both."""
    rows = apart(random_rows(240, seed=29))
    past = [{**row, "k": "past"} if row["n"] % 10 == 0 else row for row in rows[:120]]
    window = sw.trailing("5 s").every("2 s")
    history = spark.createDataFrame(table_of(past))
    come = arrivals(rows[120:], 4.5, seed=30)
    runs(spark, tmp_path, [come], lambda stream, _: sw.slide(stream, AGGREGATES, window, initial=history, **PLAIN))
    batch, ends = in_table([*past, *rows[120:]], window), max(row["t"] for row in past)
    batch = batch.filter(pa.array([end > ends for end in batch.column("window_end").cast(pa.int64()).to_pylist()]))
    assert "past" in batch.column("k").to_pylist()
    assert_answers([written(spark, tmp_path)], batch, [*BOUNDS, *NAMES])


# ---- changelogs ----
class Reader:
    """What somebody holds who replays a changelog, commit by commit."""

    def __init__(self, names: list[str]) -> None:
        self.names = names
        self.held: Counter[str] = Counter()
        self.rows: dict[str, Row] = {}
        self.ops: Counter[str] = Counter()

    def take(self, table: pa.Table) -> None:
        """Of one commit of a key what leaves comes first."""
        for row in sorted(table.to_pylist(), key=lambda row: (row["version"], row["op"][0] == "+")):
            said = repr([row[name] for name in self.names])
            self.ops[row["op"]] += 1
            self.held[said] += 1 if row["op"][0] == "+" else -1
            assert self.held[said] >= 0, f"withdrawn, but never said: {row}"
            self.rows[said] = row

    def table(self, like: pa.Table) -> pa.Table:
        kept = [self.rows[said] for said in self.held.elements()]
        return pa.table({n: pa.array([row[n] for row in kept], like.schema.field(n).type) for n in self.names})


@pytest.mark.slow
def test_updates_of_sessions_replayed_are_the_batch(spark: SparkSession, tmp_path: Path) -> None:
    """Rows that come late join sessions that were told apart: those are deleted. Nothing waits for the sentinel."""
    rows = apart(random_rows(160, seed=31))
    come = arrivals(rows, 4.5, seed=32)
    window, files = sw.session("1 s"), Files(tmp_path / "in")
    files.add(come, parts=4)
    run(sw.slide(files.stream(spark), AGGREGATES, window, emit="update", **PLAIN), tmp_path)
    reader = Reader([*BOUNDS, *NAMES])
    reader.take(written(spark, tmp_path))
    batch = in_table(rows, window)
    assert_answers([reader.table(batch)], batch, reader.names)
    assert reader.ops["-D"] > 0


@pytest.mark.slow
@pytest.mark.parametrize("emit", ["update", "change"])
def test_updates_of_events_replayed_are_the_batch(spark: SparkSession, tmp_path: Path, emit: str) -> None:
    """Through a restart; of changes, the rows that differ from the row before."""
    rows = apart(random_rows(160, seed=33))
    come = arrivals(rows, 4.5, seed=34)
    windows = {"all": sw.expanding(), "rows": sw.trailing(2)}
    aggregates = [sw.max("x"), sw.min("x")] if emit == "change" else AGGREGATES
    names = [f"{one.name}_{label}" for label in windows for one in aggregates]
    files = Files(tmp_path / "in")
    for part in (come[:80], come[80:]):
        files.add(part, parts=2)
        run(sw.slide(files.stream(spark), aggregates, windows, emit=emit, **PLAIN), tmp_path)
    reader = Reader(["n", "k", *names])
    reader.take(written(spark, tmp_path))
    batch = sw.slide(table_of(rows), aggregates, windows, by="k", order="t")
    if emit == "change":
        batch = batch.filter(pa.array(_differ(batch, names)))
        assert 20 < batch.num_rows < 140
    assert_answers([reader.table(batch)], batch, reader.names)
    assert reader.ops["-U"] == reader.ops["+U"] > 0


def _differ(batch: pa.Table, names: list[str]) -> list[bool]:
    """Which rows answer something else than the row before of their key; rows are in order of time."""
    before: dict[Any, Any] = {}
    found = []
    for row in batch.to_pylist():
        now = [row[name] for name in names]
        found.append(before.get(row["k"]) != now)
        before[row["k"]] = now
    return found


# ---- silence ----
@pytest.mark.slow
def test_a_silence_ends_the_windows_of_a_key(spark: SparkSession, tmp_path: Path) -> None:
    """A key that is silent for 15 s, then there for as long, begins anew each time; in the end all keys are gone."""
    rows = [row for row in apart(random_rows(300, seed=35)) if row["n"] // 60 % 2 == 0 or row["k"] != "b"]
    windows = {"all": sw.expanding(), "rows": sw.trailing(3)}
    files = Files(tmp_path / "in")
    files.add(arrivals(rows, 4.5, seed=36), parts=4)
    files.add([sentinel(FAR)])
    query = run(sw.slide(files.stream(spark), AGGREGATES, windows, idle="8 s", **PLAIN), tmp_path)
    newest: dict[Any, tuple[int, int]] = {}
    lives = []
    for row in rows:
        last, life = newest.get(row["k"], (row["t"], 0))
        life += row["t"] - last > 8 * SECOND
        newest[row["k"]] = (row["t"], life)
        lives.append(life)
    table = table_of(rows).append_column("life", pa.array(lives, pa.int64()))
    assert max(lives) >= 2
    batch = sw.slide(table, AGGREGATES, windows, by=["k", "life"], order="t")
    assert_answers([written(spark, tmp_path)], batch, columns(windows))
    assert (last_figures(query).keys, last_figures(query).rows_waiting) == (0, 1)
