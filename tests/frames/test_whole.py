"""Frames over whole columns against their definition, for every kind, sort of value and sort of order."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import slidewise as sw
from slidewise.errors import ArgumentError
from slidewise.frames.kind import Frame, Total
from tests.frames.definition import frames_of, reported
from tests.frames.kinds import kinds

NUMBERS = {
    "int": st.none() | st.integers(-3, 4),
    "float": st.none() | st.sampled_from([-2.5, -1.0, -0.0, 0.5, 1.0, 2.0, 3.5, math.nan, math.inf, -math.inf]),
    "decimal": st.none() | st.sampled_from([Decimal(one) for one in ("-1.5", "0.0", "0.5", "1.0", "2.5")]),
}
TYPES = {"int": pa.int64(), "float": pa.float64(), "decimal": pa.decimal128(12, 1)}
WIDE = [-(2**63), -(2**63) + 1, -1, 0, 1, 2**53 + 1, 2**62, 2**63 - 2, 2**63 - 1]


def total_of(kind: Frame) -> Any:
    """What the limited aggregate answers, by Python's own means."""
    if not isinstance(kind, Total):
        return None
    name = kind.aggregate.source.name
    return {"sum": _sum, "max": _greatest, "count": len}[name]


def _sum(values: list[Any]) -> Any:
    return sum(values[1:], values[0]) if values else None


def _greatest(values: list[Any]) -> Any:
    return next((x for x in values if x != x), max(values)) if values else None


def expected(kind: Frame, values: list[Any], times: list[Any]) -> list[tuple[Any, ...]]:
    cuts = reported(kind, frames_of(kind, values, times, total_of(kind)), times)
    return [(times[cut.rows[0]], times[cut.rows[-1]], len(cut.rows), cut.fragment) for cut in cuts]


@pytest.mark.parametrize("sort", NUMBERS)
@pytest.mark.parametrize("kind", kinds(), ids=str)
@settings(max_examples=25)
@given(data=st.data())
def test_frames_are_those_of_the_definition(kind: Frame, sort: str, data: st.DataObject) -> None:
    rows = data.draw(st.lists(st.tuples(st.sampled_from(["a", "ü"]), st.integers(0, 8), NUMBERS[sort]), max_size=24))
    table = pa.table(
        {
            "k": pa.array([key for key, _, _ in rows], pa.string()),
            "t": pa.array([t * 500 for _, t, _ in rows], pa.timestamp("ms")),
            "x": pa.array([x for _, _, x in rows], TYPES[sort]),
        }
    )
    made = sw.slide(table, [sw.count(), sw.collect("x")], kind, by="k", order="t")
    wanted, collected = [], []
    for key in ("a", "ü"):
        mine = sorted((row for row in rows if row[0] == key), key=lambda row: row[1])
        times = [row[1] * 500_000_000 for row in mine]  # in nanoseconds, as lengths are
        values = [row[2] for row in mine]
        cuts = reported(kind, frames_of(kind, values, times, total_of(kind)), times)
        wanted += [(key, times[c.rows[0]], times[c.rows[-1]], len(c.rows), c.fragment) for c in cuts]
        collected += [[values[row] for row in c.rows if values[row] is not None] for c in cuts]
    said = made.to_pydict()
    starts, ends = (made.column(name).cast(pa.timestamp("ns")).cast(pa.int64()).to_pylist() for name in BOUNDS)
    fragments = said.get("fragment", [0] * made.num_rows)
    got = list(zip(said["k"], starts, ends, said["count"], fragments, strict=True))
    assert got == [row if kind.fragments else (*row[:-1], 0) for row in wanted]
    assert ("fragment" in said) == kind.fragments
    assert [repr(one or []) for one in said["collect_x"]] == [repr(one) for one in collected]


BOUNDS = ("window_start", "window_end")


