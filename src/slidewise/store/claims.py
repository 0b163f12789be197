"""Claims by file lock: the system holds the lock for the process and drops it when the process ends, however it ends.

A claim is a POSIX record lock on a file of its own, with the holder's name in it. Such a lock belongs to a process: a
forked child does not inherit it, so a child that outlives its parent blocks nobody; but it does not keep threads of one
process apart, and goes when the process closes *any* descriptor of the file. Hence `_held`: what this process holds,
asked before the file is touched.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import struct
import sys
import threading
from pathlib import Path

from slidewise.errors import StoreError, StoreLocked
from slidewise.store.holder import Holder
from slidewise.store.keys import shown

_held: dict[tuple[int, str], tuple[int, Holder]] = {}
"""By process number (a forked child's copy is void) and file: the descriptor that carries the lock, and the holder."""

_touching = threading.Lock()

_FLOCK = "hhqqi4x"
"""struct flock of 64-bit Linux: type, whence, start, length, process."""


class FileClaims:
    """The claims of one store, in a folder of files."""

    def __init__(self, folder: Path, url: str) -> None:
        self._folder, self._url = folder, url

    def take(self, name: bytes) -> Holder:
        """Lock a name, or raise `StoreLocked`."""
        place = self._place(name)
        with _touching:
            mine = _held.get((os.getpid(), place))
            if mine is not None:
                raise StoreLocked(f"{self._url}: {shown(name)} is held by {mine[1]} (this process)")
            try:
                self._folder.mkdir(exist_ok=True)
                lock = os.open(place, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            except OSError as error:
                raise StoreError(f"{self._url}: cannot claim {shown(name)}: {error.strerror}") from error
            try:
                fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                holder = Holder.decode(os.pread(lock, 4096, 0))
                os.close(lock)
                raise StoreLocked(f"{self._url}: {shown(name)} is held by {holder}") from None
            except OSError as error:
                os.close(lock)
                raise StoreError(f"{self._url}: cannot claim {shown(name)}: {error.strerror}") from error
            holder = Holder.me()
            _write(lock, holder.encode())
            _held[os.getpid(), place] = lock, holder
            return holder

    def drop(self, name: bytes) -> None:
        """Give up a name that this process holds."""
        with _touching:
            lock, _ = _held.pop((os.getpid(), self._place(name)), (None, None))
            if lock is not None:
                _write(lock, b"")
                os.close(lock)

    def holder(self, name: bytes) -> Holder | None:
        """Who holds a name; None if nobody does. The lock is looked at, never taken."""
        place = self._place(name)
        with _touching:
            mine = _held.get((os.getpid(), place))
            if mine is not None:
                return mine[1]
            try:
                file = os.open(place, os.O_RDONLY | os.O_CLOEXEC)
            except OSError:
                return None
            try:
                told = os.pread(file, 4096, 0) if _locked(file) else b""
            finally:
                os.close(file)
        holder = Holder.decode(told) if told else None
        return None if holder is None or holder.is_dead() else holder

    def _place(self, name: bytes) -> str:
        return str(self._folder / f"{hashlib.sha256(name).hexdigest()[:32]}.lock")


def _locked(file: int) -> bool:
    """Does another process hold the lock? Where the question's layout is not known, perhaps."""
    if sys.platform != "linux":
        return True
    question = struct.pack(_FLOCK, fcntl.F_RDLCK, os.SEEK_SET, 0, 0, 0)
    kind: int = struct.unpack(_FLOCK, fcntl.fcntl(file, fcntl.F_GETLK, question))[0]
    return kind != fcntl.F_UNLCK


def _write(lock: int, text: bytes) -> None:
    """Best effort: on a full disk the lock still holds, only its holder is not named."""
    try:
        os.ftruncate(lock, 0)
        os.pwrite(lock, text, 0)
    except OSError:
        pass
