"""A fold as the oracle: a built-in's own monoid over each window's rows, one combine per row, no structure, no kernel.

The laws vouch for the monoid and the golden cases for what it means; this vouches for everything between a container
and the monoid. Values are folded as the kernels take them, so answers of any type are compared as machine values:

    machine(timestamps) = integers in their unit, booleans 0 and 1, lists and structs of those, by value
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

import pyarrow as pa

import slidewise as sw
from slidewise.duration import NANOS
from slidewise.engine.columns import kind_of
from slidewise.monoids.aggregate import ORDER, POSITION, Aggregate
from slidewise.monoids.hashing import hash_value
from slidewise.monoids.laws import same
from tests.catalogue import family_of

ROUNDED = Context(prec=90, rounding=ROUND_HALF_UP)


def machine(array: pa.Array | pa.ChunkedArray) -> list[Any]:
    """The values of a column as the kernels take them; None for null."""
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    kind = array.type
    if pa.types.is_dictionary(kind):
        return machine(array.dictionary_decode())
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        inside = machine(array.flatten())
        sizes = [0 if size is None else size for size in array.value_lengths().to_pylist()]
        ends = [sum(sizes[:k]) for k in range(len(sizes) + 1)]
        return [inside[ends[k] : ends[k + 1]] if array[k].is_valid else None for k in range(len(array))]
    if pa.types.is_struct(kind):
        fields = [machine(array.field(k)) for k in range(kind.num_fields)]
        return [tuple(field[k] for field in fields) if array[k].is_valid else None for k in range(len(array))]
    if pa.types.is_temporal(kind):
        return array.view(pa.int32() if kind.bit_width == 32 else pa.int64()).to_pylist()
    return array.to_pylist()


class Fold:
    """One aggregate bound to columns of a table that is in order already; `order` names the column of `order`."""

    def __init__(self, aggregate: Aggregate, table: pa.Table, order: str | None = None) -> None:
        self.family = family_of(aggregate)
        implied = {POSITION: POSITION, ORDER: order or POSITION}
        names = [implied.get(name, name) for name in aggregate.inputs]
        positions = pa.array(range(len(table)), pa.int64())
        columns = [positions if name == POSITION else table[name] for name in names]
        self.kinds = tuple(kind_of(column.type) for column in columns)
        self.monoid: sw.Monoid = aggregate.monoid(self.kinds, tick=_tick(columns))
        self.values = [self._lifted_of(column) for column in columns]

    def _lifted_of(self, column: Any) -> list[Any]:
        if self.family.hashes:
            return [None if value is None else hash_value(value) for value in column.to_pylist()]
        return machine(column)

    def _arguments(self, row: int) -> list[Any] | None:
        """What the lift takes of a row; None if the row gives no value."""
        found: list[Any] = []
        for place, values in enumerate(self.values):
            nullable = place in self.family.nullable
            if values[row] is None and not nullable:
                return None
            found += [values[row], values[row] is not None] if nullable else [values[row]]
        return found

    def __call__(self, rows: Iterable[int]) -> Any:
        """The answer over these rows, oldest first."""
        partial, some = self.monoid.identity, False
        for row in rows:
            arguments = self._arguments(row)
            if arguments is not None:
                partial, some = self.monoid.combine(partial, self.monoid.lifted(*arguments)), True
        return plain(self.monoid.lowered(partial)) if some or self.monoid.answers_empty else None


def plain(answer: Any) -> Any:
    """A monoid's answer in the form of `machine`."""
    if isinstance(answer, dict):
        return tuple(plain(part) for part in answer.values())
    if isinstance(answer, (list, tuple)):
        return type(answer)(plain(part) for part in answer)
    return answer


def assert_answers(got: Sequence[Any], wanted: Sequence[Any], where: str, *, nan_is_null: bool = False) -> None:
    """Row by row; a container without a null of its own has NaN for it, then either may stand for the other."""
    assert len(got) == len(wanted), where
    for row, (one, other) in enumerate(zip(got, wanted, strict=True)):
        a, b = (_no_nan(one), _no_nan(other)) if nan_is_null else (one, other)
        if isinstance(a, Decimal) and isinstance(b, Decimal):
            b = ROUNDED.quantize(b, a)  # to how many digits is the golden cases' business
        assert same(a, b, 1e-9 * _size(b)), (where, row, one, other)


def _no_nan(value: Any) -> Any:
    return None if isinstance(value, float) and math.isnan(value) else value


def _size(answer: Any) -> float:
    """What floats are measured by: the answer itself where it is large, as a product is."""
    if isinstance(answer, (list, tuple)):
        return max(map(_size, answer), default=1.0)
    return max(1.0, abs(answer)) if isinstance(answer, float) and math.isfinite(answer) else 1.0


def _tick(columns: list[Any]) -> int:
    kind = columns[-1].type if columns else pa.null()
    if not pa.types.is_temporal(kind):
        return 1
    return NANOS["d"] if pa.types.is_date32(kind) else NANOS[kind.unit]
