"""A batch DataFrame: one shuffle, one sort, one pass over Arrow batches with the window carried across them.

    (rows) ──repartition(keys)──► ──sortWithinPartitions(keys, order, hash)──► ──mapInArrow──► (rows + results)

Memory is the window plus one Arrow batch, whatever the size of a key. Rows of equal keys and order are taken in the
order of a hash of the row, so that a run can be repeated. Without keys all rows go through one task.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F

from slidewise.engine.arrange import Arranged, key_codes, one_zero, times_of
from slidewise.engine.batch import FOREVER, Answers, Rows, run_events, run_steps
from slidewise.engine.carry import Carry, Runs
from slidewise.engine.columns import to_column
from slidewise.engine.keyed import answers_to_arrow, key_of, values_of
from slidewise.engine.plan import Plan
from slidewise.errors import ArgumentError
from slidewise.spark.pack import refuse_nulls
from slidewise.spark.recipe import Recipe, plan_from

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

NO_ROWS = np.zeros(0, dtype=np.int64)


def slide_batch(df: DataFrame, recipe: Recipe, plan: Plan, out_schema: Any, presorted: bool) -> DataFrame:
    """The plan over a batch DataFrame."""
    if not presorted:
        keys = [F.col(_quoted(name)) for name in plan.by]
        order = [F.col(_quoted(name)) for name in plan.order]
        df = df.repartition(*keys) if keys else df.repartition(1)
        df = df.sortWithinPartitions(*keys, *order, tie_of(df))
    return df.mapInArrow(mapper(recipe.packed(), presorted), out_schema)


def tie_of(df: DataFrame) -> Any:
    """A hash of the row, to order rows of equal keys and order the same way in every run."""
    plain = [f.name for f in df.schema.fields if "map<" not in f.dataType.simpleString()]
    return F.xxhash64(*[F.col(_quoted(name)) for name in plain])


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def mapper(packed: bytes, presorted: bool) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function that Spark runs on each partition's Arrow batches; rows that others sorted are checked."""

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        plan = plan_from(packed)
        partition = _Partition(plan, presorted)
        for batch in batches:
            yield from partition.take(batch)
        yield from partition.finish()

    return run


