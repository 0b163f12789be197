"""emit="update" and "change": a changelog that, replayed after any batch, is what a batch job says of those rows."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import slidewise as sw
from slidewise.engine.changes import OP, VERSION
from slidewise.engine.keyed import BEGINNING, TIE
from tests.spark.replay import (
    AGGREGATES,
    BY,
    PER_EVENT,
    PER_ROWS,
    PER_WINDOW,
    SECOND,
    Batch,
    Row,
    assert_answers,
    batch_answer,
    batches,
    few,
    names_of,
    plan_of,
    table_of,
)
from tests.spark.workers import TURNS, Workers

pytestmark = pytest.mark.usefixtures("small")
AHEAD = sw.around(1, 2)
EXACT = [one for one in AGGREGATES if one.name != "stddev_x"]
"""Whether two floats differ may be up to the order in which they were added."""


def spelled(value: Any) -> Any:
    """A value, floats without their last bits and the sign of zero."""
    return f"{value + 0.0:.9g}" if isinstance(value, float) else value


class Replayed:
    """What a reader of the changelog holds."""

    def __init__(self, names: list[str]) -> None:
        self.names = names
        self.rows: list[str] = []
        self.kept: list[Row] = []
        self.version = 0

    def take(self, table: pa.Table | None) -> None:
        for row in [] if table is None else table.to_pylist():
            assert row[VERSION] >= self.version
            self.version = row[VERSION]
            said = repr([spelled(row[name]) for name in self.names])
            if row[OP][0] == "+":
                self.rows.append(said)
                self.kept.append(row)
            else:
                at = self.rows.index(said)  # what is withdrawn was said before
                del self.rows[at], self.kept[at]

    def table(self, like: pa.Table) -> pa.Table:
        columns = {name: [row[name] for row in self.kept] for name in self.names}
        return pa.table({name: pa.array(values, type=like.schema.field(name).type) for name, values in columns.items()})


def follow(window: Any, by: list[str], stream: list[Batch], data: st.DataObject, emit: str, expected: Any) -> None:
    plan = plan_of(window, by, EXACT if emit == "change" else AGGREGATES)
    workers, so_far = Workers(plan, "error", emit=emit), []
    names = names_of(plan)
    reader = Replayed(names)
    for batch in stream:
        worker, dies, forgets = data.draw(TURNS)
        if forgets:
            workers.caches[worker].clear()
        reader.take(workers.run(batch.table if batch.rows else None, batch.watermark, worker, dies).final)
        workers.check_state()
        so_far += batch.rows
        wanted = expected(so_far)
        assert_answers([reader.table(wanted)], wanted, names)


@pytest.mark.parametrize("window", [*PER_EVENT, AHEAD, *PER_WINDOW, *PER_ROWS], ids=str)
@few(6)
@given(stream=batches(), by=st.sampled_from(BY), data=st.data())
def test_updates_replayed_are_the_batch_so_far(
    window: Any, stream: list[Batch], by: list[str], data: st.DataObject
) -> None:
    follow(window, by, stream, data, "update", lambda rows: batch_answer(rows, window, by))


def changed(rows: list[Row], window: Any) -> pa.Table:
    """The rows of the batch whose results differ from those of the row before, key by key."""
    answered = batch_answer(rows, window, ["k"], EXACT)
    table = answered.to_pylist()
    names = names_of(plan_of(window, ["k"], EXACT))[1:]
    order = sorted(range(len(table)), key=lambda i: (repr(table[i]["k"]), table[i]["t"], table[i][TIE]))
    keep, before = [], None
    for i in order:
        now = (table[i]["k"], repr([table[i][name] for name in names]))
        if now != before:
            keep.append(i)
        before = now
    return answered.take(pa.array(keep, type=pa.int64()))


CHANGING = [sw.trailing(3), sw.trailing("3 s", include_current=False), sw.expanding(), sw.around("1 s", "1 s"), AHEAD]


@pytest.mark.parametrize("window", CHANGING, ids=str)
@few(8)
@given(stream=batches(), data=st.data())
def test_changes_replayed_are_the_rows_that_differ(window: Any, stream: list[Batch], data: st.DataObject) -> None:
    follow(window, ["k"], stream, data, "change", lambda rows: changed(rows, window))


def one(t: float, x: int = 1, k: str = "a", tie: int = 0) -> Row:
    return {"k": k, "f": None, "t": int(t * SECOND), "x": x, "s": None, TIE: tie}


def said(table: pa.Table | None) -> list[tuple[Any, ...]]:
    rows = [] if table is None else table.to_pylist()
    return [(row[OP], row["x"], row["sum_x"]) for row in rows]


def test_a_late_row_corrects_those_after_it() -> None:
    workers = Workers(plan_of(sw.trailing(2), ["k"]), emit="update")
    assert said(workers.run(table_of([one(1, 1), one(3, 3)]), 0).final) == [("+I", 1, 1), ("+I", 3, 4)]
    assert said(workers.run(table_of([one(9, 5, "b")]), 0).final) == [("+I", 5, 5)]
    corrected = said(workers.run(table_of([one(2, 2)]), 0).final)
    assert corrected == [("-U", 3, 4), ("+U", 3, 5), ("+I", 2, 3)]
    assert said(workers.run(table_of([one(4, 0)]), 2 * SECOND).final) == [("+I", 0, 3)]
    assert said(workers.run(None, 9 * SECOND).final) == []


def test_a_row_that_says_nothing_new_is_left_out_until_it_does() -> None:
    peak = plan_of(sw.trailing(2), ["k"])
    workers = Workers(peak, emit="change")
    aggregates = ["max_x", "count"]

    def answers(table: pa.Table | None) -> list[tuple[Any, ...]]:
        return (
            []
            if table is None
            else [(row[OP], row["t"].second, *(row[n] for n in aggregates)) for row in table.to_pylist()]
        )

    first = workers.run(table_of([one(1, 7), one(2, 7), one(3, 7), one(4, 7)]), 0).final
    assert answers(first) == [("+I", 1, 7, 1), ("+I", 2, 7, 2)]
    assert answers(workers.run(table_of([one(5, 7)]), 3 * SECOND).final) == []
    assert answers(workers.run(table_of([one(6, 9)]), 5 * SECOND).final) == [("+I", 6, 9, 2)]


def test_floats_are_withdrawn_as_they_were_said_but_for_their_last_bits() -> None:
    """Every other batch meets a worker that has nothing in memory: windows built anew add floats in another order."""
    for seed in range(10):
        source = random.Random(seed)
        rows = [one(n / 2, source.randint(-999, 999), tie=n) for n in range(60)]
        rows.sort(key=lambda row, draw=source: row["t"] + draw.random() * 4 * SECOND)
        workers, watermark = Workers(plan_of(sw.trailing(5), ["k"]), "error", emit="update"), -SECOND
        reader = Replayed(names_of(workers.plan))
        for first in range(0, 60, 4):
            part = rows[first : first + 4]
            if first % 8:
                workers.caches[0].clear()
            reader.take(workers.run(table_of(part), watermark).final)
            watermark = max(watermark, max(row["t"] for row in part) - 5 * SECOND)


@pytest.mark.parametrize("window", [sw.trailing(3), sw.tumbling("2 s"), sw.session("1 s")], ids=str)
@pytest.mark.parametrize("emit", ["update", "change"])
def test_a_thousand_new_keys_in_a_batch(window: Any, emit: str) -> None:
    plan = plan_of(window, ["k"])
    if emit == "change" and not plan.per_event:
        return
    workers = Workers(plan, emit=emit)
    first = workers.run(table_of([one(1, 1, f"key {n}", n) for n in range(1000)]), BEGINNING).final
    assert first is not None
    assert first.num_rows == 1000
    assert workers.run(table_of([one(90, 1)]), 50 * SECOND).keys in (0, 1000)


def marked(table: pa.Table | None, name: str) -> list[tuple[Any, ...]]:
    rows = [] if table is None else table.to_pylist()
    return [(row[OP], row["t"].timestamp(), row[name]) for row in rows]


def test_the_row_to_compare_with_is_held_while_windows_look_ahead() -> None:
    workers = Workers(plan_of(sw.around("1 s", "1 s"), ["k"], [sw.max("x")]), emit="change")
    first = workers.run(table_of([one(8.5, 7), one(9.6, 7), one(10.2, 7)]), BEGINNING).final
    assert marked(first, "max_x") == [("+I", 8.5, 7)]
    assert workers.run(None, 10 * SECOND).final is None
    later = workers.run(table_of([one(10.4, 9)]), 10 * SECOND).final
    assert marked(later, "max_x") == [("+I", 9.6, 9)]


def test_what_comes_after_a_silence_does_not_settle_what_was_before() -> None:
    workers = Workers(plan_of(sw.around(0, 1), ["k"], [sw.count()]), emit="change", idle=3 * SECOND)
    first = workers.run(table_of([one(1), one(2, tie=1), one(3, tie=2)]), 3 * SECOND).final
    assert marked(first, "count") == [("+I", 1, 2), ("+I", 3, 1)]
    later = workers.run(table_of([one(20, tie=3), one(21, tie=4)]), 3 * SECOND).final
    assert marked(later, "count") == [("+I", 20, 2), ("+I", 21, 1)]
