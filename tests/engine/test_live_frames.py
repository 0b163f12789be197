"""Frames event by event: after each event the answer is that of its frame so far, through snapshots and stores."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import slidewise as sw
from slidewise.errors import ArgumentError, SnapshotError
from slidewise.frames.kind import Frame
from tests.frames.definition import frames_of
from tests.frames.kinds import kinds
from tests.frames.test_whole import total_of

SECOND = 1_000_000_000
NUMBERS = itertools.count()


def so_far(kind: Frame, values: list[Any], times: list[int]) -> list[list[int]]:
    """For each event the places of the rows of its frame up to it; none if it is in none."""
    found = []
    for n in range(1, len(values) + 1):
        cuts = frames_of(kind, values[:n], times[:n], total_of(kind))
        found.append(cuts[-1].rows if cuts and cuts[-1].rows[-1] == n - 1 else [])
    return found


@pytest.mark.parametrize("kind", kinds(None), ids=str)
@settings(max_examples=25)
@given(
    events=st.lists(st.tuples(st.integers(0, 4), st.none() | st.integers(-3, 4)), max_size=20),
    where=st.sampled_from(["memory", "snapshot", "store"]),
)
def test_each_event_is_answered_by_its_frame(kind: Frame, events: list[tuple[int, Any]], where: str) -> None:
    times = [0]
    for gap, _ in events[1:]:
        times.append(times[-1] + gap * SECOND // 2)
    values = [value for _, value in events]
    live = sw.LiveWindow(sw.sum(), kind, store=f"memory:frames{next(NUMBERS)}" if where == "store" else None)
    with live:
        for n, rows in enumerate(so_far(kind, values, times)):
            if where == "snapshot":
                live = sw.LiveWindow.restore(live.snapshot(), window=kind)
            there = [values[row] for row in rows if values[row] is not None]
            assert live.push(values[n], times[n]) == (sum(there) if there else None)
            assert len(live) == len(rows)
            live.check()


def test_a_store_goes_on_where_it_was() -> None:
    kind = sw.frames.delta(2.0)
    with sw.LiveWindow(sw.count(), kind, store="memory:going") as live:
        assert live.extend([1.0, 1.5, 9.0]) == [1, 2, 1]
    with sw.LiveWindow.restore("memory:going") as again:
        assert again.window == kind
        assert again.extend([9.5, 1.0]) == [2, 1]


def test_what_a_frame_goes_along_is_what_its_first_event_has() -> None:
    rows = sw.LiveWindow(sw.count(), sw.frames.delta(2))
    rows.push(1)
    with pytest.raises(ArgumentError, match="time=3: expected no time"):
        rows.push(1, 3)
    numbers = sw.LiveWindow(sw.count(), sw.frames.delta(2, max_duration=5))
    assert [numbers.push(1, t) for t in (0, 5, 6)] == [1, 2, 1]
    with pytest.raises(ArgumentError, match="is before the newest"):
        numbers.push(1, 2)
    with pytest.raises(ArgumentError, match="time=None"):
        sw.LiveWindow(sw.count(), sw.frames.session("1 s")).push(1)


def test_what_is_wrong_is_said() -> None:
    with pytest.raises(ArgumentError, match="names a column"):
        sw.LiveWindow(sw.count(), sw.frames.delta("x", 2))
    with pytest.raises(ArgumentError, match=r"value='a'.*is cut by numbers"):
        sw.LiveWindow(sw.count(), sw.frames.delta(2)).extend([1, "a"])
    live = sw.LiveWindow(sw.count(), sw.frames.aggregate(sw.sum(), 3))
    live.insert(1)
    with pytest.raises(ArgumentError, match="nothing else may leave"):
        live.evict()
    with pytest.raises(ArgumentError, match="holds code"):
        sw.LiveWindow.restore(live.snapshot())
    with pytest.raises(SnapshotError, match="another window"):
        sw.LiveWindow.restore(live.snapshot(), window=sw.frames.aggregate(sw.sum(), 4))


class Bag(tuple[int, ...]):
    """A partial that no plain codec knows."""


def bag(version: int = 1) -> sw.Monoid:
    return sw.Monoid(
        identity=Bag(),
        lift=lambda x: Bag([x]),
        combine=lambda a, b: Bag((*a, *b)),
        lower=len,
        codec=(
            lambda held: ",".join(map(str, held)).encode(),
            lambda text: Bag(map(int, filter(None, text.split(b",")))),
        ),
        name="bag",
        version=version,
    )


def test_a_limited_aggregate_is_stored_by_its_own_codec() -> None:
    kind = sw.frames.aggregate(sw.aggregate(bag()), 2)
    live = sw.LiveWindow(sw.count(), kind)
    assert live.extend([1, 2, 3]) == [1, 2, 1]
    again = sw.LiveWindow.restore(live.snapshot(), window=kind)
    assert again.extend([4, 5]) == [2, 1]
    with pytest.raises(SnapshotError, match="another window"):
        sw.LiveWindow.restore(live.snapshot(), window=sw.frames.aggregate(sw.aggregate(bag(version=2)), 2))


def test_what_cannot_be_stored_is_said() -> None:
    kind = sw.frames.custom(lambda s, x: True, lambda s, x: s | {x}, lambda s, x: x in s, frozenset())
    live = sw.LiveWindow(sw.count(), kind)
    assert live.extend([1, 2, 1]) == [1, 2, 1]
    with pytest.raises(SnapshotError, match="the state of frames"):
        live.snapshot()
    with pytest.raises(ArgumentError, match="answers no number"):
        sw.LiveWindow(sw.count(), sw.frames.aggregate(sw.collect(), 2)).extend([1, 2])
