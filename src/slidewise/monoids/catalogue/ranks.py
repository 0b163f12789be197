"""By rank: the k largest, the median, exact quantiles."""

from __future__ import annotations

import bisect
import functools
import math
from collections.abc import Callable
from typing import Any

from slidewise.errors import bad
from slidewise.monoids.aggregate import Aggregate, Family
from slidewise.monoids.catalogue.base import NUMERIC, ORDERED, Kinds, bind, counted, later
from slidewise.monoids.catalogue.ends import dtype_of, vector
from slidewise.monoids.kinds import NUMBERS
from slidewise.monoids.monoid import Monoid
from slidewise.monoids.tally import Tally, monoid_of


# ---- top_k: a count, then as many values, largest first -------------------------------------------------------------
def _insert_ranked(k: int) -> Callable[[Any, Any], None]:
    def add(S: Any, x: Any) -> None:
        held = int(S[0])
        if held == k and not later(S[k], x):
            return
        if held < k:
            S[0] = held + 1
        else:
            held -= 1
        while held > 0 and later(S[held], x):
            S[held + 1] = S[held]
            held -= 1
        S[held + 1] = x

    return add


def _choose_top_k(kinds: Kinds, k: int = 5) -> Monoid | None:
    return None if kinds[0] == "unordered" else vector("top_k", k, _insert_ranked, dtype_of(kinds))


TOP_K = Family("top_k", ORDERED, _choose_top_k, nature="algebraic", parts=("the k largest",))


def top_k(column: str | int | None = None, k: int | None = None) -> Aggregate:
    """The k largest values, largest first, as a list; k is 5 unless given. O(k) per answer.

    >>> import slidewise as sw
    >>> sw.slide([3, 1, 4, 1], sw.top_k(2), sw.trailing(3))
    [[3], [3, 1], [4, 3], [4, 1]]
    """
    named, k = counted(column, k, 5, "k")
    return bind(TOP_K, named, k=k)


# ---- median, quantile: all values, sorted; NaN last -----------------------------------------------------------------
def _rank(x: float) -> tuple[bool, float]:
    return (x != x, 0.0 if x != x else x)


def _insert(S: list[float], x: Any) -> None:
    bisect.insort(S, float(x), key=_rank)


def _remove(S: list[float], x: Any) -> None:
    del S[bisect.bisect_left(S, _rank(float(x)), key=_rank)]


def _merge(S: list[float], T: list[float]) -> None:
    S.extend(T)
    S.sort(key=_rank)


def interpolated(q: float) -> Callable[[list[float]], float | None]:
    """The q-quantile of sorted values, interpolated between neighbours, as Spark's `percentile`."""

    def lower(S: list[float]) -> float | None:
        if not S:
            return None
        place = q * (len(S) - 1)
        below = math.floor(place)
        share = place - below
        low = S[below]
        high = S[below + 1] if share else low
        return low if low == high else low * (1.0 - share) + high * share  # their difference may be beyond all floats

    return lower


@functools.cache
def exact_quantile(name: str, q: float) -> Monoid:
    """The exact q-quantile."""
    tally = Tally(
        add=_insert, remove=_remove, merge=_merge, lower=interpolated(q), new=list, answer="float64", quantile=q
    )
    return monoid_of(tally, commutative=True, name=name, result="float64")


def _choose_median(kinds: Kinds) -> Monoid | None:
    return exact_quantile("median", 0.5) if kinds[0] in NUMBERS or kinds[0] == "decimal" else None


MEDIAN = Family(
    "median", NUMERIC, _choose_median, nature="holistic", parts=("the values",), instead="quantile(column, q=0.5)"
)


def median(column: str | None = None) -> Aggregate:
    """The exact median, float64: the mean of the two middle values where their number is even; null without values.

    Over whole columns of numbers by ranks, at a cost that hardly grows with the window. A live window keeps all its
    values, sorted: O(log w) and a move per event; `quantile` keeps a sketch instead.

    >>> import slidewise as sw
    >>> sw.slide([3.0, 1.0, 2.0, 10.0], sw.median(), sw.trailing(3))
    [3.0, 2.0, 2.0, 2.0]
    """
    return bind(MEDIAN, column)


def checked_quantile(q: object) -> float:
    """A quantile as a number from 0 to 1."""
    if isinstance(q, bool) or not isinstance(q, (int, float)) or not 0 <= q <= 1:
        raise bad("q", q, "a number from 0 to 1")
    return float(q)
