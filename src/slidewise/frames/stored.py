"""Frames as plain values and back: `Window.to_dict` writes them, `frame_from_dict` makes them again."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from slidewise.frames.kind import Boundary, Custom, Delta, Frame, Silence, Threshold, Total

KINDS: dict[str, type[Frame]] = {kind.__name__: kind for kind in (Threshold, Boundary, Delta, Silence)}
CODE = (Total.__name__, Custom.__name__)
"""Kinds that hold an aggregate or functions, which cannot be made again from what is stored."""


def is_frame(stored: dict[str, Any]) -> bool:
    """True if this is what a frame's `to_dict` wrote.

    >>> import slidewise as sw
    >>> is_frame(sw.frames.delta(2.0).to_dict()), is_frame(sw.trailing(3).to_dict())
    (True, False)
    """
    return stored.get("window") in (*KINDS, *CODE)


def frame_from_dict(stored: dict[str, Any]) -> Frame:
    """The frame that `Window.to_dict` wrote down; KeyError for one that holds code.

    >>> import slidewise as sw
    >>> frame_from_dict(sw.frames.boundary([0, 10]).to_dict())
    frames.boundary([0, 10])
    """
    given = {name: _number(value) if name in ("level", "size") else value for name, value in stored.items()}
    kind = KINDS[given.pop("window")]
    if "bounds" in given:
        given["bounds"] = tuple(_number(one) for one in given["bounds"])
    return kind(**given)


def _number(value: Any) -> Any:
    """A level; decimals are stored as they are written."""
    return Decimal(value.removeprefix("Decimal('").removesuffix("')")) if isinstance(value, str) else value
