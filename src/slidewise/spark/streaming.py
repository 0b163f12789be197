"""A streaming DataFrame: exact sliding windows, an answer per event or per window, state in Spark's own state store.

    (rows) ──watermark, pack──► (bucket, packet) ──transformWithState──► (packet, metrics) ──observe, unpack──► (rows)

Output is append-only and deterministic: the same rows whatever the order of arrival within the lateness and however the
stream is cut into micro-batches, equal to `slide` on the same data as a batch for every row up to the final watermark.
The changelogs of emit="update" and "change" depend on arrival, but come to the same when replayed. Fault tolerance is
Spark's: the operator keeps nothing that is not in its state.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType, LongType, StringType, StructField, StructType

from slidewise.engine.changes import OP, VERSION
from slidewise.engine.keyed import TIE
from slidewise.engine.plan import CLOSED, Plan
from slidewise.spark.batch import _quoted, tie_of
from slidewise.spark.bucket import Manner
from slidewise.spark.fingerprint import describe, fingerprint_schema, stored_columns
from slidewise.spark.monitor import OBSERVED
from slidewise.spark.options import Options, checked
from slidewise.spark.pack import BUCKET, HISTORY, NUMBER, PACKET, labels_for, packer, unpacker
from slidewise.spark.processor import METRICS, OUTPUT, SlideProcessor
from slidewise.spark.recipe import Recipe

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
PROVIDER = "spark.sql.streaming.stateStore.providerClass"
CHANGELOG = "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"
log = logging.getLogger("slidewise")


def slide_stream(
    df: DataFrame, recipe: Recipe, plan: Plan, schema: StructType, *, initial: Any, **options: Any
) -> DataFrame:
    """The plan over a streaming DataFrame; the options are those of `slidewise.slide`."""
    asked = checked(df, plan, recipe.aggregates, schema, initial=initial, **options)
    spark, manner = df.sparkSession, asked.manner
    _use_rocksdb(spark)
    out = _out_schema(schema, asked)
    buckets = int(spark.conf.get("spark.sql.shuffle.partitions") or 1)
    labels = labels_for(spark, buckets)
    marked = df.withWatermark(plan.order[0], asked.watermark_delay)
    packets = _packets(marked, plan, labels, stored_columns(plan))
    history = None if initial is None else _history(initial, df, plan, labels).groupBy(BUCKET)
    fingerprint = fingerprint_schema(describe(plan, buckets=buckets, late=manner.late, **unusual(plan, manner)))
    processor = SlideProcessor(recipe.packed(), fingerprint, out.names, manner, asked.late_column)
    answered = packets.groupBy(BUCKET).transformWithStateInPandas(processor, OUTPUT, "Append", "EventTime", history)
    observed = answered.observe(OBSERVED, *[F.sum(name).alias(name) for name in METRICS])
    return observed.mapInArrow(unpacker(out.names), out)


def _out_schema(schema: StructType, asked: Options) -> StructType:
    """The result's columns, and those that the options add."""
    fields = list(schema.fields)
    if asked.manner.at_once and asked.frames:
        fields.append(StructField(CLOSED, BooleanType(), True))
    if asked.manner.at_once:
        fields += [StructField(OP, StringType(), False), StructField(VERSION, LongType(), True)]
    if asked.late_column is not None:
        fields.append(StructField(asked.late_column, BooleanType(), False))
    return StructType(fields)


def unusual(plan: Plan, manner: Manner) -> dict[str, Any]:
    """Settings that state depends on, where they are not the usual ones."""
    final = "event" if plan.per_event else "window"
    asked = {"emit": manner.emit, "idle": manner.idle}
    usual = {"emit": final, "idle": None}
    return {name: value for name, value in asked.items() if value != usual[name]}


def _packets(df: DataFrame, plan: Plan, labels: list[int], columns: tuple[str, ...], *more: str) -> DataFrame:
    """The rows, packed by bucket; `more` are further columns of whole numbers."""
    keys = [F.col(_quoted(name)) for name in plan.by]
    number = F.pmod(F.xxhash64(*keys), F.lit(len(labels))) if keys else F.lit(0)
    marked = df.withColumns({TIE: tie_of(df), NUMBER: number.cast("int")})
    fields = [*((name, plan.types[name]) for name in columns), *((name, pa.int64()) for name in (TIE, *more))]
    pack = packer(labels, pa.schema(fields), plan.order, wake=not more)
    return marked.mapInArrow(pack, f"{BUCKET} int, {PACKET} binary")


def _history(initial: DataFrame, df: DataFrame, plan: Plan, labels: list[int]) -> DataFrame:
    """The rows that came before the stream, packed, each with the time at which they end; what nobody needs is null."""
    columns, order = stored_columns(plan), F.col(_quoted(plan.order[0]))
    there = set(initial.columns)
    chosen = [
        F.col(_quoted(name)) if name in there else F.lit(None).cast(df.schema[name].dataType).alias(name)
        for name in columns
    ]
    ends = initial.agg(F.unix_micros(F.max(order)).alias(HISTORY))
    return _packets(initial.select(*chosen).crossJoin(F.broadcast(ends)), plan, labels, columns, HISTORY)


def _use_rocksdb(spark: SparkSession) -> None:
    """The state store must be RocksDB; set it where Spark's default is still in place, and say so."""
    if "HDFSBacked" in str(spark.conf.get(PROVIDER)):
        spark.conf.set(PROVIDER, ROCKSDB)
        spark.conf.set(CHANGELOG, "true")
        log.warning("set %s to RocksDB with changelog checkpointing, which stateful Python operators need", PROVIDER)
