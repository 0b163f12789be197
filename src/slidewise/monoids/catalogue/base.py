"""What the files of the catalogue share: binding to columns, choosing by kind, the words for what is taken."""

from __future__ import annotations

import decimal
from collections.abc import Callable, Hashable
from typing import Any

from slidewise.errors import bad, whole
from slidewise.monoids.aggregate import Aggregate, Family
from slidewise.monoids.kinds import NUMBERS, Kind
from slidewise.monoids.monoid import Monoid

NUMERIC = "numbers (integers, floats, booleans, decimals)"
ORDERED = "values with an order (numbers, decimals, times, strings, bytes)"
ANY = "any column"

Kinds = tuple[Kind, ...]

EXACT = decimal.Context(prec=90)
"""Wide enough for any sum of 38-digit decimals; the default context would round to 28 digits."""


def bind(family: Family, *columns: str | None, **options: Hashable) -> Aggregate:
    """The family bound to the columns that were given, with the options that were."""
    given = tuple((name, value) for name, value in options.items() if value is not None)
    return Aggregate(family, tuple(column for column in columns if column is not None), options=given)


def numeric(monoid: Monoid) -> Callable[..., Monoid | None]:
    """`choose` for one monoid that takes numbers only."""
    return lambda kinds: monoid if all(kind in NUMBERS or kind == "decimal" for kind in kinds) and kinds else None


def counted(
    column: str | int | None, number: int | None, default: int, name: str, most: int = 1024
) -> tuple[str | None, int]:
    """The column and the number of `top_k("x", 3)`, `top_k(3)` or `top_k("x", k=3)`."""
    named = column if isinstance(column, str) else None
    if column is not None and named is None:
        if number is not None:
            raise bad("column", column, "the name of a column")
        number = column  # type: ignore[assignment]  # checked below
    chosen = default if number is None else number
    return named, whole(name, chosen, 1, f"an integer from 1 to {most}", below=most + 1)


def later(a: Any, b: Any) -> Any:
    """True if b is larger than a; NaN is larger than any number."""
    return b > a or (b != b and a == a)


def earlier(a: Any, b: Any) -> Any:
    """True if b is smaller than a; NaN is larger than any number."""
    return b < a or (a != a and b == b)


def add(a: Any, b: Any) -> Any:
    """Numbers add up."""
    return a + b


def subtract(whole: Any, older: Any) -> Any:
    """What is left when the older number goes."""
    return whole - older
