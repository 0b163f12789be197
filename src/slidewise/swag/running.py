"""Running: one partial of all there is, for windows that lose nothing, or everything at once.

    time      insert 1 ⊕, query 0 ⊕; evict 0 ⊕
    space     1 partial

    place     TOTAL = x ⊕ x ⊕ x ⊕ x ⊕ x      HEAD ─────────► TAIL count, hold nothing

Invariant: TOTAL is the sum of the window if none or all of what was inserted has been evicted. A window that lost a
part of itself must not be asked: `expanding` and `session` never are, so the ladder takes it for those alone, and it
has no name in ALGORITHMS.
"""

from __future__ import annotations

from typing import Any

from slidewise.errors import ArgumentError
from slidewise.kernels.jit import Jit
from slidewise.kernels.ops import Ops
from slidewise.kernels.registers import BASE, HEAD, TAIL
from slidewise.kernels.sweep import Steps
from slidewise.swag.card import Card
from slidewise.swag.structure import Structure


class Running(Structure):
    """One partial and one ⊕ per element; cannot evict a part of what it holds."""

    card = Card(
        name="running",
        full_name="Running total",
        paper="a fold",
        ordering="FIFO",
        needs="associative",
        amortized="O(1)",
        worst="O(1)",
        bulk_evict="all or nothing",
        space="1",
        local_size="1",
        custom_policy="none",
        external_store=False,
    )
    extra = 1
    planes = 0

    def evict_many(self, n: int) -> None:
        """Drop all there is; fewer cannot be told apart from the rest."""
        if 0 < n < len(self):
            raise ArgumentError(
                f"n={n}: the window keeps one partial of {len(self)} elements, so only all of them can go; "
                "expected algorithm='two_stacks_lite' for a window to evict from"
            )
        super().evict_many(n)

    @staticmethod
    def build(ops: Ops, jit: Jit) -> Steps:
        combine, load, store, identity = ops.combine, ops.load, ops.store, ops.identity

        def clear(cols: Any, R: Any) -> None:
            store(cols, R[BASE] - 1, identity)

        def insert(cols: Any, R: Any, p: Any) -> None:
            total = R[BASE] - 1
            store(cols, total, combine(load(cols, total), p))
            R[TAIL] += 1

        def evict(cols: Any, R: Any) -> None:
            R[HEAD] += 1
            if R[HEAD] == R[TAIL]:
                store(cols, R[BASE] - 1, identity)

        def query(cols: Any, R: Any) -> Any:
            return load(cols, R[BASE] - 1)

        return Steps(jit(clear), jit(insert), jit(evict), jit(query))
