"""Several windows that end at every event, over the same events: slices are shared, only the ends of each differ.

    rows      . . . .│. . . .│. . . .│. . .          slices of SLICE rows, the last one still open
    window k      [s s│  mid  │       │p p)           answer = suffix of the oldest slice ⊕ mid ⊕ prefix of the open one
    window m              [s s│  mid  │p p)

Each event is lifted once; each slice gives its prefixes and, once it is full, its suffixes, for all windows: 2 ⊕ per
event, however many windows there are. What lies between is a number of whole slices, asked of one FlatFIT that all
windows share, and only where a window's older end has moved to another slice: about 2 queries per slice and window.
An answer is then 2 ⊕, with no element to evict and no branch that depends on how many leave. A window inside the open
slice is folded from its lifted rows, fewer than SLICE. Nothing is subtracted; order is kept.

A slot has two rings: one place per row of the longest window, and FlatFIT over slices. Positions only grow, and slice
number s is positions ``[s · SLICE, (s + 1) · SLICE)``. Invariant: the place of a row holds its partial to the end of
its slice, the row's own while the slice is open. Measured: with every row in FlatFIT and a range query per window and
row it takes longer than windows apart; with slices about half as long.
"""

from __future__ import annotations

from typing import Any

from slidewise.kernels.ops import Ops
from slidewise.kernels.registers import BASE, HEAD, LAST, MASK, TAIL
from slidewise.swag.bank import Bank
from slidewise.swag.flatfit import FlatFIT

SHIFT = 4
SLICE = 1 << SHIFT
"""Rows of a slice."""

SLOT, FRESH, FIRST_ROW, ASKED, LAST_ROW, KEEP, OFFSET = range(7)
"""The columns of a run: rows `[FIRST_ROW, LAST_ROW)` go in, those from ASKED on are answered, those from KEEP on stay.

The answer of row i is number ``i + OFFSET``.
"""


def banks_of(ops: Ops) -> tuple[Bank, Bank]:
    """Room for windows of many keys: for their rows, and for their slices."""
    return Bank(ops.columns, compiled=True), FlatFIT.bank(ops)


def places_for(rows: Any) -> tuple[Any, Any]:
    """How many rows and slices a slot must have room for, whose longest window has so many rows.

    >>> places_for(100)
    (116, 9)
    """
    return rows + SLICE, (rows >> SHIFT) + 3


def build_events(ops: Ops) -> Any:
    """The loop for one monoid, compiled mode only.

    Answer j, of row i, covers rows ``[lo, i + 1 - skip)``; lo of window k is at ``lo[k * stride + j]``, its answer goes
    to place j of ``outs[k]``, unless it is not `ok` there from the start: then it is not wanted. Windows have arrays of
    their own, so that a column that is kept keeps no other alive, and none is too large for memory that was used before
    (so this is compiled once per number of windows). `prefix` and `values` have SLICE places, for the open slice: its
    prefixes, and the newest position with a value up to each of its rows.
    """
    insert, query = FlatFIT.steps(ops).insert, FlatFIT.ranges(ops, ops.jit).query
    lift_at, combine, load, store = ops.lift_at, ops.combine, ops.load, ops.store
    identity, answer, vacant, answers_empty = ops.identity, ops.answer, ops.vacant, ops.monoid.answers_empty

    def events(
        cols: Any,
        regs: Any,
        slices: Any,
        slice_regs: Any,
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
        outs: Any,
        ok: Any,
    ) -> None:
        for r in range(len(runs)):
            R, S = regs[runs[r, SLOT]], slice_regs[runs[r, SLOT]]
            if runs[r, FRESH]:
                R[HEAD] = 0
                R[TAIL] = 0
                R[LAST] = -1
                S[HEAD] = 0
                S[TAIL] = 0
            base, mask, newest = R[BASE], R[MASK], R[LAST]
            row, asked, end, offset = runs[r, FIRST_ROW], runs[r, ASKED], runs[r, LAST_ROW], runs[r, OFFSET]
            shift = R[TAIL] - row
            while row < end:
                begin = (row + shift) >> SHIFT << SHIFT
                stop = min(end, begin + SLICE - shift)
                earlier = newest
                p = identity
                for at in range(begin, row + shift):  # what an earlier call left open
                    p = combine(p, load(cols, base + (at & mask)))
                    store(prefix, at - begin, p)
                    values[at - begin] = earlier
                for i in range(row, stop):
                    at = i + shift
                    q = identity
                    if not has_nulls or valid[i]:
                        q = lift_at(inputs, i)
                        newest = at
                    p = combine(p, q)
                    store(cols, base + (at & mask), q)
                    store(prefix, at - begin, p)
                    values[at - begin] = newest
                for k in range(len(min_rows)):
                    slice_of_lo = -1
                    count = 0
                    least, bounds_at, mine_outs, mine_ok = min_rows[k], k * stride + offset, outs[k], ok[k]
                    middle = identity
                    for i in range(max(row, asked), stop):
                        a = lo[bounds_at + i] + shift
                        j = offset + i
                        last = i + shift - skip
                        has = values[last - begin] if last >= begin else earlier
                        if not mine_ok[j] or last + 1 - a < least:
                            mine_ok[j] = False
                        elif has < a and not answers_empty:
                            vacant(cols, mine_outs, mine_ok, j)
                        elif a < begin:
                            mine = a >> SHIFT
                            if mine != slice_of_lo:
                                slice_of_lo = mine
                                count = (begin >> SHIFT) - 1 - mine
                                if count > 0:
                                    middle = query(slices, S, mine + 1, S[TAIL])
                            p = load(cols, base + (a & mask))
                            if count > 0:
                                p = combine(p, middle)
                            if last >= begin:
                                p = combine(p, load(prefix, last - begin))
                            answer(cols, mine_outs, mine_ok, j, p)
                        elif a == begin and last >= begin:
                            answer(cols, mine_outs, mine_ok, j, load(prefix, last - begin))
                        else:
                            p = identity
                            for at in range(a, last + 1):
                                p = combine(p, load(cols, base + (at & mask)))
                            answer(cols, mine_outs, mine_ok, j, p)
                if stop + shift == begin + SLICE:
                    p = load(cols, base + ((stop + shift - 1) & mask))
                    for at in range(begin + SLICE - 2, begin - 1, -1):
                        p = combine(load(cols, base + (at & mask)), p)
                        store(cols, base + (at & mask), p)
                    insert(slices, S, p)
                row = stop
            keep = runs[r, KEEP] + shift
            R[TAIL] = end + shift
            R[LAST] = newest
            R[HEAD] = max(R[HEAD], keep)
            S[HEAD] = min(S[TAIL], max(S[HEAD], keep >> SHIFT))

    return ops.kernel(events)
