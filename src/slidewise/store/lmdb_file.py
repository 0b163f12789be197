"""An LMDB file as this process has it open: transactions, a map that grows, complaints in our words.

LMDB has three edges, all of them here. A process must not open a file twice. Its map must not be moved while one of our
transactions is open, and is full long before the disk is. And what is mapped but has no block on the disk ends the
process when it is touched: a file cut short, or the table of readers on a full disk; both are seen to before.
"""

from __future__ import annotations

import errno
import os
import resource
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import lmdb

from slidewise.errors import StoreCorrupt, StoreError, StoreFull
from slidewise.store.base import FORMAT, check_format

MAP_BYTES = 2**30
"""The address space a new file begins with; it is doubled when it is full."""

_LOCK_BYTES = 8192
"""What LMDB's table of 126 readers, its default, takes."""

_PROBE_BYTES = 65536
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_DAMAGED = (lmdb.CorruptedError, lmdb.InvalidError, lmdb.PageNotFoundError, lmdb.VersionMismatchError)

_T = TypeVar("_T")


class LmdbFile:
    """One file, shared by all stores of this process on the same path.

    Attributes
    ----------
    durable
        Whether a commit waits for the disk.
    pid
        The process that opened it; a forked child must not use it.
    users
        How many stores share it.
    """

    def __init__(self, path: Path, url: str, durable: bool) -> None:
        self.path, self.url, self.durable = path, url, durable
        self.pid, self.users = os.getpid(), 0
        self._writing = threading.Lock()
        self._turn = threading.Condition()
        self._readers, self._mapping = 0, False
        try:
            _reserve(path / "lock.mdb")
            # Uninitialised memory is zeroed before it is written (meminit): it might hold anyone's secrets.
            self.lmdb = lmdb.open(str(path), map_size=MAP_BYTES, max_dbs=2, sync=durable, meminit=True)
        except (lmdb.Error, OSError) as error:
            raise told(url, error) from error
        try:
            self._check_length()
            self.lmdb.reader_check()
            self.about = self.lmdb.open_db(b"about")
            self.pages = self.lmdb.open_db(b"pages")
            self._check_format()
        except BaseException as error:
            self.lmdb.close()
            if isinstance(error, lmdb.Error | OSError):
                raise told(url, error) from error
            raise

    def _check_length(self) -> None:
        """A file cut short would end the process when its missing pages are touched."""
        expected = (self.lmdb.info()["last_pgno"] + 1) * self.lmdb.stat()["psize"]
        actual = (self.path / "data.mdb").stat().st_size
        if actual < expected:
            raise StoreCorrupt(f"{self.url}: is damaged: data.mdb has {actual:,} bytes, expected at least {expected:,}")

    def _check_format(self) -> None:
        found = self.read(lambda txn: bytes(txn.get(b"format", b"", db=self.about)))
        if found:
            check_format(found, self.url)
        else:
            self.write(lambda txn: txn.put(b"format", b"%d" % FORMAT, db=self.about))

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
            with self._writing:
                self._map(0)

    def write(self, work: Callable[[Any], object]) -> None:
        """Run `work` in a transaction and commit it; the map grows as it needs to."""
        with self._writing:
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
            self._turn.wait_for(lambda: not self._mapping)
            self._readers += 1
        try:
            yield
        finally:
            with self._turn:
                self._readers -= 1
                if not self._readers:
                    self._turn.notify_all()

    def _map(self, size: int) -> None:
        """Change the map's size, 0 for what another process has made it, while no transaction of ours is open."""
        with self._turn:
            self._mapping = True
            try:
                self._turn.wait_for(lambda: not self._readers)
                self.lmdb.set_mapsize(size)
            except (lmdb.Error, OSError) as error:
                raise StoreFull(f"{self.url}: no address space for a map of {size:,} bytes: {error}") from error
            finally:
                self._mapping = False
                self._turn.notify_all()


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
