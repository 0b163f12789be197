"""Null and NaN between pandas and Arrow.

A NumPy float column of pandas has no null, so there NaN is null, as pandas users expect. Columns with a null of their
own (`Float64`, Arrow-backed) keep NaN apart. A result is of the same sort as the column it was computed of:

    computed of         null is                                NaN is
    NumPy, string       NaN; `<NA>` in `Int64` and `boolean`   null
    Int64, Float64 ..   `<NA>`                                 NaN
    Arrow-backed        `<NA>`                                 NaN
"""

from __future__ import annotations

from typing import Any

import pandas as pd
import pyarrow as pa

from slidewise.errors import ArgumentError

_NULLABLE: dict[pa.DataType, Any] = {
    pa.int8(): pd.Int8Dtype(),
    pa.int16(): pd.Int16Dtype(),
    pa.int32(): pd.Int32Dtype(),
    pa.int64(): pd.Int64Dtype(),
    pa.uint8(): pd.UInt8Dtype(),
    pa.uint16(): pd.UInt16Dtype(),
    pa.uint32(): pd.UInt32Dtype(),
    pa.uint64(): pd.UInt64Dtype(),
    pa.bool_(): pd.BooleanDtype(),
}
_MASKED = {**_NULLABLE, pa.float32(): pd.Float32Dtype(), pa.float64(): pd.Float64Dtype()}


def from_series(series: pd.Series[Any]) -> pa.ChunkedArray:
    """A pandas column as Arrow."""
    try:
        array = pa.array(series, from_pandas=not isinstance(series.dtype, pd.api.extensions.ExtensionDtype) or None)
    except (
        pa.ArrowInvalid,
        pa.ArrowTypeError,
        pa.ArrowNotImplementedError,
        OverflowError,
        UnicodeEncodeError,
    ) as error:
        raise ArgumentError(f"column {series.name!r}: its values have no common type ({_line(error)})") from error
    return array if isinstance(array, pa.ChunkedArray) else pa.chunked_array([array])


def to_series(array: pa.Array | pa.ChunkedArray, like: Any = None) -> pd.Series[Any]:
    """An Arrow column as pandas has it; `like` is the dtype of the column it was computed of, if there is one."""
    dtype = _dtype(array.type, like, has_null=array.null_count > 0)
    if dtype is None and (pa.types.is_struct(array.type) or pa.types.is_list(array.type)):
        nested = array.type if pa.types.is_struct(array.type) else array.type.value_type
        if pa.types.is_struct(nested):  # Arrow would make bare integers of the times inside
            return pd.Series(array.to_pylist(), dtype=object)
    made: pd.Series[Any] = array.to_pandas(types_mapper=None if dtype is None else lambda arrow: dtype)
    return made


def _dtype(arrow: pa.DataType, like: Any, *, has_null: bool) -> Any:
    """The pandas dtype for a result of this type; None for Arrow's own choice."""
    if isinstance(like, pd.ArrowDtype):
        return pd.ArrowDtype(arrow)
    if isinstance(like, tuple(type(dtype) for dtype in _MASKED.values())):
        return _MASKED.get(arrow)
    if isinstance(like, pd.StringDtype) and (pa.types.is_string(arrow) or pa.types.is_large_string(arrow)):
        return like
    return _NULLABLE.get(arrow) if has_null else None


def _line(error: Exception) -> str:
    return " ".join(str(error).split())
