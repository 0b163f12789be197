"""A call of `slide`, small enough to travel to Spark's workers: they make the plan, and its kernels, for themselves.

A recipe is pickled inside Spark's own closure and nowhere else. A worker makes each plan once and keeps it, so tasks
and micro-batches that follow find their kernels loaded.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark import cloudpickle

from slidewise.engine.plan import Plan, make_plan


@dataclass(frozen=True)
class Recipe:
    """What `make_plan` needs."""

    types: Mapping[str, pa.DataType | None]
    aggregates: Any
    window: Any
    by: Any
    order: Any
    algorithm: str

    def plan(self) -> Plan:
        """The checked plan."""
        return make_plan(
            self.types,
            self.aggregates,
            self.window,
            by=self.by,
            order=self.order,
            algorithm=self.algorithm,
            positions=False,
        )

    def packed(self) -> bytes:
        """For Spark's closure."""
        packed: bytes = cloudpickle.dumps(self)  # type: ignore[no-untyped-call]
        return packed


@functools.lru_cache(maxsize=32)
def plan_from(packed: bytes) -> Plan:
    """The plan of a packed recipe; made once per worker."""
    recipe: Recipe = cloudpickle.loads(packed)
    return recipe.plan()
