"""Who takes part in the batch benchmark on Spark: each a function of rows, aggregate and window.

`drawdown`, the largest fall within the window, is a user's own: no peer has it but a pandas UDF, which is called once
per row with the rows of its frame. `20 results` are five aggregates over four windows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

import slidewise as sw

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame

MANY = "20 results"
FIVE = ("sum", "mean", "min", "max", "stddev")
WINDOWS = (10, 100, 1_000, 10_000)
TREE_SETTING = "spark.sql.window.segmentTree.enabled"

Fall = tuple[float, float, float]


def _fall(a: Fall, b: Fall) -> Fall:
    return max(a[0], b[0]), min(a[1], b[1]), max(a[2], b[2], a[0] - b[1])


DRAWDOWN = sw.Monoid(
    identity=(float("-inf"), float("inf"), 0.0),
    lift=lambda x: (x, x, 0.0),
    combine=_fall,
    lower=lambda p: p[2],
    name="drawdown",
)
"""(highest, lowest, largest fall); the order matters."""


def asked(aggregate: str, w: int) -> tuple[Any, Any]:
    """A case, as `sw.slide` takes it."""
    if aggregate == MANY:
        return [getattr(sw, name)("value") for name in FIVE], {str(size): sw.trailing(size) for size in WINDOWS}
    if aggregate == "drawdown":
        return sw.aggregate(DRAWDOWN, "value").alias("answer"), sw.trailing(w)
    return getattr(sw, aggregate)("value").alias("answer"), sw.trailing(w)


def slidewise(df: DataFrame, aggregate: str, w: int) -> DataFrame:
    aggregates, window = asked(aggregate, w)
    answers: DataFrame = sw.slide(df, aggregates, window, by="key", order="ts")
    return answers


def in_ranges(df: DataFrame, aggregate: str, w: int) -> DataFrame:
    """The one key cut into two ranges."""
    aggregates, window = asked(aggregate, w)
    answers: DataFrame = sw.slide(df, aggregates, window, by="key", order="ts", threads=2)
    return answers


def spark_window(df: DataFrame, aggregate: str, w: int) -> DataFrame | None:
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    if aggregate == "drawdown":
        return None
    rows = Window.partitionBy("key").orderBy("ts")
    if aggregate != MANY:
        return df.withColumn("answer", getattr(F, aggregate)("value").over(rows.rowsBetween(1 - w, 0)))
    return df.withColumns(
        {
            f"{name}_value_{size}": getattr(F, name)("value").over(rows.rowsBetween(1 - size, 0))
            for size in WINDOWS
            for name in FIVE
        }
    )


def pandas_udf(df: DataFrame, aggregate: str, w: int) -> DataFrame | None:
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    if aggregate not in ("max", "drawdown"):
        return None

    def largest(values: pd.Series) -> float:
        return float(values.max())

    def fall(values: pd.Series) -> float:
        return float((values.cummax() - values).max())

    function = largest if aggregate == "max" else fall
    function.__annotations__ = {"values": _series(), "return": float}
    frame = Window.partitionBy("key").orderBy("ts").rowsBetween(1 - w, 0)
    return df.withColumn("answer", F.pandas_udf(function, "double")("value").over(frame))


def _series() -> type:
    import pandas as pd

    return pd.Series


def identity(df: DataFrame) -> DataFrame:
    """The floor: the same shuffle and sort, and rows that come back as they are."""

    def same(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from batches

    return df.repartition("key").sortWithinPartitions("key", "ts").mapInArrow(same, df.schema)


# ---- without Spark, on the same files -------------------------------------------------------------------------------
def duckdb(folder: Path, aggregate: str, w: int, rows: int) -> pa.Table | None:
    import duckdb as db

    sql = {"max": "max", "stddev": "stddev_samp"}.get(aggregate)
    if sql is None:
        return None
    return (
        db.connect()
        .sql(
            f"select *, {sql}(value) over (partition by key order by ts rows {w - 1} preceding) answer "
            f"from '{folder}/*.parquet' where ts < {rows}"
        )
        .to_arrow_table()
    )


def polars(folder: Path, aggregate: str, w: int, rows: int) -> pa.Table | None:
    import polars as pl

    rolling = {"max": "rolling_max", "stddev": "rolling_std"}.get(aggregate)
    if rolling is None:
        return None
    answer = getattr(pl.col("value"), rolling)(w, min_samples=2 if aggregate == "stddev" else 1).over("key")
    files = pl.scan_parquet(folder / "*.parquet").filter(pl.col("ts") < rows)
    return files.with_columns(answer.alias("answer")).collect().to_arrow()


Contestant = Callable[["DataFrame", str, int], "DataFrame | None"]
OnFiles = Callable[[Path, str, int, int], "pa.Table | None"]
