"""Slider: batch windows that pay for what changed; see docs/incremental.md.

>>> import slidewise as sw
>>> from slidewise import incremental as inc
>>> query = inc.group_by("user").aggregate(sw.sum("bytes"), sw.max("bytes"))
>>> job = inc.Job(spark, state="state", query=query, window=inc.splits(90))  # doctest: +SKIP
>>> result = job.advance(add={"2026-11-15": df})  # doctest: +SKIP

Names are loaded when first used: a worker that only writes files of nodes loads the module that does, and no more.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

_HOMES = {
    "Job": "slidewise.incremental.job",
    "Query": "slidewise.incremental.query",
    "Report": "slidewise.incremental.report",
    "Splits": "slidewise.incremental.window",
    "group_by": "slidewise.incremental.query",
    "splits": "slidewise.incremental.window",
}

__all__ = ["Job", "Query", "Report", "Splits", "group_by", "splits"]

if TYPE_CHECKING:
    from slidewise.incremental.job import Job
    from slidewise.incremental.query import Query, group_by
    from slidewise.incremental.report import Report
    from slidewise.incremental.window import Splits, splits


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return __all__
