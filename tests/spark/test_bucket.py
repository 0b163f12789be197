"""A bucket's rows in state, its windows in memory: crashes, lost caches, workers that alternate, compaction."""

from __future__ import annotations

import math
import random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import slidewise as sw
from slidewise.engine.keyed import BEGINNING, TIE
from slidewise.engine.plan import make_plan
from slidewise.engine.reach import reach_of
from slidewise.errors import LateEventError, SnapshotError
from slidewise.spark import bucket as bucket_module
from slidewise.spark.bucket import Manner, answered_rows
from slidewise.spark.fingerprint import describe, fingerprint_schema
from slidewise.spark.pages import LEDGER, Page, Record
from slidewise.spark.streaming import unusual
from tests.same import same
from tests.spark.replay import (
    BY,
    FAR,
    PER_EVENT,
    PER_ROWS,
    PER_WINDOW,
    SCHEMA,
    SECOND,
    Batch,
    MemoryStore,
    Row,
    assert_answers,
    batch_answer,
    batches,
    few,
    names_of,
    plan_of,
    table_of,
)
from tests.spark.workers import Workers, replay

pytestmark = pytest.mark.usefixtures("small")


@pytest.mark.parametrize("window", [*PER_EVENT, *PER_WINDOW, *PER_ROWS], ids=str)
@few(10)
@given(stream=batches(), by=st.sampled_from(BY), data=st.data())
def test_the_stream_equals_the_batch(window: Any, stream: list[Batch], by: list[str], data: st.DataObject) -> None:
    plan = plan_of(window, by)
    workers, emitted = replay(plan, stream, data, late="error")
    everything = [row for batch in stream for row in batch.rows]
    assert_answers([one.final for one in emitted], batch_answer(everything, window, by), names_of(plan))
    assert sum(one.rows for one in emitted) == len(everything)
    reach, keys = reach_of(plan), emitted[-1].keys
    if not reach.lasting:
        assert (workers.store.pages, keys) == ({}, 0)
    elif not reach.measured:
        pages = [page.rows for page in workers.record.pages]
        few = max([6, *(4 * rows for rows in pages[-1:])])
        assert sum(pages) <= 4 * keys * (reach.rows + 1) + few + 6


COLLECTING = [sw.collect("x"), sw.median("x"), sw.collect("s")]
SKETCHING = [sw.quantile("x", 0.5), sw.approx_distinct("x"), sw.last("s")]


@pytest.mark.parametrize(
    ("aggregates", "window"),
    [
        (COLLECTING, sw.session("1 s")),
        (COLLECTING, sw.trailing(3)),
        (SKETCHING, sw.expanding()),
        (SKETCHING, sw.session("1 s")),
    ],
    ids=str,
)
@few(8)
@given(stream=batches(), data=st.data())
def test_collections_and_sketches_are_remembered(
    aggregates: Any, window: Any, stream: list[Batch], data: st.DataObject
) -> None:
    """Collections as rows, sketches as they are."""
    types = dict(zip(SCHEMA.names, SCHEMA.types, strict=True))
    plan = make_plan(types, aggregates, window, by=["k"], order=["t"], positions=False)
    _, emitted = replay(plan, stream, data, late="error")
    everything = table_of([row for batch in stream for row in batch.rows])
    expected = sw.slide(everything, aggregates, window, by=["k"], order=["t", TIE])
    assert_answers([one.final for one in emitted], expected, names_of(plan))


@pytest.mark.parametrize("window", [*PER_EVENT, *PER_ROWS], ids=str)
@few(8)
@given(stream=batches(delay=8 * SECOND), by=st.sampled_from(BY), data=st.data())
def test_late_rows_leave_the_rest_alone(window: Any, stream: list[Batch], by: list[str], data: st.DataObject) -> None:
    """Late is what is at or before the watermark of the call before."""
    plan = plan_of(window, by)
    _, emitted = replay(plan, stream, data, late="column")
    before = BEGINNING
    taken: list[Row] = []
    for batch, one in zip(stream, emitted, strict=False):
        late = [row for row in batch.rows if row["t"] <= before]
        taken += [row for row in batch.rows if row["t"] > before]
        assert one.late_rows == len(late)
        assert sorted(row[TIE] for row in late) == sorted(one.late.column(TIE).to_pylist() if one.late else [])
        before = max(before, batch.watermark)
    assert_answers([one.final for one in emitted], batch_answer(taken, window, by), names_of(plan))


