"""Several windows with a step over the same rows: rows are folded into slices, and every window takes whole ones.

    rows      . . . . . . . . . . . .
    cuts     │. .│. . .│.│. . .│. . .│         where some window of a shared plan starts or ends
    1 min    [───)[────)[)             one ⊕ per row into its slice, then FlatFIT over the slices:
    5 min    [──────────────────)      1 to 3 ⊕ per answer, the fewer the more windows end together

This is a shared plan (sharing/plan.py) for many keys at once: a slot per key, each with FlatFIT over its slices and a
ring that says at which row each slice begins. Windows start and end at cuts, so slices are never taken in part. What is
open at the end of a call becomes a slice of its own: that changes no answer. O(rows · 1 ⊕ + slices · cuts of the plan),
and per answer O(log slices) to find its oldest slice. Invariant: a slot's two rings hold the same slices.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from slidewise.kernels.jit import kernel
from slidewise.kernels.ops import Ops
from slidewise.kernels.registers import BASE, HEAD, LAST, MASK, OWN, TAIL
from slidewise.swag.bank import Bank
from slidewise.swag.flatfit import FlatFIT

SLOT, FRESH, FIRST_ROW, LAST_ROW, FIRST_ANSWER, LAST_ANSWER, KEEP = range(7)
"""The columns of a run: rows `[FIRST_ROW, LAST_ROW)` go in, answers `[FIRST_ANSWER, LAST_ANSWER)` are due, rows from
KEEP on are in windows to come."""

ROWS = OWN
"""The register of the ring of beginnings that counts the rows so far."""


def hop_banks(ops: Ops) -> tuple[Bank, Bank]:
    """Room for windows of many keys: for their slices, and for where these begin."""
    return FlatFIT.bank(ops), Bank(lambda n: (np.zeros(n, dtype=np.int64),), compiled=True, own=1)


@functools.cache
def slice_rows() -> Any:
    """Kernel: which rows begin a slice, and how many do of each run. Cuts are ``offsets[b] + k · periods[b]``."""

    def slice_rows(times: Any, runs: Any, periods: Any, offsets: Any, begins: Any, counts: Any) -> None:
        for r in range(len(runs)):
            found = 0
            until = times[runs[r, FIRST_ROW]] if runs[r, FIRST_ROW] < runs[r, LAST_ROW] else 0
            for i in range(runs[r, FIRST_ROW], runs[r, LAST_ROW]):
                t = times[i]
                begins[i] = t >= until
                if begins[i]:
                    found += 1
                    until = t + periods[0] - (t - offsets[0]) % periods[0]
                    for b in range(1, len(periods)):
                        until = min(until, t + periods[b] - (t - offsets[b]) % periods[b])
            counts[r] = found

    return kernel(slice_rows)


def build_hops(ops: Ops) -> Any:
    """The loop for one monoid, compiled mode only.

    Answer j covers rows ``[lo[j], hi[j])``, is of window ``which[j]`` and goes to place ``place[j]`` of that window's
    own `outs`, unless it is not `ok` there from the start: then it is not wanted. Answers of a run come in the order of
    their ends; row i begins a slice if ``begins[i]``.
    """
    insert, query = FlatFIT.steps(ops).insert, FlatFIT.ranges(ops, ops.jit).query
    lift_at, combine = ops.lift_at, ops.combine
    identity, answer, vacant, answers_empty = ops.identity, ops.answer, ops.vacant, ops.monoid.answers_empty

    def hops(
        slices: Any,
        slice_regs: Any,
        ring: Any,
        regs: Any,
        inputs: Any,
        valid: Any,
        has_nulls: bool,
        begins: Any,
        runs: Any,
        lo: Any,
        hi: Any,
        which: Any,
        place: Any,
        min_rows: Any,
        outs: Any,
        ok: Any,
    ) -> None:
        for r in range(len(runs)):
            R, S = regs[runs[r, SLOT]], slice_regs[runs[r, SLOT]]
            if runs[r, FRESH]:
                R[HEAD] = 0
                R[TAIL] = 0
                R[ROWS] = 0
                R[LAST] = -1
                S[HEAD] = 0
                S[TAIL] = 0
            base, mask, head, newest = R[BASE], R[MASK], R[HEAD], R[LAST]
            row, end = runs[r, FIRST_ROW], runs[r, LAST_ROW]
            shift = R[ROWS] - row
            p = identity
            some = False
            for j in range(runs[r, FIRST_ANSWER], runs[r, LAST_ANSWER] + 1):
                due = j < runs[r, LAST_ANSWER]
                until = hi[j] if due else end
                while row < until:
                    q = identity
                    if not has_nulls or valid[row]:
                        q = lift_at(inputs, row)
                        newest = row + shift
                    if some and not begins[row]:
                        p = combine(p, q)
                    else:
                        if some:
                            insert(slices, S, p)
                        ring[base + (R[TAIL] & mask)] = row + shift
                        R[TAIL] += 1
                        p = q
                        some = True
                    row += 1
                if some:  # the end of a window is a cut, and so is the end of a call
                    insert(slices, S, p)
                    some = False
                if due:
                    k, at = which[j], place[j]
                    oldest, mine_ok = lo[j] + shift, ok[k]
                    if not mine_ok[at] or hi[j] - lo[j] < min_rows[k]:
                        mine_ok[at] = False
                    elif newest < oldest and not answers_empty:
                        vacant(slices, outs[k], mine_ok, at)
                    else:
                        low, high = head, R[TAIL]
                        while low < high:
                            middle = (low + high) // 2
                            if ring[base + (middle & mask)] < oldest:
                                low = middle + 1
                            else:
                                high = middle
                        answer(slices, outs[k], mine_ok, at, query(slices, S, low, S[TAIL]))
            R[ROWS] = end + shift
            R[LAST] = newest
            keep = runs[r, KEEP] + shift
            while head < R[TAIL] and (
                ring[base + ((head + 1) & mask)] <= keep if head + 1 < R[TAIL] else R[ROWS] <= keep
            ):
                head += 1
            R[HEAD] = head
            S[HEAD] = head

    return ops.kernel(hops)
