"""Values on their way into shared windows: any sequence, nulls found, numbers as the machine code takes them."""

from __future__ import annotations

from typing import Any

import numpy as np

from slidewise.errors import ArgumentError, bad, shown

NUMBERS = ("float64", "int64")
FARTHEST = 2**62
"""Times lie within this of 0, so that windows around them do too."""


def check_types(types: Any) -> None:
    """Raise `ArgumentError` unless this is None, or the dtype of the values in a tuple."""
    if types is not None and (not isinstance(types, tuple) or len(types) != 1 or types[0] not in NUMBERS):
        raise bad("types", types, "None for any objects, ('float64',) or ('int64',)")


def entering(values: Any, types: tuple[str, ...] | None) -> tuple[Any, list[bool] | None]:
    """The values as a column, and which of them there are; None if all. O(n).

    >>> entering(iter([1, None, 3]), None)
    ([1, 0, 3], [True, False, True])
    """
    listed = _listed(values)
    valid = None
    if isinstance(listed, list) and any(value is None for value in listed):
        valid = [value is not None for value in listed]
        listed = [0 if value is None else value for value in listed]
    if types is None:
        return (listed.tolist() if isinstance(listed, np.ndarray) else listed), valid
    return _numbers(listed, types[0]), valid


def positions(times: Any, rows: int) -> Any:
    """Times as int64, one for each row."""
    said = "None" if times is None else shown(times)
    if times is None or not hasattr(times, "__len__") or np.ndim(times) != 1 or len(times) != rows:
        raise ArgumentError(f"times={said}: expected {rows:,} integers, one for each value")
    x = np.asarray(times)
    if x.dtype.kind not in "iu" and rows:
        raise ArgumentError(f"times={said}: expected integers, in the unit of ranges and slides")
    if rows and not -FARTHEST <= int(x.min()) <= int(x.max()) < FARTHEST:
        raise ArgumentError(f"times={said}: expected integers from -2**62 to below 2**62")
    return x.astype(np.int64, copy=False)


def _listed(values: Any) -> Any:
    """An array of numbers as it is; anything else as a list with None for null."""
    if isinstance(values, np.ma.MaskedArray):
        return values.tolist()
    if isinstance(values, np.ndarray) and values.dtype.kind in "iufb":
        if values.ndim != 1:
            raise ArgumentError(f"values={shown(values)}: expected one dimension, not {values.ndim}")
        return values
    if hasattr(values, "to_pylist"):
        return values.to_pylist()
    if hasattr(values, "isna") and hasattr(values, "tolist"):  # a pandas Series; NaN of NumPy floats is null there
        gaps = values.isna().tolist()
        return [None if gap else value for value, gap in zip(values.tolist(), gaps, strict=True)]
    if isinstance(values, (str, bytes)) or not hasattr(values, "__iter__"):
        raise bad("values", values, "a list or an array of values")
    return list(values)


def _numbers(listed: Any, dtype: str) -> Any:
    """A column of machine numbers, none of them rounded on the way."""
    column = np.asarray(listed)
    if len(column) and (column.ndim != 1 or column.dtype.kind not in "iufb"):
        raise ArgumentError(f"values={shown(listed)}: expected numbers, for types=({dtype!r},)")
    made = np.ascontiguousarray(column, dtype=dtype) if column.dtype.kind != "f" or dtype == "float64" else None
    if made is None:
        with np.errstate(invalid="ignore"):
            made = np.ascontiguousarray(column, dtype=dtype)
        if not np.array_equal(made, column):
            raise ArgumentError(f"values={shown(listed)}: expected whole numbers, for types=('int64',)")
    made = made.view()
    made.flags.writeable = False
    return made
