"""Stretches of rows that windows go on with, and what they are asked there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Runs:
    """Stretches of rows of one key each, in order: run r is rows `[starts[r], starts[r + 1])`.

    `slots` says whose window it continues; `fresh` True begins that slot anew. A key has at most one run per call.
    """

    slots: Any
    fresh: Any
    starts: Any

    def __len__(self) -> int:
        return len(self.slots)


def whole_groups(times: Any, starts: Any, counts: Any) -> Any:
    """The first `counts` rows of each run, less those whose time some row after them shares."""
    if not len(times):
        return counts
    new = np.append(True, times[1:] != times[:-1])
    new[starts[:-1][starts[:-1] < len(times)]] = True
    begins = np.maximum.accumulate(np.where(new, np.arange(len(times)), 0))
    first, last = starts[:-1], starts[1:]
    at = first + counts
    return np.where(at < last, begins[np.minimum(at, len(times) - 1)] - first, counts)


@dataclass(frozen=True)
class Asked:
    """The older ends `lo` of the answers asked; for each run its rows, its first answer, and which rows stay."""

    lo: Any = None
    begin: Any = None
    end: Any = None
    first: Any = None
    keep: Any = None
    wanted: Any = None
