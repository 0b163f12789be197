"""Slide policies with their meaning in plain Python: every prefix is asked about, one after the other.

    rows of a key, in order ──► append the row, ask each policy about each prefix, drop the longest that one evicts

A use is the aggregate as a user writes it and a fold of rows; None means that it has no value yet. All policies here
are monotone whatever the values are, sums are of integers, so that no rounding is in the way.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import slidewise as sw
from tests.golden import Column, Columns

Row = dict[str, Any]
LIMITS = {"few": 3, "text": 4}
SECOND = 1_000_000_000


@dataclass(frozen=True)
class Use:
    """An aggregate in `uses`, and what it means."""

    aggregate: sw.Aggregate
    fold: Callable[[list[Row]], Any]


@dataclass(frozen=True)
class Policy:
    """A function of (total, old), and what it uses; `compiles` says at which speed it must run."""

    function: Callable[[Any, Any], bool]
    uses: dict[str, Use]
    compiles: bool = True

    def window(self, **options: Any) -> Any:
        """As a user writes it."""
        return sw.evict_while(self.function, {name: use.aggregate for name, use in self.uses.items()}, **options)

    def longest(self, rows: list[Row]) -> int:
        """How many rows leave: each prefix is asked about, but those in which some use has no value."""
        total, gone = self._seen(rows), 0
        for k in range(1, len(rows) + 1):
            old = self._seen(rows[:k])
            if all(value is not None for value in old.values()) and self.function(
                SimpleNamespace(**total), SimpleNamespace(**old)
            ):
                gone = k
        return gone

    def _seen(self, rows: list[Row]) -> dict[str, Any]:
        return {name: use.fold(rows) for name, use in self.uses.items()}


def bounds(rows: list[Row], policies: Sequence[Policy], include_current: bool = True) -> list[list[Row]]:
    """What is in the window of each row of a key."""
    window: list[Row] = []
    found = []
    for row in rows:
        before = list(window)
        window.append(row)
        del window[: max(policy.longest(window) for policy in policies)]
        found.append(list(window) if include_current else before)
    return found


def rows_of(columns: Columns) -> list[Row]:
    return [
        {name: column.values[i] for name, column in columns.items()} for i in range(len(next(iter(columns.values()))))
    ]


def some(rows: list[Row], column: str) -> list[Any]:
    return [row[column] for row in rows if row[column] is not None]


def largest(values: list[Any]) -> Any:
    """NaN is the largest."""
    if not values:
        return None
    nans = [value for value in values if isinstance(value, float) and math.isnan(value)]
    return nans[0] if nans else max(values)


CONCAT = sw.Monoid(identity="", combine=lambda a, b: a + b, name="joined", result="string")
SIZES = sw.Monoid(  # listings 2 and 3 of 000: how many, and how many there may be, as the newest says
    identity=(0, 0),
    lift=lambda size: (1, size),
    combine=lambda a, b: (a[0] + b[0], b[1] if b[0] else a[1]),
    name="sizes",
)

COUNT = Use(sw.count(), len)
SUM_W = Use(sw.sum("w"), lambda rows: sum(some(rows, "w")) if some(rows, "w") else None)
FLAGGED = Use(
    sw.sum("w").where("flag", "==", True),
    lambda rows: (lambda found: sum(found) if found else None)(some([row for row in rows if row["flag"]], "w")),
)
MAX_X = Use(sw.max("x"), lambda rows: largest(some(rows, "x")))
LAST_W = Use(sw.last("w"), lambda rows: (some(rows, "w") or [None])[-1])
TEXT = Use(sw.aggregate(CONCAT, "s"), lambda rows: "".join(some(rows, "s")) if some(rows, "s") else None)
TIME = Use(sw.max("t"), lambda rows: max(row["t"] for row in rows) * 1000 if rows else None)
SIZED = Use(
    sw.aggregate(SIZES, "w"), lambda rows: (len(some(rows, "w")), some(rows, "w")[-1]) if some(rows, "w") else None
)


def _careful(total: Any, old: Any) -> bool:
    try:
        return bool(total.n - old.n >= 2)
    except ArithmeticError:
        return False


POLICIES: dict[str, Policy] = {
    "few": Policy(lambda total, old: total.n - old.n >= 3, {"n": COUNT}),
    "sum at most 10": Policy(lambda total, old: total.s - old.s + old.last > 10, {"s": SUM_W, "last": LAST_W}),
    "since the peak": Policy(lambda total, old: old.peak < total.peak, {"peak": MAX_X}),
    "flagged": Policy(lambda total, old: total.f - old.f >= 4 and total.n - old.n > 1, {"f": FLAGGED, "n": COUNT}),
    "3 s": Policy(lambda total, old: total.t - old.t >= 3 * SECOND, {"t": TIME}),
    "size in the data": Policy(lambda total, old: total.p[0] - old.p[0] >= total.p[1], {"p": SIZED}),
    "text": Policy(
        lambda total, old: len(total.text) - len(old.text) >= LIMITS["text"], {"text": TEXT}, compiles=False
    ),
    "of a dict": Policy(lambda total, old: total.n - old.n >= LIMITS["few"], {"n": COUNT}, compiles=False),
    "tries": Policy(_careful, {"n": COUNT}, compiles=False),
}


class Slowly:
    """The policy as a callable object, which is not compiled: one more kernel costs seconds."""

    def __init__(self, function: Callable[[Any, Any], bool]) -> None:
        self.function = function

    def __call__(self, total: Any, old: Any) -> bool:
        return self.function(total, old)


def on_objects(policy: Policy) -> Policy:
    return Policy(Slowly(policy.function), policy.uses, compiles=False)


def joined(policies: Sequence[Policy], **options: Any) -> Any:
    """All of them as one window."""
    window = policies[0].window(**options)
    for policy in policies[1:]:
        window = window | policy.window(**options)
    return window


def expected(
    columns: Columns, policies: Sequence[Policy], by: Sequence[str], include_current: bool = True, min_rows: int = 0
) -> dict[str, list[Any]]:
    """The count and the smallest id of each row's window: together they say which rows it has. Rows are in order."""
    rows = rows_of(columns)
    counts: list[Any] = [None] * len(rows)
    ids: list[Any] = [None] * len(rows)
    keys = [tuple(row[name] for name in by) for row in rows]
    for key in dict.fromkeys(keys):
        mine = sorted((i for i in range(len(rows)) if keys[i] == key), key=lambda i: rows[i]["t"])
        for i, window in zip(mine, bounds([rows[i] for i in mine], policies, include_current), strict=True):
            if len(window) >= min_rows:
                counts[i] = len(window)
                ids[i] = window[0]["id"] if window else None
    return {"count": counts, "first": ids}


AGGREGATES = [sw.count(), sw.first("id").alias("first")]


def table(rows: Sequence[tuple[Any, ...]]) -> Columns:
    """Columns of rows (key, time in half seconds, x, w, s, flag)."""
    k, t, x, w, s, flag = zip(*rows, strict=True) if rows else ((),) * 6
    return {
        "k": Column("string", list(k)),
        "t": Column("timestamp", [half * 500_000 for half in t]),
        "id": Column("int64", list(range(len(rows)))),
        "x": Column("float64", list(x)),
        "w": Column("int64", list(w)),
        "s": Column("string", list(s)),
        "flag": Column("bool", list(flag)),
    }
