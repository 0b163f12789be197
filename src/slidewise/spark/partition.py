"""One partition's pass, on a Spark worker: sorted Arrow batches in, answers out, the window carried across them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slidewise.engine.answers import Answers, Rows, answers_to_arrow
from slidewise.engine.arrange import Arranged, key_codes, one_zero
from slidewise.engine.batch import run_events
from slidewise.engine.carry import Carry
from slidewise.engine.columns import frozen, to_column
from slidewise.engine.keys import key_of, values_of
from slidewise.engine.order import forever, order_values, window_columns
from slidewise.engine.plan import Plan
from slidewise.engine.runs import Runs
from slidewise.engine.steps import run_steps
from slidewise.engine.totals import begin_with, totals_of
from slidewise.errors import ArgumentError
from slidewise.spark.pack import refuse_nulls
from slidewise.spark.recipe import plan_from

RANGE = "__slidewise_range"
"""The column that says which range of its key's order a row is in, where keys are cut (apart.py)."""

HALO = "__slidewise_halo"
"""The column that says whether a row is there for the windows of others: it is answered in another range."""

FOLDED = pa.schema([(RANGE, pa.int32()), ("seen", pa.int64()), ("totals", pa.binary())])
"""A range that was folded."""


@dataclass(frozen=True)
class Begin:
    """What a range begins with: how many rows lie before it, and their partials (engine/totals.py)."""

    seen: int = 0
    totals: tuple[bytes, ...] = ()
    ends: tuple[int | float | None, int | float | None] = (None, None)
    """After which place, and by which, the windows end that are answered here; for windows with a step."""


