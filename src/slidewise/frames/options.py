"""The options of a buffer: what a user wrote, checked. All O(1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from slidewise.duration import is_duration
from slidewise.errors import ArgumentError, bad, shown, whole
from slidewise.frames.kind import Frame
from slidewise.frames.single import Order
from slidewise.windows.number import measured

Report = Literal["on_close", "on_update", "final"]
BUFFERS = ("tree", "multi", "single")
ORDERS = ("in_order", "eager", "lazy")
REPORTS = ("on_close", "on_update", "final")
LATES = ("keep", "drop", "error")


@dataclass(frozen=True)
class Options:
    """How a buffer works; lengths of time in units of its times."""

    buffer: str
    order: Order
    report: Report
    capacity: int | None
    every: int
    """A tick after so many events; 0 for ticks by time."""
    interval: Any
    evict_after: tuple[int, int] | None
    evict_age: Any
    evict_watermark: bool
    late: str
    axis: str
    """What lengths are measured along: "time", "order", or "any" if there are none."""


def options(
    kind: object,
    buffer: object,
    order: object,
    report: object,
    evict: object,
    tick: object,
    capacity: object,
    late: object,
) -> Options:
    """All of them, or `ArgumentError` for the first that will not do."""
    if not isinstance(kind, Frame):
        raise bad("kind", kind, "a kind of frame such as sw.frames.threshold(at_least=5)")
    for name, value, allowed in (("buffer", buffer, BUFFERS), ("report", report, REPORTS), ("late", late, LATES)):
        if not isinstance(value, str) or value not in allowed:
            raise bad(name, value, ", ".join(map(repr, allowed[:-1])) + f" or {allowed[-1]!r}")
    if buffer != "single":
        for name, given in (("order", order), ("capacity", capacity)):
            if given is not None:
                raise ArgumentError(f"{name}={shown(given)}: is for buffer='single'; buffer={buffer!r} has none")
    if order is not None and (not isinstance(order, str) or order not in ORDERS):
        raise bad("order", order, "'in_order', 'eager' or 'lazy'")
    cells = None if capacity is None else whole("capacity", capacity, least=1, below=2**40)
    every, interval = _ticks(tick)
    after, age = _evicts(evict)
    axis: str = kind.axis
    for name, given, length in (("tick", tick, interval), ("evict", evict, age)):
        along = axis if length is None else "time" if is_duration(given) else "order"
        if "any" not in (axis, along) and along != axis:
            raise ArgumentError(f"{name}={shown(given)}: expected all lengths of a buffer to be durations, or numbers")
        axis = along
    return Options(
        buffer=str(buffer),
        order=order or "eager",  # type: ignore[arg-type]
        report=report,  # type: ignore[arg-type]
        capacity=cells,
        every=every,
        interval=interval,
        evict_after=after,
        evict_age=age,
        evict_watermark=evict == "watermark" if isinstance(evict, str) else False,
        late=str(late),
        axis=axis,
    )


def _ticks(tick: object) -> tuple[int, Any]:
    if isinstance(tick, str) and tick == "event":
        return 1, None
    allowed = "'event', a number of events, a float along the order, or a duration such as '5 s'"
    try:
        along, length = measured("tick", tick)
    except ArgumentError as error:
        raise bad("tick", tick, allowed) from error
    if along == "rows":
        return int(length), None
    return 0, length


def _evicts(evict: object) -> tuple[tuple[int, int] | None, Any]:
    if evict is None or (isinstance(evict, str) and evict == "watermark"):
        return None, None
    allowed = "None, (X, Y): after X closed frames evict Y < X, an age (a number or a duration), or 'watermark'"
    if isinstance(evict, (tuple, list)):
        if len(evict) != 2:
            raise bad("evict", evict, allowed)
        after, number = (whole("evict", one, least=1, allowed=allowed) for one in evict)
        if number >= after:
            raise bad("evict", evict, "(X, Y) with Y < X: of X closed frames at least one stays")
        return (after, number), None
    try:
        _, age = measured("evict", evict, "order")
    except ArgumentError as error:
        raise bad("evict", evict, allowed) from error
    return None, age
