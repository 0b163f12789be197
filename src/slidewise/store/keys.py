"""Where a window's records lie in a store: a prefix per window, a meta record, and pages by level and number.

    w/ID/meta                     the window's meta record (meta.py)
    w/ID/p/LEVEL NUMBER           a page: LEVEL in one byte, NUMBER in eight, both big-endian

So the pages of a level lie side by side in the order of their numbers, the levels side by side in a window, and a range
of keys is a range of pages. ID is the window's name with everything but letters, digits and ``_.-~`` percent-encoded:
it has no slash, so no window's range reaches into another's. All keys of a window share its prefix, its *group*: a
batch is of one group, which is what lets a Redis Cluster keep it in one slot.
"""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import quote, unquote

from slidewise.errors import bad

MOST_KEY_BYTES = 511
"""No key is longer: LMDB's limit, kept by every store."""

MOST_NAME_BYTES = 400
"""Of a window's name, percent-encoded."""

_ROOT = b"w/"
_META = b"meta"
_PAGES = b"p/"
_NUMBER_BYTES = 8


class PageKey(NamedTuple):
    """What a page's key says."""

    window: str
    level: int
    number: int


def prefix(window: str) -> bytes:
    """What all keys of a window begin with.

    >>> prefix("power/line 1")
    b'w/power%2Fline%201/'
    """
    name = quote(window, safe="").encode() if isinstance(window, str) else b""
    if not 1 <= len(name) <= MOST_NAME_BYTES:
        raise bad("window", window, f"a name of 1 to {MOST_NAME_BYTES} bytes, percent-encoded")
    return _ROOT + name + b"/"


def meta(window: str) -> bytes:
    """The key of a window's meta record.

    >>> meta("power")
    b'w/power/meta'
    """
    return prefix(window) + _META


def page(window: str, level: int, number: int) -> bytes:
    """The key of one page.

    >>> page("power", 2, 258)
    b'w/power/p/\\x02\\x00\\x00\\x00\\x00\\x00\\x00\\x01\\x02'
    """
    if not 0 <= level < 256:
        raise bad("level", level, "an integer from 0 to 255")
    if not 0 <= number < 2**64:
        raise bad("number", number, "an integer from 0 to 2**64 - 1")
    return prefix(window) + _PAGES + bytes([level]) + number.to_bytes(_NUMBER_BYTES, "big")


def page_range(window: str, level: int, first: int = 0, last: int | None = None) -> tuple[bytes, bytes]:
    """The range of keys of a level's pages from number `first` up to, without, `last`; None is the level's end.

    >>> low, high = page_range("power", 2, 7, 9)
    >>> low <= page("power", 2, 7) < page("power", 2, 8) < high == page("power", 2, 9)
    True
    """
    end = after(prefix(window) + _PAGES + bytes([level])) if last is None else page(window, level, last)
    return page(window, level, first), end


def window_range(window: str) -> tuple[bytes, bytes]:
    """The range of all keys of a window.

    >>> window_range("power")
    (b'w/power/', b'w/power0')
    """
    start = prefix(window)
    return start, after(start)


def all_windows() -> tuple[bytes, bytes]:
    """The range of all keys of all windows."""
    return _ROOT, after(_ROOT)


def after(start: bytes) -> bytes:
    """The least key behind all that begin with `start`.

    >>> after(b"a/"), after(b"a\\xff")
    (b'a0', b'b')
    """
    cut = start.rstrip(b"\xff")
    return cut[:-1] + bytes([cut[-1] + 1])


def group(key: bytes) -> bytes:
    """The part of a key that all keys of one batch share: up to its second slash; empty if it has none.

    >>> group(b"w/power/meta"), group(b"other")
    (b'w/power/', b'')
    """
    end = key.find(b"/", key.find(b"/") + 1) + 1
    return key[:end]


def window_of(key: bytes) -> str | None:
    """The window that a key belongs to; None for keys of another layout.

    >>> window_of(b"w/line%201/meta"), window_of(b"other")
    ('line 1', None)
    """
    parts = key.split(b"/", 2)
    if len(parts) < 3 or parts[0] + b"/" != _ROOT:
        return None
    return unquote(parts[1].decode("ascii", "replace"))


def page_of(key: bytes) -> PageKey | None:
    """What a page's key says; None for any other key.

    >>> page_of(page("line 1", 2, 258)), page_of(b"w/line%201/meta")
    (PageKey(window='line 1', level=2, number=258), None)
    """
    window = window_of(key)
    rest = key.split(b"/", 2)[-1]
    if window is None or not rest.startswith(_PAGES) or len(rest) != len(_PAGES) + 1 + _NUMBER_BYTES:
        return None
    return PageKey(window, rest[len(_PAGES)], int.from_bytes(rest[-_NUMBER_BYTES:], "big"))


def shown(key: bytes) -> str:
    """A key for a message.

    >>> shown(page("power", 2, 258)), shown(meta("power")), shown(prefix("power"))
    ("window 'power', level 2, page 258", "window 'power', meta record", "window 'power'")
    """
    at = page_of(key)
    if at is not None:
        return f"window {at.window!r}, level {at.level}, page {at.number}"
    window = window_of(key)
    ends = {prefix(window): "", meta(window): ", meta record"} if window else {}
    return f"window {window!r}{ends[key]}" if key in ends else f"key {key!r}"
