"""A writer to be killed: batches that cannot be mistaken for one another, acknowledged one by one on standard output.

Batch k writes `PAGES` pages with its own bytes and the number k, and deletes the pages of batch k - KEPT. So at any
time a store holds the pages of the last `KEPT` batches and the number of the last, or a batch was torn.

    python -m tests.store.drill URL [batches]
"""

from __future__ import annotations

import sys
import time

from slidewise import store as stores
from slidewise.store import Claim, Store, keys, meta, pages

WINDOW = "drill"
PAGES, KEPT = 8, 5
SIZE = 3000


def page(k: int, at: int) -> bytes:
    return pages.seal(f"{k} {at} ".encode() * (SIZE // len(f"{k} {at} ")), "drill")


def names(k: int) -> list[bytes]:
    return [keys.page(WINDOW, 0, k * PAGES + at) for at in range(PAGES)]


def write(store: Store, claim: Claim, k: int) -> None:
    """Write batch k."""
    items = {name: page(k, at) for at, name in enumerate(names(k))}
    items[keys.meta(WINDOW)] = meta.pack({"batch": k})
    store.put_many(items, delete=names(k - KEPT) if k >= KEPT else [], claim=claim)


def last_whole(store: Store) -> int:
    """The number of the last batch, after a look at every key and byte; -1 if there is none."""
    (blob,) = store.get_many([keys.meta(WINDOW)])
    found = dict(store.scan(*keys.page_range(WINDOW, 0)))
    if blob is None:
        assert not found
        return -1
    header, _ = meta.unpack(blob, keys.meta(WINDOW), store.url)
    last: int = header["batch"]
    whole = range(max(0, last - KEPT + 1), last + 1)
    assert found == {name: page(k, at) for k in whole for at, name in enumerate(names(k))}
    return last


def main(url: str, batches: int) -> None:
    """Claim the window, say so, and go on from what is there."""
    start = time.monotonic()
    store = stores.open(url)
    claim = store.claim(keys.prefix(WINDOW))
    sys.stdout.write(f"claimed {time.monotonic() - start:.3f}\n")
    sys.stdout.flush()
    for k in range(last_whole(store) + 1, batches):
        write(store, claim, k)
        sys.stdout.write(f"{k}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 10**9)
