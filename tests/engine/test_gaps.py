"""Windows with gaps between them: rows that are in no window cost no memory and leave no trace.

rows      1 2 3 4 5 6 7 8 9 10 11 ... 20
windows                   [10]        [20]        trailing(1).every(10)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import slidewise as sw
from slidewise.engine.carry import Carry
from slidewise.engine.columns import Column, frozen
from slidewise.engine.plan import make_plan
from slidewise.engine.runs import Runs
from slidewise.swag import ALGORITHMS
from tests.catalogue import in_normal_run


def function_for(algorithm: str) -> tuple[str, Callable[[list[Any]], Any], type[int | float]]:
    """A function of numbers that the normal run puts through an algorithm in other places too: it is compiled once."""
    return ("sum", sum, int) if "sum" in in_normal_run(algorithm) else ("max", max, float)


@pytest.mark.parametrize("algorithm", ["auto", *ALGORITHMS])
@pytest.mark.parametrize(("width", "step"), [(1, 10), (3, 10), (1, 2), (7, 40)])
def test_rows(algorithm: str, width: int, step: int) -> None:
    name, function, number = function_for(algorithm)
    values = [number(x) for x in range(1, 121)]
    ends = range(step, len(values) + 1, step)
    expected = [function(values[max(0, end - width) : end]) for end in ends]
    assert sw.slide(values, getattr(sw, name)(), sw.trailing(width).every(step), algorithm=algorithm) == expected


@pytest.mark.parametrize("algorithm", ["auto", *ALGORITHMS])
def test_times(algorithm: str) -> None:
    name, function, number = function_for(algorithm)
    seconds = np.arange(60)
    table = pa.table({"t": pa.array(seconds, pa.timestamp("s")), "x": seconds.astype(number)})
    aggregate = getattr(sw, name)("x")
    out = sw.slide(table, aggregate, sw.trailing("2 s").every("15 s"), order="t", algorithm=algorithm)
    assert out[f"{name}_x"].to_pylist() == [function([s, s + 1]) for s in (0, 15, 30, 45)]


def test_a_carried_window_holds_the_window_and_not_the_gap() -> None:
    plan = make_plan({"x": pa.int64()}, sw.sum("x"), sw.trailing(10).every(100_000), by=None, order=None)
    carry = Carry(plan)
    slot = carry.add_slot()
    for piece in range(30):
        column = Column(frozen(np.arange(piece * 1000, piece * 1000 + 1000)))
        runs = Runs(np.array([slot]), np.array([piece == 0]), np.array([0, 1000]))
        carry.steps({"x": column}, None, runs, np.array([0]))
    (lane,) = carry.lanes
    assert lane.banks[0].length(slot) == 0
    assert len(lane.banks[0].cols[0]) <= 64


def test_an_arena_shrinks_after_a_burst() -> None:
    plan = make_plan({"x": pa.int64()}, sw.sum("x"), sw.trailing(100_000), by=None, order=None)
    carry = Carry(plan)
    slot = carry.add_slot()
    column = Column(frozen(np.arange(200_000)))
    carry.events({"x": column}, None, Runs(np.array([slot]), np.array([True]), np.array([0, 200_000])))
    (lane,) = carry.lanes
    assert len(lane.banks[0].cols[0]) >= 100_000
    carry.release(slot)
    slot = carry.add_slot()
    one = Column(frozen(np.arange(1)))
    carry.events({"x": one}, None, Runs(np.array([slot]), np.array([True]), np.array([0, 1])))
    assert len(lane.banks[0].cols[0]) < 1_000
