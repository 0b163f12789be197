"""Rows in pieces give the answers of one sweep: whatever the cuts, the windows, the algorithm and the sort of partial.

key a   ──●──●│──●────│●──●──►       one run per key and call; a call may have any of the keys
key b   ─────●│───────│●●────►       equal times are only parted where ties are apart
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import slidewise as sw
from slidewise.engine.answers import Answers, answers_to_arrow
from slidewise.engine.carry import Carry
from slidewise.engine.columns import to_column
from slidewise.engine.order import FOREVER
from slidewise.engine.plan import Plan, make_plan
from slidewise.engine.runs import Runs
from slidewise.errors import ArgumentError
from slidewise.swag import ALGORITHMS
from tests.affine import AFFINE
from tests.catalogue import served
from tests.golden import MONOIDS
from tests.same import assert_same

SECOND = 1_000_000
AGGREGATES = [
    sw.count(),
    sw.sum("x"),
    sw.max("x"),
    sw.stddev("x"),
    sw.aggregate(sw.Monoid(name="affine", **MONOIDS["affine"]), "x", "n"),
    sw.aggregate(sw.Monoid(name="concat", **MONOIDS["concat"]), "s"),
    sw.aggregate(sw.Monoid(name="queue", **MONOIDS["queue"]), "s"),
    sw.top_k("x", 2),
    sw.collect("s"),
    sw.median("x"),
    sw.count_distinct("s"),
    sw.approx_distinct("s", error=0.26),
    sw.argmax("s", "x"),
    sw.longest_increasing_run("x"),
    sw.sum("x").where("n", ">", 0).alias("sum_where"),
]
BY_NAME = [sw.aggregate(AFFINE, "x"), *(one for one in AGGREGATES if one.source.name == "concat")]
FOR_SOME = {"subtract_on_evict": [sw.sum("x")], "monotonic_deque": [sw.max("x")]}
"""What runs through an algorithm by its name: each is machine code of its own."""
PER_EVENT = [
    sw.trailing(1),
    sw.trailing(3),
    sw.trailing(4, include_current=False, min_rows=2),
    sw.trailing("3 s"),
    sw.trailing("3 s", include_current=False),
    sw.trailing("2 s", ties="together"),
    sw.trailing("2 s", ties="together", include_current=False),
    {"rows": sw.trailing(2), "time": sw.trailing("5 s", min_rows=2)},
    {"short": sw.trailing("1 s", include_current=False), "long": sw.trailing("9 s", include_current=False)},
]
PER_WINDOW = [
    sw.trailing("3 s").every("2 s"),
    sw.trailing("1 s").every("3 s"),
    sw.tumbling("2 s"),
    sw.trailing(5).every(2),
    sw.trailing(2).every(3),
]
VALUES = st.none() | st.integers(-3, 3)


@st.composite
def series(draw: st.DrawFn) -> dict[str, pa.Table]:
    """Each key's rows in order of time."""
    found = {}
    for key in "abc"[: draw(st.integers(1, 3))]:
        times = sorted(draw(st.lists(st.integers(-6, 24), max_size=24)))
        size = len(times)
        numbers = draw(st.lists(VALUES, min_size=size, max_size=size))
        found[key] = pa.table(
            {
                "k": pa.array([key] * size, pa.string()),
                "t": pa.array([t * SECOND // 2 for t in times], pa.timestamp("us", tz="UTC")),
                "x": pa.array(numbers, pa.int64()),
                "n": pa.array([n % 3 for n in range(size)], pa.int64()),
                "s": pa.array([None if x is None else "xyz"[x % 3] for x in numbers], pa.string()),
            }
        )
    return found


class Pieces:
    """A carry fed run by run, and its answers by key."""

    def __init__(self, plan: Plan, rows: dict[str, pa.Table]) -> None:
        self.plan = plan
        self.rows = rows
        self.carry = Carry(plan)
        self.slots: dict[str, int] = {}
        self.done = dict.fromkeys(rows, 0)
        self.together = any(window.ties == "together" for window in plan.windows)
        self.answers: dict[str, list[dict[str, Any]]] = {key: [] for key in rows}

    def times(self, key: str) -> list[int]:
        return self.rows[key].column("t").cast(pa.int64()).to_pylist()

    def end_of(self, key: str, wanted: int) -> int:
        """Where a run of about `wanted` rows ends: not between rows that belong together."""
        times, end = self.times(key), min(self.done[key] + wanted, self.rows[key].num_rows)
        while self.together and 0 < end < len(times) and times[end] == times[end - 1]:
            end += 1
        return end

    def feed(self, sizes: dict[str, int], patience: float) -> None:
        """One call. Windows with a step are answered up to a time between the last row here and the next."""
        sizes = {key: size for key, size in sizes.items() if self.end_of(key, size) > self.done[key] or self.steps}
        parts, slots, fresh, starts, upto = [], [], [], [0], []
        for key, size in sizes.items():
            first, last = self.done[key], self.end_of(key, size)
            fresh.append(key not in self.slots)
            if key not in self.slots:
                self.slots[key] = self.carry.add_slot()
            parts.append(self.rows[key].slice(first, last - first))
            slots.append(self.slots[key])
            starts.append(starts[-1] + last - first)
            times = self.times(key)
            if last == len(times):
                upto.append(FOREVER)
            else:
                seen = times[last - 1] if last else times[0] - SECOND
                upto.append(seen + int((times[last] - seen) * patience))
            self.done[key] = last
        if not parts:
            return
        table = pa.concat_tables(parts).combine_chunks()
        columns = self.plan.enter(table.column, table.num_rows)
        moments = np.array(table.column("t").cast(pa.int64()).to_pylist(), dtype=np.int64)
        moments.flags.writeable = False
        runs = Runs(np.array(slots), np.array(fresh), np.array(starts, dtype=np.int64))
        if not self.steps:
            answers = self.carry.events(columns, moments, runs)
            self.keep(list(sizes), np.repeat(np.arange(len(slots)), np.diff(starts)), {}, answers)
            return
        windows, answers = self.carry.steps(columns, moments, runs, np.array(upto))
        bounds = {"window_start": windows.starts.tolist(), "window_end": windows.ends.tolist()}
        self.keep(list(sizes), windows.run, bounds, answers)

    @property
    def steps(self) -> bool:
        return not self.plan.per_event

    def keep(self, keys: list[str], run: Any, bounds: dict[str, Any], answers: list[Answers]) -> None:
        made = {**bounds, **{answer.output.name: answers_to_arrow(answer).to_pylist() for answer in answers}}
        for place, key in enumerate(run.tolist()):
            self.answers[keys[key]].append({name: values[place] for name, values in made.items()})


def check(rows: dict[str, pa.Table], window: Any, algorithm: str, data: st.DataObject) -> None:
    table = pa.concat_tables(rows.values())
    types = dict(zip(table.schema.names, table.schema.types, strict=True))
    # All by the ladder's choice; by each algorithm a few, since each pair is machine code of its own.
    wanted = AGGREGATES if algorithm == "auto" else FOR_SOME.get(algorithm, BY_NAME)
    aggregates = served(algorithm, wanted, types)
    assert aggregates
    plan = make_plan(types, aggregates, window, by="k", order="t", algorithm=algorithm, whole=False)
    pieces = Pieces(plan, rows)
    sizes = st.dictionaries(st.sampled_from(sorted(rows)), st.integers(0, 7))
    for _ in range(data.draw(st.integers(0, 8))):
        pieces.feed(data.draw(sizes), data.draw(st.sampled_from([0.0, 0.5, 1.0])))
    pieces.feed(dict.fromkeys(rows, table.num_rows), 0)
    whole = sw.slide(table, aggregates, window, by="k", order="t", algorithm="foa")
    bounds = [] if plan.per_event else ["window_start", "window_end"]
    for key in rows:
        expected = whole.filter(pa.array([k == key for k in whole.column("k").to_pylist()], pa.bool_()))
        for name in [*bounds, *(output.name for output in plan.outputs)]:
            column = expected.column(name)
            column = column.cast(pa.int64()) if name in bounds else column
            assert_same([row[name] for row in pieces.answers[key]], column.to_pylist(), scale=1.0)


@pytest.mark.parametrize("algorithm", ["auto", *sorted(ALGORITHMS)])
@pytest.mark.parametrize("window", PER_EVENT, ids=str)
@settings(max_examples=8)
@given(rows=series(), data=st.data())
def test_pieces_per_event(window: Any, algorithm: str, rows: dict[str, pa.Table], data: st.DataObject) -> None:
    check(rows, window, algorithm, data)


@pytest.mark.parametrize("algorithm", ["auto", *sorted(ALGORITHMS)])
@pytest.mark.parametrize("window", PER_WINDOW, ids=str)
@settings(max_examples=8)
@given(rows=series(), data=st.data())
def test_pieces_per_window(window: Any, algorithm: str, rows: dict[str, pa.Table], data: st.DataObject) -> None:
    check(rows, window, algorithm, data)


@pytest.mark.parametrize("algorithm", sorted(ALGORITHMS))
def test_what_is_left_out_is_refused(algorithm: str) -> None:
    types = {"k": pa.string(), "x": pa.int64(), "n": pa.int64(), "s": pa.string(), "t": pa.timestamp("us", tz="UTC")}
    some = served(algorithm, AGGREGATES, types)
    assert some
    for one in AGGREGATES:
        if one not in some:
            with pytest.raises(ArgumentError, match=algorithm):
                make_plan(types, one, sw.trailing(2), by="k", order="t", algorithm=algorithm)


def test_a_released_slot_begins_anew() -> None:
    plan = make_plan({"x": pa.int64()}, sw.sum("x"), sw.trailing(3), whole=False)
    carry = Carry(plan)
    first = carry.add_slot()
    for values, fresh, expected in (([1, 2], True, [1, 3]), ([4], False, [7]), ([5], True, [5])):
        if fresh and expected == [5]:
            carry.release(first)
            assert carry.add_slot() == first
        runs = Runs(np.array([first]), np.array([fresh]), np.array([0, len(values)]))
        (answer,) = carry.events({"x": to_column(pa.array(values))}, None, runs)
        assert answers_to_arrow(answer).to_pylist() == expected
