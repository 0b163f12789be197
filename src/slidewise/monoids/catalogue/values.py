"""The values themselves: all of them, the distinct ones, how many of those, the most frequent, all in one string.

These partials grow with the window, so they are holistic; each keeps one collection per window and changes it in place.
"""

from __future__ import annotations

import functools
import heapq
from collections import deque
from typing import Any

from slidewise.errors import bad
from slidewise.monoids.aggregate import Aggregate, Family
from slidewise.monoids.catalogue.base import ANY, ORDERED, Kinds, bind, counted
from slidewise.monoids.codec import decode_plain, encode_plain
from slidewise.monoids.monoid import Monoid
from slidewise.monoids.tally import Tally, monoid_of

NAN = float("nan")
"""One NaN, so that all NaN are one key of a dict."""


# ---- in order -------------------------------------------------------------------------------------------------------
def _append(S: deque[Any], x: Any) -> None:
    S.append(x)


def _drop(S: deque[Any], x: Any) -> None:
    S.popleft()


def _extend(S: deque[Any], T: deque[Any]) -> None:
    S.extend(T)


def _one_each(S: deque[Any]) -> list[Any]:
    return list(dict.fromkeys(map(_key, S)))


def _in_order(name: str, lower: Any, result: str) -> Monoid:
    tally = Tally(add=_append, remove=_drop, merge=_extend, lower=lower, new=deque)
    return monoid_of(tally, name=name, result=result, codec=CODEC)


def _encode(partial: Any) -> bytes:
    return encode_plain(list(partial))


def _decode(stored: bytes) -> Any:
    return deque(decode_plain(stored))


CODEC = (_encode, _decode)

COLLECT_MONOID = _in_order("collect", list, "list_of_same")
COLLECT_DISTINCT_MONOID = _in_order("collect_distinct", _one_each, "list_of_same")


@functools.cache
def _joined(sep: str) -> Monoid:
    return _in_order("concat", sep.join, "string")


def _choose_collect(kinds: Kinds) -> Monoid:
    return COLLECT_MONOID


def _choose_collect_distinct(kinds: Kinds) -> Monoid | None:
    return None if kinds[0] == "unordered" else COLLECT_DISTINCT_MONOID


def _choose_concat(kinds: Kinds, sep: str = "") -> Monoid | None:
    return _joined(sep) if kinds[0] == "string" else None


COLLECT = Family("collect", ANY, _choose_collect, nature="holistic", parts=("the values",), instead="last_n(column, n)")
COLLECT_DISTINCT = Family(
    "collect_distinct",
    ORDERED,
    _choose_collect_distinct,
    nature="holistic",
    parts=("the values",),
    instead="bloom(column)",
)
CONCAT = Family(
    "concat", "strings", _choose_concat, nature="holistic", parts=("the values",), instead="last_n(column, n)"
)


def collect(column: str | None = None) -> Aggregate:
    """All non-null values, oldest first, as a list; null without values. An answer costs its length.

    >>> import slidewise as sw
    >>> sw.slide(["a", "b", "c"], sw.collect(), sw.trailing(2))
    [['a'], ['a', 'b'], ['b', 'c']]
    """
    return bind(COLLECT, column)


def collect_distinct(column: str | None = None) -> Aggregate:
    """The distinct non-null values in the order in which they first appear, as a list; null without values.

    >>> import slidewise as sw
    >>> sw.slide(["a", "b", "a"], sw.collect_distinct(), sw.trailing(3))
    [['a'], ['a', 'b'], ['a', 'b']]
    """
    return bind(COLLECT_DISTINCT, column)


def concat(column: str | None = None, *, sep: str = "") -> Aggregate:
    """All strings, oldest first, in one, with `sep` between; null without values.

    >>> import slidewise as sw
    >>> sw.slide(["a", "b", "c"], sw.concat(sep="-"), sw.trailing(2))
    ['a', 'a-b', 'b-c']
    """
    if not isinstance(sep, str):
        raise bad("sep", sep, "a string")
    return bind(CONCAT, column, sep=sep or None)


