"""Recalculate: keep the elements, fold all of them at every query. The oracle.

    paper     001 figure 3; "naive" in 000
    time      insert and evict 0 ⊕, query n − 1 ⊕, always
    space     n partials

    place     HEAD                     TAIL
              [ x    x    x    x    x ]      answer = x ⊕ x ⊕ x ⊕ x ⊕ x, oldest first

Invariant: position p holds the lifted element p and nothing else. Everything else in the package is tested against it.
Elements may come and go anywhere (`insert_at`, `evict_at`): 0 ⊕.
"""

from __future__ import annotations

from typing import Any

from slidewise.kernels.jit import Jit
from slidewise.kernels.ops import Ops
from slidewise.kernels.registers import BASE, HEAD, MASK, TAIL
from slidewise.kernels.sweep import Steps
from slidewise.swag.card import Card
from slidewise.swag.positional import NonFifo


class Recalculate(NonFifo):
    """Linear time per query, no assumptions: what the others must agree with."""

    card = Card(
        name="recalculate",
        full_name="Recalculate from scratch",
        paper="DABA 2017, fig. 3",
        ordering="any",
        needs="nothing",
        amortized="O(n)",
        worst="O(n)",
        bulk_evict="O(1) each",
        space="n",
        local_size="n",
        custom_policy="head by head",
        external_store=False,
    )

    @staticmethod
    def build(ops: Ops, jit: Jit) -> Steps:
        combine, load, store, identity = ops.combine, ops.load, ops.store, ops.identity

        def clear(cols: Any, R: Any) -> None:
            pass

        def insert(cols: Any, R: Any, p: Any) -> None:
            store(cols, R[BASE] + (R[TAIL] & R[MASK]), p)
            R[TAIL] += 1

        def evict(cols: Any, R: Any) -> None:
            R[HEAD] += 1

        def query(cols: Any, R: Any) -> Any:
            head, tail = R[HEAD], R[TAIL]
            if head == tail:
                return identity
            total = load(cols, R[BASE] + (head & R[MASK]))
            for k in range(head + 1, tail):
                total = combine(total, load(cols, R[BASE] + (k & R[MASK])))
            return total

        return Steps(jit(clear), jit(insert), jit(evict), jit(query))
