"""Spans: answers side by side whose windows a kernel works through from an empty set on, whatever came before.

    answers   begin ───────────────► end
    rows      [lo, hi)  →→→→  [lo, hi)          neither bound ever falls

The bounds are two arrays, or a number of rows, which needs no arrays at all. Cutting costs the rows of the first window
once more, so a span covers several times the rows of its longest window.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

WINDOWS = 6
"""A span covers at least as many times the rows of its longest window."""

ANSWERS = 2**16
"""The fewest answers of a span, but for the last."""

U = np.uint64
NO_NULLS = np.zeros(0, dtype=np.bool_)
NONE = np.zeros(0, dtype=np.int64)
NO_RUNS = np.zeros((0, 3), dtype=np.int64)


@dataclass(frozen=True)
class Span:
    """Answers `[begin, end)`, the longest window among them, how many rows they cover in all, and their bounds.

    `bounds` is (lo, hi, runs, width, skip). Answer j covers rows `[lo[j], hi[j])`, neither ever falling; or, if `width`
    is not 0, the `width` rows that end at row ``j - skip``, cut at the beginning of its run: then there is nothing to
    write and read.
    """

    begin: int
    end: int
    longest: int
    rows: int
    bounds: tuple[Any, ...]


def by_bounds(lo: Any, hi: Any, begin: int = 0) -> list[Span]:
    """All answers from `begin` on, as two arrays say; cut, so that one long window does not thin out all sets."""
    found = []
    while begin < len(lo):
        size, short = ANSWERS, True
        while short:
            end = min(begin + size, len(lo))
            longest, rows = int((hi[begin:end] - lo[begin:end]).max()), int(hi[end - 1] - lo[begin])
            short = end < len(lo) and rows < WINDOWS * longest
            size *= 4
        found.append(Span(begin, end, longest, rows, (lo, hi, NO_RUNS, 0, 0)))
        begin = end
    return found


def by_rows(runs: Any, width: int, skip: int) -> list[Span]:
    """A number of rows each; runs are (first row, first row to answer, last row), side by side."""
    longest = min(width, int((runs[:, 2] - runs[:, 0]).max()))
    begin, end = int(runs[0, 1]), int(runs[-1, 2])
    return [Span(begin, end, longest, end - int(runs[0, 0]), (NONE, NONE, runs, width, skip))]


def validity(valid: Any) -> Any:
    """Which rows are valid, as kernels take it: empty if all are, and read-only: one Numba type, so one kernel."""
    array = (NO_NULLS if valid is None else np.ascontiguousarray(valid)).view()
    array.flags.writeable = False
    return array


# ---- for kernels to be built of --------------------------------------------------------------------------------------
def rows_of(bounds: Any, run: Any, answer: Any) -> Any:
    """The rows `[lo, hi)` of an answer."""
    lo, hi, runs, width, skip = bounds
    if width == 0:
        return lo[U(answer)], hi[U(answer)]
    stop = answer + 1 - skip
    return max(runs[run, 0], stop - width), stop


def run_of(bounds: Any, run: Any, answer: Any) -> Any:
    """The run of an answer, which is this one or a later."""
    _, _, runs, width, _ = bounds
    while width > 0 and runs[run, 2] <= answer:
        run += 1
    return run
