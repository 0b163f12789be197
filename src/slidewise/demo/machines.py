"""Results of the stream, machine by machine, with what the pictures mark: faults, quiet periods, late events."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from slidewise.datasets import FAULTS

__all__ = ["Machine", "by_number", "split"]

_Floats = npt.NDArray[np.float64]

_GAP: Final = 1.0  # seconds without an event that count as quiet


@dataclass(frozen=True)
class Machine:
    """One machine's results in event-time order, with times in seconds since the start of the picture."""

    name: str
    rows: pa.Table
    at: _Floats
    cuts: npt.NDArray[np.intp]  # positions of the first events after quiet periods
    quiet: list[tuple[float, float]]
    faults: list[tuple[float, float, str]]
    late: _Floats

    def column(self, name: str) -> _Floats:
        values: _Floats = pc.fill_null(self.rows[name].cast(pa.float64()), math.nan).to_numpy()
        return values


def by_number(name: str) -> tuple[int, str]:
    """Sorts ``mill-2`` before ``press-10``."""
    number = name.rpartition("-")[2]
    return len(number), number


def split(results: pa.Table) -> Iterator[Machine]:
    """The machines in the results, by number; rows may be in any order."""
    if not results.num_rows:
        return
    start = pc.min(results["ts"]).cast(pa.int64()).as_py()
    for name in sorted(pc.unique(results["machine"]).to_pylist(), key=by_number):
        rows = results.filter(pc.equal(results["machine"], name)).sort_by("ts")
        ts = rows["ts"].cast(pa.int64()).to_numpy()
        at = (ts - start) / 1e6
        cuts = np.flatnonzero(np.diff(at) > _GAP) + 1
        fault = rows["fault"].to_numpy()
        edges = np.flatnonzero(np.diff(fault)) + 1
        spans = zip([0, *edges], [*edges, len(fault)], strict=True)
        yield Machine(
            name=name,
            rows=rows,
            at=at,
            cuts=cuts,
            quiet=[(float(at[i - 1]), float(at[i])) for i in cuts],
            faults=[(float(at[lo]), float(at[hi - 1]), FAULTS[fault[lo]]) for lo, hi in spans if fault[lo]],
            late=at[rows["arrived"].cast(pa.int64()).to_numpy() > ts],
        )
