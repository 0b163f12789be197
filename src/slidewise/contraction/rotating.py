"""The rotating tree: N buckets on a circle, the newest takes the place of the oldest.

    places        0   1   2   3        bucket 5 has just come to place 1: the window is 2 3 | 4 5
    buckets       4   5   2   3        the seam lies right of the newest: oldest bucket to its right, and around
    nodes           45     23

The window in order is (siblings right of the path) ⊕ (siblings left of it) ⊕ new, so nothing need commute: a node is
folded when the seam has left it, and only then. `prepare` folds the siblings of the next path ahead, so that the next
bucket costs one combine. Combines per slide of one bucket, N = 2^k: log₂ N; prepared, 1, and the rest ahead. A bucket
of w splits is one fold of them. Until there are N buckets, slides only add. Invariant: kept nodes lie beside the seam.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from slidewise.contraction.tree import VOID, Fold, P, Place, Tree, Void
from slidewise.errors import bad, whole


class Rotating(Tree[P]):
    """For windows of a fixed width.

    >>> import slidewise as sw
    >>> tree = Rotating.over(sw.Monoid(identity="", combine=lambda a, b: a + b), buckets=4)
    >>> tree.advance({"0": "a", "1": "b", "2": "c", "3": "d"})
    >>> tree.prepare()
    >>> before = tree.combines
    >>> tree.advance({"4": "e"}, drop=1)
    >>> tree.root, tree.combines - before
    ('bcde', 1)
    """

    name = "rotating"
    cost = "log N; 1 in the foreground if prepared"

    def __init__(self, fold: Fold[P], buckets: int, width: int = 1) -> None:
        super().__init__(fold)
        self.buckets = whole("buckets", buckets, 1)
        self.width = whole("width", width, 1)
        self.height = (self.buckets - 1).bit_length()
        self._newest = -1
        """The place of the newest bucket."""
        self._full = 0
        """Buckets there are."""
        self._nodes: dict[tuple[int, int], P | Void] = {}
        """Buckets (level 0) and the nodes that are folded: by level and index."""
        self._ahead: P | Void = VOID
        self._root: P | Void = VOID

    @property
    def root(self) -> P | Void:
        return self._root

    @property
    def prepared(self) -> bool:
        """True if the next bucket costs one combine."""
        return not isinstance(self._ahead, Void)

    def __len__(self) -> int:
        return self._full * self.width

    def _advance(self, new: Sequence[tuple[str, P]], drop: int) -> None:
        if len(new) % self.width or not new:
            raise bad("add", len(new), f"a multiple of {self.width} splits, the width of a bucket")
        count = len(new) // self.width
        over = max(0, self._full + count - self.buckets)
        if drop != min(over, self._full) * self.width:
            raise bad(
                "drop", drop, f"{min(over, self._full) * self.width}: a window of fixed width drops what is too much"
            )
        ahead, self._ahead = self._ahead, VOID
        leaves = [leaf for _, leaf in new]
        made = [self._join(0, leaves[k * self.width : (k + 1) * self.width]) for k in range(count)]
        for bucket in made[-self.buckets :]:
            self._place(bucket)
        if count == 1 and not isinstance(ahead, Void):
            self._root = self._join(self.height, [ahead, made[0]])
        else:
            self._root = self._folded()

    def _place(self, bucket: P | Void) -> None:
        self._newest = (self._newest + 1) % self.buckets
        self._full = min(self._full + 1, self.buckets)
        for level in range(self.height + 1):
            self._nodes.pop((level, self._newest >> level), None)
        self._nodes[0, self._newest] = bucket

    def _folded(self) -> P | Void:
        """The window of now: the newest with what lies left of it as far as that is a node, the rest in one fold."""
        at, level, suffix = self._newest, 0, self._nodes[0, self._newest]
        while level < self.height and (at >> level & 1 or self._beyond(level, (at >> level) + 1)):
            if at >> level & 1:
                suffix = self._join(level + 1, [self._node(level, (at >> level) - 1), suffix])
            level += 1
            self._nodes[level, at >> level] = suffix
        return self._join(self.height, [*self._siblings(at, level), suffix])

    def _siblings(self, at: int, level: int = 0) -> list[P | Void]:
        """What lies beside the path from a place to the top, from a level on, oldest first."""
        right = [self._node(k, (at >> k) + 1) for k in range(level, self.height) if not at >> k & 1]
        left = [self._node(k, (at >> k) - 1) for k in range(level, self.height) if at >> k & 1]
        return [*right, *reversed(left)]

    def _node(self, level: int, index: int) -> P | Void:
        """A node without the seam inside, folded now if it is not yet."""
        if level == 0 or (level, index) in self._nodes:
            return self._nodes.get((level, index), VOID)
        node = self._join(level, [self._node(level - 1, 2 * index), self._node(level - 1, 2 * index + 1)])
        if not isinstance(node, Void):
            self._nodes[level, index] = node
        return node

    def _beyond(self, level: int, index: int) -> bool:
        """True if a node covers no place of the circle."""
        return index << level >= self.buckets

    def _prepare(self) -> None:
        if not self._full or self.prepared:
            return
        if self._full < self.buckets:
            self._ahead = self._root
        else:
            self._ahead = self._join(self.height, self._siblings((self._newest + 1) % self.buckets))

    def places(self) -> Iterator[Place[P]]:
        for place in range(self.buckets):
            yield Place(0, place, place + 1, self._nodes.get((0, place), VOID), "leaf")
        for (level, index), node in sorted(self._nodes.items(), key=lambda item: item[0]):
            if level and all((level - 1, 2 * index + side) in self._nodes for side in (0, 1)):
                last = min((index + 1) << level, self.buckets)
                yield Place(level, index << level, last, node)
        if self.prepared:
            yield Place(self.height, 0, self.buckets, self._ahead, "ahead")
        if self._full > 1:
            yield Place(self.height, 0, self.buckets, self._root, "root")

    def state(self) -> dict[str, Any]:
        leaves = [self._nodes[0, place] for place in range(self._full)]
        folded = sorted([level, index] for level, index in self._nodes if level)
        ahead = None if isinstance(self._ahead, Void) else self._ahead
        root = None if isinstance(self._root, Void) else self._root
        return {"newest": self._newest, "leaves": leaves, "folded": folded, "ahead": ahead, "root": root}

    def _restore(self, state: Mapping[str, Any]) -> None:
        self._newest, self._full = state["newest"], len(state["leaves"])
        self._nodes = {(0, place): leaf for place, leaf in enumerate(state["leaves"])}
        for level, index in state["folded"]:
            self._node(level, index)
        self._ahead = VOID if state["ahead"] is None else state["ahead"]
        self._root = VOID if state["root"] is None else state["root"]

    def check(self) -> None:
        assert 0 <= self._full <= self.buckets
        assert {index for level, index in self._nodes if not level} == set(range(self._full)), "buckets have gaps"
        oldest = (self._newest + 1) % self.buckets if self._full == self.buckets else 0
        for level, index in self._nodes:
            first, last = index << level, min((index + 1) << level, self.buckets)
            seam_inside = first < oldest < last and self._full == self.buckets
            assert not seam_inside, "a node with the seam inside"
        assert isinstance(self._root, Void) == (self._full == 0)
