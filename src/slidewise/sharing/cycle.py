"""A listed composite slide, as the loop over rows takes it: what 002 calls the shared plan's partials and queries.

    edge      0    1    2            lengths   rows from the edge before
    rows      2    3    4            cuts      whether a slice ends there
    answers   Q1   -    Q1 Q2        firsts    the first of its answers; of each, its span and its count of slices

Made once, O(edges + answers); what is due in a stretch of rows is then a matter of repeating it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from slidewise.sharing.plan import SharedPlan, positions
from slidewise.sharing.slicing import Beat


class Cycle:
    """A listed composite slide, as its loop takes it: per edge a length, a cut, and the spans that are answered."""

    def __init__(self, plan: SharedPlan) -> None:
        steps = (*plan.cuts, *plan.ends)
        at = positions(steps, 0, plan.composite)
        self.composite = plan.composite
        self.lengths = np.diff(at, prepend=0)
        self.cuts = np.isin(at, positions(plan.cuts, 0, plan.composite)).astype(np.int64)
        due, spans, counts = [], [], []
        for number, span in enumerate(plan.spans):
            ends = positions((Beat(span.step, span.phase),), 0, plan.composite)
            due.append(ends)
            spans.append(np.full(len(ends), number))
            counts.append(plan.cuts_before(ends) - plan.cuts_before(ends - span.length))
        ends = np.concatenate(due)
        order = np.lexsort((np.concatenate(spans), ends))
        self.ends, self.spans, self.counts = ends[order], np.concatenate(spans)[order], np.concatenate(counts)[order]
        self.firsts = np.searchsorted(self.ends, np.append(at, plan.composite + 1))

    def due(self, first: int, last: int) -> tuple[Any, Any]:
        """The answers after rows first + 1 to last: their spans, and where their windows end; O(answers)."""
        slides, at = np.divmod(np.arange(self._answered(first), self._answered(last)), len(self.ends))
        return self.spans[at], slides * self.composite + self.ends[at]

    def _answered(self, rows: int) -> int:
        """Answers there are after so many rows."""
        slides, rest = divmod(rows, self.composite)
        return slides * len(self.ends) + int(np.searchsorted(self.ends, rest, side="right"))