@pytest.mark.parametrize("kind", kinds(None, timed=False), ids=str)
@settings(max_examples=20)
@given(values=st.lists(st.sampled_from(WIDE), max_size=12))
def test_integers_at_their_limits(kind: Frame, values: list[int]) -> None:
    if isinstance(kind, Total) and kind.aggregate.source.name == "sum":
        return  # sums beyond int64 are the sum's business, not the frame's
    made = sw.slide(np.array(values, dtype=np.int64), sw.count(), kind)
    assert list(made) == [count for _, _, count, _ in expected(kind, values, list(range(len(values))))]


def test_levels_between_and_beyond_integers() -> None:
    values = np.array(WIDE)
    for level in (0.5, -0.5, 2**53 + 0.5, 2.0**62, 2.0**63, -(2.0**63), 2.0**70, -(2.0**70), 2**63 - 1):
        for side in ({"at_least": level}, {"below": level}):
            kind = sw.frames.threshold(**side)
            assert list(sw.slide(values, sw.count(), kind)) == [row[2] for row in expected(kind, WIDE, list(range(9)))]
    for size in (0.5, 1, 2**53, 2.0**63, 2**64, 2.0**80):
        for anchor in ("first", "range"):
            kind = sw.frames.delta(size, anchor=anchor)
            assert list(sw.slide(values, sw.count(), kind)) == [row[2] for row in expected(kind, WIDE, list(range(9)))]
    kind = sw.frames.boundary([-(2.0**70), -0.5, 0.5, 2**53 + 1, 2.0**62, 2.0**63])
    assert list(sw.slide(values, sw.count(), kind)) == [row[2] for row in expected(kind, WIDE, list(range(9)))]


def test_the_golden_case() -> None:
    """Figure 4 of the report on frames: the aggregation scheme, sum, limit 3, before and after t2.5."""
    kind = sw.frames.aggregate(sw.sum("v"), limit=3)
    before = {1: 1, 2: 2, 3: 0, 4: 1, 5: 1, 6: 2, 7: 0, 8: 2, 9: 1}
    after = before | {2.5: 2}
    for events, frames in (
        (before, [(1, 3), (4, 5), (6, 7), (8, 9)]),
        (after, [(1, 2), (2.5, 4), (5, 7), (8, 9)]),
    ):
        table = pa.table({"t": pa.array(list(events), pa.float64()), "v": list(events.values())})
        made = sw.slide(table, sw.count(), kind, order="t")
        assert list(zip(*(made.column(name).to_pylist() for name in BOUNDS), strict=True)) == frames


CONTAINERS: dict[str, Any] = {
    "list": list,
    "numpy": np.array,
    "pandas": pd.Series,
    "polars": pl.Series,
}


@pytest.mark.parametrize("container", CONTAINERS)
def test_sequences_of_every_kind(container: str) -> None:
    values = [3.0, 4.0, 4.5, 7.0, 8.0, 2.0]
    made = sw.slide(CONTAINERS[container](values), sw.count(), sw.frames.delta(2.0))
    assert list(made) == [3, 2, 1]


@pytest.mark.parametrize(
    "empty", [[], np.zeros(0), pa.table({"x": pa.array([], pa.float64())})], ids=["list", "numpy", "arrow"]
)
def test_no_rows_have_no_frames(empty: Any) -> None:
    named = ("x",) if isinstance(empty, pa.Table) else ()
    made = sw.slide(empty, sw.count(*named), sw.frames.delta(*named, 2.0))
    assert (made.num_rows if named else len(made)) == 0


def test_frames_go_by_rows_without_an_order() -> None:
    table = pa.table({"x": [1, 1, 5, 5, 5, 9]})
    made = sw.slide(table, sw.count(), sw.frames.delta("x", 2))
    assert made.to_pydict() == {"window_start": [0, 2, 5], "window_end": [1, 4, 5], "count": [2, 3, 1]}
    table = pa.table({"x": [1, 1, 5], "name": ["b", "a", "c"]})
    made = sw.slide(table, sw.collect("name"), sw.frames.delta("x", 2), order="name")
    assert made.to_pydict() == {"window_start": [0, 2], "window_end": [1, 2], "collect_name": [["a", "b"], ["c"]]}


