"""Repairs: the cases of the spec to the letter, and how much work each may be.

t1:1 t2:2 t3:0 | t4:1 t5:1 | t6:2 t7:0 | t8:2 t9:1      and t2.5:2 comes late
t1 t2 | t2.5 t3 t4 | t5 t6 t7 | t8 t9                    the last frame is not touched
"""

from __future__ import annotations

import random
from typing import Any

import pytest

import slidewise as sw
from slidewise.frames import Buffer
from tests.frames import oracle
from tests.frames.model import BUFFERS

GOLDEN = [1, 2, 0, 1, 1, 2, 0, 2, 1]


def cuts(buffer: Buffer) -> list[list[Any]]:
    """The times of each frame's events."""
    return [[time for time, _, _ in buffer.content(frame)] for frame in buffer.frames()]


@pytest.mark.parametrize("name", BUFFERS)
def test_the_golden_case(name: str) -> None:
    buffer = Buffer(sw.frames.aggregate(sw.sum(), limit=3), report="on_update", **BUFFERS[name])
    buffer.extend(GOLDEN, range(1, 10))
    assert cuts(buffer) == [[1, 2, 3], [4, 5], [6, 7], [8, 9]]
    changes = buffer.push(2, 2.5)
    assert cuts(buffer) == [[1, 2], [2.5, 3, 4], [5, 6, 7], [8, 9]]
    assert [(change.op, change.start) for change in changes] == [
        ("-U", 1), ("+U", 1), ("+I", 2.5), ("-D", 4), ("+I", 5), ("-D", 6),
    ]  # fmt: skip


