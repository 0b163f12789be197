"""A live window whose events are in a store: what is kept here, what goes there, and how it comes back after kill -9.

    here     the ends of every level (swag/paged_amta.py), a few megabytes at most whatever the window holds
    store    full pages as they come, in the background; with `flush` a meta record, in one atomic batch with the pages
             it refers to: what `restore` goes on from
    later    pages that left before the last durable meta record are deleted; pages after it, of a run that was killed,
             are ignored and swept

Levels 0 to 63 in the store are the answer's, those from 64 on the guide's: the times of the events, or what a slide
policy sees of them, where one of these says what leaves.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from slidewise.engine.store_pages import PageCode, PageWriter, StorePages
from slidewise.errors import ArgumentError, SnapshotError, StoreError, bad
from slidewise.kernels.registers import HEAD
from slidewise.monoids.codec import decode_plain, encode_plain
from slidewise.monoids.monoid import Monoid
from slidewise.store import open as open_store
from slidewise.store.base import Store
from slidewise.store.keys import meta, page, page_range, prefix, window_range
from slidewise.store.meta import pack, unpack
from slidewise.swag.amta import LEVELS
from slidewise.swag.paged_amta import PAGE, PagedAmta

NAME = "live"
"""What a window is called in its store, unless it is given a name."""

FORMAT = 1
"""Of what a live window writes into its meta record; raised when an older version would misread it."""


class StoredState:
    """The claim on one window of a store, its structures, and its meta record."""

    def __init__(self, store: str | Store, name: str, *, create: bool) -> None:
        if not isinstance(store, str | Store):
            raise bad("store", store, "a URL such as 'disk:PATH', or a store from slidewise.store.open")
        try:
            claimed = prefix(name)
        except ArgumentError as error:
            raise ArgumentError(str(error).replace("window=", "name=", 1)) from None
        self.name = name
        self._opened = isinstance(store, str)
        self.store = open_store(store, create=create) if isinstance(store, str) else store
        try:
            self._claim = self.store.claim(claimed)
        except BaseException:
            if self._opened:
                self.store.close()
            raise
        self._writer = PageWriter(self.store, name, self._claim)
        self._structures: dict[int, PagedAmta] = {}
        self._pid = os.getpid()
        self.generation = 0
        self._deleted: dict[int, int] = {}
        self.closed = False

    @property
    def where(self) -> str:
        """The window and its store, for messages."""
        return f"window {self.name!r} in {self.store.url}"

    def structure(self, monoid: Monoid, types: tuple[str, ...] | None, arity: int, level: int = 0) -> PagedAmta:
        """A structure whose pages are in the store, its levels from `level` on."""
        ops = PagedAmta.ops(monoid, types, arity)
        made = PagedAmta(monoid, StorePages(self._writer, ops, level), types=types, arity=arity)
        if types is None:  # found out now, and not when the first page is full
            try:
                PageCode(made._ops).encode(([monoid.identity],))
            except SnapshotError as error:
                raise ArgumentError(f"aggregate={monoid!r}: cannot be kept in a store: {error}") from None
        self._structures[level] = made
        return made

    # ---- one call at a time ----
    def ready(self) -> None:
        """Raise what is in the way of the next call: the window is closed, or the background has met an error."""
        self.check_open()
        self._writer.ready()

    def check_open(self) -> None:
        """Raise if the window is closed, or another process's."""
        if self.closed:
            raise StoreError(f"{self.where}: the window is closed")
        if self._pid != os.getpid():
            raise StoreError(f"{self.where}: was opened before this process was forked; restore it where it is used")

    def mark(self) -> dict[int, Any]:
        """What `back_to` needs to undo what happens from here on; O(1)."""
        return {level: structure.mark() for level, structure in self._structures.items()}

    def back_to(self, marked: dict[int, Any]) -> None:
        """All structures as they were when they were marked."""
        for level, registers in marked.items():
            self._structures[level].back_to(registers)

    # ---- writing down ----
    def flush(self, header: dict[str, Any], extra: Any) -> bytes:
        """Make the window as it is now durable, in one batch; `extra` is plain data that comes back with it."""
        parts, levels = [], {}
        for level, structure in self._structures.items():
            registers, ends, tails = structure.tails()
            code = PageCode(structure._ops)
            parts.append([level, registers, [bytes(code.encode(columns)) for columns in (ends, *tails)]])
            for k in range(len(tails)):
                first, last = (structure.register(HEAD) >> k) // PAGE, structure.saved[k] // PAGE
                levels[level + k] = [min(first, last), last]
        header = {
            **header,
            "generation": self.generation + 1,
            "levels": [levels.get(k, [0, 0]) for k in range(max(levels, default=-1) + 1)],
            "updated": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        record = pack(header, encode_plain([FORMAT, parts, extra]))
        self._writer.commit(meta(self.name), record)
        self.generation += 1
        self._writer.later(lambda: self._delete_left(levels))
        return record

    def _delete_left(self, levels: dict[int, list[int]]) -> None:
        """Pages that had left the window when it was last written down."""
        for level, (first, _) in levels.items():
            done = self._deleted.get(level, 0)
            if first > done:
                self._delete(*page_range(self.name, level, done, first))
                self._deleted[level] = first

    def _delete(self, low: bytes, high: bytes) -> None:
        self.store.delete_range(low, high, claim=self._claim, durable=False)

    # ---- reading back ----
    def exists(self) -> bool:
        """True if the store has this window."""
        return self.store.get_many([meta(self.name)])[0] is not None

    def read(self) -> tuple[dict[str, Any], Any, Any]:
        """The header of the last durable record, its structures' tails, and the extra data."""
        key = meta(self.name)
        (record,) = self.store.get_many([key])
        if record is None:
            raise StoreError(f"{self.where}: there is no such window; LiveWindow(..., store=..., name=...) makes one")
        header, payload = unpack(record, key, self.store.url)
        try:
            form, *rest = decode_plain(bytes(payload))
            newer = form > FORMAT
        except (SnapshotError, TypeError, ValueError):
            raise SnapshotError(f"{self.where}: is not a live window") from None
        if newer:
            raise SnapshotError(f"{self.where}: is of format {form}; this version of slidewise reads up to {FORMAT}")
        if len(rest) != 2:
            raise SnapshotError(f"{self.where}: is not a live window")
        return header, *rest

    def fill(self, header: dict[str, Any], parts: Any) -> None:
        """The structures, made before, as they were written down; what was written after that is swept."""
        stored = {level: (registers, columns) for level, registers, columns in parts}
        for level, structure in self._structures.items():
            registers, columns = stored[level]
            code = PageCode(structure._ops)
            ends, *tails = (code.decode(part) for part in columns)
            structure.set_tails(registers, ends, tails)
        self.generation = header["generation"]
        for low, high in self._beyond(header["levels"]):
            self._sweep(low, high)

    def sweep(self) -> None:
        """Forget all that the store has of this window, which was never written down."""
        self._sweep(*window_range(self.name))

    def _sweep(self, low: bytes, high: bytes) -> None:
        if next(self.store.sizes(low, high), None) is not None:  # a look is cheaper than a batch
            self._delete(low, high)

    def _beyond(self, levels: list[list[int]]) -> Iterator[tuple[bytes, bytes]]:
        """The keys of pages that a meta record does not know: behind the last of each level, and of no level it has."""
        for level, (_, last) in enumerate(levels):
            yield page_range(self.name, level, last)
        if len(levels) < 2 * LEVELS:
            yield page(self.name, len(levels), 0), page_range(self.name, 2 * LEVELS - 1)[1]

    def finish(self) -> None:
        """Return when nothing is under way in the background; raises what went wrong there."""
        self._writer.wait()

    def close(self) -> None:
        """Give the window up to the next writer; what was not flushed is gone."""
        if self.closed:
            return
        self.closed = True
        if self._pid != os.getpid():
            return  # the parent's
        self._writer.close()
        if self._opened:
            self.store.close()  # with all claims
        else:
            self.store.release(self._claim)


def new_state(store: str | Store, name: str) -> StoredState:
    """A place in a store that has no such window yet."""
    state = StoredState(store, name, create=True)
    try:
        if state.exists():
            raise ArgumentError(
                f"name={name!r}: {state.where} is there; LiveWindow.restore goes on with it, or choose another name"
            )
        state.sweep()
    except BaseException:
        state.close()
        raise
    return state
