"""Rows that wait for those after them need what lies before them, however far the watermark has gone."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import slidewise as sw
from slidewise.engine.keyed import TIE
from slidewise.spark.partition import mapper
from slidewise.spark.recipe import Recipe
from tests.spark.replay import (
    FEW,
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
from tests.spark.workers import Workers, replay


def one(t: float, tie: int) -> Row:
    return {"k": "a", "f": None, "t": int(t * SECOND), "x": 1, "s": None, TIE: tie}


OTHERS = {"time": sw.trailing("3 s"), "coarse": sw.trailing("3 s", coarse="500 ms"), "rows": sw.trailing(2), "few": FEW}
AHEAD = {"by time": sw.around("1 s", "1 s"), "by rows": sw.around(1, 1)}


SEEN = {"time": 4, "coarse": 4, "rows": 2, "few": 3}


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("ahead", AHEAD)
@pytest.mark.parametrize("cold", [False, True], ids=["same worker", "new worker"])
def test_what_lies_before_a_row_that_waits_is_kept(other: str, ahead: str, cold: bool) -> None:
    """The row at 3.9 s waits; its window of 3 s has the row at 1 s, which is 3.5 s old when a worker begins anew.

    ──1──2──3──3.9─┬─────5───►
                  4.5 watermark
    """
    windows: dict[str, Any] = {"other": OTHERS[other], "ahead": AHEAD[ahead]}
    workers = Workers(plan_of(windows, ["k"]), "error")
    for number, t in enumerate((1, 2, 3, 3.9)):
        workers.run(table_of([one(t, number)]), 0)
    for watermark in (4.5, 4.6):
        workers.run(None, int(watermark * SECOND))
    if cold:
        workers.caches[0].clear()
    emitted = workers.run(table_of([one(5, 4)]), 6 * SECOND).final
    assert emitted is not None
    found = {row[TIE]: row["count_other"] for row in emitted.to_pylist()}
    assert found[3] == SEEN[other]


def test_it_is_kept_for_the_keys_that_wait_alone() -> None:
    """A key that never comes back keeps its own few rows, and not those of others."""
    windows = {"time": sw.trailing("3 s"), "ahead": sw.around(1, 1)}
    workers = Workers(plan_of(windows, ["k"]), "error")
    workers.run(table_of([one(1, 0), one(2, 1)]), 0)
    for second in range(3, 300):
        row = {**one(second, second), "k": "b"}
        emitted = workers.run(table_of([row]), (second - 1) * SECOND)
    assert emitted.waiting == 3
    assert sum(page.rows for page in workers.record.pages) < 100


@pytest.mark.parametrize("cold", [False, True], ids=["same worker", "new worker"])
def test_a_row_that_is_compared_with_has_all_of_its_window(cold: bool) -> None:
    """emit="change": the rows at 3.9 s and 5 s both see two rows, so the second says nothing new."""
    workers = Workers(plan_of(sw.trailing("3 s"), ["k"]), "error", emit="change")
    for number, t in enumerate((1, 3.9)):
        workers.run(table_of([one(t, number)]), 0)
    for watermark in (4.5, 4.6):
        workers.run(None, int(watermark * SECOND))
    if cold:
        workers.caches[0].clear()
    assert workers.run(table_of([one(5, 2)]), int(4.6 * SECOND)).final is None


def test_a_row_is_compared_with_one_whose_window_is_over() -> None:
    """emit="change": the row at 2 s sees two rows; the one at 9 s sees itself alone, and that is news.

    So is a row that sees what the row before saw, however long ago: not news.
    """
    workers = Workers(plan_of(sw.trailing("3 s"), ["k"]), "error", emit="change")
    said = []
    for number, t in enumerate((1, 2, 9, 19)):
        made = workers.run(table_of([one(t, number)]), int((t - 0.5) * SECOND)).final
        if number:
            workers.run(None, int((t + 5) * SECOND))
        said.append(None if made is None else made.column("count").to_pylist())
    assert said == [[1], [2], [1], None]


@pytest.mark.parametrize(
    "window",
    [
        {"all": sw.expanding(include_current=False, ties="together"), "ahead": sw.around(0, 1)},
        {"all": sw.expanding(ties="together"), "ahead": sw.around(1, 2)},
        {"time": sw.trailing("5 s", include_current=False, ties="together"), "ahead": sw.around(0, 2)},
    ],
    ids=str,
)
@few(10)
@given(stream=batches(), data=st.data())
def test_rows_of_one_time_wait_together(window: Any, stream: list[Batch], data: st.DataObject) -> None:
    """Those that wait for rows that never come are not answered, nor are others of their time."""
    plan = plan_of(window, ["k"])
    _, emitted = replay(plan, stream, data, late="error")
    made = [one.final for one in emitted if one.final is not None]
    answered = {tie for table in made for tie in table.column(TIE).to_pylist()}
    expected = batch_answer([row for batch in stream for row in batch.rows], window, ["k"])
    chosen = [tie in answered for tie in expected.column(TIE).to_pylist()]
    assert_answers(made, expected.filter(pa.array(chosen, pa.bool_())), names_of(plan))


@pytest.mark.parametrize("size", [1, 2, 5, 7])
def test_rows_of_one_time_wait_together_on_arrow_batches(size: int) -> None:
    """Spark's batches may end among rows of one time, while others wait for rows to come."""
    times = [1, 2, 2, 2, 3, 4, 5]
    table = pa.table({"t": pa.array(times, pa.int64()), "x": pa.array(range(7), pa.int64())})
    windows = {"all": sw.expanding(include_current=False, ties="together"), "ahead": sw.around(0, 2)}
    recipe = Recipe(
        dict(zip(table.schema.names, table.schema.types, strict=True)), sw.count(), windows, None, "t", "auto"
    )
    batches = table.to_batches(max_chunksize=size)
    made = pa.Table.from_batches(list(mapper(recipe.packed(), presorted=True)(iter(batches))))
    assert made.column("count_all").to_pylist() == [0, 1, 1, 1, 4, 5, 6]
    assert made.column("count_ahead").to_pylist() == [3, 3, 3, 3, 3, 2, 1]
