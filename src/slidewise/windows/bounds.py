"""Windows become bounds: for each answer, the rows `[lo, hi)` it covers. Aggregation sees nothing else of a window.

Times are int64 and rise within a run; a run is a stretch of rows of one key, as in kernels/sweep.py. Rows of earlier
calls are still known by their times, kept in a ring per slot; so `lo` may lie below a run's first row, and an answer
does not depend on how rows are cut into calls. Over whole columns the ring is the column of times itself (`kept` is
False) and nothing is copied. One pass, amortized O(1) per row and answer. Hot loops.
"""

from __future__ import annotations

import functools
from typing import Any

from slidewise.kernels.jit import kernel
from slidewise.kernels.registers import BASE, HEAD, MASK, OWN, TAIL

SLOT, FRESH, FIRST, ANSWER_FROM, LAST_ROW, UPTO = range(6)
"""The columns of a run, for bounds: UPTO is the time through which windows with a step may be answered."""

NEXT_LO, NEXT_HI, NEXT_START, STARTED = OWN, OWN + 1, OWN + 2, OWN + 3
"""Registers of a window with a step: where its next window begins, ends and starts in time, and whether that is set."""

REGISTERS = OWN + 4


@functools.cache
def event_bounds() -> Any:
    """Kernel: the bounds of `(t − width, t]` for every row from ANSWER_FROM on; `lo` and `hi` are by row number.

    `kept`: the ring holds this call's times already (`append_times`) and those of earlier calls.
    """

    def event_bounds(
        times: Any,
        ring: Any,
        regs: Any,
        runs: Any,
        width: int,
        current: bool,
        together: bool,
        kept: bool,
        lo: Any,
        hi: Any,
    ) -> None:
        for r in range(len(runs)):
            R = regs[runs[r, SLOT]]
            last = runs[r, LAST_ROW]
            if not kept:
                R[HEAD] = runs[r, FIRST]
                R[TAIL] = last
            base, mask, head = R[BASE], R[MASK], R[HEAD]
            shift = R[TAIL] - last
            i = runs[r, ANSWER_FROM]
            while i < last:
                t = times[i]
                while ring[base + (head & mask)] <= t - width:
                    head += 1
                stop = i + 1
                if together:
                    while stop < last and times[stop] == t:
                        stop += 1
                for k in range(i, stop):
                    lo[k] = head - shift
                    if current:
                        hi[k] = stop if together else k + 1
                    else:
                        hi[k] = i if together else k
                i = stop
            R[HEAD] = head

    return kernel(event_bounds)


@functools.cache
def append_times() -> Any:
    """Kernel: remember the times of each run's rows in its slot's ring."""

    def append_times(times: Any, ring: Any, regs: Any, runs: Any) -> None:
        for r in range(len(runs)):
            R = regs[runs[r, SLOT]]
            if runs[r, FRESH]:
                R[HEAD] = 0
                R[TAIL] = 0
                R[STARTED] = 0
            base, mask, tail = R[BASE], R[MASK], R[TAIL]
            for i in range(runs[r, FIRST], runs[r, LAST_ROW]):
                ring[base + (tail & mask)] = times[i]
                tail += 1
            R[TAIL] = tail

    return kernel(append_times)


@functools.cache
def step_bounds() -> Any:
    """Kernel: the windows `[k·step, k·step + width)` that end by UPTO and hold a row; empty ones are left out.

    With `write` False nothing changes and only `counts` is filled, the number of answers of each run.
    """

    def step_bounds(
        ring: Any, regs: Any, runs: Any, width: int, step: int, write: bool, counts: Any, lo: Any, hi: Any, starts: Any
    ) -> None:
        j = 0
        for r in range(len(runs)):
            R = regs[runs[r, SLOT]]
            base, mask, tail = R[BASE], R[MASK], R[TAIL]
            shift = tail - runs[r, LAST_ROW]
            upto = runs[r, UPTO]
            a, b, start, started = R[HEAD], R[HEAD], 0, R[STARTED]
            if started:
                a, b, start = R[NEXT_LO], R[NEXT_HI], R[NEXT_START]
            before = j
            while a < tail:
                if b == a:  # no row of this window is left: go on at the first window that can hold row a
                    earliest = ((ring[base + (a & mask)] - width) // step + 1) * step
                    if not started or start < earliest:
                        start = earliest
                    started = 1
                if start > upto - width:
                    while a < tail and ring[base + (a & mask)] < start:  # in no window to come
                        a += 1
                    b = max(a, b)
                    break
                while b < tail and ring[base + (b & mask)] < start + width:
                    b += 1
                while a < b and ring[base + (a & mask)] < start:
                    a += 1
                if a < b:
                    if write:
                        lo[j] = a - shift
                        hi[j] = b - shift
                        starts[j] = start
                    j += 1
                    start += step
            counts[r] = j - before
            if write:
                R[NEXT_LO], R[NEXT_HI], R[NEXT_START], R[STARTED] = a, b, start, started
                R[HEAD] = a

    return kernel(step_bounds)
