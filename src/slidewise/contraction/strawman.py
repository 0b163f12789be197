"""The strawman: a binary tree balanced by position, its nodes kept; the baseline.

    s0 s1 s2 s3 s4      ──drop s0──►      s1 s2 s3 s4         every pair is another pair: all is folded again
     n01   n23  s4                         n12   n34

Combines per slide: O(M) when the front moves by an odd number, δ + log M when only the back does; M - 1 at first.
Invariant: node k of level l covers leaves [k·2^l, (k + 1)·2^l), counted from the front.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from slidewise.contraction.tree import VOID, Fold, P, Place, Tree, Void


class Strawman(Tree[P]):
    """Memoized, and nothing more.

    >>> import slidewise as sw
    >>> tree = Strawman.over(sw.Monoid(identity="", combine=lambda a, b: a + b))
    >>> tree.advance({"mon": "a", "tue": "b", "wed": "c"})
    >>> tree.advance({"thu": "d"}, drop=1)
    >>> tree.root, tree.combines
    ('bcd', 4)
    """

    name = "strawman"
    cost = "O(M)"

    def __init__(self, fold: Fold[P]) -> None:
        super().__init__(fold)
        self._names: list[str] = []
        self._leaves: list[P] = []
        self._gone = 0
        """Leaves that have left: with it a span of leaves has a number that stays."""
        self._kept: dict[tuple[int, int, int], P | Void] = {}
        """By level and span: the nodes of the last window."""
        self._root: P | Void = VOID

    @property
    def root(self) -> P | Void:
        return self._root

    def __len__(self) -> int:
        return len(self._leaves)

    def _advance(self, new: Sequence[tuple[str, P]], drop: int) -> None:
        del self._names[:drop], self._leaves[:drop]
        self._gone += drop
        self._names += [name for name, _ in new]
        self._leaves += [leaf for _, leaf in new]
        self._build()

    def _build(self) -> None:
        kept: dict[tuple[int, int, int], P | Void] = {}
        row: list[tuple[int, int, P | Void]] = [
            (self._gone + k, self._gone + k + 1, leaf) for k, leaf in enumerate(self._leaves)
        ]
        level = 0
        while len(row) > 1:
            level += 1
            row = [self._group(level, group, kept) for group in self._groups(level, row)]
        self._root = row[0][2] if row else VOID
        self._kept = kept

    def _groups(self, level: int, row: list[tuple[int, int, P | Void]]) -> list[list[tuple[int, int, P | Void]]]:
        """Which nodes of a level become one of the next."""
        return [row[k : k + 2] for k in range(0, len(row), 2)]

    def _group(
        self, level: int, group: list[tuple[int, int, P | Void]], kept: dict[tuple[int, int, int], P | Void]
    ) -> tuple[int, int, P | Void]:
        first, last = group[0][0], group[-1][1]
        if len(group) == 1:
            return group[0]
        key = (level, first, last)
        kept[key] = self._kept[key] if key in self._kept else self._join(level, [part for _, _, part in group])
        return first, last, kept[key]

    def places(self) -> Iterator[Place[P]]:
        for k, leaf in enumerate(self._leaves):
            yield Place(0, k, k + 1, leaf, "leaf")
        for (level, first, last), partial in self._kept.items():
            yield Place(
                level, first - self._gone, last - self._gone, partial, "root" if self._tops(first, last) else "node"
            )

    def _tops(self, first: int, last: int) -> bool:
        return last - first == len(self._leaves)

    def state(self) -> dict[str, Any]:
        return {"gone": self._gone, "names": list(self._names), "leaves": list(self._leaves)}

    def _restore(self, state: Mapping[str, Any]) -> None:
        self._gone, self._names, self._leaves = state["gone"], list(state["names"]), list(state["leaves"])
        self._kept = {}
        self._build()

    def check(self) -> None:
        assert len(self._names) == len(self._leaves)
        for _, first, last in self._kept:
            assert self._gone <= first < last <= self._gone + len(self._leaves), "a node beyond the window"
        assert (self._root is VOID) == (not self._leaves)
