"""The processing model: ticks, reports, eviction, the frontier, late events, bad calls; a state machine over all."""

from __future__ import annotations

import datetime as dt
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import slidewise as sw
from slidewise.errors import ArgumentError, BufferFull, LateEventError, SlidewiseError
from slidewise.frames import Buffer
from tests.frames.model import BUFFERS, CASES, Model

F = sw.frames
LOW = F.delta(2.0)


def ops(changes: list[Any]) -> list[tuple[Any, ...]]:
    return [(change.op, change.start, change.end, change.version) for change in changes]


# ---- ticks ----
@pytest.mark.parametrize("name", BUFFERS)
def test_a_tick_per_event_per_number_or_by_time(name: str) -> None:
    values, times = [0.0, 5.0, 10.0, 15.0, 20.0], [0, 1, 2, 3, 4]
    for tick, looks in (("event", [0, 1, 1, 1, 1]), (2, [0, 1, 0, 2, 0]), (3.0, [0, 0, 0, 3, 0])):
        buffer = Buffer(LOW, tick=tick, **BUFFERS[name])
        assert [len(buffer.push(value, time)) for value, time in zip(values, times, strict=True)] == looks
        assert len(buffer.frames()) == 5, "frames() looks for itself"


def test_ticks_by_duration() -> None:
    buffer = Buffer(LOW, tick="2 s")
    start = dt.datetime(2024, 1, 1)
    found = [len(buffer.push(10.0 * k, start + dt.timedelta(seconds=k))) for k in range(5)]
    assert found == [0, 0, 2, 0, 2]
    assert buffer.frames()[0].start == start


# ---- reports ----
@pytest.mark.parametrize("name", BUFFERS)
def test_a_closed_frame_is_reported_and_not_its_closer(name: str) -> None:
    buffer = Buffer(LOW, report="on_close", **BUFFERS[name])
    assert [ops(buffer.push(x, t)) for t, x in enumerate([1.0, 2.0, 9.0, 1.0])] == [
        [], [], [("+I", 0, 1, 1)], [("+I", 2, 2, 1)],
    ]  # fmt: skip
    assert ops(buffer.remove(3, 3)) == [("-D", 2, 2, 1)], "the last frame is open again"
    assert ops(buffer.push(1.0, 3)) == [("+I", 2, 2, 2)], "and closed: the next version"


@pytest.mark.parametrize("name", BUFFERS)
def test_updates_are_reported_as_they_come(name: str) -> None:
    buffer = Buffer(LOW, report="on_update", **BUFFERS[name])
    assert [[change[0] for change in buffer.push(x, t)] for t, x in enumerate([1.0, 2.0, 9.0])] == [
        ["+I"], ["-U", "+U"], ["-U", "+U", "+I"],
    ]  # fmt: skip


@pytest.mark.parametrize("name", BUFFERS)
def test_final_frames_are_never_corrected(name: str) -> None:
    buffer = Buffer(LOW, report="final", **BUFFERS[name])
    assert buffer.extend([1.0, 2.0, 9.0, 1.0], [0, 1, 4, 6]) == []
    assert buffer.advance(3) == []
    assert ops(buffer.advance(4)) == [("+I", 0, 1, 1)], "the watermark has passed the closer"
    assert buffer.advance(2) == []
    assert buffer.push(1.0, 4) == []
    assert buffer.remove(4, 2) == buffer.correct(1, 1, 9.0) == []
    assert [(late.op, late.time, late.seq) for late in buffer.late] == [
        ("push", 4, 4),
        ("remove", 4, 2),
        ("correct", 1, 1),
    ]
    assert buffer.late_count == 3
    assert ops(buffer.push(1.0, 5)) == []
    assert ops(buffer.advance(100)) == [("+I", 4, 4, 1)], "the open frame waits for an event that closes it"
    assert buffer.advance(100) == []


def test_a_session_is_final_when_nothing_can_join_it() -> None:
    buffer = Buffer(F.session(3), report="final")
    buffer.extend([1, 2], [0, 2])
    assert buffer.advance(5) == []
    assert [(change.end, change.closed) for change in buffer.advance(6)] == [(2, True)]
    buffer.push(1, 7)
    assert buffer.advance(8) == [], "not a second time"


