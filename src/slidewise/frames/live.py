"""What a live buffer holds and hands out: events, frames over them, the frontier, and rows for the reader."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

Key = tuple[Any, int]
"""The order of events: time, then arrival."""

State = tuple[Any, ...]
"""As frames/fold.py has it."""

Op = Literal["+I", "-U", "+U", "-D"]
Partials = tuple[Any, ...]
"""One partial per aggregate; None where there was no value."""


class Event:
    """One event: its place, what was pushed, what the fold takes of it, and the fold's state after it."""

    __slots__ = ("inputs", "key", "next", "ok", "prev", "state", "time", "value")

    def __init__(self, key: Key, time: Any, value: Any, inputs: tuple[Any, ...], ok: bool) -> None:
        self.key = key
        self.time = time
        self.value = value
        self.inputs = inputs
        self.ok = ok
        self.state: State | None = None
        self.prev: Event | None = None
        self.next: Event | None = None


@dataclass(frozen=True)
class Head:
    """What is known of a frame's events that were evicted."""

    count: int
    partials: Partials


class LiveFrame:
    """A frame: its first and last event, and who closed it. `first` and `last` are None if all of it was evicted."""

    __slots__ = ("closed", "closer", "count", "first", "fragment", "head", "key", "last", "next", "prev", "start")

    def __init__(self, first: Event, fragment: int) -> None:
        self.key = first.key
        self.start = first.time
        self.first: Event | None = first
        self.last: Event | None = first
        self.fragment = fragment
        self.closed = False
        self.closer: Event | None = None
        self.count: int | None = None
        """Without those of `head`; None if nobody counted yet."""
        self.head: Head | None = None
        self.prev: LiveFrame | None = None
        self.next: LiveFrame | None = None

    def ends(self, last: Event | None, closer: Event | None) -> None:
        """It ends with `last`; a `closer` closed it."""
        self.last = last
        self.closer = closer
        self.closed = closer is not None


@dataclass(frozen=True)
class Frontier:
    """The last evicted event and the fold's state after it: all that what is kept depends on."""

    key: Key | None
    state: State
    time: Any = None


class _Interval(NamedTuple):
    start: Any
    end: Any
    size: int


class Interval(_Interval):
    """Where a frame lies: ``(start, end, size)``; `seq` tells frames that start at the same time apart."""

    seq: int

    def __new__(cls, start: Any, end: Any, size: int, seq: int) -> Interval:
        made = super().__new__(cls, start, end, size)
        made.seq = seq
        return made

    @property
    def key(self) -> tuple[Any, int]:
        """The frame's id."""
        return (self.start, self.seq)


class FrameRow(NamedTuple):
    """A frame as the reader sees it: `key` is (start time, start seq), `results` by the aggregates' names."""

    key: tuple[Any, int]
    start: Any
    end: Any
    count: int  # type: ignore[assignment]
    results: dict[str, Any]
    closed: bool
    fragment: int = 0


class FrameChange(NamedTuple):
    """One entry of the changelog: what happens to the frame `key`, and the row that comes or goes.

    `+I` a new row, `-U` and `+U` the row before and after a correction, `-D` a row that is no more. `version` counts
    the rows of one key.
    """

    op: Op
    key: tuple[Any, int]
    version: int
    start: Any
    end: Any
    count: int  # type: ignore[assignment]
    results: dict[str, Any]
    closed: bool
    fragment: int = 0


class LateEvent(NamedTuple):
    """An event, or a change to one, that came when its place had been evicted or was final already."""

    op: Literal["push", "remove", "correct"]
    time: Any
    seq: int
    value: Any
