"""A window fed event by event: `LiveWindow`.

    push(x) = insert(x), drop what has left the window, query()

With `include_current=False` the newest event waits outside: it enters when the next one comes, so that no answer holds
its own event. A session is dropped as a whole when the first event after its gap comes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any

from slidewise.engine.columns import dtype_of
from slidewise.engine.events import ACCEPTS, fitting, kind_of_value, nanos, place, python_value
from slidewise.engine.filters import passes_one
from slidewise.engine.plan import VALUE, check_arity
from slidewise.engine.snapshot import pack, unpack
from slidewise.errors import ArgumentError, SnapshotError, bad, listed, shown, whole
from slidewise.monoids.aggregate import ORDER, Aggregate, Family
from slidewise.monoids.codec import codec_of, decode_plain, encode_plain, partial_schema
from slidewise.monoids.condition import Condition
from slidewise.monoids.hashing import hash_value
from slidewise.monoids.kinds import Kind
from slidewise.monoids.monoid import Monoid
from slidewise.swag.choose import ALGORITHMS, Choice, check_name, choose
from slidewise.windows.window import Around, Between, Expanding, Session, Trailing, Window, from_dict


class LiveWindow:
    """One window, event by event: `push` inserts, enforces the window and answers.

    Parameters
    ----------
    aggregate
        An unbound aggregate, e.g. ``sw.max()`` or ``sw.aggregate(my_monoid)``.
    window
        ``sw.trailing(1000)``, ``sw.trailing("5 min")``, ``sw.expanding()``, ``sw.session("30 s")``.
    algorithm
        ``"auto"`` or a name from `slidewise.swag.ALGORITHMS`.
    store
        None: the window is kept in memory.
    kind
        What the values are: ``"float"``, ``"int"``, ``"bool"``, ``"decimal"``, or ``"object"`` for anything else; None:
        as the first value is.

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
        store: None = None,
        *,
        kind: Kind | None = None,
    ) -> None:
        _check_aggregate(aggregate)
        if not isinstance(window, Window) or not (window.per_event or isinstance(window, Session)):
            raise bad(
                "window", window, "a per-event window, e.g. sw.trailing(1000) or sw.trailing('5 min'), or a session"
            )
        if isinstance(window, Around | Between):
            raise bad("window", window, "a window that does not look ahead, e.g. sw.trailing('5 min')")
        if window.ties == "together":
            raise bad("window", window, "ties='apart': a live window cannot see later events of equal time")
        if store is not None:
            raise bad("store", store, "None: a live window is kept in memory")
        if kind is not None and kind not in ACCEPTS:
            raise bad("kind", kind, f"None or one of {listed(ACCEPTS)}")
        self.aggregate = aggregate
        self.window = window
        self.algorithm = algorithm
        check_name(algorithm)
        self.choice: Choice | None = None
        self._kind: Kind | None = kind
        self._structure: Any = None
        self._nulls_before = 0
        self._times: deque[Any] = deque()
        self._newest: Any = None
        self._waiting: tuple[Any, Any] | None = None
        self._events = 0
        self._inputs = _inputs_of(aggregate)
        self._refuse_at_once()
        if kind is not None or isinstance(aggregate.source, Monoid) or self._counts_rows:
            self._start(aggregate.monoid(self._kinds(kind or "object")))

    # ---- the window ----
    def push(self, value: Any, time: object = None) -> Any:
        """Insert an event, drop what has left the window, and answer.

        A value of None takes a place and has no value. Windows by time need `time`, windows along the order a number
        for it; it must not fall.
        """
        if isinstance(self.window, Session):
            self._close_session(time)
        now = self._insert(value, time)
        if self.window.rows is not None:
            gone = len(self) - self.window.rows
        else:
            gone = self._expired(now)
        if gone > 0:
            self.evict_many(gone)
        return self.query()

    def insert(self, value: Any, time: object = None) -> None:
        """Insert an event without dropping any."""
        self._insert(value, time)

    def evict(self) -> None:
        """Drop the oldest event; IndexError if there is none."""
        self.evict_many(1)

    def evict_many(self, n: int) -> None:
        """Drop the n oldest events; IndexError if there are fewer."""
        n = whole("n", n, least=0)
        if n > len(self):
            raise IndexError(f"evict_many({n}) from a window of {len(self)}" if n > 1 else "evict from an empty window")
        if self._structure is None:
            self._nulls_before -= n
        else:
            self._structure.evict_many(n)
        for _ in range(n if self._keeps_times else 0):
            self._times.popleft()

    def query(self) -> Any:
        """The answer over what is in the window; None (null) if it holds no value, or fewer rows than `min_rows`."""
        if len(self) < self.window.min_rows:
            return None
        return self._empty() if self._structure is None else self._structure.query()

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
        return self._nulls_before if self._structure is None else len(self._structure)

    def explain(self) -> str:
        """Which algorithm serves this window, and why.

        >>> import slidewise as sw
        >>> print(sw.LiveWindow(sw.max(), sw.trailing(5), kind="int").explain())
        trailing(5) by two_stacks_lite: amortized O(1) for any monoid, with the fewest partials
        """
        if self.choice is None:
            return f"{self.window!r}: the first value decides which monoid {self.aggregate!r} is, and the algorithm"
        return f"{self.window!r} by {self.choice.structure.card.name}: {self.choice.reason}"

    def check(self) -> None:
        """Assert the invariants of the window and its algorithm; O(n)."""
        assert not self._keeps_times or len(self._times) == len(self), "a time for each event"
        if self._structure is not None:
            self._structure.check()

    # ---- snapshots ----
    def snapshot(self) -> bytes:
        """Everything needed to go on in another process, as bytes without pickle; O(n)."""
        registers: list[int] = []
        links: list[int] = []
        parts: list[bytes] = []
        if self._structure is not None:
            encode, _ = self._codec()
            registers, partials, links = self._structure.state()
            parts = [encode(partial) for partial in partials]
        header = {
            "aggregate": self.aggregate.source.name,
            "own": isinstance(self.aggregate.source, Monoid),
            "options": dict(self.aggregate.options),
            "where": encode_plain([(one.test, one.value) for one in self.aggregate.conditions]).decode(),
            "version": getattr(self.aggregate.source, "version", 1),
            "partial": None if self._structure is None else partial_schema(self._structure.monoid),
            "window": self.window.to_dict(),
            "algorithm": self.algorithm,
            "structure": None if self._structure is None else self._structure.card.name,
            "kind": self._kind,
            "registers": registers,
            "links": links,
            "times": list(self._times),
            "newest": self._newest,
            "waiting": None if self._waiting is None else encode_plain(self._waiting).decode(),
            "nulls_before": self._nulls_before,
            "events": self._events,
        }
        return pack("live window", header, parts)

    @classmethod
    def restore(cls, blob: bytes, aggregate: Aggregate | None = None) -> LiveWindow:
        """A window that goes on where `snapshot` was taken; a user's own aggregate must be handed in again."""
        header, parts = unpack("live window", blob)
        aggregate = _aggregate_of(header, aggregate)
        try:
            # By the algorithm the partials belong to, whatever "auto" would choose today.
            structure = header["structure"] if header["structure"] in ALGORITHMS else header["algorithm"]
            live = cls(aggregate, from_dict(header["window"]), structure, kind=header["kind"])
            live.algorithm = header["algorithm"]
            live._fill(header, parts)
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise SnapshotError(f"the snapshot does not fit this version: {error}") from error
        return live

    def _fill(self, header: dict[str, Any], parts: list[bytes]) -> None:
        self._times = deque(header["times"])
        self._newest = header["newest"]
        self._nulls_before = header["nulls_before"]
        self._events = header.get("events", 0)
        if header["waiting"] is not None:
            self._waiting = decode_plain(header["waiting"].encode())
        if header["structure"] is None:
            return
        monoid = self._structure.monoid
        if self._structure.card.name != header["structure"]:
            raise ValueError(f"it is by {header['structure']}, which this version would not choose")
        if partial_schema(monoid) != header["partial"]:
            raise ValueError(f"its partials are {header['partial']}, {monoid!r} has {partial_schema(monoid)}")
        _, decode = self._codec()
        self._structure.set_state(header["registers"], [decode(part) for part in parts], header["links"])

    # ---- inside ----
    @property
    def _counts_rows(self) -> bool:
        """True for `count()`: a null is a row as well."""
        return isinstance(self.aggregate.source, Family) and 0 in self.aggregate.source.columns

    def _start(self, monoid: Monoid) -> None:
        # A tally alone cannot be read back from a snapshot; with one, the window keeps its events.
        whole_only = isinstance(self.window, Expanding | Session) and monoid.tally is None
        self.choice = choose(monoid, algorithm=self.algorithm, whole_only=whole_only)
        structure = self.choice.structure
        types = _types_of(monoid, self._kinds(self._kind or "object")) if structure.tallies else None
        self._structure = structure(monoid, types=types, arity=len(self._inputs) or 1)
        for _ in range(self._nulls_before):
            self._structure.insert_null()

    def _refuse_at_once(self) -> None:
        """Raise if the algorithm that was asked for can serve no value whatever its kind."""
        refusals: list[ArgumentError] = []
        for kind in ACCEPTS if self._kind is None else (self._kind,):
            try:
                monoid = self.aggregate.monoid(self._kinds(kind))
            except ArgumentError:  # not a kind that it takes
                continue
            try:
                choose(monoid, algorithm=self.algorithm)
            except ArgumentError as error:
                refusals.append(error)
            else:
                return
        if refusals:
            raise refusals[0]

    def _empty(self) -> Any:
        """The answer before the first value: null, or what the aggregate answers for none whatever their kind."""
        try:
            monoid = self.aggregate.monoid(self._kinds("object"))
        except ArgumentError:
            return None
        return monoid.lowered(monoid.identity) if monoid.answers_empty else None

    def _kinds(self, kind: Kind) -> tuple[Kind, ...]:
        """The kinds of what the monoid takes, of a value of this kind."""
        if isinstance(self.aggregate.source, Family) and self.aggregate.source.hashes:
            return ("int",)
        return tuple(kind if name == VALUE else "int" for name in self._inputs if name != THERE)

    def _codec(self) -> Any:
        """How what the ring holds is stored: partials by the monoid's own codec, raw values as plain data."""
        return (encode_plain, decode_plain) if self._structure.tallies else codec_of(self._structure.monoid)

    def _taken(self, value: Any, now: Any) -> tuple[Any, ...]:
        """The event as the lift takes it: its value, and its position or time where the aggregate looks at them."""
        if self._counts_rows:
            return (value,)
        source = self.aggregate.source
        if isinstance(source, Family) and source.hashes:
            return (hash_value(value),)
        position = self._events - 1 if self.window.include_current else self._events - 2
        when = position if now is None else now
        return tuple(
            value if name == VALUE else when if name == ORDER else True if name == THERE else position
            for name in self._inputs
        )

    @property
    def _keeps_times(self) -> bool:
        """True if each event's time is needed to know when it leaves."""
        return isinstance(self.window, Trailing) and self.window.axis != "rows"

    def _insert(self, value: Any, time: object) -> Any:
        """Check an event, let the one that waited in, then this one, or let it wait; its time."""
        now = self._time(time)
        value = self._fitting(value)
        self._events += 1
        self._newest = now
        if self._waiting is not None:
            self._put(*self._waiting)
        self._waiting = None if self.window.include_current else (value, now)
        if self.window.include_current:
            self._put(value, now)
        return now

    def _put(self, value: Any, now: Any) -> None:
        kept = all(passes_one(value, test) for test in self.aggregate.conditions)
        if kept and (value is not None or self._counts_rows):
            self._structure.insert(*self._taken(value, now))
        elif self._structure is None:
            self._nulls_before += 1
        else:
            self._structure.insert_null()
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
        for gone, time in enumerate(self._times):
            if time > oldest or (window.coarse is not None and time == oldest) or time == now:
                return gone
        return len(self._times)

    def _close_session(self, time: object) -> None:
        """Drop all events if this one is after the gap."""
        now, window = self._time(time), self.window
        assert isinstance(window, Session)
        if self._newest is not None and now != self._newest and now - self._newest > window.gap and len(self):
            self.evict_many(len(self))

    def _fitting(self, value: Any) -> Any:
        """The value as the monoid takes it; the first one decides the kind."""
        value = python_value(value)
        if value is None or self._counts_rows or isinstance(self.aggregate.source, Monoid):
            return value
        if self._structure is None:
            self._kind = kind_of_value(value)
            self._start(self.aggregate.monoid(self._kinds(self._kind), type(value).__name__))
        return fitting(value, self._kind or "object")

    def _time(self, time: object) -> Any:
        if self.window.axis == "rows":
            if time is not None:
                raise bad("time", time, f"no time: {self.window!r} counts rows")
            return None
        now = nanos(time) if self.window.by_time else place(time)
        if self._newest is not None and now < self._newest:
            raise ArgumentError(f"time={shown(time)}: is before the newest event; expected times that never fall")
        return now


