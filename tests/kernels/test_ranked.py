"""The ranked kernel against its definition: every window sorted afresh, answers equal to the bit."""

from __future__ import annotations

import functools
import math
import struct
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import slidewise as sw
from slidewise.kernels import ranked, spans
from slidewise.kernels.bits import after, before, put, room, take
from slidewise.kernels.jit import kernel, with_helpers
from tests.kernels.windows import event_windows, monotone_bounds, small, step_windows

SPECIAL = [math.nan, -math.nan, math.inf, -math.inf, 0.0, -0.0, 5e-324, -5e-324, 1.7976931348623157e308, 1.0, -1.0]
CLOSE = st.integers(0, 40).map(lambda k: 1e9 * (1 + k * 2**-52))
"""Alike in all bits but the last: beside an infinity a key has no room for the bits that differ."""

floats = st.sampled_from(SPECIAL) | st.integers(-3, 3).map(float) | st.floats() | CLOSE
quantiles = st.sampled_from([0.0, 0.1, 0.25, 1 / 3, 0.5, 0.9, 0.999, 1.0]) | st.floats(0, 1)


def definition(q: float, window: list[float | None], min_rows: int) -> float | None:
    values = sorted((x for x in window if x is not None), key=lambda x: (math.isnan(x), 0.0 if math.isnan(x) else x))
    if not values or len(window) < min_rows:
        return None
    place = q * (len(values) - 1)
    below = math.floor(place)
    low = values[below]
    high = values[below + 1] if place > below else low
    share = place - below
    return low if low == high else low * (1.0 - share) + high * share


def to_the_bit(answers: Any) -> list[bytes | None]:
    """Zeros by their sign; every NaN is one."""
    return [None if x is None else struct.pack("<d", math.nan if x != x else x) for x in answers]


def slid(q: float, values: list[float | None], lo: list[int], hi: list[int], min_rows: int) -> list[float | None]:
    valid = np.array([x is not None for x in values], dtype=np.bool_)
    numbers = np.array([0.0 if x is None else x for x in values])
    out, ok = np.zeros(len(lo)), np.ones(len(lo), dtype=np.bool_)
    bounds = spans.by_bounds(np.array(lo, dtype=np.int64), np.array(hi, dtype=np.int64))
    ranked.slide_ranked(q, numbers, None if valid.all() else valid, bounds, min_rows, out, ok)
    return [x if good else None for x, good in zip(out.tolist(), ok.tolist(), strict=True)]


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_any_monotone_bounds(data: st.DataObject) -> None:
    values = data.draw(st.lists(st.none() | floats, max_size=60))
    lo, hi = data.draw(monotone_bounds(len(values)))
    q, min_rows = data.draw(quantiles), data.draw(st.integers(0, 3))
    expected = [definition(q, values[a:b], min_rows) for a, b in zip(lo, hi, strict=True)]
    with small(data.draw(st.integers(1, 40)), data.draw(st.integers(1, 5)), data.draw(st.integers(1, 200))):
        assert to_the_bit(slid(q, values, lo, hi, min_rows)) == to_the_bit(expected)


@pytest.mark.parametrize("width", [1, 2, 63, 64, 65, 1000, 5000])
@pytest.mark.parametrize("q", [0.0, 0.5, 0.9, 1.0])
def test_windows_of_many_words(width: int, q: float) -> None:
    values = np.random.default_rng(width).normal(size=9000).round(3)
    values[::97] = 7.0
    hi = np.arange(1, len(values) + 1)
    got = slid(q, values.tolist(), np.maximum(0, hi - width).tolist(), hi.tolist(), 0)
    for end in [1, 2, width - 1, width, width + 1, 4097, 8192, 8999, 9000, *range(17, 9000, 700)]:
        if end > 0:
            assert got[end - 1] == definition(q, values[max(0, end - width) : end].tolist(), 0)


def test_far_neighbours() -> None:
    """The median jumps over all that is in no window: a search that climbs the whole tree, in both directions."""
    outside = np.random.default_rng(3).uniform(-1, 1, 300_000)
    near = np.where(np.arange(1000) % 2 == 0, -2.0, 2.0) + np.arange(1000) * 1e-6
    values = np.concatenate([near, outside])
    width = 7
    hi = np.arange(1, 1001)
    lo = np.maximum(0, hi - width)
    last = np.array([len(values) - 1]), np.array([len(values)])
    out, ok = np.zeros(1001), np.ones(1001, dtype=np.bool_)
    with small(len(values)):
        bounds = np.concatenate([lo, last[0]]), np.concatenate([hi, last[1]])
        ranked.slide_ranked(0.5, values, None, spans.by_bounds(*bounds), 0, out, ok)
    expected = [definition(0.5, values[a:b].tolist(), 0) for a, b in zip(*bounds, strict=True)]
    assert out.tolist() == expected


@pytest.mark.parametrize("rest", [[], [math.inf, -math.inf, math.nan]], ids=["alone", "beside infinities"])
def test_values_that_differ_in_their_last_bits_only(rest: list[float]) -> None:
    """Beside infinities a key keeps none of the bits that tell them apart: falling values are the worst case."""
    steps = np.arange(4000)[::-1]
    values = np.concatenate([1e9 * (1 + steps * 2**-52), np.array(rest)])
    lo, hi = np.zeros(3, dtype=np.int64), np.array([2000, 4000, len(values)])
    with mock.patch.object(ranked, "_sort_slowly", wraps=ranked._sort_slowly) as slowly:
        got = slid(0.3, values.tolist(), lo.tolist(), hi.tolist(), 0)
    assert slowly.called == bool(rest)
    assert to_the_bit(got) == to_the_bit([definition(0.3, values[:end].tolist(), 0) for end in hi.tolist()])


