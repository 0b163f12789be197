"""All and any, over booleans; null is skipped, as in SQL."""

from __future__ import annotations

from typing import Any

from slidewise.monoids.aggregate import Aggregate, Family
from slidewise.monoids.catalogue.base import Kinds, bind
from slidewise.monoids.monoid import Monoid


def _truth(x: Any) -> bool:
    return bool(x)


def _both(a: bool, b: bool) -> bool:
    return a and b


def _either(a: bool, b: bool) -> bool:
    return a or b


ALL_MONOID = Monoid(identity=True, lift=_truth, combine=_both, commutative=True, name="all", result="bool")
ANY_MONOID = Monoid(identity=False, lift=_truth, combine=_either, commutative=True, name="any", result="bool")


def _choose_all(kinds: Kinds) -> Monoid | None:
    return ALL_MONOID if kinds[0] == "bool" else None


def _choose_any(kinds: Kinds) -> Monoid | None:
    return ANY_MONOID if kinds[0] == "bool" else None


ALL = Family("all", "booleans", _choose_all, parts=("all",))
ANY = Family("any", "booleans", _choose_any, parts=("any",))


def all(column: str | None = None) -> Aggregate:
    """True if every value is; null without values.

    >>> import slidewise as sw
    >>> sw.slide([True, False, True, True], sw.all(), sw.trailing(2))
    [True, False, False, True]
    """
    return bind(ALL, column)


def any(column: str | None = None) -> Aggregate:
    """True if some value is; null without values.

    >>> import slidewise as sw
    >>> sw.slide([True, False, False, True], sw.any(), sw.trailing(2))
    [True, True, False, True]
    """
    return bind(ANY, column)
