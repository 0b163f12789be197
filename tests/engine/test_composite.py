"""Several windows with a step in one call: the rows are those of the windows asked apart, joined on key and end.

a   trailing(4).every(2)   ├───┼───┼───┤      ends 2 4 6
b   tumbling(3)            ├─────┼─────┤      ends   3   6
rows                           2 3 4   6      of b: null, x, null, x
"""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import slidewise as sw
from slidewise.engine.answers import answers_to_arrow
from slidewise.engine.carry import Carry
from slidewise.engine.composite import shared_plan
from slidewise.engine.order import forever
from slidewise.engine.plan import make_plan
from slidewise.engine.runs import Runs
from slidewise.engine.shared import shared_work
from slidewise.errors import ArgumentError
from tests.golden import MONOIDS
from tests.same import assert_same

AFFINE = sw.aggregate(sw.Monoid(name="affine", **MONOIDS["affine"]), "p", "x")  # exact, and does not commute
AGGREGATES = [sw.count("x"), sw.sum("x"), sw.max("y").where("p", ">=", 0), AFFINE, sw.mean("y"), sw.median("x")]
EXACT = ("count", "sum_x", "max", "affine", "median")


def table(draw: random.Random, size: int, keys: int, order: str, gap: int) -> pa.Table:
    times: Any = np.array([draw.randint(-20, size * gap // 2) for _ in range(size)], dtype=np.int64)
    return pa.table(
        {
            "k": pa.array([draw.choice(["a", "ü", "", None, "key"][:keys]) for _ in range(size)], pa.string()),
            "t": pa.array(times).cast(order) if "time" not in order else pa.array(times, pa.timestamp("s")),
            "x": pa.array([draw.choice([None, 1, 2, 3]) for _ in range(size)], pa.int64()),
            "y": pa.array([draw.choice([None, math.nan, math.inf, draw.gauss(5.0, 2.0)]) for _ in range(size)]).cast(
                pa.float64()
            ),
            "p": [draw.choice([-1, 0, 1]) for _ in range(size)],
        }
    )


def windows_of(draw: random.Random, axis: str, count: int) -> dict[str, Any]:
    """Some with a common end, some without; tumbling, overlapping, and with gaps between."""
    found: dict[str, Any] = {}
    for number in range(count):
        length, step = draw.choice([1, 2, 3, 4, 6, 10, 12, 60]), draw.choice([1, 2, 3, 4, 6, 12])
        least = draw.choice([0, 0, 2]) if length > 1 else 0
        if axis == "time":
            found[f"w{number}"] = sw.trailing(f"{length} s", min_rows=least).every(f"{step} s")
        elif axis == "rows":
            found[f"w{number}"] = sw.trailing(length, min_rows=least).every(step)
        else:
            found[f"w{number}"] = sw.trailing(length, along="order", min_rows=least).every(step)
    return found


def joined_apart(
    data: pa.Table, aggregates: list[Any], windows: dict[str, Any], **options: Any
) -> dict[str, list[Any]]:
    """One call per window, joined on key and end."""
    rows: dict[tuple[Any, ...], dict[str, Any]] = {}
    for label, window in windows.items():
        alone = sw.slide(data, aggregates, window, by="k", **options).to_pylist()
        for row in alone:
            mine = rows.setdefault((row["k"] is None, row["k"] or "", row["window_end"]), {})
            mine |= {f"{name}_{label}": row[name] for name in row if name not in ("k", "window_start", "window_end")}
    names = [f"{one.name}_{label}" for label in windows for one in aggregates]
    found: dict[str, list[Any]] = {"k": [], "window_end": [], **{name: [] for name in names}}
    for null, key, end in sorted(rows):
        found["k"].append(None if null else key)
        found["window_end"].append(end)
        for name in names:
            found[name].append(rows[null, key, end].get(name))
    return found


def check(made: dict[str, list[Any]], wanted: dict[str, list[Any]]) -> None:
    """Bit-equal, but for means of floats."""
    scale = {name: 1e3 for name in wanted if name.startswith("mean")}
    assert_same(made, wanted, scale=scale)


@settings(max_examples=30)
@given(
    seed=st.integers(0, 2**32),
    size=st.sampled_from([0, 1, 2, 40, 150]),
    keys=st.sampled_from([1, 5]),
    order=st.sampled_from(["rows", "int64", "timestamp"]),
    count=st.integers(2, 5),
)
def test_rows_are_those_of_the_windows_apart(seed: int, size: int, keys: int, order: str, count: int) -> None:
    draw = random.Random(seed)
    data = table(draw, size, keys, "int64" if order == "rows" else order, draw.choice([0, 1, 4]))
    axis = {"rows": "rows", "int64": "order", "timestamp": "time"}[order]
    windows = windows_of(draw, axis, count)
    made = sw.slide(data, AGGREGATES, windows, by="k", order="t", threads=draw.choice([1, 2]))
    check(made.to_pydict(), joined_apart(data, AGGREGATES, windows, order="t"))


def test_along_floats_windows_are_swept_apart_and_joined() -> None:
    draw = random.Random(4)
    data = table(draw, 80, 2, "float64", 1)
    windows = {"a": sw.trailing(2.0).every(0.5), "b": sw.trailing(3.0).every(0.5), "c": sw.tumbling(1.0)}
    check(
        sw.slide(data, AGGREGATES, windows, by="k", order="t").to_pydict(),
        joined_apart(data, AGGREGATES, windows, order="t"),
    )


@pytest.mark.parametrize("axis", ["rows", "time"])
@settings(max_examples=15)
@given(seed=st.integers(0, 2**32), keys=st.sampled_from([1, 5]), piece=st.sampled_from([1, 7, 60]))
def test_rows_in_pieces_give_the_rows_of_whole_columns(axis: str, seed: int, keys: int, piece: int) -> None:
    """Windows that live on between calls; slots are copied and used again on the way."""
    draw = random.Random(seed)
    data = table(draw, 120, keys, "timestamp", 1).sort_by("t")
    windows = windows_of(draw, axis, 3)
    types = {name: data.schema.field(name).type for name in data.column_names}
    plan = make_plan(types, AGGREGATES, windows, by="k", order="t", whole=False)
    carry, slots = Carry(plan), {}  # type: Carry, dict[Any, int]
    assert len(carry.hops) == 4  # x; y where p >= 0; p and x; y; the median is a tally
    rows: list[tuple[Any, ...]] = []
    for first in [*range(0, len(data), piece), None]:
        part = data.slice(0, 0) if first is None else data.slice(first, piece)
        last = forever(plan) if first is None else part["t"].cast(pa.int64())[-1].as_py() * 10**6
        known = part["k"].to_pylist()
        order = sorted(range(len(part)), key=lambda row: (known[row] is None, known[row] or ""))
        found = list(dict.fromkeys(known[row] for row in order)) if first is not None else list(slots)
        starts = [0]
        for key in found:
            starts.append(starts[-1] + known.count(key))
        fresh = [key not in slots for key in found]
        for key, new in zip(found, fresh, strict=True):
            slots |= {key: carry.add_slot()} if new else {}
        mine = np.array([slots[key] for key in found], dtype=np.int64)
        if draw.random() < 0.3 and not any(fresh):  # go on with copies; the slots they come from serve others
            made = carry.copies(mine)
            for slot in mine.tolist():
                carry.release(slot)
            slots.update(zip(found, made.tolist(), strict=True))
            mine = made
        taken = part.take(order) if first is not None else part
        columns = plan.enter(lambda name, taken=taken: taken[name], len(taken))
        times = np.ascontiguousarray(taken["t"].cast(pa.timestamp("us")).to_numpy().astype(np.int64))
        runs = Runs(mine, np.array(fresh, dtype=np.bool_), np.array(starts, dtype=np.int64))
        ends, answers = carry.steps(columns, times, runs, np.full(len(found), last))
        values = [answers_to_arrow(one).to_pylist() for one in answers]
        for j, run in enumerate(ends.run.tolist()):
            rows.append((found[run] is None, found[run] or "", ends.ends[j], [value[j] for value in values]))
    expected = sw.slide(data, AGGREGATES, windows, by="k", order="t")
    rows.sort(key=lambda row: row[:3])
    names = [output.name for output in plan.outputs]
    wanted = {name: expected[name].to_pylist() for name in names}
    check({name: [row[3][k] for row in rows] for k, name in enumerate(names)}, wanted)
    assert [row[:2] for row in rows] == [(key is None, key or "") for key in expected["k"].to_pylist()]


# ---- the shape of the answer ----------------------------------------------------------------------------------------
EVERY = {"1m": sw.tumbling("1 min"), "5m": sw.trailing("5 min").every("1 min"), "1h": sw.trailing("1 h").every("1 min")}


def test_a_dashboard_is_one_row_per_minute() -> None:
    times = pa.array([10, 50, 70, 400], pa.timestamp("s"))
    data = pa.table({"t": times, "x": [1.0, 5.0, 3.0, 4.0]})
    found = sw.slide(data, [sw.max("x"), sw.count("x")], EVERY, order="t")
    assert found.column_names == ["window_end", *(f"{name}_x_{w}" for w in EVERY for name in ("max", "count"))]
    assert sw.schema(data, [sw.max("x"), sw.count("x")], EVERY, order="t") == found.schema
    first = found.slice(0, 7).to_pydict()
    assert [end.minute for end in first["window_end"]] == [1, 2, 3, 4, 5, 6, 7]
    assert first["max_x_1m"] == [5.0, 3.0, None, None, None, None, 4.0]
    assert first["count_x_1m"] == [2, 1, None, None, None, None, 1]
    assert first["max_x_5m"] == [5.0, 5.0, 5.0, 5.0, 5.0, 3.0, 4.0]
    assert first["max_x_1h"] == [5.0] * 7
    assert len(found) == 66  # the last window that holds the last event ends an hour after its minute began


def test_plain_sequences() -> None:
    windows = {"a": sw.trailing(6).every(2), "b": sw.trailing(8).every(4)}
    values = [3, 1, 4, 1, 5, 9, 2, 6]
    assert sw.slide(values, sw.max(), windows) == {"max_a": [3, 4, 9, 9], "max_b": [None, 4, None, 9]}
    found = sw.slide(np.array(values), sw.max(), windows)
    assert found["max_a"].dtype == np.int64
    np.testing.assert_array_equal(found["max_b"], [math.nan, 4.0, math.nan, 9.0])
    names = sw.slide(["b", "ä", "c", "a"], sw.max(), {"a": sw.tumbling(2), "b": sw.tumbling(4)})
    assert names == {"max_a": ["ä", "c"], "max_b": [None, "ä"]}


def test_every_kind_of_table() -> None:
    data = pa.table({"k": ["a", "b", "a"], "t": pa.array([10, 50, 70], pa.timestamp("us")), "x": [1, 5, 3]})
    windows = {"short": sw.trailing("20 us").every("20 us"), "long": sw.trailing("60 us").every("20 us")}
    wanted = sw.slide(data, sw.sum("x"), windows, by="k", order="t")
    frame = sw.slide(data.to_pandas(), sw.sum("x"), windows, by="k", order="t")
    assert isinstance(frame, pd.DataFrame)
    assert frame["sum_x_short"].dtype == "Int64"
    assert (
        pa.Table.from_pandas(frame, preserve_index=False)["sum_x_short"].to_pylist()
        == wanted["sum_x_short"].to_pylist()
    )
    for lazy in (False, True):
        given = pl.from_arrow(data)
        made = sw.slide(given.lazy() if lazy else given, sw.sum("x"), windows, by="k", order="t")  # type: ignore[union-attr]
        made = made.collect() if lazy else made
        assert made.to_dict(as_series=False) == wanted.to_pydict()


@pytest.mark.parametrize(
    ("windows", "message"),
    [
        ({"a": sw.trailing(2), "b": sw.tumbling(2)}, "some answer at every event, others once per step; .*two calls"),
        ({"a": sw.tumbling("1 s"), "b": sw.session("1 s")}, "session.* has rows of its own"),
        ({"a": sw.tumbling("1 s"), "b": sw.tumbling(3)}, "steps of 'rows', 'time', which have no end in common"),
    ],
)
def test_windows_that_have_no_rows_in_common_are_refused(windows: dict[str, Any], message: str) -> None:
    data = pa.table({"t": pa.array([1], pa.timestamp("s")), "x": [1]})
    with pytest.raises(ArgumentError, match=message):
        sw.slide(data, sw.max("x"), windows, order="t")


def test_a_key_may_not_be_called_as_a_bound() -> None:
    data = pa.table({"window_start": [1], "t": pa.array([1], pa.timestamp("s")), "x": [1]})
    with pytest.raises(ArgumentError, match="by='window_start': is the name of a column of the result"):
        sw.slide(data, sw.max("x"), EVERY, by="window_start", order="t")


# ---- what is shared -------------------------------------------------------------------------------------------------
def test_windows_with_a_step_share_a_plan_by_pairs() -> None:
    types = {"t": pa.timestamp("us"), "n": pa.int64(), "x": pa.float64(), "s": pa.string()}
    plan = make_plan(types, [sw.sum("x"), sw.mean("x"), sw.last("s")], EVERY, order="t")
    (shared,), rest = shared_work(plan)
    assert [output.name for output in rest] == ["last_s_1m", "last_s_5m", "last_s_1h"]
    made = shared_plan(plan, shared)
    assert (made.slicing.name, made.composite, made.partials, made.size) == ("pairs", 60 * 10**9, 1, 60)
    assert [query.name for query in made.queries] == ["1m", "5m", "1h"]
    text = sw.explain(
        pa.table({name: pa.array([], kind) for name, kind in types.items()}), sw.sum("x"), EVERY, order="t"
    )
    assert "composite slide of 1 min, by pairs: 1 partials, 1 edges, 1 common; window of 60 partials" in text
    asked = make_plan(types, sw.sum("x"), EVERY, order="t", algorithm="daba")
    assert shared_work(asked)[0] == []  # as was asked for
