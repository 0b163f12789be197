"""Shared windows give what each query would give alone, by definition: rows and times, every slicing and aggregator."""

from __future__ import annotations

import itertools
import math
import random
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import slidewise as sw
from slidewise.errors import ArgumentError, LateEventError
from slidewise.monoids.catalogue.counts import COUNT_VALUES
from slidewise.monoids.catalogue.extremes import MAX_FLOAT
from slidewise.monoids.catalogue.moments import STDDEV_MONOID
from slidewise.monoids.catalogue.sums import MEAN_FLOAT, SUM_FLOAT
from slidewise.sharing import FINALS, SLICINGS, DabaWindows, Query, SharedPlan, SharedWindows
from tests.sharing.counting import CONCAT, MAX, SUM, Counted

MONOIDS = [CONCAT, SUM, MAX]


def separate(query: Query, events: list[tuple[int, Any]], upto: int) -> list[tuple[int, Any]]:
    """The windows of one query that end by `upto` and hold an event, each folded afresh."""
    if not events:
        return []
    number = (min(at for at, _ in events) - query.phase) // query.step
    found = []
    while (end := query.phase + number * query.step) <= upto:
        inside = [x for at, x in events if end - query.length <= at < end]
        if inside:
            there = [x for x in inside if x is not None]
            null = not there and not query.monoid.answers_empty
            found.append((end, None if null else query.monoid.fold(there)))
        number += 1
    return found


def collected(windows: SharedWindows, pieces: list[Any]) -> list[list[tuple[int, Any]]]:
    """Everything that is answered, by query; a piece is (values, times) or a time to advance to."""
    found: list[list[tuple[int, Any]]] = [[] for _ in windows.plan.queries]
    for piece in pieces:
        if isinstance(piece, int):
            for number, end, value in windows.advance(piece):
                found[number].append((end, value))
            continue
        for number, one in enumerate(windows.extend(*piece)):
            found[number] += list(zip(one.ends.tolist(), one.tolist(), strict=True))
    return found


def cut(draw: random.Random, rows: int, largest: int) -> list[slice]:
    """A stretch of rows in pieces of any size."""
    cuts = [0]
    while cuts[-1] < rows:
        cuts.append(min(rows, cuts[-1] + draw.randrange(1, largest + 1)))
    return [slice(a, b) for a, b in itertools.pairwise(cuts)]


def queries_of(draw: random.Random, count: int, most: int, along: Any) -> list[Query]:
    return [
        Query(draw.choice(MONOIDS), draw.randrange(1, most), draw.randrange(1, most), along=along) for _ in range(count)
    ]


@pytest.mark.parametrize("final", FINALS)
@pytest.mark.parametrize("slicing", SLICINGS)
@settings(max_examples=12)
@given(seed=st.integers(0, 2**32), count=st.integers(1, 6), most=st.sampled_from([3, 8, 25]))
def test_rows_equal_separate_windows(final: str, slicing: str, seed: int, count: int, most: int) -> None:
    draw = random.Random(seed)
    queries, rows = queries_of(draw, count, most, "rows"), draw.randrange(0, 120)
    values = [None if draw.random() < 0.2 else draw.randrange(100) for _ in range(rows)]
    windows = SharedWindows(SharedPlan(queries, slicing), final)
    found = collected(windows, [(values[piece],) for piece in cut(draw, rows, 40)])
    assert found == [separate(query, list(enumerate(values)), rows) for query in queries]


@pytest.mark.parametrize("final", FINALS)
@pytest.mark.parametrize("slicing", SLICINGS)
@settings(max_examples=12)
@given(seed=st.integers(0, 2**32), count=st.integers(1, 6), most=st.sampled_from([3, 8, 25]))
def test_times_equal_separate_windows(final: str, slicing: str, seed: int, count: int, most: int) -> None:
    draw = random.Random(seed)
    queries, rows = queries_of(draw, count, most, "order"), draw.randrange(1, 100)
    values = [None if draw.random() < 0.2 else draw.randrange(100) for _ in range(rows)]
    gap = draw.choice([1, 3, 40])
    steps = [0 if draw.random() < 0.3 else draw.randrange(gap + 1) for _ in range(rows)]
    times = (np.cumsum(steps) + draw.randrange(-50, 50)).tolist()
    windows = SharedWindows(SharedPlan(queries, slicing), final)
    pieces: list[Any] = [(values[piece], times[piece]) for piece in cut(draw, rows, 30)]
    pieces.insert(draw.randrange(len(pieces)), times[0])
    end = times[-1] + 2 * most
    found = collected(windows, [*pieces, end])
    assert found == [separate(query, list(zip(times, values, strict=True)), end) for query in queries]


