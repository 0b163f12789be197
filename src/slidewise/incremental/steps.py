"""What one Spark job has to do: which tables go in, which nodes come out, in what order they are combined.

sources  0: new split   1: kept node   2: kept node
steps    n = [1, 2]   root = [n, 0]                    parts are sources or earlier steps, oldest first
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Source:
    """A table that goes in: `node` names it; `frames` are the rows of new splits, none for a node that is kept."""

    node: str
    frames: tuple[Any, ...] = ()

    @property
    def new(self) -> bool:
        """True for splits that have not been mapped yet."""
        return bool(self.frames)


@dataclass(frozen=True)
class Step:
    """A node that is made of others, and whether it is kept."""

    node: str
    parts: tuple[str, ...]


@dataclass(frozen=True)
class Work:
    """Sources, steps in an order that works, and the nodes to be written."""

    sources: tuple[Source, ...]
    steps: tuple[Step, ...]
    written: tuple[str, ...]

    @property
    def combines(self) -> int:
        """Tables combined with others."""
        return sum(len(step.parts) - 1 for step in self.steps)

    def mapped_together(self) -> Work:
        """The same work with new splits that nobody keeps apart mapped as one; for folds that commute.

        So a window that only grows maps all that is added at once as a plain run would, and so does a bucket.
        """
        taken = Counter(part for step in self.steps for part in step.parts)
        alone = {one.node: one for one in self.sources if one.new and taken[one.node] == 1}
        for node in self.written:
            alone.pop(node, None)
        joined = {step.node: step for step in self.steps if all(part in alone for part in step.parts)}
        gone = {part for step in joined.values() for part in step.parts}
        made = [
            Source(step.node, tuple(frame for part in step.parts for frame in alone[part].frames))
            for step in joined.values()
        ]
        left = [source for source in self.sources if source.node not in gone]
        return Work((*left, *made), tuple(step for step in self.steps if step.node not in joined), self.written)

    def key_combines(self, rows: Mapping[str, int]) -> int:
        """Calls of combine by key: one fewer, for each key of a step, than parts that have the key.

        `rows` says how many keys a node has. A step that is not written is not in it: its keys cancel out if one other
        step takes it, which is so in every tree.
        """
        return sum(sum(rows.get(part, 0) for part in step.parts) - rows.get(step.node, 0) for step in self.steps)

    def levels(self) -> list[list[Step]]:
        """Steps of two parts each, in groups that depend on earlier groups only; longer ones are taken apart."""
        depth = {source.node: 0 for source in self.sources}
        found: dict[int, list[Step]] = {}
        for step in self.steps:
            for one in _pairs(step):
                depth[one.node] = 1 + max(depth[part] for part in one.parts)
                found.setdefault(depth[one.node], []).append(one)
        return [found[level] for level in sorted(found)]


def _pairs(step: Step) -> list[Step]:
    """One step as steps of two parts, balanced, in order."""
    row, made, number = list(step.parts), [], 0
    while len(row) > 1:
        after = []
        for k in range(0, len(row), 2):
            if k + 1 == len(row):
                after.append(row[k])
                continue
            name = step.node if len(row) == 2 else f"{step.node}+{number}"
            number += 1
            made.append(Step(name, (row[k], row[k + 1])))
            after.append(name)
        row = after
    return made


def work_of(
    wanted: Collection[str],
    children: Mapping[str, tuple[str, ...]],
    is_kept: Callable[[str], bool],
    frame_of: Callable[[str], Any],
) -> Work:
    """The least work that makes the wanted nodes: what is kept is read, what is not is made of its children.

    `frame_of` gives the rows of a leaf, or raises if they cannot be had any more.
    """
    sources: dict[str, Source] = {}
    steps: dict[str, Step] = {}

    def need(node: str) -> None:
        if node in sources or node in steps:
            return
        if is_kept(node):
            sources[node] = Source(node)
        elif node not in children:
            sources[node] = Source(node, (frame_of(node),))
        else:
            for part in children[node]:
                need(part)
            steps[node] = Step(node, children[node])

    written = [node for node in dict.fromkeys(wanted) if not is_kept(node)]
    for node in written:
        need(node)
    first = sorted(sources.values(), key=lambda one: not one.new)  # new ones first: the code for them stays the same
    return Work(tuple(first), tuple(steps.values()), tuple(written))
