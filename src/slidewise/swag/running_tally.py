"""Running Tally: one tally for the whole window, values added and taken out in place.

    needs     a tally that can take its oldest value out again: counts by value or bucket, sorted values, a queue
    time      insert one `add`, evict one `remove`, query nothing but the answer
    space     n raw values, and one tally for windows of more than a few rows

    ring      HEAD                TAIL
              [ x   x   x   x   x ]        CELL: the tally of exactly these

Invariant: unless STALE, the cell is the tally of the values in the ring. It is Subtract-on-Evict for partials that are
changed in place; counts subtract exactly, so nothing drifts. Chosen by the ladder for such aggregates, not by name.
"""

from __future__ import annotations

from typing import Any

from slidewise.kernels.jit import Jit
from slidewise.kernels.ops import Ops
from slidewise.kernels.registers import BASE, HEAD, MASK, TAIL
from slidewise.kernels.sweep import Steps
from slidewise.swag.bank import Bank
from slidewise.swag.card import Card
from slidewise.swag.cells import CELL, STALE, CellBank
from slidewise.swag.tallied import Tallied

FEW = 16
"""Windows of up to as many rows have no tally of their own: many keys with few rows each would pay for empty ones."""


class RunningTally(Tallied):
    """Constant time per step for tallies that can take values out again."""

    card = Card(
        name="running_tally",
        full_name="Running Tally",
        paper="DABA 2017, fig. 2, in place",
        ordering="FIFO",
        needs="a tally with remove",
        amortized="O(1)",
        worst="O(1)",
        bulk_evict="O(1) each",
        space="n values + 1 tally",
        local_size="n values + 1 tally",
        custom_policy="head by head",
        external_store=False,
    )

    @classmethod
    def bank(cls, ops: Ops) -> Bank:
        return CellBank(ops, lambda size: 1 if size > FEW else 0)

    @staticmethod
    def build(ops: Ops, jit: Jit) -> Steps:
        assert ops.tally is not None
        load, store = ops.load, ops.store
        reset, add = ops.tally.reset, ops.tally.add
        remove: Any = ops.tally.remove
        there = len(ops.identity) - 1

        def clear(cols: Any, R: Any) -> None:
            R[STALE] = 0
            if R[CELL] > 0:
                reset(cols[-1], R[CELL])

        def insert(cols: Any, R: Any, p: Any) -> None:
            store(cols, R[BASE] + (R[TAIL] & R[MASK]), p)
            R[TAIL] += 1
            if p[there] and R[CELL] > 0 and R[STALE] == 0:
                add(cols[-1][R[CELL]], p)

        def evict(cols: Any, R: Any) -> None:
            p = load(cols, R[BASE] + (R[HEAD] & R[MASK]))
            R[HEAD] += 1
            if p[there] and R[CELL] > 0 and R[STALE] == 0:
                remove(cols[-1][R[CELL]], p)

        def query(cols: Any, R: Any) -> Any:
            cell = R[CELL]
            if cell == 0 or R[STALE] != 0:
                reset(cols[-1], cell)
                for k in range(R[HEAD], R[TAIL]):
                    p = load(cols, R[BASE] + (k & R[MASK]))
                    if p[there]:
                        add(cols[-1][cell], p)
                R[STALE] = 0
            return cell

        return Steps(jit(clear), jit(insert), jit(evict), jit(query))
