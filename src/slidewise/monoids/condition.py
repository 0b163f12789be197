"""A test of one column, as a frozen value: which rows an aggregate counts. The engine evaluates it on whole columns."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np

from slidewise.errors import ArgumentError, listed, shown

COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
MEMBERSHIPS = ("in", "not in")
NULL_TESTS = ("is null", "is not null")
TESTS = (*COMPARISONS, *MEMBERSHIPS, *NULL_TESTS)

PLAIN = (bool, int, float, str, bytes, Decimal, dt.date, dt.timedelta, np.generic)


@dataclass(frozen=True)
class Condition:
    """`column test value`; column None is the values of a plain sequence.

    A null passes ``is null`` and no other test, as in SQL.
    """

    column: str | None
    test: str
    value: Any = None

    def __repr__(self) -> str:
        shown = [] if self.column is None else [repr(self.column)]
        shown.append(repr(self.test))
        if self.test not in NULL_TESTS:
            shown.append(repr(list(self.value) if self.test in MEMBERSHIPS else self.value))
        return ", ".join(shown)


def condition(given: tuple[Any, ...]) -> Condition:
    """The arguments of `where` as a condition, or an error that shows how it is written.

    >>> condition(("state", "in", [1, 2]))
    'state', 'in', [1, 2]
    """
    if len(given) == 1 and isinstance(given[0], Condition):
        return given[0]
    named = len(given) >= 2 and not (given[0] in TESTS and given[1] not in TESTS)
    column, rest = (given[0], given[1:]) if named else (None, given)
    test, values = (rest[0], rest[1:]) if rest else (None, ())
    wanted = 0 if test in NULL_TESTS else 1
    if not isinstance(test, str) or test not in TESTS or len(values) != wanted or not isinstance(column, str | None):
        raise ArgumentError(
            f"where({', '.join(map(shown, given))}): expected a column, a test and a value, e.g. "
            f"where('state', '==', 1); the tests are {listed(TESTS)}"
        )
    if test in NULL_TESTS:
        return Condition(column, test)
    (value,) = values
    if test in MEMBERSHIPS:
        if not isinstance(value, (list, tuple, set, frozenset)) or not all(isinstance(one, PLAIN) for one in value):
            raise ArgumentError(f"where(..., {test!r}, {shown(value)}): expected a list of plain values")
        value = tuple(value)
    elif not isinstance(value, PLAIN):
        hint = "; to find nulls use 'is null'" if value is None else ""
        raise ArgumentError(f"where(..., {test!r}, {shown(value)}): expected a plain value{hint}")
    return Condition(column, test, value)
