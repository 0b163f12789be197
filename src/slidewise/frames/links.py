"""Events and frames as linked lists: the multi buffer's two, and the links that the tree buffer has besides its trees.

    frames    [w1]──────[w2]────[w3]        pointers to the first and the last event of each
               │  ╲      │ ╲     │ ╲
    events     ▪──▪──▪──▪──▪──▪──▪──▪

Walks begin at the newest end, where events come; each hop is counted.
"""

from __future__ import annotations

from collections.abc import Iterator

from slidewise.frames.live import Event, Key, LiveFrame
from slidewise.frames.work import Work


class Events:
    """Events in order of their keys; O(1) to add where the place is known, O(n) to find it from the end."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self.head: Event | None = None
        self.tail: Event | None = None
        self.size = 0

    def __iter__(self) -> Iterator[Event]:
        return between(self.head, None)

    def floor(self, key: Key, since: Event | None = None) -> Event | None:
        """The last event up to `key`, looked for from `since` or the end backwards."""
        event = self.tail if since is None else since
        while event is not None and event.key > key:
            self.work.events += 1
            self.work.comparisons += 1
            event = event.prev
        return event

    def add(self, event: Event, since: Event | None = None) -> None:
        """A new event at its place."""
        before = self.floor(event.key, since)
        after = self.head if before is None else before.next
        event.prev, event.next = before, after
        if before is None:
            self.head = event
        else:
            before.next = event
        if after is None:
            self.tail = event
        else:
            after.prev = event
        self.size += 1

    def drop(self, event: Event) -> None:
        """An event is no more; it keeps its own links, for whoever repairs what follows. O(1)."""
        if event.prev is None:
            self.head = event.next
        else:
            event.prev.next = event.next
        if event.next is None:
            self.tail = event.prev
        else:
            event.next.prev = event.prev
        self.size -= 1

    def touch(self, event: Event) -> None:
        """An event has another value. O(1)."""

    def cut(self, last: Event, number: int) -> None:
        """The oldest `number` events, up to `last`, are no more. O(1)."""
        self.head = last.next
        if self.head is None:
            self.tail = None
        else:
            self.head.prev = None
        last.next = None
        self.size -= number

    def clear(self) -> None:
        """None are left."""
        self.head = self.tail = None
        self.size = 0


class Frames:
    """Frames in order of their starts; O(1) to add or drop where the place is known, O(w) to find it."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self.head: LiveFrame | None = None
        self.tail: LiveFrame | None = None
        self.size = 0

    def __iter__(self) -> Iterator[LiveFrame]:
        frame = self.head
        while frame is not None:
            yield frame
            frame = frame.next

    def floor(self, key: Key) -> LiveFrame | None:
        """The last frame that starts at `key` or before; O(w)."""
        frame = self.tail
        while frame is not None:
            self.work.frames += 1
            if frame.key <= key:
                break
            frame = frame.prev
        return frame

    def get(self, key: Key) -> LiveFrame | None:
        """The frame that starts at `key`."""
        frame = self.floor(key)
        return frame if frame is not None and frame.key == key else None

    def at(self, rank: int) -> LiveFrame:
        """The frame that so many start before; O(w)."""
        frame = self.head
        for _ in range(rank):
            assert frame is not None
            self.work.frames += 1
            frame = frame.next
        assert frame is not None
        return frame

    def add(self, frame: LiveFrame, before: LiveFrame | None) -> None:
        """A new frame after `before`."""
        after = self.head if before is None else before.next
        frame.prev, frame.next = before, after
        if before is None:
            self.head = frame
        else:
            before.next = frame
        if after is None:
            self.tail = frame
        else:
            after.prev = frame
        self.size += 1
        self.work.splits += 1
        self.work.frames += 1

    def drop(self, frame: LiveFrame) -> None:
        """A frame is no more. O(1)."""
        if frame.prev is None:
            self.head = frame.next
        else:
            frame.prev.next = frame.next
        if frame.next is None:
            self.tail = frame.prev
        else:
            frame.next.prev = frame.prev
        self.size -= 1
        self.work.merges += 1
        self.work.frames += 1

    def cut(self, first: LiveFrame | None, number: int) -> None:
        """The oldest `number` frames, those before `first`, are no more. O(1)."""
        self.head = first
        if first is None:
            self.tail = None
        else:
            first.prev = None
        self.size -= number

    def clear(self) -> None:
        """None are left."""
        self.head = self.tail = None
        self.size = 0


def between(first: Event | None, last: Event | None) -> Iterator[Event]:
    """From one event to another, both included; to the end if `last` is None."""
    event = first
    while event is not None:
        yield event
        if event is last:
            return
        event = event.next
