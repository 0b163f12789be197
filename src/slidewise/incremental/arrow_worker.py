"""What Spark's workers do with sorted rows: fold those of new splits, combine columns of partials, write nodes.

    rows of whole keys, by (key, src) ──► Sheet: a column of partials per source ──► nodes ──► files

All rows of a key lie together, by source: those of a new split are folded to a partial, that of a kept node is there.
The rows of one key are held in memory. Every node is one merge over columns, for as many keys at once as came in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import cloudpickle

from slidewise.engine.arrange import key_codes
from slidewise.engine.partials import Partials, folded, loaded, lowered, merged, spread, stored, stored_fields
from slidewise.errors import ArgumentError
from slidewise.incremental.files import SRC, WRITTEN, write_part
from slidewise.incremental.query import HIDDEN, Bound
from slidewise.incremental.steps import Step
from slidewise.monoids.codec import encode_plain


def node_schema(bound: Bound) -> pa.Schema:
    """The columns of a node's table: keys, then the partials of each output."""
    keys = [pa.field(name, bound.types[name]) for name in bound.keys]
    fields = [field for a, output in enumerate(bound.outputs) for field in stored_fields(output, f"{HIDDEN}a{a}")]
    return pa.schema([*keys, *fields])


_bound: dict[bytes, Bound] = {}


def bound_from(packed: bytes) -> Bound:
    """The query on a worker, bound once."""
    if packed not in _bound:
        query, types = cloudpickle.loads(packed)
        _bound[packed] = query.bind(types)
    return _bound[packed]


def whole_keys(batches: Iterable[pa.RecordBatch], keys: Sequence[str]) -> Iterator[pa.Table]:
    """Sorted batches as tables that have all rows of each of their keys."""
    held: list[pa.RecordBatch] = []
    for batch in batches:
        if not batch.num_rows:
            continue
        held.append(batch)
        ends = pa.Table.from_batches([one.slice(at, 1) for one in held[-2:] for at in (0, one.num_rows - 1)])
        codes, _ = key_codes([ends.column(name) for name in keys], ends.num_rows)
        if codes is None or len(set(codes[-3:].tolist())) == 1:
            continue  # one key goes on
        codes, _ = key_codes([batch.column(name) for name in keys], batch.num_rows)
        changes = np.nonzero(codes[1:] != codes[:-1])[0]
        cut = int(changes[-1]) + 1 if len(changes) else 0
        yield pa.Table.from_batches([*held[:-1], batch.slice(0, cut)])
        held = [batch.slice(cut)]
    if held:
        yield pa.Table.from_batches(held)


class Sheet:
    """Some keys with all their rows: for each source and output a column of partials, a place per key."""

    def __init__(self, bound: Bound, table: pa.Table, new: Sequence[bool]) -> None:
        self.bound = bound
        table = table.combine_chunks()
        length = table.num_rows
        codes, _ = key_codes([table.column(name) for name in bound.keys], length)
        src = table.column(SRC).to_numpy()
        codes = np.zeros(length, dtype=np.int64) if codes is None else codes
        key_begins = np.append(True, codes[1:] != codes[:-1])
        run_begins = key_begins | np.append(True, src[1:] != src[:-1])
        self.heads = np.nonzero(key_begins)[0]
        self.keys = [table.column(name).take(pa.array(self.heads)).combine_chunks() for name in bound.keys]
        starts = np.nonzero(run_begins)[0]
        run_key, run_src = np.cumsum(key_begins)[starts] - 1, src[starts]
        ends = np.append(starts, length)
        self.size = len(self.heads)
        self.sources: list[tuple[list[Partials], Any]] = []
        for k, is_new in enumerate(new):
            mine = np.nonzero(run_src == k)[0]
            there = np.zeros(self.size, dtype=np.bool_)
            there[run_key[mine]] = True
            parts = self._folded(table, starts[mine], ends[mine + 1]) if is_new else self._loaded(table, starts[mine])
            self.sources.append(([spread(part, run_key[mine], self.size) for part in parts], there))

    def _folded(self, table: pa.Table, starts: Any, ends: Any) -> list[Partials]:
        counts = ends - starts
        rows = np.repeat(starts - np.cumsum(counts) + counts, counts) + np.arange(int(counts.sum()))
        some = table.take(pa.array(rows))
        bounds = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        columns = self.bound.entered(some.column, some.num_rows)
        return [folded(output, columns, bounds) for output in self.bound.outputs]

    def _loaded(self, table: pa.Table, rows: Any) -> list[Partials]:
        some = table.take(pa.array(rows))
        found = []
        for a, output in enumerate(self.bound.outputs):
            names = [field.name for field in stored_fields(output, f"{HIDDEN}a{a}")]
            found.append(loaded(output, [some.column(name).combine_chunks() for name in names]))
        return found

    def merged(
        self, older: tuple[list[Partials], Any], newer: tuple[list[Partials], Any]
    ) -> tuple[list[Partials], Any]:
        """Two sources as one, output by output."""
        return [merged(a, b) for a, b in zip(older[0], newer[0], strict=True)], older[1] | newer[1]

    def rows_of(self, node: tuple[list[Partials], Any]) -> list[pa.Array]:
        """The columns of a node's table: the keys it has, and their partials."""
        places = np.nonzero(node[1])[0]
        keys = [key.take(pa.array(places)) for key in self.keys]
        return [*keys, *(array for partials in node[0] for array in stored(partials, places))]