@pytest.mark.parametrize("count", [1, 20, 200])
@pytest.mark.parametrize("along", ["rows", "order"])
def test_many_queries_equal_separate_windows(count: int, along: str) -> None:
    """Up to 200 queries whose slides have no common measure: the composite slide is never listed."""
    draw = random.Random(count)
    queries = queries_of(draw, count, 97, along)
    rows = 250
    values = [draw.randrange(100) for _ in range(rows)]
    times = np.cumsum([draw.randrange(4) for _ in range(rows)]).tolist() if along == "order" else list(range(rows))
    for slicing in SLICINGS:
        windows = SharedWindows(SharedPlan(queries, slicing))
        pieces: list[Any] = [
            (values[piece], times[piece] if along == "order" else None) for piece in cut(draw, rows, 99)
        ]
        upto = rows if along == "rows" else times[-1] + 100
        found = collected(windows, pieces if along == "rows" else [*pieces, upto])
        assert found == [separate(query, list(zip(times, values, strict=True)), upto) for query in queries]


@pytest.mark.parametrize("slicing", ["pairs", "panes"])
def test_disorder_inside_a_slice_changes_nothing_where_the_combine_commutes(slicing: str) -> None:
    draw = random.Random(7)
    queries = [Query(SUM, "90 s", "60 s"), Query(MAX, "5 min", "2 min")]
    plan = SharedPlan(queries, slicing)
    second = 10**9
    times = sorted(draw.randrange(3600) * second for _ in range(400))
    values = [draw.randrange(100) for _ in times]
    events = list(zip(times, values, strict=True))
    edges = [edge.at for edge in plan.edges_between(0, 3600 * second)]
    late = []
    for low, high in zip([0, *edges], [*edges, 3601 * second], strict=True):
        inside = [event for event in events if low <= event[0] < high]
        draw.shuffle(inside)
        late += inside
    assert late != events
    ordered, shuffled = (
        SharedWindows(plan).extend([x for _, x in some], [t for t, _ in some]) for some in (events, late)
    )
    assert [one.tolist() for one in ordered] == [one.tolist() for one in shuffled]


def test_an_event_before_an_edge_that_was_passed_is_refused() -> None:
    windows = SharedWindows(SharedPlan([Query(SUM, 10, 10, along="order")]))
    windows.push(1, 12)
    windows.push(1, 10)
    with pytest.raises(LateEventError, match="time=9: lies before the edge 10"):
        windows.push(1, 9)
    windows.advance(31)
    with pytest.raises(LateEventError, match="time=29: lies before the edge 30"):
        windows.push(1, 29)


def test_a_long_silence_costs_nothing() -> None:
    windows = SharedWindows(SharedPlan([Query(SUM, "7 d", "1 ms"), Query(SUM, "1 ms", "1 ms")]))
    windows.push(1, 0)
    year = 365 * 86_400 * 10**9
    before = windows.advance(3_000_000)
    assert [(number, end) for number, end, _ in before] == [(0, 10**6), (1, 10**6), (0, 2 * 10**6), (0, 3 * 10**6)]
    small = SharedWindows(SharedPlan([Query(SUM, "2 ms", "1 ms")]))
    small.push(1, 0)
    assert small.push(1, 100 * year) == [(0, 10**6, 1), (0, 2 * 10**6, 1)]


# ---- machine code ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("final", FINALS)
def test_machine_code_answers_as_objects_do(final: str) -> None:
    draw = np.random.default_rng(5)
    values = np.round(draw.normal(10.0, 3.0, 3000), 2)
    monoids = [SUM_FLOAT, MEAN_FLOAT, COUNT_VALUES, MAX_FLOAT, STDDEV_MONOID]
    queries = [Query(monoids[k % 5], 3 + 11 * k, 1 + 3 * (k % 4)) for k in range(10)]
    plan = SharedPlan(queries)
    compiled = SharedWindows(plan, final, types=("float64",))
    assert [monoid.name for monoid in compiled.parts.kept] == ["mean", "max", "stddev"]
    found = [compiled.extend(values[:1000]), compiled.extend(values[1000:1001]), compiled.extend(values[1001:])]
    objects = SharedWindows(plan, final).extend(values.tolist())
    for number, query in enumerate(queries):
        ours = [value for part in found for value in part[number].tolist()]
        theirs = objects[number].tolist()
        wanted = [value for _, value in separate(query, list(enumerate(values[:300].tolist())), 300)]
        for one, other in zip(ours, theirs, strict=True):
            assert one == other if other is None else math.isclose(one, other, rel_tol=1e-12)
        for one, other in zip(ours, wanted, strict=False):
            assert one == other if other is None else math.isclose(one, other, rel_tol=1e-9)


