"""Monotonic deque: for a ⊕ that returns one of its arguments, keep only the elements that can still be an answer.

    paper     the idea of SlickDeque (Shein, Chrysanthis, Labrinidis: EDBT 2018) for any selective monoid
    time      insert 1 ⊕ + 1 per candidate it ends, evict and query 0 ⊕: amortized ≤ 2 ⊕ per element, worst O(n)
    space     k candidates, k ≤ n, with a position each; k is about ln n for values in random order

    window    5    3    9    2    7    7    1          under max, older wins a tie
    deque               9         7    7    1          9 is the answer; once it leaves, 7 is
                      FRONT                 BACK

Invariant: neighbours a, b in the deque have a ⊕ b = a, so by associativity the whole deque, and with it the window, is
its first candidate. A new element x ends every candidate c at the back with c ⊕ x = x: no later window holds c without
x. Needs the promise `selective=True`; nothing is assumed of the order.
"""

from __future__ import annotations

import itertools
from typing import Any

from slidewise.errors import ArgumentError
from slidewise.kernels.jit import Jit
from slidewise.kernels.ops import Ops
from slidewise.kernels.registers import BASE, HEAD, MASK, OWN, TAIL
from slidewise.kernels.sweep import Steps
from slidewise.monoids.monoid import Monoid
from slidewise.swag.card import Card
from slidewise.swag.structure import Structure

FRONT, BACK = OWN, OWN + 1


class MonotonicDeque(Structure):
    """Answers without a single ⊕ at a query, for monoids that select: min, max, first, last, argmax."""

    card = Card(
        name="monotonic_deque",
        full_name="Monotonic deque",
        paper="SlickDeque 2018",
        ordering="FIFO",
        needs="selective",
        amortized="O(1)",
        worst="O(n)",
        bulk_evict="O(1) each",
        space="k ≤ n",
        local_size="k ≤ n",
        custom_policy="head by head",
        external_store=False,
    )
    own = 2
    links = 1
    live = (FRONT, BACK)

    @classmethod
    def refuse(cls, monoid: Monoid) -> None:
        super().refuse(monoid)
        if not monoid.selective:
            raise ArgumentError(
                f"algorithm='monotonic_deque': {monoid!r} does not promise selective=True; expected a Monoid whose "
                "combine returns one of its arguments, or another algorithm"
            )

    @staticmethod
    def build(ops: Ops, jit: Jit) -> Steps:
        newer_wins, load, store, identity = ops.newer_wins, ops.load, ops.store, ops.identity

        def clear(cols: Any, R: Any) -> None:
            R[FRONT] = R[HEAD]
            R[BACK] = R[HEAD]

        def insert(cols: Any, R: Any, p: Any) -> None:
            base, mask, front, back = R[BASE], R[MASK], R[FRONT], R[BACK]
            while front < back and newer_wins(load(cols, base + ((back - 1) & mask)), p):
                back -= 1
            store(cols, base + (back & mask), p)
            cols[-1][base + (back & mask)] = R[TAIL]
            R[BACK] = back + 1
            R[TAIL] += 1

        def evict(cols: Any, R: Any) -> None:
            head, front = R[HEAD], R[FRONT]
            if cols[-1][R[BASE] + (front & R[MASK])] == head:
                R[FRONT] = front + 1
            R[HEAD] = head + 1

        def query(cols: Any, R: Any) -> Any:
            front = R[FRONT]
            if front == R[BACK]:
                return identity
            return load(cols, R[BASE] + (front & R[MASK]))

        return Steps(jit(clear), jit(insert), jit(evict), jit(query))

    def check(self) -> None:
        super().check()
        registers, candidates, positions = self.state()
        head, tail = registers[0], registers[1]
        assert len(candidates) == len(positions) <= tail - head, "at most a candidate per element"
        assert positions == sorted(set(positions)), "candidates stand in the window's order"
        assert not positions or (head <= positions[0] and positions[-1] == tail - 1), "the newest is a candidate"
        assert bool(positions) == (head < tail), "a window has candidates"
        newer_wins = self._ops.called("newer_wins")
        for older, newer in itertools.pairwise(candidates):
            # Of equal elements either may have stayed: objects are told apart by identity, which no restore keeps.
            assert older == newer or not newer_wins(older, newer), "a candidate is not ended by the next"
