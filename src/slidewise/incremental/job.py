"""The job: a window over splits whose answer is brought up to date by what changed.

    load manifest ─► check the call ─► move the tree (names only) ─► one Spark job makes the nodes that are missing
                                                                ─► swap the manifest ─► collect garbage ─► answer

The tree works on names (book.py). Those it made and the manifest does not have are this slide's work (steps.py). Until
the manifest is swapped nothing has happened; whatever a killed job wrote is swept by the next.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slidewise.contraction import Tree, Void
from slidewise.errors import ArgumentError, bad, whole
from slidewise.incremental import draw, incoming
from slidewise.incremental.ahead import wanted_next
from slidewise.incremental.arrow_build import ArrowEngine
from slidewise.incremental.book import Book, living_of
from slidewise.incremental.ends import ends_of, refuse_disorder
from slidewise.incremental.hot import Hot
from slidewise.incremental.incoming import Frame, Reading
from slidewise.incremental.making import Made, Maker
from slidewise.incremental.manifest import Manifest, Node, Split
from slidewise.incremental.memo import Memo, collected, places_of
from slidewise.incremental.plain import Engine, engine_of
from slidewise.incremental.query import Query
from slidewise.incremental.report import Report
from slidewise.incremental.window import Splits
from slidewise.spark.fingerprint import digest
from slidewise.spark.schema import spark_types

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Job:
    """A query over a window of splits that moves, paid by what changed.

    Parameters
    ----------
    spark
        The session; classic or Connect, local or a cluster whose workers see `state` under the same path.
    state
        A folder, or a list of folders, one for each replica; made if missing. One job writes it at a time.
    query
        ``group_by(...).aggregate(...)``, as it would be run plainly.
    window
        ``splits(90)``, ``splits()`` or ``splits(variable=True)``.
    split_rows
        Cut what is added into splits of about so many rows (one more count of them); None: a split each.
    gc
        How many windows, the last included, keep all their nodes (at least 1), or ``callable(node) -> bool``, which
        says True for a node of the last two that may go; what the window of now needs always stays.
    cache
        True: nodes that the next slide reads stay in Spark's memory as long as this object lives; through Arrow on a
        cluster only, since on one machine tasks read their own files. False: files only, which is enough for one slide
        per process.
    partitions
        Into how many parts keys are cut, through Arrow: a task each, which holds its part of the nodes it reads in
        memory. None: as the state has it, or as many as tasks run at once when it begins.
    format, options, schema
        How paths are read, as ``spark.read`` takes them.

    Examples
    --------
    >>> from slidewise import incremental as inc
    >>> import slidewise as sw
    >>> query = inc.group_by("user").aggregate(sw.sum("bytes"))
    >>> job = inc.Job(spark, state=["/data/a", "/data/b"], query=query, window=inc.splits(90))  # doctest: +SKIP
    >>> job.advance(add={"2026-11-15": df}).show()  # doctest: +SKIP
    """

    def __init__(
        self,
        spark: SparkSession,
        *,
        state: str | Path | list[str] | list[Path] | tuple[str, ...],
        query: Query,
        window: Splits,
        split_rows: int | None = None,
        gc: int | Callable[[Node], bool] = 2,
        cache: bool = True,
        partitions: int | None = None,
        format: str = "parquet",
        options: Mapping[str, str] | None = None,
        schema: str | None = None,
    ) -> None:
        if not isinstance(query, Query):
            raise bad("query", query, "a query such as group_by('user').aggregate(sw.sum('bytes'))")
        if not isinstance(window, Splits):
            raise bad("window", window, "splits(90), splits() or splits(variable=True)")
        if split_rows is not None:
            split_rows = whole("split_rows", split_rows, 1)
            if query.order:
                raise bad("split_rows", split_rows, "None for a query with order=: pieces have none")
            if window.bucket > 1:
                raise bad("split_rows", split_rows, "None where splits come in buckets")
        self._spark, self._query, self._window, self._split_rows = spark, query, window, split_rows
        self._keep = 2 if callable(gc) else whole("gc", gc, 1, "an integer of at least 1, or a function of a node")
        self._policy = gc if callable(gc) else None
        if not isinstance(cache, bool):
            raise bad("cache", cache, "True or False")
        self._partitions = None if partitions is None else whole("partitions", partitions, 1)
        self._memo, self._hot = Memo(places_of(state)), Hot(spark, cache)
        self._reading = Reading(format, tuple((options or {}).items()), schema)
        self._report: Report | None = None
        self._behind: threading.Thread | None = None
        self._tag = f"slidewise-prepare-{id(self)}"
        self._cold = True

    # ---- the verbs ----
    def advance(
        self,
        add: Mapping[str, DataFrame | str | Path] | None = None,
        drop: int | list[str] | None = None,
        *,
        prepare: str | None = None,
    ) -> DataFrame:
        """Move the window and return the answer over it: maps and reads only what is new. One Spark job of two stages.

        `add` gives splits by name, oldest first; `drop` says how many of the oldest leave, or which. A window of fixed
        width drops by itself. ``prepare="auto"`` works ahead afterwards, in the background; `cancel` stops that.

        The answer is a DataFrame that reads the state: write it out or cache it if it is to outlive the next slides.
        """
        if prepare not in (None, "auto"):
            raise bad("prepare", prepare, "None or 'auto'")
        self.cancel()
        with self._memo.writing():
            clock = _Clock()
            manifest, swept = self._load()
            frames = incoming.given(self._spark, add, self._reading, self._split_rows, manifest)
            if self._window.width is not None and len(frames) > self._window.width:
                raise bad("add", len(frames), f"at most {self._window.width} splits at once, the width of the window")
            there = 0 if manifest is None else len(manifest.splits)
            automatic = self._window.dropped(there, len(frames))
            fixed = self._window.width is not None
            count = incoming.dropped(drop, manifest, automatic, fixed)
            if not frames and not count:
                raise ArgumentError("add=None, drop=None: nothing to do; expected splits to add, or to drop")
            engine, manifest = self._bound(frames, manifest)
            done = self._advance(engine, manifest, frames, count, clock, swept)
        answer = self._answer(engine, done)
        if prepare == "auto":
            self._start_behind()
        return answer

    def prepare(self) -> None:
        """Work ahead for the next slide, after the answer is out; never needed. Nothing to do for variable windows."""
        self.cancel()
        self._prepare()

    def cancel(self) -> None:
        """Stop work ahead that runs in the background; what it has not committed is swept by the next slide."""
        if self._behind is not None:
            with suppress(Exception):  # a session without tags: it is waited for instead
                self._spark.interruptTag(self._tag)
            self._behind.join()
            self._behind = None

    def result(self) -> DataFrame:
        """The answer over the window as it is, without moving it; raises `ArgumentError` if nothing was added yet."""
        manifest = self._there()
        engine = self._engine(manifest)
        return self._answer(engine, manifest)

    def report(self) -> Report:
        """What the last advance, or prepare, did; also of another process."""
        if self._report is None:
            self._report = Report.of(self._there().last["report"])
        return self._report

    def splits(self) -> list[str]:
        """The names of the splits in the window, oldest first."""
        manifest = self._memo.load()
        return [] if manifest is None else [one.name for one in manifest.splits]

    def seen(self, name: str) -> bool:
        """True if a split of that name was ever added."""
        manifest = self._memo.load()
        return manifest is not None and (name in manifest.gone or name in (one.name for one in manifest.splits))

    def draw(self, path: str | Path | None = None) -> str:
        """The tree in characters, with what the last slide reused and built; with a path, as SVG into that file."""
        manifest = self._there()
        tree = self._tree(manifest, Book(digest(manifest.query)))
        built = set(manifest.last["built"])
        rows = {name: node.rows for name, node in manifest.nodes.items()}
        names = [one.name for one in manifest.splits]
        drawn = []
        for place in tree.places():
            if isinstance(place.partial, Void):
                fate, said = "void", "void: no split"
            else:
                fate, said = draw.fates(rows, built, place.partial)
                fate = "ahead" if place.role == "ahead" else fate
            drawn.append(draw.Drawn(place.level, place.first, place.last, fate, said))
        title = f"{manifest.window}: {len(names)} splits after slide {manifest.generation}"
        if path is None:
            return draw.as_text(drawn, names, title)
        svg = draw.as_svg(drawn, names, title)
        Path(path).write_text(svg, encoding="utf-8")
        return svg

    # ---- one slide ----
    def _advance(
        self, engine: Engine, before: Manifest, frames: Mapping[str, Frame], count: int, clock: _Clock, swept: int
    ) -> Manifest:
        book = Book(digest(before.query))
        tree = self._tree(before, book)
        leaves = {name: book.leaf(name, before.number + k) for k, name in enumerate(frames)}
        tree.advance(leaves, count)
        clock.lap("check")
        self._want(engine, before, tree, len(before.splits) + len(frames) - count)
        new = {leaves[name]: frame for name, frame in frames.items()}
        made = self._maker(engine, before).make(tree, book, new)
        clock.lap("run")
        now = datetime.now(UTC).isoformat(timespec="seconds")
        after = before.splits[count:]
        for name, frame in frames.items():
            node = leaves[name]
            keys = made.nodes[node].rows if node in made.nodes else 0
            source = frame.source if frame.pieces == 1 else None
            after.append(Split(name, node, now, keys, source, *ends_of(made.told, node)))
        refuse_disorder(after)
        leaving = before.splits[:count]
        moved = Manifest(
            before.query,
            before.window,
            before.types,
            before.generation + 1,
            before.number + len(frames),
            after,
            {**before.gone, **{one.name: one.added for one in leaving}},
        )
        names = {"added": tuple(frames), "dropped": tuple(one.name for one in leaving)}
        return self._commit("advance", engine, before, moved, tree, made, tree.combines, clock, swept, names)

    def _prepare(self) -> None:
        with self._memo.writing():
            clock = _Clock()
            before, swept = self._load()
            if before is None:
                return
            engine = self._engine(before)
            book = Book(digest(before.query))
            tree = self._tree(before, book)
            tree.prepare()
            clock.lap("check")
            self._want(engine, before, tree, len(before.splits))
            made = self._maker(engine, before).make(tree, book, {})
            clock.lap("run")
            moved = Manifest(
                before.query,
                before.window,
                before.types,
                before.generation + 1,
                before.number,
                before.splits,
                before.gone,
            )
            self._commit("prepare", engine, before, moved, tree, made, tree.background, clock, swept, {})
            if self._maker(engine, moved).warm():
                clock.lap("warm")
                self._report = replace(self.report(), seconds=dict(clock.laps))

    def _commit(
        self,
        step: str,
        engine: Engine,
        before: Manifest,
        moved: Manifest,
        tree: Tree[str],
        made: Made,
        combines: int,
        clock: _Clock,
        swept: int,
        names: dict[str, tuple[str, ...]],
    ) -> Manifest:
        """Swap the manifest, then delete what nobody needs any more."""
        living = living_of(tree)
        moved.tree = tree.state()
        root = tree.root
        moved.root = None if isinstance(root, Void) else root
        moved.nodes = {**before.nodes, **made.nodes}
        moved.living = before.living
        moved.living, gone = collected(moved, set(living), self._keep, self._policy)
        replaced = [before.nodes[node] for node in made.nodes if node in before.nodes]
        deleted = [moved.nodes.pop(node) for node in gone]
        places = [place.partial for place in tree.places()]
        report = Report(
            step=step,
            generation=moved.generation,
            window=moved.window,
            engine=engine.name,
            splits=len(moved.splits),
            reused=len({node for node in living if node not in made.nodes}),
            built=len([node for node in living if node in made.nodes]),
            void=sum(isinstance(place, Void) for place in places),
            recomputed=tuple(made.recomputed),
            combines=combines,
            key_combines=made.key_combines,
            rows_read=made.rows_read,
            rows_hot=made.rows_hot,
            rows_written=sum(node.rows for node in made.nodes.values()),
            bytes_written=sum(node.bytes for node in made.nodes.values()),
            state_nodes=len(moved.nodes),
            state_bytes=sum(node.bytes for node in moved.nodes.values()),
            seconds=dict(clock.laps),
            cold=self._cold,
            swept=swept,
            **names,
        )
        moved.last = {"report": _plain(report), "built": sorted(made.nodes)}
        self._memo.commit(moved)
        clock.lap("commit")
        self._memo.delete([*deleted, *replaced])
        self._hot.forget_others()
        clock.lap("collect")
        self._cold = False
        self._report = Report.of({**_plain(report), "seconds": dict(clock.laps)})
        return moved

    def _want(self, engine: Engine, before: Manifest, tree: Tree[str], count: int) -> None:
        """Which nodes are worth memory: none that tasks read themselves, on a machine that has them on its own disk."""
        pays = self._hot.far or not isinstance(engine, ArrowEngine)
        self._hot.want(wanted_next(digest(before.query), self._window, tree, count) if pays else ())

    # ---- what is there ----
    def _load(self) -> tuple[Manifest | None, int]:
        manifest = self._memo.load()
        return manifest, self._memo.sweep(manifest)

    def _there(self) -> Manifest:
        manifest = self._memo.load()
        if manifest is None:
            raise ArgumentError(f"state={self._memo.places[0]!r}: holds nothing yet; expected an advance first")
        return manifest

    def _bound(self, frames: Mapping[str, Frame], manifest: Manifest | None) -> tuple[Engine, Manifest]:
        """The engine, and the manifest to go on from: the state's, if it is of this query and window, or a new one."""
        if manifest is not None:
            engine = self._engine(manifest)
            incoming.check_schema(frames, engine.bound)
            return engine, manifest
        first = next(iter(frames.values()))
        bound = self._query.bind(spark_types(first.df))
        incoming.check_schema(frames, bound)
        engine = engine_of(self._query, bound, answers=self._window.grows)
        window = self._window.described()
        return engine, Manifest(bound.phrases(engine.name), window, incoming.packed_types(bound))

    def _engine(self, manifest: Manifest) -> Engine:
        bound = self._query.bind(incoming.unpacked_types(manifest.types))
        engine = engine_of(self._query, bound, answers=self._window.grows)
        said, mine = manifest.query, bound.phrases(engine.name)
        if said != mine:
            other = [phrase for phrase in said if phrase not in mine] or said
            here = [phrase for phrase in mine if phrase not in said] or mine
            raise ArgumentError(
                f"state={self._memo.places[0]!r}: is of another query: it has {'; '.join(other)}, this job "
                f"{'; '.join(here)}; expected the same query, or another state"
            )
        if manifest.window != self._window.described():
            raise ArgumentError(
                f"window={self._window.described()!r}: the state {self._memo.places[0]!r} has {manifest.window!r}; "
                "expected the same window, or another state"
            )
        return engine

    def _tree(self, manifest: Manifest, book: Book) -> Tree[str]:
        tree = self._window.make(book.fold)
        if manifest.tree:
            tree.restore(manifest.tree)
        return tree

    def _answer(self, engine: Engine, manifest: Manifest) -> DataFrame:
        return self._maker(engine, manifest).answer(manifest.root)

    def _maker(self, engine: Engine, manifest: Manifest) -> Maker:
        return Maker(self._spark, self._memo, self._hot, self._reading, engine, manifest, self._partitions)

    # ---- behind ----
    def _start_behind(self) -> None:
        def work() -> None:
            with suppress(Exception):  # best effort: the next slide does without
                with suppress(Exception):
                    self._spark.addTag(self._tag)
                self._prepare()

        self._behind = threading.Thread(target=work, name="slidewise-prepare", daemon=True)
        self._behind.start()


class _Clock:
    """Seconds by step."""

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._at = time.perf_counter()

    def lap(self, name: str) -> None:
        now = time.perf_counter()
        self.laps[name] = round(now - self._at, 4)
        self._at = now


def _plain(report: Report) -> dict[str, Any]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(report).items()}


__all__ = ["Job"]