# ---- by value: a count each -----------------------------------------------------------------------------------------
def _key(x: Any) -> Any:
    return NAN if x != x else x


def _count(S: dict[Any, int], x: Any) -> None:
    x = _key(x)
    S[x] = S.get(x, 0) + 1


def _uncount(S: dict[Any, int], x: Any) -> None:
    x = _key(x)
    left = S[x] - 1
    if left:
        S[x] = left
    else:
        del S[x]


def _count_all(S: dict[Any, int], T: dict[Any, int]) -> None:
    for x, n in T.items():
        S[x] = S.get(x, 0) + n


def _counting(name: str, lower: Any, **parts: Any) -> Monoid:
    tally = Tally(add=_count, remove=_uncount, merge=_count_all, lower=lower, new=dict, distinct=lower is len)
    return monoid_of(tally, commutative=True, name=name, codec=(encode_plain, _decode_counts), **parts)


def _decode_counts(stored: bytes) -> dict[Any, int]:
    """With the one NaN again, which is a key because it is that object."""
    return {_key(x): n for x, n in decode_plain(stored).items()}


def _rank(item: tuple[Any, int]) -> tuple[int, bool, Any]:
    value, n = item
    return (-n, value != value, 0 if value != value else value)


@functools.cache
def _most_frequent(k: int, counts: bool) -> Monoid:
    def lower(S: dict[Any, int]) -> list[Any]:
        found = heapq.nsmallest(k, S.items(), key=_rank)
        return [{"value": value, "count": n} for value, n in found] if counts else [value for value, _ in found]

    return _counting("most_frequent", lower, result="counts_of_same" if counts else "list_of_same")


COUNT_DISTINCT_MONOID = _counting("count_distinct", len, result="int64", answers_empty=True)


def _choose_count_distinct(kinds: Kinds) -> Monoid | None:
    return None if kinds[0] == "unordered" else COUNT_DISTINCT_MONOID


def _choose_most_frequent(kinds: Kinds, k: int = 5, counts: bool = False) -> Monoid | None:
    return None if kinds[0] == "unordered" else _most_frequent(k, counts)


COUNT_DISTINCT = Family(
    "count_distinct",
    ORDERED,
    _choose_count_distinct,
    nature="holistic",
    parts=("counts by value",),
    instead="approx_distinct(column)",
)
MOST_FREQUENT = Family(
    "most_frequent",
    ORDERED,
    _choose_most_frequent,
    nature="holistic",
    parts=("counts by value",),
    instead="top_k(column, k) or last_n(column, n)",
)


def count_distinct(column: str | None = None) -> Aggregate:
    """How many distinct non-null values, exactly, int64; 0 without values. O(1) per event; `approx_distinct` needs less
    memory.

    >>> import slidewise as sw
    >>> sw.slide([1, 1, 2, 3], sw.count_distinct(), sw.trailing(3))
    [1, 1, 2, 3]
    """
    return bind(COUNT_DISTINCT, column)


def most_frequent(column: str | int | None = None, k: int | None = None, *, counts: bool = False) -> Aggregate:
    """The k most frequent values, most frequent first, ties to the smaller value, as a list; k is 5 unless given.

    With ``counts=True`` each comes with its count, as a struct of value and count. O(distinct values) per answer.

    >>> import slidewise as sw
    >>> sw.slide(["b", "a", "a", "c"], sw.most_frequent(2), sw.trailing(4))
    [['b'], ['a', 'b'], ['a', 'b'], ['a', 'b']]
    """
    named, k = counted(column, k, 5, "k")
    if not isinstance(counts, bool):
        raise bad("counts", counts, "True or False")
    return bind(MOST_FREQUENT, named, k=k, counts=counts or None)
