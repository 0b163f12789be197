"""The two loops of a shared plan: events into the open slice, slices into the final aggregator, answers out of it.

    event ──lift, ⊕──► open slice ──at a cut──► final aggregator ──at an end──► partial of `count` slices ⊕ open slice

`cycle` is the execution phase of 002's algorithm 1: rows, and a composite slide that is listed, so that how many slices
each answer takes is known beforehand. `feed` is told row by row which slice it belongs to, and answer by answer after
how many rows it is due and where its window starts: times, with slices that no event fell into left out, and composite
slides too long to list. Per event one lift and at most one ⊕, per answer the final aggregator's query. Hot loops.
"""

from __future__ import annotations

from typing import Any

from slidewise.kernels.ops import Ops
from slidewise.kernels.registers import LAST, TAIL
from slidewise.sharing.final import FinalSteps

OPEN, ROW, EDGE = range(3)
"""What is kept between calls: whether (in `feed`, which) slice is open, rows since the last edge, the next edge."""


def build_cycle(ops: Ops, steps: FinalSteps) -> Any:
    """The loop over rows of a listed plan.

    Edge k comes `lengths[k]` rows after the one before; a slice ends there if `cuts[k]`; answers `[due[k], due[k + 1])`
    take `counts` slices each, fewer while there are not so many.
    """
    insert, query, lift_at, combine = steps.insert, steps.query, ops.lift_at, ops.combine
    identity, load, store = ops.identity, ops.load, ops.store

    def cycle(
        cols: Any,
        R: Any,
        held: Any,
        state: Any,
        inputs: Any,
        valid: Any,
        has_nulls: bool,
        rows: int,
        lengths: Any,
        cuts: Any,
        due: Any,
        counts: Any,
        partials: Any,
        ok: Any,
    ) -> None:
        edge, waited, some = state[EDGE], state[ROW], state[OPEN]
        open_slice = load(held, 0)
        row = 0
        j = 0
        while row < rows:
            take = min(rows - row, lengths[edge] - waited)
            for i in range(row, row + take):
                p = identity
                if not has_nulls or valid[i]:
                    p = lift_at(inputs, i)
                    R[LAST] = R[TAIL]
                if some:
                    open_slice = combine(open_slice, p)
                else:
                    open_slice = p
                    some = 1
            row += take
            waited += take
            if waited == lengths[edge]:
                waited = 0
                if cuts[edge]:
                    insert(cols, R, open_slice)
                    some = 0
                for k in range(due[edge], due[edge + 1]):
                    closed = min(counts[k] - some, R[TAIL])
                    p = open_slice
                    if closed > 0:
                        p = query(cols, R, closed)
                        if some:
                            p = combine(p, open_slice)
                    store(partials, j, p)
                    ok[j] = R[LAST] >= R[TAIL] - closed
                    j += 1
                edge += 1
                if edge == len(lengths):
                    edge = 0
        store(held, 0, open_slice)
        state[EDGE] = edge
        state[ROW] = waited
        state[OPEN] = some

    return ops.kernel(cycle)


def build_feed(ops: Ops, steps: FinalSteps) -> Any:
    """The loop over rows whose slices are given by number.

    Answer j is due after `hi[j]` rows, over slices from `starts[j]` on; `shut[j]`: a slice ends there, if one is open.
    """
    insert, query, lift_at, combine = steps.insert, steps.query, ops.lift_at, ops.combine
    identity, load, store = ops.identity, ops.load, ops.store

    def feed(
        cols: Any,
        R: Any,
        held: Any,
        state: Any,
        inputs: Any,
        valid: Any,
        has_nulls: bool,
        slices: Any,
        hi: Any,
        starts: Any,
        shut: Any,
        partials: Any,
        ok: Any,
    ) -> None:
        mine = state[OPEN]  # the number of the open slice, -1 if none is
        open_slice = load(held, 0)
        row = 0
        for j in range(len(hi) + 1):
            until = hi[j] if j < len(hi) else len(slices)
            while row < until:
                p = identity
                if not has_nulls or valid[row]:
                    p = lift_at(inputs, row)
                    R[LAST] = slices[row]
                if mine == slices[row]:
                    open_slice = combine(open_slice, p)
                else:
                    if mine >= 0:
                        insert(cols, R, open_slice)
                    open_slice = p
                    mine = slices[row]
                row += 1
            if j == len(hi):
                break
            if shut[j] and mine >= 0:
                insert(cols, R, open_slice)
                mine = -1
            closed = R[TAIL] - starts[j]
            p = open_slice
            if closed > 0:
                p = query(cols, R, closed)
                if mine >= 0:
                    p = combine(p, open_slice)
            store(partials, j, p)
            ok[j] = R[LAST] >= starts[j]
        store(held, 0, open_slice)
        state[OPEN] = mine

    return ops.kernel(feed)
