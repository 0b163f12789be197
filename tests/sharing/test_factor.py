"""Factor windows: when the model takes them, that counting agrees with it, and that answers do not change."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slidewise.errors import ArgumentError
from slidewise.monoids.catalogue.extremes import MAX_FLOAT
from slidewise.monoids.catalogue.sums import MEAN_FLOAT
from slidewise.sharing import FactorPlan, Query, SharedPlan, SharedWindows
from slidewise.sharing.factor import Stage
from slidewise.sharing.plan import Span
from tests.sharing.counting import CONCAT, MAX, SUM, Counted
from tests.sharing.test_shared_windows import collected, cut, separate


def spans(*lengths: tuple[int, int]) -> list[Span]:
    return [Span(length, step, 0) for length, step in lengths]


def test_windows_that_are_multiples_of_others_read_their_results() -> None:
    plan = FactorPlan(SharedPlan([Query(MAX, n, n) for n in (60, 300, 3600)]))
    fine, middle, coarse = spans((60, 60), (300, 300), (3600, 3600))
    assert plan.stages == (Stage(None, (fine,)), Stage(fine, (middle,)), Stage(middle, (coarse,)))
    assert plan.factors == ()
    assert plan.cost.beats(plan.alone)
    assert plan.cost.partials == 3


def test_a_window_that_nobody_asked_for() -> None:
    plan = FactorPlan(SharedPlan([Query(MAX, 7, 7), Query(MAX, 1000, 10), Query(MAX, 2000, 10)]))
    assert plan.factors == tuple(spans((10, 10)))
    assert "10 every 10 (factor)" in str(plan)


def test_nothing_changes_where_nothing_is_gained() -> None:
    for lengths in ([(60, 60)], [(300, 60), (900, 60), (3600, 60)], [(7, 7), (1000, 10)], [(5, 3), (7, 2)]):
        plan = FactorPlan(SharedPlan([Query(MAX, length, step) for length, step in lengths]))
        assert len(plan.stages) == 1
        assert plan.cost == plan.alone


@pytest.mark.parametrize(
    "lengths", [[(60, 60), (300, 300), (3600, 3600)], [(3, 3), (20, 10), (30, 10)], [(6, 6), (240, 24), (600, 24)]]
)
def test_the_model_agrees_with_counting(lengths: list[tuple[int, int]]) -> None:
    spent = {}
    for factored in (False, True):
        counted = Counted(0, max, "max")
        plan = SharedPlan([Query(counted.monoid, length, step) for length, step in lengths])
        factors = FactorPlan(plan)
        windows = SharedWindows(plan, factors=factors if factored else None)
        windows.extend([0] * 14_400)
        spent[factored] = counted.of(lambda w=windows: w.extend([0] * 14_400)) / 14_400
        model = factors.cost if factored else factors.alone
        assert spent[factored] == pytest.approx(model.combines, rel=1 / 6)
    assert spent[True] <= spent[False]  # FlatFIT that writes back jumps along finer answers anyway


HOUR = 3600


@pytest.mark.parametrize(
    ("lengths", "partials"),
    [
        ([(60, 60), (300, 60), (900, 60), (HOUR, 60)], (60, 60)),
        ([(60, 60), (300, 300), (HOUR, HOUR), (24 * HOUR, 24 * HOUR)], (1440, 4)),
        ([(60, 60), (HOUR, 60), (24 * HOUR, HOUR)], (1440, 84)),
        ([(HOUR, 300), (24 * HOUR, HOUR)], (288, 36)),
    ],
    ids=str,
)
def test_factors_save_memory_and_no_combines(lengths: list[tuple[int, int]], partials: tuple[int, int]) -> None:
    """Why `sw.slide` takes one plan and no stages: a reading a second, windows of dashboards."""
    spent, rows = [], 24 * HOUR
    for factored in (False, True):
        counted = Counted(0, max, "max")
        plan = SharedPlan([Query(counted.monoid, length, step) for length, step in lengths])
        factors = FactorPlan(plan)
        assert (factors.alone.partials, factors.cost.partials) == partials
        windows = SharedWindows(plan, factors=factors if factored else None)
        windows.extend([0] * rows)
        spent.append(counted.of(lambda w=windows, n=rows: w.extend([0] * n)))
    assert abs(spent[0] - spent[1]) <= 0.001 * rows


@settings(max_examples=40)
@given(seed=st.integers(0, 2**32), along=st.sampled_from(["rows", "order"]))
def test_factors_change_no_answer(seed: int, along: Any) -> None:
    draw = random.Random(seed)
    unit = draw.choice([2, 3, 5])
    lengths = [
        (unit * draw.randrange(1, 8) * many, unit * draw.randrange(1, 4) * many)
        for many in [draw.choice([1, 2, 4]) for _ in range(draw.randrange(1, 5))]
    ]
    queries = [Query(draw.choice([CONCAT, SUM]), length, step, along=along) for length, step in lengths]
    queries += [Query(CONCAT, unit, unit, along=along)] * draw.randrange(2)
    rows = draw.randrange(1, 150)
    values = [None if draw.random() < 0.2 else draw.randrange(100) for _ in range(rows)]
    times = np.cumsum([draw.randrange(draw.choice([2, 20])) for _ in range(rows)]).tolist()
    plan = SharedPlan(queries)
    windows = SharedWindows(plan, factors=FactorPlan(plan))
    pieces: list[Any] = [(values[part], times[part] if along == "order" else None) for part in cut(draw, rows, 40)]
    upto = rows if along == "rows" else times[-1] + 300
    found = collected(windows, pieces if along == "rows" else [*pieces, upto])
    events = list(zip(times if along == "order" else range(rows), values, strict=True))
    assert found == [separate(query, events, upto) for query in queries]


def test_factors_in_machine_code() -> None:
    values = np.round(np.random.default_rng(3).normal(5.0, 1.0, 4000), 3)
    queries = [Query(MAX_FLOAT, 6, 6), Query(MEAN_FLOAT, 240, 24), Query(MAX_FLOAT, 600, 24)]
    plan = SharedPlan(queries)
    factors = FactorPlan(plan)
    assert len(factors.stages) > 1
    found, plain = (SharedWindows(plan, types=("float64",), factors=some).extend(values) for some in (factors, None))
    for one, other in zip(found, plain, strict=True):
        np.testing.assert_allclose(one.values[0], other.values[0], rtol=1e-12)
        np.testing.assert_array_equal(one.ends, other.ends)


def test_wrong_calls() -> None:
    plan = SharedPlan([Query(MAX, 6, 6)])
    with pytest.raises(ArgumentError, match="density=0: expected a positive number"):
        FactorPlan(plan, 0)
    with pytest.raises(ArgumentError, match="plan=6: expected a SharedPlan"):
        FactorPlan(6)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="factors="):
        SharedWindows(plan, factors=FactorPlan(SharedPlan([Query(MAX, 6, 6)])))
