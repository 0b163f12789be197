"""How many: rows, or values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from slidewise.monoids.aggregate import Aggregate, Family
from slidewise.monoids.catalogue.base import Kinds, add, bind, subtract
from slidewise.monoids.monoid import Monoid


def _one_row() -> int:
    return 1


def _one_value(value: Any) -> int:
    return 1


def _monoid(lift: Callable[..., int]) -> Monoid:
    return Monoid(
        identity=0,
        lift=lift,
        combine=add,
        inverse=subtract,
        commutative=True,
        name="count",
        result="int64",
        answers_empty=True,
    )


COUNT_ROWS, COUNT_VALUES = _monoid(_one_row), _monoid(_one_value)


def _choose(kinds: Kinds) -> Monoid:
    return COUNT_VALUES if kinds else COUNT_ROWS


COUNT = Family("count", "any column, or none", _choose, parts=("count",), columns=(0, 1))


def count(column: str | None = None) -> Aggregate:
    """How many rows; with a column, how many non-null values. int64, 0 for an empty window.

    >>> import slidewise as sw
    >>> sw.slide([5, None, 7], sw.count(), sw.trailing(2))
    [1, 2, 2]
    """
    return bind(COUNT, column)
