"""Hypothesis: windows of every sort for kernels over whole columns, as bounds and as the front door takes them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

from hypothesis import strategies as st

import slidewise as sw
from slidewise.engine import batch
from slidewise.kernels import ranked, spans


@contextmanager
def small(segment: int, windows: int = 2, rows: int = 64, chunk: int = 2**20) -> Iterator[None]:
    """Segments, batches and chunks so short that a small table has many of them."""
    with (
        mock.patch.multiple(ranked, SHORTEST=segment, WINDOWS=windows, BATCH=rows),
        mock.patch.multiple(spans, WINDOWS=windows, ANSWERS=rows),
        mock.patch.object(batch, "CHUNK", chunk),
    ):
        yield


@st.composite
def monotone_bounds(draw: st.DrawFn, rows: int) -> tuple[list[int], list[int]]:
    """Windows whose ends never fall: empty ones, equal ones, gaps between them, rows in none."""
    cuts = draw(st.lists(st.tuples(st.integers(0, rows), st.integers(0, rows)), max_size=30))
    lo = sorted(min(cut) for cut in cuts)
    hi = sorted(max(cut) for cut in cuts)
    return lo, hi


event_windows = st.builds(
    lambda extent, current, least: sw.trailing(extent, include_current=current, min_rows=least),
    st.sampled_from([3, 4, 7, 100, "1 s", "3 s", "15 s", "1 min"]),
    st.booleans(),
    st.integers(0, 3),
) | st.builds(lambda current: sw.trailing("4 s", ties="together", include_current=current), st.booleans())
step_windows = st.sampled_from(
    [
        sw.trailing(5).every(2),
        sw.trailing(2).every(7),
        sw.trailing("5 s").every("2 s"),
        sw.trailing("2 s", min_rows=2).every("9 s"),
        sw.tumbling("4 s"),
    ]
)
