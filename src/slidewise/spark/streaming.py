"""A streaming DataFrame: exact sliding windows, an answer per event or per window, state in Spark's own state store.

    (rows) ──watermark, pack──► (bucket, packet) ──transformWithState──► (packet, metrics) ──observe, unpack──► (rows)

Output is append-only and deterministic: the same rows whatever the order of arrival within the lateness and however the
stream is cut into micro-batches, equal to `slide` on the same data as a batch for every row up to the final watermark.
Fault tolerance is Spark's: the operator keeps nothing that is not in its state.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType, StructField, StructType, TimestampType

from slidewise.duration import nanoseconds
from slidewise.engine.keyed import HIDDEN, TIE
from slidewise.engine.plan import Plan
from slidewise.errors import ArgumentError, bad
from slidewise.spark.batch import _quoted, tie_of
from slidewise.spark.fingerprint import describe, fingerprint_schema, stored_columns
from slidewise.spark.pack import BUCKET, NUMBER, PACKET, labels_for, packer, unpacker
from slidewise.spark.processor import METRICS, OUTPUT, SlideProcessor
from slidewise.spark.recipe import Recipe
from slidewise.windows.window import Trailing

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
PROVIDER = "spark.sql.streaming.stateStore.providerClass"
CHANGELOG = "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"
LATE = "late"
"""The column that flags late rows under `late="column"`."""

METRICS_NAME = "slidewise"
"""Under this name `query.lastProgress.observedMetrics` has the figures of the last batch."""

log = logging.getLogger("slidewise")


def slide_stream(
    df: DataFrame,
    recipe: Recipe,
    plan: Plan,
    schema: StructType,
    *,
    presorted: bool,
    lateness: Any,
    emit: Any,
    late: Any,
    idle: Any,
    initial: Any,
) -> DataFrame:
    """The plan over a streaming DataFrame; the options are those of `slidewise.slide`."""
    late = _check(df, plan, schema, presorted, lateness, emit, late, idle, initial)
    spark = df.sparkSession
    _use_rocksdb(spark)
    late_column = LATE if late == "column" else None
    if late_column is not None:
        schema = StructType([*schema.fields, StructField(LATE, BooleanType(), False)])
    buckets = int(spark.conf.get("spark.sql.shuffle.partitions") or 1)
    labels = labels_for(spark, buckets)
    phrases = describe(plan, buckets=buckets, late=late)
    order = plan.order[0]
    keys = [F.col(_quoted(name)) for name in plan.by]
    number = F.pmod(F.xxhash64(*keys), F.lit(buckets)) if keys else F.lit(0)
    marked = df.withWatermark(order, _spark_interval(lateness)).withColumns(
        {TIE: tie_of(df), NUMBER: number.cast("int")}
    )
    fields = [*((name, plan.types[name]) for name in stored_columns(plan)), (TIE, pa.int64())]
    packets = marked.mapInArrow(packer(labels, pa.schema(fields), plan.order), f"{BUCKET} int, {PACKET} binary")
    processor = SlideProcessor(recipe.packed(), fingerprint_schema(phrases), schema.names, late, late_column)
    answered = packets.groupBy(BUCKET).transformWithStateInPandas(processor, OUTPUT, "Append", "EventTime")
    observed = answered.observe(METRICS_NAME, *[F.sum(name).alias(name) for name in METRICS])
    return observed.mapInArrow(unpacker(schema.names), schema)


def _check(
    df: DataFrame,
    plan: Plan,
    schema: StructType,
    presorted: bool,
    lateness: Any,
    emit: Any,
    late: Any,
    idle: Any,
    initial: Any,
) -> str:
    """Refuse what a stream cannot do, before anything starts; returns how late rows are treated."""
    if presorted:
        raise ArgumentError("presorted=True: is for batches; a stream is ordered by its watermark")
    for name in df.columns:
        if name in (*HIDDEN, NUMBER):
            raise ArgumentError(f"data: has a column named {name!r}, which a stream uses itself; expected another name")
    order = plan.order[0]
    kind = df.schema[order].dataType
    if not isinstance(kind, TimestampType):  # Spark has no watermark on timestamp_ntz
        raise ArgumentError(
            f"order={order!r}: is of type {kind.simpleString()}; a stream is ordered by event time; "
            "expected a timestamp column (cast it)"
        )
    for window in plan.windows:
        if not isinstance(window, Trailing) or window.coarse is not None:
            raise ArgumentError(
                f"window={window!r}: is not available on a stream yet; expected trailing by rows or time, or tumbling"
            )
    if lateness is not None:
        nanoseconds(lateness, "lateness", or_zero=True)
    wanted = "event" if plan.per_event else "window"
    if emit not in (None, wanted):
        raise ArgumentError(f"emit={emit!r}: expected None or {wanted!r} for {plan.windows[0]!r}")
    if idle is not None or initial is not None:
        name, value = ("idle", idle) if idle is not None else ("initial", type(initial).__name__)
        raise ArgumentError(f"{name}={value!r}: is not available yet; expected None")
    if late is None:
        late = "error" if lateness is None else "drop"
    if late not in ("drop", "column", "error"):
        raise bad("late", late, "'drop', 'column' or 'error'")
    if late == "column" and (LATE in schema.names or not plan.per_event):
        raise ArgumentError("late='column': expected per-event windows and no column named 'late' in the result")
    return str(late)


def _spark_interval(lateness: Any) -> str:
    nanos = 0 if lateness is None else nanoseconds(lateness, "lateness", or_zero=True)
    return f"{-(-nanos // 1_000_000)} milliseconds"


def _use_rocksdb(spark: SparkSession) -> None:
    """The state store must be RocksDB; set it where Spark's default is still in place, and say so."""
    if "HDFSBacked" in str(spark.conf.get(PROVIDER)):
        spark.conf.set(PROVIDER, ROCKSDB)
        spark.conf.set(CHANGELOG, "true")
        log.warning("set %s to RocksDB with changelog checkpointing, which stateful Python operators need", PROVIDER)
