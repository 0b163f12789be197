"""Monoids that tell what is done with them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import slidewise as sw


class Counted:
    """A monoid whose combines are counted."""

    def __init__(self, identity: Any, combine: Callable[[Any, Any], Any], name: str) -> None:
        self.count = 0
        self.lifted = 0

        def counted(a: Any, b: Any) -> Any:
            self.count += 1
            return combine(a, b)

        def lift(x: Any) -> Any:
            self.lifted += 1
            return x

        self.monoid = sw.Monoid(identity=identity, lift=lift, combine=counted, name=name)

    def of(self, step: Callable[[], Any]) -> int:
        """How many combines a step takes."""
        before = self.count
        step()
        return self.count - before


def largest() -> Counted:
    return Counted(-math.inf, max, "max")


MAX = sw.Monoid(identity=-math.inf, combine=max, commutative=True, name="max")
SUM = sw.Monoid(identity=0, combine=lambda a, b: a + b, commutative=True, name="sum")
CONCAT = sw.Monoid(identity=(), lift=lambda x: (x,), combine=lambda a, b: a + b, name="concat")