@pytest.mark.parametrize("container", ["arrow", "pandas", "polars", "lazy"])
def test_fragments_on_every_kind_of_table(container: str) -> None:
    columns = {"fragment": ["a", "a", "a"], "t": [1, 2, 3], "v": [1, 1, 1]}
    made: Any = {
        "arrow": pa.table,
        "pandas": pd.DataFrame,
        "polars": pl.DataFrame,
        "lazy": pl.LazyFrame,
    }[container](columns)
    found = sw.slide(made, sw.count(), sw.frames.delta("v", 2, max_count=2), order="t")
    found = found.collect() if container == "lazy" else found
    assert [list(found[name]) for name in ("fragment", "count")] == [[0, 1], [2, 1]] or container == "arrow"
    with pytest.raises(ArgumentError, match="by='fragment'"):
        sw.slide(made, sw.count(), sw.frames.delta("v", 2, max_count=2), by="fragment", order="t")
    keyed = sw.slide(made, sw.count(), sw.frames.delta("v", 2), by="fragment", order="t")
    keyed = keyed.collect() if container == "lazy" else keyed
    assert [str(one) for one in keyed["fragment"]] == ["a"]


TENTHS = pa.table({"v": pa.array([Decimal("0.1"), Decimal("0.2"), Decimal("0.1")], pa.decimal128(10, 1))})


@pytest.mark.parametrize(
    ("kind", "counts"),
    [
        (sw.frames.threshold("v", at_least=0.1), [3]),
        (sw.frames.threshold("v", at_least=Decimal("0.1")), [3]),
        (sw.frames.aggregate(sw.sum("v"), 0.3), [2, 1]),
        (sw.frames.boundary("v", [0.2]), [1, 1, 1]),
        (sw.frames.delta("v", 0.1), [1, 1, 1]),
        (sw.frames.delta("v", Decimal("0.11")), [3]),
    ],
    ids=str,
)
def test_a_tenth_is_a_tenth_to_decimals(kind: Frame, counts: list[int]) -> None:
    assert sw.slide(TENTHS, sw.count(), kind).column("count").to_pylist() == counts


def test_update_is_asked_for_rows_of_frames_alone() -> None:
    """A logarithm has no business with an event that closes a frame."""
    asked: list[float] = []

    def update(state: float, x: float) -> float:
        asked.append(x)
        return state + math.log(x)

    above = sw.frames.custom(lambda state, x: x > 0, update, lambda state, x: x <= 0, 0.0)
    assert sw.slide([2.0, 3.0, 0.0, 0.0, 4.0], sw.count(), above) == [2, 1]
    assert asked == [2.0, 3.0, 4.0]


def test_far_ends() -> None:
    least = -(2**63)
    assert sw.slide([least] * 2, sw.count(), sw.frames.aggregate(sw.max(), least - 1)) == [1, 1]
    assert sw.slide([least] * 2, sw.count(), sw.frames.aggregate(sw.max(), least, strict=False)) == [1, 1]
    assert sw.slide([2.0**53, 2.0**53 + 2], sw.count(), sw.frames.threshold(at_least=2**53 + 1)) == [1]
    order = [least + 10, 0, 2**63 - 10]
    assert sw.slide([1, 1, 1], sw.count(), sw.frames.delta(2, min_duration=5), order=order) == [3]


