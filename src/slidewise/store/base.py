"""Store: what every key-value store beneath a window offers. It knows bytes and keys, never a monoid.

    get_many   read, in one round trip             scan, sizes    a range, in key order
    put_many   write and delete, atomically        delete_range   a range, atomically
    claim      become the one writer of a window   sync, close

A batch is of one group of keys (keys.py: one window), and all or nothing, also after kill -9 of anyone at any moment.
Methods may be called from any thread. Failures are `StoreError`s that name the store's URL without its password; a
failed batch has changed nothing, unless the connection broke before the answer came: then it is there as a whole or
not at all, and may simply be written again.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Self

from slidewise.errors import StoreCorrupt, StoreError, StoreLocked, bad
from slidewise.store.holder import Holder
from slidewise.store.keys import MOST_KEY_BYTES, after, group, shown

FORMAT = 1
"""Of a store as a whole: how keys lie in it; pages have their own. Raised when an older version would misread it."""


class Claim:
    """The right to write one window, from `Store.claim` until `Store.release`; a context manager.

    Attributes
    ----------
    name
        What is claimed, the window's prefix.
    holder
        Who holds it: this process.
    token
        Distinguishes this claim from every other of the same name.
    """

    def __init__(self, store: Store, name: bytes, holder: Holder, token: bytes) -> None:
        self.store, self.name, self.holder, self.token = store, name, holder, token
        self.released = False

    def __repr__(self) -> str:
        return f"<Claim of {shown(self.name)} by {self.holder}{', released' if self.released else ''}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.store.release(self)


class Store(ABC):
    """Pages by key. Open one with `slidewise.store.open`.

    Attributes
    ----------
    url
        Where it is, without password, for messages.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self._closed = False

    # ---- reading --------------------------------------------------------------------------------------------------
    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """The values of these keys, in their order; None where there is none. One round trip."""
        self._check_open()
        return self._get(_checked(keys)) if keys else []

    def scan(self, first: bytes, last: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Keys and values from `first` up to, without, `last`, in key order.

        Read in pieces: a key written or deleted meanwhile may or may not be seen, every other is, once.
        """
        self._check_open()
        return self._scan(first, last)

    def sizes(self, first: bytes, last: bytes) -> Iterator[tuple[bytes, int]]:
        """Like `scan`, but each value's number of bytes instead of the value."""
        self._check_open()
        return self._sizes(first, last)

    # ---- writing --------------------------------------------------------------------------------------------------
    def put_many(
        self,
        items: Mapping[bytes, bytes],
        delete: Sequence[bytes] = (),
        *,
        claim: Claim | None = None,
        durable: bool = True,
    ) -> None:
        """Delete some keys, then write others, as one batch.

        Parameters
        ----------
        items, delete
            Keys of one group. A key that is in both is written.
        claim
            The right to write, from `claim`. If somebody else has taken it over, nothing is written and `StoreLocked`
            is raised, however late this process learns of it.
        durable
            Return only when the batch survives a power failure, and all before it with it. With False it may return
            earlier: the batch is visible to this store at once, and reaches the disk as a whole, after those before it
            and at the latest with the next durable one, `sync` or `close`; a crash before that may lose it.
        """
        self._check_open()
        keys = [*items, *delete]
        if not keys:
            return
        _one_group(_checked(keys))
        for key, value in items.items():
            if not isinstance(value, bytes | bytearray | memoryview):
                raise bad(f"items[{key!r}]", value, "bytes")
        self._check_claim(claim, group(keys[0]))
        self._put(items, delete, claim, durable)

    def delete_range(self, first: bytes, last: bytes, *, claim: Claim | None = None, durable: bool = True) -> None:
        """Delete all keys from `first` up to, without, `last`; atomic within each group. See `put_many`."""
        self._check_open()
        if first < last:
            self._check_claim(claim, one_group(first, last))
            self._delete_range(first, last, claim, durable)

    @abstractmethod
    def sync(self) -> None:
        """Return when all that was written survives a power failure."""

    # ---- the one writer -------------------------------------------------------------------------------------------
    def claim(self, name: bytes) -> Claim:
        """Become the one writer of the window with this prefix (`keys.prefix`), or raise `StoreLocked` naming who is.

        A process that died holds nothing: a file lock goes with it, and a lease on a server is taken over at once
        where the system tells us that its process is gone, else when it runs out.
        """
        self._check_open()
        if group(name) != name or not name:
            raise bad("name", name, "a window's prefix, as keys.prefix gives it")
        return self._claim(name)

    def release(self, claim: Claim) -> None:
        """Give up a claim, so that others may have it; a second time does nothing."""
        if not claim.released:
            claim.released = True
            if claim.holder.pid == os.getpid():  # a forked child has only a copy
                self._release(claim)

    @abstractmethod
    def holder(self, name: bytes) -> Holder | None:
        """Who holds the window with this prefix; None if nobody does."""

    # ---- its life -------------------------------------------------------------------------------------------------
    def close(self) -> None:
        """Release all claims, make everything durable, let go of files and connections; twice is once."""
        if not self._closed:
            try:
                self._close()
            finally:
                self._closed = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.url}{', closed' if self._closed else ''}>"

    def _check_open(self) -> None:
        if self._closed:
            raise StoreError(f"{self.url}: the store is closed")

    def _check_claim(self, claim: Claim | None, written: bytes) -> None:
        if claim is not None and claim.released:
            raise StoreLocked(f"{self.url}: the claim of {shown(claim.name)} was released; claim it again to write")
        if claim is not None and claim.holder.pid != os.getpid():
            raise StoreLocked(f"{self.url}: {shown(claim.name)} was claimed before this process was forked")
        if claim is not None and claim.name != written:
            raise bad("claim", claim.name, f"a claim of what is written, {written!r}")

    # ---- what a store is made of: arguments are checked, the store is open ------------------------------------------
    @abstractmethod
    def _get(self, keys: Sequence[bytes]) -> list[bytes | None]: ...

    @abstractmethod
    def _scan(self, first: bytes, last: bytes) -> Iterator[tuple[bytes, bytes]]: ...

    @abstractmethod
    def _sizes(self, first: bytes, last: bytes) -> Iterator[tuple[bytes, int]]: ...

    @abstractmethod
    def _put(
        self, items: Mapping[bytes, bytes], delete: Sequence[bytes], claim: Claim | None, durable: bool
    ) -> None: ...

    @abstractmethod
    def _delete_range(self, first: bytes, last: bytes, claim: Claim | None, durable: bool) -> None: ...

    @abstractmethod
    def _claim(self, name: bytes) -> Claim: ...

    @abstractmethod
    def _release(self, claim: Claim) -> None: ...

    @abstractmethod
    def _close(self) -> None: ...


def check_format(found: bytes, url: str) -> None:
    """Refuse a store of a newer format, given the number it was made with."""
    if not found.isdigit() or int(found) > FORMAT:
        version = found.decode("ascii", "replace")
        raise StoreCorrupt(f"{url}: is of format {version}; this version of slidewise reads up to {FORMAT}")


def one_group(first: bytes, last: bytes) -> bytes:
    """The group that all keys of a range are of; empty if they may be of several, or of none.

    >>> one_group(b"w/a/1", b"w/a0"), one_group(b"w/a/1", b"w/b/1")
    (b'w/a/', b'')
    """
    start = group(first)
    return start if start and last <= after(start) else b""


def _checked(keys: Sequence[bytes]) -> Sequence[bytes]:
    for key in keys:
        if not isinstance(key, bytes) or not 1 <= len(key) <= MOST_KEY_BYTES:
            raise bad("key", key, f"1 to {MOST_KEY_BYTES} bytes")
    return keys


def _one_group(keys: Sequence[bytes]) -> None:
    start = group(keys[0])
    for key in keys:
        if group(key) != start:
            raise bad("keys", [keys[0], key], "keys of one window, since a batch is atomic within one window")
