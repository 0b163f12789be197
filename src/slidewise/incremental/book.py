"""Names of nodes: a Merkle hash of the query, the level and the children, so that equal work has one name.

A leaf's name is a hash of the query, its split's name and its number. (That of its rows is not in it: it is not known
before they are mapped, and a name that waits for it would cost a job; the manifest has the checksum of the mapped table
beside the name, and a split's name is never used again.)
"""

from __future__ import annotations

import hashlib

from slidewise.contraction import Tree, Void


class Book:
    """Gives names, and remembers what each is made of."""

    def __init__(self, query: str) -> None:
        self._query = query
        self.children: dict[str, tuple[str, ...]] = {}

    def leaf(self, split: str, number: int) -> str:
        """The name of a split's mapped table; O(1).

        >>> Book("q").leaf("2026-11-15", 0) == Book("q").leaf("2026-11-15", 0)
        True
        """
        return self._hashed("leaf", str(number), split)

    def fold(self, level: int, parts: tuple[str, ...]) -> str:
        """The name of a node; what a contraction tree is given as its fold. O(parts)."""
        name = self._hashed("node", str(level), *parts)
        self.children[name] = parts
        return name

    def _hashed(self, *words: str) -> str:
        return hashlib.blake2b("\0".join((self._query, *words)).encode(), digest_size=12).hexdigest()


def living_of(tree: Tree[str]) -> list[str]:
    """The nodes that a tree has, each once."""
    names = [place.partial for place in tree.places() if not isinstance(place.partial, Void)]
    root = tree.root
    return list(dict.fromkeys([*names, *([] if isinstance(root, Void) else [root])]))
