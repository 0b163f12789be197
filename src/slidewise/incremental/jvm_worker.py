"""What Spark's workers do for a job in the JVM: nodes come side by side, finished, and are written.

Workers load this module and files.py, and neither the engine nor Numba: a nightly slide is a process of its own, and
its workers are new.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from slidewise.incremental.files import WRITTEN, write_part


def writer(
    nodes: tuple[str, ...], places: tuple[str, ...], schema: pa.Schema, keys: int
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function that writes nodes: column groups side by side in, a row for each file out."""
    width = len(schema) - keys

    def write(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        parts: dict[str, list[pa.RecordBatch]] = {node: [] for node in nodes}
        for batch in batches:
            for k, node in enumerate(nodes):
                first = keys + k * width
                columns = [*batch.columns[:keys], *batch.columns[first : first + width]]
                part = pa.RecordBatch.from_arrays(columns, schema=schema)
                parts[node].append(part.filter(pc.greater(columns[keys], 0)))
        for node, found in parts.items():
            table = pa.Table.from_batches(found, schema)
            if table.num_rows:
                yield pa.RecordBatch.from_pylist([write_part(table, node, places)], WRITTEN)

    return write
