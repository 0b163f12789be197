"""What carried windows keep: expanding ones and sessions one partial per key, those that look ahead that far."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import slidewise as sw
from slidewise.engine.answers import answers_to_arrow
from slidewise.engine.carry import Carry
from slidewise.engine.columns import Column, frozen
from slidewise.engine.plan import make_plan
from slidewise.engine.runs import Runs

SECOND = 1_000_000
TYPES = {"t": pa.timestamp("us"), "x": pa.int64()}


def one_run(fresh: bool, rows: int) -> Runs:
    return Runs(np.array([0]), np.array([fresh]), np.array([0, rows], dtype=np.int64))


def columns(values: Any) -> dict[str, Column]:
    column = Column(frozen(np.asarray(values, dtype=np.int64)))
    return {"x": column, "#hash x": column}


def room(carry: Carry) -> int:
    """Places of all arenas of all banks."""
    return sum(len(bank.cols[0]) for lane in carry.lanes for bank in (*lane.banks, lane.ring))


@pytest.mark.parametrize("window", [sw.expanding(), sw.session("10 s")], ids=str)
def test_one_partial_per_key_however_many_rows(window: Any) -> None:
    aggregates = [sw.sum("x"), sw.max("x"), sw.approx_distinct("x"), sw.count_distinct("x")]
    carry = Carry(make_plan(TYPES, aggregates, window, order="t", whole=False))
    carry.add_slot()
    empty, total = room(carry), 0
    for batch in range(50):
        times = frozen(np.arange(batch * 1000, batch * 1000 + 1000) * SECOND)
        run = one_run(batch == 0, 1000)
        if window.per_event:
            answers = carry.events(columns(np.ones(1000)), times, run)
            total += 1000
            assert answers_to_arrow(answers[0])[-1].as_py() == total
        else:
            rows, _ = carry.steps(columns(np.ones(1000)), times, run, np.array([times[-1]]))
            assert not len(rows.run)
        assert room(carry) == empty
    if not window.per_event:
        forever = np.array([np.iinfo(np.int64).max])
        rows, answers = carry.steps(columns([]), frozen(np.zeros(0, dtype=np.int64)), one_run(False, 0), forever)
        assert rows.starts.tolist() == [0]
        assert rows.ends.tolist() == [(49_999 + 10) * SECOND]
        assert answers_to_arrow(answers[0]).to_pylist() == [50_000]


def test_rows_wait_for_what_is_ahead_of_them() -> None:
    """around(1, 2): two rows wait at the end of each call and are given again."""
    carry = Carry(make_plan(TYPES, sw.sum("x"), {"a": sw.around(1, 2), "b": sw.trailing(2)}, order="t", whole=False))
    carry.add_slot()
    values = np.arange(1, 41)
    made: list[list[int]] = [[], []]
    answered, held = 0, 0
    for given in (1, 3, 0, 10, 26):
        first, last = answered, answered + held + given
        times, run = frozen(np.arange(first, last) * SECOND), one_run(answered == 0 and held == 0, last - first)
        done = last == 40
        upto = carry.ready(times, run, np.array([done]))
        assert int(upto[0]) == (last - first if done else max(0, last - first - 2))
        for kept, answer in zip(made, carry.events(columns(values[first:last]), times, run, upto=upto), strict=True):
            kept.extend(answers_to_arrow(answer).to_pylist())
        answered, held = answered + int(upto[0]), last - first - int(upto[0])
    assert made[0] == [int(values[max(0, k - 1) : k + 3].sum()) for k in range(40)]
    assert made[1] == [int(values[max(0, k - 1) : k + 1].sum()) for k in range(40)]


def test_memory_of_a_window_that_looks_ahead_is_the_window() -> None:
    carry = Carry(make_plan(TYPES, sw.sum("x"), sw.around("3 s", "5 s"), order="t", whole=False))
    carry.add_slot()
    largest, held = 0, 0
    for batch in range(200):
        first, last = batch * 10 - held, batch * 10 + 10
        times, run = frozen(np.arange(first, last) * SECOND), one_run(batch == 0, last - first)
        upto = carry.ready(times, run, np.array([False]))
        carry.events(columns(np.ones(last - first)), times, run, upto=upto)
        held = last - first - int(upto[0])
        assert held == 6
        largest = max(largest, room(carry))
    assert largest <= 256
