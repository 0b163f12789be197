"""Long windows of a fixed number of rows, in leaps: what the blocked kernel does, with buffers that stay in the cache.

    rows   s0        s0 + B                     e0         e0 + B
           [ s s s s ]─────── middle: the same ──[ p p p p ]
             └───────────────── w rows ────────────┘            answer = suffix ⊕ middle ⊕ prefix

B windows at a time, whose oldest rows lie in one block of B rows and whose newest in another. The rows between are the
middle of all of them, put together from the totals of blocks that were prefixes before; suffixes are scanned backwards
from the middle, so a row costs three combines, as in kernels/blocked.py. Partials held: B and w/B. Per leap the middle
costs w/B more, and (w − 1) mod B rows that are in no whole block; `leap_of` picks a B that leaves few. A hot loop.
"""

from __future__ import annotations

from typing import Any

from slidewise.kernels.ops import Ops

LONG = 2**19
"""Windows beyond as many rows go in leaps. The buffers of shorter ones stay near enough (measured: from here on it is
faster for sums, means and deviations, and much the same for extremes)."""

SMALLEST, LARGEST = 2048, 8192


def leap_of(width: int) -> int:
    """The size of a block: the one that leaves the fewest rows over."""
    return min(range(LARGEST, SMALLEST - 1, -1), key=lambda block: (width - 1) % block)


def build_leaps(ops: Ops) -> Any:
    """The loop for one monoid; compiled mode only.

    As kernels/blocked.py, the kernel answers rows ``[answer_from, last)`` of each run ``(first, answer_from, last)``,
    with ``answer_from <= first + width - 1 + skip``.
    """
    lift_at, combine, answer, vacant, identity = ops.lift_at, ops.combine, ops.answer, ops.vacant, ops.identity
    load, store = ops.load, ops.store
    answers_empty = ops.monoid.answers_empty

    def fold(inputs: Any, valid: Any, has_nulls: bool, total: Any, begin: int, end: int) -> Any:
        for row in range(begin, end):
            if not has_nulls or valid[row]:
                total = combine(total, lift_at(inputs, row))
        return total

    fold = ops.jit(fold)

    def leaps(
        suffixes: Any,
        totals: Any,
        inputs: Any,
        valid: Any,
        has_nulls: bool,
        runs: Any,
        width: int,
        block: int,
        skip: int,
        min_rows: int,
        outs: Any,
        ok: Any,
    ) -> None:
        whole = (width - 1) // block - 1
        rest = (width - 1) % block
        for r in range(len(runs)):
            first, answer_from, last = runs[r, 0], runs[r, 1], runs[r, 2]
            newest = first - 1
            for i in range(answer_from, min(first + skip, last)):
                if min_rows > 0:
                    ok[i] = False
                elif answers_empty:
                    answer(suffixes, outs, ok, i, identity)
                else:
                    vacant(suffixes, outs, ok, i)
            start = min(first + width - 1, last - skip)
            prefix = identity
            for row in range(first, start):  # the first windows are partial
                if not has_nulls or valid[row]:
                    newest = row
                    if answer_from < start + skip:
                        prefix = combine(prefix, lift_at(inputs, row))
                if row + skip >= answer_from:
                    if row - first + 1 < min_rows:
                        ok[row + skip] = False
                    elif newest < first and not answers_empty:
                        vacant(suffixes, outs, ok, row + skip)
                    else:
                        answer(suffixes, outs, ok, row + skip, prefix)
            if start < last - skip:
                for j in range(whole):
                    begin = start - (whole - j) * block
                    store(totals, j, fold(inputs, valid, has_nulls, identity, begin, begin + block))
            oldest = 0
            while start < last - skip:
                low = start - width + 1
                middle = fold(inputs, valid, has_nulls, identity, low + block, low + block + rest)
                for j in range(whole):
                    place = oldest + j if oldest + j < whole else oldest + j - whole
                    middle = combine(middle, load(totals, place))
                suffix = middle
                for k in range(block - 1, -1, -1):
                    if not has_nulls or valid[low + k]:
                        suffix = combine(lift_at(inputs, low + k), suffix)
                    store(suffixes, k, suffix)
                prefix = identity
                size = min(block, last - skip - start)
                if has_nulls:
                    for k in range(size):
                        if valid[start + k]:
                            newest = start + k
                            prefix = combine(prefix, lift_at(inputs, start + k))
                        if newest < low + k and not answers_empty:
                            vacant(suffixes, outs, ok, start + k + skip)
                        else:
                            answer(suffixes, outs, ok, start + k + skip, combine(load(suffixes, k), prefix))
                else:
                    for k in range(size):
                        prefix = combine(prefix, lift_at(inputs, start + k))
                        answer(suffixes, outs, ok, start + k + skip, combine(load(suffixes, k), prefix))
                if whole > 0:
                    store(totals, oldest, prefix)
                    oldest = oldest + 1 if oldest + 1 < whole else 0
                start += size

    return ops.kernel(leaps)
