"""A window fed event by event: `LiveWindow`, and its snapshots.

A snapshot is a JSON header line and the stored partials, without pickle; see `snapshot`.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable
from datetime import date, datetime, timedelta, timezone
from typing import Any

from slidewise.errors import ArgumentError, SnapshotError, bad
from slidewise.monoids.aggregate import Aggregate, Family
from slidewise.monoids.codec import codec_of
from slidewise.monoids.kinds import Kind
from slidewise.monoids.monoid import Monoid
from slidewise.swag.choose import choose
from slidewise.windows.window import Window

FORMAT = 1
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


class LiveWindow:
    """One window, event by event: `push` inserts, enforces the window and answers.

    Parameters
    ----------
    aggregate
        An unbound aggregate, e.g. ``sw.max()`` or ``sw.aggregate(my_monoid)``.
    window
        A per-event window: ``sw.trailing(1000)`` or ``sw.trailing("5 min")``.
    algorithm
        ``"auto"`` or a name from `slidewise.swag.ALGORITHMS`.
    kind
        What the values are: ``"float"``, ``"int"``, or ``"object"`` for anything else; None: as the first value is.

    Cost per `push`: the algorithm's, amortized O(1) by default.

    >>> import slidewise as sw
    >>> live = sw.LiveWindow(sw.max(), sw.trailing(3))
    >>> [live.push(x) for x in [4, 1, 3, 2, 0]]
    [4, 4, 4, 3, 3]
    >>> again = sw.LiveWindow.restore(live.snapshot(), sw.max())
    >>> again.push(9), len(again)
    (9, 3)
    """

    def __init__(
        self,
        aggregate: Aggregate,
        window: Window,
        algorithm: str = "auto",
        *,
        kind: Kind | None = None,
    ) -> None:
        if isinstance(aggregate, Monoid) or not isinstance(aggregate, Aggregate):
            raise bad("aggregate", aggregate, "an unbound aggregate, e.g. sw.max() or sw.aggregate(monoid)")
        if aggregate.columns:
            raise bad("aggregate", aggregate, "an unbound aggregate: a live window is fed values, not columns")
        if not isinstance(window, Window) or not window.per_event:
            raise bad("window", window, "a per-event window, e.g. sw.trailing(1000) or sw.trailing('5 min')")
        if window.ties == "together":
            raise bad("window", window, "ties='apart': a live window cannot see later events of equal time")
        self.aggregate = aggregate
        self.window = window
        self.algorithm = algorithm
        self._kind = kind
        self._structure: Any = None
        self._times: deque[int] = deque()
        self._waiting: tuple[Any, int | None] | None = None
        self._nulls_before = 0
        choose_from = aggregate.source if isinstance(aggregate.source, Monoid) else None
        if choose_from is not None:
            self._start(choose_from)
        elif kind is not None or aggregate.name == "count":
            self._start(aggregate.monoid((kind or "object",)))
        else:
            choose(_ANY, algorithm=algorithm)

    def _start(self, monoid: Monoid) -> None:
        self.choice = choose(monoid, algorithm=self.algorithm)
        self._structure = self.choice.structure(monoid)
        for _ in range(self._nulls_before):
            self._structure.insert_null()

    # ---- the window ----
    def push(self, value: Any, time: object = None) -> Any:
        """Insert an event, drop what has left the window, and answer.

        A value of None takes a place and has no value. Windows by time need `time`, which must not fall.
        """
        now = self._time(time)
        if self.window.include_current:
            self.insert(value, time)
            self._expire(now)
            return self._answer()
        self._admit()
        self._expire(now)
        answer = self._answer()
        self._waiting = (value, now)
        return answer

    def insert(self, value: Any, time: object = None) -> None:
        """Insert an event without dropping any."""
        now = self._time(time)
        self._admit()
        self._put(value, now)

    def evict(self) -> None:
        """Drop the oldest event; IndexError if there is none."""
        self.evict_many(1)

    def evict_many(self, n: int) -> None:
        """Drop the n oldest events."""
        self._admit()
        if isinstance(n, bool) or not isinstance(n, int) or n < 0:
            raise bad("n", n, "an integer of at least 0")
        if n > len(self):
            raise IndexError(f"evict_many({n}) from a window of {len(self)}" if n > 1 else "evict from an empty window")
        if self._structure is None:
            self._nulls_before -= n
        else:
            self._structure.evict_many(n)
        for _ in range(n if self.window.by_time else 0):
            self._times.popleft()

    def query(self) -> Any:
        """The answer over what is in the window; None (null) if it holds no value."""
        self._admit()
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
        held = self._nulls_before if self._structure is None else len(self._structure)
        return held + (self._waiting is not None)

    def explain(self) -> str:
        """Which algorithm serves this window, and why.

        >>> import slidewise as sw
        >>> print(sw.LiveWindow(sw.aggregate(sw.Monoid(identity=0, combine=lambda a, b: a + b)), sw.trailing(5)).explain())
        trailing(5) by two_stacks_lite: amortized O(1) for any monoid, with the fewest partials
        """
        choice = self.choice if self._structure is not None else choose(_ANY, algorithm=self.algorithm)
        return f"{self.window!r} by {choice.structure.card.name}: {choice.reason}"

    def check(self) -> None:
        """Assert the algorithm's invariants; O(n)."""
        if self._structure is not None:
            self._structure.check()

    # ---- inside ----
    def _admit(self) -> None:
        """An event left out of its own answer (include_current=False) enters before anything else happens."""
        if self._waiting is not None:
            (value, now), self._waiting = self._waiting, None
            self._put(value, now)

    def _put(self, value: Any, now: int | None) -> None:
        if value is None:
            if self._structure is None:
                self._nulls_before += 1
            else:
                self._structure.insert_null()
        else:
            if self._structure is None:
                self._kind = _kind_of_value(value)
                self._start(self.aggregate.monoid((self._kind,)))
            self._structure.insert(*(() if _takes_nothing(self.aggregate) else (value,)))
        if self.window.by_time and now is not None:
            self._times.append(now)

    def _expire(self, now: int | None) -> None:
        if self.window.rows is not None:
            gone = len(self) - self.window.rows
        else:
            gone = 0
            oldest = (now or 0) - (self.window.nanos or 0)
            for time in self._times:
                if time > oldest:
                    break
                gone += 1
        if gone > 0:
            self.evict_many(gone)

    def _answer(self) -> Any:
        if self._structure is None or len(self) < self.window.min_rows:
            return None
        return self._structure.query()

    def _time(self, time: object) -> int | None:
        if not self.window.by_time:
            if time is not None:
                raise bad("time", time, f"no time: {self.window!r} counts rows")
            return None
        now = _nanos(time)
        last = self._waiting[1] if self._waiting is not None else self._times[-1] if self._times else None
        if last is not None and now < last:
            raise ArgumentError(f"time={time!r}: is before the newest event; expected times that never fall")
        return now

    # ---- snapshots ----
    def snapshot(self) -> bytes:
        """Everything needed to go on in another process, as bytes without pickle; O(n)."""
        self_waiting = None
        encoded: list[bytes] = []
        registers: list[int] = []
        if self._structure is not None:
            encode, _ = codec_of(self._structure.monoid)
            registers, partials = self._structure.state()
            encoded = [encode(partial) for partial in partials]
        if self._waiting is not None:
            from slidewise.monoids.codec import encode_plain

            self_waiting = encode_plain(self._waiting).decode()
        header = {
            "slidewise": "live window",
            "format": FORMAT,
            "aggregate": self.aggregate.source.name,
            "version": getattr(self.aggregate.source, "version", 1),
            "window": [self.window.rows, self.window.nanos, self.window.include_current, self.window.min_rows],
            "algorithm": self.algorithm,
            "structure": self._structure.card.name if self._structure is not None else None,
            "kind": self._kind,
            "registers": registers,
            "times": list(self._times),
            "waiting": self_waiting,
            "nulls_before": self._nulls_before,
            "lengths": [len(part) for part in encoded],
        }
        return json.dumps(header).encode() + b"\n" + b"".join(encoded)

    @classmethod
    def restore(cls, blob: bytes, aggregate: Aggregate | None = None) -> LiveWindow:
        """A window that goes on where `snapshot` was taken; a user's own aggregate must be handed in again."""
        from slidewise.monoids.catalogue import BUILTINS

        head, _, body = blob.partition(b"\n")
        try:
            header = json.loads(head)
            if header["slidewise"] != "live window":
                raise KeyError("slidewise")
            newer = header["format"] > FORMAT
        except (ValueError, KeyError, TypeError) as error:
            raise SnapshotError("not a live window's snapshot, or a damaged one") from error
        if newer:
            raise SnapshotError(f"snapshot of format {header['format']}; this version reads up to {FORMAT}")
        name = header["aggregate"]
        if aggregate is None:
            if name not in BUILTINS:
                raise ArgumentError(f"aggregate=None: the snapshot is of {name!r}, a user's own; hand its aggregate in")
            aggregate = Aggregate(BUILTINS[name])
        version = getattr(aggregate.source, "version", 1)
        if aggregate.source.name != name or version != header["version"]:
            raise SnapshotError(
                f"snapshot of {name!r} version {header['version']}; got {aggregate.source.name!r} version {version}"
            )
        try:
            rows, nanos, include_current, min_rows = header["window"]
            window = Window(rows=rows, nanos=nanos, include_current=include_current, min_rows=min_rows)
            live = cls(aggregate, window, header["algorithm"], kind=header["kind"])
            live._fill(header, body)
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise SnapshotError(f"the snapshot is damaged: {error}") from error
        return live

    def _fill(self, header: dict[str, Any], body: bytes) -> None:
        from slidewise.monoids.codec import decode_plain

        if sum(header["lengths"]) != len(body):
            raise ValueError("its length is not what its header says")
        self._times = deque(header["times"])
        self._nulls_before = header["nulls_before"]
        if header["waiting"] is not None:
            self._waiting = decode_plain(header["waiting"].encode())
        if header["structure"] is None:
            return
        if self._structure is None:
            raise ValueError("it has no kind of values")
        _, decode = codec_of(self._structure.monoid)
        partials, at = [], 0
        for length in header["lengths"]:
            partials.append(decode(body[at : at + length]))
            at += length
        self._structure.set_state(header["registers"], partials)


