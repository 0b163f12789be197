"""The sweep: one loop that drives any window algorithm over any monotone bounds.

    rows      first ──────────────────────────────► last        inserted once, in order
    answers   [lo[j], hi[j])  [lo[j+1], hi[j+1]) ...             both bounds never fall inside a run

A *run* is a stretch of rows of one key: ``(slot, fresh, first row, last row, first answer, last answer, keep)``. Its
window lives in `slot` of the bank and is emptied first if `fresh`; otherwise rows of earlier calls are still in it, at
row numbers below `first`. Bounds are row numbers of this call, so a `lo` below `first` reaches into those. Rows before
`keep` (at most `last`) are in no later window and do not stay.

An answer that is not `ok` from the start is not wanted: the window moves, nothing is lowered.

Per row one insert, at most one evict, per answer one query: the algorithm's cost, and no allocation. A hot loop.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from slidewise.kernels.jit import Jit
from slidewise.kernels.ops import Ops
from slidewise.kernels.registers import HEAD, LAST, TAIL

SLOT, FRESH, FIRST_ROW, LAST_ROW, FIRST_ANSWER, LAST_ANSWER, KEEP = range(7)


@dataclass(frozen=True)
class Steps:
    """What an algorithm's `build` returns: its functions over one window's columns and registers.

    `clear(cols, R)` sets up the algorithm's own registers and extra partials for an empty window; HEAD, TAIL and LAST
    are already set. `insert(cols, R, p)` appends p and moves TAIL. `evict(cols, R)` drops the oldest and moves HEAD; an
    empty window is never asked to. `query(cols, R)` gives the partial of the whole window, the identity if it is empty,
    and may rearrange what it keeps. An algorithm that drops many at once for less than one after the other has
    `evict_to(cols, R, start)`: HEAD becomes `start`, at most TAIL.
    """

    clear: Callable[..., Any]
    insert: Callable[..., Any]
    evict: Callable[..., Any]
    query: Callable[..., Any]
    evict_to: Callable[..., Any] | None = None

    def dropping(self, jit: Jit) -> Callable[..., Any]:
        """`evict_to`, or one `evict` after the other."""
        evict = self.evict

        def evict_to(cols: Any, R: Any, start: int) -> None:
            while R[HEAD] < start:
                evict(cols, R)

        dropping: Callable[..., Any] = jit(evict_to) if self.evict_to is None else self.evict_to
        return dropping


def build_sweep(ops: Ops, steps: Steps) -> Any:
    """The loop for one monoid and one algorithm, at the speed of `ops`."""
    clear, insert, evict_to, query = steps.clear, steps.insert, steps.dropping(ops.jit), steps.query
    lift_at, answer, vacant, identity = ops.lift_at, ops.answer, ops.vacant, ops.identity
    answers_empty = ops.monoid.answers_empty

    def sweep(
        cols: Any,
        regs: Any,
        inputs: Any,
        valid: Any,
        has_nulls: bool,
        lo: Any,
        hi: Any,
        runs: Any,
        min_rows: int,
        outs: Any,
        ok: Any,
    ) -> None:
        for r in range(len(runs)):
            run = runs[r]
            R = regs[run[SLOT]]
            if run[FRESH]:
                R[HEAD] = 0
                R[TAIL] = 0
                R[LAST] = -1
                clear(cols, R)
            row = run[FIRST_ROW]
            shift = R[TAIL] - row
            for j in range(run[FIRST_ANSWER], run[LAST_ANSWER]):
                start = lo[j] + shift
                if R[HEAD] < start:
                    evict_to(cols, R, min(start, R[TAIL]))
                if R[TAIL] < start:  # the rows up to lo are in no window
                    R[HEAD] = start
                    R[TAIL] = start
                    clear(cols, R)
                    row = lo[j]
                while row < hi[j]:
                    if has_nulls and not valid[row]:
                        insert(cols, R, identity)
                    else:
                        R[LAST] = R[TAIL]
                        insert(cols, R, lift_at(inputs, row))
                    row += 1
                if not ok[j] or R[TAIL] - R[HEAD] < min_rows:
                    ok[j] = False
                elif R[LAST] < R[HEAD] and not answers_empty:
                    vacant(cols, outs, ok, j)
                else:
                    answer(cols, outs, ok, j, query(cols, R))
            start = run[KEEP] + shift
            if R[HEAD] < start:
                evict_to(cols, R, min(start, R[TAIL]))
            if R[TAIL] < start:
                R[HEAD] = start
                R[TAIL] = start
                clear(cols, R)
                row = run[KEEP]
            while row < run[LAST_ROW]:
                if has_nulls and not valid[row]:
                    insert(cols, R, identity)
                else:
                    R[LAST] = R[TAIL]
                    insert(cols, R, lift_at(inputs, row))
                row += 1

    return ops.kernel(sweep)


def build_extend(ops: Ops, steps: Steps) -> Any:
    """The shorter loop of a window that is fed values and keeps the newest: per value evict, insert, query.

    What the sweep would do for bounds ``[i + 1 - size, i + 1)``, with no bounds to write and read. A hot loop.
    """
    insert, evict, query = steps.insert, steps.evict, steps.query
    lift_at, answer = ops.lift_at, ops.answer

    def extend(cols: Any, R: Any, inputs: Any, rows: int, size: int, outs: Any, ok: Any) -> None:
        for i in range(rows):
            while R[TAIL] - R[HEAD] >= size and R[HEAD] < R[TAIL]:
                evict(cols, R)
            R[LAST] = R[TAIL]
            insert(cols, R, lift_at(inputs, i))
            answer(cols, outs, ok, i, query(cols, R))

    return ops.kernel(extend)
