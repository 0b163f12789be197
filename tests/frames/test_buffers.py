"""One suite, three buffers: all give the frames of a batch fold, and a changelog that says so.

pushes, late and in order, batches, deletes, corrections ──► frames() and replayed changelog == oracle
"""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests.frames.model import BUFFERS, CASES, Model, random_run

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
        keys = list(model.events)
        model.remove(draw.choice(keys))
        model.correct(
            draw.choice(keys[:700]) if draw.random() < 0 else draw.choice(list(model.events)), CASES[name].values(draw)
        )
    model.agree()
