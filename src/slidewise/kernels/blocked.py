"""Windows of a fixed number of rows, by blocks: two scans that run side by side.

    block b-1          block b
    [ . . s s s s s ]  [ p p p . . . . ]        answer = suffix of block b-1  ⊕  prefix of block b
          └────────── w rows ──┘

Rows are cut into blocks of w. A window of w rows ends in one block and starts in the one before, so its answer is one
suffix scan's value combined with one prefix scan's: three combines per row at any w, no branches, no bounds to read.
The prefix of block b and the suffixes of block b are computed in one loop from both ends: two chains that do not wait
for each other. Partials held: 2w. Nothing is ever subtracted, so floats do not drift. A hot loop: blocks without
nulls, wholly to be answered, take the short path with no tests in it.
"""

from __future__ import annotations

from typing import Any

from slidewise.kernels.ops import Ops


def build_blocked(ops: Ops) -> Any:
    """The loop for one monoid; compiled mode only.

    The kernel answers rows ``[answer_from, last)`` of each run ``(first, answer_from, last)``; row i's window is the
    `width` rows that end at row ``i - skip``, cut at `first`.
    """
    lift_at, combine, answer, identity = ops.lift_at, ops.combine, ops.answer, ops.identity
    load, store = ops.load, ops.store
    answers_empty = ops.monoid.answers_empty

    def blocked(
        old: Any,
        new: Any,
        inputs: Any,
        valid: Any,
        has_nulls: bool,
        runs: Any,
        width: int,
        skip: int,
        min_rows: int,
        outs: Any,
        ok: Any,
    ) -> None:
        for r in range(len(runs)):
            first = runs[r, 0]
            answer_from = runs[r, 1]
            last = runs[r, 2]
            newest = first - 1
            for i in range(answer_from, min(first + skip, last)):
                if answers_empty and min_rows <= 0:
                    answer(old, outs, ok, i, identity)
                else:
                    ok[i] = False
            start = first
            while start < last - skip:
                size = min(width, last - skip - start)
                whole = start + width < last - skip
                prefix = identity
                suffix = identity
                if whole and not has_nulls and start > first and start + skip >= answer_from:
                    end = start + width - 1
                    for k in range(width - 1):
                        suffix = combine(lift_at(inputs, end - k), suffix)
                        store(new, width - 1 - k, suffix)
                        prefix = combine(prefix, lift_at(inputs, start + k))
                        answer(old, outs, ok, start + k + skip, combine(load(old, k + 1), prefix))
                    answer(old, outs, ok, end + skip, combine(prefix, lift_at(inputs, end)))
                else:
                    for k in range(size):
                        row = start + k
                        if not has_nulls or valid[row]:
                            newest = row
                            prefix = combine(prefix, lift_at(inputs, row))
                        if whole:
                            back = start + size - 1 - k
                            if not has_nulls or valid[back]:
                                suffix = combine(lift_at(inputs, back), suffix)
                            store(new, size - 1 - k, suffix)
                        if row + skip >= answer_from:
                            oldest = max(first, row - width + 1)
                            if row - oldest + 1 < min_rows or (newest < oldest and not answers_empty):
                                ok[row + skip] = False
                            elif start == first or k == width - 1:
                                answer(old, outs, ok, row + skip, prefix)
                            else:
                                answer(old, outs, ok, row + skip, combine(load(old, k + 1), prefix))
                old, new = new, old
                start += size

    return ops.kernel(blocked)
