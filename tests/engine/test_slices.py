"""Live windows with `coarse=`: the answers of `slide`, from one partial per slice."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import slidewise as sw
from slidewise.engine.slices import SliceTimes
from slidewise.swag import ALGORITHMS
from tests.golden import MONOIDS
from tests.same import assert_same

CONCAT = sw.aggregate(sw.Monoid(name="concat", **MONOIDS["concat"]))
WINDOWS: list[Any] = [
    sw.trailing("5 s", coarse="2 s"),
    sw.trailing("5 s", coarse="5 s", min_rows=3),
    sw.trailing("4 s", coarse="2 s", include_current=False),
    sw.trailing("7 s", coarse="1 s", include_current=False, min_rows=2),
]
EVENTS = st.lists(st.tuples(st.integers(0, 40), st.none() | st.integers(-9, 9)), max_size=25)


def _at(halves: int) -> datetime:
    """Half seconds before and after 1970: slices are counted from there, backwards too."""
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=(halves - 20) / 2)


@pytest.mark.parametrize("window", WINDOWS, ids=str)
@pytest.mark.parametrize("one", [CONCAT, sw.sum(), sw.mean(), sw.count(), sw.last(), sw.collect()], ids=str)
@settings(max_examples=30)
@given(events=EVENTS, cut=st.integers(0, 25))
def test_live_is_slide(window: Any, one: Any, events: list[tuple[int, int | None]], cut: int) -> None:
    events = sorted(events, key=lambda event: event[0])
    times = [_at(place) for place, _ in events]
    values: list[Any] = [value for _, value in events]
    if one is CONCAT:
        values = [None if value is None else chr(105 + value) for value in values]
    if all(value is None for value in values):
        return  # the kind of such a list is not known
    own = one if one is CONCAT else None
    live, made = sw.LiveWindow(one, window), []
    for k, value in enumerate(values):
        if k == cut:
            live = sw.LiveWindow.restore(live.snapshot(), own)
        made.append(live.push(value, times[k]))
        live.check()
    assert_same(made, sw.slide(values, one, window, order=times), scale=250.0)


@pytest.mark.parametrize("algorithm", sorted(set(ALGORITHMS) - {"subtract_on_evict", "monotonic_deque"}))
def test_by_every_algorithm(algorithm: str) -> None:
    times = [_at(k * k % 7 + 3 * k) for k in range(40)]
    values = [chr(97 + k % 26) if k % 5 else None for k in range(40)]
    times.sort()
    live = sw.LiveWindow(CONCAT, WINDOWS[0], algorithm)
    assert live.extend(values, times) == sw.slide(values, CONCAT, WINDOWS[0], order=times)
    assert algorithm in live.explain()
    assert "partials for n slices" in live.explain()


def test_only_slices_are_kept() -> None:
    live = sw.LiveWindow(sw.stddev(), sw.trailing("60 s", coarse="10 s"))
    short = 0
    for k in range(20_000):
        live.push(float(k % 17), _at(0) + timedelta(milliseconds=20 * k))
        if k == 4_000:
            short = len(live.snapshot())
    assert len(live) > 3_000
    assert len(live.snapshot()) < 1.2 * short < 3_000


def test_whole_slices_leave() -> None:
    live = sw.LiveWindow(sw.sum(), sw.trailing("10 s", coarse="2 s"))
    for second in range(6):
        live.push(10**second, datetime(2024, 5, 1, 12, 0, second, tzinfo=UTC))
    with pytest.raises(sw.errors.ArgumentError, match="1 of the 2 events of a slice"):
        live.evict()
    assert (len(live), live.query()) == (6, 111_111)
    live.evict_many(2)
    assert (len(live), live.query()) == (4, 111_100)
    with pytest.raises(IndexError):
        live.evict_many(5)
    live.evict_many(4)
    live.check()
    assert (len(live), live.query()) == (0, None)
    assert live.push(7, datetime(2024, 5, 1, 12, 0, 9, tzinfo=UTC)) == 7


def test_nulls_before_the_first_value_have_their_slices() -> None:
    live = sw.LiveWindow(sw.sum(), sw.trailing("2 s", coarse="1 s"))
    for second in range(5):
        assert live.push(None, _at(2 * second)) is None
    assert len(live) == 3
    assert live.push(4, _at(10)) == 4
    live.check()
    assert len(live) == 3


def test_a_lift_that_fails_leaves_the_window_as_it_was() -> None:
    shares = sw.Monoid(identity=0.0, lift=lambda x: 1 / x, combine=lambda a, b: a + b, name="shares")
    live = sw.LiveWindow(sw.aggregate(shares), sw.trailing("4 s", coarse="2 s"))
    live.push(2.0, _at(0))
    with pytest.raises(ZeroDivisionError):
        live.push(0.0, _at(5))
    live.check()
    assert (live.query(), len(live)) == (0.5, 1)
    assert live.push(4.0, _at(5)) == 0.75
    live.check()


def test_many_slices_cost_no_more_per_event() -> None:
    """What is looked at is what leaves."""
    times = SliceTimes(10)
    for k in range(0, 100_000, 10):
        times.append(k)

    class Counted(list[int]):
        looks = 0

        def __getitem__(self, key: Any) -> Any:
            Counted.looks += 1
            return super().__getitem__(key)

    times._starts = Counted(times._starts)
    assert times.older(30) == 3
    assert Counted.looks < 40
