"""Keys that fall silent begin anew; history fills the windows and is not answered."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import slidewise as sw
from slidewise.engine.keyed import TIE
from slidewise.engine.reach import reach_of
from tests.spark.replay import (
    FAR,
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
    rows,
    table_of,
)
from tests.spark.workers import Workers, replay

pytestmark = pytest.mark.usefixtures("small")
IDLE = 3 * SECOND
AHEAD = sw.around(1, 2)


def generations(found: list[Row], idle: int) -> list[Row]:
    """The same rows, with a second key that counts a key's silences."""
    newest: dict[Any, tuple[int, int]] = {}
    made = []
    for row in sorted(found, key=lambda row: (row["t"], row[TIE])):
        last, number = newest.get(row["k"], (row["t"], 0))
        number += row["t"] - last > idle
        newest[row["k"]] = (row["t"], number)
        made.append({**row, "f": float(number)})
    return made


@pytest.mark.parametrize("window", [*PER_EVENT, *PER_ROWS, AHEAD, {"next": AHEAD, "time": sw.trailing("2 s")}], ids=str)
@few(8)
@given(stream=batches(), data=st.data())
def test_a_silence_ends_the_windows_of_a_key(window: Any, stream: list[Batch], data: st.DataObject) -> None:
    plan = plan_of(window, ["k"])
    workers, emitted = replay(plan, stream, data, Workers(plan, "error", idle=IDLE))
    everything = [row for batch in stream for row in batch.rows]
    expected = batch_answer(generations(everything, max(IDLE, reach_of(plan).width)), window, ["k", "f"])
    assert_answers([one.final for one in emitted], expected, names_of(plan))
    assert (workers.store.pages, emitted[-1].keys, emitted[-1].waiting) == ({}, 0, 0)


@pytest.mark.parametrize("window", PER_WINDOW, ids=str)
@few(5)
@given(stream=batches(), data=st.data())
def test_windows_that_end_by_themselves_do_not_mind(window: Any, stream: list[Batch], data: st.DataObject) -> None:
    plan = plan_of(window, ["k"])
    _, emitted = replay(plan, stream, data, Workers(plan, "error", idle=1))
    expected = batch_answer([row for batch in stream for row in batch.rows], window, ["k"])
    assert_answers([one.final for one in emitted], expected, names_of(plan))


@pytest.mark.parametrize("window", [*PER_EVENT, *PER_WINDOW, *PER_ROWS], ids=str)
@few(8)
@given(past=rows(), stream=batches(), data=st.data(), by=st.sampled_from([["k"], ["k", "f"], []]))
def test_history_is_in_the_windows_and_is_not_answered(
    window: Any, past: list[Row], stream: list[Batch], data: st.DataObject, by: list[str]
) -> None:
    """Stream and history may overlap in time."""
    plan = plan_of(window, by)
    workers = Workers(plan, "error")
    past = [{**row, TIE: row[TIE] + 1000} for row in past]
    ends = max((row["t"] for row in past), default=0)
    for part in (past[::2], past[1::2]):
        if part:
            workers.seed(table_of(part), ends)
    _, emitted = replay(plan, stream, data, workers)
    everything = [*past, *(row for batch in stream for row in batch.rows)]
    expected = batch_answer(everything, window, by)
    if plan.per_event:
        expected = expected.filter(pa.array([tie < 1000 for tie in expected.column(TIE).to_pylist()], pa.bool_()))
    elif plan.windows[0].by_time and past:
        closed = expected.column("window_end").cast(pa.int64()).to_pylist()
        expected = expected.filter(pa.array([end > ends for end in closed], pa.bool_()))
    elif past:
        expected = expected.filter(pa.array(_closed_by_stream(everything, expected, by), pa.bool_()))
    assert_answers([one.final for one in emitted], expected, names_of(plan))


def _closed_by_stream(everything: list[Row], windows: pa.Table, by: list[str]) -> list[bool]:
    """Whether the last row of each window of rows is one of the stream."""
    keyed: dict[str, list[Row]] = {}
    for row in sorted(everything, key=lambda row: (row["t"], row[TIE])):
        keyed.setdefault(_key(row, by), []).append(row)
    return [keyed[_key(row, by)][row["window_end"] - 1][TIE] < 1000 for row in windows.to_pylist()]


def _key(row: Row, by: list[str]) -> str:
    return repr([row[name] + 0.0 if isinstance(row[name], float) else row[name] for name in by])


def test_rows_that_look_ahead_wait_for_rows_and_are_answered_when_their_key_falls_silent() -> None:
    def one(t: float, k: str = "a", tie: int = 0) -> Row:
        return {"k": k, "f": None, "t": int(t * SECOND), "x": 1, "s": None, TIE: tie}

    workers = Workers(plan_of(AHEAD, ["k"]), "error", idle=IDLE)
    first = workers.run(table_of([one(1), one(2), one(2.5)]), 3 * SECOND)
    assert first.final is not None
    assert (first.final.column("count").to_pylist(), first.waiting) == ([3], 2)
    assert workers.run(None, int(5.4 * SECOND)).final is None
    last = workers.run(None, int(5.5 * SECOND))
    assert last.final is not None
    assert sorted(last.final.column("count").to_pylist()) == [2, 3]
    assert (last.keys, workers.run(None, FAR).waiting, workers.store.pages) == (0, 0, {})
