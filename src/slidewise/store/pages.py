"""Pages as stored: a header with version, kind, length and checksum, then the payload. O(size); nothing is unpickled.

    ┌ swpg ┬ version ┬ 3 zeros ┬ kind, 8 ┬ length, 4 ┬ CRC-32, 4 ┬ payload ...
    0      4         5         8         16          20          24

The header has 24 bytes, so that columns of 8-byte numbers in the payload stay aligned. The checksum covers everything
but itself. A page that is missing, damaged, of another kind or of a newer version is refused before any of it is used.
"""

from __future__ import annotations

import struct
import zlib

from slidewise.errors import StoreCorrupt, bad
from slidewise.store.keys import shown

FORMAT = 1
"""Raised when a reader of the old format would misread the new one."""

_MAGIC = b"swpg"
_FRONT = struct.Struct("<4sB3x8sI")
_CHECK = struct.Struct("<I")

HEADER_BYTES = _FRONT.size + _CHECK.size


def seal(payload: bytes | bytearray | memoryview, kind: str) -> bytes:
    """A page of this kind: 1 to 8 ASCII letters, digits or signs that say what the payload is.

    >>> bytes(unseal(seal(b"columns", "nodes"), b"w/a/x", "nodes", "memory:"))
    b'columns'
    """
    name = kind.encode("ascii", "replace")
    if not 1 <= len(name) <= 8:
        raise bad("kind", kind, "1 to 8 ASCII characters")
    body = memoryview(payload).cast("B")
    front = _FRONT.pack(_MAGIC, FORMAT, name, len(body))
    return b"".join((front, _CHECK.pack(zlib.crc32(body, zlib.crc32(front))), body))


def unseal(blob: bytes | None, key: bytes, kind: str, url: str) -> memoryview:
    """The payload of the page that `seal` made, without a copy, or a `StoreCorrupt` that names the page and the store.

    `blob` is what the store returned for `key`, None too; `url` is the store's, for the message.
    """
    where = f"{url}: {shown(key)}"
    if blob is None:
        raise StoreCorrupt(f"{where}: is missing")
    if len(blob) < HEADER_BYTES or blob[:4] != _MAGIC:
        raise StoreCorrupt(f"{where}: is damaged: not a page")
    _, version, name, length = _FRONT.unpack_from(blob)
    if version > FORMAT:
        raise StoreCorrupt(f"{where}: is of format {version}; this version of slidewise reads up to {FORMAT}")
    (check,) = _CHECK.unpack_from(blob, _FRONT.size)
    body = memoryview(blob)[HEADER_BYTES:]
    if len(body) != length or zlib.crc32(body, zlib.crc32(blob[: _FRONT.size])) != check:
        raise StoreCorrupt(f"{where}: is damaged: its checksum does not match")
    found = name.rstrip(b"\0").decode("ascii", "replace")
    if found != kind:
        raise StoreCorrupt(f"{where}: holds {found!r}; expected {kind!r}")
    return body


def format_of(blob: bytes | None) -> int | None:
    """The format that a page says it has; None for what is no page."""
    return blob[4] if blob is not None and len(blob) > 4 and blob[:4] == _MAGIC else None
