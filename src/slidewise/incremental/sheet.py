"""Some keys with all their rows, on a worker: a column of partials for each source, merged into nodes, as tables.

    sorted rows (key, src, columns or partials) ──► Sheet ──merged──► Side ──rows_of──► (key, partials, answers)

A window that only grows has a root that is the last root and a little more: for the keys that got nothing new, partials
pass as the bytes they are, and answers as they were lowered before. That is what `origin` is for. An answer is good as
long as nobody changes what lowers it: beside it stands a *mark*, a digest of that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slidewise.engine.arrange import key_codes
from slidewise.engine.partials import (
    Partials,
    empty,
    folded,
    loaded,
    lowered,
    merged,
    spread,
    stored,
    stored_fields,
)
from slidewise.incremental.files import SRC
from slidewise.incremental.query import HIDDEN, Bound

ANSWERED = f"{HIDDEN}answered"
"""The column with the mark of what lowered the answers of a row; null if it has none."""
COMBINED = -1


def node_schema(bound: Bound, answers: bool) -> pa.Schema:
    """The columns of a node's table: keys, then the partials of each output, then room for the answers if wanted."""
    keys = [pa.field(name, bound.types[name]) for name in bound.keys]
    fields = [field for a, output in enumerate(bound.outputs) for field in stored_fields(output, f"{HIDDEN}a{a}")]
    room = [*answer_fields(bound), pa.field(ANSWERED, pa.string())] if answers else []
    return pa.schema([*keys, *fields, *room])


def answer_fields(bound: Bound) -> list[pa.Field]:
    """The columns in which answers are kept."""
    return [pa.field(f"{HIDDEN}answer{a}", output.arrow) for a, output in enumerate(bound.outputs)]


def kept_later(bound: Bound) -> frozenset[str]:
    """Columns that a file may not have: it was written before answers were kept."""
    return frozenset([ANSWERED, *(field.name for field in answer_fields(bound))])


def passed(bound: Bound, rows: pa.Table, answered: bool) -> pa.Table:
    """A node's rows as another's: with their answers, or without."""
    for name in kept_later(bound) if not answered and ANSWERED in rows.schema.names else ():
        at = rows.schema.get_field_index(name)
        rows = rows.set_column(at, rows.schema.field(at), pa.nulls(rows.num_rows, rows.schema.field(at).type))
    return rows


def marked(rows: pa.RecordBatch | pa.Table, mark: str | None) -> Any:
    """Which rows have answers of this mark beside them."""
    if mark is None or ANSWERED not in rows.schema.names:
        return np.zeros(rows.num_rows, dtype=np.bool_)
    return pc.equal(rows.column(ANSWERED), mark).fill_null(False).to_numpy(zero_copy_only=False)


def answers_of(bound: Bound, rows: pa.RecordBatch | pa.Table, mark: str | None) -> list[Any]:
    """The answers of a node's rows: those beside them, or lowered now."""
    if mark is not None and marked(rows, mark).all():
        return [rows.column(field.name) for field in answer_fields(bound)]
    return [lowered(one) for one in _loaded(bound, rows)]


def whole_keys(batches: Iterable[pa.RecordBatch], keys: Sequence[str], least: int = 0) -> Iterator[pa.Table]:
    """Sorted batches as tables that have all rows of each of their keys; of at least so many rows, but for the last."""
    held: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        if not batch.num_rows:
            continue
        held.append(batch)
        rows += batch.num_rows
        if rows < least:
            continue
        ends = pa.Table.from_batches([one.slice(at, 1) for one in held[-2:] for at in (0, one.num_rows - 1)])
        codes, _ = key_codes([ends.column(name) for name in keys], ends.num_rows)
        if codes is None or len(set(codes[-3:].tolist())) == 1:
            continue  # one key goes on
        codes, _ = key_codes([batch.column(name) for name in keys], batch.num_rows)
        changes = np.nonzero(codes[1:] != codes[:-1])[0]
        cut = int(changes[-1]) + 1 if len(changes) else 0
        yield pa.Table.from_batches([*held[:-1], batch.slice(0, cut)])
        held = [batch.slice(cut)]
        rows = held[0].num_rows
    if held:
        yield pa.Table.from_batches(held)


@dataclass(frozen=True)
class Side:
    """A node over the keys of a sheet: its partials, a place per key; where it has the key; and which source the
    partial is of, as it was there, or `COMBINED`.
    """

    partials: list[Partials]
    there: Any
    origin: Any

    def merged(self, newer: Side) -> Side:
        """Two nodes as one, output by output."""
        both = self.there & newer.there
        origin = np.where(both, COMBINED, np.where(self.there, self.origin, newer.origin))
        partials = [merged(a, b) for a, b in zip(self.partials, newer.partials, strict=True)]
        return Side(partials, self.there | newer.there, origin)


