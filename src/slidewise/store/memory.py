"""Stores in memory, shared by name inside the process: for tests, and for windows that need no durability.

``memory:NAME`` is the same store for everyone in this process who opens it, until the process ends; ``memory:`` is one
of its own. Keys lie in a sorted list beside the dict: O(log n) to find, O(n) moves of pointers to insert out of order.
"""

from __future__ import annotations

import secrets
import threading
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from slidewise.errors import StoreError, StoreLocked
from slidewise.store.base import Claim, Store
from slidewise.store.holder import Holder
from slidewise.store.keys import shown

_PIECE = 256


@dataclass
class _Content:
    """What a name stands for."""

    values: dict[bytes, bytes] = field(default_factory=dict)
    order: list[bytes] = field(default_factory=list)
    claims: dict[bytes, Claim] = field(default_factory=dict)
    lock: threading.RLock = field(default_factory=threading.RLock)


_named: dict[str, _Content] = {}
_naming = threading.Lock()


class MemoryStore(Store):
    """A dict with sorted keys.

    >>> from slidewise.store import open
    >>> store = open("memory:")
    >>> store.put_many({b"w/a/2": b"two", b"w/a/1": b"one"})
    >>> list(store.scan(b"w/a/", b"w/a0"))
    [(b'w/a/1', b'one'), (b'w/a/2', b'two')]
    """

    def __init__(self, name: str = "", create: bool = True) -> None:
        super().__init__(f"memory:{name}")
        self._mine: list[Claim] = []
        with _naming:
            if not create and name not in _named:
                raise StoreError(f"{self.url}: there is no such store in this process")
            self._content = _named.setdefault(name, _Content()) if name else _Content()

    def _get(self, keys: Sequence[bytes]) -> list[bytes | None]:
        with self._content.lock:
            return [self._content.values.get(key) for key in keys]

    def _scan(self, first: bytes, last: bytes) -> Iterator[tuple[bytes, bytes]]:
        content = self._content
        while True:
            with content.lock:
                start = bisect_left(content.order, first)
                piece = content.order[start : min(start + _PIECE, bisect_left(content.order, last))]
                found = [(key, content.values[key]) for key in piece]
            yield from found
            if len(found) < _PIECE:
                return
            first = found[-1][0] + b"\0"

    def _sizes(self, first: bytes, last: bytes) -> Iterator[tuple[bytes, int]]:
        return ((key, len(value)) for key, value in self._scan(first, last))

    def _put(self, items: Mapping[bytes, bytes], delete: Sequence[bytes], claim: Claim | None, durable: bool) -> None:
        content = self._content
        copies = {key: bytes(value) for key, value in items.items()}
        with content.lock:
            self._check_held(claim)
            for key in delete:
                if content.values.pop(key, None) is not None:
                    del content.order[bisect_left(content.order, key)]
            for key in copies.keys() - content.values.keys():
                content.order.insert(bisect_left(content.order, key), key)
            content.values.update(copies)

    def _delete_range(self, first: bytes, last: bytes, claim: Claim | None, durable: bool) -> None:
        content = self._content
        with content.lock:
            self._check_held(claim)
            start, end = bisect_left(content.order, first), bisect_left(content.order, last)
            for key in content.order[start:end]:
                del content.values[key]
            del content.order[start:end]

    def sync(self) -> None:
        """Nothing here survives the process."""

    def _claim(self, name: bytes) -> Claim:
        with self._content.lock:
            held = self._content.claims.get(name)
            if held is not None:
                raise StoreLocked(f"{self.url}: {shown(name)} is held by {held.holder} (this process)")
            claim = Claim(self, name, Holder.me(), secrets.token_bytes(8))
            self._content.claims[name] = claim
            self._mine.append(claim)
            return claim

    def _release(self, claim: Claim) -> None:
        with self._content.lock:
            if self._content.claims.get(claim.name) is claim:
                del self._content.claims[claim.name]

    def holder(self, name: bytes) -> Holder | None:
        """Who holds the window with this prefix; None if nobody does."""
        held = self._content.claims.get(name)
        return None if held is None else held.holder

    def _check_held(self, claim: Claim | None) -> None:
        if claim is not None and self._content.claims.get(claim.name) is not claim:
            raise StoreLocked(f"{self.url}: {shown(claim.name)} is held by another writer")

    def _close(self) -> None:
        for claim in self._mine:
            self.release(claim)
