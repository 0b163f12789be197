"""Arrow columns at the door of the kernels: machine numbers with validity, or Python objects.

The kernel ABI is int64 and float64 columns plus validity. Integers, booleans, dates, times and timestamps enter as
int64, floats as float64, everything else as Python objects; answers leave with the Arrow type the plan gave them.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slidewise.errors import ArgumentError
from slidewise.monoids.kinds import COMPILED, Kind

ROUNDED = Context(prec=90, rounding=ROUND_HALF_UP)
"""Decimals are rounded once, when an answer leaves, as Spark does it."""


@dataclass(frozen=True)
class Column:
    """Values as the kernels take them; `valid` is None where nothing is null."""

    values: Any
    valid: Any = None

    def take(self, rows: Any) -> Column:
        """These rows, in this order; all of them if `rows` is None."""
        if rows is None:
            return self
        if isinstance(self.values, list):
            values = [self.values[row] for row in rows.tolist()]
        else:
            values = frozen(self.values[rows])
        return Column(values, None if self.valid is None else self.valid[rows])

    def part(self, first: int, last: int) -> Column:
        """Rows `[first, last)`; a view where the values are numbers."""
        return Column(self.values[first:last], None if self.valid is None else self.valid[first:last])


def frozen(array: Any) -> Any:
    """A contiguous read-only view: one Numba type for all inputs, so one kernel."""
    array = np.ascontiguousarray(array).view()
    array.flags.writeable = False
    return array


def kind_of(arrow: pa.DataType | None, objects: Kind = "object") -> Kind:
    """How a monoid sees a column of this type; None is a column of Python objects of no Arrow type, `objects` its kind.

    A column of type null has no value that could tell its kind: it is taken as floats, all of them null.
    """
    if arrow is None:
        return objects
    if pa.types.is_dictionary(arrow):
        return kind_of(arrow.value_type)
    if pa.types.is_boolean(arrow):
        return "bool"
    if pa.types.is_integer(arrow):
        return "int"
    if pa.types.is_floating(arrow) or pa.types.is_null(arrow):
        return "float"
    if pa.types.is_decimal(arrow):
        return "decimal"
    if pa.types.is_temporal(arrow) and not pa.types.is_interval(arrow):
        return "temporal"
    if pa.types.is_string(arrow) or pa.types.is_large_string(arrow) or pa.types.is_string_view(arrow):
        return "string"
    if isinstance(arrow, pa.BaseExtensionType):
        return "unordered" if pa.types.is_nested(arrow.storage_type) else "object"
    return "unordered" if pa.types.is_nested(arrow) else "object"


def dtype_of(kind: Kind) -> str | None:
    """The dtype in which a kind enters a kernel; None for Python objects."""
    return None if kind not in COMPILED else "float64" if kind == "float" else "int64"


def as_objects(column: Column, arrow: pa.DataType | None) -> Column:
    """Machine numbers as the Python objects that object mode works on."""
    if isinstance(column.values, list):
        return column
    if arrow is not None and pa.types.is_null(arrow):
        return Column([None] * len(column.values), column.valid)
    return Column(to_arrow((column.values,), None, arrow).to_pylist(), column.valid)


def to_column(array: pa.Array | pa.ChunkedArray, name: str = "") -> Column:
    """An Arrow column as the kernels take it; no copy for int64 and float64 in one chunk without nulls.

    `name` is for messages.
    """
    if isinstance(array, pa.ChunkedArray):
        array = array.chunk(0) if array.num_chunks == 1 else array.combine_chunks()
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    valid = None
    if array.null_count:
        valid = np.asarray(array.is_valid().to_numpy(zero_copy_only=False))
    kind = kind_of(array.type)
    dtype = dtype_of(kind)
    if dtype is None:
        return Column(array.to_pylist(), valid)
    return Column(frozen(_numbers(array, dtype, name)), valid)


def _numbers(array: pa.Array, dtype: str, name: str) -> Any:
    target = pa.float64() if dtype == "float64" else pa.int64()
    if pa.types.is_temporal(array.type):
        array = array.view(pa.int32() if array.type.bit_width == 32 else pa.int64())
    if array.type != target:
        try:
            array = array.cast(target)
        except pa.ArrowInvalid as error:
            raise ArgumentError(
                f"column {name!r} of type {array.type}: expected values within int64 ({error})"
            ) from error
    if array.null_count:
        array = pc.fill_null(array, 0)
    return array.to_numpy(zero_copy_only=False)


def to_arrow(outs: tuple[Any, ...], ok: Any, arrow: pa.DataType | None) -> pa.Array:
    """Answers as an Arrow array of the planned type; `ok` False (or a None) is null."""
    if isinstance(outs[0], list):
        return _from_objects(outs[0], arrow)
    mask = None if ok is None or ok.all() else ~ok
    if outs[0].ndim == 2:
        return _bytes(outs[0], mask) if len(outs) == 1 else _lists(outs[0], outs[1], mask, arrow)
    if len(outs) > 1 or (arrow is not None and pa.types.is_struct(arrow)):
        fields = list(arrow) if arrow is not None else [pa.field(f"f{k}", None) for k in range(len(outs))]
        parts = [_typed(pa.array(out), field.type) for out, field in zip(outs, fields, strict=True)]
        names = [field.name for field in fields]
        return pa.StructArray.from_arrays(parts, names, mask=None if mask is None else pa.array(mask))
    return _typed(pa.array(outs[0], mask=mask), arrow)


def _typed(array: pa.Array, arrow: pa.DataType | None) -> pa.Array:
    """Machine numbers as values of this type."""
    if arrow is None or array.type == arrow:
        return array
    if pa.types.is_temporal(arrow):
        if arrow.bit_width == 32:
            array = array.cast(pa.int32())
        return array.view(arrow)
    return array.cast(arrow)


def _lists(values: Any, counts: Any, mask: Any, arrow: pa.DataType) -> pa.Array:
    """Row j holds the first counts[j] of values[j]."""
    taken = values[np.arange(values.shape[1]) < counts[:, None]]
    ends = np.concatenate([[0], np.cumsum(counts)])
    inside = _typed(pa.array(taken), arrow.value_type)
    if mask is not None:
        return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), inside, mask=pa.array(mask))
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), inside)


def _bytes(values: Any, mask: Any) -> pa.Array:
    """Row j holds the bytes values[j]."""
    width = values.shape[1]
    data = pa.py_buffer(np.ascontiguousarray(values))
    array = pa.FixedSizeBinaryArray.from_buffers(pa.binary(width), len(values), [None, data]).cast(pa.binary())
    return array if mask is None else pc.if_else(pa.array(~mask), array, pa.scalar(None, pa.binary()))


def _from_objects(values: list[Any], arrow: pa.DataType | None) -> pa.Array:
    if arrow is not None and pa.types.is_decimal(arrow):
        unit = Decimal(1).scaleb(-arrow.scale)
        values = [None if value is None else ROUNDED.quantize(value, unit) for value in values]
        if any(value is not None and abs(value) >= Decimal(10) ** (arrow.precision - arrow.scale) for value in values):
            raise OverflowError(f"a window's answer does not fit in {arrow}; cast the column to a wider type first")
    return pa.array(values, type=arrow)
