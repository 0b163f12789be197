"""Rows in packets: one Arrow-IPC binary value per bucket of keys and batch, and back.

    (rows) ──pack──► (bucket, packet) ──group by bucket, state──► (packet, metrics) ──unpack──► (rows)

Spark hands a stateful Python operator every row as pandas objects; a packet crosses as one value, so it costs nothing
per row and types stay exact. Buckets have labels chosen so that Spark's own hash puts one on each shuffle partition.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from slidewise.errors import ArgumentError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BUCKET, PACKET = "bucket", "packet"
NUMBER = "__bucket"
"""The column that holds a row's bucket number before it is packed."""

HISTORY = "__history"
"""In packets of history: the time at which it ends, in units of the order; the same in every row."""

LARGEST = 2**30
"""Bytes gathered before they are packed: offsets of a binary column are 32 bits."""

Batches = Iterable[pa.RecordBatch]


def labels_for(spark: SparkSession, partitions: int) -> list[int]:
    """A label for each bucket, such that label k hashes to shuffle partition k."""
    wanted: dict[int, int] = {}
    span = 64 * partitions
    first = 0
    while len(wanted) < partitions:
        found = spark.range(first, first + span).selectExpr(
            "cast(id as int) label", f"pmod(hash(cast(id as int)), {partitions}) place"
        )
        for label, place in found.collect():
            wanted.setdefault(place, label)
        first += span
    return [wanted[place] for place in range(partitions)]


def packer(
    labels: list[int], schema: pa.Schema, order: tuple[str, ...], *, wake: bool = True
) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    """For `mapInArrow`: rows with a bucket number become a packet per bucket, with the columns and types of `schema`.

    A schema of our own, since the session's time zone and Spark's notes on nullability may change between restarts.
    `wake`: every bucket gets an empty packet as well, once per batch, so that all of them report.
    """

    def pack(batches: Batches) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        if wake and (context is None or context.partitionId() == 0):
            columns = [pa.array(labels, type=pa.int32()), pa.nulls(len(labels), pa.binary())]
            yield pa.RecordBatch.from_arrays(columns, [BUCKET, PACKET])
        gathered: list[pa.RecordBatch] = []
        size = 0
        for batch in batches:
            if batch.num_rows:
                gathered.append(batch)
                size += batch.nbytes
            if size > LARGEST:
                yield packed(gathered, labels, schema, order)
                gathered, size = [], 0
        if gathered:
            yield packed(gathered, labels, schema, order)

    return pack


def packed(
    batches: list[pa.RecordBatch], labels: list[int], schema: pa.Schema, order: tuple[str, ...]
) -> pa.RecordBatch:
    """Rows sorted into one packet per bucket."""
    table = pa.Table.from_batches(batches)
    refuse_nulls(table, order)
    numbers = table.column(NUMBER).to_numpy()
    table = table.select(schema.names).cast(schema)
    places = np.argsort(numbers, kind="stable")
    table = table.take(pa.array(places)).combine_chunks()
    edges = np.searchsorted(numbers[places], np.arange(len(labels) + 1))
    names, offsets, sink = [], [0], pa.BufferOutputStream()
    for label, first, last in zip(labels, edges[:-1], edges[1:], strict=True):
        if last > first:
            write_packet(table.slice(first, last - first), sink)
            names.append(label)
            offsets.append(sink.tell())
    buffers = [None, pa.py_buffer(np.array(offsets, dtype=np.int32)), sink.getvalue()]
    packets = pa.Array.from_buffers(pa.binary(), len(names), buffers)
    return pa.RecordBatch.from_arrays([pa.array(names, type=pa.int32()), packets], [BUCKET, PACKET])


def refuse_nulls(rows: pa.Table | pa.RecordBatch, order: tuple[str, ...]) -> None:
    """Raise `ArgumentError` if a column of `order` holds a null."""
    for name in order:
        nulls = rows.column(name).null_count
        if nulls:
            raise ArgumentError(f"order={name!r}: holds {nulls} null(s); expected a value in every row")


def write_packet(table: pa.Table, sink: pa.NativeFile) -> None:
    """A table as one Arrow-IPC stream."""
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)


def to_packet(table: pa.Table) -> bytes:
    """A table as bytes."""
    sink = pa.BufferOutputStream()
    write_packet(table, sink)
    return bytes(sink.getvalue())


def from_packet(packet: bytes) -> pa.Table:
    """What `to_packet` stored."""
    return pa.ipc.open_stream(packet).read_all()


def unpacker(names: list[str]) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    """For `mapInArrow`: packets become rows with these columns."""

    def unpack(batches: Batches) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for packet in batch.column(PACKET):
                if packet.is_valid:
                    yield from from_packet(packet.as_buffer()).select(names).combine_chunks().to_batches()

    return unpack
