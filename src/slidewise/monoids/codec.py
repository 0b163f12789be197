"""Partials as bytes, without pickle: plain data as tagged JSON, anything else by the monoid's own codec.

Plain data is None, bool, int of any size, float with NaN and infinities, Decimal, str, bytes, datetime, date,
timedelta, and tuples, lists and dicts of them. A time zone is kept as its offset.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable, Collection
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

from slidewise.errors import SnapshotError
from slidewise.monoids.monoid import Monoid


def encode_plain(value: Any) -> bytes:
    """Plain data as bytes; raises `SnapshotError` naming the type it cannot store.

    >>> decode_plain(encode_plain((1, [2.5, None], {"k": b"x"})))
    (1, [2.5, None], {'k': b'x'})
    """
    return json.dumps(_tag(value), separators=(",", ":")).encode()


def decode_plain(stored: bytes) -> Any:
    """What `encode_plain` stored."""
    try:
        return _untag(json.loads(stored))
    except (ValueError, KeyError, TypeError) as error:
        raise SnapshotError(f"stored partial is damaged: {error}") from error


def codec_of(monoid: Monoid) -> tuple[Callable[[Any], bytes], Callable[[bytes], Any]]:
    """The monoid's declared codec, or the one for plain data."""
    return monoid.codec if monoid.codec is not None else (encode_plain, decode_plain)


def partial_schema(monoid: Monoid) -> str:
    """What a monoid's partials are made of, in words: stored beside them, so that a change is found out.

    >>> import slidewise as sw
    >>> partial_schema(sw.Monoid(identity=(0, 0.0), combine=lambda a, b: (a[0] + b[0], a[1] + b[1])))
    '(int, float)'
    """
    return _types_of(monoid.identity)


def _types_of(value: Any) -> str:
    return f"({', '.join(map(_types_of, value))})" if type(value) is tuple else type(value).__name__


_AS_IT_IS = frozenset({int, bool, str, type(None)})
"""Types that JSON tells apart by itself."""
_NESTED = frozenset({list, dict})


def _tag(value: Any) -> Any:
    kind = type(value)
    if kind in _AS_IT_IS:
        return value
    if kind is float:
        return value if math.isfinite(value) else {"f": repr(value)}
    if kind is tuple:
        return {"t": _tag_all(value)}
    if kind is list:
        return _tag_all(value)
    if kind is dict:
        return {"m": [_tag_all(value.keys()), _tag_all(value.values())]}
    return _tag_other(value)


def _tag_all(values: Collection[Any]) -> list[Any]:
    """Many at once: in most partials all are numbers, or all are strings, and none needs a look."""
    kinds = set(map(type, values))
    if kinds <= _AS_IT_IS or (kinds == {float} and all(map(math.isfinite, values))):
        return list(values)
    return [_tag(value) for value in values]


def _tag_other(value: Any) -> Any:
    if isinstance(value, bytes):
        return {"b": base64.b64encode(value).decode()}
    if isinstance(value, Decimal):
        return {"n": str(value)}
    if isinstance(value, datetime):
        return {"at": value.isoformat()}
    if isinstance(value, date):
        return {"on": value.isoformat()}
    if isinstance(value, timedelta):
        return {"for": [value.days, value.seconds, value.microseconds]}
    plain: type[Any]
    for plain in (int, float, str, list, dict):  # a type derived from one of them is stored as that one
        if isinstance(value, plain):
            return _tag(plain(value))
    raise SnapshotError(
        f"a partial of type {type(value).__name__} cannot be stored: give the Monoid a codec=(encode, decode), "
        "or build the partial of None, numbers, str, bytes, dates, times, tuple, list and dict"
    )


def _untag(stored: Any) -> Any:
    if isinstance(stored, list):
        return _untag_all(stored)
    if isinstance(stored, dict):
        ((tag, inside),) = stored.items()
        if tag == "f":
            return float(inside)
        if tag == "b":
            return base64.b64decode(inside, validate=True)
        if tag == "n":
            return Decimal(inside)
        if tag == "at":
            return datetime.fromisoformat(inside)
        if tag == "on":
            return date.fromisoformat(inside)
        if tag == "for":
            return timedelta(*inside)
        if tag == "t":
            return tuple(_untag_all(inside))
        if tag == "m":
            keys, values = inside
            return dict(zip(_untag_all(keys), _untag_all(values), strict=True))
        if tag == "d":  # as dicts were stored once: pair by pair
            return {_untag(key): _untag(part) for key, part in inside}
        if tag == "i":  # and integers: as digits
            return int(inside)
        raise KeyError(tag)
    return stored


def _untag_all(stored: list[Any]) -> list[Any]:
    return stored if _NESTED.isdisjoint(map(type, stored)) else [_untag(part) for part in stored]
