"""Pages of a window between its structure and a store: encoded, buffered, written in the background, read back.

    structure ──keep──► waiting ──background──► store          a page is in `waiting` until it has been written
    structure ◄─fetch── waiting, else store

Pages are raw columns where partials are numbers, and by the monoid's codec where not. An error of the background is
raised by the next call, and the pages it could not write stay in `waiting`: nothing is lost.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock

import numpy as np

from slidewise.kernels.ops import Ops
from slidewise.monoids.codec import codec_of
from slidewise.store.base import Claim, Store
from slidewise.store.keys import page
from slidewise.store.pages import seal, unseal
from slidewise.swag.paged_amta import PAGE, Columns

BUFFER = 512
"""Nodes that wait before the background is woken, as in the paper: a page."""

MOST_WAITING = 256
"""Pages that may wait before the window does."""


class PageWriter:
    """All pages of one window on their way into the store, and back; calls come from one thread."""

    def __init__(self, store: Store, name: str, claim: Claim, buffer: int = BUFFER) -> None:
        self.store, self.name, self.claim = store, name, claim
        self._wake = max(1, buffer // PAGE)
        self._waiting: dict[bytes, bytes] = {}
        self._lock = Lock()
        self._background = ThreadPoolExecutor(1, thread_name_prefix="slidewise-pages")
        self._running: Future[None] | None = None

    def put(self, key: bytes, blob: bytes) -> None:
        """Take a sealed page."""
        with self._lock:
            self._waiting[key] = blob
            many = len(self._waiting)
        if many >= self._wake:
            self._start()
        if many >= MOST_WAITING:
            self.wait()

    def get(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """Sealed pages: those that still wait, and the others from the store in one round trip."""
        with self._lock:
            found: dict[bytes, bytes | None] = {key: self._waiting[key] for key in keys if key in self._waiting}
        missing = [key for key in keys if key not in found]
        found.update(zip(missing, self.store.get_many(missing), strict=True))
        return [found[key] for key in keys]

    def commit(self, key: bytes, record: bytes) -> None:
        """Write all that waits and this record as one batch, and return when it is durable."""
        self.wait()
        with self._lock:
            batch = dict(self._waiting)
        self.store.put_many({**batch, key: record}, claim=self.claim)
        self._written(batch)

    def later(self, work: Callable[[], None]) -> None:
        """Do this in the background, after what is there."""
        self.wait()
        self._running = self._background.submit(work)

    def wait(self) -> None:
        """Return when the background is idle; raises what went wrong there."""
        running, self._running = self._running, None
        if running is not None:
            running.result()

    def close(self) -> None:
        """End the background thread, done or not."""
        self._background.shutdown(wait=True, cancel_futures=True)

    def _start(self) -> None:
        if self._running is not None:
            if not self._running.done():
                return
            self.wait()
        self._running = self._background.submit(self._write)

    def _write(self) -> None:
        with self._lock:
            batch = dict(self._waiting)
        if batch:
            self.store.put_many(batch, claim=self.claim, durable=False)
            self._written(batch)

    def _written(self, batch: dict[bytes, bytes]) -> None:
        with self._lock:
            for key, blob in batch.items():
                if self._waiting.get(key) is blob:
                    del self._waiting[key]


class StorePages:
    """The pages of one structure of a window (swag/paged_amta.py); in the store its levels begin at `level`."""

    def __init__(self, writer: PageWriter, ops: Ops, level: int = 0) -> None:
        self._writer = writer
        self._level = level
        self._code = PageCode(ops)

    def keep(self, level: int, number: int, columns: Columns) -> None:
        self._writer.put(self._key(level, number), seal(self._code.encode(columns), self._code.kind))

    def fetch(self, wanted: Sequence[tuple[int, int]]) -> list[Columns]:
        keys = [self._key(level, number) for level, number in wanted]
        url = self._writer.store.url
        blobs = self._writer.get(keys)
        return [
            self._code.decode(unseal(blob, key, self._code.kind, url)) for key, blob in zip(keys, blobs, strict=True)
        ]

    def _key(self, level: int, number: int) -> bytes:
        return page(self._writer.name, self._level + level, number)


class PageCode:
    """Columns of nodes as bytes: raw numbers, or objects by the monoid's codec with their lengths in front."""

    def __init__(self, ops: Ops) -> None:
        self._fields = ops.fields
        self._encode, self._decode = codec_of(ops.monoid)

    @property
    def kind(self) -> str:
        """What such a page says it is."""
        return "numbers" if self._fields else "objects"

    def encode(self, columns: Columns) -> bytes:
        """Nodes of any number, as bytes."""
        if self._fields:
            return b"".join(np.ascontiguousarray(column).tobytes() for column in columns)
        parts = [b"" if partial is None else self._encode(partial) for partial in columns[0]]
        return b"".join([struct.pack(f"<{len(parts) + 1}I", len(parts), *map(len, parts)), *parts])

    def decode(self, stored: memoryview | bytes) -> Columns:
        """What `encode` was given."""
        stored = memoryview(stored)
        if self._fields:
            each = sum(np.dtype(name).itemsize for name in self._fields)
            count, at, columns = len(stored) // each, 0, []
            for name in self._fields:
                columns.append(np.frombuffer(stored, dtype=name, count=count, offset=at).copy())
                at += count * np.dtype(name).itemsize
            return tuple(columns)
        (count,) = struct.unpack_from("<I", stored)
        lengths = struct.unpack_from(f"<{count}I", stored, 4)
        at, found = 4 * (count + 1), []
        for length in lengths:
            found.append(self._decode(bytes(stored[at : at + length])) if length else None)
            at += length
        return (found,)
