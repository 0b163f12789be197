"""The type of an answer: as the monoid's `result` names it, or as its machine code gives it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa

from slidewise.errors import ArgumentError
from slidewise.kernels.ops import Ops
from slidewise.monoids.monoid import Monoid

RUN = ("start", "end", "interval", "count")
"""The fields of a `longest_increasing_run`."""


def result_type(monoid: Monoid, ops: Ops, inputs: Sequence[pa.DataType | None]) -> pa.DataType | None:
    """The Arrow type of the answers; None if only running can tell."""
    named = monoid.result
    if named in BY_INPUTS:
        if any(arrow is None for arrow in inputs):
            return None
        return BY_INPUTS[named]([_plain(arrow) for arrow in inputs])
    if named is not None:
        try:
            return pa.type_for_alias(named)
        except ValueError as error:
            raise ArgumentError(f"result={named!r} of {monoid!r}: not an Arrow type name such as 'float64'") from error
    if not ops.compiled:
        return None
    if ops.packed:
        return pa.struct([(f"f{k}", pa.type_for_alias(name)) for k, name in enumerate(ops.answers)])
    return pa.type_for_alias(ops.answers[0])


def _plain(arrow: pa.DataType) -> pa.DataType:
    """The type of the values themselves; a column without any is taken as floats."""
    return arrow.value_type if pa.types.is_dictionary(arrow) else pa.float64() if pa.types.is_null(arrow) else arrow


def _difference(arrow: pa.DataType) -> pa.DataType:
    """Of two values of this type."""
    if pa.types.is_timestamp(arrow) or pa.types.is_time64(arrow):
        return pa.duration(arrow.unit)
    if pa.types.is_time32(arrow):
        return pa.duration(arrow.unit)
    if pa.types.is_date32(arrow):
        return pa.int64()
    if pa.types.is_date64(arrow):
        return pa.duration("ms")
    if pa.types.is_integer(arrow) or pa.types.is_boolean(arrow):
        return pa.int64()
    if pa.types.is_decimal(arrow):
        return pa.decimal128(min(38, arrow.precision + 1), arrow.scale)
    return arrow


def _run(inputs: list[pa.DataType]) -> pa.DataType:
    time = inputs[1]
    return pa.struct(list(zip(RUN, (time, time, _difference(time), pa.int64()), strict=True)))


BY_INPUTS: dict[str | None, Callable[[list[pa.DataType]], pa.DataType]] = {
    "same": lambda inputs: inputs[0],
    "list_of_same": lambda inputs: pa.list_(inputs[0]),
    "counts_of_same": lambda inputs: pa.list_(pa.struct([("value", inputs[0]), ("count", pa.int64())])),
    "difference": lambda inputs: _difference(inputs[0]),
    "run": _run,
    "sum_of_decimals": lambda inputs: pa.decimal128(min(38, inputs[0].precision + 10), inputs[0].scale),
    "mean_of_decimals": lambda inputs: pa.decimal128(min(38, inputs[0].precision + 4), min(38, inputs[0].scale + 4)),
}
"""Results whose type depends on the columns."""
