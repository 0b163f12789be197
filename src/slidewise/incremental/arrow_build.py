"""A job whose aggregates go through Arrow: rows are shuffled and sorted by key, a worker folds and combines them.

    new splits (src, key, columns) ─► cut by a hash of the key ─► sort (key, src, order, hash) ─┐
              stage 1                                              stage 2      mapInArrow: nodes ─► files
                                                           kept nodes, the part of the same cut ┘

A tree of its own for each of P cuts: a task finds what is kept of its keys in files of its own. Kept nodes that are in
Spark's memory, or were cut otherwise, go through the shuffle with what is new. The workers are in arrow_worker.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark import cloudpickle
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema, from_arrow_type
from pyspark.sql.types import IntegerType, StructField, StructType

from slidewise.incremental.arrow_worker import Task, answer_reader, answerer, lowerer, node_writer
from slidewise.incremental.cuts import Cuts
from slidewise.incremental.files import SRC, WRITTEN_SPARK, reader
from slidewise.incremental.jvm import quoted
from slidewise.incremental.mark import mark_of
from slidewise.incremental.query import HIDDEN, Bound, Query
from slidewise.incremental.sheet import kept_later, node_schema
from slidewise.incremental.steps import Work
from slidewise.spark.batch import tie_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

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
        return refs.mapInArrow(reader(places, self.schema, kept_later(self.bound)), schema)

    def written(
        self, spark: SparkSession, inputs: DataFrame | None, work: Work, places: tuple[str, ...], root: str, cuts: Cuts
    ) -> DataFrame:
        """The job: nodes are made and written; a row for each file, and for each new split the ends of its order."""
        new = tuple(source.new for source in work.sources)
        nodes = tuple(source.node for source in work.sources)
        steps = tuple(step for level in work.levels() for step in level)
        task = Task(self._packed(), nodes, new, steps, work.written, places, root, self.mark, cuts.kept)
        return self._cut(spark, inputs, cuts.count).mapInArrow(node_writer(task), WRITTEN_SPARK)

    def _cut(self, spark: SparkSession, inputs: DataFrame | None, cuts: int) -> DataFrame:
        """Rows by cut, each of which begins with a row that says which it is: a cut without rows has a task too."""
        first = spark.range(0, cuts, 1, 1).select((F.lit(-1) - F.col("id")).cast("int").alias(SRC))
        which = -1 - F.col(SRC)
        if inputs is not None:
            first = inputs.unionByName(first, allowMissingColumns=True)
            hashed = F.pmod(F.xxhash64(*self._keys()), F.lit(cuts)) if self.bound.keys else F.lit(0)
            which = F.when(F.col(SRC) < 0, which).otherwise(hashed)
        return self._sorted(first.repartitionById(cuts, which.cast("int")), inputs is not None)

    def _sorted(self, moved: DataFrame, by_key: bool = True) -> DataFrame:
        order = [F.col(quoted(name)) for name in self.bound.order]
        ties = [F.col(TIE)] if TIE in moved.columns else []
        return moved.sortWithinPartitions(
            *(self._keys() if by_key else []), F.col(SRC), *(order if ties else []), *ties
        )

    def _keys(self) -> list[Any]:
        return [F.col(quoted(name)) for name in self.bound.keys]

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
        rows = self.mapped(df, F.lit(0))
        moved = rows.repartition(*self._keys()) if self.bound.keys else rows.repartition(1)
        return self._sorted(moved).mapInArrow(answerer(self._packed()), self._result(df.schema))
