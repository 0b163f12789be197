"""The randomized folding tree: as in a skip list, chance says which leaves begin a group, whatever the window does.

    height   2 0 0 1 0 0 3 0          a leaf of height h begins a group at levels 1 to h
    level 1  [0 1 2] [3 4 5] [6 7]
    level 2  [0 1 2   3 4 5] [6 7]    so a leaf that leaves or comes changes one path, and nothing is ever moved

A leaf's height is the number of trailing zeros of a hash of the seed and its name: half of the leaves begin a group,
a quarter a group of groups. Expected height log₂ M, about 1.9·log₂ M combines for a slide of one, for any history of
shrinking. O(M) steps of bookkeeping. Invariant: a node of level l begins at the front or at a leaf of height l or more.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

from slidewise.contraction.strawman import Strawman
from slidewise.contraction.tree import Fold, P, Void
from slidewise.errors import whole


def height_of(seed: int, name: str) -> int:
    """Trailing zeros of a hash of the seed and a split's name; O(1).

    >>> [height_of(7, name) for name in ("mon", "tue", "wed", "thu")]
    [4, 1, 0, 1]
    """
    number = int.from_bytes(hashlib.sha256(f"{seed} {name}".encode()).digest()[:8], "big")
    return (number & -number).bit_length() - 1 if number else 64


class Randomized(Strawman[P]):
    """For windows that shrink wildly.

    >>> import slidewise as sw
    >>> tree = Randomized.over(sw.Monoid(identity="", combine=lambda a, b: a + b), seed=7)
    >>> tree.advance({name: name[0] for name in ("mon", "tue", "wed", "thu")})
    >>> tree.advance(drop=2)
    >>> tree.root
    'wt'
    """

    name = "randomized"
    cost = "~ 1.9·log M"

    def __init__(self, fold: Fold[P], seed: int = 0, height: Callable[[str], int] | None = None) -> None:
        super().__init__(fold)
        self.seed = whole("seed", seed, 0)
        self._height = height if height is not None else lambda name: height_of(self.seed, name)
        self._heights: dict[int, int] = {}

    def _build(self) -> None:
        numbers = range(self._gone, self._gone + len(self._names))
        known = self._heights
        self._heights = {
            number: known[number] if number in known else self._height(name)
            for number, name in zip(numbers, self._names, strict=True)
        }
        super()._build()

    def _groups(self, level: int, row: list[tuple[int, int, P | Void]]) -> list[list[tuple[int, int, P | Void]]]:
        groups: list[list[tuple[int, int, P | Void]]] = []
        for node in row:
            if not groups or self._heights[node[0]] >= level:
                groups.append([])
            groups[-1].append(node)
        return groups

    def state(self) -> dict[str, Any]:
        return {**super().state(), "seed": self.seed}

    def check(self) -> None:
        super().check()
        for level, first, _ in self._kept:
            assert first == self._gone or self._heights[first] >= level, "a group that nothing begins"
