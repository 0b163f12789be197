"""Sketches keep the errors they promise, for many seeds; where they are exact, they are exact."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import slidewise as sw
from slidewise.monoids import might_contain
from slidewise.monoids.hashing import hash_value
from tests.catalogue import rare
from tests.definitions import rank

SEEDS = range(12)


def over_all(values: Any, one: sw.Aggregate) -> Any:
    """The answer over all of them."""
    return sw.slide(np.asarray(values), one, sw.trailing(len(values)).every(len(values)))[0]


# --- quantile --------------------------------------------------------------------------------------------------------

_numbers = st.floats(1e-3, 1e6) | st.integers(-9, 9).map(float)
_signed = st.tuples(_numbers, st.sampled_from([-1.0, 1.0])).map(lambda pair: pair[0] * pair[1])


@pytest.mark.parametrize(("q", "error"), [rare(0, 0.2), rare(0.5, 0.001), (0.9, 0.01), rare(1, 0.5)])
@given(values=st.lists(_signed | st.sampled_from([0.0, math.inf, -math.inf, math.nan]), min_size=1, max_size=40))
def test_quantile_is_near_the_value_at_its_rank(q: float, error: float, values: list[float]) -> None:
    got = over_all(np.array(values), sw.quantile(q, error=error))
    wanted = sorted(values, key=rank)[int(q * (len(values) - 1))]
    if math.isfinite(wanted):
        assert abs(got - wanted) <= error * abs(wanted) * (1 + 1e-9)
    else:
        assert rank(got) == rank(wanted)


@pytest.mark.parametrize("q", [0.0, 0.5, 0.99])
@pytest.mark.parametrize("name", ["lognormal", "normal", "exponential"])
def test_quantile_of_many_values_in_a_sliding_window(name: str, q: float) -> None:
    values = getattr(np.random.default_rng(7), name)(size=5_000)
    window = 700
    got = sw.slide(values, sw.quantile(q), sw.trailing(window))
    for row in range(0, len(values), 97):
        inside = np.sort(values[max(0, row - window + 1) : row + 1])
        wanted = inside[int(q * (len(inside) - 1))]
        assert abs(got[row] - wanted) <= 0.01 * abs(wanted) * (1 + 1e-9)


def test_quantile_outside_its_range() -> None:
    """Below `smallest` values count as 0, above `largest` as that; the error holds in between."""
    one = sw.quantile(0.5, error=0.1, smallest=1e-3, largest=1e3)
    for value, wanted in ((1e-4, 0.0), (-1e-4, 0.0), (1e6, 1e3), (-1e6, -1e3), (1e-3, 1e-3), (1e3, 1e3)):
        (got,) = sw.slide([value], one, sw.trailing(1))
        assert abs(got - wanted) <= 0.1 * abs(wanted) * (1 + 1e-9)


# --- approx_distinct -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [rare(0.01), 0.02, rare(0.1)])
@pytest.mark.parametrize("distinct", [100, 5_000, 200_000])
def test_approx_distinct_is_within_four_standard_errors(distinct: int, error: float) -> None:
    """Of each seed, and the mean of all of them is closer still: the estimate leans to no side."""
    off = []
    for seed in SEEDS:
        values = np.random.default_rng(seed).integers(-(2**62), 2**62, distinct)
        off.append(over_all(values, sw.approx_distinct(error=error)) / len(np.unique(values)) - 1)
    assert max(map(abs, off)) <= 4 * error
    assert abs(sum(off)) / len(off) <= 4 * error / math.sqrt(len(off))


@given(values=st.lists(st.text(max_size=3), max_size=12))
def test_approx_distinct_of_few_counts_their_registers(values: list[str]) -> None:
    """Exact, but for values that share one of 4,096 registers: two of twelve do in one list of sixty."""
    live = sw.LiveWindow(sw.approx_distinct(), sw.trailing(100), kind="string")
    assert (live.extend(values) or [0])[-1] == len({hash_value(value) % 4096 for value in values})


def test_equal_numbers_are_one_value() -> None:
    """1, 1.0 and True, 0.0 and -0.0, every NaN: whatever the type of the column."""
    one = sw.approx_distinct()
    assert over_all([1.0, 1.0, -0.0, 0.0, math.nan, -math.nan], one) == 3
    seen = {kind: sw.slide(np.array([1], kind), sw.bloom(), sw.trailing(1))[0] for kind in ("int64", "float64", "bool")}
    assert len(set(seen.values())) == 1


# --- bloom -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("capacity", "error"), [rare(10, 0.5), (100, 0.1), rare(1000, 0.01), rare(5000, 0.001)])
def test_bloom(capacity: int, error: float) -> None:
    """No false negatives; at full capacity the share of false positives is below twice the error."""
    wrong = asked = 0
    for seed in SEEDS:
        numbers = random.Random(seed).sample(range(10**12), capacity + 2_000)
        seen = over_all(numbers[:capacity], sw.bloom(capacity=capacity, error=error))
        assert all(might_contain(seen, number) for number in numbers[:capacity])
        wrong += sum(might_contain(seen, number) for number in numbers[capacity:])
        asked += 2_000
    assert wrong / asked <= 2 * error


@given(values=st.lists(st.text(max_size=3) | st.none(), min_size=1, max_size=30), window=st.integers(1, 8))
def test_bloom_slides(values: list[Any], window: int) -> None:
    """Each window's filter knows its own values and is the filter of nothing else."""
    filters = sw.slide(values, sw.bloom(capacity=20), sw.trailing(window))
    for row, seen in enumerate(filters):
        inside = [value for value in values[max(0, row - window + 1) : row + 1] if value is not None]
        if not inside:
            assert seen is None
            continue
        assert all(might_contain(seen, value) for value in inside)
        assert seen == sw.slide(inside, sw.bloom(capacity=20), sw.trailing(len(inside)))[-1]
