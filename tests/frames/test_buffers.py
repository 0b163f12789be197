"""One suite, three buffers: all give the frames of a batch fold, and a changelog that says so.

pushes, late and in order, batches, deletes, corrections ──► frames() and replayed changelog == oracle
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import slidewise as sw
from slidewise.errors import ArgumentError
from slidewise.monoids import BUILTINS
from tests.catalogue import CORE, VARIANTS
from tests.frames.model import BUFFERS, CASES, Model, random_run
from tests.same import assert_same

LIMITS: dict[str, dict[str, Any]] = {
    "no limits": {},
    "max_count": {"max_count": 3},
    "max_duration": {"max_duration": 4},
    "both, and the least": {"max_count": 4, "max_duration": 6, "min_count": 2, "min_duration": 1},
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("buffer", BUFFERS)
def test_a_buffer_gives_the_frames_of_a_batch_fold(buffer: str, name: str) -> None:
    for seed in range(2):
        random_run(Model(CASES[name], BUFFERS[buffer]), random.Random(seed), 50, agree_every=2)


@pytest.mark.parametrize("limits", LIMITS)
@pytest.mark.parametrize("name", ["threshold", "delta", "sum", "sum include", "max", "session", "custom"])
@pytest.mark.parametrize("buffer", BUFFERS)
def test_frames_that_are_closed_by_force_are_repaired_too(buffer: str, name: str, limits: str) -> None:
    model = Model(CASES[name], BUFFERS[buffer], LIMITS[limits], report="on_close")
    random_run(model, random.Random(7), 50, agree_every=3)


@pytest.mark.parametrize("evict", [(3, 1), (5, 4), 6, "watermark"])
@pytest.mark.parametrize("name", ["threshold", "delta range", "sum", "sum include", "mean", "session", "custom"])
@pytest.mark.parametrize("buffer", BUFFERS)
def test_what_was_evicted_is_not_needed(buffer: str, name: str, evict: Any) -> None:
    model = Model(CASES[name], {**BUFFERS[buffer], "evict": evict})
    draw = random.Random(3)
    for part in range(4):
        random_run(model, draw, 15, agree_every=3)
        if evict == "watermark" and model.events:
            newest = max(time for time, _ in model.events)
            model.advance(newest - 6 + part)
            model.agree()
    assert model.buffer.frontier is not None
    assert model.buffer.late_count > 0
    assert len(model.buffer) < len(model.events)


@pytest.mark.parametrize("tick", [1, 3, 2.0])
@pytest.mark.parametrize("buffer", BUFFERS)
def test_events_between_ticks_are_repaired_together(buffer: str, tick: Any) -> None:
    random_run(Model(CASES["sum"], {**BUFFERS[buffer], "tick": tick}), random.Random(5), 60, agree_every=7)


@pytest.mark.parametrize("name", CASES)
def test_large_frames_in_the_tree(name: str) -> None:
    """Enough events for a tree of three levels, and changes all over it."""
    model = Model(CASES[name], {"buffer": "tree"})
    draw = random.Random(11)
    times = list(range(1500))
    model.extend([CASES[name].values(draw) for _ in times], times)
    for _ in range(20):
        model.push(CASES[name].values(draw), draw.randrange(1500))
        model.remove(draw.choice(list(model.events)))
        model.correct(draw.choice(list(model.events)), CASES[name].values(draw))
    model.agree()


@pytest.mark.parametrize("evict", [None, (3, 2), 4, "watermark"])
@pytest.mark.parametrize("name", ["threshold", "delta", "sum include", "custom"])
@pytest.mark.parametrize("buffer", BUFFERS)
def test_final_frames_are_told_once_and_stay(buffer: str, name: str, evict: Any) -> None:
    """Whatever comes late, a reader has the frames whose closers the watermark has passed, and nothing is withdrawn."""
    model = Model(CASES[name], {**BUFFERS[buffer], "evict": evict}, report="final")
    draw = random.Random(9)
    for mark in range(0, 60, 5):
        for _ in range(6):
            model.push(CASES[name].values(draw), mark + draw.randrange(-8, 12))
        assert {change.op for change in model.advance(mark)} <= {"+I"}
        model.buffer.check()
        told = {one.key for one in model.expected() if one.closer is not None and one.closer <= mark}
        assert set(model.rows) == told
    assert model.rows
    assert model.buffer.late_count > 0


@pytest.mark.parametrize("name", ["delta", "delta range", "sum", "sum include", "sum quarters", "max"])
@pytest.mark.parametrize("buffer", BUFFERS)
def test_frames_that_begin_with_many_nulls(buffer: str, name: str) -> None:
    """The first value of a frame never closes it, however large: nulls before it say nothing."""
    model = Model(CASES[name], BUFFERS[buffer])
    model.extend([None] * 150, range(150))
    model.extend([float(x) if name == "sum quarters" else x for x in [9, 0, 1, 9] * 30], range(200, 320))
    model.agree()
    for time in (5, 149, 210, 230):
        model.push(None, time)
    model.correct((200, 150), None)
    model.agree()


@pytest.mark.parametrize("name", ["delta", "delta range", "sum of many"])
def test_a_leap_waits_for_the_first_value(name: str) -> None:
    """Nulls, then a long frame: repairs that run over it again and again."""
    model = Model(CASES[name], {"buffer": "tree"})
    model.extend([None] * 150 + [0] * 200, range(350))
    for time in (5, 6, 160, 7):
        model.push(None, time)
        model.agree()


@pytest.mark.parametrize("buffer", BUFFERS)
def test_a_frame_that_has_no_value_any_more(buffer: str) -> None:
    """A sum of 0 is not the same as no value: what comes next closes the first frame, and joins the second."""
    model = Model(CASES["sum"], BUFFERS[buffer])
    model.extend([0, 9, 1], [1, 2, 3])
    assert len(model.expected()) == 3
    model.correct((1, 0), None)
    model.agree()
    assert len(model.expected()) == 2


@pytest.mark.parametrize("name", VARIANTS)
def test_every_aggregate_is_the_same_in_a_tree_and_in_a_fold(name: str) -> None:
    """Events in no order at all into the tree, sorted ones into an array; a few aggregates also by slide."""
    if min(BUILTINS[name].columns) > 1:
        return
    one = next(iter(VARIANTS[name].values())).alias("it")
    values: list[Any] = [
        str(k) if name == "concat" else k % 3 > 0 if name in ("all", "any") else k / 4 for k in range(60)
    ]
    times = list(range(60))
    shuffled = random.Random(2).sample(list(zip(values, times, strict=True)), 60)
    kind = sw.frames.aggregate(sw.count(), limit=7)
    tree = sw.frames.Buffer(kind, aggregates=one)
    for value, time in shuffled:
        tree.push(value, time)
    array = sw.frames.Buffer(kind, "single", order="in_order", aggregates=one)
    array.extend(values, times)
    found = [frame.results["it"] for frame in tree.frames()]
    if name in ("argmin", "argmax"):  # positions are those of arrival
        found = [shuffled[position][1] for position in found]
    assert_same(found, [frame.results["it"] for frame in array.frames()], scale=1e4)
    if name in CORE:
        assert_same(found, sw.slide(values, one, kind), scale=1e4)


@pytest.mark.parametrize("buffer", ["tree", "multi", "single"])
def test_eviction_keeps_up_with_looks_that_are_rare(buffer: str) -> None:
    held = sw.frames.Buffer(sw.frames.delta(1), buffer, evict=(10, 5), tick=100)
    for place in range(1000):
        held.push(place * 5, place)
    assert len(held) <= 110
    held.extend([place * 5 for place in range(1000, 2000)], range(1000, 2000))
    assert len(held) <= 110
    held.check()


def test_limits_on_what_is_no_number_are_refused() -> None:
    with pytest.raises(ArgumentError, match="answers no number"):
        sw.frames.Buffer(sw.frames.aggregate(sw.collect(), 2)).extend([1, 2], [1, 2])


def test_a_number_of_arrival_may_be_numpy_s() -> None:
    held = sw.frames.Buffer(sw.frames.delta(1), report="on_update")
    held.extend([1, 5], [1, 2])
    assert [change.op for change in held.remove(2, np.int64(1))] == ["-U", "+U", "-D"]
