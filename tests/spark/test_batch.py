"""Spark batch: the window is carried across Arrow batches, whatever their cuts; Spark only shuffles and sorts.

Most of it runs on Arrow batches directly, as `mapInArrow` would hand them over; a few tests run on Spark.
"""

from __future__ import annotations

import datetime as dt
import itertools
import math
from collections.abc import Iterator
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import slidewise as sw
from slidewise.engine.keyed import TIE
from slidewise.errors import ArgumentError
from slidewise.spark.partition import mapper
from slidewise.spark.recipe import Recipe
from tests.same import same
from tests.spark.replay import (
    AGGREGATES,
    BY,
    PER_EVENT,
    PER_ROWS,
    PER_WINDOW,
    SCHEMA,
    Row,
    assert_answers,
    batch_answer,
    names_of,
    rows,
    sorted_answers,
    table_of,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def mapped(table: pa.Table, window: Any, by: list[str], cuts: list[int], *, presorted: bool = False) -> list[pa.Table]:
    """The answers of one partition whose rows come in these Arrow batches."""
    recipe = Recipe(dict(zip(table.schema.names, table.schema.types, strict=True)), AGGREGATES, window, by, "t", "auto")
    edges = [0, *sorted(cuts), table.num_rows]
    table = table.combine_chunks()
    parts = [table.slice(first, last - first) for first, last in itertools.pairwise(edges)]
    batches = [batch for part in parts for batch in (part.to_batches() or [empty(part)])]
    return [pa.Table.from_batches([made]) for made in mapper(recipe.packed(), presorted)(iter(batches))]


def empty(table: pa.Table) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([], kind) for kind in table.schema.types], table.schema.names)


def in_order(found: list[Row], by: list[str]) -> pa.Table:
    """Sorted as Spark sorts: keys together (one NaN, one zero), then time, then tie."""

    def rank(value: Any) -> str:
        return "" if value is None else "~" if value != value else str(value or 0)

    return table_of(sorted(found, key=lambda row: ([rank(row[name]) for name in by], row["t"], row[TIE])))


@pytest.mark.parametrize("window", [*PER_EVENT, *PER_WINDOW, *PER_ROWS], ids=str)
@settings(max_examples=25)
@given(found=rows(), by=st.sampled_from(BY), data=st.data())
def test_cuts_do_not_matter(window: Any, found: list[Row], by: list[str], data: st.DataObject) -> None:
    cuts = data.draw(st.lists(st.integers(0, len(found)), max_size=6))
    made = mapped(in_order(found, by), window, by, cuts)
    recipe = Recipe(dict(zip(SCHEMA.names, SCHEMA.types, strict=True)), AGGREGATES, window, by, "t", "auto")
    assert_answers(made, batch_answer(found, window, by), names_of(recipe.plan()))


def row(t: int | None, k: str = "a") -> Row:
    return {"k": k, "f": None, "t": t, "x": 1, "s": None, TIE: 0}


@pytest.mark.parametrize("window", [sw.trailing(2), sw.trailing("1 s", ties="together")], ids=str)
@pytest.mark.parametrize("cuts", [[], [1], [2]])
def test_null_in_order_is_an_error(window: Any, cuts: list[int]) -> None:
    with pytest.raises(ArgumentError, match=r"order='t': holds 1 null\(s\); expected a value in every row"):
        mapped(table_of([row(1), row(None), row(2)]), window, ["k"], cuts)


@pytest.mark.parametrize("window", [sw.trailing(2), sw.trailing("1 s"), sw.tumbling("1 s")], ids=str)
@pytest.mark.parametrize("cuts", [[], [1], [2], [1, 2]])
def test_presorted_rows_are_checked(window: Any, cuts: list[int]) -> None:
    assert mapped(table_of([row(1), row(2), row(0, "b")]), window, ["k"], cuts, presorted=True)
    with pytest.raises(ArgumentError, match="presorted=True: order falls within a key"):
        mapped(table_of([row(1), row(3), row(2)]), window, ["k"], cuts, presorted=True)


def test_presorted_rows_of_a_key_must_be_together() -> None:
    with pytest.raises(ArgumentError, match="presorted=True: rows of a key are not together"):
        mapped(table_of([row(1), row(2, "b"), row(3)]), sw.trailing(2), ["k"], [], presorted=True)


# ---- on Spark -------------------------------------------------------------------------------------------------------
@pytest.fixture
def small_batches(spark: SparkSession) -> Iterator[SparkSession]:
    setting = "spark.sql.execution.arrow.maxRecordsPerBatch"
    before = spark.conf.get(setting)
    spark.conf.set(setting, "7")
    yield spark
    spark.conf.set(setting, str(before))


