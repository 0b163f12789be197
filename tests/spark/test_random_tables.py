"""Random tables on Spark batch: against `slide` on the Arrow table and, where the semantics agree, Spark's own windows.

rowsBetween(1 - n, 0), (-n, -1)               =  trailing(n), with and without the current row
rangeBetween(1 - d, 0 or -1) on microseconds  =  trailing("d", ties="together"), with and without the current row
groupBy(window(t, d, step))                   =  trailing(d).every(step), tumbling(d)

A query takes a good part of a second, so there are few examples, each with several windows and aggregates. Arrow
batches of seven rows make most keys go on in the next one. Order is `t`, then the unique `row_`, so that ties of time
are common and there is still one right answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import slidewise as sw
from tests import golden, oracle
from tests.containers import from_arrow, to_arrow
from tests.golden import Aggregate, Column, Columns, Window, is_per_event
from tests.oracle import key_rank, microseconds
from tests.same import assert_same
from tests.strategies import Query, aggregates_of, event_windows, queries, step_windows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

ORDER = ["t", "row_"]
CONCAT = Aggregate("user:concat", ("s",))
SPARK_NAMES = {"mean": "avg", "var": "var_samp", "stddev": "stddev_samp"}
BATCH_ROWS = "spark.sql.execution.arrow.maxRecordsPerBatch"

chosen = st.lists(st.sampled_from(aggregates_of("n", "v")), min_size=2, max_size=4, unique=True)
few = settings(max_examples=6, deadline=None)


@pytest.fixture(scope="module", autouse=True)
def _small_batches(spark: SparkSession) -> Iterator[None]:
    before = str(spark.conf.get(BATCH_ROWS))
    spark.conf.set(BATCH_ROWS, "7")
    yield
    spark.conf.set(BATCH_ROWS, before)


def told_apart(query: Query) -> Columns:
    """The query's table with a number and a letter for each row."""
    size = len(query.columns["t"])
    letters = [None if row % 5 == 4 else chr(ord("a") + row % 26) for row in range(size)]
    return {**query.columns, "row_": Column("int64", list(range(size))), "s": Column("string", letters)}


def ours(data: Any, query: Query, aggregates: list[Aggregate], windows: dict[str, Window]) -> Any:
    return sw.slide(
        data,
        golden.aggregates(aggregates),
        golden.windows(windows),
        by=query.by,
        order=ORDER,
    )


def assert_equal(actual: Columns, expected: Columns, scales: dict[str, Any], key: list[str]) -> None:
    """The same columns, types and rows; rows are told apart by `key`, and floats measured by Σ|x|, in its order."""
    assert {name: column.type for name, column in actual.items()} == {name: c.type for name, c in expected.items()}
    assert_same(in_order(actual, key), in_order(expected, key), scale=scales)


def in_order(columns: Columns, key: list[str]) -> dict[str, list[Any]]:
    ranks = [key_rank(parts) for parts in zip(*(columns[name].values for name in key), strict=True)]
    places = sorted(range(len(ranks)), key=ranks.__getitem__)
    return {name: [column.values[place] for place in places] for name, column in columns.items()}


# ---- an answer per event --------------------------------------------------------------------------------------------
@few
@given(query=queries(per_event=True), more=event_windows(), aggregates=chosen)
def test_an_answer_per_event(spark: SparkSession, query: Query, more: Window, aggregates: list[Aggregate]) -> None:
    columns, aggregates = told_apart(query), [*aggregates, CONCAT]
    windows = {name or "z": window for name, window in query.windows.items()} | {"more": more}
    frame = spark.createDataFrame(to_arrow(columns))
    made = from_arrow(ours(frame, query, aggregates, windows).toArrow())
    scales = oracle.slide(columns, aggregates, windows, query.by, ORDER).scales
    assert_equal(made, from_arrow(ours(to_arrow(columns), query, aggregates, windows)), scales, ["row_"])
    theirs = {
        spec.name(name): own.alias(spec.name(name))
        for name, window in windows.items()
        for spec in aggregates
        if (own := over_frame(spec, window, query.by)) is not None
    }
    found = from_arrow(frame.select("row_", *theirs.values()).toArrow())
    assert_equal({name: made[name] for name in ("row_", *theirs)}, found, scales, ["row_"])


def over_frame(spec: Aggregate, window: Window, by: list[str]) -> Any:
    """The aggregate over Spark's own frame; None where Spark has no such frame."""
    from pyspark.sql import Window as Over
    from pyspark.sql import functions as F

    length, last = window["trailing"], 0 if window.get("include_current", True) else -1
    keys = Over.partitionBy(*by)
    if isinstance(length, int):
        frame = keys.orderBy(*ORDER).rowsBetween(last + 1 - length, last)
    elif window.get("ties") == "together":
        frame = keys.orderBy(F.unix_micros("t")).rangeBetween(1 - microseconds(length), last)
    else:
        return None
    if spec is CONCAT:
        if not isinstance(length, int):
            return None  # rows of equal time are in any order
        answer = F.when(F.count("s").over(frame) > 0, F.array_join(F.collect_list("s").over(frame), ""))
    else:
        answer = aggregated(spec).over(frame)
    fewest = window.get("min_rows", 0)
    return F.when(F.count(F.lit(1)).over(frame) >= fewest, answer) if fewest else answer


def aggregated(spec: Aggregate) -> Any:
    """Spark's own aggregate."""
    from pyspark.sql import functions as F

    function = getattr(F, SPARK_NAMES.get(spec.function, spec.function))
    return function(spec.columns[0]) if spec.columns else function(F.lit(1))


# ---- an answer per window -------------------------------------------------------------------------------------------
@few
@given(query=queries(per_event=False), more=step_windows(), aggregates=chosen)
def test_an_answer_per_window(spark: SparkSession, query: Query, more: Window, aggregates: list[Aggregate]) -> None:
    columns = told_apart(query)
    frame = spark.createDataFrame(to_arrow(columns))
    for window in (query.windows[""], more):
        assert not is_per_event(window)
        made = from_arrow(ours(frame, query, [*aggregates, CONCAT], {"": window}).toArrow())
        scales = oracle.slide(columns, [*aggregates, CONCAT], {"": window}, query.by, ORDER).scales
        expected = from_arrow(ours(to_arrow(columns), query, [*aggregates, CONCAT], {"": window}))
        key = [*query.by, "window_start"] if not isinstance(window.get("every"), int) else [*query.by, "window_end"]
        assert_equal(made, expected, scales, key)
        if not isinstance(window.get("every"), int):
            made.pop(CONCAT.name())
            assert_equal(made, grouped(frame, window, query.by, aggregates), scales, key)


def grouped(frame: DataFrame, window: Window, by: list[str], aggregates: list[Aggregate]) -> Columns:
    """Spark's own groupBy(key, window)."""
    from pyspark.sql import functions as F

    size = microseconds(window.get("trailing", window.get("tumbling")))
    step = microseconds(window["every"]) if "every" in window else size
    place = F.window("t", f"{size} microseconds", f"{step} microseconds")
    found = frame.groupBy(*by, place.alias("w")).agg(*(aggregated(spec).alias(spec.name()) for spec in aggregates))
    bounds = [F.col("w.start").alias("window_start"), F.col("w.end").alias("window_end")]
    return from_arrow(found.select(*by, *bounds, *(spec.name() for spec in aggregates)).toArrow())
