"""A job whose aggregates are JVM expressions: two stages, and rows pass through Python as Arrow columns only.

    new splits (src, key, values) ┐
    kept nodes (src, key, fields) ┴─► group by key: fields of every source side by side ──► nodes by columns ──► files
              stage 1, partial aggregation, shuffle                 stage 2

More than `MANY` sources would make rows too wide: then sources are aggregated one by one first, by (src, key), which
takes a third stage. Kept nodes are read by Arrow (their checksums are checked) and handed to Spark.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import IntegerType, StructField, StructType

from slidewise.incremental.files import SRC, WRITTEN_SPARK, reader
from slidewise.incremental.jvm import Expressions, arrow_types, expressions_of, filled, quoted, value_of
from slidewise.incremental.jvm_worker import writer
from slidewise.incremental.query import HIDDEN, Bound, Query
from slidewise.incremental.steps import Source, Work

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ROWS = f"{HIDDEN}rows"
MANY = 16
"""So many sources are aggregated side by side; of more, each by itself first."""


class JvmEngine:
    """One query's jobs in the JVM."""

    name = "the JVM"

    def __init__(self, query: Query, bound: Bound) -> None:
        self.bound = bound
        self.aggregates = [
            expressions_of(output, aggregate) for output, aggregate in zip(bound.outputs, query.aggregates, strict=True)
        ]
        numbers = [
            pa.field(f"{HIDDEN}a{a}_{k}", kind)
            for a, one in enumerate(self.aggregates)
            for k, kind in enumerate(arrow_types(one))
        ]
        keys = [pa.field(name, bound.types[name]) for name in bound.keys]
        self.schema = pa.schema([*keys, pa.field(ROWS, pa.int64()), *numbers])
        self.fields = [ROWS, *(field.name for field in numbers)]

    # ---- what goes in ----
    def mapped(self, df: DataFrame, src: Any) -> DataFrame:
        """Rows of a new split: its number, the keys, the value of each aggregate."""
        values = [value_of(output).alias(f"{HIDDEN}v{a}") for a, output in enumerate(self.bound.outputs)]
        keys = [F.col(quoted(name)) for name in self.bound.keys]
        return df.select(src.cast("int").alias(SRC), *keys, *values)

    def read(self, refs: DataFrame, places: tuple[str, ...]) -> DataFrame:
        """Rows of kept nodes: the number of the source, the keys, the fields."""
        schema = StructType(
            [StructField(SRC, IntegerType()), *from_arrow_schema(self.schema, prefer_timestamp_ntz=True).fields]
        )
        return refs.mapInArrow(reader(places, self.schema), schema)

    # ---- what comes out ----
    def written(self, inputs: DataFrame, work: Work, places: tuple[str, ...], root: str) -> DataFrame:
        """The job: nodes are made and written; a row for each file."""
        few = len(work.sources) <= MANY
        table = self._side_by_side(inputs, work.sources) if few else self._by_source(inputs, work.sources)
        names = {source.node: k for k, source in enumerate(work.sources)}
        columns = {source.node: self._fields(f"s{k}") for k, source in enumerate(work.sources)}
        for level in work.levels():
            made: dict[str, Any] = {}
            for step in level:
                older, newer = (columns[part] for part in step.parts)
                names[step.node] = len(names)
                columns[step.node] = self._fields(f"s{names[step.node]}")
                made.update(zip(columns[step.node], self._merged(older, newer), strict=True))
            table = table.withColumns(made)
        chosen = [F.col(name) for node in work.written for name in columns[node]]
        keys = [F.col(quoted(name)) for name in self.bound.keys]
        return table.select(*keys, *chosen).mapInArrow(
            writer(work.written, places, self.schema, len(self.bound.keys)), WRITTEN_SPARK
        )

    def _fields(self, prefix: str) -> list[str]:
        return [f"{HIDDEN}{prefix}{field.removeprefix(HIDDEN)}" for field in self.fields]

    def _parts(self, fields: Sequence[Any]) -> Iterator[tuple[Expressions, list[Any]]]:
        """The fields of each aggregate; the count of rows comes before them."""
        at = 1
        for one in self.aggregates:
            yield one, list(fields[at : at + len(one.types)])
            at += len(one.types)

    def _merged(self, older: list[str], newer: list[str]) -> list[Any]:
        a, b = [F.col(name) for name in older], [F.col(name) for name in newer]
        merged = [a[0] + b[0]]
        for (one, mine), (_, other) in zip(self._parts(a), self._parts(b), strict=True):
            merged += one.merge(mine, other)
        return merged

    def _gathered(self, mine: Any) -> list[Any]:
        """Aggregates over the rows of new splits for which `mine` holds."""
        found = [F.count(F.when(mine, F.lit(1)))]
        for a, one in enumerate(self.aggregates):
            found += one.gather([F.when(mine, F.col(f"{HIDDEN}v{a}"))])
        return found

    def _neutral(self, fields: list[Any], names: list[str]) -> list[Any]:
        full = [F.coalesce(fields[0], F.lit(0).cast("long"))]
        for one, mine in self._parts(fields):
            full += filled(one, mine)
        return [column.alias(name) for column, name in zip(full, names, strict=True)]

    def _side_by_side(self, inputs: DataFrame, sources: Sequence[Source]) -> DataFrame:
        """A row per key with the fields of every source: one aggregation, one shuffle."""
        found, chosen = [], []
        for k, source in enumerate(sources):
            mine = F.col(SRC) == k
            kept = [F.max(F.when(mine, F.col(field))) for field in self.fields] if not source.new else []
            names = self._fields(f"s{k}")
            found += [column.alias(name) for column, name in zip(kept or self._gathered(mine), names, strict=True)]
            chosen += self._neutral([F.col(name) for name in names], names)
        keys = [F.col(quoted(name)) for name in self.bound.keys]
        return inputs.groupBy(*keys).agg(*found).select(*keys, *chosen)

    def _by_source(self, inputs: DataFrame, sources: Sequence[Source]) -> DataFrame:
        """The same for many sources: aggregated by (src, key), then gathered by key."""
        keys = [F.col(quoted(name)) for name in self.bound.keys]
        new = [source.new for source in sources]
        mine = F.lit(True) if all(new) else F.col(ROWS).isNull()  # rows of kept nodes have it
        gathered = self._gathered(mine) if any(new) else [F.lit(None)] * len(self.fields)
        one = []
        for raw, field in zip(gathered, self.fields, strict=True):
            if any(new) and not all(new):
                raw = F.when(F.first(mine), raw).otherwise(F.max(F.col(field)))
            elif not any(new):
                raw = F.max(F.col(field))
            one.append(raw.alias(field))
        each = inputs.groupBy(SRC, *keys).agg(*one)
        found, chosen = [], []
        for k in range(len(sources)):
            names = self._fields(f"s{k}")
            values = [F.max(F.when(F.col(SRC) == k, F.col(field))) for field in self.fields]
            found += [column.alias(name) for column, name in zip(values, names, strict=True)]
            chosen += self._neutral([F.col(name) for name in names], names)
        return each.groupBy(*keys).agg(*found).select(*keys, *chosen)

    # ---- answers ----
    def lowered(self, table: DataFrame) -> DataFrame:
        """Keys and answers of a node's rows."""
        answers = []
        fields = [F.col(field) for field in self.fields]
        for (one, mine), output in zip(self._parts(fields), self.bound.outputs, strict=True):
            answers.append(one.lower(mine).alias(output.name))
        return table.select(*[F.col(quoted(name)) for name in self.bound.keys], *answers)

    def plainly(self, df: DataFrame) -> DataFrame:
        """The query over all rows, without a tree."""
        keys = [F.col(quoted(name)) for name in self.bound.keys]
        found = [column.alias(name) for column, name in zip(self._gathered(F.col(SRC) == 0), self.fields, strict=True)]
        grouped = self.mapped(df, F.lit(0)).groupBy(*keys).agg(*found)
        table = grouped.select(*keys, *self._neutral([F.col(name) for name in self.fields], self.fields))
        return self.lowered(table.where(F.col(ROWS) > 0))
