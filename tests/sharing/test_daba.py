"""Many DABA windows over one queue of values: sizes and functions, and no step that costs more than its bound."""

from __future__ import annotations

import random

import numpy as np
import pytest

from slidewise.errors import ArgumentError
from slidewise.monoids.catalogue.counts import COUNT_VALUES
from slidewise.monoids.catalogue.extremes import MAX_FLOAT
from slidewise.monoids.catalogue.sums import MEAN_FLOAT, SUM_FLOAT
from slidewise.sharing.daba import DabaWindows
from tests.sharing.counting import CONCAT, MAX, SUM, largest


def test_each_window_answers_as_its_definition_says() -> None:
    draw = random.Random(2)
    pairs = [(draw.choice([CONCAT, SUM, MAX]), size) for size in [1, 2, 3, 4, 5, 7, 8, 16, 31, 33, 100, 3]]
    values = [draw.randrange(100) for _ in range(400)]
    windows = DabaWindows(pairs)
    found = windows.extend(values[:123]), windows.extend(values[123:124]), windows.extend(values[124:])
    for number, (monoid, size) in enumerate(pairs):
        ours = [value for part in found for value in part[number].tolist()]
        assert ours == [monoid.fold(values[max(0, row + 1 - size) : row + 1]) for row in range(400)]


def test_values_are_lifted_and_kept_once() -> None:
    counted = largest()
    windows = DabaWindows([(counted.monoid, size) for size in (10, 100, 1000)])
    assert windows.values_held == 1024
    windows.extend(range(500))
    assert counted.lifted == 500
    shared = DabaWindows([(SUM_FLOAT, 10), (MEAN_FLOAT, 20), (COUNT_VALUES, 30)])
    assert shared.values_held == 32
    assert [answers.tolist()[-1] for answers in shared.extend([1.0] * 40)] == [10.0, 1.0, 30]


@pytest.mark.parametrize("size", [2, 5, 16, 61, 64])
def test_no_row_costs_more_than_its_bound(size: int) -> None:
    counted = largest()
    windows = DabaWindows([(counted.monoid, size), (counted.monoid, 3 * size)])
    spent = [counted.of(lambda row=row: windows.push(row)) for row in range(20 * size)]
    assert max(spent) <= 2 * (4 + 3 + 1)
    assert sum(spent[-9 * size :]) / (9 * size) <= 2 * (4 + 1)


def test_machine_code() -> None:
    values = np.random.default_rng(4).normal(10.0, 2.0, 2000)
    pairs = [(SUM_FLOAT, 7), (MAX_FLOAT, 64), (MEAN_FLOAT, 500), (MAX_FLOAT, 3)]
    found = DabaWindows(pairs, types=("float64",)).extend(values)
    for (monoid, size), answers in zip(pairs, found, strict=True):
        for row in (0, 1, 5, 63, 64, 499, 500, 1999):
            expected = monoid.fold(values[max(0, row + 1 - size) : row + 1].tolist())
            assert answers.tolist()[row] == pytest.approx(expected, rel=1e-12)


def test_wrong_calls() -> None:
    with pytest.raises(ArgumentError, match="at least one pair"):
        DabaWindows([])
    with pytest.raises(ArgumentError, match=r"windows=\('max', 3\): expected pairs"):
        DabaWindows([("max", 3)])  # type: ignore[list-item]
    with pytest.raises(ArgumentError, match="size=0: expected an integer of at least 1"):
        DabaWindows([(MAX, 0)])
