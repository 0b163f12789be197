"""Making the nodes that a slide needs and the state has not: one Spark job, again without what turns out damaged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial, reduce
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F

from slidewise.contraction import Tree, Void
from slidewise.errors import StoreCorrupt
from slidewise.incremental import incoming
from slidewise.incremental.arrow_build import ArrowEngine
from slidewise.incremental.book import Book, living_of
from slidewise.incremental.cuts import Cuts, by_cut, cuts_of
from slidewise.incremental.files import READ_SPARK, SRC, Damaged, Part
from slidewise.incremental.hot import Hot
from slidewise.incremental.incoming import Frame, Reading
from slidewise.incremental.manifest import Manifest, Node
from slidewise.incremental.memo import Memo, reached
from slidewise.incremental.plain import Engine
from slidewise.incremental.steps import Source, Work, work_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PATIENCE = 8
"""So many damaged nodes are worked around in one slide before it is given up."""


@dataclass(frozen=True)
class Made:
    """Nodes by name, those of them that had been lost, what was read and combined, and what tasks said."""

    nodes: dict[str, Node]
    recomputed: list[str]
    rows_read: int
    """Of kept nodes."""
    rows_hot: int
    """Of those, how many came from memory."""
    key_combines: int
    """Calls of combine on partials of one key, those within a new split left out."""
    told: list[Any]


class Maker:
    """Makes nodes of one state."""

    def __init__(
        self,
        spark: SparkSession,
        memo: Memo,
        hot: Hot,
        reading: Reading,
        engine: Engine,
        manifest: Manifest,
        partitions: int | None = None,
    ) -> None:
        self._spark, self._memo, self._hot, self._reading = spark, memo, hot, reading
        self._engine, self._manifest = engine, manifest
        self._cuts = cuts_of(spark, manifest, partitions, bool(engine.bound.keys))

    def make(self, tree: Tree[str], book: Book, new: Mapping[str, Frame]) -> Made:
        """The nodes that the tree has and the state has not; `new` gives the rows of new leaves."""
        known, living = self._manifest.nodes, living_of(tree)
        children = {**{name: node.children for name, node in known.items() if node.children}, **book.children}
        sound: dict[str, bool] = {}

        def is_kept(node: str) -> bool:
            if node not in sound:
                sound[node] = node in known and self._memo.is_whole(known[node])
            return sound[node]

        def frame_of(node: str) -> Frame:
            return new[node] if node in new else self._again(node)

        root = [] if isinstance(tree.root, Void) else [tree.root]
        wanted = [node for node in dict.fromkeys([*living, *root]) if node not in known or node in root]
        damaged: list[str] = []
        for _ in range(PATIENCE):
            work = work_of([*wanted, *damaged], children, is_kept, frame_of)
            lost = [node for node in _nodes_of(work) if node in living and node in known]
            work = Work(work.sources, work.steps, tuple(dict.fromkeys([*work.written, *lost])))
            if not self._engine.bound.ordered:
                work = work.mapped_together()
            self._hot.forget(node for node, whole in sound.items() if not whole)
            read = [source.node for source in work.sources if not source.new]
            hot = [node for node in read if self._hot.has(node)]
            try:
                rows = self._run(work, root) if work.written else []
            except Exception as error:
                found = Damaged.found_in(error)
                if found is None or found in damaged:
                    raise
                sound[found] = False
                damaged.append(found)
                continue
            made = {node: Node([], tuple(children.get(node, ()))) for node in work.written}
            for row in rows:
                if row.file is not None:
                    of = None if row.cut is None else self._cuts
                    made[row.node].parts.append(Part(row.file, row.rows, row.bytes, row.checksum, row.cut, of))
            rows_of = {name: node.rows for name, node in {**known, **made}.items()}
            rows_read, rows_hot = (sum(rows_of[node] for node in nodes) for nodes in (read, hot))
            return Made(made, lost, rows_read, rows_hot, work.key_combines(rows_of), rows)
        raise StoreCorrupt(f"state={self._memo.places[0]!r}: more than {PATIENCE} nodes are damaged in every replica")

    def _run(self, work: Work, root: list[str]) -> list[Any]:
        """The Spark job; what it says of the files it wrote."""
        reached("before nodes")
        numbers = [(k, frame) for k, source in enumerate(work.sources) for frame in source.frames]
        tables = incoming.numbered(numbers, self._engine.mapped)
        kept = [(k, source) for k, source in enumerate(work.sources) if not source.new]
        own = self._read_by_tasks(kept)
        if others := [(k, source) for k, source in kept if k not in own]:
            tables.append(self.read(others))
        inputs = (
            reduce(lambda above, below: above.unionByName(below, allowMissingColumns=True), tables) if tables else None
        )
        places, last = self._memo.places, "".join(root)
        if isinstance(self._engine, ArrowEngine):
            job = self._engine.written(self._spark, inputs, work, places, last, Cuts(self._cuts, own))
        else:
            assert inputs is not None
            job = self._engine.written(inputs, work, places, last)
        rows: list[Any] = job.collect()  # names of files, not data
        reached("after nodes")
        return rows

    def _read_by_tasks(self, kept: list[tuple[int, Source]]) -> dict[int, dict[int, tuple[Part, ...]]]:
        """The files of kept nodes that tasks read themselves: through Arrow, if cut as keys are and not in memory."""
        if not isinstance(self._engine, ArrowEngine):
            return {}
        cold = [(k, source.node) for k, source in kept if not self._hot.has(source.node)]
        found = {k: by_cut(self._manifest.nodes[node], self._cuts) for k, node in cold}
        return {k: parts for k, parts in found.items() if parts is not None}

    def answer(self, root: str | None) -> DataFrame:
        """The answers of a node, or none at all.

        In the JVM its rows come into memory as they are read, if the next slide reads them too. Through Arrow that
        would be a second pass through Python.
        """
        kept = [] if root is None else [(0, Source(root))]
        if kept and isinstance(self._engine, ArrowEngine) and not self._hot.has(kept[0][1].node):
            return self._engine.answered(self._refs(kept), self._memo.places)
        return self._engine.lowered(self.read(kept, fill=True))

    def read(self, kept: list[tuple[int, Source]], fill: bool = False) -> DataFrame:
        """The rows of kept nodes: from memory if they are there, or come there now (`fill`); the others from files."""
        tables, cold = [], []
        for k, source in kept:
            table = self._hot.table(source.node, partial(self._from_files, [(0, source)]), fill)
            if table is None:
                cold.append((k, source))
            else:
                tables.append(table.withColumn(SRC, F.lit(k).cast("int")))
        if cold or not tables:
            tables.append(self._from_files(cold))
        return reduce(lambda above, below: above.union(below), tables)

    def warm(self) -> int:
        """Bring what the next slide reads into memory: a Spark job, if there is anything to bring. How many nodes."""
        missing = [node for node in self._hot.missing() if self._manifest.nodes[node].parts]
        if missing:
            read = self.read([(0, Source(node)) for node in missing], fill=True)
            read.write.format("noop").mode("overwrite").save()
        return len(missing)

    def _from_files(self, kept: list[tuple[int, Source]]) -> DataFrame:
        return self._engine.read(self._refs(kept), self._memo.places)

    def _refs(self, kept: list[tuple[int, Source]]) -> DataFrame:
        """The files of nodes, as rows."""
        rows = [
            (k, source.node, part.file, part.rows, part.bytes, part.checksum)
            for k, source in kept
            for part in self._manifest.nodes[source.node].parts
        ]
        return self._spark.createDataFrame(rows, READ_SPARK)

    def _again(self, node: str) -> Frame:
        """The rows of a split whose table is lost, if it can be read again."""
        for one in self._manifest.splits:
            if one.node == node and one.source is not None:
                return Frame(self._reading.read(self._spark, one.source["path"]), one.source)
            if one.node == node:
                raise StoreCorrupt(
                    f"state: the table of split {one.name!r} is lost in every replica, and its rows came as a "
                    "DataFrame, which cannot be read again; expected splits as paths, more replicas, or a new state"
                )
        raise StoreCorrupt(f"state: node {node} is lost in every replica, and what it was made of is gone")


def _nodes_of(work: Work) -> list[str]:
    return [*(source.node for source in work.sources if source.new), *(step.node for step in work.steps)]
