"""The order column as the numbers that windows are measured along, in a unit that suits all windows of a call.

    timestamp, date      int64, microseconds or nanoseconds since the epoch       unit "us", "ns"
    integer, float       int64, float64                                           unit "int", "float"

Checked before use: no NaN, and no value so near the ends of int64 that a bound would lie beyond. O(n).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from slidewise.duration import NANOS
from slidewise.engine.columns import Column, to_column
from slidewise.errors import ArgumentError
from slidewise.windows.window import Between, Trailing, Window

if TYPE_CHECKING:
    from slidewise.engine.answers import Rows
    from slidewise.engine.plan import Plan

LOWEST, HIGHEST = -(2**63), 2**63 - 1
FOREVER = HIGHEST
FARTHEST = 2.0**52
"""Windows with a step along floats are numbered from 0 to at most this far, so that their bounds are exact enough."""

Types = Mapping[str, pa.DataType | None]


# ---- before any work: does the window suit the column? ---------------------------------------------------------------
def unit_of(windows: Sequence[Window], order: Sequence[str], types: Types) -> str | None:
    """The unit in which windows are measured along the first order column; None if all of them count rows."""
    measured = [window for window in windows if window.axis != "rows"]
    if not measured:
        return None
    if not order:
        first = measured[0]
        goes, names = ("by time", "the column of times") if first.by_time else ("along the order", "its column")
        raise ArgumentError(f"order=None: {first!r} goes {goes}; expected order= to name {names}")
    name, arrow = order[0], types[order[0]]
    for window in measured:
        _check_axis(window, name, arrow)
        if isinstance(window, Between):
            _check_bound(window, "lo", window.lo, name, types)
            _check_bound(window, "hi", window.hi, name, types)
    if arrow is not None and (pa.types.is_integer(arrow) or pa.types.is_floating(arrow)):
        return _number_unit(measured, name, arrow)
    if all(window.axis == "order" for window in measured):  # a column of nulls only
        return "int"
    return _time_unit(measured, name, arrow)


def _check_axis(window: Window, name: str, arrow: pa.DataType | None) -> None:
    time = arrow is not None and (pa.types.is_timestamp(arrow) or pa.types.is_date(arrow))
    number = arrow is not None and (pa.types.is_integer(arrow) or pa.types.is_floating(arrow))
    if arrow is not None and pa.types.is_null(arrow):
        return
    if window.axis == "time" and not time:
        raise ArgumentError(
            f"order={name!r}: is of type {arrow}; {window!r} goes by time and needs a timestamp or date column"
        )
    if window.axis == "order" and not number:
        hint = " (along times, give a duration such as '5 min')" if time else ""
        raise ArgumentError(
            f"order={name!r}: is of type {arrow}; {window!r} is a number along the order and needs an integer or "
            f"float column{hint}"
        )
    if window.axis == "any" and not (time or number):
        raise ArgumentError(
            f"order={name!r}: is of type {arrow}; {window!r} needs a timestamp, date, integer or float column"
        )


def _check_bound(window: Window, argument: str, name: str, order: str, types: Types) -> None:
    if name not in types:
        raise ArgumentError(f"{argument}={name!r} of {window!r}: no such column")
    mine, theirs = types[name], types[order]
    if _sort(mine) is None or (_sort(mine) != _sort(theirs) and "null" not in (_sort(mine), _sort(theirs))):
        raise ArgumentError(
            f"{argument}={name!r} of {window!r}: is of type {mine}, the order column {order!r} of type {theirs}; "
            "expected both to be numbers, times with a zone, or times without one"
        )


def _sort(arrow: pa.DataType | None) -> str | None:
    """What a column's values can be compared with."""
    if arrow is None:
        return None
    if pa.types.is_null(arrow):
        return "null"
    if pa.types.is_integer(arrow) or pa.types.is_floating(arrow):
        return "number"
    if pa.types.is_timestamp(arrow):
        return "naive" if arrow.tz is None else "zoned"
    return "naive" if pa.types.is_date(arrow) else None


def _number_unit(windows: Sequence[Window], name: str, arrow: pa.DataType) -> str:
    if pa.types.is_floating(arrow):
        return "float"
    for window in windows:
        if any(isinstance(length, float) and not length.is_integer() for length in window.lengths):
            raise ArgumentError(
                f"order={name!r}: is of type {arrow}, and {window!r} has a length that is no whole number; "
                "expected whole ones, or a float column"
            )
    return "int"


def _time_unit(windows: Sequence[Window], name: str, arrow: pa.DataType | None) -> str:
    finest = arrow.unit if arrow is not None and pa.types.is_timestamp(arrow) else "us"
    for window in windows:
        # Windows with a row of their own have bounds of the type of `order`; others are only compared with its times.
        unit = "us" if window.per_event and finest != "ns" else finest
        if any(int(nanos) % NANOS[unit] for nanos in window.lengths if window.by_time):
            raise ArgumentError(
                f"order={name!r}: is of type {arrow}, too coarse for the bounds of {window!r}; expected a finer unit"
            )
    return "ns" if finest == "ns" else "us"