def mapper(
    packed: bytes,
    presorted: bool,
    begins: Mapping[int, Begin] | None = None,
    ranges: int = 0,
    counted: Mapping[int, int] | None = None,
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function that Spark runs on each partition's Arrow batches; rows that others sorted are checked.

    `counted` says how many rows a range had when it was cut: partition k is range k.
    """

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        partition = Partition(plan_from(packed), presorted, begins or {}, ranges)
        expected = _expected(counted or {})
        rows = 0
        for batch in batches:
            rows += _own(batch)
            yield from partition.take(batch)
        if expected is not None:
            refuse_changed([expected], [rows])
        yield from partition.finish()

    return run


def _expected(counted: Mapping[int, int]) -> int | None:
    from pyspark import TaskContext

    context = TaskContext.get()
    return None if context is None else counted.get(context.partitionId())


def _own(batch: pa.RecordBatch) -> int:
    """Rows that are not there for the windows of others."""
    if HALO not in batch.schema.names:
        return int(batch.num_rows)
    return int(batch.num_rows) - int(pc.sum(batch.column(HALO)).as_py() or 0)


def refuse_changed(counted: Sequence[int], found: Sequence[int]) -> None:
    """Raise `ArgumentError` if ranges do not have the rows that they had when they were cut."""
    for before, now in zip(counted, found, strict=True):
        if before != now:
            raise ArgumentError(
                f"data: a range of it had {before:,} rows when it was cut and {now:,} when it was read, so its answers "
                "would be wrong; expected data that does not change: write it out or cache it, or use threads=1"
            )


def folder(packed: bytes) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function that folds each range of a partition to one row: its number, how many rows, their partials."""

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        partition = Partition(plan_from(packed), presorted=False, begins={})
        for batch in batches:
            yield from partition.fold(batch)
        yield from partition.folded()

    return run


class Partition:
    """Sorted rows in, answers out; the last key of a batch may go on in the next.

    Rows whose answers depend on rows to come are held back and given again with those. As many rows are gathered as
    are held before they are looked at again, so a row is looked at twice on average, however many are held. Keys of
    which RANGE is below `ranges` are ranges; `begins` says with what the windows of some of them begin.
    """

    def __init__(self, plan: Plan, presorted: bool, begins: Mapping[int, Begin], ranges: int = 0) -> None:
        self.plan = plan
        self.presorted = presorted
        self.begins = begins
        self.ranges = ranges
        self.carry = Carry(plan)
        self.slot = self.carry.add_slot()
        self.key: tuple[Any, ...] | None = None
        self.order: Any = None
        self.held: pa.RecordBatch | None = None
        self.gathered: list[pa.RecordBatch] = []
        self.rows = 0
        """Of the range that is being folded."""
        self.ends: tuple[Any, Any] = (None, None)
        """Which windows of the range that is being answered are its own."""

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
        times = self._times(batch)
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
        pieces = self._pieces(batch, starts, goes_on) if not self.plan.whole_keys else [(0, batch.num_rows, "inside")]
        wanted = ~batch.column(HALO).to_numpy(zero_copy_only=False) if self._is_range(batch) else None
        for first, last, kind in pieces:
            piece = {name: column.part(first, last) for name, column in columns.items()}
            some = None if times is None else times[first:last]
            if kind == "inside":
                inner = starts[(starts >= first) & (starts <= last)] - first
                parts.append(run_events(self.plan, piece, Arranged(None, inner, some), threads=1))
                continue
            run, upto = self._run(self._fresh(batch, first, kind), last - first), None
            if self.plan.waits:
                upto = self.carry.ready(some, run, np.array([done or last < batch.num_rows]))
                if upto[0] < last - first:
                    self.held = batch.slice(first + int(upto[0]))
            mine = None if wanted is None else wanted[first:last]
            parts.append(self.carry.events(piece, some, run, upto=upto, wanted=mine))
        arrays = [_joined([answers_to_arrow(part[k]) for part in parts]) for k in range(len(self.plan.outputs))]
        names = [*batch.schema.names, *(output.name for output in self.plan.outputs)]
        answered = batch.slice(0, len(arrays[0]))
        if answered.num_rows:
            yield pa.RecordBatch.from_arrays([*answered.columns, *arrays], names)

    def _steps(self, batch: pa.RecordBatch, times: Any, starts: Any, goes_on: bool) -> Iterator[pa.RecordBatch]:
        columns = self.plan.enter(batch.column, batch.num_rows)
        pieces = self._pieces(batch, starts, goes_on)
        for number, (first, last, kind) in enumerate(pieces):
            piece = {name: column.part(first, last) for name, column in columns.items()}
            some = None if times is None else times[first:last]
            if kind == "inside":
                inner = starts[(starts >= first) & (starts <= last)] - first
                rows, answers = run_steps(self.plan, piece, Arranged(None, inner, some), threads=1)
                heads = pa.array(inner[rows.run] + first)
            else:
                done = number < len(pieces) - 1
                upto = forever(self.plan) if done else 0 if some is None else some[-1]
                run = self._run(self._fresh(batch, first, kind), last - first)
                rows, answers = self.carry.steps(piece, some, run, np.array([upto]), ends=self._ends(batch))
                heads = pa.array(np.full(len(rows.run), first))
            keys = {name: one_zero(batch.column(name).take(heads)) for name in self.plan.by}
            yield from self._windows(keys, rows, answers)

    def _close(self) -> Iterator[pa.RecordBatch]:
        """Answer the windows of the carried key that nothing can reach any more."""
        columns = self.plan.enter_nothing()
        run, upto = self._run(False, 0), np.array([forever(self.plan)])
        rows, answers = self.carry.steps(columns, self._no_times(), run, upto, ends=self.ends)
        assert self.key is not None
        parts = zip(self.plan.by, values_of(self.key), strict=True)
        keys = {name: pa.array([part] * len(rows.run), type=self.plan.types[name]) for name, part in parts}
        yield from self._windows(keys, rows, answers)

    def _windows(self, keys: dict[str, pa.Array], rows: Rows, answers: list[Answers]) -> Iterator[pa.RecordBatch]:
        if not len(rows.run):
            return
        named = {**keys, **window_columns(self.plan, rows)}
        named |= {answer.output.name: answers_to_arrow(answer) for answer in answers}
        yield pa.RecordBatch.from_arrays(list(named.values()), list(named))

    def _is_range(self, batch: pa.RecordBatch) -> bool:
        """True if these rows are of ranges: each has a partition to itself."""
        return self.ranges > 0 and batch.column(RANGE)[0].as_py() < self.ranges

    def _pieces(self, batch: pa.RecordBatch, starts: Any, goes_on: bool) -> list[tuple[int, int, str]]:
        """Ranges one by one, other keys as they lie in the batch."""
        if not self._is_range(batch):
            return _pieces(starts, goes_on)
        kinds = ["old" if goes_on else "new"] + ["new"] * (len(starts) - 2)
        return [(int(a), int(b), kind) for (a, b), kind in zip(pairwise(starts), kinds, strict=True)]

    def _fresh(self, batch: pa.RecordBatch, first: int, kind: str) -> bool:
        """True if the run that begins at this row begins a window of nothing; one that begins with more is begun."""
        begin = self.begins.get(batch.column(RANGE)[first].as_py()) if self.begins and kind == "new" else None
        if begin is None or not begin.seen:
            return kind == "new"
        columns, times = self.plan.enter_nothing(), self._no_times()
        if self.plan.per_event:
            self.carry.events(columns, times, self._run(True, 0))
        else:
            self.carry.steps(columns, times, self._run(True, 0), np.array([0]))
        begin_with(self.carry, self.slot, begin.seen, begin.totals)
        return False

    def _ends(self, batch: pa.RecordBatch) -> tuple[Any, Any]:
        """Which windows of these rows' range are its own."""
        begin = self.begins.get(batch.column(RANGE)[0].as_py()) if self._is_range(batch) else None
        self.ends = (None, None) if begin is None else begin.ends
        return self.ends

    def _no_times(self) -> Any:
        return frozen(np.zeros(0, dtype=np.float64 if self.plan.unit == "float" else np.int64))

    # ---- folding ----
    def fold(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Add rows to the partials of their ranges; a row for each range that is complete."""
        if batch.num_rows == 0:
            return
        refuse_nulls(batch, self.plan.order)
        columns, times = self.plan.enter(batch.column, batch.num_rows), self._times(batch)
        for first, last in pairwise(self._starts(batch).tolist()):
            goes_on = first == 0 and self._goes_on(batch)
            if not goes_on:
                yield from self.folded()
            piece = {name: column.part(first, last) for name, column in columns.items()}
            some = None if times is None else times[first:last]
            self.carry.events(piece, some, self._run(not goes_on, last - first), answer=False)
            self.key, self.rows = self._key(batch, first), self.rows + last - first

    def folded(self) -> Iterator[pa.RecordBatch]:
        """The range that was folded last."""
        if self.key is not None:
            number, totals = values_of(self.key)[-1], totals_of(self.carry, self.slot)
            yield pa.RecordBatch.from_pylist([{RANGE: number, "seen": self.rows, "totals": totals}], FOLDED)
        self.key, self.rows = None, 0

    def _times(self, batch: pa.RecordBatch) -> Any:
        return order_values(self.plan, batch.column(self.plan.order[0]))

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
