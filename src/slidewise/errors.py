"""The exceptions a user can meet, and the wording they share.

Every message names the argument, the value it had and what is allowed, and is raised before any work starts.
"""

from __future__ import annotations

from collections.abc import Iterable


class SlidewiseError(Exception):
    """Everything this package raises on purpose; catch it to catch all of them."""


class ArgumentError(SlidewiseError, ValueError):
    """A bad argument, column, duration or window; also a `ValueError`."""


class LateEventError(SlidewiseError):
    """An event came after its answer was given, where `late="error"`."""


class LawError(SlidewiseError, AssertionError):
    """A monoid breaks one of its laws; the message names the law and the values."""


class SnapshotError(SlidewiseError, ValueError):
    """A snapshot or page is damaged, from a newer version, or of another query."""


def bad(argument: str, value: object, allowed: str) -> ArgumentError:
    """The usual message: which argument, what it was, what it may be.

    >>> str(bad("threads", 0, "an integer of at least 1, or None for all cores"))
    'threads=0: expected an integer of at least 1, or None for all cores'
    """
    return ArgumentError(f"{argument}={value!r}: expected {allowed}")


def listed(names: Iterable[object], limit: int = 20) -> str:
    """Names for a message, quoted, cut after `limit`.

    >>> listed(["a", "b"])
    "'a', 'b'"
    """
    shown = [repr(name) for name in names]
    if len(shown) > limit:
        shown = [*shown[:limit], f"... ({len(shown)} in all)"]
    return ", ".join(shown) if shown else "none"
