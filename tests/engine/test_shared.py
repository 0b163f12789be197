"""Several windows of one call share their slices; the answers are those of each window asked alone."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import slidewise as sw
from slidewise.engine import batch, shared
from slidewise.engine.answers import answers_to_arrow
from slidewise.engine.carry import Carry
from slidewise.engine.plan import make_plan
from slidewise.engine.runs import Runs
from tests.golden import MONOIDS
from tests.same import assert_same

AFFINE = sw.aggregate(sw.Monoid(name="affine", **MONOIDS["affine"]), "p", "x")  # exact, and does not commute
AGGREGATES = [
    sw.count("x"),
    sw.sum("x"),
    sw.max("x").where("p", ">=", 0),
    AFFINE,
    sw.mean("y"),
    sw.stddev("y"),
    sw.sum("z"),
    sw.min("z"),
    sw.max("z"),
    sw.last("z"),
]
ROUNDED = ("mean_y", "stddev_y", "sum_z")
"""Floats that are computed; all else must be equal to the bit."""

KEYS = ["a", "ü", "日本", "", None, *map(str, range(85))]
EDGES = [math.nan, math.inf, -math.inf, -0.0, 0.0, 1e308, 5e-324, None]


def table(draw: random.Random, size: int, keys: int, order: str, gap: int) -> pa.Table:
    """Nulls in every column but the order; `gap` 0: all rows at one time; `z` has what floats have at their edges."""
    times: Any = np.array([draw.randint(0, size * gap // 2) for _ in range(size)], dtype=np.int64)
    return pa.table(
        {
            "k": pa.array([draw.choice(KEYS[:keys]) for _ in range(size)], pa.string()),
            "t": pa.array(times).cast(order),
            "x": pa.array([draw.choice([None, 1, 2, 3]) for _ in range(size)], pa.int64()),
            "y": pa.array([draw.choice([None, draw.gauss(5.0, 2.0)]) for _ in range(size)], pa.float64()),
            "z": pa.array(
                [draw.choice(EDGES) if draw.random() < 0.1 else float(draw.randint(-9, 9)) for _ in range(size)],
                pa.float64(),
            ),
            "p": pa.array([draw.choice([-1, 0, 1]) for _ in range(size)], pa.int64()),
        }
    )


def assert_as_alone(data: pa.Table, windows: dict[str, Any], aggregates: Any = AGGREGATES, **options: Any) -> None:
    """Each window asked alone, recalculated for every row; floats within 1e-12 of the sum of |x| over the window."""
    together = sw.slide(data, aggregates, windows, by="k", order="t", **options)
    with_sizes = data
    for name in ("y", "z") if "y" in data.column_names else ():
        sizes = [None if v is None or not math.isfinite(v) else abs(v) for v in data[name].to_pylist()]
        with_sizes = with_sizes.append_column(f"size_{name}", pa.array(sizes, pa.float64()))
    for label, window in windows.items():
        alone = sw.slide(data, aggregates, window, by="k", order="t", algorithm="recalculate")
        for aggregate in aggregates:
            scale = None
            if aggregate.name in ROUNDED:
                total = sw.sum(f"size_{aggregate.name[-1]}")
                found = sw.slide(with_sizes, total, window, by="k", order="t")[total.name].to_pylist()
                scale = [1.0 if one is None else max(1.0, one) for one in found]
            mine = together[f"{aggregate.name}_{label}"].to_pylist()
            assert_same(mine, alone[aggregate.name].to_pylist(), scale=scale)


@settings(max_examples=25)
@given(
    seed=st.integers(0, 2**32),
    keys=st.sampled_from([1, 4, 90]),
    order=st.sampled_from(["int64", "float64"]),
    gap=st.sampled_from([0, 1, 4]),
    current=st.booleans(),
    chunk=st.sampled_from([0, 16, 50]),
)
def test_several_windows_answer_as_each_alone(
    seed: int, keys: int, order: str, gap: int, current: bool, chunk: int
) -> None:
    draw = random.Random(seed)
    data = table(draw, draw.choice([0, 1, 15, 16, 17, 33, 300]), keys, order, gap)
    windows = {
        f"w{length}": sw.trailing(
            length, along="order", include_current=draw.random() < 0.8 and current, min_rows=draw.choice([0, 0, 3])
        )
        for length in draw.sample([1, 2, 3, 7, 20, 64, 150, 10_000], 3)
    }
    with pytest.MonkeyPatch.context() as patch:
        if chunk:
            patch.setattr(batch, "CHUNK", chunk)
            patch.setattr(shared, "CHUNK", chunk)
            patch.setattr(shared, "SMALLEST", chunk)
        assert_as_alone(data, windows, threads=draw.choice([1, 2]))


def test_several_windows_answer_as_the_definition_says() -> None:
    draw = random.Random(11)
    rows = 120
    columns = {
        "k": ("int64", [draw.randint(1, 3) for _ in range(rows)]),
        "t": ("int64", sorted(draw.randint(0, 90) for _ in range(rows))),
        "x": ("int64", [draw.choice([None, 1, 2, 3]) for _ in range(rows)]),
    }
    data = pa.table({name: pa.array(values, kind) for name, (kind, values) in columns.items()})
    windows = {name: sw.trailing(n, along="order") for name, n in (("a", 2), ("b", 25), ("c", 60))}
    found = sw.slide(data, [sw.sum("x"), sw.max("x"), sw.count("x")], windows, by="k", order="t")
    for number in range(rows):
        key, time = columns["k"][1][number], columns["t"][1][number]
        for name, length in (("a", 2), ("b", 25), ("c", 60)):
            inside = [
                columns["x"][1][row]
                for row in range(number + 1)
                if columns["k"][1][row] == key and columns["t"][1][row] > time - length
            ]
            there = [x for x in inside if x is not None]
            assert found[f"count_x_{name}"][number].as_py() == len(there)
            assert found[f"sum_x_{name}"][number].as_py() == (sum(there) if there else None)
            assert found[f"max_x_{name}"][number].as_py() == (max(there) if there else None)


def test_times_that_swallow_a_window() -> None:
    times = [-math.inf, -math.inf, 0.0, 1.0, 1e300, 1e300, math.inf, math.inf]
    data = table(random.Random(1), 8, 1, "float64", 1).set_column(1, "t", pa.array(times))
    assert_as_alone(data, {"a": sw.trailing(0.5), "b": sw.trailing(1e10), "c": sw.trailing(1e299)})


@pytest.mark.parametrize("times", ["apart", "ties"])
def test_integers_at_their_limits(times: str) -> None:
    """Sums of 128 bits on the way; positions at both ends of what an order may hold."""
    most, least, rows = 2**63 - 1, -(2**63), 120
    data = pa.table(
        {
            "k": ["only"] * rows,
            "t": [n if times == "apart" else n // 20 for n in range(rows)],
            "x": pa.array([(most, -most, None, 0)[n % 4] for n in range(rows)], pa.int64()),
            "e": pa.array([(most, least, None)[n % 3] for n in range(rows)], pa.int64()),
        }
    )
    windows = {name: sw.trailing(n, along="order") for name, n in (("a", 3), ("b", 17), ("c", 60))}
    aggregates = [sw.sum("x"), sw.mean("x"), sw.min("e"), sw.max("e"), sw.count("e"), sw.last("e")]
    assert_as_alone(data, windows, aggregates)
    far = data.set_column(1, "t", pa.array([2**62 - rows + n for n in range(rows)], pa.int64()))
    assert_as_alone(far, windows, aggregates)
    with pytest.raises(OverflowError):
        sw.slide(data, sw.sum("e"), {"a": windows["a"], "b": windows["b"]}, by="k", order="t")


@pytest.mark.parametrize("rows", [0, 1, 300])
def test_one_key_with_everything_and_no_rows_at_all(rows: int) -> None:
    data = table(random.Random(rows), rows, 1, "int64", 1)
    assert_as_alone(data, {"a": sw.trailing(2, along="order"), "b": sw.trailing(10**6, along="order")})


def test_which_windows_share() -> None:
    types = {"t": pa.timestamp("us"), "n": pa.int64(), "x": pa.float64(), "s": pa.string(), "k": pa.int64()}

    def shares(aggregates: Any, windows: Any, **options: Any) -> list[tuple[int, str]]:
        plan = make_plan(types, aggregates, windows, order="t", **options)
        found, rest = shared.shared_work(plan)
        names = {output.name for one in found for members in one.members for output in members}
        assert names.isdisjoint(output.name for output in rest)
        assert len(names) + len(rest) == len(plan.outputs)
        return [(len(one.windows), one.joints[0].name) for one in found]

    hours = {"1h": sw.trailing("1 h"), "2h": sw.trailing("2 h")}
    assert shares([sw.sum("x"), sw.mean("x"), sw.max("n")], hours) == [(2, "sum_x_1h+mean_x_1h"), (2, "max_n_1h")]
    assert shares(sw.sum("x"), {"1h": sw.trailing("1 h")}) == []  # one window has nobody to share with
    assert shares(sw.sum("x"), {"a": sw.trailing(10), "b": sw.trailing(20)}) == []  # the blocked kernel is faster
    assert shares(sw.sum("x"), hours, algorithm="daba") == []  # as was asked for
    assert shares(sw.last("s"), hours) == []  # objects
    assert shares(sw.approx_distinct("x"), hours) == []  # a tally
    past = {"a": sw.trailing("1 h", include_current=False), "b": sw.trailing("2 h", include_current=False)}
    assert shares(sw.sum("x"), {**hours, **past}) == [(2, "sum_x_1h"), (2, "sum_x_a")]
    ties = {"1h": sw.trailing("1 h", ties="together"), "2h": sw.trailing("2 h", coarse="1 min"), "all": sw.expanding()}
    assert shares(sw.sum("x"), ties) == []


def test_explain_says_what_is_shared() -> None:
    data = pa.table({"t": [1, 2, 3], "x": [1.0, 2.0, 3.0]})
    windows = {"a": sw.trailing(2, along="order"), "b": sw.trailing(9, along="order")}
    text = sw.explain(data, [sw.mean("x"), sw.sum("x"), sw.max("x")], windows, order="t")
    said = text.splitlines()[-1]
    assert said.startswith("shared: mean_x_a, sum_x_a, max_x_a, mean_x_b, sum_x_b, max_x_b: 2 windows")
    assert "(partial: float64, int64, float64)" in said
    assert "shared" not in sw.explain(data, sw.mean("x"), windows["a"], order="t")


@settings(max_examples=20)
@given(
    seed=st.integers(0, 2**32),
    keys=st.sampled_from([1, 3, 20]),
    piece=st.sampled_from([1, 7, 60, 400]),
    current=st.booleans(),
)
def test_rows_in_pieces_give_the_answers_of_whole_columns(seed: int, keys: int, piece: int, current: bool) -> None:
    """Windows that live on between calls share their slices too; slots are copied and used again on the way."""
    draw = random.Random(seed)
    data = table(draw, 300, keys, "int64", 1).sort_by("t")
    lengths = draw.sample([1, 2, 7, 20, 64, 150, 10_000], 3)
    windows = {f"w{n}": sw.trailing(n, along="order", include_current=current) for n in lengths}
    types = {name: data.schema.field(name).type for name in data.column_names}
    plan = make_plan(types, AGGREGATES, windows, by="k", order="t", whole=False)
    carry, slots = Carry(plan), {}  # type: Carry, dict[int, int]
    assert len(carry.shared) == 5  # x; x where p >= 0; p and x; y; z
    expected = sw.slide(data, AGGREGATES, windows, by="k", order="t")
    for first in range(0, len(data), piece):
        part = data.slice(first, piece)
        codes = np.array([KEYS.index(key) for key in part["k"].to_pylist()])
        order = np.argsort(codes, kind="stable")
        rows = part.take(order)
        found, starts = np.unique(codes[order], return_index=True)
        fresh = [int(key) not in slots for key in found]
        for key in found[fresh]:
            slots[int(key)] = carry.add_slot()
        mine = np.array([slots[int(key)] for key in found])
        if draw.random() < 0.3 and not any(fresh):  # go on with copies; the slots they come from serve others
            made = carry.copies(mine)
            for slot in mine.tolist():
                carry.release(slot)
            slots.update(zip(map(int, found), made.tolist(), strict=True))
            mine = made
        columns = plan.enter(lambda name, rows=rows: rows[name], len(rows))
        runs = Runs(mine, np.array(fresh), np.append(starts, len(rows)).astype(np.int64))
        for answers in carry.events(columns, np.ascontiguousarray(rows["t"].to_numpy()), runs):
            wanted = expected[answers.output.name].slice(first, piece).take(order).to_pylist()
            scale = 2e3 if answers.output.name.startswith(ROUNDED) else None  # 300 values of about 5, or 1e308
            assert_same(answers_to_arrow(answers).to_pylist(), wanted, scale=scale)


@pytest.mark.parametrize("stepped", [False, True], ids=["events", "steps"])
def test_a_column_keeps_no_other_alive(stepped: bool) -> None:
    """Windows answer in one loop, each into arrays of its own."""
    values, times = np.arange(1000.0), np.arange(1000)
    windows = {f"w{n}": sw.trailing(n, along="order") for n in (3, 50, 400)}
    if stepped:
        windows = {name: window.every(1) for name, window in windows.items()}
    found = sw.slide(values, [sw.max(), sw.sum()], windows, order=times)
    for name, column in found.items():
        root = column
        while isinstance(root.base, np.ndarray):
            root = root.base
        assert root.nbytes <= 8 * len(column), name
