"""Answers back in the order of the rows: as NumPy's `take`, whatever the size and the type."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import slidewise as sw
from slidewise.kernels import gather
from slidewise.kernels.gather import MANY, backwards, taken


@pytest.mark.parametrize("size", [0, 1, 5, MANY - 1, MANY, MANY + 7])
@pytest.mark.parametrize("dtype", ["float64", "int64", "bool", "int32"])
def test_as_take(size: int, dtype: str) -> None:
    draw = np.random.default_rng(size)
    values = draw.integers(0, 100, size).astype(dtype)
    rows = draw.permutation(size)
    places = backwards(rows)
    np.testing.assert_array_equal(np.asarray(places)[rows], np.arange(size))
    made = taken(values, places)
    assert made.dtype == values.dtype
    np.testing.assert_array_equal(made, values[places])
    np.testing.assert_array_equal(taken(values[::-1], places), values[::-1][places])
    few = places[: size // 3]
    np.testing.assert_array_equal(taken(values, few), values[few])


@pytest.mark.parametrize("size", [8, MANY])
def test_written_to_what_is_spare_if_it_fits(size: int) -> None:
    values, places = np.arange(size, dtype=np.float64), np.arange(size)[::-1].copy()
    spare = np.zeros(size)
    assert taken(values, places, spare) is spare
    np.testing.assert_array_equal(spare, values[::-1])
    for other in (np.zeros(size + 1), np.zeros(size, dtype=np.int64), [0.0] * size, None):
        assert taken(values, places, other) is not other
    frozen = values.copy()
    frozen.flags.writeable = False
    np.testing.assert_array_equal(taken(frozen, places), values[::-1])


def test_answers_of_several_fields(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs: Any = np.arange(20).reshape(10, 2)
    monkeypatch.setattr(gather, "MANY", 1)
    np.testing.assert_array_equal(taken(pairs, np.arange(10)[::-1]), pairs[::-1])


def test_a_table_of_many_rows_comes_back_in_its_own_order() -> None:
    import pyarrow as pa

    draw = np.random.default_rng(3)
    keys, values = draw.integers(0, 50, MANY + 100), draw.integers(0, 9, MANY + 100)
    found = sw.slide(pa.table({"k": keys, "x": values}), [sw.sum("x"), sw.max("x"), sw.count()], sw.expanding(), by="k")
    total, seen = np.zeros(50, dtype=np.int64), np.zeros(50, dtype=np.int64)
    sums, counts = np.empty_like(keys), np.empty_like(keys)
    for row, (key, value) in enumerate(zip(keys.tolist(), values.tolist(), strict=True)):
        total[key] += value
        seen[key] += 1
        sums[row], counts[row] = total[key], seen[key]
    np.testing.assert_array_equal(found["sum_x"].to_numpy(), sums)
    np.testing.assert_array_equal(found["count"].to_numpy(), counts)
