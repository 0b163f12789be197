"""The oldest and the newest values of a window."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from slidewise.monoids.aggregate import Aggregate, Family
from slidewise.monoids.catalogue.base import ANY, Kinds, bind, counted
from slidewise.monoids.kinds import COMPILED
from slidewise.monoids.monoid import Monoid
from slidewise.monoids.tally import Tally, monoid_of


# ---- first, last: (value, there is one) -----------------------------------------------------------------------------
def _here(x: Any) -> tuple[Any, bool]:
    return (x, True)


def _older(a: tuple[Any, bool], b: tuple[Any, bool]) -> tuple[Any, bool]:
    return a if a[1] else b


def _newer(a: tuple[Any, bool], b: tuple[Any, bool]) -> tuple[Any, bool]:
    return b if b[1] else a


def _value(p: tuple[Any, bool]) -> Any:
    return p[0]


def _end(name: str, combine: Callable[[Any, Any], Any], zero: Any) -> Monoid:
    return Monoid(
        identity=(zero, False), lift=_here, combine=combine, lower=_value, selective=True, name=name, result="same"
    )


def _end_family(name: str, combine: Callable[[Any, Any], Any]) -> Family:
    machine, objects = _end(name, combine, 0), _end(name, combine, None)

    def choose(kinds: Kinds) -> Monoid:
        return machine if kinds[0] in COMPILED else objects

    return Family(name, ANY, choose, parts=(name,))


FIRST, LAST = _end_family("first", _older), _end_family("last", _newer)


def first(column: str | None = None) -> Aggregate:
    """The oldest non-null value, in the column's own type.

    >>> import slidewise as sw
    >>> sw.slide([None, 2, 3, 4], sw.first(), sw.trailing(2))
    [None, 2, 2, 3]
    """
    return bind(FIRST, column)


def last(column: str | None = None) -> Aggregate:
    """The newest non-null value, in the column's own type.

    >>> import slidewise as sw
    >>> sw.slide([1, None, None, 4], sw.last(), sw.trailing(2))
    [1, 1, None, 4]
    """
    return bind(LAST, column)


# ---- first_n, last_n: a count, then as many values, oldest first ----------------------------------------------------
def _append_first(n: int) -> Callable[[Any, Any], None]:
    def add(S: Any, x: Any) -> None:
        held = int(S[0])
        if held < n:
            S[1 + held] = x
            S[0] = held + 1

    return add


def _append_last(n: int) -> Callable[[Any, Any], None]:
    def add(S: Any, x: Any) -> None:
        held = int(S[0])
        if held == n:
            for k in range(1, n):
                S[k] = S[k + 1]
            held -= 1
        S[1 + held] = x
        S[0] = held + 1

    return add


def _merge_by(add: Callable[[Any, Any], None]) -> Callable[[Any, Any], None]:
    def merge(S: Any, T: Any) -> None:
        for k in range(int(T[0])):
            add(S, T[1 + k])

    return merge


def copy_out(S: Any, out: Any) -> int:
    """The values of a tally that is a count and as many values."""
    held = int(S[0])
    for k in range(held):
        out[k] = S[1 + k]
    return held


@functools.cache
def vector(name: str, n: int, make: Callable[[int], Callable[[Any, Any], None]], dtype: str) -> Monoid:
    """A monoid that keeps up to n values, by a function that adds one; `dtype` "" for values that are objects."""
    add = make(n)
    tally = Tally(
        add=add,
        merge=_merge_by(add),
        lower=copy_out,
        new=lambda: [0] * (n + 1),
        size=n + 1 if dtype else 0,
        dtype=dtype or "int64",
        answer="list",
        most=n,
    )
    return monoid_of(tally, name=name, result="list_of_same")


def dtype_of(kinds: Kinds) -> str:
    """The dtype of a vector of values of this kind; "" for objects."""
    return "" if kinds[0] not in COMPILED else "float64" if kinds[0] == "float" else "int64"


def _choose_first_n(kinds: Kinds, n: int = 5) -> Monoid:
    return vector("first_n", n, _append_first, dtype_of(kinds))


def _choose_last_n(kinds: Kinds, n: int = 5) -> Monoid:
    return vector("last_n", n, _append_last, dtype_of(kinds))


FIRST_N = Family("first_n", ANY, _choose_first_n, nature="algebraic", parts=("the n oldest",))
LAST_N = Family("last_n", ANY, _choose_last_n, nature="algebraic", parts=("the n newest",))


def first_n(column: str | int | None = None, n: int | None = None) -> Aggregate:
    """The n oldest non-null values, oldest first, as a list; n is 5 unless given. O(n) per answer.

    >>> import slidewise as sw
    >>> sw.slide([1, 2, 3, 4], sw.first_n(2), sw.trailing(3))
    [[1], [1, 2], [1, 2], [2, 3]]
    """
    named, n = counted(column, n, 5, "n")
    return bind(FIRST_N, named, n=n)


def last_n(column: str | int | None = None, n: int | None = None) -> Aggregate:
    """The n newest non-null values, oldest first, as a list; n is 5 unless given. O(n) per answer.

    >>> import slidewise as sw
    >>> sw.slide([1, 2, 3, 4], sw.last_n(2), sw.trailing(3))
    [[1], [1, 2], [2, 3], [3, 4]]
    """
    named, n = counted(column, n, 5, "n")
    return bind(LAST_N, named, n=n)