# ---- eviction ----
@pytest.mark.parametrize("name", BUFFERS)
def test_after_x_closed_frames_y_go(name: str) -> None:
    buffer = Buffer(LOW, evict=(3, 2), **BUFFERS[name])
    sizes = []
    for k in range(9):
        buffer.push(10.0 * (k // 2), k)
        sizes.append(len(buffer))
    assert sizes == [1, 2, 3, 4, 5, 6, 3, 4, 5]
    assert buffer.frontier == (3, 3)
    assert buffer.push(0.0, 3) is not None
    assert buffer.late_count == 0, "as late as the frontier, and came later: after it"
    buffer.push(0.0, 2.5)
    assert (buffer.late_count, [late.time for late in buffer.late]) == (1, [2.5])


@pytest.mark.parametrize("name", BUFFERS)
def test_an_event_may_join_a_frame_that_was_evicted(name: str) -> None:
    """What is kept of it, its count and partials, is enough."""
    buffer = Buffer(LOW, evict=(3, 2), report="on_update", aggregates=[sw.sum(), sw.collect()], **BUFFERS[name])
    buffer.extend([5.0, 1.0, 2.0, 9.0, 20.0], [0, 1, 2, 5, 7])
    assert (len(buffer), buffer.frontier) == (2, (2, 2))
    withdrawn, told = buffer.push(1.5, 3)
    assert (withdrawn.op, withdrawn.count, withdrawn.results) == ("-U", 2, {"sum": 3.0, "collect": [1.0, 2.0]})
    assert (told.op, told.count, told.results) == ("+U", 3, {"sum": 4.5, "collect": [1.0, 2.0, 1.5]})
    assert [(frame.key, frame.end) for frame in buffer.frames()] == [((1, 1), 3), ((5, 3), 5), ((7, 4), 7)]
    assert buffer.content(told) == [(3, 5, 1.5)], "evicted events are gone"
    changes = buffer.remove(3, 5)
    assert [(change.op, change.end, change.count) for change in changes] == [("-U", 3, 3), ("+U", 2, 2)]
    assert [frame.key for frame in buffer.frames()] == [(5, 3), (7, 4)]
    buffer.check()


@pytest.mark.parametrize("name", BUFFERS)
def test_by_age_and_by_watermark_no_frame_is_cut_in_half(name: str) -> None:
    buffer = Buffer(F.threshold(at_least=5), evict=10, **BUFFERS[name])
    for time in range(100):
        buffer.push(7 if 40 <= time < 80 else 0, time)
        assert len(buffer) >= min(time + 1, 10)
        if 50 <= time <= 89:
            assert buffer.events()[0][0] == 40, "the frame is open, or reaches into the last ten"
    assert len(buffer) == 11
    buffer = Buffer(F.threshold(at_least=5), evict="watermark", **BUFFERS[name])
    buffer.extend([0, 7, 7, 0, 0, 7], range(6))
    buffer.advance(2)
    assert len(buffer) == 5, "the frame at 1, 2 is closed at 3"
    buffer.advance(3)
    assert len(buffer) == 2
    assert buffer.evict_interval is None
    buffer.advance(100)
    assert buffer.events() == [(5, 5, 7)]


def test_memory_follows_the_window() -> None:
    buffer = Buffer(LOW, evict=(10, 9), report="on_update")
    for time in range(5000):
        buffer.push(3.0 * (time // 3), time - time % 2)
    assert len(buffer) < 100
    assert len(buffer._log) < 50
    assert buffer._lane is not None
    buffer.check()


def test_the_evict_interval_keeps_its_first_time_and_adds_up_sizes() -> None:
    buffer = Buffer(LOW, "single", evict=(3, 2), tick=100)
    for time, value in enumerate([1.0, 2.0, 9.0, 9.0, 9.0, 20.0, 30.0]):
        buffer.add(value, time)
    assert buffer.evict_interval == (0, 4, 5)
    assert buffer.evict() == 5


# ---- the single buffer ----
def test_a_full_array_says_so_and_stays_as_it_was() -> None:
    buffer = Buffer(LOW, "single", capacity=4)
    buffer.extend([1.0, 1.0, 9.0, 9.0], range(4))
    with pytest.raises(BufferFull, match="capacity=4"):
        buffer.push(1.0, 2)
    assert [event[0] for event in buffer.events()] == [0, 1, 2, 3]
    buffer = Buffer(LOW, "single", capacity=4, evict=(2, 1))
    for time in range(50):
        buffer.push(10.0 * time, time)
    buffer.check()
    assert [event[0] for event in buffer.events()] == [48, 49]


def test_in_order_refuses_what_is_not() -> None:
    buffer = Buffer(LOW, "single", order="in_order")
    buffer.extend([1.0, 2.0, 3.0], [1, 2, 2])
    buffer.push(1.0, 1)
    assert (buffer.late_count, len(buffer)) == (1, 3)


def test_what_the_three_orders_cost() -> None:
    """Late by 500 of 1000 events: shifts for eager, a sort for lazy, and a fold of everything for both."""
    found = {}
    for order in ("eager", "lazy"):
        buffer = Buffer(LOW, "single", order=order)  # type: ignore[arg-type]
        buffer.extend([1.0] * 1000, range(1000))
        buffer.work.reset()
        buffer.add(1.0, 500)
        added = buffer.work.total
        buffer.scope(500)
        found[order] = (added, buffer.work.comparisons, buffer.work.events)
    assert found["eager"][0] == 2 * 499
    assert found["lazy"][0] == 0
    assert found["lazy"][1] > 5 * 1000
    assert found["eager"][2] == found["lazy"][2] == 1001


# ---- late, kinds of values and times ----
def test_late_events_are_kept_dropped_or_an_error() -> None:
    for late, kept in (("keep", 1), ("drop", 0)):
        buffer = Buffer(LOW, evict=(2, 1), late=late)  # type: ignore[arg-type]
        buffer.extend([0.0, 10.0, 20.0, 0.0], [1, 2, 3, 0])
        buffer.push(0.0, 0)
        assert (buffer.late_count, len(buffer.late)) == (1, kept)
    buffer = Buffer(LOW, evict=(2, 1), late="error")
    buffer.extend([0.0, 10.0, 20.0], [1, 2, 3])
    with pytest.raises(LateEventError, match="time=0"):
        buffer.push(0.0, 0)
    buffer.push(0.0, 4)
    buffer.check()


@pytest.mark.parametrize("name", BUFFERS)
def test_nulls_first_then_values_of_any_kind(name: str) -> None:
    for first in (1, 1.5, np.int64(2), np.float32(0.5), True):
        kind = F.aggregate(sw.sum(), limit=3)
        buffer = Buffer(kind, aggregates=[sw.sum(), sw.max(), sw.count()], report="on_update", **BUFFERS[name])
        buffer.extend([None, None], [1, 2])
        buffer.push(first, 1.5)
        (frame,) = buffer.frames()
        assert frame.results == {"sum": first, "max": first, "count": 3}
        buffer.check()
    buffer = Buffer(F.aggregate(sw.sum(), limit=3), **BUFFERS[name])
    buffer.push(1, 0)
    with pytest.raises(ArgumentError, match="value_kind='float'"):
        buffer.push(1.5, 1)
    assert len(buffer) == 1


def test_several_columns_and_their_nulls() -> None:
    kind = F.custom(lambda s, a, b: a > b, lambda s, a, b: s + a, lambda s, a, b: a <= b, 0, "a", "b")
    for options in BUFFERS.values():
        buffer = Buffer(kind, **options)
        buffer.extend([(2, 1), (1, 2), (3, 1), None, (None, 5), (4, 1), (1, 9)], range(7))
        assert [(frame.start, frame.end, frame.count) for frame in buffer.frames()] == [(0, 0, 1), (2, 5, 4)]
        with pytest.raises(ArgumentError, match="2 values"):
            buffer.push(3, 8)


@pytest.mark.parametrize("name", BUFFERS)
def test_a_function_that_raises_leaves_the_buffer_as_it_was(name: str) -> None:
    def close(state: int, x: Any) -> bool:
        if x == "bad":
            raise ZeroDivisionError("bad")
        return bool(x == 0)

    buffer = Buffer(F.custom(lambda s, x: x != 0, lambda s, x: s + 1, close, 0), report="on_update", **BUFFERS[name])
    buffer.extend([1, 1, 0, 1, 1], range(0, 10, 2))
    before = buffer.frames()
    with pytest.raises(ZeroDivisionError):
        buffer.push("bad", 7)
    with pytest.raises(ZeroDivisionError):
        buffer.correct(2, 1, "bad")
    assert buffer.frames() == before
    buffer.check()
    assert [change.op for change in buffer.push(0, 7)] == ["-U", "+U", "+I"]
    buffer.check()


def test_moments_are_times() -> None:
    start = np.datetime64("2024-01-01T00:00:00")
    buffer = Buffer(F.session("10 s"), report="on_update")
    buffer.push(1, start)
    buffer.push(1, start + np.timedelta64(30, "s"))
    buffer.push(1, dt.datetime(2024, 1, 1, 0, 0, 5))
    assert [(frame.start, frame.count) for frame in buffer.frames()] == [
        (start, 2),
        (start + np.timedelta64(30, "s"), 1),
    ]
    assert buffer.scope(dt.datetime(2024, 1, 1, 0, 0, 7)).size == 2  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: Buffer("delta"), "kind='delta'"),  # type: ignore[arg-type]
        (lambda: Buffer(LOW, "list"), "buffer='list': expected 'tree', 'multi' or 'single'"),  # type: ignore[arg-type]
        (lambda: Buffer(LOW, order="eager"), "order='eager': is for buffer='single'"),
        (lambda: Buffer(LOW, "single", order="sorted"), "order='sorted'"),  # type: ignore[arg-type]
        (lambda: Buffer(LOW, capacity=4), "capacity=4: is for buffer='single'"),
        (lambda: Buffer(LOW, "single", capacity=0), "capacity=0"),
        (lambda: Buffer(LOW, report="never"), "report='never'"),  # type: ignore[arg-type]
        (lambda: Buffer(LOW, late="repair"), "late='repair'"),  # type: ignore[arg-type]
        (lambda: Buffer(LOW, tick=0), "tick=0"),
        (lambda: Buffer(LOW, tick="sometimes"), "tick='sometimes'"),
        (lambda: Buffer(LOW, evict=(2, 2)), r"evict=\(2, 2\): expected \(X, Y\) with Y < X"),
        (lambda: Buffer(LOW, evict=(2,)), "evict="),
        (lambda: Buffer(LOW, evict=-1), "evict=-1"),
        (lambda: Buffer(F.session("5 s"), evict=10), "evict=10: expected all lengths"),
        (lambda: Buffer(LOW, tick="5 s", evict=10), "evict=10: expected all lengths"),
        (lambda: Buffer(LOW, aggregates=[]), "aggregates="),
        (lambda: Buffer(LOW, aggregates=sw.sum("v")), "unbound"),
        (lambda: Buffer(LOW, aggregates=[sw.sum(), sw.sum()]), "different names"),
        (lambda: Buffer(LOW, aggregates=sw.sum().where(">", 0)), "where"),
        (lambda: Buffer(LOW, value_kind="number"), "value_kind='number'"),
        (lambda: Buffer(LOW).push("x", 1), "value='x': expected a number"),
        (lambda: Buffer(LOW).push(1.0, math.nan), "time=nan"),
        (lambda: Buffer(LOW).push(1.0, None), "time=None"),
        (lambda: Buffer(F.session("5 s")).push(1.0, 0.5), "time=0.5"),
        (lambda: Buffer(F.session(5)).push(1.0, dt.datetime(2024, 1, 1)), "time="),
        (lambda: Buffer(LOW, aggregates=sw.concat()).push(1.0, 1), "concat"),
        (lambda: Buffer(LOW).extend([1.0], []), "times="),
        (lambda: Buffer(LOW).remove(1, 0), "time=1, seq=0: expected an event that is in the buffer"),
        (lambda: Buffer(LOW).correct(1, 0, 2.0), "time=1, seq=0"),
        (lambda: Buffer(LOW).content((1, 2, 3)), "frame="),  # type: ignore[arg-type]
    ],
)
def test_bad_calls_say_what_is_wrong(call: Any, said: str) -> None:
    with pytest.raises(SlidewiseError, match=said) as caught:
        call()
    assert isinstance(caught.value, ArgumentError)


# ---- a state machine ----
VALUES = st.one_of(st.none(), st.integers(-4, 5))


class Life(RuleBasedStateMachine):
    """Any sequence of operations on two buffers that must agree with the oracle, and so with each other."""

    @initialize(
        name=st.sampled_from(["threshold", "boundary", "delta", "delta range", "sum", "sum include", "max", "session"]),
        evict=st.sampled_from([None, (2, 1), (4, 3), 5, "watermark"]),
        report=st.sampled_from(["on_close", "on_update"]),
        limits=st.sampled_from([{}, {"max_count": 2}, {"max_duration": 3, "min_count": 2}]),
        tick=st.sampled_from(["event", 3, 2.0]),
    )
    def start(self, name: str, evict: Any, report: str, limits: dict[str, Any], tick: Any) -> None:
        self.models = [
            Model(CASES[name], {**BUFFERS[buffer], "evict": evict, "tick": tick}, limits, report)
            for buffer in ("tree", "multi", "lazy")
        ]

    @rule(value=VALUES, time=st.integers(0, 20))
    def push(self, value: Any, time: int) -> None:
        for model in self.models:
            model.push(value, time)

    @rule(events=st.lists(st.tuples(VALUES, st.integers(0, 20)), max_size=8))
    def extend(self, events: list[tuple[Any, int]]) -> None:
        for model in self.models:
            model.extend([value for value, _ in events], [time for _, time in events])

    @precondition(lambda self: any(model.events for model in self.models))
    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(sorted(self.models[0].events)))
        for model in self.models:
            model.remove(key)

    @precondition(lambda self: any(model.events for model in self.models))
    @rule(data=st.data(), value=VALUES)
    def correct(self, data: st.DataObject, value: Any) -> None:
        key = data.draw(st.sampled_from(sorted(self.models[0].events)))
        for model in self.models:
            model.correct(key, value)

    @rule(mark=st.integers(0, 20))
    def advance(self, mark: int) -> None:
        for model in self.models:
            model.advance(mark)

    @invariant()
    def agree(self) -> None:
        for model in getattr(self, "models", ()):
            model.agree()


TestLife = Life.TestCase
TestLife.settings = settings(max_examples=25, stateful_step_count=25, deadline=None)