@pytest.mark.parametrize(("width", "step"), [(3, 2), (4, 1), (1, 3), (2, 2)])
@few(10)
@given(stream=batches(delay=8 * SECOND), data=st.data())
def test_a_late_row_counts_in_the_windows_that_are_open(
    width: int, step: int, stream: list[Batch], data: st.DataObject
) -> None:
    plan = plan_of(sw.trailing(f"{width} s").every(f"{step} s"), ["k"])
    _, emitted = replay(plan, stream, data)
    before, late = BEGINNING, 0
    members: dict[tuple[Any, int], list[Row]] = {}
    for batch in stream:
        for row in batch.rows:
            starts = [s * step * SECOND for s in range(-40, 40)]
            starts = [s for s in starts if s <= row["t"] < s + width * SECOND]
            still = [s for s in starts if s + width * SECOND > before]
            late += not still and row["t"] <= before
            for start in still:
                members.setdefault((row["k"], start), []).append(row)
        before = max(before, batch.watermark)
    expected = []
    for (key, start), rows in members.items():
        rows.sort(key=lambda row: (row["t"], row[TIE]))
        numbers = [row["x"] for row in rows if row["x"] is not None]
        texts = [row["s"] for row in rows if row["s"] is not None]
        expected.append((key, start, len(rows), sum(numbers) if numbers else None, "".join(texts) if texts else None))
    made = []
    for one in emitted:
        if one.final is not None:
            starts = one.final.column("window_start").cast(pa.int64()).to_pylist()
            names = ("count", "sum_x", "concat_s")
            columns = [one.final.column("k").to_pylist(), starts, *(one.final.column(n).to_pylist() for n in names)]
            made += zip(*columns, strict=True)
    assert sorted(made, key=repr) == sorted(expected, key=repr)
    assert sum(one.late_rows for one in emitted) == late


@pytest.mark.parametrize("window", [window for window in PER_WINDOW if isinstance(window, dict)], ids=str)
@few(10)
@given(stream=batches(delay=8 * SECOND), data=st.data())
def test_a_late_row_counts_in_those_of_several_windows_that_are_open(
    window: dict[str, Any], stream: list[Batch], data: st.DataObject
) -> None:
    """As if each window had a stream of its own, joined on key and end: a row may be late for one, not for another."""
    plan = plan_of(window, ["k"])
    _, emitted = replay(plan, stream, data)
    rows: dict[tuple[Any, Any], dict[str, Any]] = {}
    late = []
    for label, alone in window.items():
        _, apart = replay(plan_of(alone, ["k"]), stream, data)
        late.append(sum(one.late_rows for one in apart))
        for row in (row for one in apart if one.final is not None for row in one.final.to_pylist()):
            mine = rows.setdefault((row["k"], row["window_end"]), {})
            mine |= {f"{name}_{label}": value for name, value in row.items()}
    names = [output.name for output in plan.outputs]
    expected = [(*key, *(row.get(name) for name in names)) for key, row in rows.items()]
    final = [one.final.to_pylist() for one in emitted if one.final is not None]
    made = [(row["k"], row["window_end"], *(row[name] for name in names)) for part in final for row in part]
    assert len(made) == len(expected)
    for got, want in zip(*(sorted(part, key=lambda row: repr(row[:2])) for part in (made, expected)), strict=True):
        assert all(same(a, b, 10.0) for a, b in zip(got, want, strict=True)), f"{got}, expected {want}"
    assert sum(one.late_rows for one in emitted) <= min(late)


def one(t: float, k: str | None = "a", x: int = 1, tie: int = 0) -> Row:
    return {"k": k, "f": None, "t": int(t * SECOND), "x": x, "s": None, TIE: tie}


