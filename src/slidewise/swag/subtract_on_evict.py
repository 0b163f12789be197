"""Subtract-on-Evict: one running total; an eviction takes the oldest element out of it again.

    paper     001 figure 2
    time      insert 1 ⊕, evict 1 inverse, query 0 ⊕, always: worst O(1)
    space     n + 1 partials

    place     BASE-1         HEAD                     TAIL
              [ TOTAL ]      [ x    x    x    x    x ]      TOTAL = x ⊕ x ⊕ x ⊕ x ⊕ x

Invariant: position p holds the lifted element p, TOTAL their sum, and TOTAL is the identity itself when the window is
empty. Needs a monoid with an `inverse`. What an element did to a float's low bits stays in TOTAL until the window runs
empty, so it is chosen unasked for exact partials only.

Elements may come and go anywhere: `insert_at` costs one ⊕ and `evict_at` one inverse where ⊕ commutes. Where it does
not, the inverse can only take a prefix off, so element i costs about i ⊕.
"""

from __future__ import annotations

from typing import Any

from slidewise.errors import ArgumentError
from slidewise.kernels.jit import Jit
from slidewise.kernels.ops import Ops
from slidewise.kernels.registers import BASE, HEAD, MASK, TAIL
from slidewise.kernels.sweep import Steps
from slidewise.monoids.laws import finite, same
from slidewise.monoids.monoid import Monoid
from slidewise.swag.card import Card
from slidewise.swag.positional import NonFifo


class SubtractOnEvict(NonFifo):
    """Constant time per step and the fewest ⊕ of all, for monoids with an inverse."""

    card = Card(
        name="subtract_on_evict",
        full_name="Subtract-on-Evict",
        paper="DABA 2017, fig. 2",
        ordering="any",
        needs="inverse",
        amortized="O(1)",
        worst="O(1)",
        bulk_evict="O(1) each",
        space="n + 1",
        local_size="n + 1",
        custom_policy="head by head",
        external_store=False,
    )
    extra = 1

    @classmethod
    def refuse(cls, monoid: Monoid) -> None:
        super().refuse(monoid)
        if monoid.inverse is None:
            raise ArgumentError(
                f"algorithm='subtract_on_evict': {monoid!r} has no inverse; expected a Monoid with "
                "inverse=, or another algorithm"
            )

    @staticmethod
    def build(ops: Ops, jit: Jit) -> Steps:
        combine, load, store, identity = ops.combine, ops.load, ops.store, ops.identity
        inverse: Any = ops.inverse  # refuse() has seen to it that there is one

        def clear(cols: Any, R: Any) -> None:
            store(cols, R[BASE] - 1, identity)

        def insert(cols: Any, R: Any, p: Any) -> None:
            tail = R[TAIL]
            total = R[BASE] - 1
            store(cols, R[BASE] + (tail & R[MASK]), p)
            store(cols, total, combine(load(cols, total), p))
            R[TAIL] = tail + 1

        def evict(cols: Any, R: Any) -> None:
            head = R[HEAD]
            total = R[BASE] - 1
            if head + 1 == R[TAIL]:
                store(cols, total, identity)
            else:
                store(cols, total, inverse(load(cols, total), load(cols, R[BASE] + (head & R[MASK]))))
            R[HEAD] = head + 1

        def query(cols: Any, R: Any) -> Any:
            return load(cols, R[BASE] - 1)

        return Steps(jit(clear), jit(insert), jit(evict), jit(query))

    def check(self) -> None:
        super().check()
        slack = self._slack()
        _, partials, _ = self.state()
        total = self.monoid.identity
        for partial in partials[:-1]:
            total = self.monoid.combine(total, partial)
        if finite(partials[-1]):  # an infinity or NaN is never got out again
            assert same(partials[-1], total, slack), "TOTAL is the sum of the elements"

    def _inserted(self, position: int, partial: Any) -> None:
        combine, place = self._ops.called("combine"), self.register(BASE) - 1
        if self.monoid.commutative:
            total = combine(self._at(place), partial)
        else:
            older = self._fold(position)
            total = combine(combine(older, partial), self._without(older))
        self._put(place, total)

    def _evicted(self, position: int) -> None:
        combine, place = self._ops.called("combine"), self.register(BASE) - 1
        gone = self._at(self._place(position))
        if self.monoid.commutative:
            total = self._without(gone)
        else:
            older = self._fold(position)
            total = combine(older, self._without(combine(older, gone)))
        self._put(place, total)

    def _fold(self, upto: int) -> Any:
        """The elements older than position `upto`, combined."""
        total = self._ops.identity
        for p in range(self.register(HEAD), upto):
            total = self._ops.called("combine")(total, self._at(self._place(p)))
        return total

    def _without(self, older: Any) -> Any:
        """TOTAL less a prefix."""
        assert self._ops.inverse is not None
        return self._ops.called("inverse")(self._at(self.register(BASE) - 1), older)
