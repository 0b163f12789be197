"""What the contraction trees share: leaves that come at the back and go at the front, and as few folds as can be.

    splits   s0   s1   s2   s3            advance(add, drop) moves the window; prepare() works ahead
              \\ ⊕ /     \\ ⊕ /
                n01   ⊕   n23             a node is made by one fold of two parts or more, and kept
                     root

A tree does not know what a partial is. It is given ``fold(level, parts)``, which makes one partial of several, oldest
first: over a monoid that is its combine (`folding_of`), on Spark it names a table that is made later. A void place has
no partial and is never folded. Work is counted in combines, n - 1 for n parts, the foreground (`combines`) apart from
what `prepare` did (`background`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, ClassVar, Generic, TypeVar

from slidewise.errors import bad, whole
from slidewise.monoids.monoid import Monoid

P = TypeVar("P")
Fold = Callable[[int, tuple[P, ...]], P]


class Void:
    """A place without a partial."""

    def __repr__(self) -> str:
        return "void"


VOID = Void()


@dataclass(frozen=True)
class Place(Generic[P]):
    """A node as it lies in a tree: over which leaves, at which height, and its partial; for pictures.

    `role` is "leaf", "node", "root" or "ahead" (made by `prepare` for the next slide).
    """

    level: int
    first: int
    last: int
    partial: P | Void
    role: str = "node"


def folding_of(monoid: Monoid) -> Fold[Any]:
    """The fold of a monoid: n - 1 combines for n parts.

    >>> import slidewise as sw
    >>> folding_of(sw.Monoid(identity="", combine=lambda a, b: a + b))(1, ("a", "b", "c"))
    'abc'
    """
    return lambda level, parts: reduce(monoid.combine, parts)


class Tree(ABC, Generic[P]):
    """A window of splits, folded; see the module. Subclasses say how.

    Parameters
    ----------
    fold
        ``fold(level, parts)`` makes one partial of two or more, oldest first.
    """

    name: ClassVar[str]
    cost: ClassVar[str]
    """Combines per slide of δ splits in a window of M, in words."""
    drops: ClassVar[bool] = True
    """False if splits can only be added."""

    def __init__(self, fold: Fold[P]) -> None:
        self._fold = fold
        self._behind = False
        self.combines = 0
        """Combines in the foreground so far."""
        self.background = 0
        """Combines that `prepare` did so far."""

    @classmethod
    def over(cls, monoid: Monoid, **options: Any) -> Tree[Any]:
        """A tree whose partials are those of a monoid."""
        return cls(folding_of(monoid), **options)

    def advance(self, add: Mapping[str, P] | None = None, drop: int = 0) -> None:
        """Move the window: `drop` of the oldest splits leave, then the new ones come, by name, in their order."""
        count = whole("drop", drop, 0, f"an integer from 0 to {len(self)}, the splits there are", below=len(self) + 1)
        if count and not self.drops:
            raise bad("drop", drop, f"0: a {self.name} tree only grows")
        new = list((add or {}).items())
        if new or count:
            self._advance(new, count)

    def prepare(self) -> None:
        """Do what can be done of the next slide before its splits are there; nothing where they cannot be foreseen."""
        self._behind = True
        try:
            self._prepare()
        finally:
            self._behind = False

    @property
    @abstractmethod
    def root(self) -> P | Void:
        """The partial of the whole window; void if it is empty. O(1)."""

    @abstractmethod
    def __len__(self) -> int:
        """Splits in the window."""

    @abstractmethod
    def places(self) -> Iterator[Place[P]]:
        """What the next slides may need, the root included, leaves first."""

    @abstractmethod
    def state(self) -> dict[str, Any]:
        """All that `restore` needs: numbers, names and the partials of leaves."""

    def restore(self, state: Mapping[str, Any]) -> None:
        """Become the tree that `state` describes; folds again and counts nothing."""
        self._restore(state)
        self.combines = self.background = 0

    @abstractmethod
    def check(self) -> None:
        """Assert every invariant; for tests and debugging."""

    @abstractmethod
    def _advance(self, new: Sequence[tuple[str, P]], drop: int) -> None: ...

    @abstractmethod
    def _restore(self, state: Mapping[str, Any]) -> None: ...

    def _prepare(self) -> None:
        pass

    def _join(self, level: int, parts: Sequence[P | Void]) -> P | Void:
        """The parts as one: void ones left out, one alone as it is, several folded and counted."""
        there = tuple(part for part in parts if not isinstance(part, Void))
        if not there:
            return VOID
        if len(there) == 1:
            return there[0]
        if self._behind:
            self.background += len(there) - 1
        else:
            self.combines += len(there) - 1
        return self._fold(level, there)