def test_late_rows_raise_if_asked_to() -> None:
    workers = Workers(plan_of(sw.trailing(2), ["k"]), late="error")
    workers.run(table_of([one(1)]), 5 * SECOND)
    with pytest.raises(LateEventError, match=r"1 event\(s\) came .* the first at t=1970-01-01 00:00:05"):
        workers.run(table_of([one(5), one(6)]), 6 * SECOND)
    again = workers.run(table_of([one(6, tie=1)]), 6 * SECOND)  # a failed call left nothing behind
    assert again.final is not None
    assert again.final.column("count").to_pylist() == [2]


def test_late_rows_go_out_flagged_even_if_nothing_else_does() -> None:
    plan = plan_of(sw.trailing(2), ["k"])
    workers = Workers(plan, late="column")
    names = ["k", "t", "count", "sum_x", "late"]
    first = answered_rows(workers.run(table_of([one(1)]), 5 * SECOND), plan, names, "late")
    assert first is not None
    assert first.select(["count", "late"]).to_pylist() == [{"count": 1, "late": False}]
    second = answered_rows(workers.run(table_of([one(2, x=7)]), 5 * SECOND), plan, names, "late")
    assert second is not None
    assert second.schema == first.schema
    assert second.select(["count", "sum_x", "late"]).to_pylist() == [{"count": None, "sum_x": None, "late": True}]


@pytest.mark.parametrize("window", [sw.trailing(3), {"rows": sw.trailing(3), "time": sw.trailing("2 s")}], ids=str)
def test_a_quiet_key_does_not_hold_back_the_busy_ones(window: Any) -> None:
    """Row windows never empty, so a quiet key's rows stay; those of busy keys must go all the same."""
    workers = Workers(plan_of(window, ["k"]))
    workers.run(table_of([one(0, "quiet")]), BEGINNING)
    most = 0
    for second in range(1, 60):
        rows = [one(second + n / 10, "busy", tie=n) for n in range(4)]
        workers.run(table_of(rows), (second - 1) * SECOND, worker=second % 2)
        most = max(most, sum(page.rows for page in workers.record.pages))
    assert most <= 4 * (3 + 1 + 8 + 12) + 12


def test_a_time_window_keeps_only_what_it_covers() -> None:
    workers = Workers(plan_of(sw.trailing("3 s"), ["k"]))
    for second in range(1, 40):
        emitted = workers.run(table_of([one(second, f"key {second}")]), (second - 1) * SECOND)
        assert len(workers.store.pages) <= 6
        assert emitted.keys <= 5


def test_a_worker_catches_up_from_the_pages_it_has_not_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bucket_module, "MANY_PAGES", 64)
    workers = Workers(plan_of(sw.trailing("1 min"), ["k"]))
    read: list[int] = []
    monkeypatch.setattr(MemoryStore, "read_page", lambda self, page: read.append(page) or self.pages[page])
    for second, worker in enumerate([0, 0, 1, 1, 0, 0]):
        workers.run(table_of([one(second)]), (second - 1) * SECOND, worker)
    assert read == [0, 1, 2, 3]  # worker 1 builds from pages 0 and 1, worker 0 catches up with 2 and 3


