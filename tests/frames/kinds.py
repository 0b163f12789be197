"""Kinds of frames for tests, over a column "x"; over plain values where the column is None."""

from __future__ import annotations

from typing import Any

import slidewise as sw
from slidewise.frames.kind import Frame


def kinds(column: str | None = "x", *, timed: bool = True) -> list[Frame]:
    """One of every sort; `timed` also those that need an order in seconds."""
    named = () if column is None else (column,)
    at = {} if column is None else {"column": column}
    found = [
        sw.frames.threshold(**at, at_least=1),
        sw.frames.threshold(**at, below=0.5, max_count=2),
        sw.frames.boundary(*named, [-1, 0.5, 2]),
        sw.frames.boundary(*named, [0], min_count=2),
        sw.frames.delta(*named, 2),
        sw.frames.delta(*named, 1.5, anchor="range"),
        sw.frames.delta(*named, 2, max_count=3),
        sw.frames.aggregate(sw.sum(*named), 3),
        sw.frames.aggregate(sw.sum(*named), 2, crossing="include"),
        sw.frames.aggregate(sw.sum(*named), 2, crossing="include", strict=False),
        sw.frames.aggregate(sw.max(*named), 1, strict=False),
        sw.frames.custom(rises, newest, falls, 0, *named, carries=True),
        sw.frames.custom(starts, counted, enough, 0, *named),
    ]
    if column is not None:  # without a column, nulls are counted too
        found.append(sw.frames.aggregate(sw.count(column), 3))
    if timed:
        found += [
            sw.frames.session("1 s"),
            sw.frames.session("2 s", max_duration="3 s"),
            sw.frames.delta(*named, 3, max_duration="2 s"),
            sw.frames.threshold(**at, at_least=0, min_duration="1 s", min_count=2),
        ]
    return [*found, sw.frames.boundary(*named, [1], max_count=2)]


def rises(last: Any, x: Any) -> bool:
    return x > last


def newest(last: Any, x: Any) -> Any:
    return x


def falls(last: Any, x: Any) -> bool:
    return x < last


def starts(count: Any, x: Any) -> bool:
    return x != 0


def counted(count: Any, x: Any) -> Any:
    return count + 1


def enough(count: Any, x: Any) -> bool:
    return count >= 2 and x < 2