def test_objects_that_numba_does_not_know() -> None:
    words = ["apple", "avocado", "banana", "blueberry", "apricot"]
    by_letter = sw.frames.custom(
        open=lambda letter, word: True,
        update=lambda letter, word: word[0],
        close=lambda letter, word: word[0] != letter,
        state="",
    )
    assert sw.slide(words, sw.count(), by_letter) == [2, 2, 1]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: sw.frames.threshold("x"), "at_least=None, below=None"),
        (lambda: sw.frames.threshold("x", at_least=1, below=2), "expected one of them"),
        (lambda: sw.frames.threshold("x", at_least=math.nan), "at_least=nan: expected a finite number"),
        (lambda: sw.frames.threshold(5, at_least=1), "column=5"),
        (lambda: sw.frames.boundary("x", [2, 1]), r"bounds=\[2, 1\]"),
        (lambda: sw.frames.boundary("x", []), r"bounds=\[\]"),
        (lambda: sw.frames.boundary("x", "abc"), "bounds='abc'"),
        (lambda: sw.frames.boundary("x"), "bounds=None"),
        (lambda: sw.frames.delta("x", np.array(2)), r"size=array\(2\)"),
        (lambda: sw.frames.threshold("x", at_least=10**400), "at_least="),
        (lambda: sw.frames.delta("x", 0), "size=0"),
        (lambda: sw.frames.delta("x"), "size=None"),
        (lambda: sw.frames.delta("x", 1, anchor="last"), "anchor='last': expected 'first' or 'range'"),
        (lambda: sw.frames.aggregate("x", 1), "aggregate='x'"),
        (lambda: sw.frames.aggregate(sw.sum("x"), "3"), "limit='3'"),
        (lambda: sw.frames.aggregate(sw.sum("x"), 3, crossing="both"), "crossing='both'"),
        (lambda: sw.frames.aggregate(sw.sum("x"), 3, strict=1), "strict=1"),
        (lambda: sw.frames.session("0 s"), "gap='0 s'"),
        (lambda: sw.frames.session("1 s", max_duration=5), "max_duration=5"),
        (lambda: sw.frames.delta("x", 1, max_count=0), "max_count=0"),
        (lambda: sw.frames.delta("x", 1, most=3), "most=3: no such option"),
        (lambda: sw.frames.custom(1, len, len, 0), "open=1"),
        (
            lambda: sw.frames.custom(lambda s: True, lambda s, x: s, lambda s, x: True, 0),
            "with the state and 1",
        ),
        (lambda: sw.frames.custom(lambda s, x: True, lambda s, x: s, lambda s, x: True, 0, carries=1), "carries=1"),
    ],
)
def test_what_is_wrong_is_said(call: Any, said: str) -> None:
    with pytest.raises(ArgumentError, match=said):
        call()


TABLE = pa.table({"x": [1.0, 2.0], "s": ["a", "b"], "t": pa.array([0, 1], pa.timestamp("s"))})


@pytest.mark.parametrize(
    ("kind", "options", "said"),
    [
        (sw.frames.delta("y", 1), {}, "no column 'y'; there are 'x', 's', 't'"),
        (sw.frames.delta("s", 1), {}, "column 's' is of type string; expected numbers"),
        (sw.frames.delta("t", 1), {}, "expected numbers"),
        (sw.frames.delta(1), {}, "names no column"),
        (sw.frames.aggregate(sw.max("s"), 1), {}, "expected a number"),
        (sw.frames.aggregate(sw.sum("y"), 1), {}, "no column 'y'"),
        (sw.frames.session("1 s"), {}, "order=None"),
        (sw.frames.session(1), {"order": "t"}, "needs an integer or float column"),
        (sw.frames.delta("x", 1, max_duration="1 s"), {"order": "x"}, "goes by time"),
        ({"a": sw.frames.delta("x", 1), "b": sw.trailing(2)}, {}, "has rows of its own"),
    ],
)
def test_what_does_not_fit_the_data_is_said(kind: Any, options: dict[str, Any], said: str) -> None:
    with pytest.raises(ArgumentError, match=said):
        sw.slide(TABLE, sw.count(), kind, **options)
    with pytest.raises(ArgumentError, match="has no columns"):
        sw.slide([1.0], sw.count(), sw.frames.delta("x", 1))
