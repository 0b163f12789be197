"""The single buffer: one circular array, and a fold of all of it at every scope. Algorithm 1 of the frames report.

    cells    [ ▪ ▪ ▪ . . . . ▪ ▪ ▪ ▪ ]      . are free; an event that finds none raises
                   tail      head

             in_order        eager                   lazy
    add      O(1)            O(n): shifts            O(1)
    scope    O(n): a fold    O(n)                    O(n log n): heap sort, then a fold
    content, evict           O(log n): binary search

Without `capacity` the array doubles when it is full.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, Literal

from slidewise.errors import BufferFull
from slidewise.frames.cutter import Cutter
from slidewise.frames.feed import Feeds
from slidewise.frames.fold import ENDS, ENDS_WITH, OPENS
from slidewise.frames.lane import Lane
from slidewise.frames.live import Event, Frontier, Head, Key, LiveFrame
from slidewise.frames.repair import Moved
from slidewise.frames.work import Work

Order = Literal["in_order", "eager", "lazy"]


class Single(Lane):
    """Events in a circular array, frames as the last scope found them."""

    def __init__(self, cutter: Cutter, feeds: Feeds, work: Work, order: Order, capacity: int | None) -> None:
        self.order = order
        self.capacity = capacity
        self._cells: list[Any] = [None] * (capacity or 16)
        self._head = 0
        self._size = 0
        self._sorted = True
        self._found: list[LiveFrame] = []
        self._starts: list[Key] = []
        super().__init__(cutter, feeds, work)

    def __len__(self) -> int:
        return self._size

    # ---- cells ----
    def _at(self, i: int) -> Event:
        event: Event = self._cells[(self._head + i) % len(self._cells)]
        return event

    def _set(self, i: int, event: Event | None) -> None:
        self._cells[(self._head + i) % len(self._cells)] = event

    def listed(self) -> Iterator[Event]:
        return (self._at(i) for i in range(self._size))

    def _search(self, key: Key) -> int:
        """How many events there are up to `key`; binary search."""
        self.sort()
        lo, hi = 0, self._size
        while lo < hi:
            middle = (lo + hi) // 2
            self.work.comparisons += 1
            if self._at(middle).key <= key:
                lo = middle + 1
            else:
                hi = middle
        return lo

    # ---- change ----
    def put(self, event: Event) -> None:
        if self._size == len(self._cells):
            self._grow()
        at = self._size
        if self.order == "eager":
            while at and self._at(at - 1).key > event.key:
                self.work.comparisons += 1
                self.work.shifts += 1
                self._set(at, self._at(at - 1))
                at -= 1
        elif at and self._at(at - 1).key > event.key:
            self._sorted = False
        self._set(at, event)
        self._size += 1
        self.pending.append(event)

    def _grow(self) -> None:
        if self.capacity is not None:
            raise BufferFull(
                f"capacity={self.capacity}: all cells hold live events; expected more of them, or an `evict=` that "
                "frees them in time"
            )
        self._cells = [*self.listed(), *[None] * self._size]
        self._head = 0

    def take(self, event: Event) -> None:
        self._remove(event)
        self.repaired([Moved(event.key, event, -1)])

    def _remove(self, event: Event) -> None:
        for i in range(self._search(event.key), self._size):
            self.work.shifts += 1
            self._set(i - 1, self._at(i))
        self._size -= 1
        self._set(self._size, None)

    def back_out(self) -> None:
        for event in self.pending:
            self._remove(event)
        self.pending.clear()

    def restore(self, event: Event) -> None:
        self.put(event)
        self.pending.clear()

    def touch(self, event: Event) -> None:
        return

    def amend(self, event: Event) -> None:
        self.repaired([Moved(event.key, event, 0)])

    def rebuild(self, cutter: Cutter) -> None:
        if cutter is not self.cutter:
            self.frontier = replace(self.frontier, state=(*self.frontier.state[:6], cutter.code.initial))
            self.cutter = cutter
        self.pending.clear()
        self.repaired([Moved(event.key, event, 0) for event in self.listed()])

    # ---- sort ----
    def sort(self) -> None:
        """Heap sort by (time, seq), in place, if an event came late since the last time; O(n log n)."""
        if self._sorted:
            return
        n = self._size
        for root in range(n // 2 - 1, -1, -1):
            self._sift(root, n)
        for end in range(n - 1, 0, -1):
            self._swap(0, end)
            self._sift(0, end)
        self._sorted = True

    def _sift(self, root: int, n: int) -> None:
        while (child := 2 * root + 1) < n:
            self.work.comparisons += 2
            if child + 1 < n and self._at(child + 1).key > self._at(child).key:
                child += 1
            if self._at(root).key >= self._at(child).key:
                return
            self._swap(root, child)
            root = child

    def _swap(self, i: int, j: int) -> None:
        self.work.shifts += 1
        one, other = self._at(i), self._at(j)
        self._set(i, other)
        self._set(j, one)

    # ---- scope ----
    def repaired(self, moved: list[Moved]) -> None:
        """Sort, fold all of it, and see which frames are not what they were."""
        self.sort()
        old = {frame.key: frame for frame in self._found}
        found = self._fold()
        self._found = found
        self._starts = [frame.key for frame in found]
        for frame in found:
            self.work.frames += 1
            was = old.pop(frame.key, None)
            if was is None or _shape(was) != _shape(frame):
                self.touched(frame)
        for frame in old.values():
            self.gone(frame)
        for one in moved:
            holder = self.frame_at(one.key)
            if holder is not None:
                self.touched(holder)

    def _fold(self) -> list[LiveFrame]:
        found: list[LiveFrame] = []
        state, current = self.frontier.state, None
        if state[0]:
            current = _copied(self._found[0])
            found.append(current)
        previous: Event | None = None
        for event in self.listed():
            state, action = self.cutter.step(state, event)
            event.state = state
            if action & ENDS:
                assert current is not None
                current.ends(previous, event)
            if action & OPENS:
                current = LiveFrame(event, state[4])
                current.count = 0
                found.append(current)
            if state[0] or action & ENDS_WITH:
                assert current is not None
                assert current.count is not None
                current.count += 1
            if action & ENDS_WITH:
                assert current is not None
                current.ends(event, event)
            previous = event
        if state[0]:
            assert current is not None
            current.ends(previous, None)
        return found

    # ---- look ----
    def floor(self, key: Key) -> Event | None:
        at = self._search(key)
        return self._at(at - 1) if at else None

    def oldest(self) -> Event | None:
        self.sort()
        return self._at(0) if self._size else None

    def newest(self) -> Event | None:
        self.sort()
        return self._at(self._size - 1) if self._size else None

    def before(self, frame: LiveFrame) -> Event | None:
        at = self._search(frame.key) - 1
        return self._at(at - 1) if at > 0 else None

    def frame_at(self, key: Key) -> LiveFrame | None:
        at = bisect_right(self._starts, key)
        return self._found[at - 1] if at else None

    def after(self, frame: LiveFrame) -> LiveFrame | None:
        at = bisect_right(self._starts, frame.key)
        return self._found[at] if at < len(self._found) else None

    def nth(self, rank: int) -> LiveFrame:
        return self._found[rank]

    def all_frames(self) -> Iterable[LiveFrame]:
        return self._found

    def ends(self) -> tuple[int, LiveFrame | None, LiveFrame | None]:
        return len(self._found), *((self._found[0], self._found[-1]) if self._found else (None, None))

    def content(self, frame: LiveFrame) -> Iterator[Event]:
        """By binary search for its first event, then as many cells as it has events."""
        first = 0 if frame.first is None else self._search(frame.first.key) - 1
        assert frame.count is not None
        for i in range(first, first + frame.count):
            self.work.events += 1
            yield self._at(i)

    # ---- evict ----
    def drop(self, last: Event) -> list[Key]:
        state = self.state_after(last)
        number = self._search(last.key)
        kept = bisect_right(self._starts, last.key)
        if state[0]:
            kept -= 1
            stub = self._found[kept]
            stub.head = Head(self.count(stub), self.partials(stub))
            stub.first = stub.last = None
            stub.count = 0
        keys = self._starts[:kept]
        del self._found[:kept], self._starts[:kept]
        for i in range(number):
            self._set(i, None)
        self._head = (self._head + number) % len(self._cells)
        self._size -= number
        self.frontier = Frontier(last.key, state, last.time)
        return keys

    def up_to(self, event: Event) -> int:
        return self._search(event.key)

    def check(self) -> None:
        self.sort()
        super().check()

    def check_links(self, listed: list[Event], frames: list[LiveFrame]) -> None:
        assert self._size <= len(self._cells)
        assert sum(cell is not None for cell in self._cells) == self._size, "a live cell was overwritten"
        assert self._starts == [frame.key for frame in frames]


def _shape(frame: LiveFrame) -> tuple[Any, ...]:
    return None if frame.last is None else frame.last.key, frame.count, frame.closed, frame.fragment


def _copied(stub: LiveFrame) -> LiveFrame:
    """A frame that the frontier cut off, as it was then."""
    made = LiveFrame.__new__(LiveFrame)
    made.key, made.start, made.fragment, made.head = stub.key, stub.start, stub.fragment, stub.head
    made.first = made.last = None
    made.count, made.closed, made.closer = 0, False, None
    made.prev = made.next = None
    return made
