"""Windows become bounds: for each answer, the rows `[lo, hi)` it covers. Aggregation sees nothing else of a window.

Times (or whatever the order is) are int64 or float64 and rise within a run; a run is a stretch of rows of one key, as
in kernels/sweep.py. Rows of earlier calls are still known by their times, kept in a ring per slot; so `lo` may lie
below a run's first row, and an answer does not depend on how rows are cut into calls. Over whole columns the ring is
the column of times itself (`kept` is False) and nothing is copied. One pass, amortized O(1) per row and answer. Hot
loops.
"""

from __future__ import annotations

import functools
from typing import Any

from slidewise.kernels.jit import inlined, kernel
from slidewise.kernels.registers import BASE, HEAD, MASK, OWN, TAIL

SLOT, FRESH, FIRST, ANSWER_FROM, ANSWER_TO, LAST_ROW = range(6)
"""The columns of a run, for bounds: its rows are `[FIRST, LAST_ROW)`, of which `[ANSWER_FROM, ANSWER_TO)` are asked."""

NEXT_LO, NEXT_HI, NEXT_WINDOW, STARTED = OWN, OWN + 1, OWN + 2, OWN + 3
"""Registers of a window with a step: where its next window begins and ends, its number, and whether that is set.

A session has its first row in NEXT_LO, and is open if STARTED.
"""

REGISTERS = OWN + 4

FEW = 4
"""Rows that are looked at together for whether they leave."""


