"""A B+-tree of things that have a key: places, neighbours and ranks in O(log n), sums of any stretch in O(log n).

                   [ · · ]               inner nodes: the first key of each child
                  /       \\
           [ · · · ]      [ · · ]        size and summary of all that is below
            /  |  \\        /  \\
          ▪▪▪ ▪▪▪▪ ▪▪    ▪▪▪▪ ▪▪▪        leaves of up to 32 things

Invariant: keys rise from left to right, all leaves are equally deep, a node that is not on the left or right edge is
at least a quarter full. Summaries are made when they are asked for: a change forgets those above it, except that one at
the end is combined into them.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from typing import Any, Generic, Protocol, TypeVar

from slidewise.frames.work import Work

MOST = 32


class Keyed(Protocol):
    """What a tree can hold."""

    key: Any


T = TypeVar("T", bound=Keyed)
Walk = Callable[[Any, Any], tuple[Any, bool]]


class Node:
    """A leaf holds things and their keys, an inner node children and their first keys."""

    __slots__ = ("items", "keys", "leaf", "size", "summary")

    def __init__(self, leaf: bool, keys: list[Any], items: list[Any]) -> None:
        self.leaf = leaf
        self.keys = keys
        self.items = items
        self.size = len(items) if leaf else sum(child.size for child in items)
        self.summary: Any = None


class Tree(Generic[T]):
    """Things in order of their keys, which differ. `measure` and `combine` give summaries; combine keeps the order."""

    def __init__(
        self,
        work: Work,
        measure: Callable[[T], Any] | None = None,
        combine: Callable[[Any, Any], Any] | None = None,
    ) -> None:
        self._work = work
        self._measure = measure
        self._combine = combine
        self._root = Node(True, [], [])

    def __len__(self) -> int:
        return self._root.size

    def __iter__(self) -> Iterator[T]:
        return self._each(self._root)

    def _each(self, node: Node) -> Iterator[T]:
        for item in node.items:
            if node.leaf:
                yield item
            else:
                yield from self._each(item)

    # ---- change ----
    def insert(self, item: T) -> None:
        """A new thing at its place; O(log n)."""
        last = self._last_key()
        at_end = last is None or item.key > last
        found = self._measure(item) if at_end and self._measure is not None else None
        right = self._insert(self._root, item, at_end, found)
        if right is not None:
            left = self._root
            self._root = Node(False, [left.keys[0], right.keys[0]], [left, right])

    def _last_key(self) -> Any:
        node = self._root
        while not node.leaf:
            node = node.items[-1]
        return node.keys[-1] if node.keys else None

    def _insert(self, node: Node, item: T, at_end: bool, found: Any) -> Node | None:
        self._work.nodes += 1
        node.size += 1
        if node.summary is not None:
            node.summary = self._combine(node.summary, found) if at_end and self._combine is not None else None
        if node.leaf:
            at = len(node.keys) if at_end else bisect_left(node.keys, item.key)
            node.keys.insert(at, item.key)
            node.items.insert(at, item)
        else:
            at = max(0, bisect_right(node.keys, item.key) - 1)
            if item.key < node.keys[at]:
                node.keys[at] = item.key
            right = self._insert(node.items[at], item, at_end, found)
            if right is not None:
                node.keys.insert(at + 1, right.keys[0])
                node.items.insert(at + 1, right)
        if len(node.items) <= MOST:
            return None
        cut = len(node.items) - 2 if at_end else len(node.items) // 2  # what comes in order fills its nodes
        right = Node(node.leaf, node.keys[cut:], node.items[cut:])
        del node.keys[cut:], node.items[cut:]
        node.size -= right.size
        node.summary = None
        return right

    def remove(self, key: Any) -> None:
        """The thing with this key is no more; O(log n)."""
        self._remove(self._root, key)
        self._lower_root()

    def _remove(self, node: Node, key: Any) -> None:
        self._work.nodes += 1
        node.size -= 1
        node.summary = None
        if node.leaf:
            at = bisect_left(node.keys, key)
            del node.keys[at], node.items[at]
            return
        at = max(0, bisect_right(node.keys, key) - 1)
        child = node.items[at]
        self._remove(child, key)
        if not child.items:
            del node.keys[at], node.items[at]
            return
        node.keys[at] = child.keys[0]
        if len(child.items) < MOST // 4 and len(node.items) > 1:
            self._even_out(node, max(0, at - 1))

    def _even_out(self, node: Node, at: int) -> None:
        """Children `at` and `at + 1` become one, or share what they have."""
        left, right = node.items[at], node.items[at + 1]
        keys, items = left.keys + right.keys, left.items + right.items
        cut = len(items) if len(items) <= MOST * 3 // 4 else len(items) // 2
        parts = [Node(left.leaf, keys[:cut], items[:cut])]
        if cut < len(items):
            parts.append(Node(left.leaf, keys[cut:], items[cut:]))
        node.items[at : at + 2] = parts
        node.keys[at : at + 2] = [part.keys[0] for part in parts]

    def cut(self, key: Any) -> None:
        """All things up to and with this key are no more; O(log n), however many they are."""
        self._cut(self._root, key)
        self._lower_root()

    def _cut(self, node: Node, key: Any) -> None:
        self._work.nodes += 1
        node.summary = None
        if node.leaf:
            at = bisect_right(node.keys, key)
            del node.keys[:at], node.items[:at]
            node.size = len(node.items)
            return
        at = max(0, bisect_right(node.keys, key) - 1)
        self._cut(node.items[at], key)
        at += not node.items[at].items
        del node.keys[:at], node.items[:at]
        if node.items:
            node.keys[0] = node.items[0].keys[0]
        node.size = sum(child.size for child in node.items)

    def _lower_root(self) -> None:
        while not self._root.leaf and len(self._root.items) <= 1:
            self._root = self._root.items[0] if self._root.items else Node(True, [], [])

    def touch(self, key: Any) -> None:
        """The thing with this key has changed, though not its key; O(log n)."""
        node = self._root
        while True:
            self._work.nodes += 1
            node.summary = None
            if node.leaf:
                return
            node = node.items[max(0, bisect_right(node.keys, key) - 1)]

    # ---- look ----
    def floor(self, key: Any) -> T | None:
        """The last thing with a key of at most this one; O(log n)."""
        node = self._root
        while True:
            self._work.nodes += 1
            at = bisect_right(node.keys, key) - 1
            if at < 0:
                return None
            if node.leaf:
                found: T = node.items[at]
                return found
            node = node.items[at]

    def rank(self, key: Any) -> int:
        """How many things have smaller keys; O(log n)."""
        node, found = self._root, 0
        while not node.leaf:
            self._work.nodes += 1
            at = max(0, bisect_right(node.keys, key) - 1)
            found += sum(child.size for child in node.items[:at])
            node = node.items[at]
        self._work.nodes += 1
        return found + bisect_left(node.keys, key)

    def at(self, rank: int) -> T:
        """The thing that so many have smaller keys than; O(log n)."""
        node = self._root
        while not node.leaf:
            self._work.nodes += 1
            for child in node.items:
                if rank < child.size:
                    break
                rank -= child.size
            node = child
        found: T = node.items[rank]
        return found

    # ---- sums ----
    def fold(self, first: Any, last: Any) -> Any:
        """The summary of all things from key `first` to key `last`; O(log n). None if there are none."""
        return self._fold(self._root, first, last)

    def _fold(self, node: Node, first: Any, last: Any) -> Any:
        if first is None and last is None:
            return self.summary(node)
        self._work.nodes += 1
        assert self._measure is not None
        assert self._combine is not None
        lo, hi = self._range(node, first, last)
        total = None
        for at in range(lo, hi):
            item = node.items[at]
            if node.leaf:
                part = self._measure(item)
            else:
                part = self._fold(item, first if at == lo else None, last if at == hi - 1 else None)
            if part is not None:
                total = part if total is None else self._combine(total, part)
        return total

    def _range(self, node: Node, first: Any, last: Any) -> tuple[int, int]:
        """Which of a node's items may lie from `first` to `last`."""
        if node.leaf:
            lo = 0 if first is None else bisect_left(node.keys, first)
        else:
            lo = 0 if first is None else max(0, bisect_right(node.keys, first) - 1)
        return lo, len(node.keys) if last is None else bisect_right(node.keys, last)

    def summary(self, node: Node) -> Any:
        """That of all below a node; O(1), unless something there has changed."""
        if node.summary is None and node.items:
            self._work.nodes += 1
            assert self._measure is not None
            assert self._combine is not None
            parts = map(self._measure if node.leaf else self.summary, node.items)
            total = next(parts)
            for part in parts:
                total = self._combine(total, part)
            node.summary = total
        return node.summary

    def walk(self, first: Any, last: Any, state: Any, leap: Callable[[Any, Any], Any], step: Walk) -> tuple[Any, Any]:
        """From key `first` to key `last` with a state: leap over subtrees while that is possible, else step.

        ``leap(state, summary)`` gives the state after all of a subtree, None if it has to be looked into;
        ``step(state, thing)`` gives the state after the thing, and whether to stop there. Returns the state and the
        thing that it stopped at, None if there was none. O(log n) if leaps succeed.
        """
        return self._walk(self._root, first, last, state, leap, step)

    def _walk(self, node: Node, first: Any, last: Any, state: Any, leap: Any, step: Walk) -> tuple[Any, Any]:
        self._work.nodes += 1
        if first is None and last is None and node.items:
            after = leap(state, self.summary(node))
            if after is not None:
                return after, None
        lo, hi = self._range(node, first, last)
        for at in range(lo, hi):
            item = node.items[at]
            if node.leaf:
                state, stops = step(state, item)
                found = item if stops else None
            else:
                ends = (first if at == lo else None, last if at == hi - 1 else None)
                state, found = self._walk(item, *ends, state, leap, step)
            if found is not None:
                return state, found
        return state, None

    # ---- check ----
    def check(self) -> None:
        """Raise `AssertionError` if an invariant does not hold; O(n)."""
        depths: set[int] = set()
        self._check(self._root, 0, depths)
        assert len(depths) <= 1, "leaves at different depths"
        keys = [item.key for item in self]
        assert keys == sorted(set(keys)), "keys out of order"

    def _check(self, node: Node, depth: int, depths: set[int]) -> None:
        assert len(node.keys) == len(node.items) <= MOST
        if node.leaf:
            depths.add(depth)
            assert node.size == len(node.items)
            assert node.keys == [item.key for item in node.items]
            return
        assert node.items, "an inner node without children"
        assert node.size == sum(child.size for child in node.items)
        for key, child in zip(node.keys, node.items, strict=True):
            assert child.items, "an empty child"
            assert key == child.keys[0]
            self._check(child, depth + 1, depths)
