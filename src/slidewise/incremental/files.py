"""Node tables as files, on the workers: written to every replica under a name of their own, read back by checksum.

    rows of a node, of one task ──► NODE.TOKEN.parquet in a/nodes and b/nodes    (temporary name, fsync, rename)
    a part ──► replica a, if its bytes are what they were; else b, and a is mended; else `Damaged`

A name is never used twice, so a task that runs twice, or on two machines at once, leaves a file that no manifest
names, which is swept later.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from slidewise.errors import StoreCorrupt

NODES = "nodes"
SRC = "__slidewise_src"
"""The column that says which source of a job a row is of."""

TEMPORARY = ".part"
BATCH = 65536
"""Rows that are handed to Spark at once."""

WRITTEN = pa.schema(
    [
        ("node", pa.string()),
        ("file", pa.string()),
        ("rows", pa.int64()),
        ("bytes", pa.int64()),
        ("checksum", pa.string()),
        ("cut", pa.int32()),
        ("low", pa.string()),
        ("high", pa.string()),
    ]
)
"""What a task says of each file it wrote; `low` and `high` are the ends of a split's order, in rows without a file."""

WRITTEN_SPARK = "node string, file string, rows long, bytes long, checksum string, cut int, low string, high string"


@dataclass(frozen=True)
class Part:
    """One file of a node; where keys are cut by a hash of our own, which of how many cuts it is of."""

    file: str
    rows: int
    bytes: int
    checksum: str
    cut: int | None = None
    cuts: int | None = None


class Damaged(StoreCorrupt):
    """A part whose bytes are wrong or missing in every replica; the message carries the node's name."""

    MARK = re.compile(r"slidewise: node ([0-9a-f]+) is damaged in every replica")

    @classmethod
    def of(cls, node: str, part: Part, places: Iterable[str]) -> Damaged:
        return cls(
            f"slidewise: node {node} is damaged in every replica: {part.file} in {', '.join(places)} is missing or "
            "does not have its checksum"
        )

    @classmethod
    def found_in(cls, error: BaseException) -> str | None:
        """The node that an error of a Spark job is about; None if it is about something else."""
        try:
            found = cls.MARK.search(str(error))
        except Exception:  # some errors of Spark cannot be shown; they are about something else
            return None
        return found.group(1) if found else None


def checksum_of(blob: bytes) -> str:
    """BLAKE2b, 128 bits."""
    return hashlib.blake2b(blob, digest_size=16).hexdigest()


def write_part(table: pa.Table, node: str, places: tuple[str, ...], cut: int | None = None) -> dict[str, Any]:
    """A table of a node to every replica; what `WRITTEN` says of it."""
    sink = io.BytesIO()
    pq.write_table(table, sink, compression="lz4")
    blob = sink.getvalue()
    file = f"{node}.{uuid.uuid4().hex[:12]}.parquet"
    for place in places:
        put(Path(place) / NODES / file, blob)
    return {
        "node": node,
        "file": file,
        "rows": table.num_rows,
        "bytes": len(blob),
        "checksum": checksum_of(blob),
        "cut": cut,
        "low": None,
        "high": None,
    }


def put(path: Path, blob: bytes) -> None:
    """All of it under this name, or nothing: written beside it, flushed to the disk, renamed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f"{path.name}.{uuid.uuid4().hex[:8]}{TEMPORARY}")
    with beside.open("wb") as file:
        file.write(blob)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)


def read_blob(node: str, part: Part, places: tuple[str, ...]) -> bytes:
    """The bytes of a part from the first replica that has it whole; the ones before are mended."""
    wrong = []
    for place in places:
        path = Path(place) / NODES / part.file
        try:
            blob = path.read_bytes()
        except OSError:
            wrong.append(path)
            continue
        if checksum_of(blob) != part.checksum:
            wrong.append(path)
            continue
        for other in wrong:
            put(other, blob)
        return blob
    raise Damaged.of(node, part, places)


READ_SPARK = f"{SRC} int, node string, file string, rows long, bytes long, checksum string"


def parts_in(given: pa.RecordBatch) -> Iterator[tuple[str, Part]]:
    """The parts that rows of `READ_SPARK` name, each with its node."""
    for row in given.to_pylist():
        yield row["node"], Part(row["file"], row["rows"], row["bytes"], row["checksum"])


def read_part(
    node: str, part: Part, places: tuple[str, ...], schema: pa.Schema, later: frozenset[str] = frozenset()
) -> pa.Table:
    """The rows of a part; columns of `later` are null where it has none: it was written before there were any."""
    table = pq.read_table(pa.BufferReader(read_blob(node, part, places)))
    columns = []
    for field in schema:
        missing = field.name in later and field.name not in table.schema.names
        column = pa.nulls(table.num_rows) if missing else table.column(field.name)
        columns.append(column.cast(field.type))
    return pa.table(columns, schema=schema)


def reader(
    places: tuple[str, ...], schema: pa.Schema, later: frozenset[str] = frozenset()
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function that Spark's workers read nodes with: rows of `READ_SPARK` in, rows of the parts they name out."""

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for given in batches:
            for src, (node, part) in zip(given.column(SRC), parts_in(given), strict=True):
                for batch in read_part(node, part, places, schema, later).to_batches(max_chunksize=BATCH):
                    yield batch.add_column(0, SRC, pa.repeat(src, batch.num_rows))

    return read
