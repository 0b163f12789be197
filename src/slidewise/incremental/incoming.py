"""Splits as a caller gives them: checked, read, and numbered; before any work starts."""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import functions as F

from slidewise.errors import ArgumentError, bad, listed
from slidewise.incremental.jvm import quoted
from slidewise.incremental.manifest import Manifest
from slidewise.incremental.query import Bound
from slidewise.spark.schema import spark_types

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class Reading:
    """How paths are read: Spark's format, its options, and the schema where the files do not say it."""

    format: str = "parquet"
    options: tuple[tuple[str, str], ...] = ()
    schema: str | None = None

    def read(self, spark: SparkSession, path: str) -> DataFrame:
        """The rows of a path."""
        reader = spark.read.format(self.format).options(**dict(self.options))
        if self.schema is not None:
            reader = reader.schema(self.schema)
        try:
            return reader.load(path)
        except PySparkException as error:
            first = str(error).splitlines()[0]
            raise ArgumentError(f"add={path!r}: cannot be read as {self.format}: {first}") from error


@dataclass(frozen=True, eq=False)
class Frame:
    """The rows of one split: all of a DataFrame, or one of the pieces it is cut into."""

    df: DataFrame
    source: dict[str, str] | None = None
    piece: int = 0
    pieces: int = 1


def given(
    spark: SparkSession, add: object, reading: Reading, split_rows: int | None, manifest: Manifest | None
) -> dict[str, Frame]:
    """The splits to add, by name, or an error that names the one that is wrong."""
    if add is None:
        return {}
    if not isinstance(add, Mapping):
        raise bad("add", add, "a dict of names to DataFrames or paths")
    used = {} if manifest is None else {**manifest.gone, **{one.name: one.added for one in manifest.splits}}
    found: dict[str, Frame] = {}
    for name, value in add.items():
        if not isinstance(name, str) or not name:
            raise bad("add", name, "names of splits as non-empty strings")
        for frame_name, frame in _frames(spark, name, value, reading, split_rows).items():
            if frame_name in used:
                raise ArgumentError(
                    f"add={frame_name!r}: a split of that name was added at {used[frame_name]}; expected a new name: "
                    "what was added is not changed"
                )
            found[frame_name] = frame
    return found


def _frames(
    spark: SparkSession, name: str, value: object, reading: Reading, split_rows: int | None
) -> dict[str, Frame]:
    if isinstance(value, (str, Path)):
        df, source = reading.read(spark, str(value)), {"path": str(value)}
    elif getattr(value, "isStreaming", None) is False:
        df, source = value, None  # type: ignore[assignment]
    else:
        raise bad(f"add[{name!r}]", value, "a batch DataFrame of Spark, or a path")
    if split_rows is None:
        return {name: Frame(df, source)}
    pieces = max(1, math.ceil(df.count() / split_rows))
    return {f"{name}/{k}": Frame(df, source, k, pieces) for k in range(pieces)}


def check_schema(frames: Mapping[str, Frame], bound: Bound) -> None:
    """Every split has the columns that the query reads, of the types that they had in the first."""
    for name, frame in frames.items():
        types = spark_types(frame.df)
        for column, arrow in bound.types.items():
            if column not in types:
                raise ArgumentError(f"add[{name!r}]: has no column {column!r}; there are {listed(types)}")
            if types[column] != arrow:
                raise ArgumentError(
                    f"add[{name!r}]: column {column!r} is of type {types[column]}, and {arrow} in the state; expected "
                    "the same type in every split: cast it"
                )


def numbered(frames: list[tuple[int, Frame]], mapped: Any) -> list[DataFrame]:
    """The rows of all new splits, each with the number of its source; pieces of one DataFrame are read once."""
    whole = [mapped(frame.df, F.lit(number)) for number, frame in frames if frame.pieces == 1]
    cut: dict[int, list[tuple[int, Frame]]] = {}
    for number, frame in frames:
        if frame.pieces > 1:
            cut.setdefault(id(frame.df), []).append((number, frame))
    for several in cut.values():
        df, pieces = several[0][1].df, several[0][1].pieces
        plain = [field.name for field in df.schema.fields if "map<" not in field.dataType.simpleString()]
        piece = F.pmod(F.xxhash64(*[F.col(quoted(name)) for name in plain]), F.lit(pieces))
        numbers = {frame.piece: number for number, frame in several}
        number_of = F.lit(-1)
        for one, number in numbers.items():
            number_of = F.when(piece == one, F.lit(number)).otherwise(number_of)
        whole.append(mapped(df, number_of))
    return whole


def packed_types(bound: Bound) -> dict[str, str]:
    """The types of the columns that a query reads, for the manifest."""
    schema = pa.schema([pa.field(name, arrow) for name, arrow in bound.types.items()])
    return {"arrow": base64.b64encode(schema.serialize().to_pybytes()).decode()}


def unpacked_types(stored: Mapping[str, str]) -> dict[str, pa.DataType]:
    """What `packed_types` gave."""
    schema = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(stored["arrow"])))
    return {field.name: field.type for field in schema}


def dropped(drop: object, manifest: Manifest | None, automatic: int, fixed: bool) -> int:
    """How many of the oldest splits leave; `drop` is a count or their names."""
    there = [] if manifest is None else [one.name for one in manifest.splits]
    if drop is None:
        return automatic
    if isinstance(drop, (list, tuple)):
        if list(drop) != there[: len(drop)]:
            raise ArgumentError(
                f"drop={list(drop)!r}: expected the oldest splits, in order: a window loses them first; it begins with "
                f"{listed(there[: max(3, len(drop))])}"
            )
        count = len(drop)
    elif isinstance(drop, int) and not isinstance(drop, bool):
        count = drop
    else:
        raise bad("drop", drop, "a count, or a list of the names of the oldest splits")
    if not 0 <= count <= len(there):
        raise bad("drop", drop, f"at most {len(there)}, the splits there are")
    if fixed and count != automatic:
        raise bad("drop", drop, f"None or {automatic}: a window of fixed width drops what is too much by itself")
    return count
