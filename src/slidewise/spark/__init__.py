"""Spark DataFrames, batch and streaming: rows in, engine, rows out. No algorithm lives here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slidewise.engine.explain import explain_plan
from slidewise.engine.plan import Plan
from slidewise.errors import ArgumentError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame


def slide_spark(
    df: DataFrame,
    aggregates: Any,
    window: Any,
    *,
    by: Any,
    order: Any,
    algorithm: str,
    presorted: bool,
    threads: int | None = None,
    **options: Any,
) -> DataFrame:
    """`slide` on a Spark DataFrame; see `slidewise.slide`."""
    from slidewise.spark.batch import slide_batch
    from slidewise.spark.recipe import Recipe
    from slidewise.spark.schema import refuse_intervals, result_schema
    from slidewise.spark.streaming import slide_stream

    if order is None:
        raise ArgumentError("order=None: rows of a Spark DataFrame have no order of their own; name the column(s)")
    recipe = Recipe(spark_types(df), aggregates, window, by, order, algorithm)
    plan = recipe.plan()
    refuse_intervals(df, plan)
    schema = result_schema(df, plan)
    if df.isStreaming:
        return slide_stream(df, recipe, plan, schema, presorted=presorted, **options)
    for name, value in options.items():
        if value is not None:
            raise ArgumentError(f"{name}={value!r}: is for streaming DataFrames only; expected None for a batch")
    return slide_batch(df, recipe, plan, schema, presorted, threads)


def spark_types(df: DataFrame) -> dict[str, pa.DataType]:
    """The Arrow type of each column of a DataFrame."""
    from slidewise.spark import schema

    return schema.spark_types(df)


def _can_cut(df: DataFrame, plan: Plan) -> bool:
    from slidewise.spark.ranges import can_cut

    return can_cut(df, plan)


def explain_spark(df: DataFrame, plan: Plan, **options: Any) -> str:
    """What is shuffled and sorted on Spark, then the plan in words."""
    keys = ", ".join(plan.by)
    if df.isStreaming:
        moved = f"stream: rows packed by bucket of ({keys or 'no key'}), one state per bucket in RocksDB"
    elif options.get("presorted"):
        moved = "batch: nothing is shuffled or sorted (presorted=True)"
    elif keys:
        order = ", ".join(plan.order)
        moved = f"batch: shuffled by {keys}, sorted within partitions by {keys}, {order} and a hash of the row"
    elif options.get("threads") != 1 and _can_cut(df, plan):
        moved = (
            f"batch: no key, so {plan.order[0]} is cut into ranges that run side by side, each with the rows before it "
            "that its windows reach; two small jobs count rows to find where (threads=1: one task, no jobs)"
        )
    else:
        moved = f"batch: no key, so all rows go to one task, sorted by {', '.join(plan.order)}"
    return f"{moved}\n{explain_plan(plan)}"
