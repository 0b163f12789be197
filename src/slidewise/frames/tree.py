"""The tree buffer, the default: the links of the multi buffer, and a tree over each of its two lists.

    frames    a B+-tree by start                    scope, evict   O(log w)
    events    a B+-tree by (time, seq), where every subtree knows the aggregates of its events and what they may do to
              an open frame                         add, content, results   O(log n)

Kinds that can leap (frames/leaps.py: delta, sums) keep no state per event. The next end of a frame is found by descent,
O(log n) however long it is; a repair folds whole frames so, from the start of the one that holds the change, and stops
at a start that both runs share: their states begin anew there, so they agree for ever. Other kinds keep the state after
each event and are repaired as in the multi buffer (frames/repair.py).
"""

from __future__ import annotations

from slidewise.frames.btree import Summary, Tree
from slidewise.frames.cutter import Cutter
from slidewise.frames.feed import Feeds
from slidewise.frames.fold import ENDS, ENDS_WITH, OPENS
from slidewise.frames.lane import Lane
from slidewise.frames.leaps import Leap
from slidewise.frames.links import Events, Frames
from slidewise.frames.live import Event, Key, LiveFrame, Partials, State
from slidewise.frames.repair import Moved
from slidewise.frames.work import Work

NEAR = 12
"""So many events are stepped over before the tree is asked for the end of a frame."""


class EventTree(Events):
    """Linked events with a tree over them."""

    def __init__(self, work: Work, tree: Tree[Event]) -> None:
        super().__init__(work)
        self.tree = tree

    def floor(self, key: Key, since: Event | None = None) -> Event | None:
        """O(1) at the end, else O(log n)."""
        self.work.comparisons += 1
        return self.tail if self.tail is None or self.tail.key <= key else self.tree.floor(key)

    def add(self, event: Event, since: Event | None = None) -> None:
        super().add(event)
        self.tree.insert(event)

    def drop(self, event: Event) -> None:
        super().drop(event)
        self.tree.remove(event.key)

    def touch(self, event: Event) -> None:
        self.tree.touch(event.key)

    def cut(self, last: Event, number: int) -> None:
        super().cut(last, number)
        self.tree.cut(last.key)


class FrameTree(Frames):
    """Linked frames with an index of their starts."""

    def __init__(self, work: Work) -> None:
        super().__init__(work)
        self.tree: Tree[LiveFrame] = Tree(work)

    def floor(self, key: Key) -> LiveFrame | None:
        """O(1) for the newest, else O(log w)."""
        self.work.frames += 1
        return self.tail if self.tail is None or self.tail.key <= key else self.tree.floor(key)

    def at(self, rank: int) -> LiveFrame:
        return self.tree.at(rank)

    def add(self, frame: LiveFrame, before: LiveFrame | None) -> None:
        super().add(frame, before)
        self.tree.insert(frame)

    def drop(self, frame: LiveFrame) -> None:
        super().drop(frame)
        self.tree.remove(frame.key)

    def cut(self, first: LiveFrame | None, number: int) -> None:
        super().cut(first, number)
        if first is None:
            self.tree = Tree(self.work)
        elif number:
            self.tree.cut((first.key[0], first.key[1] - 1))

    def clear(self) -> None:
        super().clear()
        self.tree = Tree(self.work)


