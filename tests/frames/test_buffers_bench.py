"""The benchmark of live buffers: it measures what it says, on buffers that agree."""

from __future__ import annotations

import pytest

from bench import frames_buffers as bench


@pytest.mark.parametrize("who", bench.BUFFERS)
def test_operations_are_counted(who: str) -> None:
    found = bench.operations(who, 128, 4, 3)
    assert set(found) == set(bench.OPERATIONS) - ({"repair"} if "single" in who else set())
    assert all(seconds > 0 for samples in found.values() for seconds, _ in samples)
    scope = sum(work for _, work in found["scope"]) / 3
    assert scope > 128 if "single" in who else scope < 40


def test_streams_end_alike() -> None:
    frames = [bench.pushed(who, 200, 0.3, 20)[2] for who in bench.BUFFERS if "in_order" not in who]
    assert frames[0]
    assert all(one == frames[0] for one in frames)
    ordered = [bench.pushed(who, 200, 0.0, 0)[2] for who in bench.BUFFERS]
    assert all(one == ordered[0] for one in ordered)