def forever(plan: Plan) -> Any:
    """After all times, in the type of the order."""
    return np.inf if plan.unit == "float" else FOREVER


# ---- the values -----------------------------------------------------------------------------------------------------
def order_values(plan: Plan, column: pa.ChunkedArray | pa.Array) -> Any:
    """The first order column in the plan's unit, checked; None if no window needs it."""
    if plan.unit is None:
        return None
    name = plan.order[0]
    values = times_of(column, plan.unit, name)
    if not len(values):
        return values
    if plan.unit != "float":
        if not (LOWEST + plan.reach <= values.min() and values.max() <= HIGHEST - plan.reach):
            raise ArgumentError(
                f"order={name!r}: holds values too near the ends of int64 for the bounds of windows; "
                f"expected them at least {plan.reach} away"
            )
        return values
    nans = int(np.isnan(values).sum())
    if nans:
        raise ArgumentError(f"order={name!r}: holds {nans} NaN(s); expected a value in every row")
    for window in plan.windows:
        step = window.coarse if isinstance(window, Trailing) and window.coarse else window.step
        if step is not None and window.axis == "order" and np.abs(values).max() / step > FARTHEST:
            raise ArgumentError(
                f"order={name!r}: holds values too far from 0 for the steps of {window!r}; "
                f"expected none beyond {FARTHEST * step:g}"
            )
    return values


def times_of(column: pa.ChunkedArray | pa.Array, unit: str, name: str = "order") -> Any:
    """An order column as numbers: times as int64 in `unit` since the epoch, integers and floats as they are."""
    if unit in ("int", "float"):
        target = pa.int64() if unit == "int" else pa.float64()
        return to_column(column.cast(target) if pa.types.is_null(column.type) else column, name).values
    target = pa.timestamp(unit, tz=getattr(column.type, "tz", None))
    return to_column(column if column.type == target else column.cast(target)).values


def bound_column(plan: Plan, values: Any, arrow: pa.DataType) -> pa.Array:
    """The bounds of windows, in units of the order (or row numbers), as a column of type `arrow`."""
    if pa.types.is_timestamp(arrow):
        return pa.array(values).view(pa.timestamp(plan.unit or "us", tz=arrow.tz)).cast(arrow)
    try:
        return pa.array(values).cast(arrow, safe=not pa.types.is_floating(arrow))
    except pa.ArrowInvalid as error:
        raise ArgumentError(
            f"order={plan.order[0]!r}: is of type {arrow}, too narrow for the bounds of {plan.windows[0]!r} ({error}); "
            "expected a wider type, e.g. int64"
        ) from error


def window_columns(plan: Plan, rows: Rows) -> dict[str, pa.Array]:
    """The columns that say which window a row is."""
    bounds = [part for part in (rows.starts, rows.ends, rows.fragments) if part is not None]
    fields = plan.window_fields()
    return {field.name: bound_column(plan, part, field.type) for field, part in zip(fields, bounds, strict=True)}


def bound_values(column: Column, arrow: pa.DataType, unit: str, *, upper: bool) -> tuple[Any, Any]:
    """A column of bounds in units of the order column, and which of them are there.

    A bound between two order values becomes the one inside the window, so comparing stays exact.
    """
    values, valid = column.values, column.valid
    valid = np.ones(len(values), dtype=np.bool_) if valid is None else valid
    if values.dtype == np.float64:
        valid = valid & ~np.isnan(values)
        if unit == "float":
            return values, valid
        inside = np.floor(values) if upper else np.ceil(values)
        return _to_int64(np.where(valid, inside, 0.0)), valid
    if unit == "float":
        return _to_float64(values, upper), valid
    return (values if unit == "int" else _in_unit(values, arrow, unit, upper)), valid


def _to_int64(values: Any) -> Any:
    """Whole floats as int64, those beyond it as its ends."""
    clipped = np.clip(values, -(2.0**63), np.nextafter(2.0**63, 0.0)).astype(np.int64)
    return np.where(values >= 2.0**63, HIGHEST, clipped)


def _to_float64(values: Any, upper: bool) -> Any:
    """The nearest float64 on the inner side of each int64."""
    near = values.astype(np.float64)
    back = _to_int64(near)
    if upper:
        return np.where((back > values) | (near >= 2.0**63), np.nextafter(near, -np.inf), near)
    return np.where(back < values, np.nextafter(near, np.inf), near)


def _in_unit(values: Any, arrow: pa.DataType, unit: str, upper: bool) -> Any:
    """Times of one unit in another."""
    mine = arrow.unit if pa.types.is_timestamp(arrow) else "ms" if pa.types.is_date64(arrow) else "d"
    have, want = NANOS[mine], NANOS[unit]
    if have < want:
        below, rest = np.divmod(values, want // have)
        return below if upper else below + (rest > 0)
    factor = have // want
    return np.clip(values, LOWEST // factor + 1, HIGHEST // factor) * factor
