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

import errno
import os
import resource
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import lmdb

from slidewise.errors import StoreCorrupt, StoreError, StoreFull
from slidewise.store.base import FORMAT, Claim, Store, check_format
from slidewise.store.claims import FileClaims
from slidewise.store.holder import Holder

MAP_BYTES = 2**30
"""The address space a new store begins with."""

_LOCK_BYTES = 8192
"""What LMDB's table of 126 readers, its default, takes."""

_PROBE_BYTES = 65536
_PIECE = 256
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_DAMAGED = (lmdb.CorruptedError, lmdb.InvalidError, lmdb.PageNotFoundError, lmdb.VersionMismatchError)

_T = TypeVar("_T")


class _File:
    """One LMDB environment, which a process must not open twice: shared by all stores on the same path."""

    def __init__(self, path: Path, url: str, durable: bool) -> None:
        self.path, self.url, self.durable = path, url, durable
        self.pid, self.users = os.getpid(), 0
        self.writing = threading.Lock()
        self._turn = threading.Condition()
        self._readers = 0
        try:
            _reserve(path / "lock.mdb")
            # Uninitialised memory is zeroed before it is written (meminit): it might hold anyone's secrets.
            self.lmdb = lmdb.open(str(path), map_size=MAP_BYTES, max_dbs=2, sync=durable, meminit=True)
            self._check_length()
            self.lmdb.reader_check()
            self.about = self.lmdb.open_db(b"about")
            self.pages = self.lmdb.open_db(b"pages")
        except (lmdb.Error, OSError) as error:
            raise told(url, error) from error
        self._check_format()

    def _check_length(self) -> None:
        """A file cut short would end the process when its missing pages are touched."""
        expected = (self.lmdb.info()["last_pgno"] + 1) * self.lmdb.stat()["psize"]
        actual = (self.path / "data.mdb").stat().st_size
        if actual < expected:
            self.lmdb.close()
            raise StoreCorrupt(f"{self.url}: is damaged: data.mdb has {actual:,} bytes, expected at least {expected:,}")

    def _check_format(self) -> None:
        found = self.read(lambda txn: bytes(txn.get(b"format", b"", db=self.about)))
        if not found:
            self.write(lambda txn: txn.put(b"format", b"%d" % FORMAT, db=self.about))
            return
        try:
            check_format(found, self.url)
        except StoreCorrupt:
            self.lmdb.close()
            raise

    def read(self, work: Callable[[Any], _T]) -> _T:
        """Run `work` in a transaction that sees one commit; its buffers must not outlive it."""
        while True:
            with self._among_readers():
                try:
                    with self.lmdb.begin(db=self.pages, buffers=True) as txn:
                        return work(txn)
                except lmdb.MapResizedError:  # by another process
                    pass
                except lmdb.Error as error:
                    raise told(self.url, error) from error
            self._map(0)

    def write(self, work: Callable[[Any], object]) -> None:
        """Run `work` in a transaction and commit it; the map grows as it needs to."""
        with self.writing:
            while True:
                try:
                    with self.lmdb.begin(db=self.pages, write=True, buffers=True) as txn:
                        work(txn)
                    return
                except lmdb.MapFullError:
                    self._map(2 * self.lmdb.info()["map_size"])
                except lmdb.MapResizedError:
                    self._map(0)
                except (lmdb.Error, OSError) as error:
                    if getattr(error, "code", 0) == errno.EIO and (full := _fullness(self.path)):
                        error = full
                    raise told(self.url, error) from error

    @contextmanager
    def _among_readers(self) -> Iterator[None]:
        with self._turn:
            self._readers += 1
        try:
            yield
        finally:
            with self._turn:
                self._readers -= 1
                if not self._readers:
                    self._turn.notify_all()

    def _map(self, size: int) -> None:
        """Change the map's size, 0 for what another process has made it, when no transaction of ours is looking."""
        with self._turn:
            self._turn.wait_for(lambda: not self._readers)
            try:
                self.lmdb.set_mapsize(size)
            except (lmdb.Error, OSError) as error:
                raise StoreFull(f"{self.url}: no address space for a map of {size:,} bytes: {error}") from error


_files: dict[tuple[int, str], _File] = {}
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
                file = _files[os.getpid(), here] = _File(Path(here), self.url, durable)
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


def _reserve(lock: Path) -> None:
    """Give LMDB's table of readers its blocks: it is written through a map, which on a full disk ends the process.

    Only for a file that this process has not open: closing it would let go of LMDB's own locks.
    """
    file = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        if os.fstat(file).st_blocks * 512 < _LOCK_BYTES and hasattr(os, "posix_fallocate"):
            os.posix_fallocate(file, 0, _LOCK_BYTES)
    finally:
        os.close(file)


def _fullness(folder: Path) -> OSError | None:
    """What the system says if the disk is full: LMDB calls a write that was cut short an input/output error."""
    size, (limit, _) = (folder / "data.mdb").stat().st_size, resource.getrlimit(resource.RLIMIT_FSIZE)
    if limit != resource.RLIM_INFINITY and size >= limit:
        return OSError(errno.EFBIG, os.strerror(errno.EFBIG))
    probe = folder / "probe.tmp"
    try:
        probe.write_bytes(bytes(_PROBE_BYTES))
    except OSError as full:
        return full
    finally:
        probe.unlink(missing_ok=True)
    return None


def told(url: str, error: Exception) -> StoreError:
    """LMDB's or the system's complaint in our words."""
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    if (error.errno if isinstance(error, OSError) else getattr(error, "code", 0)) in _FULL:
        return StoreFull(f"{url}: the disk or a quota is full ({text}); nothing of the batch was written, nothing lost")
    if isinstance(error, _DAMAGED):
        return StoreCorrupt(f"{url}: is damaged, or no store: {text}")
    if "already open in this process" in text:
        return StoreError(f"{url}: the process this one was forked from has it open; open it before, or spawn instead")
    return StoreError(f"{url}: {text}")