class TreeLane(Lane):
    """Events and frames in trees; see the module's notes."""

    events: EventTree
    frames: FrameTree

    def __init__(self, cutter: Cutter, feeds: Feeds, work: Work, leap: Leap | None) -> None:
        self._leap = leap
        self._light = feeds.lighter()
        super().__init__(cutter, feeds, work)
        self._tail: Event | None = None
        self._after: State = cutter.initial
        """The state after the newest event that frames know of, where events keep none."""

    def lists(self) -> tuple[Events, Frames]:
        return EventTree(self.work, self._tree()), FrameTree(self.work)

    def _tree(self) -> Tree[Event]:
        results = Summary(self._light.measure, self._light.combine)
        return Tree(
            self.work, *([] if self._leap is None else [Summary(self._leap.measure, self._leap.combine)]), results
        )

    def put(self, event: Event) -> None:
        self.events.add(event)
        self.pending.append(event)

    def relearn(self, cutter: Cutter, leap: Leap | None) -> None:
        """Values are of another kind than was thought: nothing that was summed up holds."""
        self._leap = leap
        listed = list(self.events)
        self.events.tree = self._tree()
        for event in listed:
            self.events.tree.insert(event)
        self.rebuild(cutter)

    # ---- look ----
    def counted(self, frame: LiveFrame) -> int:
        """O(log n)."""
        first, tree = self._first(frame), self.events.tree
        if first is None or frame.last is None:
            return 0
        return 1 if first is frame.last else tree.rank(frame.last.key) - tree.rank(first.key) + 1

    def folded(self, frame: LiveFrame) -> Partials:
        """O(log n), and O(its size) for aggregates whose partials grow with the values."""
        first = self._first(frame)
        if first is None or frame.last is None:
            return self.feeds.empty
        light = self.events.tree.fold(0 if self._leap is None else 1, first.key, frame.last.key)
        if len(light) == len(self.feeds.feeds):
            return tuple(light)
        found = list(self.feeds.fold(self.content(frame)))
        for k, one in zip(self.feeds.light, light, strict=True):
            found[k] = one
        return tuple(found)

    def _first(self, frame: LiveFrame) -> Event | None:
        return self.events.head if frame.first is None else frame.first

    def up_to(self, event: Event) -> int:
        """O(log n)."""
        return self.events.tree.rank(event.key) + 1

    # ---- by descent ----
    def state_after(self, event: Event) -> State:
        """O(log n) where the kind leaps."""
        if self._leap is None:
            return super().state_after(event)
        if event is self._tail:
            return self._after
        frame = self.frames.floor(event.key)
        assert frame is not None, "a kind that leaps cuts the whole stream"
        first, state = self._seed(frame)
        assert first is not None
        while True:
            state, _, found = self._descend(first, event.key, state)
            if found is None or found.next is None or found is event:
                return state
            first = found.next

    def _seed(self, frame: LiveFrame | None) -> tuple[Event | None, State]:
        """The first event of a frame, and a state from which it opens that frame."""
        if frame is None or frame.first is None:
            return self.events.head, self.frontier.state
        return frame.first, self.cutter.fresh(frame.fragment)

    def _descend(self, first: Event, last: Key | None, state: State) -> tuple[State, int, Event | None]:
        """From an event on to the next one at which something happens: the state after it, what happened, and it.

        Along the links first, since many frames are short; then by descent.
        """
        action = 0
        event: Event | None = first
        for _ in range(NEAR):
            if event is None or (last is not None and event.key > last):
                return state, 0, None
            state, action = self.cutter.step(state, event)
            if action:
                return state, action, event
            event = event.next
        if event is None or (last is not None and event.key > last):
            return state, 0, None

        def step(state: State, event: Event) -> tuple[State, bool]:
            nonlocal action
            state, action = self.cutter.step(state, event)
            return state, action != 0

        assert self._leap is not None
        state, found = self.events.tree.walk(event.key, last, state, self._leap.leap, step)
        return state, action, found

    def repaired(self, moved: list[Moved]) -> None:
        if self._leap is None:
            super().repaired(moved)
            return
        k = 0
        while k < len(moved):
            k = self._run(moved, k)
        self._tail = self.events.tail

    def _run(self, moved: list[Moved], k: int) -> int:
        """Frame by frame from change number k on, until both runs begin a frame alike."""
        begun, frames = k, self.frames
        change = moved[k]
        frame = frames.floor((change.key[0], change.key[1] - 1))
        if change.net > 0 and change.event.prev is self._tail and self._tail is not None:
            event, state, after = change.event, self._after, None  # all that is new is at the end
        else:
            event, state = self._seed(frame)  # type: ignore[assignment]
            after = frames.head if frame is None else frame.next if frame.first is None else frame
        new, last = frame if state[0] else None, frame
        if frame is not None:
            self.touched(frame)
        while event is not None:
            state, action, found = self._descend(event, None, state)
            if found is None:
                break
            while k < len(moved) and moved[k].key <= found.key:
                k += 1
            if action & ENDS:
                assert new is not None
                new.ends(found.prev, found)
                new.count = None
            while after is not None and (after.key < found.key or (after.key == found.key and not action & OPENS)):
                after = self._dropped(after)
            if action & OPENS:
                if after is not None and after.key == found.key:
                    if k > begun and moved[k - 1].key < found.key and after.fragment == state[4]:
                        self.work.realigned += 1
                        return k
                    new, after = after, after.next
                    new.fragment = state[4]
                else:
                    new = LiveFrame(found, state[4])
                    frames.add(new, last)
                last = new
                new.count = None
                self.touched(new)
            if action & ENDS_WITH:
                assert new is not None
                new.ends(found, found)
                new.count = None
            event = found.next  # type: ignore[assignment]
        self.work.ran_out += 1
        while after is not None:
            after = self._dropped(after)
        if state[0]:
            assert new is not None
            new.ends(self.events.tail, None)
            new.count = None
        self._after = state
        return len(moved)

    def _dropped(self, frame: LiveFrame) -> LiveFrame | None:
        """Take a frame away; returns the one after it."""
        following = frame.next
        self.frames.drop(frame)
        self.gone(frame)
        return following

    def check_links(self, listed: list[Event], frames: list[LiveFrame]) -> None:
        super().check_links(listed, frames)
        self.events.tree.check()
        self.frames.tree.check()
        assert list(self.events.tree) == listed
        assert list(self.frames.tree) == frames
