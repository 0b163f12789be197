"""Every container the library takes, behind one pair of functions: build a table, read a table back.

    Columns ── build ──► container ── sw.slide ──► container ── extract ──► Columns

    tables in process    arrow, pandas, pandas_arrow, polars       TABLES
    plain sequences      list, numpy, pandas_series, polars_series SEQUENCES
    Spark                batch, stream                             spark_batch, spark_stream

Values are plain Python on both ends, times whole microseconds since 1970. Extraction keeps the type, so that a test
sees whether `max` of an int32 is still one.
"""

from __future__ import annotations

import datetime as dt
import math
import os
import tempfile
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from tests.definitions import digits
from tests.golden import Column, Columns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)

_ARROW = {
    "int64": pa.int64(),
    "int32": pa.int32(),
    "float64": pa.float64(),
    "float32": pa.float32(),
    "string": pa.string(),
    "bool": pa.bool_(),
    "binary": pa.binary(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "duration": pa.duration("us"),
}


def arrow_type(kind: str) -> pa.DataType:
    """The Arrow type of a golden one."""
    if kind.startswith("decimal"):
        return pa.decimal128(*digits(kind))
    return _ARROW[kind]


# --- Arrow, which the others go through ------------------------------------------------------------------------------


def to_arrow(columns: Columns) -> pa.Table:
    arrays = {name: pa.array(column.values, type=arrow_type(column.type)) for name, column in columns.items()}
    return pa.table(arrays)


def from_arrow(table: pa.Table) -> Columns:
    return {name: _from_arrow_array(table.column(name)) for name in table.column_names}


def _from_arrow_array(array: pa.ChunkedArray | pa.Array) -> Column:
    kind = array.type
    if isinstance(array, pa.ChunkedArray):
        return _from_arrow_array(array.combine_chunks())
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        inside = _from_arrow_array(array.values)
        ends = array.offsets.to_pylist()
        parts = [inside.values[start:end] for start, end in pairwise(ends)]
        return Column(f"list<{inside.type}>", _where_valid(array, parts))
    if pa.types.is_struct(kind):
        fields = {field.name: _from_arrow_array(array.field(k)) for k, field in enumerate(kind)}
        rows = [dict(zip(fields, row, strict=True)) for row in zip(*(f.values for f in fields.values()), strict=True)]
        inside_types = ",".join(f"{name}:{field.type}" for name, field in fields.items())
        return Column(f"struct<{inside_types}>", _where_valid(array, rows))
    if pa.types.is_decimal(kind):
        return Column(f"decimal({kind.precision},{kind.scale})", array.to_pylist())
    if pa.types.is_duration(kind):
        return Column("duration", array.cast(pa.duration("us")).cast(pa.int64()).to_pylist())
    if pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind):
        return Column("binary", array.to_pylist())
    if pa.types.is_timestamp(kind):
        return Column("timestamp", array.cast(pa.timestamp("us", tz=kind.tz)).cast(pa.int64()).to_pylist())
    if pa.types.is_dictionary(kind):
        return _from_arrow_array(array.cast(kind.value_type))
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return Column("string", array.to_pylist())
    name = {"double": "float64", "float": "float32"}.get(str(kind), str(kind))
    return Column(name, array.to_pylist())


def _where_valid(array: pa.Array, values: list[Any]) -> list[Any]:
    return [value if good else None for value, good in zip(values, array.is_valid().to_pylist(), strict=True)]


# --- pandas ----------------------------------------------------------------------------------------------------------


def to_pandas(columns: Columns) -> pd.DataFrame:
    """As most users have it: NumPy floats (where NaN is null), `Int64` where an integer is null, object strings."""
    frame = pd.DataFrame({name: _pandas_array(column) for name, column in columns.items()})
    frame.index = _odd_index(len(frame))
    return frame


def to_pandas_arrow(columns: Columns) -> pd.DataFrame:
    """Arrow-backed columns, where NaN and null differ."""
    frame = to_arrow(columns).to_pandas(types_mapper=pd.ArrowDtype)
    frame.index = _odd_index(len(frame))
    return frame


