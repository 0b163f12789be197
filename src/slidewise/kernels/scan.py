"""The scan: windows of all rows so far, over whole columns.

    x0   x0 ⊕ x1   x0 ⊕ x1 ⊕ x2   ...        one ⊕ per row, one partial, no bounds to read

What `expanding` is where ties are apart. Invariant: before row i is answered, `total` is the sum of the run's values up
to it. A hot loop.
"""

from __future__ import annotations

from typing import Any

from slidewise.kernels.ops import Ops


def build_scan(ops: Ops) -> Any:
    """The loop for one monoid, at the speed of `ops`.

    The kernel answers rows ``[answer_from, last)`` of each run ``(first, answer_from, last)``; row `base` is answer 0.
    With `skip` a row is answered before it is taken in.
    """
    lift_at, combine, answer, vacant, identity = ops.lift_at, ops.combine, ops.answer, ops.vacant, ops.identity
    answers_empty = ops.monoid.answers_empty
    nothing = ()  # only tallies look at the partials that an answer is of, and they are not scanned

    def scan(
        inputs: Any, valid: Any, has_nulls: bool, runs: Any, base: int, skip: bool, min_rows: int, outs: Any, ok: Any
    ) -> None:
        for r in range(len(runs)):
            first = runs[r][0]
            answer_from = runs[r][1]
            total = identity
            some = answers_empty
            for row in range(first, runs[r][2]):
                if skip and row >= answer_from:
                    if row - first < min_rows:
                        ok[row - base] = False
                    elif some:
                        answer(nothing, outs, ok, row - base, total)
                    else:
                        vacant(nothing, outs, ok, row - base)
                if not has_nulls or valid[row]:
                    total = combine(total, lift_at(inputs, row))
                    some = True
                if not skip and row >= answer_from:
                    if row - first + 1 < min_rows:
                        ok[row - base] = False
                    elif some:
                        answer(nothing, outs, ok, row - base, total)
                    else:
                        vacant(nothing, outs, ok, row - base)

    return ops.kernel(scan)
