"""Snapshots as bytes, without pickle: a line that says what it is, a JSON header, and parts of any length.

    slidewise live window 1 89abcdef⏎       what, format, CRC-32 of all that follows
    {"kind": "int", ..., "lengths": [7, 9]}⏎
    ┌part─┬part───┐

A damaged, cut or newer snapshot is refused before any of it is used. O(size).
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

from slidewise.errors import SnapshotError, bad

FORMAT = 1
"""Raised when a reader of the old format would misread the new one."""

_FIRST = re.compile(rb"slidewise ([a-z ]+) (\d+) ([0-9a-f]{8})\n")


def pack(what: str, header: Mapping[str, Any], parts: Sequence[bytes]) -> bytes:
    """A snapshot of `what`; the header is of plain JSON values.

    >>> unpack("live window", pack("live window", {"kind": "int"}, [b"abc", b""]))
    ({'kind': 'int'}, [b'abc', b''])
    """
    written = json.dumps({**header, "lengths": [len(part) for part in parts]})
    body = b"\n".join([written.encode(), b"".join(parts)])
    return f"slidewise {what} {FORMAT} {zlib.crc32(body):08x}\n".encode() + body


def unpack(what: str, blob: bytes) -> tuple[dict[str, Any], list[bytes]]:
    """The header and parts that `pack` was given, or a `SnapshotError`."""
    if not isinstance(blob, (bytes, bytearray, memoryview)):
        raise bad("blob", blob, "the bytes of a snapshot")
    blob = bytes(blob)
    first = _FIRST.match(blob)
    if first is None or first[1] != what.encode():
        raise SnapshotError(f"not the snapshot of a {what}, or a damaged one")
    if not 1 <= int(first[2]) <= FORMAT:
        raise SnapshotError(f"the snapshot is of format {int(first[2])}; this version reads up to {FORMAT}")
    body = blob[first.end() :]
    if zlib.crc32(body) != int(first[3], 16):
        raise SnapshotError("the snapshot is damaged: its checksum does not match")
    written, _, rest = body.partition(b"\n")
    header = json.loads(written)
    parts, at = [], 0
    for length in header.pop("lengths"):
        parts.append(rest[at : at + length])
        at += length
    return header, parts
