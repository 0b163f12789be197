"""Buffer: frames over a stream that is pushed event by event, exact also when events come late, go or are corrected.

    single   add ──► [tick: sort, scope, evict interval] ──► report ──► evict
    multi    scope ──► add ──► [tick: recompute ──► report ──► evict]         and so does the tree buffer

Three ways to keep the events (single.py, multi.py, tree.py), one face, the same frames.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from slidewise.errors import ArgumentError, bad
from slidewise.frames.core import Core
from slidewise.frames.draw import drawn
from slidewise.frames.feed import feeds_of
from slidewise.frames.kind import Frame
from slidewise.frames.live import FrameChange, FrameRow, Interval, LateEvent
from slidewise.frames.options import options
from slidewise.frames.work import Work
from slidewise.monoids.aggregate import Aggregate
from slidewise.monoids.catalogue import count as count_rows

LAST = 2**63
"""More than any arrival number."""


class Buffer(Core):
    """Live frames: push events, in order or late, and be told of frames and their corrections.

    Parameters
    ----------
    kind
        What cuts: `sw.frames.threshold`, `delta`, ... The value pushed is what it looks at; a `custom` kind of several
        columns takes a tuple. None is a null.
    buffer
        ``"tree"``: all operations O(log n). ``"multi"``: linked lists, scope O(w). ``"single"``: an array, scope O(n).
    order
        For the single buffer: ``"in_order"`` (a late event is refused as late), ``"eager"`` (inserted in place, the
        default) or ``"lazy"`` (sorted at scope).
    report
        ``"on_close"``: frames when they close. ``"on_update"``: open ones too. ``"final"``: once `advance` has passed
        the event that closed them; they are never corrected.
    evict
        None; ``(X, Y)``: after X closed frames the oldest Y; an age: closed frames older than that; ``"watermark"``:
        closed frames that `advance` has passed. An open frame stays, and no frame is cut in half.
    aggregates
        What to compute of each frame: an unbound aggregate, or a list of them.
    tick
        When to look: at every ``"event"``, every n events, or after a stretch of time (a float or a duration).
    capacity
        For the single buffer: its number of cells; one event more raises. None: it grows.
    late
        Of events whose place was evicted, or is final: ``"keep"`` them in `late`, ``"drop"`` or raise ``"error"``;
        all are counted in `late_count`.
    value_kind
        What values are: ``"int"``, ``"float"``, ...; by default as the first one is.

    The golden case: a sum of at most 3, and an event that comes late. The last frame is not touched.

    >>> import slidewise as sw
    >>> buffer = sw.frames.Buffer(sw.frames.aggregate(sw.sum(), limit=3), aggregates=sw.sum(), report="on_update")
    >>> for time, value in zip(range(1, 10), [1, 2, 0, 1, 1, 2, 0, 2, 1]):
    ...     changes = buffer.push(value, time)
    >>> for change in buffer.push(2, 2.5):
    ...     print(change.op, change.key, change.version, change.end, change.count, change.results)
    -U (1, 0) 4 3 3 {'sum': 3}
    +U (1, 0) 5 2 2 {'sum': 3}
    +I (2.5, 9) 1 4 3 {'sum': 3}
    -D (4, 3) 3 5 2 {'sum': 2}
    +I (5, 4) 1 7 3 {'sum': 3}
    -D (6, 5) 3 7 2 {'sum': 2}
    >>> print(buffer.draw())
    t  1  2 | 2.5  3  4 | 5  6  7 | 8  9
       1  2 |   2  0  1 | 1  2  0 | 2  1
       w1   | w2        | w3      | w4 ..
    """

    def __init__(
        self,
        kind: Frame,
        buffer: Literal["tree", "multi", "single"] = "tree",
        *,
        order: Literal["in_order", "eager", "lazy"] | None = None,
        report: Literal["on_close", "on_update", "final"] = "on_close",
        evict: object = None,
        aggregates: Aggregate | list[Aggregate] | None = None,
        tick: object = "event",
        capacity: int | None = None,
        late: Literal["keep", "drop", "error"] = "keep",
        value_kind: str | None = None,
    ) -> None:
        chosen = options(kind, buffer, order, report, evict, tick, capacity, late)
        super().__init__(kind, chosen, feeds_of(count_rows() if aggregates is None else aggregates), value_kind)

    def __len__(self) -> int:
        """How many events it holds. O(1)."""
        return 0 if self._lane is None else len(self._lane)

    def __repr__(self) -> str:
        return f"frames.Buffer({self.kind!r}, {self.options.buffer!r}): {len(self)} events"

    # ---- the operations, in the order in which `push` runs them ----
    def push(self, value: Any, time: Any) -> list[FrameChange]:
        """Take an event in; returns what is to be reported.

        O(log n) and the repair, with the tree buffer; see the buffers for the others.

        >>> import slidewise as sw
        >>> buffer = sw.frames.Buffer(sw.frames.threshold(at_least=5))
        >>> buffer.push(7, 1), buffer.push(9, 2)
        ([], [])
        >>> buffer.push(3, 3)
        [FrameChange(op='+I', key=(1, 0), version=1, start=1, end=2, count=2, results={'count': 2}, closed=True, ...)]
        """
        if self._lane is not None and self.options.buffer != "single":
            self._lane.frame_at((self._door.place(time), LAST))
        self.add(value, time)
        return self._looked() if self.tick() else []

    def extend(self, values: Iterable[Any], times: Iterable[Any]) -> list[FrameChange]:
        """Take many events in, and look once: late ones among them are sorted and repaired in one pass.

        If one of them is refused with an exception, those before it stay. O(m log n) and one repair.

        >>> import slidewise as sw
        >>> buffer = sw.frames.Buffer(sw.frames.delta(2.0))
        >>> [change.count for change in buffer.extend([3.0, 8.0, 4.0], [1, 3, 2])]
        [2]
        """
        values, times = list(values), list(times)
        if len(values) != len(times):
            raise ArgumentError(f"times=<{len(times)}>: expected one time for each of the {len(values)} values")
        look = False
        for value, time in zip(values, times, strict=True):
            self.add(value, time)
            look = self.tick() or look
        return self._looked() if look else []

    def add(self, value: Any, time: Any) -> int:
        """Take an event in and do no more; returns its arrival number, `seq`.

        Frames follow at the next look: `report`, `frames`, `scope`. O(log n) in the tree; single: O(1), `eager` O(n).

        >>> import slidewise as sw
        >>> buffer = sw.frames.Buffer(sw.frames.delta(2.0))
        >>> buffer.add(3.0, 10), buffer.add(9.0, 9)
        (0, 1)
        """
        self._check_whole()
        value, at = self._door.value(value), self._door.place(time)
        seq, key = self._seq, (at, self._seq)
        if self._is_late(key) or self._out_of_order(at):
            self._seq += 1
            self._too_late(LateEvent("push", time, seq, value))
            return seq
        self._start(value, time, at)
        assert self._lane is not None
        self._lane.put(self._door.event(key, time, value))
        self._seq += 1
        self._since_tick += 1
        self._newest = at if self._newest is None else max(self._newest, at)
        return seq

    def tick(self) -> bool:
        """True if it is time to look, by ``tick=``; the clock then begins anew. O(1).

        >>> import slidewise as sw
        >>> buffer = sw.frames.Buffer(sw.frames.delta(2.0), tick=2)
        >>> seq = buffer.add(3.0, 1); buffer.tick()
        False
        >>> seq = buffer.add(3.0, 2); buffer.tick()
        True
        """
        if self.options.every:
            due = self._since_tick >= self.options.every
        else:
            if self._ticked_at is None:
                self._ticked_at = self._newest
            due = self._newest is not None and self._newest - self._ticked_at >= self.options.interval
        if due:
            self._since_tick, self._ticked_at = 0, self._newest
        return due

    def scope(self, time: Any) -> Interval | None:
        """The frame that an event at `time` falls into: ``(start, end, size)``; None if it falls into none.

        O(log w) in the tree; multi O(w); single O(n), lazy O(n log n) if events came late.

        >>> import slidewise as sw
        >>> buffer = sw.frames.Buffer(sw.frames.delta(2.0))
        >>> changes = buffer.extend([3.0, 4.0, 9.0], [1, 2, 3])
        >>> buffer.scope(2), buffer.scope(0)
        (Interval(start=1, end=2, size=2), None)
        """
        at = self._door.place(time)
        lane = self._settled()
        frame = None if lane is None else lane.frame_at((at, LAST))
        if lane is None or frame is None or frame.last is None:
            return None
        if not self.kind.whole and frame.closed and at > frame.last.key[0]:
            return None
        return Interval(frame.start, frame.last.time, lane.count(frame), frame.key[1])

    def content(self, frame: Interval | FrameRow | FrameChange) -> list[tuple[Any, int, Any]]:
        """The events of a frame, as (time, seq, value): of what `scope`, `frames` or `report` gave. Not evicted ones.

        O(log w) to find it in the tree (multi O(w), or O(1) after `scope`; single O(log n)), and its size.

        >>> import slidewise as sw
        >>> buffer = sw.frames.Buffer(sw.frames.delta(2.0))
        >>> changes = buffer.extend([3.0, 4.0, 9.0], [1, 2, 3])
        >>> buffer.content(buffer.scope(2))
        [(1, 0, 3.0), (2, 1, 4.0)]
        """
        if not isinstance(frame, (Interval, FrameRow, FrameChange)):
            raise bad("frame", frame, "what scope(), frames() or report() gave")
        lane = self._settled()
        found = None if lane is None else self._frame(lane, frame.key)
        if lane is None or found is None:
            raise bad("frame", frame.key, "a frame that is in the buffer now")
        return [(event.time, event.key[1], event.value) for event in lane.content(found)]

    def report(self) -> list[FrameChange]:
        """What has changed since the last time, as a changelog; O(log n) per frame that changed, in the tree.

        >>> import slidewise as sw
        >>> buffer = sw.frames.Buffer(sw.frames.delta(2.0), report="on_update")
        >>> seq = buffer.add(3.0, 1)
        >>> [(change.op, change.closed) for change in buffer.report()], buffer.report()
        ([('+I', False)], [])
        """
        lane = self._settled()
        if lane is None:
            return []
        if self.options.report == "final":
            lane.dirty.clear()
            return self._finals(lane)
        open_too = self.options.report == "on_update"
        changes: list[FrameChange] = []
        for key in sorted(lane.dirty):
            frame = lane.dirty[key]
            shown = frame is not None and (frame.closed or open_too)
            changes += self._log.tell(key, self._row(lane, frame) if shown and frame is not None else None)
        lane.dirty.clear()
        return changes

    def evict(self) -> int:
        """Let go of what ``evict=`` says; returns how many events went. O(log n) in the tree, and the frames that go.

        >>> import slidewise as sw
        >>> buffer = sw.frames.Buffer(sw.frames.delta(2.0), evict=(2, 1))
        >>> changes = buffer.extend([3.0, 4.0, 9.0, 20.0], [1, 2, 3, 4])
        >>> len(buffer), buffer.late_count, buffer.push(5.0, 1.5), buffer.late_count
        (2, 0, [], 1)
        """
        lane = self._settled()
        last = None if lane is None else self._to_evict(lane)
        if lane is None or last is None:
            return 0
        before = len(lane)
        self._log.forget(lane.drop(last), last.key)
        return before - len(lane)

    # ---- changes to what is there ----
    def remove(self, time: Any, seq: int) -> list[FrameChange]:
        """Take an event out again; returns what is to be reported. The cost of a late event.

        >>> import slidewise as sw
        >>> buffer = sw.frames.Buffer(sw.frames.delta(2.0))
        >>> changes = buffer.extend([3.0, 9.0, 4.0, 8.0], [1, 2, 3, 4])
        >>> [(change.op, change.key, change.count) for change in buffer.remove(2, 1)]
        [('-U', (1, 0), 1), ('+U', (1, 0), 2), ('-D', (2, 1), 1), ('-D', (3, 2), 1)]
        """
        lane, event = self._event("remove", time, seq, None)
        if event is None:
            return []
        try:
            lane.take(event)
        except Exception:
            self._recover(lambda: lane.restore(event))
            raise
        return self._looked()

    def correct(self, time: Any, seq: int, value: Any) -> list[FrameChange]:
        """Give an event another value; returns what is to be reported. The cost of a late event.

        >>> import slidewise as sw
        >>> buffer = sw.frames.Buffer(sw.frames.threshold(at_least=5))
        >>> changes = buffer.extend([7, 8, 2], [1, 2, 3])
        >>> [(change.op, change.end) for change in buffer.correct(2, 1, 0)]
        [('-U', 2), ('+U', 1)]
        """
        value = self._door.value(value)
        lane, event = self._event("correct", time, seq, value)
        if event is None:
            return []
        if self._door.decides(value):
            self._decide(value)
        was = (event.value, event.inputs, event.ok)
        event.value, (event.inputs, event.ok) = value, self._door.cut_by(value, event.key)
        try:
            lane.amend(event)
        except Exception:
            event.value, event.inputs, event.ok = was
            self._recover(lambda: lane.touch(event))
            raise
        return self._looked()

    def advance(self, watermark: Any) -> list[FrameChange]:
        """No more events at or before `watermark` are waited for; returns what is to be reported.

        It makes frames final, and lets `evict="watermark"` work. It never moves back. O(log n) in the tree, and the
        frames reported or evicted.

        >>> import slidewise as sw
        >>> buffer = sw.frames.Buffer(sw.frames.delta(2.0), report="final")
        >>> changes = buffer.extend([3.0, 4.0, 9.0, 8.0], [1, 2, 3, 4]); changes
        []
        >>> [(change.op, change.start, change.end) for change in buffer.advance(3)]
        [('+I', 1, 2)]
        """
        mark = self._door.place(watermark, "watermark")
        if self._mark is None or mark > self._mark:
            self._mark, self.watermark = mark, watermark
        return self._looked()

    # ---- look ----
    def frames(self) -> list[FrameRow]:
        """All frames there are now, the open one too, oldest first; without those that are too short to be reported.

        O(w log n) in the tree.

        >>> import slidewise as sw
        >>> buffer = sw.frames.Buffer(sw.frames.delta(2.0), aggregates=[sw.count(), sw.max()])
        >>> changes = buffer.extend([3.0, 4.0, 9.0], [1, 2, 3])
        >>> [(frame.start, frame.end, frame.results, frame.closed) for frame in buffer.frames()]
        [(1, 2, {'count': 2, 'max': 4.0}, True), (3, 3, {'count': 1, 'max': 9.0}, False)]
        """
        lane = self._settled()
        if lane is None:
            return []
        rows = (self._row(lane, frame) for frame in lane.all_frames() if frame.last is not None)
        return [row for row in rows if row is not None]

    def events(self) -> list[tuple[Any, int, Any]]:
        """All events that it holds, as (time, seq, value), in order. O(n).

        >>> import slidewise as sw
        >>> buffer = sw.frames.Buffer(sw.frames.delta(2.0))
        >>> changes = buffer.extend([3.0, 4.0], [2, 1])
        >>> buffer.events()
        [(1, 1, 4.0), (2, 0, 3.0)]
        """
        lane = self._settled()
        return [] if lane is None else [(event.time, event.key[1], event.value) for event in lane.listed()]

    @property
    def frontier(self) -> tuple[Any, int] | None:
        """The place (time, seq) of the last evicted event: what comes at or before it is late. O(1)."""
        return None if self._lane is None else self._lane.frontier.key

    @property
    def evict_interval(self) -> Interval | None:
        """What the next `evict` would let go: first and last time, and how many events. O(log n) in the tree."""
        lane = self._settled()
        last = None if lane is None else self._to_evict(lane)
        first = None if lane is None else lane.oldest()
        if lane is None or first is None or last is None:
            return None
        return Interval(first.time, last.time, lane.up_to(last), first.key[1])

    def draw(self, before: str | None = None) -> str:
        """Events and frames as lines of cells; with a drawing from `before` a repair, both. O(n).

        >>> import slidewise as sw
        >>> buffer = sw.frames.Buffer(sw.frames.threshold(at_least=5))
        >>> changes = buffer.extend([7, 8, 2, 9], [1, 2, 3, 4])
        >>> before = buffer.draw()
        >>> changes = buffer.push(0, 1.5)
        >>> print(buffer.draw(before))
        t  1  2 | 3 | 4
           7  8 | 2 | 9
           w1   |   | w2 ..
        becomes
        t  1  | 1.5 | 2  | 3 | 4
           7  |   0 | 8  | 2 | 9
           w1 |     | w2 |   | w3 ..
        """
        lane = self._settled()
        picture = "" if lane is None else drawn(lane)
        return picture if before is None else f"{before}\nbecomes\n{picture}"

    def check(self) -> None:
        """Raise `AssertionError` if an invariant does not hold; O(n)."""
        if self._lane is not None:
            counted = Work(**vars(self.work))
            self._lane.check()
            vars(self.work).update(vars(counted))

    def _looked(self) -> list[FrameChange]:
        changes = self.report()
        self.evict()
        return changes
