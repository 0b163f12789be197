"""Frames by definition: a batch fold over sorted events, written from the table of kinds and nothing else.

A rule says of the values of the open frame and the next value whether it stays; `cut` does the rest. O(n²).
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

Event = tuple[Any, int, Any]
"""Time, arrival number, value."""


@dataclass
class Rule:
    """How a kind cuts: `stays(values, x, t, last)` for the open frame, `opens(x)`; `include` keeps what crosses."""

    stays: Callable[..., bool]
    opens: Callable[[Any], bool] = lambda x: True
    whole: bool = True
    include: bool = False
    nulls_count: bool = False


@dataclass
class Cut:
    """A frame of the oracle."""

    events: list[Event]
    fragment: int
    values: list[Any] = field(default_factory=list)
    closed: bool = False
    closer: Any = None
    """The time of the event that closed it."""

    @property
    def key(self) -> tuple[Any, int]:
        return self.events[0][:2]

    @property
    def said(self) -> tuple[Any, ...]:
        """What a row says of it, without results."""
        return self.key, self.events[0][0], self.events[-1][0], len(self.events), self.closed, self.fragment


def cut(rule: Rule, events: list[Event], max_count: int | None = None, max_duration: Any = None) -> list[Cut]:
    """All frames, the last of which may be open."""
    found: list[Cut] = []
    current: Cut | None = None
    fragment = 0
    for event in sorted(events, key=operator.itemgetter(0, 1)):
        t, _, x = event
        ok = x is not None or rule.nulls_count
        if current is not None:
            leaves = (
                not rule.include
                and ok
                and current.values
                and not rule.stays(current.values, x, t, current.events[-1][0])
            )
            full = max_count is not None and len(current.events) >= max_count
            long = max_duration is not None and t - current.events[0][0] > max_duration
            if leaves or full or long:
                fragment = 0 if leaves else current.fragment + 1
                current.closed, current.closer = True, t
                current = None
        if current is None and ((ok and rule.opens(x)) or (not ok and rule.whole)):
            current = Cut([], fragment)
            found.append(current)
            fragment = 0
        elif current is None and ok:
            fragment = 0
        if current is None:
            continue
        last = current.events[-1][0] if current.events else t
        current.events.append(event)
        if ok:
            crossed = rule.include and not rule.stays(current.values, x, t, last)
            current.values.append(x)
            if crossed:
                current.closed, current.closer = True, t
                current = None
                fragment = 0
    return found


# ---- the table of kinds ---------------------------------------------------------------------------------------------
def threshold(at_least: Any = None, below: Any = None) -> Rule:
    test = (lambda x: x >= at_least) if below is None else (lambda x: x < below)
    return Rule(lambda values, x, t, last: test(x), test, whole=False)


def boundary(bounds: list[Any]) -> Rule:
    def cell(x: Any) -> int:
        return -1 if x != x else sum(b <= x for b in bounds)

    return Rule(lambda values, x, t, last: cell(values[-1]) == cell(x))


def delta(size: Any, anchor: str = "first") -> Rule:
    if anchor == "first":
        return Rule(lambda values, x, t, last: abs(x - values[0]) < size)
    return Rule(lambda values, x, t, last: x == x and max([*values, x]) - min([*values, x]) < size)


def total(
    of: Callable[[list[Any]], Any], limit: Any, *, include: bool = False, strict: bool = True, nulls: bool = False
) -> Rule:
    def stays(values: list[Any], x: Any, t: Any, last: Any) -> bool:
        found = of([*values, x])
        return bool(found is None or (found <= limit if strict else found < limit))

    return Rule(stays, include=include, nulls_count=nulls)


def session(gap: Any) -> Rule:
    return Rule(lambda values, x, t, last: t - last <= gap, nulls_count=True)


def summed(values: list[Any]) -> Any:
    """From left to right, one rounding per value."""
    return functools.reduce(operator.add, values)


def carried(events: list[Event], state: Any, open: Any, update: Any, close: Any) -> list[Cut]:
    """Custom kinds whose state goes on across frames; no nulls."""
    found: list[Cut] = []
    current: Cut | None = None
    for event in sorted(events, key=operator.itemgetter(0, 1)):
        x = event[2]
        if current is not None and close(state, x):
            current.closed = True
            current = None
        if current is None and open(state, x):
            current = Cut([], 0)
            found.append(current)
        if current is not None:
            current.events.append(event)
            current.values.append(x)
        state = update(state, x)
    return found
