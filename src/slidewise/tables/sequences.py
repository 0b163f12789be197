"""Plain sequences: a list, a 1-D NumPy array, a pandas or Polars Series; the same kind comes back."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Set
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from slidewise.engine.columns import Column
from slidewise.engine.output import VALUE
from slidewise.errors import ArgumentError, bad, shown
from slidewise.monoids.kinds import Kind
from slidewise.tables.run import Result

PLAIN = (int, float, str, bytes, Decimal, dt.datetime, dt.date, dt.timedelta, np.generic)
"""What Arrow holds without changing it; anything else stays the Python object it is."""


class Sequence:
    """Values without a name, with arrays of equal length for `order` and `by`."""

    def __init__(self, data: Any, kind: str) -> None:
        self.native = data
        self.kind = kind
        self._columns: dict[str, Any] = {VALUE: read(data, "data")}
        self.length = len(data)

    @property
    def types(self) -> dict[str, pa.DataType | None]:
        """The type of each column; None for Python objects of no Arrow type."""
        return {name: None if isinstance(c, Column) else c.type for name, c in self._columns.items()}

    @property
    def objects(self) -> tuple[Kind, str]:
        """Values of no Arrow type: their kind, and in words their Python types."""
        column = self._columns[VALUE]
        held = column.values if isinstance(column, Column) else []
        one_of_each = {_type_name(value): value for value in held if value is not None}
        return _kind(list(one_of_each.values())), " and ".join(sorted(one_of_each))

    def order(self, given: Any, window: object) -> Any:
        """What values are ordered by: as given, or the DatetimeIndex of a pandas Series if a window goes by time."""
        if given is not None or self.kind != "pandas":
            return given
        from slidewise.tables.pandas_index import order_in

        return None if order_in(self.native.index, window) is None else self.native.index

    def attach(self, argument: str, given: Any) -> list[str]:
        """Take an array (or several, in a list or tuple of arrays) as `order` or `by`; the names it goes by inside.

        For a pandas Series, also the name of a level of its index.
        """
        if given is None:
            return []
        if isinstance(given, str) and self.kind == "pandas":
            from slidewise.tables.pandas_index import level

            found = level(self.native.index, given)
            given = given if found is None else found
        if isinstance(given, str):
            raise ArgumentError(
                f"{argument}={shown(given)}: a plain sequence has no columns; expected an array of its length"
            )
        many = given if isinstance(given, (list, tuple)) and given and hasattr(given[0], "__len__") else [given]
        if isinstance(given, list) and given and isinstance(given[0], (str, bytes)):
            many = [given]
        names = []
        for k, one in enumerate(many):
            if not hasattr(one, "__len__") or isinstance(one, (Set, Mapping)):
                raise bad(argument, one, "an array as long as the data")
            if len(one) != self.length:
                raise ArgumentError(f"{argument}: has {len(one)} values, the data has {self.length}; expected as many")
            name = f"{argument}{k}" if len(many) > 1 else argument
            self._columns[name] = read(one, argument)
            if isinstance(self._columns[name], Column):
                raise ArgumentError(f"{argument}: its values have no common type; expected numbers, strings or times")
            names.append(name)
        return names

    def column(self, name: str) -> pa.ChunkedArray | Column:
        """A column by its inside name."""
        return self._columns[name]

    def back(self, result: Result, per_event: bool) -> Any:
        """A result as the same kind of sequence; with the same index if there is an answer per event."""
        if self.kind == "list":
            return result.to_list()
        if self.kind == "numpy":
            return to_numpy(result)
        if self.kind == "polars":
            import polars as pl

            return pl.Series(result.name, pl.from_arrow(result.to_arrow()))
        from slidewise.tables.pandas_nulls import to_series

        series = to_series(result.to_arrow(), self.native.dtype).rename(self.native.name)
        return series.set_axis(self.native.index) if per_event else series


def to_numpy(result: Result) -> Any:
    """A result as a NumPy array: null is NaN, which makes integers and booleans floats; NaT for times; None in objects,
    such as strings and lists."""
    arrow = result.arrow
    by_python = isinstance(result.outs[0], list)
    if (arrow is None and by_python) or (arrow is not None and pa.types.is_nested(arrow)) or result.packed:
        made = np.empty(len(result.ok), dtype=object)
        made[:] = result.to_list()
        return made
    if not by_python and (arrow in (None, pa.float64(), pa.bool_()) or pa.types.is_integer(arrow)):
        values = result.outs[0]
        if result.ok.all():
            wanted = None if arrow is None else arrow.to_pandas_dtype()
            return values if wanted is None else values.astype(wanted, copy=False)
        values = values.astype(np.float64, copy=False)  # the answers are this call's own
        values[~result.ok] = np.nan
        return values
    answers = result.to_arrow()
    if arrow == pa.bool_() and answers.null_count:
        answers = answers.cast(pa.float64())
    return answers.to_numpy(zero_copy_only=False)


def read(values: Any, argument: str) -> pa.ChunkedArray | Column:
    """A sequence as an Arrow column; as Python objects where Arrow would change them."""
    if isinstance(values, np.ndarray):
        if values.ndim != 1:
            raise ArgumentError(f"{argument}: an array of {values.ndim} dimensions; expected a 1-D array")
        if values.dtype.kind in "fiubMm":
            return pa.chunked_array([_numpy_to_arrow(values)])
        values = values.tolist()
    module = type(values).__module__.partition(".")[0]
    if module == "pandas":
        from slidewise.tables.pandas_nulls import from_series

        return from_series(values if hasattr(values, "dtype") and hasattr(values, "name") else values.to_series())
    if module == "polars":
        return pa.chunked_array([values.to_arrow()])
    if isinstance(values, (pa.Array, pa.ChunkedArray)):
        return pa.chunked_array([values]) if isinstance(values, pa.Array) else values
    return _from_list(list(values))


def _kind(values: list[Any]) -> Kind:
    """The kind of a column that holds these values, one of each type."""
    if values and all(isinstance(value, str) for value in values):
        return "string"
    try:
        return "object" if all(isinstance(a < b, (bool, np.bool_)) for a in values for b in values) else "unordered"
    except Exception:  # whatever a user's class raises, it has no order
        return "unordered"


def _type_name(value: object) -> str:
    beyond = isinstance(value, int) and not -(2**63) <= value < 2**63
    return "int beyond 64 bits" if beyond else type(value).__name__


def _numpy_to_arrow(values: Any) -> pa.Array:
    if not values.dtype.isnative:
        values = values.astype(values.dtype.newbyteorder("="))
    if values.dtype.kind == "M" and np.datetime_data(values.dtype)[0] not in ("s", "ms", "us", "ns", "D"):
        values = values.astype("datetime64[us]")
    if values.dtype.kind == "f" and values.dtype.itemsize not in (2, 4, 8):
        values = values.astype(np.float64)
    return pa.array(values, from_pandas=False) if values.dtype.kind not in "Mm" else pa.array(values)


def _from_list(values: list[Any]) -> pa.ChunkedArray | Column:
    kinds = set(map(type, values)) - {type(None)}
    if kinds and all(issubclass(kind, PLAIN) for kind in kinds) and not {dt.date, dt.datetime} <= kinds:
        if bool in kinds and len(kinds) > 1:
            values = [int(value) if isinstance(value, bool) else value for value in values]
        try:
            return pa.chunked_array([pa.array(values, from_pandas=False)])
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, UnicodeEncodeError):
            pass
    if not kinds:
        return pa.chunked_array([pa.nulls(len(values))])
    valid = np.array([value is not None for value in values], dtype=np.bool_)
    return Column(values, None if valid.all() else valid)
