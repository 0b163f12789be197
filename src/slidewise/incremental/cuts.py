"""Into how many parts keys are cut, and which files a task of each part reads itself.

    cut of a key = pmod(xxhash64(key), P)

P is decided when a state begins and stays: a task then finds all that is kept of its keys in files of its own cut, so
that only new rows are shuffled. A node that was cut into another number goes through the shuffle wherever it is read,
and is right too.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from slidewise.incremental.files import Part
from slidewise.incremental.manifest import Manifest, Node

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

UNKNOWN = 8
"""Cuts where a session does not say how many tasks it runs at once."""


@dataclass(frozen=True)
class Cuts:
    """How many, and the parts of kept nodes that tasks read themselves, by number of the source and cut."""

    count: int
    kept: Mapping[int, Mapping[int, tuple[Part, ...]]] = field(default_factory=dict)


def cuts_of(spark: SparkSession, manifest: Manifest, asked: int | None, keys: bool) -> int:
    """As asked; else as the newest node has it; else as many as tasks run at once."""
    if not keys:
        return 1
    newest_first = reversed(manifest.nodes.values())
    known = (part.cuts for node in newest_first for part in node.parts if part.cuts is not None)
    return asked or next(known, None) or _at_once(spark)


def by_cut(node: Node, count: int) -> dict[int, tuple[Part, ...]] | None:
    """The parts of a node by cut; None if it was not cut into so many."""
    if any(part.cuts != count for part in node.parts):
        return None
    found: dict[int, tuple[Part, ...]] = {}
    for part in node.parts:
        assert part.cut is not None
        found[part.cut] = (*found.get(part.cut, ()), part)
    return found


def _at_once(spark: SparkSession) -> int:
    with suppress(Exception):  # a session over Connect has no context
        return max(1, spark.sparkContext.defaultParallelism)
    return UNKNOWN
