"""Frames on a stream, in process, crashes and lost caches and all: they are the batch's, and so are their updates."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import slidewise as sw
from slidewise.engine.keyed import BEGINNING, TIE
from slidewise.engine.plan import CLOSED
from slidewise.frames.kind import Frame, Silence
from tests.engine.test_live_frames import bag
from tests.frames.definition import frames_of, reported
from tests.frames.kinds import kinds
from tests.frames.test_whole import total_of
from tests.spark.replay import AGGREGATES, BY, SECOND, Batch, Row, assert_answers, batches, few, plan_of, table_of
from tests.spark.test_changes import Replayed
from tests.spark.workers import TURNS, Workers, replay

pytestmark = pytest.mark.usefixtures("small")
ROWS = [sw.collect("x"), sw.median("x"), sw.concat("s")]


def batch_frames(
    rows: list[Row], kind: Frame, by: list[str], aggregates: Any, *, open_too: bool, watermark: int = BEGINNING
) -> pa.Table:
    """What a batch says of the frames of these rows; a stream leaves those out that are open."""
    plain = [{**row, "f": row["f"] + 0.0 if row["f"] is not None else None} for row in rows]
    table = table_of(plain)
    made = sw.slide(table, aggregates, kind, by=by, order=["t", TIE])
    keys: dict[str, list[Row]] = {}
    for row in plain:
        keys.setdefault(repr([row[name] for name in by]), []).append(row)
    closed = {}
    for key, mine in keys.items():
        mine.sort(key=lambda row: (row["t"], row[TIE]))
        times = [row["t"] * 1000 for row in mine]
        cuts = frames_of(kind, [row["x"] for row in mine], times, total_of(kind))
        closed[key] = [
            cut.closed or (isinstance(kind, Silence) and times[cut.rows[-1]] + kind.gap <= watermark * 1000)
            for cut in reported(kind, cuts, times)
        ]
    flags = [closed[repr([row[name] for name in by])].pop(0) for row in made.to_pylist()]
    assert not any(closed.values()), "the batch gives the frames of the definition"
    made = made.append_column(CLOSED, pa.array(flags, pa.bool_()))
    return made if open_too else made.filter(made.column(CLOSED))


def names_of(plan: Any, kind: Frame) -> list[str]:
    fragment = ["fragment"] if kind.fragments else []
    return [*plan.by, "window_start", "window_end", *fragment, *(output.name for output in plan.outputs)]


@pytest.mark.parametrize("aggregates", [AGGREGATES, ROWS], ids=["totals", "rows"])
@pytest.mark.parametrize("kind", kinds(), ids=str)
@few(8)
@given(stream=batches(), by=st.sampled_from(BY), data=st.data())
def test_the_stream_equals_the_batch(
    kind: Frame, aggregates: Any, stream: list[Batch], by: list[str], data: st.DataObject
) -> None:
    plan = plan_of(kind, by, aggregates)
    workers, emitted = replay(plan, stream, data, late="error")
    everything = [row for batch in stream for row in batch.rows]
    # a silence is known to last once the watermark is far beyond it
    expected = batch_frames(everything, kind, by, aggregates, open_too=isinstance(kind, Silence))
    assert_answers([one.final for one in emitted], expected, names_of(plan, kind))
    if aggregates is AGGREGATES:  # all rows are dead by now: what is left of them weighs no more than the ledger does
        ledger = workers.record.ledger
        assert sum(page.bytes for page in workers.record.pages) <= (0 if ledger is None else ledger.bytes)


@pytest.mark.parametrize("kind", kinds(), ids=str)
@few(6)
@given(stream=batches(), by=st.sampled_from(BY), data=st.data())
def test_updates_replayed_are_the_batch_so_far(
    kind: Frame, stream: list[Batch], by: list[str], data: st.DataObject
) -> None:
    plan = plan_of(kind, by)
    workers, so_far = Workers(plan, "error", emit="update"), []
    names = [*names_of(plan, kind), CLOSED]
    reader = Replayed(names)
    for batch in stream:
        worker, dies, forgets = data.draw(TURNS)
        if forgets:
            workers.caches[worker].clear()
        reader.take(workers.run(batch.table if batch.rows else None, batch.watermark, worker, dies).final)
        workers.check_state()
        so_far += batch.rows
        wanted = batch_frames(so_far, kind, by, AGGREGATES, open_too=True, watermark=batch.watermark)
        assert_answers([reader.table(wanted)], wanted, names)


def test_a_frame_that_grows_is_corrected_not_begun_anew() -> None:
    plan = plan_of(sw.frames.delta("x", 2), ["k"], [sw.count()])
    workers = Workers(plan, "error", emit="update")

    def rows(*events: tuple[float, int]) -> pa.Table:
        made = [{"k": "a", "f": None, "t": int(t * SECOND), "x": x, "s": None, TIE: int(t * 10)} for t, x in events]
        return table_of(made)

    def said(table: pa.Table | None) -> list[tuple[Any, ...]]:
        assert table is not None
        return [(row["op"], row["count"], row[CLOSED]) for row in table.to_pylist()]

    first = workers.run(rows((1, 1), (2, 1)), 0, 0, False)
    assert said(first.final) == [("+I", 2, False)]
    second = workers.run(rows((3, 2)), 0, 0, False)
    assert said(second.final) == [("-U", 2, False), ("+U", 3, False)]
    third = workers.run(rows((4, 9)), 0, 0, False)
    assert said(third.final) == [("-U", 3, False), ("+U", 3, True), ("+I", 1, False)]
    late = workers.run(rows((1.5, 9)), 0, 0, False)
    assert sorted(said(late.final)) == sorted([("-U", 3, True), ("+U", 1, True), ("+I", 1, True), ("+I", 2, True)])


def test_rows_that_outlive_the_row_that_closed_their_frame_open_nothing() -> None:
    """Pages go by arrival: the row that opened a frame may stay when the one that closed it, come earlier, is gone."""
    kind = sw.frames.threshold("x", at_least=0)
    plan = plan_of(kind, ["k"], [sw.collect("x")])
    opens, closes = (1, 0, 1), (1, -1, 2)
    for others in ([], [(1, 5, 7)]):  # no key has an open frame, or another one has
        workers = Workers(plan, "error")

        def run(events: list[tuple[int, int, int]], at: int, key: str = "a", workers: Workers = workers) -> Any:
            rows = [{"k": key, "f": None, "t": t * SECOND, "x": x, "s": None, TIE: tie} for t, x, tie in events]
            return workers.run(table_of(rows) if rows else None, at * SECOND, 0, False).final

        run([closes, *[(0, -1, 10 + n) for n in range(50)]], -1)
        run(others, -1, "b")
        run([opens, *[(9, -1, 3 + n) for n in range(20)]], 0)  # most of this page is alive, so that it stays as it is
        first = run([], 1)
        assert first.column("collect_x").to_pylist() == [[0]]
        workers.caches[0].clear()
        last = run([], 20)
        assert last is None or last.num_rows == 0


def test_a_silence_ends_what_is_open() -> None:
    """With `idle` a frame that nobody closes is answered when the key is given up; and the key begins anew."""
    plan = plan_of(sw.frames.delta("x", 2), ["k"], [sw.count(), sw.sum("x")])
    workers = Workers(plan, "error", idle=5 * SECOND)
    rows = [{"k": "a", "f": None, "t": t * SECOND, "x": 1, "s": None, TIE: t} for t in (1, 2, 30, 31)]
    out = [workers.run(table_of(rows), 0, 0, False).final]
    out += [workers.run(None, at * SECOND, 0, False).final for at in (10, 31, 40)]
    made = [row for table in out if table is not None for row in table.to_pylist()]
    assert [(row["count"], row["sum_x"]) for row in made] == [(2, 2), (2, 2)]


def one_by_one(kind: Frame, values: list[int]) -> tuple[list[int], int]:
    """A row per batch, windows built anew from state for each: the counts of the frames that end, and keys alive."""
    workers = Workers(plan_of(kind, ["k"], [sw.count()]), "error")
    counts, keys = [], 0
    for second, x in enumerate([*values, None]):
        row = {"k": "a", "f": None, "t": second * SECOND, "x": x, "s": None, TIE: second}
        workers.caches[0].clear()
        emitted = workers.run(None if x is None else table_of([row]), (second - 1) * SECOND)
        counts += [] if emitted.final is None else emitted.final.column("count").to_pylist()
        keys = emitted.keys
    return counts, keys


def test_a_limited_aggregate_goes_through_state_by_its_own_codec() -> None:
    kind = sw.frames.aggregate(sw.aggregate(bag(), "x"), 2)
    assert one_by_one(kind, [5, 6, 7, 8, 9]) == ([2, 2], 1)


def test_keys_below_a_threshold_are_forgotten() -> None:
    kind = sw.frames.threshold("x", at_least=3)
    assert one_by_one(kind, [5, 5, 1, 1]) == ([2], 0)
    assert one_by_one(kind, [5, 5, 1, 4]) == ([2], 1)
