"""Slider: batch windows that pay for what changed; see docs/incremental.md.

>>> import slidewise as sw
>>> from slidewise import incremental as inc
>>> query = inc.group_by("user").aggregate(sw.sum("bytes"), sw.max("bytes"))
>>> job = inc.Job(spark, state="state", query=query, window=inc.splits(90))  # doctest: +SKIP
>>> result = job.advance(add={"2026-11-15": df})  # doctest: +SKIP
"""

from __future__ import annotations

from slidewise.incremental.job import Job
from slidewise.incremental.query import Query, group_by
from slidewise.incremental.report import Report
from slidewise.incremental.window import Splits, splits

__all__ = ["Job", "Query", "Report", "Splits", "group_by", "splits"]
