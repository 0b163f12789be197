"""What a buffer keeps: events in order, the frames over them, and the frontier behind which all was evicted.

    frontier ┊ [frame][frame][frame · open     events that are not in the frames yet: pending
             ┊  ▪▪▪▪▪  ▪▪▪▪   ▪▪▪▪▪▪ ▪▪        they are, after `settle`

A frame that the frontier cuts off from what may still join it (the event that closed it may go, or another come before
it) is kept as its `Head`: its count and its partials. So what follows is exact, and no event of it is needed.

`Lane` is the face of all three buffers; here with linked lists, as multi.py and tree.py have them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from slidewise.frames.cutter import Cutter
from slidewise.frames.feed import Feeds
from slidewise.frames.links import Events, Frames, between
from slidewise.frames.live import Event, Frontier, Head, Key, LiveFrame, Partials, State
from slidewise.frames.repair import Moved, is_straight, repair
from slidewise.frames.work import Work


class Lane:
    """Events and frames as linked lists."""

    def __init__(self, cutter: Cutter, feeds: Feeds, work: Work) -> None:
        self.cutter = cutter
        self.feeds = feeds
        self.work = work
        self.frontier = Frontier(None, cutter.initial)
        self.events, self.frames = self.lists()
        self.pending: list[Event] = []
        self.dirty: dict[Key, LiveFrame | None] = {}
        """Frames that changed since the last report, None for those that are no more."""

    def lists(self) -> tuple[Events, Frames]:
        """Empty ones."""
        return Events(self.work), Frames(self.work)

    def __len__(self) -> int:
        return self.events.size

    # ---- change ----
    def put(self, event: Event) -> None:
        """Add an event; frames follow with `settle`."""
        frame = self.frames.floor(event.key)
        following = self.frames.head if frame is None else frame.next
        since = None if following is None or following.first is None else following.first.prev
        if following is not None and following.first is not None and since is None:
            self.events.add(event, following.first)
        else:
            self.events.add(event, since)
        self.pending.append(event)

    def settle(self) -> None:
        """Have frames say what events say: all that is pending, sorted, in one pass."""
        if not self.pending:
            return
        moved = [Moved(event.key, event, 1) for event in sorted(self.pending, key=lambda event: event.key)]
        self.repaired(moved)
        self.pending.clear()

    def take(self, event: Event) -> None:
        """An event is no more."""
        self.events.drop(event)
        self.repaired([Moved(event.key, event, -1)])

    def amend(self, event: Event) -> None:
        """An event has another value."""
        self.events.touch(event)
        self.repaired([Moved(event.key, event, 0)])

    def repaired(self, moved: list[Moved]) -> None:
        """Make frames right after these changes."""
        repair(self, moved)

    def back_out(self) -> None:
        """Forget what is pending; `rebuild` comes next. A function of the user's raised halfway."""
        for event in self.pending:
            self.events.drop(event)
        self.pending.clear()

    def restore(self, event: Event) -> None:
        """An event is there after all; `rebuild` comes next."""
        self.events.add(event)

    def touch(self, event: Event) -> None:
        """An event has another value; `rebuild` comes next."""
        self.events.touch(event)

    def rebuild(self, cutter: Cutter) -> None:
        """Fold all of it anew."""
        if cutter is not self.cutter:
            self.frontier = replace(self.frontier, state=(*self.frontier.state[:6], cutter.code.initial))
            self.cutter = cutter
        for frame in self.frames:
            self.gone(frame)
        stub = self.frames.head if self.frontier.state[0] else None
        self.frames.clear()
        if stub is not None:
            stub.ends(None, None)
            stub.count = None
            self.frames.add(stub, None)
            self.touched(stub)
        for event in self.events:
            event.state = None
        self.pending.clear()
        if self.events.head is not None:
            self.repaired([Moved(self.events.head.key, self.events.head, 0)])

    def touched(self, frame: LiveFrame) -> None:
        """A frame is new, or not what it was."""
        self.dirty[frame.key] = frame

    def gone(self, frame: LiveFrame) -> None:
        """A frame is no more."""
        self.dirty[frame.key] = None

    # ---- look ----
    def listed(self) -> Iterable[Event]:
        """All events, oldest first."""
        return self.events

    def floor(self, key: Key) -> Event | None:
        """The last event up to `key`."""
        return self.events.floor(key)

    def oldest(self) -> Event | None:
        """The first event that is kept."""
        return self.events.head

    def newest(self) -> Event | None:
        """The last event in order."""
        return self.events.tail

    def before(self, frame: LiveFrame) -> Event | None:
        """The event before a frame's first."""
        return None if frame.first is None else frame.first.prev

    def frame_at(self, key: Key) -> LiveFrame | None:
        """The last frame that starts at `key` or before; it may end before `key`."""
        return self.frames.floor(key)

    def after(self, frame: LiveFrame) -> LiveFrame | None:
        """The frame after one."""
        return frame.next

    def nth(self, rank: int) -> LiveFrame:
        """The frame that so many start before."""
        return self.frames.at(rank)

    def all_frames(self) -> Iterable[LiveFrame]:
        """All of them, oldest first; the first may have lost its events."""
        return self.frames

    def ends(self) -> tuple[int, LiveFrame | None, LiveFrame | None]:
        """How many frames there are, the first and the last."""
        return self.frames.size, self.frames.head, self.frames.tail

    def content(self, frame: LiveFrame) -> Iterator[Event]:
        """The events of a frame that are kept; O(1) to begin, by its pointers."""
        if frame.last is None:
            return
        for event in between(self.events.head if frame.first is None else frame.first, frame.last):
            self.work.events += 1
            yield event

    def count(self, frame: LiveFrame) -> int:
        """How many events a frame has, evicted ones too."""
        if frame.count is None:
            frame.count = self.counted(frame)
        return frame.count + (0 if frame.head is None else frame.head.count)

    def counted(self, frame: LiveFrame) -> int:
        """Count the events of a frame that are kept; O(its size)."""
        return sum(1 for _ in self.content(frame))

    def partials(self, frame: LiveFrame) -> Partials:
        """The aggregates of a frame, evicted events too."""
        own = self.folded(frame)
        return own if frame.head is None else self.feeds.combine(frame.head.partials, own)

    def folded(self, frame: LiveFrame) -> Partials:
        """The aggregates of a frame's events that are kept; O(its size)."""
        return self.feeds.fold(self.content(frame))

    # ---- evict ----
    def drop(self, last: Event) -> list[Key]:
        """All events up to `last` are evicted; returns the frames that nothing is known of any more."""
        state = self.state_after(last)
        frame = self.frames.floor(last.key)
        stub = frame if state[0] else None
        if stub is not None:
            stub.head = Head(self.count(stub), self.partials(stub))
            stub.first = stub.last = None
            stub.count = 0
        first = stub if stub is not None else frame.next if frame is not None else self.frames.head
        keys: list[Key] = []
        for one in self.frames:
            if one is first:
                break
            keys.append(one.key)
        self.frames.cut(first, len(keys))
        self.events.cut(last, self.up_to(last))
        self.frontier = Frontier(last.key, state, last.time)
        return keys

    def state_after(self, event: Event) -> State:
        """The fold's state after an event that is kept."""
        assert event.state is not None
        return event.state

    def up_to(self, event: Event) -> int:
        """How many events there are up to this one; O(that many)."""
        return sum(1 for _ in between(self.events.head, event))

    # ---- check ----
    def check(self) -> None:
        """Raise `AssertionError` if events are out of order or frames are not those of a fold; O(n)."""
        listed = list(self.listed())
        keys = [event.key for event in listed]
        assert keys == sorted(set(keys)), "events out of order"
        assert len(keys) == len(self)
        assert self.frontier.key is None or not keys or keys[0] > self.frontier.key, "events behind the frontier"
        frames = list(self.all_frames())
        if not self.pending:
            assert is_straight(self, frames), "frames are not those of a fold"
            for frame in frames:
                assert frame.count is None or frame.count == sum(1 for _ in self.content(frame)), "a wrong count"
        self.check_links(listed, frames)

    def check_links(self, listed: list[Event], frames: list[LiveFrame]) -> None:
        """Links go both ways."""
        for things, tail in ((listed, self.events.tail), (frames, self.frames.tail)):
            previous = None
            for thing in things:
                assert thing.prev is previous, "a broken link"
                previous = thing
            assert tail is previous
