"""Windows that begin with the partials of rows before them answer as if they had seen those rows."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import slidewise as sw
from slidewise.engine.answers import answers_to_arrow
from slidewise.engine.carry import Carry
from slidewise.engine.plan import Plan, make_plan
from slidewise.engine.runs import Runs
from slidewise.engine.totals import begin_with, totals_of

# Joined (count, sum, stddev share their work), of two fields, and one that does not commute.
AGGREGATES = [sw.count(), sw.sum("x"), sw.stddev("x"), sw.max("x"), sw.last("x")]
TABLE = pa.table({"t": pa.array(range(9), pa.int64()), "x": [None, None, 2.5, -1.0, None, 4.0, 0.5, None, 3.0]})


def plan_of(window: Any) -> Plan:
    types = dict(zip(TABLE.schema.names, TABLE.schema.types, strict=True))
    return make_plan(types, AGGREGATES, window, order="t", whole=False)


def feed(carry: Carry, rows: pa.Table, *, fresh: bool) -> list[Any]:
    columns = carry.plan.enter(rows.column, rows.num_rows)
    times = np.array(rows["t"].to_pylist(), dtype=np.int64)
    times.flags.writeable = False
    runs = Runs(np.array([0]), np.array([fresh]), np.array([0, rows.num_rows], dtype=np.int64))
    return [answers_to_arrow(one).to_pylist() for one in carry.events(columns, times, runs)]


def begun(window: Any) -> Carry:
    """With one slot, cleared."""
    carry = Carry(plan_of(window))
    carry.add_slot()
    feed(carry, TABLE.slice(0, 0), fresh=True)
    return carry


@pytest.mark.parametrize("cuts", [(1,), (2,), (3, 4), (1, 2, 5), (8,)], ids=str)
@pytest.mark.parametrize("window", [sw.expanding(), sw.expanding(include_current=False, min_rows=4)], ids=str)
def test_parts_answer_as_the_whole(window: Any, cuts: tuple[int, ...]) -> None:
    wanted = [sw.slide(TABLE, AGGREGATES, window, order="t")[name].to_pylist() for name in names()]
    totals, edges, made = [], [0, *cuts, TABLE.num_rows], [[] for _ in AGGREGATES]
    for first, last in pairwise(edges):
        part, carry = TABLE.slice(first, last - first), begun(window)
        if first:
            begin_with(carry, 0, first, totals)
        for answers, found in zip(made, feed(carry, part, fresh=not first), strict=True):
            answers.extend(found)
        alone = begun(window)
        feed(alone, part, fresh=True)
        totals.append(totals_of(alone, 0))
    for got, want in zip(made, wanted, strict=True):
        assert got == pytest.approx(want)


def names() -> list[str]:
    return [one.name for one in AGGREGATES]


def test_rows_before_take_no_room() -> None:
    before = begun(sw.expanding())
    feed(before, TABLE.slice(0, 4), fresh=True)
    carry = begun(sw.expanding())
    begin_with(carry, 0, 10**12, [totals_of(before, 0)])
    counts, *_ = feed(carry, TABLE.slice(4, 2), fresh=False)
    assert counts == [5, 6]  # of the rows that the partial counts
    assert sum(len(bank.cols[0]) for lane in carry.lanes for bank in lane.banks) < 10_000
