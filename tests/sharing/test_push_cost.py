"""What one event costs is what it is answered with, not the length of the plan: counted in calls, moves and bytes.

A long listed plan has up to 100,000 edges; along times a plan may have hundreds of beats and thousands of live slices.
"""

from __future__ import annotations

import random
import sys
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from slidewise.monoids.catalogue.extremes import MAX_FLOAT
from slidewise.sharing import Query, SharedPlan, SharedWindows
from slidewise.sharing.rhythm import Rhythm
from slidewise.sharing.schedule import last_before
from slidewise.sharing.slicing import Beat
from tests.sharing.counting import MAX, SUM


def calls_of(step: Callable[[], Any]) -> int:
    """How many functions, of Python and of C, a step calls."""
    seen = 0

    def count(_frame: Any, event: str, _given: Any) -> None:
        nonlocal seen
        seen += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        step()
    finally:
        sys.setprofile(None)
    return seen


def bytes_of(step: Callable[[], Any]) -> int:
    """The most memory that a step takes at a time, beyond what it leaves."""
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        step()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("types", [None, ("float64",)], ids=["objects", "compiled"])
def test_a_row_does_not_take_the_memory_of_a_long_plan(types: Any) -> None:
    plan = SharedPlan([Query(MAX_FLOAT, 6, 1), Query(MAX_FLOAT, 100, 40_009)])
    assert plan.listable
    assert len(plan.edges) == 40_009
    windows = SharedWindows(plan, types=types)
    windows.extend([1.0] * 1000)
    taken = [bytes_of(lambda w=windows: w.push(1.0)) for _ in range(50)]
    assert max(taken) < 50_000  # one list of all edges is 320,000


@pytest.mark.parametrize("along", ["rows", "order"])
def test_a_row_that_nobody_is_answered_at_costs_the_same_with_many_queries(along: Any) -> None:
    """Before the first edge, and between two: no query is looked at."""
    spent = {}
    for count in (2, 200):
        queries = [Query(SUM, 1000 * (k + 1), 1000, along=along) for k in range(count)]
        windows = SharedWindows(SharedPlan(queries))
        for row in range(1500):
            windows.push(1, None if along == "rows" else row)
        at = iter(range(1500, 1600))
        spent[count] = [
            calls_of(lambda w=windows, at=at: w.push(1, None if along == "rows" else next(at))) for _ in range(50)
        ]
    assert max(spent[200]) <= max(spent[2]) + 5


def test_an_edge_costs_the_queries_that_are_answered_there() -> None:
    """200 spans of which one ends every 10 and the others every 1000: at the edge of one, one is looked at."""
    longer = [Query(SUM, 1000 * k, 1000, along="order") for k in range(1, 200)]
    queries = [Query(SUM, 50, 10, along="order"), *longer]
    windows, alone = SharedWindows(SharedPlan(queries)), SharedWindows(SharedPlan(queries[:2]))
    for time in range(1, 3009, 3):
        windows.push(1, time)
        alone.push(1, time)
    answered = 0
    for time in range(3010, 3900, 3):
        found: list[Any] = []
        many, few = (calls_of(lambda w=w, t=time, f=found: f.extend(w.push(1, t))) for w in (windows, alone))
        assert many <= few + 5
        answered += len(found) // 2
    assert answered == 89  # at 3,010, 3,020, .. 3,890


def test_live_slices_are_not_copied() -> None:
    plan = SharedPlan([Query(SUM, 100_000, 2, along="order")])
    windows = SharedWindows(plan)
    windows.extend([1] * 60_000, range(60_000))
    taken = [bytes_of(lambda w=windows, t=t: w.push(1, t)) for t in range(60_000, 60_100)]
    assert sorted(taken)[-2] < 50_000  # 30,000 slices are 240,000; the room for them grows now and then


def test_a_rhythm_moves_a_beat_once_per_passage() -> None:
    draw = random.Random(3)
    beats = [Beat.of(draw.randrange(1, 50), draw.randrange(50)) for _ in range(30)]
    rhythm, x = Rhythm(beats), -100
    rhythm.upto(x)
    passed = len(beats)
    for _ in range(500):
        before, x = x, x + draw.choice([0, 1, 2, 30])
        passed += sum((x - beat.offset) // beat.period > (before - beat.offset) // beat.period for beat in beats)
        assert rhythm.upto(x) == int(last_before(beats, np.array([x]))[0])
    assert rhythm.moved == passed
    rhythm.upto(x + 10**15)
    assert rhythm.moved - passed == len(beats)  # a silence is leapt over


@pytest.mark.parametrize("along", ["rows", "order"])
def test_one_by_one_is_as_many_at_once(along: Any) -> None:
    draw = random.Random(9)
    for _ in range(20):
        queries = [
            Query(draw.choice([SUM, MAX]), draw.randrange(1, 60), draw.randrange(1, 20), along=along) for _ in range(12)
        ]
        plan = SharedPlan(queries, draw.choice(["pairs", "panes", "cutty"]))
        times = sorted(draw.randrange(300) for _ in range(80))
        values = [draw.choice([None, draw.randrange(9)]) for _ in times]
        one, many = SharedWindows(plan), SharedWindows(plan)
        given = [(value, None if along == "rows" else time) for value, time in zip(values, times, strict=True)]
        pushed = [answer for value, time in given for answer in one.push(value, time)]
        found = many.extend(values, None if along == "rows" else times)
        listed = [
            (int(end), number, value)
            for number, answers in enumerate(found)
            for end, value in zip(answers.ends, answers.tolist(), strict=True)
        ]
        assert pushed == [(number, end, value) for end, number, value in sorted(listed, key=lambda row: row[:2])]
