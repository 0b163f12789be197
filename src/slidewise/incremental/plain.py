"""A query run plainly, and which of the two engines it takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slidewise.errors import bad
from slidewise.incremental.arrow_build import ArrowEngine
from slidewise.incremental.jvm import why_not
from slidewise.incremental.jvm_build import JvmEngine
from slidewise.incremental.query import Bound, Query
from slidewise.spark.schema import spark_types

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Engine = JvmEngine | ArrowEngine


def engine_of(query: Query, bound: Bound, answers: bool = False) -> Engine:
    """The JVM if every aggregate can be there, else Arrow; with `answers`, it keeps those of roots, where that pays."""
    pairs = zip(bound.outputs, query.aggregates, strict=True)
    if any(why_not(output, aggregate) for output, aggregate in pairs):
        return ArrowEngine(query, bound, answers)
    return JvmEngine(query, bound)


def run_plainly(query: Query, df: DataFrame) -> DataFrame:
    """See `Query.run`."""
    if getattr(df, "isStreaming", None) is not False:
        raise bad("df", df, "a batch DataFrame of Spark")
    return engine_of(query, query.bind(spark_types(df))).plainly(df)