def _odd_index(size: int) -> pd.Index:
    """Neither sorted nor unique, so that a result aligned by label instead of by position shows."""
    return pd.Index([f"r{(size - row) // 2}" for row in range(size)], name="label", dtype=object)


def _pandas_array(column: Column) -> Any:
    if column.type.startswith("float"):
        return np.array([math.nan if value is None else value for value in column.values], dtype=column.type)
    if column.type.startswith("int"):
        if None in column.values:
            return pd.array(column.values, dtype=column.type.replace("int", "Int"))
        return np.array(column.values, dtype=column.type)
    if column.type == "timestamp":
        return pd.Series([_moment(value) for value in column.values], dtype="datetime64[ns, UTC]").array
    if column.type == "bool" and None not in column.values:
        return np.array(column.values, dtype=bool)
    made = np.empty(len(column), dtype=object)
    made[:] = column.values
    return made


def from_pandas(frame: pd.DataFrame) -> Columns:
    return {name: from_pandas_series(frame[name]) for name in frame.columns}


def from_pandas_series(series: pd.Series) -> Column:
    """NaN in a NumPy float column reads as null, since it has no other null."""
    if hasattr(series.array, "__arrow_array__") and not isinstance(series.dtype, np.dtype):
        return _from_arrow_array(pa.array(series.array))
    array = pa.Array.from_pandas(series)
    if pa.types.is_null(array.type) and series.dtype == object:  # no value to tell the type by
        array = array.cast(pa.string())
    return _from_arrow_array(array)


def nan_is_null(columns: Columns) -> Columns:
    """The same columns as pandas sees them through NumPy floats."""
    return {
        name: Column(
            column.type,
            [None if isinstance(value, float) and math.isnan(value) else value for value in column.values],
        )
        for name, column in columns.items()
    }


# --- Polars ----------------------------------------------------------------------------------------------------------


def to_polars(columns: Columns) -> pl.DataFrame:
    frame = pl.from_arrow(to_arrow(columns))
    assert isinstance(frame, pl.DataFrame)
    return frame


def to_polars_lazy(columns: Columns) -> pl.LazyFrame:
    return to_polars(columns).lazy()


def from_polars(frame: pl.DataFrame | pl.LazyFrame) -> Columns:
    if isinstance(frame, pl.LazyFrame):
        frame = frame.collect()
    return from_arrow(frame.to_arrow())


# --- the registry of tables in process -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Container:
    """`kind` is the type that goes in and must come out."""

    name: str
    kind: type
    build: Callable[[Columns], Any]
    extract: Callable[[Any], Columns]
    nan_is_null: bool = False

    def seen(self, columns: Columns) -> Columns:
        """The columns as this container can hold them."""
        return nan_is_null(columns) if self.nan_is_null else columns


TABLES: dict[str, Container] = {
    container.name: container
    for container in (
        Container("arrow", pa.Table, to_arrow, from_arrow),
        Container("pandas", pd.DataFrame, to_pandas, from_pandas, nan_is_null=True),
        Container("pandas_arrow", pd.DataFrame, to_pandas_arrow, from_pandas),
        Container("polars", pl.DataFrame, to_polars, from_polars),
        Container("polars_lazy", pl.LazyFrame, to_polars_lazy, from_polars),
    )
}


# --- plain sequences -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sequence:
    """A plain sequence of values, and the array its `order` is given as."""

    name: str
    kind: type
    build: Callable[[Column], Any]
    extract: Callable[[Any], list[Any]]
    holds_null: bool = True
    nan_is_null: bool = False

    def seen(self, column: Column) -> Column:
        return nan_is_null({"": column})[""] if self.nan_is_null else column


def _moment(value: int | None) -> dt.datetime | None:
    return None if value is None else _EPOCH + dt.timedelta(microseconds=value)


def _to_list(column: Column) -> list[Any]:
    return [_moment(value) for value in column.values] if column.type == "timestamp" else list(column.values)


def _to_numpy(column: Column) -> np.ndarray:
    if column.type == "timestamp":
        return np.array(column.values, dtype="int64").view("datetime64[us]")
    assert None not in column.values, "NumPy arrays of numbers hold no null"
    return np.array(column.values, dtype=column.type)