THERE = "#there"


def _inputs_of(aggregate: Aggregate) -> tuple[str, ...]:
    """What the lift takes of an event: its value, its time or position, whether a position is there (it is)."""
    source = aggregate.source
    if isinstance(source, Monoid) or 0 in source.columns:
        return (VALUE,)
    named = source.completed((VALUE,), dict(aggregate.options))
    return tuple(part for k, name in enumerate(named) for part in ((name, THERE) if k in source.nullable else (name,)))


def _types_of(monoid: Monoid, kinds: tuple[Kind, ...]) -> tuple[str, ...] | None:
    """The dtypes of a tally worth its machine code, a large one of numbers; None for object mode."""
    dtypes = tuple(dtype_of(kind) for kind in kinds)
    if monoid.tally is None or monoid.tally.size < 256 or None in dtypes:
        return None
    return tuple(dtype for dtype in dtypes if dtype is not None)


def _check_aggregate(aggregate: Aggregate) -> None:
    if not isinstance(aggregate, Aggregate):
        raise bad("aggregate", aggregate, "an unbound aggregate, e.g. sw.max() or sw.aggregate(monoid)")
    if aggregate.columns or any(test.column is not None for test in aggregate.conditions):
        raise bad("aggregate", aggregate, "an unbound aggregate: a live window is fed values, not columns")
    source = aggregate.source
    if isinstance(source, Family) and min(source.columns) > 1:
        raise bad("aggregate", aggregate, "an aggregate of one value per event")
    check_arity(aggregate, 1)


