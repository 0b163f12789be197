"""RocksDB through rocksdict, as the peer of the embedded store: the same calls, none of the claims.

Set up for pages: no compression (partials are noise), small write buffers and cache (private memory is the point).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from slidewise.store.keys import meta

BUFFER_BYTES = 8 * 2**20


class Rocks:
    """Just enough of a store to be timed."""

    def __init__(self, path: str) -> None:
        from rocksdict import BlockBasedOptions, Cache, DBCompressionType, Options, Rdict, WriteOptions

        options = Options(raw_mode=True)
        options.create_if_missing(True)
        options.set_write_buffer_size(BUFFER_BYTES)
        options.set_max_write_buffer_number(2)
        options.set_compression_type(DBCompressionType.none())
        table = BlockBasedOptions()
        table.set_block_cache(Cache(BUFFER_BYTES))
        table.set_bloom_filter(10.0, False)
        options.set_block_based_table_factory(table)
        self._db = Rdict(path, options)
        self._sync = WriteOptions()
        self._sync.sync = True

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        return list(self._db.get(list(keys)))

    def put_many(self, items: Mapping[bytes, bytes]) -> None:
        batch = self._batch()
        for key, value in items.items():
            batch.put(key, value)
        self._db.write(batch, self._sync)

    def delete_range(self, first: bytes, last: bytes) -> None:
        batch = self._batch()
        batch.delete_range(first, last)
        batch.put(meta("bench"), b"")
        self._db.write(batch, self._sync)

    def close(self) -> None:
        self._db.close()

    def _batch(self) -> Any:
        from rocksdict import WriteBatch

        return WriteBatch(raw_mode=True)