class Sheet:
    """Some keys with all their rows: a `Side` for each source; `new` says which are rows that are not folded yet."""

    def __init__(self, bound: Bound, table: pa.Table, new: Sequence[bool]) -> None:
        self.bound = bound
        self.table = table = table.combine_chunks()
        length = table.num_rows
        codes, _ = key_codes([table.column(name) for name in bound.keys], length)
        src = table.column(SRC).to_numpy()
        codes = np.zeros(length, dtype=np.int64) if codes is None else codes
        key_begins = np.append(True, codes[1:] != codes[:-1])
        run_begins = key_begins | np.append(True, src[1:] != src[:-1])
        heads = np.nonzero(key_begins)[0]
        self.keys = [table.column(name).take(pa.array(heads)).combine_chunks() for name in bound.keys]
        starts = np.nonzero(run_begins)[0]
        run_key, run_src = np.cumsum(key_begins)[starts] - 1, src[starts]
        ends = np.append(starts, length)
        self.size = len(heads)
        self.sources: list[Side] = []
        self._rows_of: dict[int, Any] = {}
        """Of a kept source: the row of each key."""
        for k, is_new in enumerate(new):
            mine = np.nonzero(run_src == k)[0]
            places = run_key[mine]
            there = np.zeros(self.size, dtype=np.bool_)
            there[places] = True
            if not len(mine):  # the table need not have its columns
                parts = [empty(output, 0) for output in bound.outputs]
            elif is_new:
                parts = self._folded(starts[mine], ends[mine + 1])
            else:
                parts = _loaded(bound, table.take(pa.array(starts[mine])))
                self._rows_of[k] = np.zeros(self.size, dtype=np.int64)
                self._rows_of[k][places] = starts[mine]
            wide = [spread(part, places, self.size) for part in parts]
            self.sources.append(Side(wide, there, np.full(self.size, COMBINED if is_new else k)))

    def _folded(self, starts: Any, ends: Any) -> list[Partials]:
        counts = ends - starts
        rows = np.repeat(starts - np.cumsum(counts) + counts, counts) + np.arange(int(counts.sum()))
        some = self.table.take(pa.array(rows))
        bounds = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        columns = self.bound.entered(some.column, some.num_rows)
        return [folded(output, columns, bounds) for output in self.bound.outputs]

    def rows_of(self, node: Side, schema: pa.Schema, mark: str | None) -> pa.RecordBatch:
        """A node's table: the keys it has, their partials and, in a schema with room, answers under this mark."""
        places = np.nonzero(node.there)[0]
        columns = [key.take(pa.array(places)) for key in self.keys]
        columns += [array for partials in node.partials for array in stored(partials, places)]
        if ANSWERED in schema.names:
            none = [pa.nulls(len(places)) for _ in self.bound.outputs]
            columns += none if mark is None else self._answers(node, places, mark)
            columns.append(pa.repeat(pa.scalar(mark, pa.string()), len(places)))
        cast = [column.cast(field.type) for column, field in zip(columns, schema, strict=True)]
        return pa.RecordBatch.from_arrays(cast, schema=schema)

    def _answers(self, node: Side, places: Any, mark: str) -> list[pa.Array]:
        """Answers that were lowered before, for keys whose partial is what it was; the others now."""
        rows, known = np.full(len(places), -1), marked(self.table, mark)
        for k, row_of in self._rows_of.items():
            mine = np.nonzero(node.origin[places] == k)[0]
            found = row_of[places[mine]]
            rows[mine] = np.where(known[found], found, -1)
        old, fresh = np.nonzero(rows >= 0)[0], np.nonzero(rows < 0)[0]
        order = np.empty(len(places), dtype=np.int64)
        order[old], order[fresh] = np.arange(len(old)), len(old) + np.arange(len(fresh))
        answers = []
        for partials, field in zip(node.partials, answer_fields(self.bound), strict=True):
            new = lowered(partials.at(places[fresh])).cast(field.type)
            if len(old):
                before = self.table.column(field.name).take(pa.array(rows[old])).combine_chunks().cast(field.type)
                new = pa.concat_arrays([before, new]).take(pa.array(order))
            answers.append(new)
        return answers


def _loaded(bound: Bound, rows: pa.RecordBatch | pa.Table) -> list[Partials]:
    """The partials of a node's rows, output by output."""
    found = []
    for a, output in enumerate(bound.outputs):
        columns = [rows.column(field.name) for field in stored_fields(output, f"{HIDDEN}a{a}")]
        found.append(
            loaded(output, [one.combine_chunks() if isinstance(one, pa.ChunkedArray) else one for one in columns])
        )
    return found
