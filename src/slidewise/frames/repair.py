"""Repair: an event that came late, went or was corrected, and the frames that this moves.

    old run   [1 2 0|1 1|2 0|2 1]
    insert    [1 2 ^2 0|1 1|2 0|2 1]
    new run    1 2|2 0 1|1 2 0|2 1      fold from the late event on; after each *old* event compare the two runs:
                         stop ──┘       their states are equal after the same event, so they agree for ever

Equal ends of frames are no reason to stop: with equal times, or state carried across frames, what follows may differ.
Where the runs agree in mid-frame, that frame begins where the new run says and ends where the old run said.

Cost: the events from the first change up to where the runs agree. Threshold, boundary and session frames agree at the
next old event; limits on aggregates may ripple to the end. Changes that come together, in order, are one pass.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from slidewise.frames.fold import ENDS, ENDS_WITH, OPENS
from slidewise.frames.live import Event, Key, LiveFrame

if TYPE_CHECKING:
    from slidewise.frames.lane import Lane


class Moved(NamedTuple):
    """A change: where, the event (one that is gone still knows who came before it), and by how many events."""

    key: Key
    event: Event
    net: int


def repair(lane: Lane, moved: list[Moved]) -> None:
    """Make frames and states right again after changes, which are in order of their keys."""
    k = 0
    while k < len(moved):
        k = _run(lane, moved, k)


def _run(lane: Lane, moved: list[Moved], k: int) -> int:
    """Fold from change number k on until the runs agree; returns the number of the first change beyond that."""
    cutter, frames = lane.cutter, lane.frames
    before = moved[k].event.prev
    event = lane.events.head if before is None else before.next
    state = lane.frontier.state if before is None else before.state
    assert state is not None
    frame = frames.floor((moved[k].key[0], moved[k].key[1] - 1))
    after = frames.head if frame is None else frame.next
    new = old = frame if state[0] else None
    end = None if old is None else (old.last, old.closer)
    last = frame  # the frame after which the next one is put
    size: int | None = None  # how many events the new run's frame has, if that is known
    net = since = 0  # by how many events the old run's frames have grown, and had when the new run's frame began
    if new is not None:
        size = new.count if new.last is before else None
        lane.touched(new)
    while event is not None:
        while k < len(moved) and moved[k].key <= event.key:
            net += moved[k].net
            k += 1
        was = event.state
        state, action = cutter.step(state, event)
        event.state = state
        if action & ENDS:
            assert new is not None
            new.ends(event.prev, event)
            new.count, size = size, None
        while after is not None and after.key <= event.key:
            old, end, following = after, (after.last, after.closer), after.next
            if after.key < event.key or not action & OPENS:
                frames.drop(after)
                lane.gone(after)
            after = following
        if action & OPENS:
            if old is not None and old.key == event.key:
                new, new.fragment, since = old, state[4], net
            else:
                new = LiveFrame(event, state[4])
                frames.add(new, last)
            last, size = new, 0
            lane.touched(new)
        if size is not None:
            size += 1
        if action & ENDS_WITH:
            assert new is not None
            new.ends(event, event)
            new.count, size = size, None
        if was is not None and cutter.same(was, state):
            lane.work.realigned += 1
            if state[0]:
                assert new is not None
                assert end is not None
                new.count = new.count + net - since if new is old and new.count is not None else None
                new.ends(*end)
            return k
        event = event.next
    lane.work.ran_out += 1
    while after is not None:
        frames.drop(after)
        lane.gone(after)
        after = after.next
    if state[0]:
        assert new is not None
        new.ends(lane.events.tail, None)
        new.count = size
    return len(moved)


def is_straight(lane: Lane, frames: list[LiveFrame]) -> bool:
    """True if frames are those of a fold from the frontier on; for `check`, O(n)."""
    found: list[tuple[Key, Key | None, bool, int]] = []
    state, current = lane.frontier.state, None
    if state[0]:
        stub = frames[0]
        current = (stub.key, stub.fragment)
    previous: Key | None = None
    for event in lane.listed():
        state, action = lane.cutter.step(state, event)
        if action & ENDS:
            assert current is not None
            found.append((current[0], previous, True, current[1]))
            current = None
        if action & OPENS:
            current = (event.key, state[4])
        if action & ENDS_WITH:
            assert current is not None
            found.append((current[0], event.key, True, current[1]))
            current = None
        previous = event.key
    if current is not None:
        found.append((current[0], previous, False, current[1]))
    mine = [(one.key, None if one.last is None else one.last.key, one.closed, one.fragment) for one in frames]
    numbered = lane.cutter.kind.fragments
    cut = 4 if numbered else 3
    return [one[:cut] for one in found] == [one[:cut] for one in mine]
