"""Which events a buffer may let go: whole closed frames from the oldest on, and events between them.

O(log n) in the tree. In a buffer that reports final frames, those that were not reported yet stay.
"""

from __future__ import annotations

from typing import Any

from slidewise.frames.lane import Lane
from slidewise.frames.live import Event, Key, LiveFrame
from slidewise.frames.options import Options


def to_evict(lane: Lane, options: Options, newest: Any, mark: Any, final: Key | None) -> Event | None:
    """The last event to let go; None if all stay."""
    if options.evict_after is not None:
        return _by_number(lane, options, final)
    if options.evict_age is not None:
        if newest is None:
            return None
        return _up_to(lane, options, newest - options.evict_age, final, closer=False)
    if options.evict_watermark and mark is not None:
        return _up_to(lane, options, mark, final, closer=True)
    return None


def _by_number(lane: Lane, options: Options, final: Key | None) -> Event | None:
    """After X closed frames the oldest Y of them."""
    assert options.evict_after is not None
    number, first, last = lane.ends()
    if first is None or last is None:
        return None
    gone = 1 if first.last is None else 0
    closed = number - gone - (0 if last.closed else 1)
    if closed < options.evict_after[0]:
        return None
    after, many = options.evict_after
    rounds = (closed - after) // many + 1  # as if it had been asked after every frame that closed
    frame: LiveFrame = lane.nth(gone + rounds * many - 1)
    if options.report == "final" and (final is None or frame.key > final):
        return None
    return frame.last


def _up_to(lane: Lane, options: Options, limit: Any, final: Key | None, *, closer: bool) -> Event | None:
    """All that is before `limit` (by the event that closed it: up to it), without the frame that reaches beyond."""
    last = lane.floor((limit, -1) if not closer else (limit, 2**63))
    if last is None:
        return None
    frame = lane.frame_at(last.key)
    while frame is not None and frame.last is not None and not _is_over(frame, last, options, limit, final, closer):
        last = lane.before(frame)
        if last is None:
            return None
        frame = lane.frame_at(last.key)
    if frame is not None and frame.last is None and not frame.closed:
        return None
    return last


def _is_over(frame: LiveFrame, last: Event, options: Options, limit: Any, final: Key | None, closer: bool) -> bool:
    assert frame.last is not None
    if options.report == "final" and (final is None or frame.key > final):
        return False
    if not frame.closed or frame.last.key > last.key:
        return False
    return not closer or (frame.closer is not None and bool(frame.closer.key[0] <= limit))
