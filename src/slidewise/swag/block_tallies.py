"""Block Tallies: two stacks over blocks of rows, one tally per block, raw values inside the block.

    needs     a tally; what was added need not come out again (a maximum, an or, the k largest)
    time      insert one `add`; query at most B `add` and two `merge`, amortized with the flips
    space     n raw values, and 2n/B + 2 tallies of B rows to a block

    ring      HEAD      block      block      MID              TAIL
              [ x  x  x │x  x  x  x│x  x  x  x ] [ x   x   x   x ]
                raw       F[b] = rows from the      back: one tally
                          block's start up to MID

Invariant: unless STALE, F[b] is the tally of rows [b·B, MID) for every block b that starts after HEAD and before MID,
and the back is the tally of [MID, TAIL). The window is the raw rows up to the next block, then that block's F, then the
back. When HEAD has passed MID, a flip makes MID = TAIL and all F anew, newest block first. A partial of m numbers costs
O(m) per answer whatever is done, since the answer reads all of it; a block of B ~ m/32 rows costs about as much.
"""

from __future__ import annotations

from typing import Any

from slidewise.kernels.jit import Jit
from slidewise.kernels.ops import Ops
from slidewise.kernels.registers import BASE, HEAD, MASK, TAIL
from slidewise.kernels.sweep import Steps
from slidewise.swag.bank import Bank
from slidewise.swag.card import Card
from slidewise.swag.cells import CELL, MID, RING, STALE, CellBank
from slidewise.swag.tallied import Tallied


def block_bits(ops: Ops) -> int:
    """log₂ of the rows in a block: 16 to 256, by the size of a tally."""
    assert ops.tally is not None
    bits = 4
    while bits < 8 and (32 << bits) < ops.tally.tally.size:
        bits += 1
    return bits


class BlockTallies(Tallied):
    """Amortized O(size of a tally) per answer, whatever the window."""

    card = Card(
        name="block_tallies",
        full_name="Block Tallies",
        paper="two stacks over blocks",
        ordering="FIFO",
        needs="a tally",
        amortized="O(m), m the size of a tally",
        worst="O(n)",
        bulk_evict="O(1) each",
        space="n values + 2n/B tallies",
        local_size="n values + 2n/B tallies",
        custom_policy="head by head",
        external_store=False,
    )

    @classmethod
    def bank(cls, ops: Ops) -> Bank:
        bits = block_bits(ops)
        return CellBank(ops, lambda size: 1 + 2 * (size >> bits) if size >> bits > 1 else 0)

    @staticmethod
    def build(ops: Ops, jit: Jit) -> Steps:
        assert ops.tally is not None
        load, store = ops.load, ops.store
        reset, add, merge = ops.tally.reset, ops.tally.add, ops.tally.merge
        there = len(ops.identity) - 1
        bits = block_bits(ops)

        def add_rows(cols: Any, R: Any, cell: int, first: int, last: int) -> None:
            for k in range(first, last):
                p = load(cols, R[BASE] + (k & R[MASK]))
                if p[there]:
                    add(cols[-1][cell], p)

        add_rows = jit(add_rows)

        def clear(cols: Any, R: Any) -> None:
            R[STALE] = 0
            R[MID] = R[HEAD]
            if R[CELL] > 0:
                reset(cols[-1], R[CELL])

        def insert(cols: Any, R: Any, p: Any) -> None:
            store(cols, R[BASE] + (R[TAIL] & R[MASK]), p)
            R[TAIL] += 1
            if p[there] and R[CELL] > 0 and R[STALE] == 0:
                add(cols[-1][R[CELL]], p)

        def evict(cols: Any, R: Any) -> None:
            R[HEAD] += 1

        def flip(cols: Any, R: Any) -> None:
            tail, front = R[TAIL], R[CELL] + 1
            newest = (tail - 1) >> bits
            for b in range(newest, R[HEAD] >> bits, -1):
                cell = front + (b & R[RING])
                reset(cols[-1], cell)
                add_rows(cols, R, cell, b << bits, min((b + 1) << bits, tail))
                if b < newest:
                    merge(cols[-1][cell], cols[-1][front + ((b + 1) & R[RING])])
            reset(cols[-1], R[CELL])
            R[MID] = tail
            R[STALE] = 0

        flip = jit(flip)

        def query(cols: Any, R: Any) -> Any:
            reset(cols[-1], 0)
            if R[CELL] == 0:
                add_rows(cols, R, 0, R[HEAD], R[TAIL])
                return 0
            if R[STALE] != 0 or R[HEAD] > R[MID]:
                flip(cols, R)
            block = (R[HEAD] >> bits) + 1
            add_rows(cols, R, 0, R[HEAD], min(block << bits, R[MID]))
            if block << bits < R[MID]:
                merge(cols[-1][0], cols[-1][R[CELL] + 1 + (block & R[RING])])
            merge(cols[-1][0], cols[-1][R[CELL]])
            return 0

        return Steps(jit(clear), jit(insert), jit(evict), jit(query))
