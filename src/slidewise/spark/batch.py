"""A batch DataFrame: one shuffle, one sort, one pass over Arrow batches with the window carried across them.

    (rows) ──repartition(keys)──► ──sortWithinPartitions(keys, order, hash)──► ──mapInArrow──► (rows + results)

Memory is the window plus one Arrow batch, whatever the size of a key; a window that looks ahead holds as many rows as
it looks ahead, and `between`, which may look anywhere, the rows of a key. Rows of equal keys and order are taken in the
order of a hash of the row, so that a run can be repeated. Without keys the order is cut into ranges (ranges.py) where
windows trail their rows; other windows without keys go through one task.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F

from slidewise.engine.answers import Answers, Rows
from slidewise.engine.arrange import Arranged, key_codes, one_zero
from slidewise.engine.batch import run_events
from slidewise.engine.carry import Carry, Runs
from slidewise.engine.columns import frozen, to_column
from slidewise.engine.keyed import answers_to_arrow, key_of, values_of
from slidewise.engine.order import bound_column, order_values
from slidewise.engine.plan import Plan
from slidewise.engine.steps import forever, run_steps
from slidewise.errors import ArgumentError
from slidewise.spark.pack import refuse_nulls
from slidewise.spark.ranges import HALO, RANGE, can_cut, cut, exploded, with_ranges
from slidewise.spark.recipe import Recipe, plan_from
from slidewise.spark.schema import result_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def slide_batch(
    df: DataFrame, recipe: Recipe, plan: Plan, out_schema: Any, presorted: bool, threads: int | None = None
) -> DataFrame:
    """The plan over a batch DataFrame."""
    if presorted:
        return df.mapInArrow(mapper(recipe.packed(), presorted), out_schema)
    keys = [F.col(_quoted(name)) for name in plan.by]
    order = [F.col(_quoted(name)) for name in plan.order]
    if not keys and threads != 1 and can_cut(df, plan):
        starts, halos = cut(df, plan)
        if starts:
            return _by_ranges(df, recipe, plan, order, starts, halos)
    moved = df.repartition(*keys) if keys else df.repartition(1)
    moved = moved.sortWithinPartitions(*keys, *order, tie_of(df))
    return moved.mapInArrow(mapper(recipe.packed(), presorted), out_schema)


def _by_ranges(df: DataFrame, recipe: Recipe, plan: Plan, order: list[Any], starts: Any, halos: Any) -> DataFrame:
    """Ranges of the order side by side; the answers of rows in a halo are dropped."""
    copies, by_range = exploded(df, plan, starts, halos), with_ranges(recipe)
    moved = copies.repartitionById(len(starts) + 1, F.col(RANGE)).sortWithinPartitions(RANGE, *order, tie_of(df))
    answered = moved.mapInArrow(mapper(by_range.packed(), False), result_schema(copies, by_range.plan()))
    return answered.where(~F.col(HALO)).drop(RANGE, HALO)


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
    """One partition's pass: sorted rows in, answers out; the last key of a batch may go on in the next.

    Rows whose answers depend on rows to come are held back and given again with those. As many rows are gathered as
    are held before they are looked at again, so a row is looked at twice on average, however many are held.
    """

    def __init__(self, plan: Plan, presorted: bool) -> None:
        self.plan = plan
        self.presorted = presorted
        self.carry = Carry(plan)
        self.slot = self.carry.add_slot()
        self.key: tuple[Any, ...] | None = None
        self.order: Any = None
        self.held: pa.RecordBatch | None = None
        self.gathered: list[pa.RecordBatch] = []

    def take(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        if batch.num_rows == 0:
            return
        refuse_nulls(batch, self.plan.order)
        self.gathered.append(batch)
        held = 0 if self.held is None else self.held.num_rows
        if sum(one.num_rows for one in self.gathered) >= held:
            yield from self._look(done=False)

    def finish(self) -> Iterator[pa.RecordBatch]:
        if self.held is not None or self.gathered:
            yield from self._look(done=True)
        if not self.plan.per_event and self.key is not None:
            yield from self._close()

    def _look(self, *, done: bool) -> Iterator[pa.RecordBatch]:
        """Answer what can be answered of the rows held and gathered: all of it if `done`, since no more will come."""
        parts = [*([] if self.held is None else [self.held]), *self.gathered]
        checked = self.held is not None
        self.held, self.gathered = None, []
        batch = _concatenated(parts)
        starts = self._starts(batch)
        if self.plan.whole_keys and not done:
            self.held = batch.slice(int(starts[-2]))
            batch, starts = batch.slice(0, int(starts[-2])), starts[:-1]
        if batch.num_rows:
            if self.presorted:
                self._check_order(batch, starts, follows=not checked)
            yield from self._answer(batch, starts, done)

    def _answer(self, batch: pa.RecordBatch, starts: Any, done: bool) -> Iterator[pa.RecordBatch]:
        times = order_values(self.plan, batch.column(self.plan.order[0]))
        goes_on = self._goes_on(batch)
        if self.plan.per_event:
            yield from self._events(batch, times, starts, goes_on, done)
        else:
            if self.key is not None and not goes_on:
                yield from self._close()
            yield from self._steps(batch, times, starts, goes_on)
        self.key = self._key(batch, int(starts[-2]))

    def _events(
        self, batch: pa.RecordBatch, times: Any, starts: Any, goes_on: bool, done: bool
    ) -> Iterator[pa.RecordBatch]:
        columns = self.plan.enter(batch.column, batch.num_rows)
        parts: list[list[Answers]] = []
        pieces = _pieces(starts, goes_on) if not self.plan.whole_keys else [(0, batch.num_rows, "inside")]
        for first, last, kind in pieces:
            piece = {name: column.part(first, last) for name, column in columns.items()}
            some = None if times is None else times[first:last]
            if kind == "inside":
                inner = starts[(starts >= first) & (starts <= last)] - first
                parts.append(run_events(self.plan, piece, Arranged(None, inner, some), threads=1))
                continue
            run, upto = self._run(kind == "new", last - first), None
            if self.plan.waits:
                upto = self.carry.ready(some, run, np.array([done or last < batch.num_rows]))
                if upto[0] < last - first:
                    self.held = batch.slice(first + int(upto[0]))
            parts.append(self.carry.events(piece, some, run, upto=upto))
        arrays = [_joined([answers_to_arrow(part[k]) for part in parts]) for k in range(len(self.plan.outputs))]
        names = [*batch.schema.names, *(output.name for output in self.plan.outputs)]
        answered = batch.slice(0, len(arrays[0]))
        if answered.num_rows:
            yield pa.RecordBatch.from_arrays([*answered.columns, *arrays], names)

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
                upto = forever(self.plan) if done or some is None else some[-1]
                rows, answers = self.carry.steps(piece, some, self._run(kind == "new", last - first), np.array([upto]))
                heads = pa.array(np.full(len(rows.run), first))
            keys = {name: one_zero(batch.column(name).take(heads)) for name in self.plan.by}
            yield from self._windows(keys, rows, answers)

    def _close(self) -> Iterator[pa.RecordBatch]:
        """Answer the windows of the carried key that nothing can reach any more."""
        columns = self.plan.enter_nothing()
        none = frozen(np.zeros(0, dtype=np.float64 if self.plan.unit == "float" else np.int64))
        rows, answers = self.carry.steps(columns, none, self._run(False, 0), np.array([forever(self.plan)]))
        assert self.key is not None
        parts = zip(self.plan.by, values_of(self.key), strict=True)
        keys = {name: pa.array([part] * len(rows.run), type=self.plan.types[name]) for name, part in parts}
        yield from self._windows(keys, rows, answers)

    def _windows(self, keys: dict[str, pa.Array], rows: Rows, answers: list[Answers]) -> Iterator[pa.RecordBatch]:
        if not len(rows.run):
            return
        start, end = self.plan.window_fields()
        bounds = [bound_column(self.plan, rows.starts, start.type), bound_column(self.plan, rows.ends, end.type)]
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

    def _key(self, batch: pa.RecordBatch, row: int) -> tuple[Any, ...]:
        return key_of(batch.column(name)[row].as_py() for name in self.plan.by)

    def _goes_on(self, batch: pa.RecordBatch) -> bool:
        return self.key is not None and self._key(batch, 0) == self.key

    def _check_order(self, batch: pa.RecordBatch, starts: Any, *, follows: bool) -> None:
        """Times or numbers of the first order column must not fall within a key, across Arrow batches too.

        `follows`: the rows come after all that were checked; otherwise the first of them were held and are among those.
        """
        values = to_column(batch.column(self.plan.order[0])).values
        if isinstance(values, list):
            return
        falls = values[1:] < values[:-1]
        falls[starts[1:-1] - 1] = False
        if falls.any() or (follows and self._goes_on(batch) and values[0] < self.order):
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


def _concatenated(parts: list[pa.RecordBatch]) -> pa.RecordBatch:
    if len(parts) == 1:
        return parts[0]
    columns = [pa.concat_arrays([part.column(k) for part in parts]) for k in range(parts[0].num_columns)]
    return pa.RecordBatch.from_arrays(columns, schema=parts[0].schema)


def _joined(arrays: list[pa.Array]) -> pa.Array:
    return arrays[0] if len(arrays) == 1 else pa.concat_arrays(arrays)
