"""From where to where the order of a split goes: where order matters, splits must not overlap."""

from __future__ import annotations

from typing import Any

from slidewise.errors import ArgumentError
from slidewise.incremental.manifest import Split
from slidewise.monoids.codec import decode_plain


def ends_of(told: list[Any], node: str) -> tuple[str | None, str | None]:
    """The ends of a split's order over all that tasks said of it; None where order does not matter."""
    lows = [row.low for row in told if row.node == node and row.low is not None]
    highs = [row.high for row in told if row.node == node and row.high is not None]
    return min(lows, key=_value, default=None), max(highs, key=_value, default=None)


def refuse_disorder(splits: list[Split]) -> None:
    """Raise `ArgumentError` if a split begins before the one before it ends."""
    last: Split | None = None
    for one in splits:
        if one.low is None:
            continue
        if last is not None and last.high is not None and _value(one.low) < _value(last.high):
            raise ArgumentError(
                f"add={one.name!r}: begins at {_value(one.low)!r}, before split {last.name!r} ends at "
                f"{_value(last.high)!r}; expected splits in order, since the query depends on the order of rows"
            )
        last = one


def _value(text: str) -> Any:
    return decode_plain(text.encode())