def _from_numpy(array: np.ndarray) -> list[Any]:
    assert array.ndim == 1
    return array.tolist()


SEQUENCES: dict[str, Sequence] = {
    sequence.name: sequence
    for sequence in (
        Sequence("list", list, _to_list, list),
        Sequence("numpy", np.ndarray, _to_numpy, _from_numpy, holds_null=False),
        Sequence(
            "pandas_series",
            pd.Series,
            lambda column: pd.Series(_pandas_array(column), index=_odd_index(len(column))),
            lambda series: from_pandas_series(series).values,
            nan_is_null=True,
        ),
        Sequence(
            "polars_series",
            pl.Series,
            lambda column: to_polars({"x": column})["x"],
            lambda series: _from_arrow_array(series.to_arrow()).values,
        ),
    )
}


# --- Spark -----------------------------------------------------------------------------------------------------------


def spark_batch(spark: SparkSession, columns: Columns, run: Callable[[DataFrame], DataFrame]) -> Columns:
    """`run` on a batch DataFrame of the columns."""
    return from_arrow(run(spark.createDataFrame(to_arrow(columns))).toArrow())


#: So long that no row of a test is late, in whichever file it comes.
LATENESS = "30 d"
_FAR = 1_000 * 86_400_000_000
SENTINEL = "~sentinel"


def spark_stream(
    spark: SparkSession,
    columns: Columns,
    run: Callable[[DataFrame], DataFrame],
    *,
    key: str,
    time: str,
    cuts: list[list[int]] | None = None,
) -> Columns:
    """`run` on a streaming DataFrame of the columns. `cuts` says which rows each micro-batch has; without it, there are
    two, which overlap in time, so every row must wait in state for rows that come later:

        rows up to 1970, every other row │ the rest, a sentinel │ a sentinel later still
                                          watermark ─────────────►

    A stream holds back its last `lateness`, so sentinels far in the future push the watermark past every row. They have
    a key of their own, `SENTINEL` in the string column `key`, and are dropped from the output.

    Rows up to 1970 come first, since Spark's watermark starts there.
    """
    table = to_arrow(columns)
    times = columns[time].values
    if cuts is None:
        first = {row for row in range(len(times)) if times[row] <= 0 or row % 2 == 0}
        cuts = [sorted(first), [row for row in range(len(times)) if row not in first]]
    parts = [table.take(pa.array(cut, type=pa.int64())) for cut in cuts]
    parts[-1] = pa.concat_tables([parts[-1], _sentinel(columns, key, time, _FAR)])
    parts.append(_sentinel(columns, key, time, 2 * _FAR))
    with tempfile.TemporaryDirectory() as place:
        source = Path(place) / "source"
        source.mkdir()
        for number, part in enumerate(parts):
            path = source / f"{number}.parquet"
            pq.write_table(part, path)
            os.utime(path, (1_000_000_000 + number, 1_000_000_000 + number))  # Spark reads the oldest file first
        stream = (
            spark.readStream.schema(spark.createDataFrame(table.slice(0, 0)).schema)
            .option("maxFilesPerTrigger", 1)
            .parquet(str(source))
        )
        name = f"sink_{uuid.uuid4().hex}"
        query = (
            run(stream)
            .writeStream.format("memory")
            .queryName(name)
            .outputMode("append")
            .option("checkpointLocation", str(Path(place) / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        try:
            query.awaitTermination()
            result = from_arrow(spark.table(name).toArrow())
        finally:
            query.stop()
            spark.catalog.dropTempView(name)
    keep = [row for row, value in enumerate(result[key].values) if value != SENTINEL]
    return {name: Column(column.type, [column.values[row] for row in keep]) for name, column in result.items()}


def _sentinel(columns: Columns, key: str, time: str, at: int) -> pa.Table:
    row = {name: Column(column.type, [None]) for name, column in columns.items()}
    row[key] = Column("string", [SENTINEL])
    row[time] = Column("timestamp", [at])
    return to_arrow(row)