@pytest.mark.parametrize("name", BUFFERS)
def test_equal_times_do_not_end_a_repair(name: str) -> None:
    """1:1 3a:1 3b:1 | 4:1 5:1 6:1, included; after a late 2:1 the first frame ends at 3 again, at 3a."""
    kind = sw.frames.aggregate(sw.sum(), limit=3, crossing="include", strict=False)
    buffer = Buffer(kind, **BUFFERS[name])
    buffer.extend([1, 1, 1, 1, 1, 1], [1, 3, 3, 4, 5, 6])
    assert cuts(buffer) == [[1, 3, 3], [4, 5, 6]]
    buffer.push(1, 2)
    assert cuts(buffer) == [[1, 2, 3], [3, 4, 5], [6]]
    assert [seq for frame in buffer.frames() for _, seq, _ in buffer.content(frame)] == [0, 6, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("name", BUFFERS)
def test_state_that_is_carried_across_frames_does_not_end_a_repair(name: str) -> None:
    """Every second event opens a frame: a late one moves all later frames, though some keep their ends."""
    functions = {
        "open": lambda n, x: x > 0 and n % 2 == 0,
        "update": lambda n, x: n + 1,
        "close": lambda n, x: n % 4 == 3 or x == 0,
    }
    kind = sw.frames.custom(*functions.values(), state=0, carries=True)
    buffer = Buffer(kind, **BUFFERS[name])
    values = [1, 1, 0, 1, 1, 1, 0, 0, 1, 1, 1, 0, 1, 1, 1, 1]
    buffer.extend(values, range(0, 2 * len(values), 2))
    before = cuts(buffer)
    for late in (0, 1):
        buffer.push(late, 3)
        events = [(time, seq, value) for time, seq, value in buffer.events()]
        expected = oracle.carried(events, 0, **functions)
        assert cuts(buffer) == [[time for time, _, _ in one.events] for one in expected]
    ends = {frame[-1] for frame in before} & {frame[-1] for frame in cuts(buffer)}
    assert ends, "the case has frames that end alike in both runs"
    assert cuts(buffer) != before


@pytest.mark.parametrize("name", BUFFERS)
def test_one_event_above_the_limit_is_a_frame_of_its_own(name: str) -> None:
    buffer = Buffer(sw.frames.aggregate(sw.sum(), limit=3), **BUFFERS[name])
    buffer.extend([9, 9, 1, 9, 1], range(5))
    assert cuts(buffer) == [[0], [1], [2], [3], [4]]


@pytest.mark.parametrize("name", BUFFERS)
@pytest.mark.parametrize(
    "kind", [sw.frames.threshold(at_least=5), sw.frames.delta(2.0), sw.frames.session(4)], ids=repr
)
def test_no_event_and_one(name: str, kind: Any) -> None:
    buffer = Buffer(kind, report="on_update", **BUFFERS[name])
    assert (buffer.frames(), buffer.events(), buffer.report(), buffer.evict(), buffer.scope(1)) == ([], [], [], 0, None)
    assert (buffer.extend([], []), buffer.draw(), len(buffer), buffer.advance(7)) == ([], "", 0, [])
    buffer.check()
    assert [change.op for change in buffer.push(7.0, 3)] == ["+I"]
    assert cuts(buffer) == [[3]]
    assert [change.op for change in buffer.remove(3, 0)] == ["-D"]
    assert (cuts(buffer), len(buffer)) == ([], 0)
    assert [change.version for change in buffer.push(7.0, 3)] == [1]  # another event, another frame
    buffer.check()


# ---- how much work ----
def filled(kind: Any, values: list[Any], **options: Any) -> Buffer:
    buffer = Buffer(kind, **options)
    buffer.extend(values, range(0, 10 * len(values), 10))
    buffer.work.reset()
    return buffer


NEAR = {
    "threshold": (sw.frames.threshold(at_least=5), lambda i: 7 if i % 500 else 0),
    "boundary": (sw.frames.boundary([0, 10]), lambda i: 3 if i // 500 % 2 else 13),
    "session": (sw.frames.session(15), lambda i: 1),
}


@pytest.mark.parametrize("late", [0, 7, 25])
@pytest.mark.parametrize("kind", NEAR)
@pytest.mark.parametrize("name", ["tree", "multi"])
def test_repairs_that_end_at_the_next_old_event(name: str, kind: str, late: int) -> None:
    """However long frames are, and wherever the event falls: its own step and the next event's."""
    made, value = NEAR[kind]
    buffer = filled(made, [value(i) for i in range(3000)], **BUFFERS[name])
    buffer.add(late, 12_345)
    buffer.work.reset()
    buffer._settled()
    assert buffer.work.events <= 4
    assert buffer.work.frames <= 8
    assert buffer.work.realigned == 1
    buffer.check()


def test_a_repair_of_delta_frames_ends_at_the_next_jump() -> None:
    """Ten levels of 300 events; a late event that strays changes its own level and no other."""
    for name, most in (("tree", 150), ("multi", 900)):
        buffer = filled(sw.frames.delta(2.0), [float(100 * (i // 300)) for i in range(3000)], **BUFFERS[name])
        changes = buffer.push(50.0, 10 * 1000 + 5)
        assert {change.start for change in changes} <= {9000, 10_005, 10_010}
        assert buffer.work.realigned == 1
        assert buffer.work.events < most, (
            "a few leaves; or the level: to find the place, to repair, count and report it"
        )


def test_a_repair_stops_where_the_runs_agree_and_not_before() -> None:
    """In the golden case the runs agree once t8 has opened the last frame in both."""
    for name in ("multi", "tree"):
        buffer = filled(sw.frames.aggregate(sw.sum(), limit=3), GOLDEN, **BUFFERS[name])
        buffer.add(2, 15)
        buffer.work.reset()
        buffer._settled()
        assert (buffer.work.realigned, buffer.work.ran_out) == (1, 0)
        assert (buffer.work.splits, buffer.work.merges) == (2, 2)
    buffer = filled(sw.frames.aggregate(sw.sum(), limit=3), GOLDEN, buffer="multi")
    buffer.add(2, 15)
    buffer.work.reset()
    buffer._settled()
    assert buffer.work.events == 7, "t2.5 and t3 .. t8"


def test_a_limit_may_ripple_to_the_end() -> None:
    buffer = filled(sw.frames.aggregate(sw.sum(), limit=3), [2] * 500, buffer="multi", report="on_update")
    buffer.push(1, 5)
    assert buffer.work.realigned == 1  # 2 1 | 2 | 2: the late event joins one frame
    buffer = filled(sw.frames.aggregate(sw.sum(), limit=4), [2] * 500, buffer="multi", report="on_update")
    buffer.push(2, 5)
    assert (buffer.work.realigned, buffer.work.ran_out) == (0, 1)


@pytest.mark.parametrize("operation", ["scope", "content", "evict"])
def test_the_tree_is_logarithmic_where_the_lists_are_linear(operation: str) -> None:
    """64 times as many frames: the tree looks at a few more nodes, the lists at 64 times as many frames."""

    def work(name: str, events: int) -> int:
        evict = {"evict": (events // 4, events // 4 - 1)} if operation == "evict" else {}
        buffer = Buffer(sw.frames.delta(1.0), tick=10**9, **BUFFERS[name], **evict)
        buffer.extend([float(i // 2) for i in range(events)], range(events))
        early = buffer.scope(events // 8)
        buffer.scope(events - 1)
        buffer.work.reset()
        if operation == "scope":
            buffer.scope(3)
        elif operation == "content":
            assert early is not None
            assert len(buffer.content(early)) == 2
        else:
            assert buffer.evict() > events // 8
        return buffer.work.total

    small, large = work("tree", 128), work("tree", 8192)
    assert large <= small + 16
    if operation != "evict":
        assert work("multi", 8192) > 30 * work("multi", 128)


def test_saved_pointers_make_content_constant() -> None:
    """Counted both ways: with the pointer that scope saved, and without."""
    found = []
    for saving in (True, False):
        buffer = Buffer(sw.frames.delta(1.0), "multi")
        buffer.extend([float(i) for i in range(1000)], range(1000))
        buffer._lane.frames.saving = saving  # type: ignore[union-attr]
        interval = buffer.scope(10)
        buffer.work.reset()
        assert buffer.content(interval) == [(10, 10, 10.0)]  # type: ignore[arg-type]
        found.append(buffer.work.frames)
    assert found[0] == 1
    assert found[1] > 900


def test_saved_pointers_make_evict_constant() -> None:
    found = []
    for saving in (True, False):
        buffer = Buffer(sw.frames.delta(1.0), "multi", evict=(999, 1), tick=10**9)
        buffer.extend([float(i) for i in range(1000)], range(1000))
        assert len(buffer.frames()) == 1000
        buffer._lane.frames.saving = saving  # type: ignore[union-attr]
        buffer.work.reset()
        assert buffer.evict() == 1
        found.append(buffer.work.frames)
    assert found[0] <= 2
    assert found[1] > 900


@pytest.mark.parametrize("values", [lambda draw: draw.randrange(-50, 60), lambda draw: draw.randrange(-200, 240) / 4])
def test_long_sums_are_leapt_over(values: Any) -> None:
    """A frame of 6,000 events, some negative: a late event costs a few leaves, not the frame."""
    draw = random.Random(1)
    buffer = filled(sw.frames.aggregate(sw.sum(), limit=10**7), [values(draw) for _ in range(6000)])
    buffer.push(values(draw), 30_005)
    buffer.work.reset()
    buffer.push(values(draw), 30_006)
    assert buffer.work.events < 200
    buffer.check()


def test_sums_that_round_are_folded_one_by_one() -> None:
    """0.1 is no multiple of a power of two that sums could keep: the tree cuts where the fold from the left does."""
    values = [0.1] * 800
    for limit in (10.0, 0.3):
        kind = sw.frames.aggregate(sw.sum(), limit=limit)
        tree, multi = filled(kind, values), filled(kind, values, buffer="multi")
        for buffer in (tree, multi):
            buffer.push(0.1, 5)
            buffer.remove(90, 9)
        assert cuts(tree) == cuts(multi)
