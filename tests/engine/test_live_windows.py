"""Live windows of every kind that does not look ahead: the answers of `slide` on the same events, across snapshots."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import slidewise as sw
from tests.golden import MONOIDS

CONCAT = sw.aggregate(sw.Monoid(name="concat", **MONOIDS["concat"]))
SECOND = 10**9
PER_EVENT: list[Any] = [
    sw.expanding(),
    sw.expanding(include_current=False, min_rows=2),
    sw.trailing(3, along="order"),
    sw.trailing(2.5, include_current=False),
    sw.trailing(5, along="order", coarse=2),
    sw.trailing(5.0, coarse=1.5, min_rows=2),
]
EVENTS = st.lists(st.tuples(st.integers(0, 20), st.none() | st.sampled_from("abc")), max_size=20)


@pytest.mark.parametrize("window", PER_EVENT, ids=str)
@settings(max_examples=40)
@given(events=EVENTS, cut=st.integers(0, 20))
def test_live_is_slide(window: Any, events: list[tuple[int, str | None]], cut: int) -> None:
    events = sorted(events, key=lambda event: event[0])
    places, values = [place for place, _ in events], [value for _, value in events]
    order = None if window.axis == "rows" else [float(place) for place in places]
    expected = sw.slide(values, CONCAT, window, order=order) if any(values) else [None] * len(values)
    live = sw.LiveWindow(CONCAT, window)
    made = []
    for k, value in enumerate(values):
        if k == cut:
            live = sw.LiveWindow.restore(live.snapshot(), CONCAT)
        made.append(live.push(value, None if order is None else order[k]))
        live.check()
    assert made == expected


@pytest.mark.parametrize("window", [sw.session(2), sw.session(2.5, min_rows=2), sw.session("2 s")], ids=str)
@settings(max_examples=40)
@given(events=EVENTS, cut=st.integers(0, 20))
def test_a_session_answers_for_the_one_that_is_open(
    window: Any, events: list[tuple[int, str | None]], cut: int
) -> None:
    events = sorted(events, key=lambda event: event[0])
    scale = SECOND if window.by_time else 1
    live, open_, last = sw.LiveWindow(CONCAT, window), "", None
    rows = 0
    for k, (place, value) in enumerate(events):
        if k == cut:
            live = sw.LiveWindow.restore(live.snapshot(), CONCAT)
        if last is not None and (place - last) * scale > window.gap:
            open_, rows = "", 0
        open_, rows, last = open_ + (value or ""), rows + 1, place
        assert live.push(value, place * scale) == (open_ if open_ and rows >= window.min_rows else None)
        assert len(live) == rows
        live.check()


def test_an_expanding_window_holds_one_partial() -> None:
    live = sw.LiveWindow(sw.sum(), sw.expanding())
    short = len(live.snapshot())
    live.extend(range(10_000))
    assert live.query() == sum(range(10_000))
    assert len(live) == 10_000
    assert len(live.snapshot()) < short + 200
    assert "running" in live.explain()


def test_an_expanding_window_to_evict_from() -> None:
    live = sw.LiveWindow(sw.sum(), sw.expanding(), "two_stacks_lite")
    live.extend([1, 2, 3])
    live.evict()
    assert live.query() == 5


def test_falling_places_are_refused() -> None:
    live = sw.LiveWindow(sw.sum(), sw.session(2))
    live.push(1, 5)
    with pytest.raises(sw.errors.ArgumentError, match="never fall"):
        live.push(1, 4)
    assert live.push(1, 5) == 2


def test_a_count_of_rows_under_a_policy_of_values() -> None:
    """Which waits for the first value, as the count does not."""
    for window in (sw.adwin(), sw.evict_while(lambda total, old: total.s - old.s > 9, uses={"s": sw.sum()})):
        live = sw.LiveWindow(sw.count(), window)
        assert live.extend([None, None]) == [1, 2]
        live = sw.LiveWindow.restore(live.snapshot(), window=window)
        assert live.extend([1.0, None]) == [3, 4]
        live.check()
        assert len(live) == 4
