"""What is in a store: its windows, how big they are and who writes them, from keys and meta records alone.

O(number of pages): keys and sizes are read, no page is.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from slidewise.errors import StoreError
from slidewise.store import keys, meta, pages
from slidewise.store.base import Store
from slidewise.store.holder import Holder


@dataclass
class WindowReport:
    """One window in a store.

    Attributes
    ----------
    name
        The name it was stored under.
    pages, bytes
        How many pages it has, and how many bytes all its records take.
    levels
        The number of pages per level.
    meta
        What its meta record says: `meta.HEADER`, and more. Empty if there is none.
    format
        The format of its meta record; None if there is none.
    writer
        Who holds it; None if nobody does.
    problem
        Why its meta record cannot be read; empty if it can.
    """

    name: str
    pages: int = 0
    bytes: int = 0
    levels: dict[int, int] = field(default_factory=dict)
    meta: dict[str, Any] = field(default_factory=dict)
    format: int | None = None
    writer: Holder | None = None
    problem: str = ""


def inspect(store: Store) -> list[WindowReport]:
    """All windows of a store, in the order of their keys.

    >>> from slidewise.store import open
    >>> store = open("memory:")
    >>> store.put_many({keys.page("power", 0, 7): b"12345", keys.meta("power"): meta.pack({"elements": 3})})
    >>> for window in inspect(store):
    ...     print(window.name, window.pages, window.levels, window.meta)
    power 1 {0: 1} {'elements': 3}
    """
    found: dict[str, WindowReport] = {}
    for key, size in store.sizes(*keys.all_windows()):
        name = keys.window_of(key)
        if name is None:
            continue
        window = found.setdefault(name, WindowReport(name))
        window.bytes += size
        at = keys.page_of(key)
        if at is not None:
            window.pages += 1
            window.levels[at.level] = window.levels.get(at.level, 0) + 1
    for window in found.values():
        _read_meta(store, window)
        window.writer = store.holder(keys.prefix(window.name))
    return list(found.values())


def _read_meta(store: Store, window: WindowReport) -> None:
    key = keys.meta(window.name)
    (blob,) = store.get_many([key])
    window.format = pages.format_of(blob)
    if blob is None:
        window.problem = "no meta record"
        return
    try:
        window.meta, _ = meta.unpack(blob, key, store.url)
    except StoreError as problem:
        window.problem = str(problem).removeprefix(f"{store.url}: {keys.shown(key)}: ")
