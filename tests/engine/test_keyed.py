"""Windows under a watermark answer what a batch answers, once, as soon as it is final, and forget what is over."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import slidewise as sw
from slidewise.engine.arrange import one_zero
from slidewise.engine.keyed import KeyedWindows, Ledger
from slidewise.engine.keys import key_of, values_of
from slidewise.engine.memory import SEEN
from slidewise.engine.plan import make_plan
from slidewise.engine.reach import reach_of
from tests.spark.replay import (
    BY,
    FAR,
    PER_EVENT,
    PER_ROWS,
    PER_WINDOW,
    SECOND,
    Batch,
    assert_answers,
    batch_answer,
    batches,
    few,
    names_of,
    plan_of,
    table_of,
)


@pytest.mark.parametrize("window", [*PER_EVENT, *PER_WINDOW, *PER_ROWS], ids=str)
@few(8)
@given(stream=batches(), by=st.sampled_from(BY))
def test_any_arrival_and_cut_equals_the_batch(window: Any, stream: list[Batch], by: list[str]) -> None:
    plan = plan_of(window, by)
    windows = KeyedWindows(plan)
    made = []
    for number, batch in enumerate(stream):
        assert not windows.is_late(batch.table).any()
        if batch.rows:
            windows.insert(batch.table, number)
        made.append(windows.advance(batch.watermark))
    made.append(windows.advance(FAR))
    everything = [row for batch in stream for row in batch.rows]
    assert_answers(made, batch_answer(everything, window, by), names_of(plan))
    assert windows.pending is None
    assert windows.advance(FAR) is None


@pytest.mark.parametrize("window", [*PER_EVENT, *PER_WINDOW, *PER_ROWS], ids=str)
@few(8)
@given(stream=batches())
def test_nothing_is_final_before_wakes_at_says(window: Any, stream: list[Batch]) -> None:
    plan = plan_of(window, ["k"])
    windows = KeyedWindows(plan)
    for number, batch in enumerate(stream):
        if batch.rows:
            windows.insert(batch.table, number)
        windows.advance(batch.watermark)
        wakes = windows.wakes_at()
        waiting = windows.pending
        if wakes is None:
            assert waiting is None
            assert not windows.keys_alive or plan_has_rows(plan)
            break
        assert wakes > windows.watermark
        assert windows.advance(wakes - 1) is None
        made = windows.advance(wakes)
        assert made is not None or waiting is None or not plan.per_event
        while (wakes := windows.wakes_at()) is not None:  # alarms come to an end
            windows.advance(wakes)
        assert not windows.keys_alive or plan_has_rows(plan)
        break


def plan_has_rows(plan: Any) -> bool:
    return reach_of(plan).lasting


def one(t: float, k: str = "a", x: int = 1, tie: int = 0) -> dict[str, Any]:
    return {"k": k, "f": None, "t": int(t * SECOND), "x": x, "s": None, "__tie": tie}


def test_late_per_event_is_at_or_before_the_watermark() -> None:
    windows = KeyedWindows(plan_of(sw.trailing(3), ["k"]))
    windows.advance(5 * SECOND)
    assert windows.is_late(table_of([one(4), one(5), one(5.000001)])).tolist() == [True, True, False]


def test_late_per_window_is_when_its_last_window_is_closed() -> None:
    windows = KeyedWindows(plan_of(sw.trailing("4 s").every("2 s"), ["k"]))
    windows.advance(8 * SECOND)  # [4, 8) is closed, [6, 10) is open
    assert windows.is_late(table_of([one(4), one(5.9), one(6), one(7)])).tolist() == [True, True, False, False]


def test_a_key_is_forgotten_when_its_window_empties() -> None:
    windows = KeyedWindows(plan_of(sw.trailing("3 s"), ["k"]))
    windows.insert(table_of([one(1), one(2, "b")]), 0)
    windows.advance(2 * SECOND)
    assert (windows.keys_alive, windows.wakes_at()) == (2, 5 * SECOND)
    windows.advance(4 * SECOND)
    assert (windows.keys_alive, windows.is_dead(0)) == (1, False)
    windows.advance(5 * SECOND)
    assert (windows.keys_alive, windows.is_dead(0), windows.wakes_at()) == (0, True, None)


def test_rows_that_no_window_can_cover_are_dead() -> None:
    windows = KeyedWindows(plan_of(sw.trailing(2), ["k"]))
    first, second = table_of([one(1, tie=0), one(2, tie=1), one(1, "b")]), table_of([one(3), one(9)])
    windows.insert(first, 0)
    windows.insert(second, 1)
    windows.advance(3 * SECOND)
    assert windows.live_rows(0, first).tolist() == [False, False, True]  # the next answer covers itself and one before
    assert windows.live_rows(1, second).tolist() == [True, True]
    assert not windows.is_dead(0)
    assert windows.live_count() == 1 + 1 + 1


@pytest.mark.parametrize(
    ("window", "live"),
    [
        (sw.trailing(3).every(2), [False, False, False, True, True]),  # at row 6: rows 3, 4 and 5
        (sw.trailing(4).every(1), [False, False, True, True, True]),  # at row 6: rows 2 to 5
        (sw.tumbling(4), [False, False, False, False, True]),  # at row 8: rows 4 to 7
        (sw.trailing(1).every(3), [False] * 5),  # at row 6: row 5, which is still to come
        (sw.trailing(9).every(2), [True] * 5),
    ],
    ids=str,
)
def test_rows_before_the_next_window_are_dead(window: Any, live: list[bool]) -> None:
    windows = KeyedWindows(plan_of(window, ["k"]))
    table = table_of([one(t) for t in range(5)])
    windows.insert(table, 0)
    windows.advance(9 * SECOND)
    assert windows.live_rows(0, table).tolist() == live
    assert windows.is_dead(0) == (not any(live))
    assert windows.live_count() == max(sum(live), 1)
    ledger = windows.ledger()
    assert ledger is not None
    assert ledger.column(SEEN).to_pylist() == [5]


@pytest.mark.parametrize("by", BY, ids=str)
def test_windows_resume_after_rows_that_are_gone(by: list[str]) -> None:
    """Ten rows of each key, dropped up to the last window; a second instance goes on from the ledger and the rest."""
    keys = [(k, f) for k in (None, "a") for f in (None, math.nan, 0.0)]
    rows = [{**one(t, tie=7 * t % 5), "k": k, "f": f} for t in range(14) for k, f in keys]
    early, late = table_of(rows[: 10 * len(keys)]), table_of(rows[10 * len(keys) :])
    window = sw.trailing(3).every(2)
    first = KeyedWindows(plan_of(window, by))
    first.insert(early, 0)
    made = [first.advance(9 * SECOND)]
    live = first.live_rows(0, early)
    ledger = first.ledger()
    assert ledger is not None
    second = KeyedWindows(plan_of(window, by))
    second.insert(early.filter(pa.array(live)), 1)
    second.resume(Ledger(ledger, first.watermark))
    second.advance(9 * SECOND, answer=False)
    second.insert(late, 2)
    made.append(second.advance(FAR))
    assert_answers(made, batch_answer(rows, window, by), names_of(second.plan))


def test_further_order_columns_break_ties_before_the_hash() -> None:
    table = pa.table(
        {
            "t": pa.array([0, 0, 0, 0], pa.timestamp("us")),
            "u": pa.array(["b", "a", "ä", "a"]),
            "b": pa.array([True, True, False, False]),
            "s": pa.array(["3", "2", "4", "1"]),
        }
    )
    types = dict(zip(table.schema.names, table.schema.types, strict=True))
    concat = sw.Monoid(identity="", combine=lambda a, b: a + b, name="concat", result="string")
    windows = KeyedWindows(make_plan(types, sw.aggregate(concat, "s"), sw.trailing(4), order=["t", "u", "b"]))
    windows.insert(table, 0)
    made = windows.advance(0)
    assert made is not None
    assert made.column("concat_s").to_pylist() == ["1", "12", "123", "1234"]


def test_zeros_and_nans_are_one_key_each() -> None:
    column = one_zero(pa.chunked_array([[0.0, -0.0, None, float("nan"), -float("nan")]]))
    assert column.combine_chunks().view(pa.int64()).to_pylist() in ([0, 0, None, nan, nan] for nan in NANS)
    assert key_of([float("nan"), None, 1.0]) == key_of([-float("nan"), None, 1.0])
    assert str(values_of(key_of([float("nan"), None, "nan"]))) == "(nan, None, 'nan')"


NANS = (0x7FF8000000000000, 0x7FF8000000000000 - 2**63)