def test_machine_code_along_times() -> None:
    draw = np.random.default_rng(6)
    times = np.sort(draw.integers(0, 10_000, 2000))
    values = draw.normal(10.0, 3.0, 2000)
    queries = [Query(MAX_FLOAT, 700, 30, along="order"), Query(COUNT_VALUES, 95, 20, along="order")]
    windows = SharedWindows(SharedPlan(queries), types=("float64",))
    found = collected(windows, [(values[:900], times[:900]), (values[900:], times[900:]), 11_000])
    events = list(zip(times.tolist(), values.tolist(), strict=True))
    assert found == [separate(query, events, 11_000) for query in queries]


def test_compatible_aggregates_lift_once() -> None:
    counted = Counted(0, lambda a, b: a + b, "sum")
    queries = [Query(counted.monoid, 4, 2), Query(counted.monoid, 10, 2), Query(counted.monoid, 6, 3)]
    windows = SharedWindows(SharedPlan(queries))
    windows.extend(list(range(60)))
    assert counted.lifted == 60
    windows = SharedWindows(SharedPlan([Query(SUM_FLOAT, 4, 2), Query(MEAN_FLOAT, 6, 2), Query(COUNT_VALUES, 8, 2)]))
    assert windows.parts.kept == [MEAN_FLOAT]
    sums, means, counts = windows.extend([float(x) for x in range(8)])
    assert (sums.tolist(), means.tolist(), counts.tolist()) == (
        [1.0, 6.0, 14.0, 22.0],
        [0.5, 1.5, 2.5, 4.5],
        [2, 4, 6, 8],
    )


NULLS = {
    "list": lambda: [1.0, None, None, 2.0],
    "generator": lambda: (x for x in [1.0, None, None, 2.0]),
    "arrow": lambda: pa.array([1.0, None, None, 2.0]),
    "pandas": lambda: pd.Series([1.0, None, None, 2.0], dtype="Float64"),
    "masked": lambda: np.ma.masked_invalid([1.0, np.nan, np.nan, 2.0]),
    "objects": lambda: np.array([1.0, None, None, 2.0], dtype=object),
}


@pytest.mark.parametrize("types", [None, ("float64",)], ids=["objects", "compiled"])
@pytest.mark.parametrize("container", NULLS)
def test_nulls_of_every_container(container: str, types: tuple[str, ...] | None) -> None:
    total = sw.Monoid(identity=0.0, combine=lambda a, b: a + b, commutative=True, name="sum")
    windows = SharedWindows(SharedPlan([Query(total, 2, 1)]), types=types)
    assert [answers.tolist() for answers in windows.extend(NULLS[container]())] == [[1.0, 1.0, None, 2.0]]
    with pytest.raises(ArgumentError, match="no nulls"):
        DabaWindows([(total, 2)], types).extend(NULLS[container]())


BIGGEST = sw.Monoid(identity=-(2**62), combine=lambda a, b: a if a > b else b, name="max")
ALONG = SharedPlan([Query(BIGGEST, 5, 5, along="order")])


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: SharedWindows(ALONG, types="float64"), "types='float64'"),
        (lambda: SharedWindows(ALONG, types=("foo",)), "types="),
        (lambda: SharedWindows(ALONG, types=("float64", "float64")), "types="),
        (lambda: DabaWindows([(BIGGEST, 2)], types=()), "types="),
        (lambda: DabaWindows(3), "windows=3"),  # type: ignore[arg-type]
        (lambda: DabaWindows([(BIGGEST, 2)], types=("int64",)).extend([1.9]), "whole numbers"),
        (lambda: DabaWindows([(BIGGEST, 2)], types=("int64",)).extend(["a"]), "expected numbers"),
        (lambda: SharedWindows(ALONG).extend(5, [1]), "values=5"),
        (lambda: SharedWindows(ALONG).extend(np.ones((2, 2)), [1, 2]), "one dimension"),
        (lambda: SharedWindows(ALONG).extend([1], 5), "times=5"),
        (lambda: SharedWindows(ALONG).extend([1], np.array([2**63 + 5], np.uint64)), r"2\*\*62"),
        (lambda: SharedWindows(ALONG).push(1, 2**63 - 3), r"2\*\*62"),
    ],
)
def test_what_cannot_come_in_is_said(call: Any, said: str) -> None:
    with pytest.raises(ArgumentError, match=said):
        call()
