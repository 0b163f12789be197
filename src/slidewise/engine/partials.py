"""Partials by column, outside of any window: rows folded by run, columns merged place by place, answers lowered.

    rows of runs ──folded──► column of partials ─┐
                             column of partials ─┴─merged──► column ──lowered──► answers

What a batch job keeps between its runs (incremental/). A column of partials is the ops' own columns and `there`: where
there is a value at all. Compiled partials are stored as numbers, others as bytes by the monoid's codec, which are
opened where they are combined or lowered: what is only passed on costs no more than its bytes. A pass each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from slidewise.engine.answers import Answers, answers_to_arrow, inputs_of
from slidewise.engine.columns import Column
from slidewise.engine.output import Output
from slidewise.kernels.ops import Ops
from slidewise.kernels.spans import validity
from slidewise.monoids.codec import codec_of, partial_schema


class Packed:
    """A partial as it was stored, not opened yet."""

    __slots__ = ("blob",)

    def __init__(self, blob: bytes) -> None:
        self.blob = blob


@dataclass(frozen=True)
class Partials:
    """A column of partials of one output."""

    output: Output
    cols: tuple[Any, ...]
    there: Any

    def __len__(self) -> int:
        return len(self.there)

    def at(self, places: Any) -> Partials:
        """These places alone."""
        cols = [[col[k] for k in places.tolist()] if isinstance(col, list) else col[places] for col in self.cols]
        return Partials(self.output, tuple(cols), self.there[places])

    def opened(self, where: Any) -> Partials:
        """The same, with what is packed opened where it is asked for."""
        if self.output.ops.compiled:
            return self
        _, decode = codec_of(self.output.ops.monoid)
        values = list(self.cols[0])
        for k in np.nonzero(where)[0].tolist():
            if type(values[k]) is Packed:
                values[k] = decode(values[k].blob)
        return Partials(self.output, (values,), self.there)


def empty(output: Output, length: int) -> Partials:
    """So many places without a value."""
    return Partials(output, output.ops.columns(length), np.zeros(length, dtype=np.bool_))


def folded(output: Output, columns: dict[str, Column], starts: Any) -> Partials:
    """One partial per run: rows `[starts[r], starts[r + 1])`."""
    values, valid = inputs_of(output, columns)
    made = empty(output, len(starts) - 1)
    _fold_of(output.ops)(values, validity(valid), valid is not None, starts, made.cols, made.there)
    return made


def merged(older: Partials, newer: Partials) -> Partials:
    """Place by place older ⊕ newer; where one has no value, the other."""
    both = older.there & newer.there
    older, newer = older.opened(both), newer.opened(both)
    cols = tuple(column.copy() for column in older.cols)
    _merge_of(older.output.ops)(cols, older.there, newer.cols, newer.there)
    return Partials(older.output, cols, older.there | newer.there)


def spread(partials: Partials, places: Any, length: int) -> Partials:
    """The same partials at these places of a column of `length`."""
    wide = empty(partials.output, length)
    for source, target in zip(partials.cols, wide.cols, strict=True):
        if isinstance(target, list):
            for place, value in zip(places.tolist(), source, strict=True):
                target[place] = value
        else:
            target[places] = source
    wide.there[places] = partials.there
    return wide


def lowered(partials: Partials) -> pa.Array:
    """The answers; where there is no value, null or what the monoid answers for nothing."""
    ops, output = partials.output.ops, partials.output
    outs, ok = ops.outputs(len(partials)), np.ones(len(partials), dtype=np.bool_)
    _lower_of(ops)(partials.opened(partials.there).cols, partials.there, outs, ok)
    return answers_to_arrow(Answers(output, outs, ok))


# ---- as Arrow columns -----------------------------------------------------------------------------------------------
def stored_fields(output: Output, prefix: str) -> list[pa.Field]:
    """The columns in which an output's partials are stored: a number per field and `there`, or bytes."""
    if not output.ops.compiled:
        return [pa.field(prefix, pa.binary())]
    numbers = [pa.field(f"{prefix}_{k}", pa.type_for_alias(name)) for k, name in enumerate(output.ops.fields)]
    return [*numbers, pa.field(f"{prefix}_there", pa.bool_())]


def stored(partials: Partials, rows: Any) -> list[pa.Array]:
    """These places as Arrow columns."""
    ops = partials.output.ops
    if ops.compiled:
        return [*(pa.array(column[rows]) for column in partials.cols), pa.array(partials.there[rows])]
    encode, _ = codec_of(ops.monoid)
    some = partials.at(rows)
    blobs = [
        None if not there else value.blob if type(value) is Packed else encode(value)
        for value, there in zip(some.cols[0], some.there.tolist(), strict=True)
    ]
    return [pa.array(blobs, pa.binary())]


def loaded(output: Output, columns: list[pa.Array]) -> Partials:
    """What `stored` gave."""
    if output.ops.compiled:
        filled = [column.fill_null(False if pa.types.is_boolean(column.type) else 0) for column in columns]
        *numbers, there = (np.array(one.to_numpy(zero_copy_only=False)) for one in filled)  # writable: one kernel
        return Partials(output, tuple(numbers), there)
    found = [None if blob is None else Packed(blob) for blob in columns[0].to_pylist()]
    return Partials(output, (found,), np.array([one is not None for one in found], dtype=np.bool_))


def described(output: Output) -> str:
    """What the stored partials of an output mean, so that others are not taken for them."""
    monoid = output.ops.monoid
    inputs = ", ".join(f"{name}: {arrow}" for name, arrow in zip(output.inputs, output.types, strict=True))
    where = "".join(f" where {one!r}" for one in output.filtered)
    options = "".join(f" {name}={value!r}" for name, value in output.options)
    held = ", ".join(output.ops.fields) or partial_schema(monoid)
    return f"{output.name} = {monoid.name} v{monoid.version} ({inputs}){options}{where} as {held}"


# ---- the loops ------------------------------------------------------------------------------------------------------
def _fold_of(ops: Ops) -> Any:
    lift_at, combine, store, identity = ops.lift_at, ops.combine, ops.store, ops.identity

    def fold(inputs: Any, valid: Any, has_nulls: bool, starts: Any, cols: Any, there: Any) -> None:
        for r in range(len(starts) - 1):
            total = identity
            some = False
            for row in range(starts[r], starts[r + 1]):
                if not has_nulls or valid[row]:
                    total = combine(total, lift_at(inputs, row))
                    some = True
            store(cols, r, total)
            there[r] = some

    return ops.built("fold runs", lambda: ops.kernel(fold))


def _merge_of(ops: Ops) -> Any:
    load, combine, store = ops.load, ops.combine, ops.store

    def merge(older: Any, older_there: Any, newer: Any, newer_there: Any) -> None:
        for k in range(len(newer_there)):
            if newer_there[k]:
                if older_there[k]:
                    store(older, k, combine(load(older, k), load(newer, k)))
                else:
                    store(older, k, load(newer, k))

    return ops.built("merge places", lambda: ops.kernel(merge))


def _lower_of(ops: Ops) -> Any:
    load, answer, vacant, identity = ops.load, ops.answer, ops.vacant, ops.identity
    answers_empty = ops.monoid.answers_empty

    def lower(cols: Any, there: Any, outs: Any, ok: Any) -> None:
        for k in range(len(there)):
            if there[k]:
                answer(cols, outs, ok, k, load(cols, k))
            elif answers_empty:
                answer(cols, outs, ok, k, identity)
            else:
                vacant(cols, outs, ok, k)

    return ops.built("lower places", lambda: ops.kernel(lower))