_ANY = Monoid(identity=None, combine=lambda a, b: b, name="any")


def _takes_nothing(aggregate: Aggregate) -> bool:
    return isinstance(aggregate.source, Family) and 0 in aggregate.source.columns and not aggregate.columns


def _kind_of_value(value: Any) -> Kind:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "int" if -(2**63) <= value < 2**63 else "object"
    if isinstance(value, float):
        return "float"
    item = getattr(value, "item", None)
    return _kind_of_value(item()) if callable(item) and getattr(value, "ndim", 1) == 0 else "object"


def _nanos(time: object) -> int:
    """An event's time in nanoseconds since the epoch; integers are taken as such."""
    if isinstance(time, datetime):
        aware = time if time.tzinfo is not None else time.replace(tzinfo=timezone.utc)
        return (aware - EPOCH) // timedelta(microseconds=1) * 1000
    if isinstance(time, date):
        return (datetime(time.year, time.month, time.day, tzinfo=timezone.utc) - EPOCH) // timedelta(microseconds=1) * 1000
    if isinstance(time, int) and not isinstance(time, bool):
        return time
    if hasattr(time, "astype"):
        return int(time.astype("datetime64[ns]").astype("int64"))
    raise bad("time", time, "a datetime, date, numpy.datetime64, or integer nanoseconds since the epoch")
