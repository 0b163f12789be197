"""The exceptions a user can meet, and the wording they share.

Every message names the argument, the value it had and what is allowed, and is raised before any work starts.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sized


class SlidewiseError(Exception):
    """Everything this package raises on purpose; catch it to catch all of them."""


class ArgumentError(SlidewiseError, ValueError):
    """A bad argument, column, duration or window; also a `ValueError`."""


class LateEventError(SlidewiseError):
    """An event came after its answer was given, where `late="error"`."""


class BufferFull(SlidewiseError):
    """A buffer of frames with a fixed capacity has no free cell; what it holds is as it was."""


class LawError(SlidewiseError, AssertionError):
    """A monoid breaks one of its laws; the message names the law and the values."""


class SnapshotError(SlidewiseError, ValueError):
    """A snapshot or page is damaged, from a newer version, or of another query."""


class StoreError(SlidewiseError):
    """A store cannot do what was asked; the message names its URL, never a password."""


class StoreUnreachable(StoreError):
    """No answer from the store's server, or no permission to talk to it; what was acknowledged before is kept."""


class StoreLocked(StoreError):
    """Another writer holds the window, or has taken it over; the message says who and since when."""


class StoreFull(StoreError):
    """No room for a batch: none of it was written, and all that was there before is still readable."""


class StoreCorrupt(StoreError):
    """A page or the store's file is damaged, missing or of a newer format."""


def bad(argument: str, value: object, allowed: str) -> ArgumentError:
    """The usual message: which argument, what it was, what it may be.

    >>> str(bad("threads", 0, "an integer of at least 1, or None for all cores"))
    'threads=0: expected an integer of at least 1, or None for all cores'
    """
    return ArgumentError(f"{argument}={shown(value)}: expected {allowed}")


def whole(argument: str, value: object, least: int, allowed: str = "", below: int = 2**63) -> int:
    """An integer argument, NumPy's integers too, or the usual message.

    >>> whole("n", 3, least=1)
    3
    """
    try:
        number = None if isinstance(value, bool) else operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        number = None
    if number is None or not least <= number < below:
        raise bad(argument, value, allowed or f"an integer of at least {least}")
    return number


def shown(value: object, limit: int = 200) -> str:
    """A value for a message, always one line: its repr, or its type where that is long.

    >>> shown(1.5), shown(list(range(1000)))
    ('1.5', '<list of 1000>')
    """
    try:
        size = len(value) if isinstance(value, Sized) else 0
    except TypeError:  # an array without dimensions
        size = 0
    text = repr(value) if size <= limit or isinstance(value, str) else ""
    if text and len(text) <= limit and "\n" not in text:
        return text
    kind = (
        type(value).__name__
        if type(value).__module__ == "builtins"
        else f"{type(value).__module__}.{type(value).__name__}"
    )
    return f"<{kind} of {size}>" if size else f"<{kind}>"


def listed(names: Iterable[object], limit: int = 20) -> str:
    """Names for a message, quoted, cut after `limit`.

    >>> listed(["a", "b"])
    "'a', 'b'"
    """
    shown = [repr(name) for name in names]
    if len(shown) > limit:
        shown = [*shown[:limit], f"... ({len(shown)} in all)"]
    return ", ".join(shown) if shown else "none"