def _aggregate_of(header: dict[str, Any], aggregate: Aggregate | None) -> Aggregate:
    """The aggregate a snapshot was taken of: a built-in by its name, or the one handed in if it is the same."""
    from slidewise.monoids.catalogue import BUILTINS

    name, version, own = header["aggregate"], header["version"], header.get("own", header["aggregate"] not in BUILTINS)
    if aggregate is None:
        if own or name not in BUILTINS:
            raise ArgumentError(f"aggregate=None: the snapshot is of {name!r}, a user's own; hand its aggregate in")
        tests = decode_plain(header["where"].encode()) if "where" in header else []
        conditions = tuple(Condition(None, test, value) for test, value in tests)
        return Aggregate(BUILTINS[name], options=tuple(header.get("options", {}).items()), conditions=conditions)
    _check_aggregate(aggregate)
    given = getattr(aggregate.source, "version", 1)
    is_own = isinstance(aggregate.source, Monoid)
    if (aggregate.source.name, given, is_own) != (name, version, own):
        kinds = {True: "a user's own", False: "a built-in"}
        raise SnapshotError(
            f"snapshot of {name!r} version {version}, {kinds[own]}; "
            f"got {aggregate.source.name!r} version {given}, {kinds[is_own]}"
        )
    return aggregate
