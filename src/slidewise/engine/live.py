"""A window fed event by event: `LiveWindow`.

    push(x) = insert(x), drop what has left the window, query()

With `include_current=False` the newest event waits outside: it enters when the next one comes, so that no answer holds
its own event. A session is dropped as a whole when the first event after its gap comes, a frame when one closes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from slidewise.engine.events import fitting, nanos, place, python_value
from slidewise.engine.fed import Fed
from slidewise.engine.live_fold import LiveFold, axis_of
from slidewise.engine.live_policy import LivePolicy, provisional_policy
from slidewise.engine.live_start import in_memory, in_store, refuse_at_once
from slidewise.engine.plan import used_by
from slidewise.engine.slices import SliceTimes, in_slices
from slidewise.engine.stored import NAME, StoredState, new_state
from slidewise.engine.times import NearTimes, Times, far_times
from slidewise.errors import ArgumentError, bad, listed, shown, whole
from slidewise.frames.kind import Frame
from slidewise.monoids.aggregate import Aggregate
from slidewise.monoids.kinds import ACCEPTS, Kind, kind_of_value
from slidewise.monoids.monoid import Monoid
from slidewise.store.base import Store
from slidewise.swag.amta import LEVELS, Amta
from slidewise.swag.choose import Choice, check_name
from slidewise.windows.policy import DataWindow
from slidewise.windows.window import Around, Axis, Between, Session, Trailing, Window


class LiveWindow:
    """One window, event by event: `push` inserts, enforces the window and answers.

    Parameters
    ----------
    aggregate
        An unbound aggregate, e.g. ``sw.max()`` or ``sw.aggregate(my_monoid)``.
    window
        ``sw.trailing(1000)``, ``sw.trailing("5 min")``, ``sw.expanding()``, ``sw.session("30 s")``, a slide policy:
        ``sw.evict_while(...)``, ``sw.adwin()``; or a frame, ``sw.frames.delta(2.0)``: the answer is that of the frame
        which the newest event is in, so far. Late events and closed frames are what `sw.frames.Buffer` is for.
    algorithm
        ``"auto"`` or a name from `slidewise.swag.ALGORITHMS`.
    store
        None: the window is kept in memory. A URL (``"disk:PATH"``, ``"redis://..."``, ``"memory:NAME"``) or a store of
        `slidewise.store.open`: its events are kept there and a few megabytes here, whatever it holds. What
        `flush` has written survives kill -9; `LiveWindow.restore(url)` goes on from there.
    kind
        What the values are: ``"float"``, ``"int"``, ``"bool"``, ``"decimal"``, ``"string"``, or ``"object"`` for
        anything else; None: as the first value is.
    name
        What the window is called in its store.

    Cost per `push`: the algorithm's, amortized O(1) by default.

    >>> import slidewise as sw
    >>> live = sw.LiveWindow(sw.max(), sw.trailing(3))
    >>> [live.push(x) for x in [4, 1, 3, 2, 0]]
    [4, 4, 4, 3, 3]
    >>> again = sw.LiveWindow.restore(live.snapshot())
    >>> again.push(9), len(again)
    (9, 3)
    """

    def __init__(
        self,
        aggregate: Aggregate,
        window: Window,
        algorithm: str = "auto",
        store: str | Store | StoredState | None = None,
        *,
        kind: Kind | None = None,
        name: str = NAME,
    ) -> None:
        self._fed = Fed(aggregate)
        if not isinstance(window, Window) or not (window.per_event or isinstance(window, Session | Frame)):
            raise bad("window", window, "a per-event window, e.g. sw.trailing(1000), a session or a frame")
        if isinstance(window, Around | Between):
            raise bad("window", window, "a window that does not look ahead, e.g. sw.trailing('5 min')")
        if window.ties == "together":
            raise bad("window", window, "ties='apart': a live window cannot see later events of equal time")
        if kind is not None and kind not in ACCEPTS:
            raise bad("kind", kind, f"None or one of {listed(ACCEPTS)}")
        self.aggregate = aggregate
        self.window = window
        self.algorithm = algorithm
        check_name(algorithm)
        if store is not None and algorithm not in ("auto", "amta"):
            raise bad("algorithm", algorithm, "'auto' or 'amta': only that keeps a window in a store")
        self.choice: Choice | None = None
        self._kind: Kind | None = kind
        self._structure: Any = None
        self._nulls_before = 0
        self._times: Times = NearTimes()
        self._slices: SliceTimes | None = None
        self._newest: Any = None
        self._waiting: tuple[Any, Any] | None = None
        self._events = 0
        self._policy: LivePolicy | None = None
        self._provisional = False
        """The policy has seen nulls only, and does not know yet what values will be."""
        self._uses = [Fed(one, f"uses[{name!r}]") for name, one in used_by(window, (), plain=True)]
        self._fold = LiveFold(window, kind) if isinstance(window, Frame) else None
        if self._fold is not None and self._fold.fed is not None:
            self._uses = [self._fold.fed]
        self._axis: Axis | None = None if isinstance(window, Frame) else window.axis
        """What times are; of frames the first event tells."""
        refuse_at_once(self._fed, algorithm, kind)
        self._stored = store if store is None or isinstance(store, StoredState) else new_state(store, name)
        try:
            if self._stored is not None and self._keeps_times:
                self._times = far_times(self._stored, by_time=window.by_time)
            elif isinstance(window, Trailing) and window.coarse is not None and in_slices(self._fed, window):
                self._slices = self._times = SliceTimes(int(window.coarse))
            if isinstance(window, DataWindow) and all(one.any_kind for one in self._uses):
                self._policy = LivePolicy(window, kind or "object", self._policy_structure)
            elif isinstance(window, DataWindow) and kind is None:
                self._policy, self._provisional = provisional_policy(window, self._uses), True
            if kind is not None or self._fed.any_kind:
                self._start(self._fed.monoid(kind or "object"), kind or "object")
            if kind is not None:
                self._start_policy(kind)
        except BaseException:
            if self._stored is not None:
                self._stored.close()
            raise

    # ---- the window ----
    def push(self, value: Any, time: object = None) -> Any:
        """Insert an event, drop what has left the window, and answer.

        A value of None takes a place and has no value. Windows by time need `time`, windows along the order a number
        for it; it must not fall.
        """
        return self._whole(self._push, *self._entering(value, time))

    def insert(self, value: Any, time: object = None) -> None:
        """Insert an event without dropping any; one that ends a frame ends it all the same."""
        value, now = self._entering(value, time)
        if self._fold is not None:
            self._whole(self._frame, self._fold, value, now)
            return
        self._whole(self._insert, value, now)

    def evict(self) -> None:
        """Drop the oldest event; IndexError if there is none."""
        self.evict_many(1)

    def evict_many(self, n: int) -> None:
        """Drop the n oldest events; IndexError if there are fewer."""
        n = whole("n", n, least=0)
        if self._fold is not None and n:
            raise ArgumentError(f"evict_many({n}): {self.window!r} is cut by its events; nothing else may leave")
        if n > len(self):
            raise IndexError(f"evict_many({n}) from a window of {len(self)}" if n > 1 else "evict from an empty window")
        self._whole(self._evict, n)

    def _push(self, value: Any, now: Any) -> Any:
        if self._fold is not None:
            self._frame(self._fold, value, now)
            return self._answer()
        if isinstance(self.window, Session):
            self._close_session(now)
        self._insert(value, now)
        if self._policy is not None:
            self._drop(self._policy.enforce())
        elif self.window.rows is not None:
            self._evict(max(0, len(self) - self.window.rows))
        else:
            self._evict(self._expired(now))
        return self._answer()

    def _frame(self, fold: LiveFold, value: Any, now: Any) -> None:
        """Empty the window if the event ends what it holds; put the event in if it is in a frame."""
        ends, inside = fold.take(value, self._events, now)
        if ends:
            self._drop(len(self))
        if inside:
            self._insert(value, now)
        else:
            self._events, self._newest = self._events + 1, now

    def _evict(self, n: int) -> None:
        if self._policy is not None:
            self._policy.evict_many(n)
        self._drop(n)

    def _drop(self, n: int) -> None:
        if n == 0:
            return
        if self._structure is None:
            self._nulls_before -= n
        else:
            self._structure.evict_many(n if self._slices is None else self._slices.slices_of(n))
        if self._keeps_times:
            self._times.drop(n)

    def query(self) -> Any:
        """The answer over what is in the window; None (null) if it holds no value, or fewer rows than `min_rows`."""
        if self._stored is not None:
            self._stored.ready()
        return self._answer()

    def extend(self, values: Iterable[Any], times: Iterable[object] | None = None) -> list[Any]:
        """`push` each value; their answers.

        >>> import slidewise as sw
        >>> sw.LiveWindow(sw.sum(), sw.trailing(2)).extend([1, 2, 3])
        [1, 3, 5]
        """
        if times is None:
            return [self.push(value) for value in values]
        return [self.push(value, time) for value, time in zip(values, times, strict=True)]

    def __len__(self) -> int:
        """How many events the answer covers, null ones included."""
        if self._slices is not None:
            return len(self._slices)
        return self._nulls_before if self._structure is None else len(self._structure)

    @property
    def events(self) -> int:
        """How many events have come so far: after `restore`, where in the stream to go on.

        >>> import slidewise as sw
        >>> live = sw.LiveWindow(sw.sum(), sw.trailing(2))
        >>> live.extend([1, 2, 3])
        [1, 3, 5]
        >>> live.events, len(live)
        (3, 2)
        """
        return self._events

    def explain(self) -> str:
        """Which rung of the ladder (`slidewise.swag.choose`) serves this window, why, and what a step costs.

        >>> import slidewise as sw
        >>> print(sw.LiveWindow(sw.max(), sw.trailing(5), kind="int").explain())
        trailing(5) by two_stacks_lite: amortized O(1) for any monoid, with the fewest partials
        ⊕ per step: O(1) on average, O(n) at worst; partials for n events: n + 1
        """
        if self.choice is None:
            return f"{self.window!r}: the first value decides which monoid {self.aggregate!r} is, and the algorithm"
        card = self.choice.structure.card
        kept = "events" if self._slices is None else "slices"
        cost = f"⊕ per step: {card.amortized} on average, {card.worst} at worst; partials for n {kept}: {card.space}"
        return f"{self.window!r} by {card.name}: {self.choice.reason}\n{cost}"

    def check(self) -> None:
        """Assert the invariants of the window and its algorithm; O(n)."""
        assert not self._keeps_times or len(self._times) == len(self), "a time for each event"
        if self._structure is not None:
            self._structure.check()
            assert self._slices is None or len(self._structure) == len(self._slices.rows()), "a partial for each slice"
        if self._policy is not None:
            self._policy.check()
            assert len(self._policy) == len(self), "the policy sees the same events"

    # ---- snapshots ----
    def snapshot(self) -> bytes:
        """Everything needed to go on in another process, as bytes without pickle; O(n).

        Of a window in a store it is what `flush` writes: O(log n), and of use only beside the store's pages.
        """
        from slidewise.engine.live_snapshot import taken_of, write_down

        return taken_of(self) if self._stored is None else write_down(self, self._stored)

    @classmethod
    def restore(
        cls,
        source: bytes | str | Store,
        aggregate: Aggregate | None = None,
        window: Window | None = None,
        *,
        name: str = NAME,
    ) -> LiveWindow:
        """A window that goes on where `snapshot` was taken, or from a store, where `flush` was last called.

        A user's own aggregate must be handed in again, and so must the window where a slide policy is: both are code,
        which is never stored.

        Parameters
        ----------
        source
            A snapshot's bytes; or a store, or its URL.
        aggregate, window
            As the window was made with, where they are code; else they may be left out.
        name
            What the window is called in its store.

        >>> import slidewise as sw
        >>> with sw.LiveWindow(sw.max(), sw.trailing(3), store="memory:doc") as live:
        ...     live.extend([4, 1, 3])
        [4, 4, 4]
        >>> with sw.LiveWindow.restore("memory:doc") as again:
        ...     again.push(2), len(again)
        (3, 3)
        """
        from slidewise.engine.live_snapshot import from_store, restored

        if isinstance(source, str | Store):
            return from_store(cls, source, name, aggregate, window)
        return restored(cls, source, aggregate, window)

    # ---- in a store ----
    def flush(self) -> None:
        """Make the window, as it is now, durable in its store; without a store there is nothing to do.

        One atomic batch: after kill -9 at any moment, `restore` gives the window as it was at the last `flush` that
        returned, or at one that was on its way. After an error nothing is lost, and it may be called again.
        """
        if self._stored is not None:
            self.snapshot()

    def close(self, *, flush: bool = True) -> None:
        """Flush, and let another process have the window; without a store there is nothing to do.

        If it cannot be flushed the window stays open, and `close` may be called again; with ``flush=False`` it is given
        up as it was when it was last flushed.
        """
        if self._stored is None or self._stored.closed:
            return
        if flush:
            self.flush()
            self._stored.finish()
        self._stored.close()

    def __enter__(self) -> LiveWindow:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self.close(flush=kind is None)

    # ---- inside ----
    def _whole(self, step: Callable[..., Any], *arguments: Any) -> Any:
        """Take a step; where an error of the store stops it halfway, the window is as it was before."""
        stored = self._stored
        if stored is None:
            return step(*arguments)
        stored.ready()
        before = self._events, self._newest, self._waiting, self._nulls_before
        fold = None if self._fold is None else (self._fold.state, self._fold.full)
        marked = stored.mark()
        try:
            return step(*arguments)
        except BaseException:
            stored.back_to(marked)
            self._events, self._newest, self._waiting, self._nulls_before = before
            if self._fold is not None and fold is not None:
                self._fold.state, self._fold.full = fold
            self._renew_policy()
            raise

    def _answer(self) -> Any:
        if len(self) < self.window.min_rows:
            return None
        return self._empty() if self._structure is None else self._structure.query()

    @property
    def _takes_any(self) -> bool:
        """True if neither the aggregate nor the policy waits to see what the values are."""
        return self._fed.any_kind and all(one.any_kind for one in self._uses)

    def _start(self, monoid: Monoid, kind: Kind) -> None:
        """Make what keeps the events, now that the aggregate's monoid is known; all so far were null."""
        if self._structure is not None:
            return
        if self._stored is None:
            sliced = self._slices is not None
            choice, structure = in_memory(self._fed, monoid, self.window, self.algorithm, kind, sliced=sliced)
        else:
            choice, structure = in_store(self._fed, monoid, self._stored, kind)
        if self._slices is not None:
            for _ in self._slices.rows():
                structure.begin()
                structure.insert_null()
        else:
            for _ in range(self._nulls_before):
                structure.insert_null()
        self.choice, self._structure = choice, structure

    def _start_policy(self, kind: Kind) -> None:
        """Make what the policy sees, now that it is known what values are; all so far were null."""
        if isinstance(self.window, DataWindow) and (self._policy is None or self._provisional):
            self._policy, self._provisional = LivePolicy(self.window, kind, self._policy_structure), False
            self._policy.insert_nulls(len(self))

    def _renew_policy(self) -> None:
        """The provisional policy is in memory: it sees as many nulls as the window holds."""
        if self._provisional and isinstance(self.window, DataWindow):
            self._policy = provisional_policy(self.window, self._uses)
            if self._policy is not None:
                self._policy.insert_nulls(len(self))

    def _empty(self) -> Any:
        """The answer before the first value: null, or what the aggregate answers for none whatever their kind."""
        try:
            monoid = self._fed.monoid("object")
        except ArgumentError:
            return None
        return monoid.lowered(monoid.identity) if monoid.answers_empty else None

    def _policy_structure(self, monoid: Monoid) -> Amta:
        return Amta(monoid) if self._stored is None else self._stored.structure(monoid, None, 1, LEVELS)

    @property
    def _keeps_times(self) -> bool:
        """True if each event's time is needed to know when it leaves."""
        return isinstance(self.window, Trailing) and self.window.axis != "rows"

    def _entering(self, value: Any, time: object) -> tuple[Any, Any]:
        """An event, checked: its value as the monoid takes it, and its time."""
        now = self._time(time)
        return self._fitting(value), now

    def _insert(self, value: Any, now: Any) -> None:
        """Let the event that waited in, then this one, or let it wait."""
        self._events += 1
        self._newest = now
        if self._waiting is not None:
            self._put(*self._waiting)
        self._waiting = None if self.window.include_current else (value, now)
        if self.window.include_current:
            self._put(value, now)

    def _put(self, value: Any, now: Any) -> None:
        position = self._events - 1 if self.window.include_current else self._events - 2
        if self._slices is not None and self._structure is not None and self._slices.begins(now):
            self._structure.begin()
        if self._structure is None:
            self._nulls_before += 1
        elif self._fed.counts(value):
            self._structure.insert(*self._fed.taken(value, position, now))
        else:
            self._structure.insert_null()
        if self._policy is not None:
            self._policy.insert(value, position, now)
        if self._keeps_times:
            self._times.append(now)

    def _expired(self, now: Any) -> int:
        """How many events the window has left behind."""
        window = self.window
        if not isinstance(window, Trailing):
            return 0
        oldest = now - window.extent
        if window.coarse is not None:
            oldest = oldest // window.coarse * window.coarse
        if oldest >= now:  # a float so large that the extent is lost in it: what equals the newest stays
            return self._times.older(now, or_equal=False)
        return self._times.older(oldest, or_equal=window.coarse is None)

    def _close_session(self, now: Any) -> None:
        """Drop all events if this one is after the gap."""
        window = self.window
        assert isinstance(window, Session)
        if self._newest is not None and now != self._newest and now - self._newest > window.gap and len(self):
            self._evict(len(self))

    def _fitting(self, value: Any) -> Any:
        """The value as the monoid takes it; the first one decides the kind."""
        value = python_value(value)
        if value is None or self._takes_any:
            return value
        if self._kind is None:
            kind = kind_of_value(value)
            self._start(self._fed.monoid(kind, type(value).__name__), kind)
            self._start_policy(kind)
            if self._fold is not None:
                self._fold.start(kind)
            self._kind = kind
        return fitting(value, self._kind or "object")

    def _time(self, time: object) -> Any:
        if isinstance(self.window, Frame) and self._axis is None:
            self._axis = axis_of(self.window, time)
        if self._axis == "rows":
            if time is not None:
                counts = "counts rows" if self.window.axis == "rows" else "had events without a time before"
                raise bad("time", time, f"no time: {self.window!r} {counts}")
            return None
        now = nanos(time) if self._axis == "time" else place(time)
        if self._axis == "time" and self._stored is not None and not -(2**63) <= now < 2**63:
            raise bad("time", time, "a time from 1677 to 2262: a store keeps nanoseconds in 64 bits")
        if self._newest is not None and now < self._newest:
            raise ArgumentError(f"time={shown(time)}: is before the newest event; expected times that never fall")
        return now
