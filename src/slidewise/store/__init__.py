"""Stores: pages by key, beneath windows whose state lives outside memory.

`open` takes a URL and returns a `Store` (base.py says what one promises). keys.py is the layout of a window's keys,
pages.py and meta.py are what the values look like. A backend is imported when it is opened.
"""

from __future__ import annotations

from slidewise.errors import bad
from slidewise.store import url as _url
from slidewise.store.base import Claim, Store
from slidewise.store.holder import Holder

__all__ = ["Claim", "Holder", "Store", "open"]


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
    raise bad("url", asked.shown, "a store that exists")
