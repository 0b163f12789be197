"""The embedded store, ``disk:PATH`` or ``lmdb:PATH``: a folder with an LMDB file, beside it the claims.

    PATH/data.mdb    a B+ tree in one memory-mapped file, copied on write: a commit writes new pages, waits for the
                     disk, then switches the root, so a reader or a crash sees one commit or the next, never between
    PATH/lock.mdb    LMDB's table of readers, made anew whenever nobody has the store open
    PATH/claims/     a lock file per window (claims.py)

Reads and writes cost O(log n) pages of 4 KB plus the value's own. What is read lies in the system's page cache, not in
this process's private memory. The map's size is only address space: it is doubled when it is full. Deleted pages are
used again; the file does not shrink. Values above 2 KB take whole 4 KB pages, 16 bytes of them LMDB's own.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import lmdb

from slidewise.errors import StoreError
from slidewise.store.base import Claim, Store
from slidewise.store.claims import FileClaims
from slidewise.store.holder import Holder
from slidewise.store.lmdb_file import LmdbFile, told

_PIECE = 256
_T = TypeVar("_T")

_files: dict[tuple[int, str], LmdbFile] = {}
"""The files this process has open, by process number (a forked child must not use its parent's) and real path."""

_opening = threading.Lock()


class DiskStore(Store):
    """Pages in an LMDB file; O(log n) per key, one wait for the disk per batch.

    >>> import tempfile
    >>> from slidewise.store import open
    >>> place = tempfile.mkdtemp()
    >>> with open(f"disk:{place}/windows") as store:
    ...     store.put_many({b"w/a/1": b"one", b"w/a/2": b"two"})
    >>> with open(f"disk:{place}/windows", create=False) as store:
    ...     store.get_many([b"w/a/2"])
    [b'two']
    """

    def __init__(self, path: str, url: str, create: bool, durable: bool) -> None:
        super().__init__(url)
        place = Path(path).expanduser()
        _make(place, create, self.url)
        here = os.path.realpath(place)
        with _opening:
            file = _files.get((os.getpid(), here))
            if file is None:
                file = _files[os.getpid(), here] = LmdbFile(Path(here), self.url, durable)
            elif durable and not file.durable:
                raise StoreError(f"{self.url}: is open in this process without durability; close it there first")
            file.users += 1
        self._file = file
        self._claims = FileClaims(Path(here) / "claims", self.url)
        self._mine: list[Claim] = []

    def _check_open(self) -> None:
        super()._check_open()
        if self._file.pid != os.getpid():
            raise StoreError(
                f"{self.url}: was opened before this process was forked; open it in the process that uses it"
            )

    def _get(self, keys: Sequence[bytes]) -> list[bytes | None]:
        def look(txn: Any) -> list[bytes | None]:
            found = [txn.get(key) for key in keys]
            return [None if value is None else bytes(value) for value in found]

        return self._file.read(look)

    def _scan(self, first: bytes, last: bytes) -> Iterator[tuple[bytes, bytes]]:
        return self._pieces(first, last, bytes)

    def _sizes(self, first: bytes, last: bytes) -> Iterator[tuple[bytes, int]]:
        return self._pieces(first, last, len)

    def _pieces(self, first: bytes, last: bytes, of: Callable[[Any], _T]) -> Iterator[tuple[bytes, _T]]:
        """A range, each piece in a transaction of its own: an open one would keep the map from growing."""

        def look(txn: Any) -> list[tuple[bytes, _T]]:
            found: list[tuple[bytes, _T]] = []
            cursor = txn.cursor()
            more = cursor.set_range(first)
            while more and len(found) < _PIECE and (key := bytes(cursor.key())) < last:
                found.append((key, of(cursor.value())))
                more = cursor.next()
            return found

        while True:
            self._check_open()
            found = self._file.read(look)
            yield from found
            if len(found) < _PIECE:
                return
            first = found[-1][0] + b"\0"

    def _put(self, items: Mapping[bytes, bytes], delete: Sequence[bytes], claim: Claim | None, durable: bool) -> None:
        def change(txn: Any) -> None:
            for key in delete:
                txn.delete(key)
            for key, value in items.items():
                txn.put(key, value)

        self._file.write(change)

    def _delete_range(self, first: bytes, last: bytes, claim: Claim | None, durable: bool) -> None:
        def change(txn: Any) -> None:
            cursor = txn.cursor()
            more = cursor.set_range(first)
            while more and bytes(cursor.key()) < last:
                more = cursor.delete()

        self._file.write(change)

    def sync(self) -> None:
        """Return when all that was written survives a power failure."""
        self._check_open()
        try:
            self._file.lmdb.sync(True)
        except lmdb.Error as error:
            raise told(self.url, error) from error

    def _claim(self, name: bytes) -> Claim:
        claim = Claim(self, name, self._claims.take(name), b"")
        self._mine.append(claim)
        return claim

    def _release(self, claim: Claim) -> None:
        self._mine.remove(claim)
        self._claims.drop(claim.name)

    def holder(self, name: bytes) -> Holder | None:
        """Who holds the window with this prefix; None if nobody does."""
        return self._claims.holder(name)

    def _close(self) -> None:
        if self._file.pid != os.getpid():
            return  # the parent's, not ours to close
        for claim in [*self._mine]:
            self.release(claim)
        with _opening:
            self._file.users -= 1
            if not self._file.users:
                del _files[self._file.pid, str(self._file.path)]
                if not self._file.durable:
                    self._file.lmdb.sync(True)
                self._file.lmdb.close()


def _make(place: Path, create: bool, url: str) -> None:
    """A folder for the store; one that has other things in it is left alone."""
    try:
        if (place / "data.mdb").exists():
            return
        if not create:
            raise StoreError(f"{url}: there is no store")
        place.mkdir(parents=True, exist_ok=True)
        if any(entry.name not in ("lock.mdb", "claims", "probe.tmp") for entry in place.iterdir()):
            raise StoreError(f"{url}: is a folder with other things in it; expected a store, an empty folder or none")
    except OSError as error:
        raise told(url, error) from error
