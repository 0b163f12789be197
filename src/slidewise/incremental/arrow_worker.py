"""What Spark's workers do with sorted rows: fold those of new splits, combine columns of partials, write nodes.

    rows of whole keys, by (key, src) ──► Sheet: a column of partials per source ──► nodes ──► files
    kept nodes of the same cut (aside.py) ──┘

All rows of a key lie together, by source: those of a new split are folded to a partial, that of a kept node is there.
The rows of one key are held in memory. Every node is one merge over columns, for as many keys at once as came in.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark import cloudpickle

from slidewise.engine.partials import lowered
from slidewise.errors import ArgumentError
from slidewise.incremental.aside import Aside
from slidewise.incremental.files import BATCH, SRC, WRITTEN, Part, parts_in, read_blob, read_part, write_part
from slidewise.incremental.query import Bound
from slidewise.incremental.sheet import (
    ANSWERED,
    Sheet,
    answer_fields,
    answers_of,
    kept_later,
    marked,
    node_schema,
    passed,
    whole_keys,
)
from slidewise.incremental.steps import Step
from slidewise.monoids.codec import encode_plain

_bound: dict[bytes, Bound] = {}


def bound_from(packed: bytes) -> Bound:
    """The query on a worker, bound once."""
    if packed not in _bound:
        query, types = cloudpickle.loads(packed)
        _bound[packed] = query.bind(types)
    return _bound[packed]


@dataclass(frozen=True)
class Task:
    """What every task of a job is told; `kept` has the parts of nodes that tasks read themselves, by source and cut."""

    packed: bytes
    nodes: tuple[str, ...]
    new: tuple[bool, ...]
    steps: tuple[Step, ...]
    written: tuple[str, ...]
    places: tuple[str, ...]
    root: str
    mark: str | None
    kept: Mapping[int, Mapping[int, tuple[Part, ...]]]

    def aside(self, cut: int, bound: Bound, schema: pa.Schema) -> Aside:
        """The rows of those parts in one cut."""
        tables, later = {}, kept_later(bound)
        for k, parts in self.kept.items():
            read = [read_part(self.nodes[k], part, self.places, schema, later) for part in parts.get(cut, ())]
            tables[k] = pa.concat_tables([schema.empty_table(), *read])
        return Aside(bound.keys, tables)

    def sources_of(self, node: str) -> frozenset[int]:
        """The sources that a node is made of."""
        parts = {step.node: step.parts for step in self.steps}
        if node not in parts:
            return frozenset([self.nodes.index(node)])
        return frozenset[int]().union(*(self.sources_of(part) for part in parts[node]))


def node_writer(task: Task) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function that makes and writes nodes on each partition; with a mark, the root has its answers beside it."""

    def write(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        bound = bound_from(task.packed)
        schema = node_schema(bound, task.mark is not None)
        cut, batches = cut_of(batches)
        aside = task.aside(cut, bound, schema)
        parts: dict[str, list[pa.RecordBatch]] = {node: [] for node in task.written}
        ends = Ends(bound, task.nodes, task.new)

        def take(table: pa.Table) -> None:
            sheet = Sheet(bound, table, task.new)
            found = dict(zip(task.nodes, sheet.sources, strict=True))
            for step in task.steps:
                older, newer = (found[part] for part in step.parts)
                found[step.node] = older.merged(newer)
            for node in task.written:
                mark = task.mark if node == task.root else None
                parts[node].append(sheet.rows_of(found[node], schema, mark))

        for table in whole_keys(batches, bound.keys, max(BATCH, aside.rows)):
            ends.take(table)
            take(aside.with_kept(table))
        made_of = {node: task.sources_of(node) for node in task.written}
        answered = made_of.get(task.root, frozenset()) if task.mark else frozenset()
        for k, rows in aside.alone({k: marked(rows, task.mark) for k, rows in aside if k in answered}):
            for node in task.written:
                if k in made_of[node]:
                    parts[node] += passed(bound, rows, node == task.root).to_batches()
        for table in aside.shared():
            take(table)
        for node, batch in parts.items():
            whole = pa.Table.from_batches(batch, schema)
            if whole.num_rows:
                yield pa.RecordBatch.from_pylist([write_part(whole, node, task.places, cut)], WRITTEN)
        yield from ends.told()

    return write


def cut_of(batches: Iterable[pa.RecordBatch]) -> tuple[int, Iterator[pa.RecordBatch]]:
    """Which cut a task's rows are of, and the rows: the first is none, but says the cut (`ArrowEngine.written`)."""
    some = iter(batches)
    first = next(one for one in some if one.num_rows)
    src = first.column(SRC)
    if src[0].as_py() >= 0 or pc.sum(pc.less(src, 0)).as_py() != 1:
        raise RuntimeError("a task has the rows of several cuts, or none; this is a bug")
    return -1 - src[0].as_py(), itertools.chain([first.slice(1)], some)


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


def lowerer(packed: bytes, mark: str | None) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function that gives the answers of a node's rows."""

    def lower(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        bound = bound_from(packed)
        for batch in batches:
            keys = [batch.column(name) for name in bound.keys]
            yield pa.RecordBatch.from_arrays([*keys, *answers_of(bound, batch, mark)], _names(bound))

    return lower


def answer_reader(
    packed: bytes, places: tuple[str, ...], mark: str | None
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function that gives the answers of parts of a node, rows of `READ_SPARK`; answers beside partials are read
    without them.
    """

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        bound = bound_from(packed)
        schema = node_schema(bound, mark is not None)
        beside = [*bound.keys, *(field.name for field in answer_fields(bound)), ANSWERED]
        for given in batches:
            for node, part in parts_in(given):
                file = pq.ParquetFile(pa.BufferReader(read_blob(node, part, places)))
                rows = file.read(beside) if ANSWERED in file.schema_arrow.names else None
                if rows is None or not marked(rows, mark).all():
                    rows = file.read()
                for batch in rows.to_batches(max_chunksize=BATCH):
                    keys = [batch.column(name).cast(schema.field(name).type) for name in bound.keys]
                    yield pa.RecordBatch.from_arrays([*keys, *answers_of(bound, batch, mark)], _names(bound))

    return read


def answerer(packed: bytes) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function that folds sorted rows by key and lowers them."""

    def answer(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        bound = bound_from(packed)
        for table in whole_keys(batches, bound.keys):
            sheet = Sheet(bound, table, (True,))
            answers = [lowered(part) for part in sheet.sources[0].partials]
            yield pa.RecordBatch.from_arrays([*sheet.keys, *answers], _names(bound))

    return answer


def _names(bound: Bound) -> list[str]:
    return [*bound.keys, *(output.name for output in bound.outputs)]
