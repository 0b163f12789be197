"""A job whose aggregates go through Arrow: rows are shuffled and sorted by key, a worker folds and combines them.

    new splits (src, key, columns)  ┐
    kept nodes (src, key, partials) ┴─► repartition(key) ─► sort (key, src, order, hash) ─► mapInArrow: nodes ─► files
              stage 1                                              stage 2

What the workers do is arrow_worker.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark import cloudpickle
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema, from_arrow_type
from pyspark.sql.types import IntegerType, StructField, StructType

from slidewise.incremental.arrow_worker import answer_reader, answerer, lowerer, node_writer
from slidewise.incremental.files import SRC, WRITTEN_SPARK, reader
from slidewise.incremental.jvm import quoted
from slidewise.incremental.mark import mark_of
from slidewise.incremental.query import HIDDEN, Bound, Query
from slidewise.incremental.sheet import ANSWERED, answer_fields, node_schema
from slidewise.incremental.steps import Work
from slidewise.spark.batch import tie_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

TIE = f"{HIDDEN}tie"


class ArrowEngine:
    """One query's jobs through Arrow; with `answers`, those of roots are kept beside them, if they have a mark."""

    name = "Arrow"

    def __init__(self, query: Query, bound: Bound, answers: bool) -> None:
        self.query, self.bound = query, bound
        self.mark = mark_of(query, bound) if answers else None
        self.schema = node_schema(bound, self.mark is not None)

    def mapped(self, df: DataFrame, src: Any) -> DataFrame:
        """Rows of a new split: its number, what the query reads, and a hash of them for ties."""
        read = df.select(*[F.col(quoted(name)) for name in self.bound.types])
        columns = [self._key(read, name) if name in self.bound.keys else F.col(quoted(name)) for name in read.columns]
        tie = [tie_of(read).alias(TIE)] if read.columns else [F.lit(0).cast("long").alias(TIE)]
        return read.select(src.cast("int").alias(SRC), *tie, *columns)

    def _key(self, df: DataFrame, name: str) -> Any:
        """Equal keys have equal bits: one NaN, one zero."""
        column = F.col(quoted(name))
        kind = df.schema[name].dataType
        if kind.typeName() not in ("double", "float"):
            return column
        return (
            F.when(F.isnan(column), F.lit(float("nan")).cast(kind))
            .otherwise(column + F.lit(0.0).cast(kind))
            .alias(name)
        )

    def read(self, refs: DataFrame, places: tuple[str, ...]) -> DataFrame:
        """Rows of kept nodes: the number of the source, the keys, the partials."""
        schema = StructType(
            [StructField(SRC, IntegerType()), *from_arrow_schema(self.schema, prefer_timestamp_ntz=True).fields]
        )
        later = frozenset([ANSWERED, *(field.name for field in answer_fields(self.bound))])
        return refs.mapInArrow(reader(places, self.schema, later), schema)

    def written(self, inputs: DataFrame, work: Work, places: tuple[str, ...], root: str) -> DataFrame:
        """The job: nodes are made and written; a row for each file, and for each new split the ends of its order."""
        new = tuple(source.new for source in work.sources)
        nodes = tuple(source.node for source in work.sources)
        steps = tuple(step for level in work.levels() for step in level)
        make = node_writer(self._packed(), nodes, new, steps, work.written, places, root, self.mark)
        return self._sorted(inputs).mapInArrow(make, WRITTEN_SPARK)

    def _sorted(self, inputs: DataFrame) -> DataFrame:
        keys = [F.col(quoted(name)) for name in self.bound.keys]
        order = [F.col(quoted(name)) for name in self.bound.order]
        ties = [F.col(TIE)] if TIE in inputs.columns else []
        moved = inputs.repartition(*keys) if keys else inputs.repartition(1)
        return moved.sortWithinPartitions(*keys, F.col(SRC), *(order if ties else []), *ties)

    def _packed(self) -> bytes:
        packed: bytes = cloudpickle.dumps((self.query, dict(self.bound.types)))  # type: ignore[no-untyped-call]
        return packed

    def lowered(self, table: DataFrame) -> DataFrame:
        """Keys and answers of a node's rows."""
        return table.mapInArrow(lowerer(self._packed(), self.mark), self._result(table.schema))

    def answered(self, refs: DataFrame, places: tuple[str, ...]) -> DataFrame:
        """Keys and answers of a node, from its files: one pass through Python instead of two."""
        stored = from_arrow_schema(self.schema, prefer_timestamp_ntz=True)
        return refs.mapInArrow(answer_reader(self._packed(), places, self.mark), self._result(stored))

    def _result(self, schema: StructType) -> StructType:
        keys = [schema[name] for name in self.bound.keys]
        answers = [
            StructField(output.name, from_arrow_type(output.arrow, prefer_timestamp_ntz=True))
            for output in self.bound.outputs
        ]
        return StructType([*keys, *answers])

    def plainly(self, df: DataFrame) -> DataFrame:
        """The query over all rows, without a tree."""
        return self._sorted(self.mapped(df, F.lit(0))).mapInArrow(answerer(self._packed()), self._result(df.schema))
