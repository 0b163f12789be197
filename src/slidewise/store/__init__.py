"""Stores: pages by key, beneath windows whose state lives outside memory.

`open` takes a URL and returns a `Store` (base.py says what one promises). keys.py is the layout of a window's keys,
pages.py and meta.py are what the values look like. A backend is imported when it is opened.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from slidewise.errors import StoreError, bad
from slidewise.store import keys, meta, pages
from slidewise.store import url as _url
from slidewise.store.base import Claim, Store
from slidewise.store.holder import Holder

__all__ = ["Claim", "Holder", "Store", "keys", "meta", "open", "pages"]


def open(url: str, *, create: bool = True, durable: bool = True) -> Store:
    """Open a store.

    Parameters
    ----------
    url
        ``memory:`` or ``memory:NAME``, shared by name inside this process. ``disk:PATH``, a folder on a local disk.
        ``redis://[user:password@]host:port/db``, ``rediss://`` for TLS, ``redis+cluster://host:port,host:port`` for a
        Redis Cluster.
    create
        Make the store if it is not there.
    durable
        With False, nothing need survive a power failure; the same as ``?durability=relaxed`` in the URL.

    >>> with open("memory:") as store:
    ...     store.put_many({b"w/a/1": b"one"})
    ...     store.get_many([b"w/a/1", b"w/a/2"])
    [b'one', None]
    """
    asked = _url.parse(url)
    if asked.scheme == "memory":
        from slidewise.store.memory import MemoryStore

        return MemoryStore(asked.rest, create)
    durable = durable and _durability(asked)
    if asked.scheme.startswith("redis"):
        with _extra("redis"):
            from slidewise.store.redis import RedisStore
        return RedisStore(asked, create, durable)
    _url.check_options(asked, ("durability",))
    with _extra("disk"):
        from slidewise.store.disk import DiskStore
    return DiskStore(asked.rest, asked.shown, create, durable)


def _durability(asked: _url.Url) -> bool:
    said = asked.options.get("durability", "strict")
    if said not in ("strict", "relaxed"):
        raise bad("durability", said, "'strict' or 'relaxed'")
    return said == "strict"


@contextmanager
def _extra(name: str) -> Iterator[None]:
    """Tell which extra of the package is missing."""
    try:
        yield
    except ImportError as missing:
        if missing.name in ("fcntl", "resource"):
            raise StoreError(f"{name} stores need a POSIX system: {missing}") from missing
        raise StoreError(f"{name} stores need {missing.name}: pip install 'slidewise[{name}]'") from missing
