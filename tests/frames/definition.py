"""Where each kind of frame cuts, by its definition: no fold step, no kernels, one plain loop per kind.

rows ──► [(places of the rows, fragment, closed)]
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from slidewise.frames.kind import Boundary, Custom, Delta, Frame, Silence, Threshold, Total

Value = Any


@dataclass
class Cut:
    """A frame: which rows, which fragment, and whether an event closed it."""

    rows: list[int]
    fragment: int = 0
    closed: bool = False


def exact(value: Value) -> Value:
    """A finite number without rounding."""
    return Fraction(value) if isinstance(value, (int, float, Decimal)) and math.isfinite(value) else value


def frames_of(kind: Frame, values: Sequence[Value], times: Sequence[Any], total: Any = None) -> list[Cut]:
    """The frames of one key's rows in order; `total(values)` is what a limited aggregate answers. Null values: None."""
    found: list[Cut] = []
    carried = kind.state if isinstance(kind, Custom) else None
    open_: Cut | None = None
    following = 0  # which fragment the next frame is: after a close by force, until an event says otherwise
    for place, value in enumerate(values):
        if open_ is not None:
            inside = [values[row] for row in open_.rows if values[row] is not None]
            if isinstance(kind, Silence):
                leaves = bool(times[place] - times[place - 1] > kind.gap)
            else:
                leaves = value is not None and bool(inside) and _leaves(kind, inside, value, carried, total)
            full = kind.max_count is not None and len(open_.rows) >= kind.max_count
            long = kind.max_duration is not None and times[place] - times[open_.rows[0]] > kind.max_duration
            if leaves or full or long:
                open_.closed = True
                found.append(open_)
                following, open_ = 0 if leaves else open_.fragment + 1, None
        if open_ is not None:
            open_.rows.append(place)
        elif _enters(kind, value, carried):
            open_, following = Cut([place], following), 0
        elif value is not None:
            following = 0
        if isinstance(kind, Custom) and value is not None:
            carried = _after(kind, values, open_, place, carried)
        if open_ is not None and _fills(kind, [values[row] for row in open_.rows], total):
            open_.closed = True
            found.append(open_)
            open_ = None
            if isinstance(kind, Custom):
                raise AssertionError("a kind of the user's own includes nothing")
    if open_ is not None:
        found.append(open_)
    return found


def reported(kind: Frame, cuts: Sequence[Cut], times: Sequence[Any]) -> list[Cut]:
    """Those that are long enough."""
    least = kind.min_duration
    return [
        cut
        for cut in cuts
        if len(cut.rows) >= kind.min_count and (least is None or times[cut.rows[-1]] - times[cut.rows[0]] >= least)
    ]


def _enters(kind: Frame, value: Value, state: Any) -> bool:
    if isinstance(kind, Threshold):
        return value is not None and _above(kind, value)
    if isinstance(kind, Custom):
        return value is not None and bool(kind.open(state, value))
    return True


def _above(kind: Threshold, value: Value) -> bool:
    if isinstance(value, float) and math.isnan(value):
        return False
    return exact(value) < exact(kind.level) if kind.below else exact(value) >= exact(kind.level)


def _leaves(kind: Frame, inside: list[Value], value: Value, state: Any, total: Any) -> bool:
    if isinstance(kind, Threshold):
        return not _above(kind, value)
    if isinstance(kind, Boundary):
        return _cell(kind, value) != _cell(kind, inside[-1])
    if isinstance(kind, Delta):
        first = inside[0]
        if kind.anchor == "first":
            return not _near(first, value, kind.size)
        least, most = min(inside), max(inside)
        return not (_near(min(least, value), max(most, value), kind.size) and value == value)
    if isinstance(kind, Total):
        return kind.crossing == "exclude" and _beyond(kind, total([*inside, value]))
    assert isinstance(kind, Custom)
    return bool(kind.close(state, value))


def _near(a: Value, b: Value, size: Any) -> bool:
    if isinstance(a, float) or isinstance(b, float):
        return abs(b - a) < size
    return exact(abs(b - a)) < exact(size)


def _cell(kind: Boundary, value: Value) -> int:
    if isinstance(value, float) and math.isnan(value):
        return -1
    return bisect.bisect_right([exact(one) for one in kind.bounds], exact(value))


def _beyond(kind: Total, answer: Any) -> bool:
    if answer is None:
        return False
    return not (answer <= kind.limit if kind.strict else answer < kind.limit)


def _fills(kind: Frame, values: list[Value], total: Any) -> bool:
    if not isinstance(kind, Total) or kind.crossing != "include":
        return False
    there = [value for value in values if value is not None]
    return values[-1] is not None and _beyond(kind, total(there))


def _after(kind: Custom, values: Sequence[Value], open_: Cut | None, place: int, state: Any) -> Any:
    """The state of a kind of the user's own after a row."""
    if kind.carries:
        return kind.update(state, values[place])
    if open_ is None:
        return kind.state
    state = kind.state
    for row in open_.rows:
        if values[row] is not None:
            state = kind.update(state, values[row])
    return state
