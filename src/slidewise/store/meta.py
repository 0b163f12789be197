"""A window's meta record: a JSON header that anyone can read, and a payload that only its window understands.

    page of kind "meta":  header's length, 4 │ JSON header │ payload

The header carries what `slidewise store inspect` shows; `HEADER` lists those fields. More may stand beside them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from slidewise.errors import StoreCorrupt
from slidewise.store.keys import shown
from slidewise.store.pages import seal, unseal

KIND = "meta"

HEADER = ("window", "aggregate", "elements", "generation", "levels", "updated")
"""What a header carries: the window and aggregate in words, the number of elements, the generation (how many snapshots
were written), per level the numbers of its first page and of the one behind its last, and when: ISO 8601, UTC."""


def pack(header: Mapping[str, Any], payload: bytes | memoryview = b"") -> bytes:
    """A meta record; the header is of plain JSON values.

    >>> header, payload = unpack(pack({"elements": 3}, b"tails"), b"w/a/meta", "memory:")
    >>> header, bytes(payload)
    ({'elements': 3}, b'tails')
    """
    written = json.dumps(header, separators=(",", ":")).encode()
    return seal(b"".join((len(written).to_bytes(4, "little"), written, payload)), KIND)


def unpack(blob: bytes | None, key: bytes, url: str) -> tuple[dict[str, Any], memoryview]:
    """The header and payload that `pack` was given, or a `StoreCorrupt`."""
    body = unseal(blob, key, KIND, url)
    end = 4 + int.from_bytes(body[:4], "little")
    try:
        header = json.loads(bytes(body[4:end]))
    except ValueError:
        header = None
    if not isinstance(header, dict):
        raise StoreCorrupt(f"{url}: {shown(key)}: is damaged: its header is not JSON")
    return header, body[end:]
