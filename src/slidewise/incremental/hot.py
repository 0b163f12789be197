"""Nodes in memory: those that the next slide reads stay in Spark's cache while the job lives.

    prepare   brings what the next slide will read into memory
    answer    the root, if the next slide reads it (a window that only grows), is kept as it is read
    slide     reads what is in memory there, the rest from files, and fills nothing: that would be a stage of its own

Which nodes those are is not guessed from the past: ahead.py moves the tree by one more split. Spark keeps the blocks,
two copies of each on a cluster, moves them to disk when memory is short, and runs tasks where they lie. Files are the
truth: a node whose files are gone is made again, whatever memory holds.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

from pyspark import StorageLevel

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ONE_COPY = StorageLevel(True, True, False, True)
TWO_COPIES = StorageLevel(True, True, False, True, 2)


class Hot:
    """Tables of nodes, by name, that Spark has been told to keep."""

    def __init__(self, spark: SparkSession, on: bool) -> None:
        self._on, self._level = on, _level(spark)
        self._frames: dict[str, DataFrame] = {}
        self._wanted: frozenset[str] = frozenset()
        weakref.finalize(self, _release, self._frames).atexit = False

    @property
    def far(self) -> bool:
        """True on a cluster, where files are read over a network."""
        return self._level == TWO_COPIES

    def want(self, nodes: Collection[str]) -> None:
        """These are worth keeping from now on; what is kept and not among them stays until `forget_others`."""
        self._wanted = frozenset(nodes) if self._on else frozenset()

    def forget_others(self) -> None:
        """Give back the memory of all that is not wanted."""
        self.forget([node for node in self._frames if node not in self._wanted])

    def forget(self, nodes: Iterable[str]) -> None:
        """Give back the memory of these."""
        _release({node: self._frames.pop(node) for node in list(nodes) if node in self._frames})

    def missing(self) -> list[str]:
        """Wanted, and not in memory yet."""
        return sorted(node for node in self._wanted if not self.has(node))

    def has(self, node: str) -> bool:
        """True if a node's rows are in memory: not before they were read once."""
        return node in self._frames and _filled(self._frames[node])

    def table(self, node: str, read: Callable[[], DataFrame], fill: bool) -> DataFrame | None:
        """The rows of a node from memory, where they come as they are first read if `fill`; None: take the files."""
        if fill and node not in self._frames and node in self._wanted:
            self._frames[node] = read().persist(self._level)
        return self._frames[node] if (fill and node in self._frames) or self.has(node) else None


def _level(spark: SparkSession) -> StorageLevel:
    """Two copies where machines can be lost."""
    master = ""
    with suppress(Exception):  # a session over Connect need not say
        master = spark.conf.get("spark.master") or ""
    return ONE_COPY if master.startswith("local[") or master in ("local", "") else TWO_COPIES


def _filled(frame: DataFrame) -> bool:
    """Whether Spark has read what it was told to keep; a session over Connect does not say, and is believed to."""
    try:
        inside = frame._jdf
    except AttributeError:  # Connect: what is not there yet is read from the files then, by the same frame
        return True
    try:
        return bool(inside.queryExecution().withCachedData().cacheBuilder().isCachedColumnBuffersLoaded())
    except Exception:  # not kept any more, as when somebody empties the cache: files will do
        return False


def _release(frames: dict[str, DataFrame]) -> None:
    for frame in frames.values():
        with suppress(Exception):  # a session that has ended keeps nothing
            frame.unpersist()
