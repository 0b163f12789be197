"""Events at the door of a live window: values of one kind, times in nanoseconds since the epoch."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np

from slidewise.errors import ArgumentError, shown, whole
from slidewise.monoids.kinds import ACCEPTS, Kind, kind_of_value

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def python_value(value: Any) -> Any:
    """NumPy's numbers as Python's, which neither wrap around nor need a codec; anything else as it is.

    >>> python_value(np.int64(3)), python_value("a")
    (3, 'a')
    """
    return value.item() if isinstance(value, (np.number, np.bool_)) else value


def fitting(value: Any, kind: Kind) -> Any:
    """The value as a window of this kind takes it, or `ArgumentError`.

    >>> fitting(1, "float")
    1.0
    """
    mine = kind_of_value(value)
    if mine not in ACCEPTS[kind]:
        wider = "float" if (mine, kind) in (("float", "int"), ("float", "bool")) else "object"
        raise ArgumentError(
            f"value={shown(value)}: is of kind {mine}, the window's values are of kind {kind}; expected more of those, "
            f"or LiveWindow(..., kind={wider!r}) from the start"
        )
    return float(value) if kind == "float" else value


def nanos(time: object) -> int:
    """An event's time in nanoseconds since the epoch; integers are taken as such, naive datetimes as UTC.

    >>> nanos(datetime(1970, 1, 1, 0, 0, 1))
    1000000000
    """
    if hasattr(time, "to_datetime64"):  # a pandas Timestamp, which a datetime would cut to microseconds
        time = time.to_datetime64()
    if isinstance(time, np.datetime64) and not np.isnat(time):
        return int(time.astype("datetime64[ns]").astype(np.int64))
    if isinstance(time, datetime):
        aware = time if time.tzinfo is not None else time.replace(tzinfo=UTC)
        return (aware - EPOCH) // timedelta(microseconds=1) * 1000
    if isinstance(time, date):
        return (time - EPOCH.date()) // timedelta(microseconds=1) * 1000
    allowed = "a datetime, date, numpy.datetime64, or integer nanoseconds since the epoch"
    return whole("time", time, least=-(2**63), allowed=allowed)


def in_nanos(value: Any) -> Any:
    """Times and lengths of time as nanoseconds, also inside tuples and lists; anything else as it is.

    >>> in_nanos(datetime(1970, 1, 1, 0, 0, 1)), in_nanos(timedelta(microseconds=2)), in_nanos("a")
    (1000000000, 2000, 'a')
    """
    if isinstance(value, (tuple, list)):
        return type(value)(map(in_nanos, value))
    if isinstance(value, timedelta):
        return getattr(value, "value", value // timedelta(microseconds=1) * 1000)  # pandas' own has nanoseconds
    if isinstance(value, np.timedelta64) and not np.isnat(value):
        return int(value.astype("timedelta64[ns]").astype(np.int64))
    return nanos(value) if isinstance(value, (date, np.datetime64)) else value


def place(order: object) -> int | float:
    """An event's place along a numeric order; infinities are places, NaN is none.

    >>> place(3), place(np.float32(0.5))
    (3, 0.5)
    """
    value = python_value(order)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value:
        raise ArgumentError(f"time={shown(order)}: expected a number, the event's place along the order")
    return value
