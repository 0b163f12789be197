"""Every built-in over every kind of window: what the ladder chooses answers as `foa`, which runs on objects alone.

`between`, which no algorithm but its own follows, is held against the trailing window that has the same bounds.
"""

from __future__ import annotations

import datetime as dt
import itertools
import math
import random
from typing import Any

import pyarrow as pa
import pytest

import slidewise as sw
from slidewise.engine.plan import make_plan
from slidewise.errors import ArgumentError
from slidewise.monoids import BUILTINS
from slidewise.monoids.aggregate import Aggregate
from slidewise.monoids.laws import same
from slidewise.spark.partition import mapper
from slidewise.spark.recipe import Recipe
from tests.catalogue import CORE

EPOCH = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
SIZE = 80
PER_EVENT = {
    "all": sw.expanding(),
    "past": sw.expanding(include_current=False, min_rows=2),
    "peers": sw.expanding(ties="together"),
    "near": sw.around(2, 3),
    "soon": sw.around("2 s", "3 s"),
    "coarse": sw.trailing("7 s", coarse="3 s"),
}
WINDOWS: list[Any] = [PER_EVENT, sw.session("1 s"), sw.tumbling("5 s")]


def make_table() -> pa.Table:
    draw = random.Random(9)
    seconds = sorted(draw.randint(0, 60) for _ in range(SIZE))

    def some(value: Any) -> Any:
        return None if draw.random() < 0.2 else value

    return pa.table(
        {
            "key": sorted(draw.choice("ab") for _ in range(SIZE)),
            "ts": pa.array([EPOCH + dt.timedelta(seconds=s) for s in seconds], pa.timestamp("us", tz="UTC")),
            "whole": pa.array([some(draw.randint(-9, 9)) for _ in range(SIZE)], pa.int64()),
            "real": pa.array([some(draw.uniform(-9, 9)) for _ in range(SIZE)], pa.float64()),
            "flag": pa.array([some(draw.random() < 0.5) for _ in range(SIZE)], pa.bool_()),
            "text": pa.array([some(draw.choice("xyz")) for _ in range(SIZE)], pa.string()),
        }
    )


TABLE = make_table()
TYPES = dict(zip(TABLE.schema.names, TABLE.schema.types, strict=True))


def bound(name: str, **options: Any) -> Aggregate:
    """A built-in on the first columns that it takes."""
    for columns in [("real",), ("whole",), ("flag",), ("text",), ("real", "whole"), ()]:
        try:
            aggregate = Aggregate(BUILTINS[name], columns)
            make_plan(TYPES, aggregate, sw.trailing(2), by="key", order="ts", **options)
        except ArgumentError:
            continue
        return aggregate
    raise AssertionError(f"{name} takes none of these columns: extend this test")


def assert_same(made: pa.Table, wanted: pa.Table, names: list[str]) -> None:
    for name in names:
        for row, (got, want) in enumerate(zip(made[name].to_pylist(), wanted[name].to_pylist(), strict=True)):
            scale = max(1.0, abs(want)) if isinstance(want, float) and math.isfinite(want) else 1.0
            assert same(got, want, 1e-9 * scale), (name, row, got, want)


KINDS = ("per_event", "session", "tumbling")
SOME = [
    # Each is machine code of its own: of most built-ins the normal run sees one kind of window.
    pytest.param(name, window, id=f"{name}-{kind}", marks=[] if name in CORE or k == number % 3 else pytest.mark.slow)
    for number, name in enumerate(BUILTINS)
    for k, (kind, window) in enumerate(zip(KINDS, WINDOWS, strict=True))
]


@pytest.mark.parametrize(("name", "window"), SOME)
def test_as_on_objects(name: str, window: Any) -> None:
    chosen = bound(name)
    made = sw.slide(TABLE, chosen, window, by="key", order="ts")
    wanted = sw.slide(TABLE, chosen, window, by="key", order="ts", algorithm="foa")
    assert made.column_names == wanted.column_names
    assert_same(made, wanted, made.column_names)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[] if name in CORE or not number % 3 else pytest.mark.slow)
        for number, name in enumerate(BUILTINS)
    ],
)
def test_between_as_trailing(name: str) -> None:
    """One row without bounds in the middle, so that they do not only rise."""
    lo = [None if row == SIZE // 2 else ts - dt.timedelta(seconds=4) for row, ts in enumerate(TABLE["ts"].to_pylist())]
    table = TABLE.append_column("lo", pa.array(lo, TABLE["ts"].type)).append_column("hi", TABLE["ts"])
    rows = [row for row in range(SIZE) if row != SIZE // 2]
    chosen = bound(name)
    made = sw.slide(table, chosen, sw.between("lo", "hi"), by="key", order="ts").take(rows)
    wanted = sw.slide(table, chosen, sw.trailing("4001 ms", ties="together"), by="key", order="ts").take(rows)
    assert_same(made, wanted, [chosen.name])


@pytest.mark.parametrize(("name", "window"), SOME)
def test_on_arrow_batches_of_spark(name: str, window: Any) -> None:
    chosen = bound(name, positions=False)
    recipe = Recipe(TYPES, chosen, window, "key", "ts", "auto")
    edges = [0, 1, 9, 30, 31, 55, SIZE]
    batches = [TABLE.slice(a, b - a).combine_chunks().to_batches()[0] for a, b in itertools.pairwise(edges)]
    made = pa.Table.from_batches(list(mapper(recipe.packed(), presorted=True)(iter(batches))))
    wanted = sw.slide(TABLE, chosen, window, by="key", order="ts", algorithm="foa")
    assert_same(made, wanted, [name for name in wanted.column_names if name not in TYPES])
