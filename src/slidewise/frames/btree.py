"""A B+-tree of things that have a key: places, neighbours and ranks in O(log n), sums of any stretch in O(log n).

                   [ · · ]               inner nodes: the first key of each child
                  /       \\
           [ · · · ]      [ · · ]        size and summary of all that is below
            /  |  \\        /  \\
          ▪▪▪ ▪▪▪▪ ▪▪    ▪▪▪▪ ▪▪▪        leaves of up to 32 things

Invariant: keys rise from left to right, all leaves are equally deep, a node that is not on the left or right edge is
at least a quarter full. Summaries, of which there may be several kinds, are made when they are asked for: a change
forgets those above it, except that one at the end is combined into them.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from slidewise.frames.work import Work

MOST = 32


class Keyed(Protocol):
    """What a tree can hold."""

    key: Any


T = TypeVar("T", bound=Keyed)
Walk = Callable[[Any, Any], tuple[Any, bool]]


class Summary(NamedTuple):
    """One kind of summary: of one thing, and of two stretches, older and newer."""

    measure: Callable[[Any], Any]
    combine: Callable[[Any, Any], Any]


class Node:
    """A leaf holds things and their keys, an inner node children and their first keys."""

    __slots__ = ("items", "keys", "leaf", "size", "sums")

    def __init__(self, leaf: bool, keys: list[Any], items: list[Any], kinds: int) -> None:
        self.leaf = leaf
        self.keys = keys
        self.items = items
        self.size = len(items) if leaf else sum(child.size for child in items)
        self.sums: list[Any] = [None] * kinds
        """The summary of each kind; None if it was not asked for since something changed."""


class Tree(Generic[T]):
    """Things in order of their keys, which differ, with summaries of some kinds."""

    def __init__(self, work: Work, *kinds: Summary) -> None:
        self._work = work
        self._kinds = kinds
        self._root = self._node(True, [], [])

    def _node(self, leaf: bool, keys: list[Any], items: list[Any]) -> Node:
        return Node(leaf, keys, items, len(self._kinds))

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
        right = self._insert(self._root, item, at_end)
        if right is not None:
            left = self._root
            self._root = self._node(False, [left.keys[0], right.keys[0]], [left, right])

    def _last_key(self) -> Any:
        node = self._root
        while not node.leaf:
            node = node.items[-1]
        return node.keys[-1] if node.keys else None

    def _insert(self, node: Node, item: T, at_end: bool) -> Node | None:
        self._work.nodes += 1
        node.size += 1
        for k, (total, kind) in enumerate(zip(node.sums, self._kinds, strict=True)):
            if total is not None:
                node.sums[k] = kind.combine(total, kind.measure(item)) if at_end else None
        if node.leaf:
            at = len(node.keys) if at_end else bisect_left(node.keys, item.key)
            node.keys.insert(at, item.key)
            node.items.insert(at, item)
        else:
            at = max(0, bisect_right(node.keys, item.key) - 1)
            if item.key < node.keys[at]:
                node.keys[at] = item.key
            right = self._insert(node.items[at], item, at_end)
            if right is not None:
                node.keys.insert(at + 1, right.keys[0])
                node.items.insert(at + 1, right)
        if len(node.items) <= MOST:
            return None
        cut = len(node.items) - 2 if at_end else len(node.items) // 2  # what comes in order fills its nodes
        right = self._node(node.leaf, node.keys[cut:], node.items[cut:])
        del node.keys[cut:], node.items[cut:]
        node.size -= right.size
        self._forget(node)
        return right

    def _forget(self, node: Node) -> None:
        for k in range(len(self._kinds)):
            node.sums[k] = None

    def remove(self, key: Any) -> None:
        """The thing with this key is no more; O(log n)."""
        self._remove(self._root, key)
        self._lower_root()

    def _remove(self, node: Node, key: Any) -> None:
        self._work.nodes += 1
        node.size -= 1
        self._forget(node)
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
        parts = [self._node(left.leaf, keys[:cut], items[:cut])]
        if cut < len(items):
            parts.append(self._node(left.leaf, keys[cut:], items[cut:]))
        node.items[at : at + 2] = parts
        node.keys[at : at + 2] = [part.keys[0] for part in parts]

    def cut(self, key: Any) -> None:
        """All things up to and with this key are no more; O(log n), however many they are."""
        self._cut(self._root, key)
        self._lower_root()

    def _cut(self, node: Node, key: Any) -> None:
        self._work.nodes += 1
        self._forget(node)
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
            self._root = self._root.items[0] if self._root.items else self._node(True, [], [])

    def touch(self, key: Any) -> None:
        """The thing with this key has changed, though not its key; O(log n)."""
        node = self._root
        while True:
            self._work.nodes += 1
            self._forget(node)
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
    def fold(self, k: int, first: Any, last: Any) -> Any:
        """Summary number k of all things from key `first` to key `last`; O(log n). None if there are none."""
        return self._fold(self._root, k, first, last)

    def _fold(self, node: Node, k: int, first: Any, last: Any) -> Any:
        if first is None and last is None:
            return self._summary(node, k)
        self._work.nodes += 1
        measure, combine = self._kinds[k]
        lo, hi = self._range(node, first, last)
        total = None
        for at in range(lo, hi):
            item = node.items[at]
            if node.leaf:
                part = measure(item)
            else:
                part = self._fold(item, k, first if at == lo else None, last if at == hi - 1 else None)
            if part is not None:
                total = part if total is None else combine(total, part)
        return total

    def _range(self, node: Node, first: Any, last: Any) -> tuple[int, int]:
        """Which of a node's items may lie from `first` to `last`."""
        if node.leaf:
            lo = 0 if first is None else bisect_left(node.keys, first)
        else:
            lo = 0 if first is None else max(0, bisect_right(node.keys, first) - 1)
        return lo, len(node.keys) if last is None else bisect_right(node.keys, last)

    def _summary(self, node: Node, k: int) -> Any:
        """That of all below a node; O(1), unless something there has changed."""
        if node.sums[k] is None and node.items:
            self._work.nodes += 1
            measure, combine = self._kinds[k]
            total = None
            for item in node.items:
                part = measure(item) if node.leaf else self._summary(item, k)
                total = part if total is None else combine(total, part)
            node.sums[k] = total
        return node.sums[k]

    def walk(self, first: Any, last: Any, state: Any, leap: Callable[[Any, Any], Any], step: Walk) -> tuple[Any, Any]:
        """From key `first` to key `last` with a state: leap over subtrees while that is possible, else step.

        ``leap(state, summary)``, of the first kind, gives the state after all of a subtree, None if it has to be looked
        into; ``step(state, thing)`` gives the state after the thing, and whether to stop there. Returns the state and
        the thing that it stopped at, None if there was none. O(log n) if leaps succeed. Where a leaf has no summary,
        its things are stepped over, and it gets one if that would have served.
        """
        return self._walk(self._root, first, last, state, leap, step)

    def _walk(self, node: Node, first: Any, last: Any, state: Any, leap: Any, step: Walk) -> tuple[Any, Any]:
        self._work.nodes += 1
        all_of_it = first is None and last is None
        if all_of_it and not (node.leaf and node.sums[0] is None):
            after = leap(state, self._summary(node, 0))
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
        if all_of_it and node.leaf:
            self._summary(node, 0)
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
