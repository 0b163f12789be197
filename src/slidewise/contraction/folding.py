"""The folding tree: a complete binary tree over a window that grows and shrinks at will.

    capacity 8, live [2, 5)       full again: the whole tree becomes the left half of one twice as large
           n                      left half void: the right half becomes the tree
        /     \\
       n       n                  a node whose one child is void is that other child: void never combines
      / \\     / \\
     v  n23  4   v

Combines per slide of δ splits: δ + log M; for one split in a window of M = 2^k exactly log₂ M; M - 1 at first, and when
the capacity has become more than 8·M, where the leaves are laid out anew. Invariant: live leaves are [lo, hi), with
hi ≤ 2^height, lo < 2^(height - 1); node (l, i) is the fold of (l - 1, 2i) and (l - 1, 2i + 1).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from slidewise.contraction.tree import VOID, Fold, P, Place, Tree, Void

SPARSE = 8
"""Laid out anew when there are more places than so many per live leaf."""


class Folding(Tree[P]):
    """For windows of variable width.

    >>> import slidewise as sw
    >>> tree = Folding.over(sw.Monoid(identity="", combine=lambda a, b: a + b))
    >>> tree.advance({"0": "a", "1": "b", "2": "c"})
    >>> tree.height, tree.root, tree.combines
    (2, 'abc', 2)
    >>> tree.advance({"3": "d", "4": "e"}, drop=1)
    >>> tree.height, tree.root
    (3, 'bcde')
    """

    name = "folding"
    cost = "δ + log M"

    def __init__(self, fold: Fold[P]) -> None:
        super().__init__(fold)
        self.height = 0
        self._lo = self._hi = 0
        self._names: list[str] = []
        self._nodes: dict[tuple[int, int], P | Void] = {}
        """By level and index: all that are not void."""

    @property
    def root(self) -> P | Void:
        return self._nodes.get((self.height, 0), VOID)

    @property
    def capacity(self) -> int:
        """Places for leaves, void or not."""
        return 1 << self.height

    def __len__(self) -> int:
        return self._hi - self._lo

    def _advance(self, new: Sequence[tuple[str, P]], drop: int) -> None:
        dirty = set(range(self._lo, self._lo + drop))
        for place in dirty:
            del self._nodes[0, place]
        self._lo += drop
        del self._names[:drop]
        if self._lo == self._hi:
            self._nodes, dirty = {}, set()
            self.height = self._lo = self._hi = 0
        dirty = {place - moved for moved in [self._shrink()] for place in dirty if place >= moved}
        dirty |= self._append(new)
        if self.capacity > SPARSE * len(self):
            dirty = self._lay_out()
        self._propagate(dirty)

    def _append(self, new: Sequence[tuple[str, P]]) -> set[int]:
        """New leaves on the right, in a tree twice as large where there is no room; their places."""
        first = self._hi
        for name, leaf in new:
            self._nodes[0, self._hi] = leaf
            self._names.append(name)
            self._hi += 1
        while self.capacity < self._hi:
            self.height += 1
        return set(range(first, self._hi))

    def _shrink(self) -> int:
        """Leave out the left half while it is void; by how much places move."""
        moved = 0
        while self.height and self._lo >= self.capacity // 2:
            half = self.height - 1
            self._nodes = {
                (level, index - (1 << (half - level))): node
                for (level, index), node in self._nodes.items()
                if level <= half and index >= 1 << (half - level)
            }
            moved += 1 << half
            self._lo, self._hi, self.height = self._lo - (1 << half), self._hi - (1 << half), half
        return moved

    def _lay_out(self) -> set[int]:
        """The live leaves from place 0 on, in the smallest tree that has room for them; all are to be folded."""
        count = len(self)
        self._nodes = {(0, k): self._nodes[0, self._lo + k] for k in range(count)}
        self._lo, self._hi, self.height = 0, count, max(0, count - 1).bit_length()
        return set(range(count))

    def _propagate(self, dirty: set[int]) -> None:
        for level in range(1, self.height + 1):
            dirty = {place >> 1 for place in dirty}
            for index in sorted(dirty):
                pair = [self._nodes.get((level - 1, 2 * index + side), VOID) for side in (0, 1)]
                node = self._join(level, pair)
                if isinstance(node, Void):
                    self._nodes.pop((level, index), None)
                else:
                    self._nodes[level, index] = node

    def places(self) -> Iterator[Place[P]]:
        for place in range(self.capacity if len(self) else 0):
            yield Place(0, place, place + 1, self._nodes.get((0, place), VOID), "leaf")
        for (level, index), node in sorted(self._nodes.items(), key=lambda item: item[0]):
            if level and all((level - 1, 2 * index + side) in self._nodes for side in (0, 1)):
                yield Place(
                    level, index << level, (index + 1) << level, node, "root" if level == self.height else "node"
                )

    def state(self) -> dict[str, Any]:
        leaves = [self._nodes[0, place] for place in range(self._lo, self._hi)]
        return {"height": self.height, "lo": self._lo, "names": list(self._names), "leaves": leaves}

    def _restore(self, state: Mapping[str, Any]) -> None:
        self.height, self._lo, self._names = state["height"], state["lo"], list(state["names"])
        self._hi = self._lo + len(self._names)
        self._nodes = {(0, self._lo + k): leaf for k, leaf in enumerate(state["leaves"])}
        self._propagate(set(range(self._lo, self._hi)))

    def check(self) -> None:
        assert 0 <= self._lo <= self._hi <= self.capacity, "live leaves beyond the capacity"
        assert not self.height or self._lo < self.capacity // 2, "the left half is void"
        assert len(self) or not self._nodes, "nodes of an empty window"
        assert not len(self) or self.capacity <= max(SPARSE * len(self), 1), "too many void places"
        live = {(0, place) for place in range(self._lo, self._hi)}
        assert {key for key in self._nodes if not key[0]} == live
        for level in range(1, self.height + 1):
            live = {(level, index >> 1) for _, index in live}
            assert {key for key in self._nodes if key[0] == level} == live, "a node that is void, or one missing"
        assert all(level <= self.height for level, _ in self._nodes)
