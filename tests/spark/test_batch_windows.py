"""Every kind of window on Spark batch: Arrow batches cut anywhere give the answers of the oracle.

Run on Arrow batches directly, as `mapInArrow` would hand them over; the golden cases run the same windows on Spark.
"""

from __future__ import annotations

import itertools
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import slidewise as sw
from slidewise.errors import ArgumentError
from slidewise.spark.partition import mapper
from slidewise.spark.recipe import Recipe
from tests import golden, oracle, window_strategies
from tests.containers import from_arrow, to_arrow
from tests.golden import Column, Columns
from tests.same import assert_same
from tests.window_strategies import AGGREGATES, ALONG, Along, Query


def mapped(columns: Columns, query: Query, cuts: list[int], *, presorted: bool = False) -> Columns:
    """The answers of one partition whose rows come in these Arrow batches."""
    table = to_arrow(columns)
    types = dict(zip(table.schema.names, table.schema.types, strict=True))
    recipe = Recipe(types, golden.aggregates(AGGREGATES), golden.windows(query.windows), query.by, "t", "auto")
    edges = [0, *sorted(cuts), table.num_rows]
    parts = [table.slice(first, last - first) for first, last in itertools.pairwise(edges)]
    batches = [batch for part in parts for batch in part.combine_chunks().to_batches()]
    made = list(mapper(recipe.packed(), presorted)(iter(batches)))
    plan = recipe.plan()
    kept = [pa.field(name, types[name]) for name in (types if plan.per_event else plan.by)]
    return from_arrow(pa.Table.from_batches(made) if made else pa.schema([*kept, *plan.schema()]).empty_table())


def sorted_rows(columns: Columns, by: list[str]) -> Columns:
    """As Spark sorts a partition: keys together, then order, ties as they came."""
    keys = [*by, "t"]
    rows = sorted(
        range(len(columns["t"])), key=lambda row: oracle.key_rank(tuple(columns[name].values[row] for name in keys))
    )
    return {name: Column(column.type, [column.values[row] for row in rows]) for name, column in columns.items()}


@pytest.mark.parametrize("per_event", [True, False])
@pytest.mark.parametrize("along", ALONG)
@settings(max_examples=60)
@given(data=st.data())
def test_cuts_do_not_matter(along: Along, per_event: bool, data: st.DataObject) -> None:
    query = data.draw(window_strategies.queries(along, per_event=per_event))
    columns = sorted_rows(query.columns, query.by)
    size = len(columns["t"])
    cuts = data.draw(st.lists(st.integers(0, size), max_size=6))
    made = mapped(columns, query, cuts, presorted=data.draw(st.booleans()))
    answer = oracle.slide(columns, AGGREGATES, query.windows, query.by, ["t"])
    wanted = {**columns, **answer.columns} if per_event else answer.columns
    assert {name: column.type for name, column in made.items()} == {name: c.type for name, c in wanted.items()}
    assert_same(
        {name: column.values for name, column in made.items()},
        {name: column.values for name, column in wanted.items()},
        scale=answer.scales,
    )


@pytest.mark.parametrize(
    "window", [sw.around(1, 1), sw.between("t", "t"), sw.expanding(ties="together"), sw.session(1)], ids=str
)
@pytest.mark.parametrize("cuts", [[], [1], [2], [1, 2]])
def test_order_that_falls_is_found_across_batches(window: Any, cuts: list[int]) -> None:
    def run(places: list[int]) -> list[pa.RecordBatch]:
        table = pa.table({"t": places})
        recipe = Recipe({"t": pa.int64()}, sw.count(), window, None, "t", "auto")
        edges = [0, *cuts, len(places)]
        batches = [table.slice(a, b - a).combine_chunks().to_batches()[0] for a, b in itertools.pairwise(edges)]
        return list(mapper(recipe.packed(), presorted=True)(iter(batches)))

    assert run([1, 2, 2])
    with pytest.raises(ArgumentError, match="presorted=True: order falls within a key"):
        run([2, 3, 1])