def test_zeros_come_in_order_of_arrival() -> None:
    got = slid(0.0, [0.0, -0.0, 0.0, 1.0], [0, 1, 2], [2, 3, 4], 0)
    assert [math.copysign(1, x) for x in got if x is not None] == [1.0, -1.0, 1.0]
    beside_infinities = [math.inf, -0.0, 0.0, -math.inf]  # where keys have lost bits, and are put right by value
    signs = [math.copysign(1, slid(q, beside_infinities, [0], [4], 0)[0]) for q in (1 / 3, 2 / 3)]
    assert signs == [-1.0, 1.0]


def test_no_answers() -> None:
    assert slid(0.5, [], [], [], 0) == []
    assert slid(0.5, [1.0], [0, 1], [0, 1], 0) == [None, None]


# ---- the set of bits ------------------------------------------------------------------------------------------------
def _replay(words: Any, floors: Any, steps: Any, found: Any) -> None:
    for k in range(len(steps)):
        if steps[k, 0] == 0:
            put(words, floors, steps[k, 1])
        elif steps[k, 0] == 1:
            take(words, floors, steps[k, 1])
        elif steps[k, 0] == 2:
            found[k] = after(words, floors, steps[k, 1])
        else:
            found[k] = before(words, floors, steps[k, 1])


@functools.cache
def replay() -> Any:
    return kernel(with_helpers(_replay))


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_a_set_of_bits(data: st.DataObject) -> None:
    size = data.draw(st.sampled_from([1, 63, 64, 65, 4095, 4096, 4097, 300_000]))
    near = st.integers(0, min(size, 70) - 1) | st.integers(max(0, size - 70), size - 1) | st.integers(0, size - 1)
    members: set[int] = set()
    steps, expected = [], []
    for member in data.draw(st.lists(near, max_size=40)):
        steps.append((1 if member in members else 0, member))
        members ^= {member}
        expected.append(-1)
        start = data.draw(near | st.just(size))
        if any(one >= start for one in members):
            steps.append((2, start))
            expected.append(min(one for one in members if one >= start))
        if any(one < start for one in members):
            steps.append((3, start))
            expected.append(max(one for one in members if one < start))
    words, floors = room(size)
    found = np.full(len(steps), -1)
    replay()(words, floors, np.array(steps, dtype=np.int64).reshape(-1, 2), found)
    assert found.tolist() == expected
    if not members:
        assert not words.any()


# ---- through the front door -----------------------------------------------------------------------------------------
@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    rows = draw(st.integers(0, 50))

    def column(values: st.SearchStrategy[Any], arrow: pa.DataType) -> pa.Array:
        return pa.array(draw(st.lists(values, min_size=rows, max_size=rows)), arrow)

    whole = st.integers(-3, 3) | st.sampled_from([-(2**63), 2**63 - 1, 2**53, 2**53 + 1])
    return pa.table(
        {
            "key": column(st.sampled_from([None, "a", "b"]), pa.string()),
            "t": column(st.integers(0, 40), pa.timestamp("s")),
            "x": column(st.none() | floats, pa.float64()),
            "n": column(st.none() | whole, pa.int64()),
            "b": column(st.none() | st.booleans(), pa.bool_()),
        }
    )


def aggregates(q: float) -> list[sw.Aggregate]:
    return [
        sw.median("x"),
        sw.median("n"),
        sw.median("b"),
        sw.quantile("x", q=q, exact=True),
        sw.median("x").where("n", ">=", 0).alias("some"),
    ]


@settings(max_examples=200, deadline=None)
@given(table=tables(), window=event_windows | step_windows, q=quantiles, data=st.data())
def test_as_recalculated(table: pa.Table, window: Any, q: float, data: st.DataObject) -> None:
    arguments: dict[str, Any] = {"by": data.draw(st.sampled_from([None, "key"])), "order": "t"}
    expected = sw.slide(table, aggregates(q), window, algorithm="recalculate", **arguments)
    with small(data.draw(st.integers(1, 40)), chunk=data.draw(st.sampled_from([5, 16, 2**20]))):
        got = sw.slide(table, aggregates(q), window, threads=data.draw(st.sampled_from([1, 2])), **arguments)
    assert got.schema == expected.schema
    for name in got.column_names:
        if pa.types.is_floating(got.schema.field(name).type):
            assert to_the_bit(got[name].to_pylist()) == to_the_bit(expected[name].to_pylist()), name
        else:
            assert got[name].equals(expected[name]), name


def test_the_ladder() -> None:
    values = np.arange(10.0)
    assert "ranked sets" in sw.explain(values, sw.median(), sw.trailing(3))
    assert "ranked sets" in sw.explain(values, sw.quantile(q=0.9, exact=True), sw.trailing(3).every(2))
    assert "ranked sets" not in sw.explain(values, sw.quantile(q=0.9), sw.trailing(3))
    assert "object mode" in sw.explain(values, sw.median(), sw.trailing(3), algorithm="recalculate")
    assert "running_tally" in sw.explain(pa.table({"d": ["a"]}), sw.count_distinct("d"), sw.trailing(3))


def test_an_array_comes_back_as_floats() -> None:
    got = sw.slide(np.array([4, 1, 3]), sw.median(), sw.trailing(2, min_rows=2))
    assert got.dtype == np.float64
    assert np.isnan(got[0])
    assert got[1:].tolist() == [2.5, 2.0]