def node_writer(
    packed: bytes,
    nodes: tuple[str, ...],
    new: tuple[bool, ...],
    steps: tuple[Step, ...],
    written: tuple[str, ...],
    places: tuple[str, ...],
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function that makes and writes nodes on each partition."""

    def write(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        bound = bound_from(packed)
        schema = node_schema(bound)
        parts: dict[str, list[pa.RecordBatch]] = {node: [] for node in written}
        ends = Ends(bound, nodes, new)
        for table in whole_keys(batches, bound.keys):
            ends.take(table)
            sheet = Sheet(bound, table, new)
            found = dict(zip(nodes, sheet.sources, strict=True))
            for step in steps:
                found[step.node] = sheet.merged(*(found[part] for part in step.parts))
            for node in written:
                columns = [
                    column.cast(field.type) for column, field in zip(sheet.rows_of(found[node]), schema, strict=True)
                ]
                parts[node].append(pa.RecordBatch.from_arrays(columns, schema=schema))
        for node, batch in parts.items():
            whole = pa.Table.from_batches(batch, schema)
            if whole.num_rows:
                yield pa.RecordBatch.from_pylist([write_part(whole, node, places)], WRITTEN)
        yield from ends.told()

    return write


class Ends:
    """From where to where the order of each new split goes, where order matters."""

    def __init__(self, bound: Bound, nodes: tuple[str, ...], new: tuple[bool, ...]) -> None:
        self.column = bound.order[0] if bound.ordered else None
        self.nodes = {k: node for k, node in enumerate(nodes) if new[k]}
        self.ends: dict[int, tuple[Any, Any]] = {}

    def take(self, table: pa.Table) -> None:
        if self.column is None:
            return
        for k in self.nodes:
            some = table.filter(pc.equal(table.column(SRC), k)).column(self.column)
            if not len(some):
                continue
            if some.null_count:
                raise ArgumentError(f"order={self.column!r}: holds nulls; expected a value in every row")
            ends = pc.min_max(some)
            low, high = ends["min"].as_py(), ends["max"].as_py()
            if k in self.ends:
                low, high = min(low, self.ends[k][0]), max(high, self.ends[k][1])
            self.ends[k] = (low, high)

    def told(self) -> Iterator[pa.RecordBatch]:
        for k, (low, high) in self.ends.items():
            row = {"node": self.nodes[k], "low": encode_plain(low).decode(), "high": encode_plain(high).decode()}
            yield pa.RecordBatch.from_pylist([row], WRITTEN)


def lowerer(packed: bytes) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function that lowers a node's rows."""

    def lower(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        bound = bound_from(packed)
        for batch in batches:
            answers = []
            for a, output in enumerate(bound.outputs):
                names = [field.name for field in stored_fields(output, f"{HIDDEN}a{a}")]
                answers.append(lowered(loaded(output, [batch.column(name) for name in names])))
            keys = [batch.column(name) for name in bound.keys]
            names = [*bound.keys, *(output.name for output in bound.outputs)]
            yield pa.RecordBatch.from_arrays([*keys, *answers], names)

    return lower


def answerer(packed: bytes) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function that folds sorted rows by key and lowers them."""

    def answer(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        bound = bound_from(packed)
        names = [*bound.keys, *(output.name for output in bound.outputs)]
        for table in whole_keys(batches, bound.keys):
            sheet = Sheet(bound, table, (True,))
            answers = [lowered(part) for part in sheet.sources[0][0]]
            yield pa.RecordBatch.from_arrays([*sheet.keys, *answers], names)

    return answer