def typed_table() -> pa.Table:
    """Keys of many types, each with nulls; whole seconds, unique."""
    size = 60
    day = dt.date(2024, 2, 28)

    def column(values: list[Any], kind: pa.DataType) -> pa.Array:
        return pa.array([values[n * 7 % len(values)] for n in range(size)], kind)

    return pa.table(
        {
            "t": pa.array([(n * 37 % size) * 1_000_000 for n in range(size)], pa.timestamp("us", tz="UTC")),
            "x": pa.array([None if n % 5 == 0 else n for n in range(size)], pa.int64()),
            "string": column(["é", "e", None], pa.string()),
            "double": column([0.0, -0.0, math.nan, None, 2.5], pa.float64()),
            "decimal": column([Decimal("1.10"), Decimal("1.1"), None], pa.decimal128(10, 2)),
            "date": column([day, None, day + dt.timedelta(1)], pa.date32()),
            "moment": column([0, None, 86_400_000_000], pa.timestamp("us", tz="UTC")),
            "flag": column([True, False, None], pa.bool_()),
            "raw": column([b"\x00", b"", None], pa.binary()),
            "small": column([1, -1, None], pa.int8()),
        }
    )


KEYS = ["string", "double", "decimal", "date", "moment", "flag", "raw", "small"]
PLAIN = [sw.sum("x"), sw.count(), sw.max("x")]


def normal(table: pa.Table) -> pa.Table:
    """One zero, as Spark groups."""
    place = table.schema.get_field_index("double")
    return table.set_column(place, "double", pc.add(table.column("double"), 0.0)) if place >= 0 else table


@pytest.mark.spark
@pytest.mark.parametrize("by", [["string"], ["double"], KEYS[:2], KEYS], ids=",".join)
@pytest.mark.parametrize("window", [sw.trailing("9 s"), sw.trailing("20 s").every("7 s")], ids=str)
def test_keys_of_any_type(small_batches: SparkSession, by: list[str], window: Any) -> None:
    table = typed_table()
    made = sw.slide(small_batches.createDataFrame(table), PLAIN, window, by=by, order="t").toArrow()
    expected = sw.slide(normal(table), PLAIN, window, by=by, order="t")
    names = [name for name in expected.column_names if name in by or name in ("t", "window_start") or "x" in name]
    got, wanted = sorted_answers([normal(made)], names), sorted_answers([expected], names)
    assert len(got) == len(wanted)
    assert all(same(a, b, 1.0) for one, other in zip(got, wanted, strict=True) for a, b in zip(one, other, strict=True))


@pytest.mark.spark
@pytest.mark.parametrize("kind", ["timestamp", "timestamp_ntz", "date"])
def test_sorts_of_time_in_another_zone(spark: SparkSession, kind: str) -> None:
    before = spark.conf.get("spark.sql.session.timeZone")
    try:
        spark.conf.set("spark.sql.session.timeZone", "America/New_York")
        moment = "timestamp_ntz'2024-01-08' + id * interval 1 day"
        days = spark.sql(f"select cast({moment} as {kind}) t, id x from range(6)")
        made = sw.slide(days, sw.sum("x"), sw.trailing("2 d"), order="t")
        assert made.schema["t"].dataType.simpleString() == kind
        assert [one.sum_x for one in made.sort("t").collect()] == [0, 1, 3, 5, 7, 9]
        ours = sw.slide(days, sw.sum("x"), sw.tumbling("2 d"), order="t").sort("window_start").collect()
        theirs = days.selectExpr("*", "window(t, '2 days') w").groupBy("w").sum("x").sort("w.start").collect()
        assert [(one.sum_x, one.window_start.isoformat()) for one in ours] == [
            (one["sum(x)"], one.w.start.isoformat()) for one in theirs
        ]
    finally:
        spark.conf.set("spark.sql.session.timeZone", str(before))


@pytest.mark.spark
def test_empty_partitions_and_no_rows(spark: SparkSession) -> None:
    few = spark.createDataFrame(table_of([row(1), row(2)])).repartition(7)
    for window in (sw.trailing(2), sw.trailing("1 s"), sw.tumbling("1 s")):
        assert sw.slide(few, sw.count(), window, by="k", order="t").count() == (2 if window.per_event else 1)
        assert sw.slide(few.where("x > 5"), sw.count(), window, by="k", order="t").collect() == []
        assert sw.slide(few.where("x > 5"), sw.count(), window, order="t").collect() == []


@pytest.mark.spark
def test_null_order_on_spark_names_the_column(spark: SparkSession) -> None:
    frame = spark.createDataFrame(table_of([row(1), row(None)]))
    with pytest.raises(Exception, match=r"order='t': holds 1 null"):
        sw.slide(frame, sw.count(), sw.trailing(2), by="k", order="t").collect()
