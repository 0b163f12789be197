"""Spark DataFrames, batch and streaming: rows in, engine, rows out. No algorithm lives here.

For a running stream: `monitor(query)` shows it in the terminal, `figures(query)` gives the same as values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slidewise.engine.explain import explain_plan
from slidewise.engine.plan import Plan
from slidewise.engine.reach import explain_reach
from slidewise.errors import ArgumentError
from slidewise.spark.monitor import Figures, figures, monitor

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

__all__ = ["Figures", "explain_spark", "figures", "monitor", "slide_spark", "spark_types"]


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


def explain_spark(df: DataFrame, plan: Plan, **options: Any) -> str:
    """What is shuffled and sorted on Spark, then the plan in words."""
    return f"{_moved(df, plan, options)}\n{explain_plan(plan)}"


def _moved(df: DataFrame, plan: Plan, options: dict[str, Any]) -> str:
    from slidewise.spark.batch import may_cut

    keys, order, threads = ", ".join(plan.by), ", ".join(plan.order), options.get("threads")
    if df.isStreaming:
        packed = f"stream: rows packed by bucket of ({keys or 'no key'}), one state per bucket in RocksDB"
        return f"{packed}\n{explain_reach(plan)}"
    if options.get("presorted"):
        return "batch: nothing is shuffled or sorted (presorted=True)"
    cut = may_cut(df, plan, threads)
    if keys:
        moved = f"batch: shuffled by {keys}, sorted within partitions by {keys}, {order} and a hash of the row"
        split = f"a key with more than one in {threads} of all rows is cut along {plan.order[0]} into ranges"
        return f"{moved}; {split} (small jobs find where)" if cut else moved
    if cut:
        return (
            f"batch: no key, so {plan.order[0]} is cut into ranges that run side by side, each with the rows beside it "
            "that its windows reach; small jobs count rows to find where (threads=1: one task, no jobs)"
        )
    return f"batch: no key, so all rows go to one task, sorted by {order}"
