"""A live window whose events are in a store: what is kept here, what goes there, and how it comes back after kill -9.

    here     the ends of every level (swag/paged_amta.py), a few hundred kilobytes whatever the window holds
    store    full pages as they come, in the background; with `flush` a meta record, in one atomic batch with the pages
             it refers to: what `restore` goes on from
    later    pages that left before the last durable meta record are deleted; pages after it, of a run that was killed,
             are ignored and swept

Levels 0 to 63 in the store are the answer's, those from 64 on the guide's: the times of the events, or what a slide
policy sees of them, where one of these says what leaves.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from slidewise.engine.store_pages import PageCode, PageWriter, StorePages
from slidewise.errors import StoreError, bad
from slidewise.kernels.registers import HEAD
from slidewise.monoids.codec import decode_plain, encode_plain
from slidewise.monoids.monoid import Monoid
from slidewise.store import open as open_store
from slidewise.store.base import Store
from slidewise.store.keys import meta, page_range, prefix
from slidewise.store.meta import pack, unpack
from slidewise.swag.amta import LEVELS
from slidewise.swag.paged_amta import PAGE, PagedAmta

NAME = "live"
"""What a window is called in its store, unless it is given a name."""


class StoredState:
    """The claim on one window of a store, its structures, and its meta record."""

    def __init__(self, store: str | Store, name: str, *, create: bool) -> None:
        if not isinstance(store, str | Store):
            raise bad("store", store, "a URL such as 'disk:PATH', or a store from slidewise.store.open")
        self.name = name
        self._opened = isinstance(store, str)
        self.store = open_store(store, create=create) if isinstance(store, str) else store
        try:
            self._claim = self.store.claim(prefix(name))
        except BaseException:
            self._close_store()
            raise
        self._writer = PageWriter(self.store, name, self._claim)
        self._structures: list[tuple[int, PagedAmta]] = []
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
        self._structures.append((level, made))
        return made

    # ---- writing down ----
    def flush(self, header: dict[str, Any], extra: Any) -> bytes:
        """Make the window as it is now durable, in one batch; `extra` is plain data that comes back with it."""
        self._check_open()
        self._writer.wait()
        parts, levels = [], {}
        for level, structure in self._structures:
            registers, tails = structure.tails()
            code = PageCode(structure._ops)
            parts.append([level, registers, [code.encode(columns) for columns in tails]])
            for k in range(len(tails)):
                head = structure.register(HEAD) >> k
                levels[level + k] = [head // PAGE, structure.saved[k] // PAGE]
        self.generation += 1
        header = {
            **header,
            "generation": self.generation,
            "levels": [levels.get(k, [0, 0]) for k in range(max(levels, default=-1) + 1)],
            "updated": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        record = pack(header, encode_plain([parts, extra]))
        try:
            self._writer.commit(meta(self.name), record)
        except BaseException:
            self.generation -= 1
            raise
        self._writer.later(lambda: self._delete_left(levels))
        return record

    def _delete_left(self, levels: dict[int, list[int]]) -> None:
        """Pages that had left the window when it was last written down."""
        for level, (first, _) in levels.items():
            done = self._deleted.get(level, 0)
            if first > done:
                low, high = page_range(self.name, level, done, first)
                self.store.delete_range(low, high, claim=self._claim, durable=False)
                self._deleted[level] = first

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
        parts, extra = decode_plain(bytes(payload))
        return header, parts, extra

    def fill(self, header: dict[str, Any], parts: Any) -> None:
        """The structures, made before, as they were written down; what was written after that is swept."""
        stored = {level: (registers, tails) for level, registers, tails in parts}
        for level, structure in self._structures:
            registers, tails = stored[level]
            code = PageCode(structure._ops)
            structure.set_tails(registers, [code.decode(columns) for columns in tails])
        self.generation = header["generation"]
        for level in range(2 * LEVELS):
            _, last = header["levels"][level] if level < len(header["levels"]) else (0, 0)
            self.store.delete_range(*page_range(self.name, level, last), claim=self._claim, durable=False)

    def close(self) -> None:
        """Give the window up to the next writer; what was not flushed is gone."""
        if self.closed:
            return
        self.closed = True
        try:
            self._writer.close()
        finally:
            self.store.release(self._claim)
            self._close_store()

    def _close_store(self) -> None:
        if self._opened:
            self.store.close()

    def _check_open(self) -> None:
        if self.closed:
            raise StoreError(f"{self.where}: the window is closed")