@functools.cache
def event_bounds() -> Any:
    """Kernel: the bounds of `(t − before, t]` for the rows that are asked; `lo` and `hi` are by row number.

    `coarse` more than 0 moves the older end back to a multiple of it, that moment included. With `ahead`, the newer
    end is `t + after`, and the row itself is always inside. `kept`: the ring holds this call's times already
    (`append_times`) and those of earlier calls.
    """

    def event_bounds(
        times: Any,
        ring: Any,
        regs: Any,
        runs: Any,
        before: Any,
        after: Any,
        coarse: Any,
        current: bool,
        together: bool,
        ahead: bool,
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
            newest = i
            while i < runs[r, ANSWER_TO]:
                t = times[i]
                oldest = t - before
                if coarse > 0:
                    oldest = oldest // coarse * coarse
                    while ring[base + (head & mask)] < oldest and head < i + shift:
                        head += 1
                else:  # a float may be so large that t − before is t: what equals t is inside, unless before is 0
                    while head < i + shift and ring[base + (head & mask)] <= oldest:
                        if before > 0 and ring[base + (head & mask)] == t:
                            break
                        head += 1
                stop = i + 1
                if together:
                    while stop < last and times[stop] == t:
                        stop += 1
                if ahead:
                    newest = max(newest, stop)
                    while after > 0 and newest < last and times[newest] <= t + after:
                        newest += 1
                for k in range(i, stop):
                    lo[k] = head - shift
                    if ahead:
                        hi[k] = newest
                    elif current:
                        hi[k] = stop if together else k + 1
                    else:
                        hi[k] = i if together else k
                i = stop
            R[HEAD] = head

    return kernel(event_bounds)


@functools.cache
def trailing_bounds() -> Any:
    """Kernel: the older ends of several windows `(t − before, t]` of the same rows, over whole columns.

    Run (begin, asked, end): that of window k and row i goes to ``lo[k * stride + i]``. Returns the rows of
    the longest. As `event_bounds` without ties,
    coarseness or a ring; how many of the next few rows leave is counted, not branched on, since it cannot be predicted.
    """

    def trailing_bounds(times: Any, runs: Any, before: Any, stride: int, lo: Any) -> int:
        longest = 0
        for r in range(len(runs)):
            begin, asked, end = runs[r, 0], runs[r, 1], runs[r, 2]
            for k in range(len(before)):
                head = begin
                for i in range(asked, end):
                    t = times[i]
                    oldest = t - before[k]
                    if oldest == t:  # a float so large: what equals t is inside
                        while head < i and times[head] < t:
                            head += 1
                    else:
                        left = FEW
                        while left == FEW and head + FEW <= i:
                            left = 0
                            for x in range(FEW):
                                left += times[head + x] <= oldest
                            head += left
                        while left == FEW and head < i and times[head] <= oldest:
                            head += 1
                    lo[k * stride + i] = head
                    longest = max(longest, i + 1 - head)
        return longest

    return kernel(trailing_bounds)


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
    """Kernel: the windows `[k·step, k·step + width)` that end by `upto` and hold a row; empty ones are left out.

    `steps` more than 0 says that the width is so many steps: a window then ends where another starts, to the bit, also
    along floats. With `write` False nothing changes and only `counts` is filled, the number of answers of each run.
    """

    def end_of(k: int, width: Any, step: Any, steps: int) -> Any:
        return (k + steps) * step if steps > 0 else k * step + width

    end_of = inlined(end_of)

    def step_bounds(
        ring: Any,
        regs: Any,
        runs: Any,
        upto: Any,
        width: Any,
        step: Any,
        steps: int,
        write: bool,
        counts: Any,
        lo: Any,
        hi: Any,
        starts: Any,
        ends: Any,
    ) -> None:
        j = 0
        for r in range(len(runs)):
            R = regs[runs[r, SLOT]]
            base, mask, tail = R[BASE], R[MASK], R[TAIL]
            shift = tail - runs[r, LAST_ROW]
            a, b, k, started = R[HEAD], R[HEAD], 0, R[STARTED]
            if started:
                a, b, k = R[NEXT_LO], R[NEXT_HI], R[NEXT_WINDOW]
            before = j
            while a < tail:
                if b == a:  # no row of this window is left: go on at the first window that can hold row a
                    t = ring[base + (a & mask)]
                    first = int((t - width) // step) + 1
                    while end_of(first - 1, width, step, steps) > t:  # the division of floats was rounded
                        first -= 1
                    while end_of(first, width, step, steps) <= t:
                        first += 1
                    if not started or k < first:
                        k = first
                    started = 1
                start, end = k * step, end_of(k, width, step, steps)
                if end > upto[r]:
                    while a < tail and ring[base + (a & mask)] < start:  # in no window to come
                        a += 1
                    b = max(a, b)
                    break
                while b < tail and ring[base + (b & mask)] < end:
                    b += 1
                while a < b and ring[base + (a & mask)] < start:
                    a += 1
                if a < b:
                    if write:
                        lo[j] = a - shift
                        hi[j] = b - shift
                        starts[j] = start
                        ends[j] = end
                    j += 1
                    k += 1
            counts[r] = j - before
            if write:
                R[NEXT_LO], R[NEXT_HI], R[NEXT_WINDOW], R[STARTED] = a, b, k, started
                R[HEAD] = a

    return kernel(step_bounds)


@functools.cache
def merged_ends() -> Any:
    """Kernel: where some of several windows end, run by run; how many places these are.

    Window k has the answers from number `at[k]` on, `counts[k, r]` of them in run r, with ascending `ends`. Answer j is
    at ``place[j]`` of the ends of all; `order` has the answers as they come. O(windows) per end.
    """

    def merged_ends(ends: Any, at: Any, stop: Any, counts: Any, place: Any, order: Any, run: Any, when: Any) -> int:
        n = 0
        j = 0
        for r in range(counts.shape[1]):
            for k in range(len(at)):
                stop[k] = at[k] + counts[k, r]
            while True:
                first = -1
                for k in range(len(at)):
                    if at[k] < stop[k] and (first < 0 or ends[at[k]] < ends[first]):
                        first = at[k]
                if first < 0:
                    break
                end = ends[first]
                for k in range(len(at)):
                    if at[k] < stop[k] and ends[at[k]] == end:
                        place[at[k]] = n
                        order[j] = at[k]
                        j += 1
                        at[k] += 1
                run[n] = r
                when[n] = end
                n += 1
        return n

    return kernel(merged_ends)


@functools.cache
def session_bounds() -> Any:
    """Kernel: the sessions that end before `upto`; all of them if that is `forever`.

    `marks` has the first and the last time of each slot's open session: O(1) per key. With `write` False nothing
    changes and only `counts` is filled.
    """

    def session_bounds(
        times: Any,
        marks: Any,
        regs: Any,
        runs: Any,
        upto: Any,
        forever: Any,
        gap: Any,
        write: bool,
        counts: Any,
        lo: Any,
        hi: Any,
        starts: Any,
        ends: Any,
    ) -> None:
        j = 0
        for r in range(len(runs)):
            slot, row, last = runs[r, SLOT], runs[r, FIRST], runs[r, LAST_ROW]
            R = regs[slot]
            tail, begin, started = R[TAIL], R[NEXT_LO], R[STARTED]
            if runs[r, FRESH]:
                tail, begin, started = 0, 0, 0
            shift = tail - row
            oldest, newest = marks[slot, 0], marks[slot, 1]
            before = j
            while row <= last:
                if row < last:
                    t = times[row]
                    ends_here = started and t != newest and t - newest > gap
                else:
                    t = newest
                    ends_here = started and (upto[r] == forever or newest + gap < upto[r])
                if ends_here:
                    if write:
                        lo[j] = begin - shift
                        hi[j] = row
                        starts[j] = oldest
                        ends[j] = newest + gap
                    j += 1
                    started = 0
                if row < last:
                    if not started:
                        begin, oldest, started = row + shift, t, 1
                    newest = t
                row += 1
            counts[r] = j - before
            if write:
                marks[slot, 0], marks[slot, 1] = oldest, newest
                R[HEAD] = last + shift
                R[TAIL] = last + shift
                R[NEXT_LO], R[STARTED] = begin, started

    return kernel(session_bounds)


@functools.cache
def between_bounds() -> Any:
    """Kernel: the rows of each run whose time lies in `[low, high]` of the row asked.

    O(log d) each, d the distance from the bound of the row before: bounds that move little cost little.
    """

    def passed(t: Any, x: Any, through: bool) -> bool:
        return t < x or (through and t == x)

    passed = inlined(passed)

    def seek(times: Any, first: int, last: int, near: int, x: Any, through: bool) -> int:
        """The first row of `[first, last)` not before x (`through`: after x), by steps that double, then bisection."""
        a, b, step = near, near, 1
        while b < last and passed(times[b], x, through):
            a = b + 1
            b += step
            step *= 2
        b = min(b, last)
        step = 1
        while a > first and not passed(times[a - 1], x, through):
            b = a - 1
            a = max(first, b - step)
            step *= 2
        while a < b:
            middle = (a + b) // 2
            if passed(times[middle], x, through):
                a = middle + 1
            else:
                b = middle
        return a

    seek = inlined(seek)

    def between_bounds(times: Any, runs: Any, low: Any, high: Any, there: Any, lo: Any, hi: Any) -> None:
        for r in range(len(runs)):
            first, last = runs[r, FIRST], runs[r, LAST_ROW]
            a = first
            b = first
            for i in range(runs[r, ANSWER_FROM], runs[r, ANSWER_TO]):
                lo[i] = first
                hi[i] = first
                if there[i]:
                    a = seek(times, first, last, a, low[i], False)
                    b = seek(times, first, last, b, high[i], True)
                    lo[i] = a
                    hi[i] = max(a, b)

    return kernel(between_bounds)
