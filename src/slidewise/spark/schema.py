"""Spark's types and Arrow's, at the door: what a DataFrame's columns are, and what the result's will be."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql.pandas.types import from_arrow_type, to_arrow_type
from pyspark.sql.types import StructField, StructType

from slidewise.engine.plan import Plan
from slidewise.errors import ArgumentError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def spark_types(df: DataFrame) -> dict[str, pa.DataType]:
    """The Arrow type of each column, as `mapInArrow` will hand it over."""
    names = [field.name for field in df.schema.fields]
    for name in names:
        if names.count(name) > 1:
            raise ArgumentError(f"data: has more than one column named {name!r}; names must be unique")
    found = {}
    for field in df.schema.fields:
        try:
            found[field.name] = to_arrow_type(field.dataType, timezone="UTC")
        except PySparkException as error:
            raise ArgumentError(
                f"data: column {field.name!r} of type {field.dataType.simpleString()} does not pass through Arrow; "
                "cast it or leave it out"
            ) from error
    return found


def result_schema(df: DataFrame, plan: Plan) -> StructType:
    """The columns of the result: the rows' own and the new ones, or keys, window and new ones."""
    kept = [field for field in df.schema.fields if plan.per_event or field.name in plan.by]
    if not plan.per_event:
        kept.sort(key=lambda field: plan.by.index(field.name))
    naive = {field.name: field.dataType for field in df.schema.fields}
    new = []
    for field in plan.schema():
        spark_type = from_arrow_type(field.type, prefer_timestamp_ntz=True)
        if field.name in ("window_start", "window_end") and plan.windows[0].by_time:
            spark_type = naive[plan.order[0]] if "timestamp" in naive[plan.order[0]].simpleString() else spark_type
        new.append(StructField(field.name, spark_type, True))
    return StructType([*kept, *new])


def refuse_intervals(df: DataFrame, plan: Plan) -> None:
    """Interval columns may pass through, but not be aggregated."""
    for name in plan.columns:
        if "interval" in df.schema[name].dataType.simpleString():
            raise ArgumentError(
                f"column {name!r} is of type {df.schema[name].dataType.simpleString()}, which cannot be aggregated; "
                "expected a number, e.g. of seconds"
            )
