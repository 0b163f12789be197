"""A user's function that raises: a lift leaves shared windows as they were, a combine makes them refuse and say why."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import slidewise as sw
from slidewise.errors import LateEventError, SlidewiseError
from slidewise.sharing import FINALS, DabaWindows, FactorPlan, Query, SharedPlan, SharedWindows
from tests.sharing.counting import CONCAT

BAD = "bad"


def touchy(lifts: bool) -> sw.Monoid:
    """Concatenates; the lift, or the combine, does not take BAD."""

    def lift(x: Any) -> Any:
        if lifts and x == BAD:
            raise KeyError(x)
        return (x,)

    def combine(a: Any, b: Any) -> Any:
        if not lifts and BAD in a + b:
            raise KeyError(BAD)
        return a + b

    return sw.Monoid(identity=(), lift=lift, combine=combine, name="touchy")


QUERIES = [(6, 2), (8, 4), (4, 4)]


def windows_of(monoid: sw.Monoid, along: Any, final: str, factors: bool = False) -> SharedWindows:
    plan = SharedPlan([Query(monoid, length, step, along=along) for length, step in QUERIES])
    return SharedWindows(plan, final, factors=FactorPlan(plan) if factors else None)


@pytest.mark.parametrize("final", [*FINALS, "factors"])
@pytest.mark.parametrize("along", ["rows", "order"])
def test_a_push_whose_lift_raises_never_was(along: Any, final: str) -> None:
    """At every place of the stream, alone and in the middle of many."""
    name = "flatfit" if final == "factors" else final
    windows = windows_of(touchy(lifts=True), along, name, final == "factors")
    plain = windows_of(CONCAT, along, name, final == "factors")
    for at in range(40):
        time = None if along == "rows" else 2 * at
        with pytest.raises(KeyError):
            windows.push(BAD, time)
        with pytest.raises(KeyError):
            windows.extend([at, at, BAD, at], None if time is None else [time] * 4)
        assert windows.push(at, time) == plain.push(at, time)
    if along == "order":
        assert windows.advance(100) == plain.advance(100)


@pytest.mark.parametrize("final", FINALS)
@pytest.mark.parametrize("along", ["rows", "order"])
def test_after_a_combine_that_raised_windows_say_that_they_are_of_no_use(along: Any, final: str) -> None:
    windows = windows_of(touchy(lifts=False), along, final)
    windows.push(1, None if along == "rows" else 0)
    with pytest.raises(KeyError):
        windows.extend([2, BAD, 3, 4], None if along == "rows" else [1, 2, 3, 4])
    with pytest.raises(SlidewiseError, match="of no more use: a user's function raised KeyError: 'bad'; expected new"):
        windows.push(5, None if along == "rows" else 5)
    if along == "order":
        with pytest.raises(SlidewiseError, match="of no more use"):
            windows.advance(100)


def test_a_late_event_breaks_nothing() -> None:
    windows = windows_of(CONCAT, "order", "flatfit")
    windows.extend([1, 2], [3, 9])
    with pytest.raises(LateEventError):
        windows.push(0, 1)
    assert windows.push(3, 10) == [(0, 10, (2,))]


def test_a_lower_that_raises_loses_its_answers_only() -> None:
    picky = sw.Monoid(identity=0, combine=lambda a, b: a + b, lower=lambda p: 12 // (p - 3), name="picky")
    windows = SharedWindows(SharedPlan([Query(picky, 2)]))
    windows.push(1)
    with pytest.raises(ZeroDivisionError):
        windows.push(2)
    assert windows.push(5) == [(0, 3, 3)]  # 2 + 5, less 3


def test_machine_code_that_raises() -> None:
    broken = sw.Monoid(identity=1, combine=lambda a, b: a // b, name="broken")
    windows = SharedWindows(SharedPlan([Query(broken, 3)]), types=("int64",))
    with pytest.raises(ZeroDivisionError):
        windows.extend(np.array([4, 0, 1]))
    with pytest.raises(SlidewiseError, match="of no more use"):
        windows.extend(np.array([1]))


def test_daba_windows_too() -> None:
    windows = DabaWindows([(touchy(lifts=False), 3)])
    windows.push(1)
    with pytest.raises(KeyError):
        windows.push(BAD)
    with pytest.raises(SlidewiseError, match="of no more use"):
        windows.push(1)