@pytest.mark.parametrize("compacted", [True, False], ids=["compacted", "dropped"])
@pytest.mark.parametrize("window", PER_ROWS, ids=str)
def test_row_numbers_outlive_the_rows(window: Any, compacted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """300 rows out of order, of which state holds a few; caches old, cold, and of commits undone.

    Keys that pause hold whole pages back, so they need compaction; without it all keys are busy.
    """
    if not compacted:
        monkeypatch.setattr(bucket_module, "MANY_PAGES", 10**6)
        monkeypatch.setattr(bucket_module, "FEW_ROWS", 10**6)
    source = random.Random(repr(window))
    rows, by = [], ["k", "f"] if compacted else ["k"]
    for n in range(300):
        key = None if compacted and n % 97 == 0 else "ab"[n // 2 % 2]
        rows.append({**one(n // 2, key, n, tie=n), "f": source.choice([0.0, -0.0]) if n // 50 % 2 else math.nan})
    came = sorted(rows, key=lambda row: row["t"] + source.random() * 3 * SECOND)
    plan = plan_of(window, by)
    workers, emitted, taken, watermark, most = Workers(plan, "error"), [], 0, BEGINNING, 0
    while watermark < FAR:
        part = came[taken : taken + source.randint(1, 9)]
        taken += len(part)
        watermark = watermark if part else FAR
        worker = source.choice([0, 0, 0, 1])
        if source.random() < 0.1:
            workers.caches[worker].clear()
        emitted.append(workers.run(table_of(part) if part else None, watermark, worker, source.random() < 0.2))
        workers.check_state()
        held = sum(page.rows for page in workers.record.pages)
        assert workers.counted() == taken
        most = max(most, held)
        watermark = max([watermark, *(row["t"] - 3 * SECOND for row in part)])
    assert_answers([one.final for one in emitted], batch_answer(rows, window, by), names_of(plan))
    assert most < 100


def test_a_ledger_costs_no_more_than_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """With many keys and small batches, dead pages wait until they are as large as the ledger to be rewritten."""
    monkeypatch.setattr(bucket_module, "MANY_PAGES", 10**6)
    monkeypatch.setattr(bucket_module, "FEW_ROWS", 10**6)
    written = {"ledger": 0, "rows": 0}

    def write(self: MemoryStore, page: int, stored: bytes) -> None:
        written["ledger" if page == LEDGER else "rows"] += len(stored)
        self.pages[page] = stored

    monkeypatch.setattr(MemoryStore, "write_page", write)
    workers = Workers(plan_of(sw.tumbling(1), ["k"]))
    workers.run(table_of([one(0, f"key {n}", tie=n) for n in range(500)]), BEGINNING)
    for second in range(1, 60):
        workers.run(table_of([one(second)]), second * SECOND)
    assert 0 < written["ledger"] < written["rows"]
    assert workers.counted() == 559


def test_records_of_other_formats_are_refused() -> None:
    record = Record(watermark=5)
    for known in (record, Record(3, pages=[Page(1, 2, 3, "t")], ledger=Page(LEDGER, 4, 5, "u"), alarm=7)):
        assert Record.decode(known.encode()) == known
    for damaged in (b"", b"{}", b"[]", b'{"slidewise": "other"}', record.encode().replace(b'"next_id"', b'"what"')):
        with pytest.raises(SnapshotError, match="damaged"):
            Record.decode(damaged)
    with pytest.raises(SnapshotError, match="state of format 9; this version"):
        Record.decode(record.encode().replace(b'"format":2', b'"format":9'))


def test_a_query_is_known_by_its_emit_and_idle_where_they_are_unusual() -> None:
    """And as before where they are not, so that older checkpoints go on."""
    plan = plan_of(sw.trailing(3), ["k"])
    plain = describe(plan, buckets=2, late="drop")
    known = [
        describe(plan, buckets=2, late="drop", **unusual(plan, manner))
        for manner in (Manner(), Manner(emit="update"), Manner(emit="change"), Manner(idle=7), Manner(idle=8))
    ]
    assert known[0] == plain
    schemas = {repr([field.dataType for field in fingerprint_schema(phrases).fields]) for phrases in known}
    assert len(schemas) == len(known), "types, which Spark compares"


def test_sessions_that_were_totals_cannot_go_on_as_rows() -> None:
    """By another algorithm; Spark refuses such a restart by its fingerprint, and state by itself."""
    types = dict(zip(SCHEMA.names, SCHEMA.types, strict=True))
    plans = [
        make_plan(types, sw.sum("x"), sw.session("5 s"), by=["k"], order=["t"], algorithm=name, positions=False)
        for name in ("auto", "two_stacks_lite")
    ]
    assert describe(plans[0]) != describe(plans[1])
    workers = Workers(plans[0], "error")
    for second in range(20):
        workers.run(table_of([one(second, tie=second)]), (second - 1) * SECOND)
    workers.plan = plans[1]
    workers.caches[0].clear()
    with pytest.raises(SnapshotError, match="the ledger holds totals, and the windows of this query are kept as rows"):
        workers.run(None, FAR)
