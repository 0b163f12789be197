"""Windows along numbers at their edges: the ends of int64, infinities, floats beyond the extent, narrow types."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import slidewise as sw
from slidewise.errors import ArgumentError

TOP, BOTTOM = 2**63 - 1, -(2**63)


def sums(order: Any, window: Any, values: Any = None, **more: Any) -> list[Any]:
    order = order if isinstance(order, pa.Array) else pa.array(order)
    table = pa.table({"o": order, "x": values or [2**k for k in range(len(order))], **more})
    return sw.slide(table, sw.sum("x"), window, order="o")["sum_x"].to_pylist()


def test_the_ends_of_int64() -> None:
    near = [BOTTOM + 10, BOTTOM + 12, 0, TOP - 12, TOP - 10]
    assert sums(near, sw.trailing(3, along="order")) == [1, 3, 4, 8, 24]
    assert sums(near, sw.around(3, 3, along="order")) == [3, 3, 4, 24, 24]
    assert sums(near, sw.session(5)) == [3, 4, 24]
    assert sums(near, sw.trailing(5, along="order").every(5)) == [3, 4, 24]
    for window in (sw.trailing(11, along="order"), sw.session(11), sw.around(5, 6, along="order")):
        with pytest.raises(ArgumentError, match="too near the ends of int64"):
            sums(near, window)
    full = [BOTTOM, -1, TOP]
    assert sums(full, sw.expanding(ties="together")) == [1, 3, 7]
    assert sums(full, sw.between("lo", "hi"), lo=[BOTTOM, BOTTOM, 0], hi=[TOP, -1, TOP]) == [7, 3, 4]


def test_infinities_are_places() -> None:
    order = [-math.inf, -math.inf, 0.0, 5.0, math.inf, math.inf]
    assert sums(order, sw.trailing(10.0)) == [1, 3, 4, 12, 16, 48]
    assert sums(order, sw.trailing(10.0, ties="together")) == [3, 3, 4, 12, 48, 48]
    assert sums(order, sw.around(10.0, 10.0)) == [3, 3, 12, 12, 48, 48]
    assert sums(order, sw.session(10.0)) == [3, 12, 48]
    assert sums(order, sw.expanding(ties="together")) == [3, 3, 7, 15, 63, 63]


def test_floats_too_large_to_see_the_extent() -> None:
    """t - 1 is t there; equal values are inside all the same, and no loop runs away."""
    order = [1e300, 1e300, 2e300]
    assert sums(order, sw.trailing(1.0)) == [1, 3, 4]
    assert sums(order, sw.around(1.0, 1.0)) == [3, 3, 4]
    assert sums(order, sw.session(1.0)) == [3, 4]
    for window in (sw.tumbling(1.0), sw.trailing(2.0, coarse=1.0)):
        with pytest.raises(ArgumentError, match="too far from 0"):
            sums(order, window)


def test_tenths() -> None:
    """0.1 + 0.2 is not 0.3: every row is in exactly one tumbling window, whatever the rounding."""
    order = [k / 10 for k in range(100)]
    made = sw.slide(pa.table({"o": order}), sw.count(), sw.tumbling(0.1), order="o")
    starts, ends = made["window_start"].to_pylist(), made["window_end"].to_pylist()
    assert sum(made["count"].to_pylist()) == 100
    held = [sum(start <= place < end for place in order) for start, end in zip(starts, ends, strict=True)]
    assert held == made["count"].to_pylist()
    assert all(end <= start for end, start in zip(ends, starts[1:], strict=False))
    thirds = sw.slide(pa.table({"o": order}), sw.count(), sw.trailing(0.1 * 3).every(0.1), order="o")
    assert sum(thirds["count"].to_pylist()) == 300


@pytest.mark.parametrize(
    "arrow", [pa.int8(), pa.int16(), pa.uint8(), pa.uint32(), pa.int64(), pa.float32(), pa.float64()]
)
def test_bounds_have_the_type_of_the_order(arrow: pa.DataType) -> None:
    table = pa.table({"o": pa.array([3, 4, 20]).cast(arrow), "x": [1, 2, 4]})
    for window, expected in (
        (sw.session(2), [(3, 6), (20, 22)]),
        (sw.tumbling(10, along="order"), [(0, 10), (20, 30)]),
    ):
        made = sw.slide(table, sw.sum("x"), window, order="o")
        assert made.schema.field("window_start").type == made.schema.field("window_end").type == arrow
        assert list(zip(made["window_start"].to_pylist(), made["window_end"].to_pylist(), strict=True)) == expected
        assert sw.schema(table, sw.sum("x"), window, order="o") == made.schema


def test_whole_floats_along_integers() -> None:
    assert sums([1, 2, 5], sw.trailing(2.0)) == sums([1, 2, 5], sw.trailing(2, along="order")) == [1, 3, 4]


def test_integer_order_with_bounds_of_floats() -> None:
    """As pandas has it where an integer bound is missing."""
    frame = pd.DataFrame({"o": [1, 2, 3], "lo": [0.5, np.nan, -np.inf], "hi": [2.5, 9.0, 1e300], "x": [1, 2, 4]})
    made = sw.slide(frame, [sw.sum("x"), sw.count()], sw.between("lo", "hi"), order="o")
    assert made["sum_x"].tolist() == [3, pd.NA, 7]
    assert made["count"].tolist() == [2, 0, 3]


def test_float_order_with_bounds_of_integers() -> None:
    """2**53 + 1 is no float64: it lies between two, and neither is taken for it."""
    between = 2**53 + 1
    order = [float(2**53), float(2**53 + 2), float(2**63)]
    lo, hi = [between, BOTTOM, TOP], [TOP, between, TOP]
    assert sums(order, sw.between("lo", "hi"), lo=lo, hi=hi) == [2, 1, None]


def test_a_nan_bound_is_an_empty_window() -> None:
    order, bounds = [1.0, 2.0], {"lo": [math.nan, 0.0], "hi": [9.0, math.nan]}
    assert sums(order, sw.between("lo", "hi"), **bounds) == [None, None]


@pytest.mark.parametrize(
    "window", [sw.session(2), sw.tumbling(5, along="order"), sw.trailing(2.5), sw.around(1.0, 1.0)]
)
def test_nothing_along_nothing(window: Any) -> None:
    assert sw.slide([], sw.count(), window, order=[]) == []
    assert sw.slide(np.zeros(0), sw.count(), window, order=np.zeros(0)).tolist() == []
