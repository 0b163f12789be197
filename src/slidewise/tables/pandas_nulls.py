"""Null and NaN between pandas and Arrow.

A NumPy float column of pandas has no null, so there NaN is null, as pandas users expect. Columns with a null of their own
(`Float64`, Arrow-backed) keep NaN apart. Going back, a null is NaN in float64, `<NA>` in `Int64`, None in objects.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from slidewise.errors import ArgumentError


def from_series(series: pd.Series[Any]) -> pa.ChunkedArray:
    """A pandas column as Arrow."""
    try:
        array = pa.array(series, from_pandas=not isinstance(series.dtype, pd.api.extensions.ExtensionDtype) or None)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise ArgumentError(f"column {series.name!r}: its values have no common type ({error})") from error
    return array if isinstance(array, pa.ChunkedArray) else pa.chunked_array([array])


def to_series(array: pa.Array | pa.ChunkedArray, index: pd.Index[Any] | None) -> pd.Series[Any]:
    """An Arrow column as pandas has it."""
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
        array = array.chunk(0) if isinstance(array, pa.ChunkedArray) else array
    if pa.types.is_integer(array.type) and array.null_count:
        values: Any = array.fill_null(0).to_numpy(zero_copy_only=False)
        mask = np.asarray(array.is_null().to_numpy(zero_copy_only=False))
        return pd.Series(pd.arrays.IntegerArray(values.copy(), mask.copy()), index=index)
    if pa.types.is_boolean(array.type) and array.null_count:
        values = array.fill_null(False).to_numpy(zero_copy_only=False)
        mask = np.asarray(array.is_null().to_numpy(zero_copy_only=False))
        return pd.Series(pd.arrays.BooleanArray(values.copy(), mask.copy()), index=index)
    made: pd.Series[Any] = array.to_pandas()
    made.index = index if index is not None else made.index
    return made
