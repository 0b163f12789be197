"""Conditions on whole columns: which rows an aggregate's `where` lets through. One Arrow pass per condition.

NaN is larger than any number here as everywhere; a null passes `is null` and nothing else.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slidewise.engine.columns import Column
from slidewise.errors import ArgumentError
from slidewise.monoids.condition import COMPARISONS, Condition

ARROW = {
    "==": pc.equal,
    "!=": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}
PYTHON = dict(
    zip(COMPARISONS, (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge), strict=True)
)


def check_condition(condition: Condition, arrow: pa.DataType | None, shown: str) -> None:
    """Raise `ArgumentError` if a column of this type cannot be tested like that."""
    if arrow is None:
        return
    try:
        passes(pa.array([], type=arrow), condition)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise ArgumentError(
            f"{shown}: column {condition.column!r} of type {arrow} cannot be tested by {condition!r} ({error})"
        ) from error


def passes(column: Any, condition: Condition) -> Any:
    """Which rows pass, as booleans."""
    if isinstance(column, Column):
        return np.array([passes_one(value, condition) for value in column.values], dtype=np.bool_)
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    test, value = condition.test, condition.value
    if test in ("is null", "is not null"):
        found = pc.is_null(column) if test == "is null" else pc.is_valid(column)
    elif test in ("in", "not in"):
        found = _is_in(column, value)
        found = pc.if_else(pc.is_valid(column), found if test == "in" else pc.invert(found), False)
    else:
        found = _compared(column, test, value)
    kept = pc.fill_null(found, False)
    return np.asarray(kept.to_numpy() if isinstance(kept, pa.ChunkedArray) else kept.to_numpy(zero_copy_only=False))


def _is_in(column: Any, values: tuple[Any, ...]) -> Any:
    found = None
    for value in values:
        one = _compared(column, "==", value)
        found = one if found is None else pc.or_(found, one)
    return pc.and_(pc.is_valid(column), False) if found is None else found


def _compared(column: Any, test: str, value: Any) -> Any:
    floats = pa.types.is_floating(column.type)
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float) and math.isnan(value):
        nan = pc.is_nan(column) if floats else pc.if_else(pc.is_valid(column), False, None)
        if test in ("==", ">="):
            return nan
        if test in ("!=", "<"):
            return pc.invert(nan)
        return pc.or_(nan, pc.invert(nan)) if test == "<=" else pc.and_(nan, pc.invert(nan))
    exact = _exact(test, value, column.type)
    if isinstance(exact, bool):
        return pc.if_else(pc.is_valid(column), exact, None)
    test, value = exact
    found = ARROW[test](column, _scalar(value, column.type))
    return pc.or_(found, pc.is_nan(column)) if floats and test in (">", ">=") else found


def _exact(test: str, value: Any, arrow: pa.DataType) -> tuple[str, Any] | bool:
    """The same test with a number of the column's own sort, or what all values answer.

    Arrow would go through floats, which hold 53 bits. For an integer x, x > 2.5 is x > 2, x < 2.5 is x < 3, and no x is
    equal to 2.5.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return test, value
    if pa.types.is_integer(arrow):
        if not -(2**63) <= value < 2**63:
            return test in (("!=", "<", "<=") if value > 0 else ("!=", ">", ">="))
        low, high = math.floor(value), math.ceil(value)
        if low == high:
            return test, low
        return test == "!=" if test in ("==", "!=") else (test[0], low if test[0] == ">" else high)
    if pa.types.is_floating(arrow) and isinstance(value, int):
        near = float(value) if abs(value) < 2**1023 else math.inf if value > 0 else -math.inf
        if near == value:
            return test, near
        if test in ("==", "!="):
            return test == "!="
        return test[0] + ("=" if (test[0] == ">") == (near > value) else ""), near
    return test, value


def _scalar(value: Any, arrow: pa.DataType) -> Any:
    """The value in the column's own type where it is exactly that, else as it is."""
    if pa.types.is_temporal(arrow) and isinstance(value, (int, float)):
        raise TypeError("expected a date, a time or a duration, not a number of some unit")
    natural = pa.scalar(value)
    if natural.type == arrow or pa.types.is_null(arrow):
        return pa.scalar(value, type=arrow) if not pa.types.is_null(arrow) else natural
    if pa.types.is_temporal(arrow) or pa.types.is_decimal(arrow):
        return pa.scalar(value, type=arrow)
    return natural


def passes_one(value: Any, condition: Condition) -> bool:
    """True if one Python value passes."""
    if condition.test in ("is null", "is not null"):
        return (value is None) == (condition.test == "is null")
    if value is None:
        return False
    if condition.test in ("in", "not in"):
        found = value in condition.value or (value != value and any(one != one for one in condition.value))
        return found == (condition.test == "in")
    if value != value or condition.value != condition.value:  # NaN is equal to itself and larger than any number
        value, other = (value != value, 0), (condition.value != condition.value, 0)
        return bool(PYTHON[condition.test](value, other))
    try:
        return bool(PYTHON[condition.test](value, condition.value))
    except TypeError as error:
        raise ArgumentError(f"where({condition!r}): cannot be tested on {value!r} ({error})") from error
