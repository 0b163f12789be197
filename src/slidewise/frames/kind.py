"""Frames, as frozen values: windows that the data cuts. A kind of frame is a fold over the events in order.

threshold("v", at_least=5)       while v stays at 5 or more
  3  7  8  6  2  1  9  5
    [───────]     [────]

delta("v", 2.0)                  while v stays within 2.0 of the frame's first value
  3  4  4  7  8  8  2
  [─────][──────][──]

Per event, in this order: does it *close* the open frame? if not, it *updates* it; if none is open, does it *open* one?
Values here hold no state; the fold is frames/fold.py, what a user writes is checked in frames/make.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Literal

from slidewise.duration import in_words
from slidewise.monoids.aggregate import Aggregate
from slidewise.windows.window import Axis, Length, Window

Anchor = Literal["first", "range"]
Crossing = Literal["exclude", "include"]
Number = int | float | Decimal


@dataclass(frozen=True, kw_only=True, repr=False)
class Frame(Window):
    """What every kind of frame has.

    `min_count` and `min_duration` leave frames out of the result; they never change where others are cut. `max_count`
    and `max_duration` close a frame by force: what follows is the next fragment of it. `axis` "any" becomes what the
    order is when a call is planned.
    """

    axis: Axis = "any"
    min_count: int = 0
    max_count: int | None = None
    min_duration: Length | None = None
    max_duration: Length | None = None

    @property
    def per_event(self) -> bool:
        return False

    @property
    def lengths(self) -> tuple[Length, ...]:
        return tuple(length for length in (self.min_duration, self.max_duration) if length is not None)

    @property
    def fragments(self) -> bool:
        """True if a frame may be closed by force, so that its fragments are numbered."""
        return self.max_count is not None or self.max_duration is not None

    @property
    def whole(self) -> bool:
        """True if every event is in a frame."""
        return True

    @property
    def reads(self) -> tuple[str | None, ...]:
        """The columns whose values cut; None is the value of a plain sequence."""
        return ()

    def to_dict(self) -> dict[str, Any]:
        """The kind as plain values; a decimal as it is written."""
        return {name: repr(one) if isinstance(one, Decimal) else one for name, one in super().to_dict().items()}

    def _options(self) -> list[str]:
        said = [f"{name}={value!r}" for name in ("min_count", "max_count") if (value := getattr(self, name))]
        for name in ("min_duration", "max_duration"):
            length = getattr(self, name)
            if length is not None:
                said.append(f"{name}={in_words(int(length)) if self.axis == 'time' else length!r}")
        return said

    def _said(self, name: str, *parts: str) -> str:
        column = [repr(one) for one in self.reads if one is not None]
        return f"frames.{name}({', '.join([*column, *parts, *self._options()])})"


@dataclass(frozen=True, kw_only=True, repr=False)
class Threshold(Frame):
    """While the value stays at `level` or more, or below it; other events are in no frame."""

    column: str | None
    level: Number
    below: bool = False

    @property
    def whole(self) -> bool:
        return False

    @property
    def reads(self) -> tuple[str | None, ...]:
        return (self.column,)

    def __repr__(self) -> str:
        return self._said("threshold", f"{'below' if self.below else 'at_least'}={self.level!r}")


@dataclass(frozen=True, kw_only=True, repr=False)
class Boundary(Frame):
    """While the value stays between the same two of `bounds`."""

    column: str | None
    bounds: tuple[Number, ...]

    @property
    def reads(self) -> tuple[str | None, ...]:
        return (self.column,)

    def to_dict(self) -> dict[str, Any]:
        bounds = [repr(one) if isinstance(one, Decimal) else one for one in self.bounds]
        return {**super().to_dict(), "bounds": bounds}

    def __repr__(self) -> str:
        return self._said("boundary", repr(list(self.bounds)))


@dataclass(frozen=True, kw_only=True, repr=False)
class Delta(Frame):
    """While the value stays within `size` of the first one, or all values within `size` of each other."""

    column: str | None
    size: Number
    anchor: Anchor = "first"

    @property
    def reads(self) -> tuple[str | None, ...]:
        return (self.column,)

    def __repr__(self) -> str:
        return self._said("delta", repr(self.size), *([] if self.anchor == "first" else [f"anchor={self.anchor!r}"]))


@dataclass(frozen=True, kw_only=True, repr=False)
class Total(Frame):
    """While an aggregate of the frame stays within `limit`."""

    aggregate: Aggregate
    limit: Number
    crossing: Crossing = "exclude"
    strict: bool = True

    def to_dict(self) -> dict[str, Any]:
        """The kind as plain values; its aggregate stands there as it is written."""
        version = getattr(self.aggregate.source, "version", 1)
        return {**super().to_dict(), "aggregate": repr(self.aggregate), "version": version}

    def __repr__(self) -> str:
        more = [] if self.crossing == "exclude" else [f"crossing={self.crossing!r}"]
        more += [] if self.strict else ["strict=False"]
        return self._said("aggregate", repr(self.aggregate), f"limit={self.limit!r}", *more)


@dataclass(frozen=True, kw_only=True, repr=False)
class Silence(Frame):
    """While each event follows the last within `gap`."""

    gap: Length

    @property
    def lengths(self) -> tuple[Length, ...]:
        return (self.gap, *super().lengths)

    def __repr__(self) -> str:
        return self._said("session", repr(in_words(int(self.gap)) if self.axis == "time" else self.gap))


@dataclass(frozen=True, kw_only=True, repr=False)
class Custom(Frame):
    """As three functions of a user's say, over a state of theirs."""

    open: Callable[..., Any]
    update: Callable[..., Any]
    close: Callable[..., Any]
    state: Any
    columns: tuple[str, ...] = field(default=())
    carries: bool = False

    @property
    def whole(self) -> bool:
        return False

    @property
    def reads(self) -> tuple[str | None, ...]:
        return self.columns or (None,)

    def to_dict(self) -> dict[str, Any]:
        """The kind as plain values; functions are code, so they stand there by their names only."""
        functions = {name: _name(getattr(self, name)) for name in ("open", "update", "close")}
        return {**super().to_dict(), **functions, "state": repr(self.state), "columns": list(self.columns)}

    def __repr__(self) -> str:
        functions = [_name(one) for one in (self.open, self.update, self.close)]
        said = ", ".join([*functions, repr(self.state), *map(repr, self.columns)])
        return f"frames.custom({', '.join([said, *(['carries=True'] if self.carries else []), *self._options()])})"


def _name(function: Any) -> str:
    return str(getattr(function, "__name__", type(function).__name__))
