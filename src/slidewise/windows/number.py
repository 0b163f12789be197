"""Lengths as users write them: a number of rows, a duration, or a number along the order column."""

from __future__ import annotations

import math
import numbers
from typing import Literal

from slidewise.duration import ALLOWED, is_duration, nanoseconds
from slidewise.errors import ArgumentError, bad, shown, whole

ROWS = "a number of rows, an integer of at least 1"
MOST_ROWS = 2**40

Along = Literal["rows", "order"]
Length = int | float
Measured = tuple[Literal["rows", "time", "order"], Length]


def measured(argument: str, value: object, along: object = None, *, or_zero: bool = False) -> Measured:
    """What a length is measured along, and how long it is there: rows, nanoseconds, or a number in units of `order`.

    An integer counts rows unless `along="order"`; a float is always along the order, a duration always in time.

    >>> measured("trailing", 10), measured("trailing", 10, "order"), measured("trailing", "1 ms")
    (('rows', 10), ('order', 10), ('time', 1000000))
    """
    if along not in (None, "rows", "order"):
        raise bad("along", along, "'rows' or 'order'")
    if is_duration(value):
        if along == "rows":
            raise ArgumentError(f"along='rows': {shown(value)} is a duration; expected {ROWS}")
        return "time", nanoseconds(value, argument, or_zero=or_zero)
    fractional = isinstance(value, numbers.Real) and not isinstance(value, numbers.Integral)
    if along == "order" or (fractional and along is None):
        return "order", number(
            argument, value, f"a positive finite number along the order, or {ALLOWED}", or_zero=or_zero
        )
    allowed = ROWS if along == "rows" else f"{ROWS}, a number along the order (a float, or along='order'), or {ALLOWED}"
    return "rows", whole(argument, value, 0 if or_zero else 1, allowed, below=MOST_ROWS)


def number(argument: str, value: object, allowed: str, *, or_zero: bool = False) -> Length:
    """A positive finite number, integers as such, or the usual message.

    >>> number("gap", 3, "a positive number"), number("gap", 2.5, "a positive number")
    (3, 2.5)
    """
    if isinstance(value, numbers.Integral) and not isinstance(value, bool) and not is_duration(value):
        return whole(argument, value, 0 if or_zero else 1, allowed, below=2**62)
    if isinstance(value, numbers.Real) and not isinstance(value, bool) and not is_duration(value):
        length = float(value)
        if math.isfinite(length) and (length > 0 or (or_zero and length == 0)):
            return length
    raise bad(argument, value, allowed)
