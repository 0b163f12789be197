"""A crash at every single write, one after the other: whatever was written by then, the window comes back whole."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

import slidewise as sw
from slidewise.errors import StoreError
from slidewise.store import Claim
from slidewise.store.memory import MemoryStore
from tests.engine import stored_drill as drill
from tests.engine.streams import WINDOWS

pytestmark = pytest.mark.usefixtures("small_rings")
EVENTS, EVERY = 2300, 330


class Dying(MemoryStore):
    """Takes so many writes, then none any more; if `lazy` none of the background's, so that flushes carry all pages."""

    def __init__(self, name: str, writes: int, lazy: bool) -> None:
        super().__init__(name)
        self.left, self.lazy = writes, lazy

    def _write(self, durable: bool) -> None:
        if self.lazy and not durable:
            raise StoreError("not now")
        self.left -= 1
        if self.left < 0:
            raise StoreError("dead")

    def _put(self, items: Mapping[bytes, bytes], delete: Sequence[bytes], claim: Claim | None, durable: bool) -> None:
        self._write(durable)
        super()._put(items, delete, claim, durable)

    def _delete_range(self, first: bytes, last: bytes, claim: Claim | None, durable: bool) -> None:
        self._write(durable)
        super()._delete_range(first, last, claim, durable)


def run(store: Dying, live: sw.LiveWindow) -> int:
    """Feed and flush until the store is dead; how many events were acknowledged."""
    acknowledged = live.events
    try:
        for last in range(live.events + EVERY, EVENTS, EVERY):
            while live.events < last:
                try:
                    drill.feed(live, last)
                except StoreError:
                    if store.left < 0:
                        return acknowledged
            live.flush()
            acknowledged = live.events
    except StoreError:
        pass
    return acknowledged


@pytest.mark.parametrize("lazy", [False, True], ids=["in the background", "by flushes"])
@pytest.mark.parametrize("name", ["time", pytest.param("policy", marks=pytest.mark.slow)])
def test_a_crash_at_every_write(name: str, lazy: bool) -> None:
    window: Any = WINDOWS[name]
    for writes in range(100):
        store = Dying(uuid.uuid4().hex, writes, lazy)
        live = sw.LiveWindow(drill.AGGREGATE, window, store=store)
        acknowledged = run(store, live)
        live.close(flush=False)
        if not acknowledged:
            continue
        with sw.LiveWindow.restore(store.url, window=window) as live:
            assert acknowledged <= live.events <= acknowledged + EVERY
            drill.checked(live, name, more=300)
            live.check()
        if store.left >= 0:
            break
    assert 5 < writes < 99