class _Partition:
    """One partition's pass: sorted rows in, answers out; the last key of a batch may go on in the next."""

    def __init__(self, plan: Plan, presorted: bool) -> None:
        self.plan = plan
        self.presorted = presorted
        self.carry = Carry(plan)
        self.slot = self.carry.add_slot()
        self.key: tuple[Any, ...] | None = None
        self.order: Any = None
        self.held: pa.RecordBatch | None = None
        self.together = any(window.ties == "together" for window in plan.windows)

    def take(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        if self.held is not None:
            batch = pa.Table.from_batches([self.held, batch]).combine_chunks().to_batches()[0]
            self.held = None
        if batch.num_rows == 0:
            return
        refuse_nulls(batch, self.plan.order)
        if self.together:
            batch = self._hold_ties(batch)
        yield from self._answer(batch)

    def finish(self) -> Iterator[pa.RecordBatch]:
        if self.held is not None:
            batch, self.held = self.held, None
            yield from self._answer(batch)
        if not self.plan.per_event and self.key is not None:
            yield from self._close()

    def _hold_ties(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Keep back the rows of the last key and time: more of them may come."""
        times, starts = self._times(batch), self._starts(batch)
        first = int(starts[-2]) + int(np.searchsorted(times[starts[-2] :], times[-1], side="left"))
        self.held = batch.slice(first)
        return batch.slice(0, first)

    def _answer(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        if batch.num_rows == 0:
            return
        starts, times = self._starts(batch), self._times(batch)
        goes_on = self.key is not None and self._key(batch, 0) == self.key
        if self.presorted:
            self._check_order(batch, starts, goes_on)
        if self.plan.per_event:
            yield self._events(batch, times, starts, goes_on)
        else:
            if self.key is not None and not goes_on:
                yield from self._close()
            yield from self._steps(batch, times, starts, goes_on)
        self.key = self._key(batch, int(starts[-2]))

    def _events(self, batch: pa.RecordBatch, times: Any, starts: Any, goes_on: bool) -> pa.RecordBatch:
        columns = self.plan.enter(batch.column, batch.num_rows)
        parts: list[list[Answers]] = []
        for first, last, kind in _pieces(starts, goes_on):
            piece = {name: column.part(first, last) for name, column in columns.items()}
            some = None if times is None else times[first:last]
            if kind == "inside":
                inner = starts[(starts >= first) & (starts <= last)] - first
                parts.append(run_events(self.plan, piece, Arranged(None, inner, some), threads=1))
            else:
                parts.append(self.carry.events(piece, some, self._run(kind == "new", last - first)))
        arrays = [_joined([answers_to_arrow(part[k]) for part in parts]) for k in range(len(self.plan.outputs))]
        names = [*batch.schema.names, *(output.name for output in self.plan.outputs)]
        return pa.RecordBatch.from_arrays([*batch.columns, *arrays], names)

    def _steps(self, batch: pa.RecordBatch, times: Any, starts: Any, goes_on: bool) -> Iterator[pa.RecordBatch]:
        columns = self.plan.enter(batch.column, batch.num_rows)
        pieces = _pieces(starts, goes_on)
        for number, (first, last, kind) in enumerate(pieces):
            piece = {name: column.part(first, last) for name, column in columns.items()}
            some = None if times is None else times[first:last]
            if kind == "inside":
                inner = starts[(starts >= first) & (starts <= last)] - first
                rows, answers = run_steps(self.plan, piece, Arranged(None, inner, some), threads=1)
                heads = pa.array(inner[rows.run] + first)
            else:
                done = number < len(pieces) - 1
                upto = FOREVER if done or some is None else int(some[-1])
                rows, answers = self.carry.steps(piece, some, self._run(kind == "new", last - first), np.array([upto]))
                heads = pa.array(np.full(len(rows.run), first))
            keys = {name: one_zero(batch.column(name).take(heads)) for name in self.plan.by}
            yield from self._windows(keys, rows, answers)

    def _close(self) -> Iterator[pa.RecordBatch]:
        """Answer the windows of the carried key that nothing can reach any more."""
        columns = self.plan.enter_nothing()
        rows, answers = self.carry.steps(columns, NO_ROWS, self._run(False, 0), np.array([FOREVER]))
        assert self.key is not None
        parts = zip(self.plan.by, values_of(self.key), strict=True)
        keys = {name: pa.array([part] * len(rows.run), type=self.plan.types[name]) for name, part in parts}
        yield from self._windows(keys, rows, answers)

    def _windows(self, keys: dict[str, pa.Array], rows: Rows, answers: list[Answers]) -> Iterator[pa.RecordBatch]:
        if not len(rows.run):
            return
        start, end = self.plan.window_fields()
        bounds = [_bound(rows.starts, start.type, self.plan.unit), _bound(rows.ends, end.type, self.plan.unit)]
        results = [answers_to_arrow(answer) for answer in answers]
        names = [*keys, start.name, end.name, *(output.name for output in self.plan.outputs)]
        yield pa.RecordBatch.from_arrays([*keys.values(), *bounds, *results], names)

    def _run(self, fresh: bool, rows: int) -> Runs:
        return Runs(np.array([self.slot]), np.array([fresh]), np.array([0, rows], dtype=np.int64))

    def _starts(self, batch: pa.RecordBatch) -> Any:
        codes, _ = key_codes([batch.column(name) for name in self.plan.by], batch.num_rows)
        if codes is None:
            return np.array([0, batch.num_rows], dtype=np.int64)
        starts = np.concatenate([[0], np.nonzero(codes[1:] != codes[:-1])[0] + 1, [batch.num_rows]])
        if self.presorted and len(starts) - 1 > len(np.unique(codes)):
            raise ArgumentError("presorted=True: rows of a key are not together; leave it out to have them arranged")
        return starts

    def _times(self, batch: pa.RecordBatch) -> Any:
        unit = self.plan.unit
        return None if unit is None else times_of(batch.column(self.plan.order[0]), unit)

    def _key(self, batch: pa.RecordBatch, row: int) -> tuple[Any, ...]:
        return key_of(batch.column(name)[row].as_py() for name in self.plan.by)

    def _check_order(self, batch: pa.RecordBatch, starts: Any, goes_on: bool) -> None:
        """Times or numbers of the first order column must not fall within a key, across Arrow batches too."""
        values = to_column(batch.column(self.plan.order[0])).values
        if isinstance(values, list):
            return
        falls = values[1:] < values[:-1]
        falls[starts[1:-1] - 1] = False
        if falls.any() or (goes_on and values[0] < self.order):
            raise ArgumentError("presorted=True: order falls within a key; leave it out to have the rows sorted")
        self.order = values[-1]


def _pieces(starts: Any, goes_on: bool) -> list[tuple[int, int, str]]:
    """A batch's rows as (first, last, kind): the key that goes on, keys wholly inside, the last, which may go on."""
    pieces: list[tuple[int, int, str]] = []
    first = 0
    if goes_on:
        first = int(starts[1])
        pieces.append((0, first, "old"))
    last = int(starts[-2])
    if last > first:
        pieces.append((first, last, "inside"))
    if int(starts[-1]) > max(first, last):
        pieces.append((max(first, last), int(starts[-1]), "new"))
    return pieces


def _joined(arrays: list[pa.Array]) -> pa.Array:
    return arrays[0] if len(arrays) == 1 else pa.concat_arrays(arrays)


def _bound(values: Any, arrow: pa.DataType, unit: str | None) -> pa.Array:
    if not pa.types.is_timestamp(arrow):
        return pa.array(values)
    return pa.array(values).view(pa.timestamp(unit or "us", tz=arrow.tz)).cast(arrow)
