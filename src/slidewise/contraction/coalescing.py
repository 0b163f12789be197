"""The coalescing tree: a window that only grows.

    root ⊕ (new splits, folded)  ──►  root          the last delta is folded in by prepare(), or by the next slide

Combines per slide of δ splits: δ. The root of a slide is the base of the next, so nothing is folded twice and splits
themselves are not needed again. Invariant: root = base ⊕ delta.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from slidewise.contraction.tree import VOID, Fold, P, Place, Tree, Void


class Coalescing(Tree[P]):
    """For windows that only grow.

    >>> import slidewise as sw
    >>> tree = Coalescing.over(sw.Monoid(identity="", combine=lambda a, b: a + b))
    >>> tree.advance({"0": "a", "1": "b"})
    >>> tree.advance({"2": "c"})
    >>> tree.root, tree.combines
    ('abc', 2)
    """

    name = "coalescing"
    cost = "δ"
    drops = False

    def __init__(self, fold: Fold[P]) -> None:
        super().__init__(fold)
        self._count = 0
        self._slides = 0
        self._base: P | Void = VOID
        self._delta: P | Void = VOID
        self._root: P | Void = VOID

    @property
    def root(self) -> P | Void:
        return self._root

    def __len__(self) -> int:
        return self._count

    def _advance(self, new: Sequence[tuple[str, P]], drop: int) -> None:
        self._prepare()
        self._delta = self._join(1, [leaf for _, leaf in new])
        self._count += len(new)
        self._slides += 1
        self._root = self._join(2, [self._base, self._delta])

    def _prepare(self) -> None:
        """The root that was folded for the last answer is the base from now on."""
        self._base, self._delta = self._root, VOID

    def places(self) -> Iterator[Place[P]]:
        if not isinstance(self._base, Void):
            yield Place(0, 0, 1, self._base, "leaf")
        if not isinstance(self._delta, Void):
            yield Place(0, 1, 2, self._delta, "leaf")
        if not isinstance(self._root, Void):
            yield Place(1, 0, 2, self._root, "root")

    def state(self) -> dict[str, Any]:
        parts = {"base": self._base, "delta": self._delta, "root": self._root}
        stored = {name: None if isinstance(part, Void) else part for name, part in parts.items()}
        return {"count": self._count, "slides": self._slides, **stored}

    def _restore(self, state: Mapping[str, Any]) -> None:
        self._count, self._slides = state["count"], state["slides"]
        parts = [VOID if state[name] is None else state[name] for name in ("base", "delta", "root")]
        self._base, self._delta, self._root = parts

    def check(self) -> None:
        assert isinstance(self._root, Void) == (self._count == 0)
        assert self._slides <= max(self._count, 0)
        assert not isinstance(self._base, Void) or isinstance(self._delta, Void) or self._root is self._delta
