"""What the next slide will read, found by moving the tree by one more split on names alone."""

from __future__ import annotations

from slidewise.contraction import Tree, Void
from slidewise.incremental.book import Book, living_of
from slidewise.incremental.steps import work_of
from slidewise.incremental.window import Splits

NEXT = "next"


def wanted_next(query: str, window: Splits, tree: Tree[str], splits: int) -> set[str]:
    """The nodes of a query's `tree`, which is over so many splits, that the next slide reads; nothing is changed.

    The next slide is taken to be the usual one: one split comes (or a bucket of them), and one leaves unless the window
    only grows. O(log n) for every tree but the strawman.
    """
    book = Book(query)  # a node that is folded again has its old name
    moved = window.make(book.fold)
    moved.restore(tree.state())
    coming = {f"{NEXT} {k}": f"{NEXT} {k}" for k in range(window.bucket)}
    leaving = min(1, splits) if window.variable else window.dropped(splits, window.bucket)
    moved.advance(coming, leaving)
    there = set(living_of(tree))
    wanted = [node for node in living_of(moved) if node not in there]
    work = work_of(wanted, book.children, there.__contains__, str)
    read = {source.node for source in work.sources if not source.new}
    root = moved.root
    return read | ({root} if not isinstance(root, Void) and root in there else set())
