"""Several windows that end at every event, over the same events: slices are shared, only the ends of each differ.

    rows      . . . .│. . . .│. . . .│. . .          slices of SLICE rows, the last one still open
    window k      [s s│  mid  │       │p p)           answer = suffix of the oldest slice ⊕ mid ⊕ prefix of the open one
    window m              [s s│  mid  │p p)

Each event is lifted once; each slice gives its prefixes and, once it is full, its suffixes, for all windows: 2 ⊕ per
event, however many windows there are. What lies between is a number of whole slices, asked of one FlatFIT that all
windows share, and only where a window's older end has moved to another slice: about 2 queries per slice and window.
An answer is then 2 ⊕, with no element to evict and no branch that depends on how many leave. A window inside the open
slice is folded from its lifted rows, fewer than SLICE. Nothing is subtracted; order is kept.

Suffixes of as many rows as the longest window reaches, FlatFIT over a SLICE-th of that. Invariant: the place of row i
in the ring holds row i to the end of its slice. A hot loop.
"""

from __future__ import annotations

from typing import Any

from slidewise.kernels.ops import Ops
from slidewise.kernels.registers import TAIL
from slidewise.sharing.final import FinalSteps

SHIFT = 4
SLICE = 1 << SHIFT
"""Rows of a slice."""


def build_events(ops: Ops, steps: FinalSteps) -> Any:
    """The loop for one monoid, compiled mode only.

    It answers rows ``[asked, end)`` of each run ``(begin, asked, end)`` for each of several windows: that of row i
    covers rows ``[lo, i + 1 - skip)``; lo of window k is at ``lo[k * stride + i]``, its answer goes to ``k * apart +
    i``. `ring` has a power of two of places, more than any window has rows by SLICE; `lifted` and `prefix` have SLICE,
    as has `values`, the newest row with a value up to each row of the slice.
    """
    insert, query, lift_at, combine = steps.insert, steps.query, ops.lift_at, ops.combine
    identity, load, store, answer, vacant = ops.identity, ops.load, ops.store, ops.answer, ops.vacant
    answers_empty = ops.monoid.answers_empty

    def events(
        cols: Any,
        R: Any,
        ring: Any,
        lifted: Any,
        prefix: Any,
        values: Any,
        inputs: Any,
        valid: Any,
        has_nulls: bool,
        runs: Any,
        skip: int,
        lo: Any,
        stride: int,
        min_rows: Any,
        apart: int,
        outs: Any,
        ok: Any,
    ) -> None:
        mask = len(ring[0]) - 1
        for r in range(len(runs)):
            begin, asked, end = runs[r, 0], runs[r, 1], runs[r, 2]
            R[TAIL] = 0
            newest = begin - 1
            for k in range(len(min_rows)):
                for j in range(asked, min(begin + skip, end)):  # nothing is before the first row
                    if min_rows[k] > 0:
                        ok[k * apart + j] = False
                    elif answers_empty:
                        answer(ring, outs, ok, k * apart + j, identity)
                    else:
                        vacant(ring, outs, ok, k * apart + j)
            start = begin
            whole = 0
            while start < end - skip:
                stop = min(start + SLICE, end - skip)
                p = identity
                for i in range(start, stop):
                    q = identity
                    if not has_nulls or valid[i]:
                        q = lift_at(inputs, i)
                        newest = i
                    p = combine(p, q)
                    store(lifted, i - start, q)
                    store(prefix, i - start, p)
                    values[i - start] = newest
                for k in range(len(min_rows)):
                    slice_of_lo = -1
                    count = 0
                    middle = identity
                    for i in range(max(start, asked - skip), stop):
                        a = lo[k * stride + i + skip]
                        j = k * apart + i + skip
                        if i + 1 - a < min_rows[k]:
                            ok[j] = False
                        elif values[i - start] < a and not answers_empty:
                            vacant(ring, outs, ok, j)
                        elif a <= start:
                            p = load(prefix, i - start)
                            if a < start:
                                mine = (a - begin) >> SHIFT
                                if mine != slice_of_lo:
                                    slice_of_lo = mine
                                    count = whole - 1 - mine
                                    if count > 0:
                                        middle = query(cols, R, count)
                                older = load(ring, a & mask)
                                if count > 0:
                                    older = combine(older, middle)
                                p = combine(older, p)
                            answer(ring, outs, ok, j, p)
                        else:
                            p = identity
                            if a <= i:
                                p = load(lifted, a - start)
                            for x in range(a + 1, i + 1):
                                p = combine(p, load(lifted, x - start))
                            answer(ring, outs, ok, j, p)
                if stop - start == SLICE:
                    p = load(lifted, SLICE - 1)
                    store(ring, (stop - 1) & mask, p)
                    for x in range(SLICE - 2, -1, -1):
                        p = combine(load(lifted, x), p)
                        store(ring, (start + x) & mask, p)
                    insert(cols, R, p)
                    whole += 1
                start = stop

    return ops.kernel(events)
