"""Events at the door of a buffer: values that the kind can cut by, times as numbers along the order. O(1) per event.

Times are numbers, or moments (datetime, date, numpy.datetime64), which become nanoseconds since the epoch; a frame
whose lengths are durations takes integers as such nanoseconds. The first event decides which of the two it is.
"""

from __future__ import annotations

import numbers
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np

from slidewise.errors import ArgumentError, bad, shown
from slidewise.frames.feed import Feed, Feeds
from slidewise.frames.kind import Boundary, Custom, Delta, Frame, Silence, Threshold, Total
from slidewise.frames.live import Event, Key
from slidewise.monoids.kinds import ACCEPTS, Kind, kind_of_value

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MOMENTS = "a datetime, date or numpy.datetime64"


class Door:
    """What comes in; it knows of what kind the values are once the first one has come."""

    def __init__(self, kind: Frame, feeds: Feeds, axis: str, value_kind: object = None) -> None:
        self._axis = axis
        self.kind = kind
        self.feeds = feeds
        self.total = Feed(kind.aggregate, "kind") if isinstance(kind, Total) else None
        self.arity = max(1, len(kind.columns)) if isinstance(kind, Custom) else 1
        self._all = [*feeds.feeds, *([self.total] if self.total is not None else [])]
        self._depends = any(not feed.any_kind for feed in self._all)
        if value_kind is not None and value_kind not in ACCEPTS:
            raise bad(
                "value_kind", value_kind, f"one of {', '.join(map(repr, ACCEPTS))}, or None for the first value's"
            )
        self.value_kind: Kind | None = value_kind
        self.floats: bool | None = None
        """Whether times are floats; None before the first one."""
        self.moments: bool | None = None
        for feed in self._all:
            if feed.any_kind:
                feed.settle("object")
        if self.value_kind is not None:
            self._settle(self.value_kind)

    # ---- values ----
    def value(self, value: Any) -> Any:
        """A value as the buffer keeps it, or `ArgumentError`; nothing is decided yet."""
        if isinstance(value, (np.number, np.bool_)):
            value = value.item()
        if value is None:
            return None
        if self.arity > 1:
            if not isinstance(value, (tuple, list)) or len(value) != self.arity:
                raise bad("value", value, f"{self.arity} values, one for each column of {self.kind!r}")
            return tuple(one.item() if isinstance(one, (np.number, np.bool_)) else one for one in value)
        if isinstance(self.kind, (Threshold, Boundary, Delta)) and not isinstance(value, (numbers.Real, Decimal)):
            raise bad("value", value, "a number, or None for a null")
        if self._depends and self.value_kind is not None and kind_of_value(value) not in ACCEPTS[self.value_kind]:
            wider = "float" if kind_of_value(value) == "float" and self.value_kind in ("int", "bool") else "object"
            raise ArgumentError(
                f"value={shown(value)}: is of kind {kind_of_value(value)}, the buffer's values are of kind "
                f"{self.value_kind}; expected more of those, or Buffer(..., value_kind={wider!r}) from the start"
            )
        return value

    def decides(self, value: Any) -> bool:
        """True if this is the first value, so that what depends on values' kind can be chosen now."""
        return value is not None and self.value_kind is None

    def decide(self, value: Any) -> None:
        """Choose what depends on the values' kind, or raise `ArgumentError`."""
        self._settle(kind_of_value(value) if self.arity == 1 else "object")

    def _settle(self, kind: Kind) -> None:
        for feed in self._all:
            if not feed.any_kind:
                feed.settle(kind)
        self.value_kind = kind

    def event(self, key: Key, time: Any, value: Any) -> Event:
        """The event, with what the fold takes of it."""
        inputs, ok = self.cut_by(value, key)
        return Event(key, time, value, inputs, ok)

    def cut_by(self, value: Any, key: Key) -> tuple[tuple[Any, ...], bool]:
        """What the fold takes of a value, and whether that says anything."""
        if self.total is not None:
            ok = self.total.counts(value)
            return (self.total.inputs(value, key) if ok else ([None],)), ok
        if isinstance(self.kind, Silence):
            return ([value],), True
        if self.arity > 1:
            values = (None,) * self.arity if value is None else value
            return tuple([one] for one in values), all(one is not None for one in values)
        return ([value],), value is not None

    # ---- times ----
    def place(self, time: Any, argument: str = "time") -> Any:
        """A time as a number along the order, or `ArgumentError`."""
        at, moment = _number(time, argument, self._axis)
        if self.moments is not None and moment != self.moments and self._axis != "time":
            expected = MOMENTS if self.moments else "a number, as the buffer's first time was"
            raise bad(argument, time, expected)
        return at

    def meet(self, time: Any, at: Any) -> None:
        """The first event's time decides what times are."""
        if self.floats is None:
            lengths = (*self.kind.lengths,)
            self.floats = isinstance(at, float) or any(isinstance(one, float) for one in lengths)
            self.moments = _number(time, "time", self._axis)[1]


def _number(time: Any, argument: str, axis: str) -> tuple[Any, bool]:
    """The number, and whether it was said as a moment."""
    if hasattr(time, "to_datetime64"):  # a pandas Timestamp, which a datetime would cut to microseconds
        time = time.to_datetime64()
    moment: int | None = None
    if isinstance(time, np.datetime64) and not np.isnat(time):
        moment = int(time.astype("datetime64[ns]").astype(np.int64))
    elif isinstance(time, datetime):
        aware = time if time.tzinfo is not None else time.replace(tzinfo=UTC)
        moment = (aware - EPOCH) // timedelta(microseconds=1) * 1000
    elif isinstance(time, date):
        moment = (time - EPOCH.date()) // timedelta(microseconds=1) * 1000
    if moment is not None:
        if axis == "order":
            raise bad(argument, time, "a number: the frame's lengths are numbers along the order")
        return moment, True
    value = time.item() if isinstance(time, np.number) else time
    if axis == "time" and (isinstance(value, bool) or not isinstance(value, int)):
        raise bad(argument, time, f"{MOMENTS}, or integer nanoseconds since the epoch: lengths are durations")
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value:
        raise bad(argument, time, f"a number, the event's place along the order, or {MOMENTS}")
    return value, False
