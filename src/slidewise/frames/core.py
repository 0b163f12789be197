"""What is under a `Buffer`: its lane and what the first events decide of it, late events, and the rows it tells."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from slidewise.errors import ArgumentError, LateEventError, SlidewiseError, shown
from slidewise.frames.changelog import Changelog
from slidewise.frames.cutter import Cutter
from slidewise.frames.door import Door
from slidewise.frames.evict import to_evict
from slidewise.frames.feed import Feeds
from slidewise.frames.kind import Frame, Silence
from slidewise.frames.lane import Lane
from slidewise.frames.leaps import leap_of
from slidewise.frames.live import Event, FrameChange, FrameRow, Key, LateEvent, LiveFrame
from slidewise.frames.multi import Multi
from slidewise.frames.options import Options
from slidewise.frames.single import Single
from slidewise.frames.tree import TreeLane
from slidewise.frames.work import Work
from slidewise.kernels.ops import Ops


class Core:
    """All of a buffer but its face; each method's cost is that of the lane's."""

    def __init__(self, kind: Frame, options: Options, feeds: Feeds, value_kind: object) -> None:
        self.kind = kind
        self.options = options
        self.work = Work()
        """What it has done so far, counted."""
        self.late: list[LateEvent] = []
        """Events that came too late to be repaired, where `late="keep"`; clear it as you like."""
        self.late_count = 0
        """How many of those there were."""
        self.watermark: Any = None
        """How far `advance` has come."""
        self._feeds = feeds
        self._door = Door(kind, self._feeds, self.options.axis, value_kind)
        self._log = Changelog()
        self._lane: Lane | None = None
        self._seq = 0
        self._since_tick = 0
        self._ticked_at: Any = None
        self._newest: Any = None
        self._mark: Any = None
        self._final: Key | None = None
        self._broken = ""

    def _settled(self) -> Lane | None:
        """The lane, with all events in its frames."""
        self._check_whole()
        lane = self._lane
        if lane is not None and lane.pending:
            self._attempt(lane.settle)
        return lane

    def _attempt(self, change: Callable[[], None]) -> None:
        try:
            change()
        except Exception:
            assert self._lane is not None
            self._recover(self._lane.back_out)
            raise

    def _recover(self, undo: Callable[[], None]) -> None:
        """A function of the user's raised halfway: be as before, or say that this cannot be."""
        assert self._lane is not None
        try:
            undo()
            self._lane.rebuild(self._lane.cutter)
        except Exception as error:
            self._broken = f"{type(error).__name__}: {error}"

    def _check_whole(self) -> None:
        if self._broken:
            raise SlidewiseError(f"this buffer is of no more use: a function of {self.kind!r} raised {self._broken}")

    def _start(self, value: Any, time: Any, at: Any) -> None:
        """What the first event, and the first value, decide."""
        self._door.meet(time, at)
        if self._door.decides(value):
            self._decide(value)
        if self._lane is None:
            self._lane = self._make_lane()

    def _decide(self, value: Any) -> None:
        provisional = self._lane is not None and self._door.total is not None and not self._door.total.any_kind
        self._door.decide(value)
        lane = self._lane
        if lane is None:
            return
        if isinstance(lane, TreeLane):
            cutter = self._cutter()
            lane.relearn(cutter, leap_of(cutter, self._door.total))
        elif provisional:
            lane.rebuild(self._cutter())

    def _cutter(self) -> Cutter:
        total: Ops | None = None
        if self._door.total is not None:
            if self._door.value_kind is None and not self._door.total.any_kind:
                self._door.total.settle("float")  # nulls only, so far: of what kind the limit is does not matter yet
            total = self._door.total.ops
        return Cutter(self.kind, self.work, total, floats=bool(self._door.floats))

    def _make_lane(self) -> Lane:
        cutter = self._cutter()
        if self.options.buffer == "single":
            return Single(cutter, self._feeds, self.work, self.options.order, self.options.capacity)
        if self.options.buffer == "multi":
            return Multi(cutter, self._feeds, self.work)
        return TreeLane(cutter, self._feeds, self.work, leap_of(cutter, self._door.total))

    # ---- late ----
    def _is_late(self, key: Key) -> bool:
        if self.options.report == "final" and self._mark is not None and key[0] <= self._mark:
            return True
        frontier = None if self._lane is None else self._lane.frontier.key
        return frontier is not None and key <= frontier

    def _out_of_order(self, at: Any) -> bool:
        return (
            self.options.buffer == "single"
            and self.options.order == "in_order"
            and (self._newest is not None and at < self._newest)
        )

    def _too_late(self, event: LateEvent) -> None:
        self.late_count += 1
        if self.options.late == "error":
            raise LateEventError(f"time={shown(event.time)}: its place in the frames was evicted or is final already")
        if self.options.late == "keep":
            self.late.append(event)

    def _event(self, op: Literal["remove", "correct"], time: Any, seq: int, value: Any) -> tuple[Lane, Event | None]:
        """An event that is there; None if that was too long ago."""
        seq = seq.item() if isinstance(seq, np.integer) else seq
        key = (self._door.place(time), seq)
        lane = self._settled()
        if isinstance(seq, int) and self._is_late(key) and 0 <= seq < self._seq:
            self._too_late(LateEvent(op, time, seq, value))
            return lane, None  # type: ignore[return-value]
        event = None if lane is None or not isinstance(seq, int) else lane.floor(key)
        if lane is None or event is None or event.key != key:
            raise ArgumentError(f"time={shown(time)}, seq={shown(seq)}: expected an event that is in the buffer")
        return lane, event

    # ---- rows ----
    def _frame(self, lane: Lane, key: tuple[Any, int]) -> LiveFrame | None:
        place = (self._door.place(key[0]), key[1])
        found = lane.frame_at(place)
        return found if found is not None and found.key == place else None

    def _row(self, lane: Lane, frame: LiveFrame) -> FrameRow | None:
        """A frame for the reader; None if it is too short to be reported."""
        kind, count = self.kind, lane.count(frame)
        if count < kind.min_count:
            return None
        last = frame.last.key[0] if frame.last is not None else self._frontier_at(lane)
        if kind.min_duration is not None and last - frame.key[0] < kind.min_duration:
            return None
        end = frame.last.time if frame.last is not None else lane.frontier.time
        results = self._feeds.answers(lane.partials(frame))
        return FrameRow((frame.start, frame.key[1]), frame.start, end, count, results, frame.closed, frame.fragment)

    def _frontier_at(self, lane: Lane) -> Any:
        assert lane.frontier.key is not None
        return lane.frontier.key[0]

    def _finals(self, lane: Lane) -> list[FrameChange]:
        """Frames that the watermark has passed, in order, each once."""
        changes: list[FrameChange] = []
        if self._mark is None:
            return changes
        frame = self._after_final(lane)
        while frame is not None and self._is_final(frame):
            row = self._row(lane, frame)
            if row is not None:
                changes += Changelog().tell(frame.key, row._replace(closed=True))
            self._final = frame.key
            frame = self._after_final(lane)
        return changes

    def _after_final(self, lane: Lane) -> LiveFrame | None:
        _, first, _ = lane.ends()
        if self._final is None or first is None:
            return first
        at = lane.frame_at(self._final)
        return first if at is None else lane.after(at)

    def _is_final(self, frame: LiveFrame) -> bool:
        if frame.closer is not None:
            return bool(frame.closer.key[0] <= self._mark)
        quiet = isinstance(self.kind, Silence) and frame.last is not None
        return quiet and bool(self._mark - frame.last.key[0] > self.kind.gap)  # type: ignore[union-attr,attr-defined]

    def _to_evict(self, lane: Lane) -> Event | None:
        return to_evict(lane, self.options, self._newest, self._mark, self._final)
