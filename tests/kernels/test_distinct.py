"""The distinct kernel against Python's sets, and through the front door against the window folded afresh."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import slidewise as sw
from slidewise.kernels import spans
from slidewise.kernels.distinct import slide_distinct
from tests.kernels.windows import event_windows, monotone_bounds, small, step_windows

LIMITS = [-(2**63), 2**63 - 1, 2**53, 2**53 + 1, 0]
SPECIAL = [math.nan, -math.nan, math.inf, -math.inf, 0.0, -0.0, 5e-324]

whole = st.integers(-3, 3) | st.sampled_from(LIMITS)
floats = st.integers(-2, 2).map(float) | st.sampled_from(SPECIAL) | st.floats()


def definition(window: list[Any], min_rows: int) -> int | None:
    if len(window) < min_rows:
        return None
    return len({"NaN" if x != x else x for x in window if x is not None})


def slid(dtype: str, values: list[Any], lo: list[int], hi: list[int], min_rows: int) -> list[int | None]:
    valid = np.array([x is not None for x in values], dtype=np.bool_)
    numbers = np.array([0 if x is None else x for x in values], dtype=dtype)
    out, ok = np.zeros(len(lo), dtype=np.int64), np.ones(len(lo), dtype=np.bool_)
    parts = spans.by_bounds(np.array(lo, dtype=np.int64), np.array(hi, dtype=np.int64))
    slide_distinct(numbers, None if valid.all() else valid, parts, min_rows, out, ok)
    return [x if good else None for x, good in zip(out.tolist(), ok.tolist(), strict=True)]


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_any_monotone_bounds(data: st.DataObject) -> None:
    dtype, numbers = data.draw(st.sampled_from([("int64", whole), ("float64", floats)]))
    values = data.draw(st.lists(st.none() | numbers, max_size=60))
    lo, hi = data.draw(monotone_bounds(len(values)))
    min_rows = data.draw(st.integers(0, 3))
    with small(8, rows=data.draw(st.integers(1, 100))):
        got = slid(dtype, values, lo, hi, min_rows)
    assert got == [definition(values[a:b], min_rows) for a, b in zip(lo, hi, strict=True)]


@pytest.mark.parametrize("step", [1, 64, 2**32, 2**40 + 1, 2**52])
def test_keys_that_differ_in_few_bits(step: int) -> None:
    """Every value four times: a hash that lost the bits that differ would take hours."""
    values = np.tile(np.arange(20_000) * step if step < 2**48 else np.arange(2000) * step, 4)
    period = len(values) // 4
    got = sw.slide(values, sw.count_distinct(), sw.trailing(period))
    assert got.tolist() == [*range(1, period + 1), *[period] * (3 * period)]


@settings(max_examples=150, deadline=None)
@given(data=st.data(), window=event_windows | step_windows)
def test_as_recalculated(data: st.DataObject, window: Any) -> None:
    rows = data.draw(st.integers(0, 50))

    def column(values: st.SearchStrategy[Any], arrow: pa.DataType) -> pa.Array:
        return pa.array(data.draw(st.lists(values, min_size=rows, max_size=rows)), arrow)

    table = pa.table(
        {
            "key": column(st.sampled_from([None, "a", "b"]), pa.string()),
            "t": column(st.integers(0, 40), pa.timestamp("s")),
            "x": column(st.none() | floats, pa.float64()),
            "n": column(st.none() | whole, pa.int64()),
            "s": column(st.none() | st.sampled_from("abc"), pa.string()),
        }
    )
    wanted = [*map(sw.count_distinct, "xnst"), sw.count_distinct("x").where("n", ">=", 0).alias("some")]
    arguments: dict[str, Any] = {"by": data.draw(st.sampled_from([None, "key"])), "order": "t"}
    expected = sw.slide(table, wanted, window, algorithm="recalculate", **arguments)
    with small(8, chunk=data.draw(st.sampled_from([5, 16, 2**20]))):
        got = sw.slide(table, wanted, window, threads=data.draw(st.sampled_from([1, 2])), **arguments)
    for name in got.column_names:
        if name != "x":  # which holds NaN, equal to nothing
            assert got[name].equals(expected[name]), name


def test_the_ladder() -> None:
    assert "linked rows" in sw.explain(np.arange(9), sw.count_distinct(), sw.trailing(3))
    assert "running_tally" in sw.explain(["a", "b"], sw.count_distinct(), sw.trailing(3))
    assert "running_tally" in sw.explain(np.arange(9), sw.most_frequent(), sw.trailing(3))
    assert "recalculate" in sw.explain(np.arange(9), sw.count_distinct(), sw.trailing(3), algorithm="recalculate")
