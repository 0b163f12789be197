"""Kept nodes in one cut of the keys, read by the task that needs them: only what is new goes through the shuffle.

    sorted new rows ──with_kept──► the same keys with what is kept of them ──► Sheet
    kept, of keys without new rows:   in one node ──alone──► passes as Arrow columns, nothing is opened
                                      in several  ──shared─► Sheet

All rows of kept nodes in the cut are held in memory, as they are stored.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from slidewise.engine.arrange import key_codes
from slidewise.incremental.files import BATCH, SRC


class Aside:
    """The rows of kept nodes, by number of the source; every row is given out once."""

    def __init__(self, keys: Sequence[str], tables: Mapping[int, pa.Table]) -> None:
        self._keys = keys
        self._tables = dict(tables)
        self._left = {k: np.ones(table.num_rows, dtype=np.bool_) for k, table in tables.items()}

    @property
    def rows(self) -> int:
        """How many there are."""
        return sum(len(left) for left in self._left.values())

    def __iter__(self) -> Iterator[tuple[int, pa.Table]]:
        return iter(self._tables.items())

    def with_kept(self, table: pa.Table) -> pa.Table:
        """Rows of whole keys with those that are kept of the same keys, together by key, then by source.

        Time in proportion to the rows of both: tables of at least `rows` rows make that the rows of the stream.
        """
        some = {k: kept.cast(_as_in(table.schema, kept.schema)) for k, kept in self._tables.items()}
        codes, groups = self._codes([table, *some.values()])
        asked = np.zeros(groups, dtype=np.bool_)
        asked[codes[0]] = True
        found, found_codes = [table], [codes[0]]
        for (k, kept), mine in zip(some.items(), codes[1:], strict=True):
            hit = np.nonzero(asked[mine] & self._left[k])[0]
            self._left[k][hit] = False
            if len(hit):
                found.append(_numbered(kept.take(pa.array(hit)), k))
                found_codes.append(mine[hit])
        return _together(found, found_codes) if len(found) > 1 else table

    def alone(self, only: Mapping[int, Any]) -> Iterator[tuple[int, pa.Table]]:
        """Rows that are left of keys that no other node has; of nodes in `only`, those of them that it says."""
        several = self._several()
        for k, table in self._tables.items():
            mine = self._left[k] & ~several[k] & only.get(k, True)
            self._left[k] &= ~mine
            if mine.any():
                yield k, table.filter(pa.array(mine))

    def shared(self) -> Iterator[pa.Table]:
        """All rows that are left, as tables of whole keys."""
        some = {k: table.filter(pa.array(self._left[k])) for k, table in self._tables.items() if self._left[k].any()}
        for left in self._left.values():
            left[:] = False
        if not some:
            return
        codes, _ = self._codes(list(some.values()))
        whole = _together([_numbered(table, k) for k, table in some.items()], codes)
        by_key = np.sort(np.concatenate(codes))
        begins = np.append(0, np.nonzero(by_key[1:] != by_key[:-1])[0] + 1)
        chosen = np.searchsorted(begins, np.arange(0, len(by_key), BATCH))
        cuts = [*np.unique(begins[chosen[chosen < len(begins)]]).tolist(), len(by_key)]
        for first, last in itertools.pairwise(cuts):
            yield whole.slice(first, last - first)

    def _several(self) -> dict[int, Any]:
        """Of each node, which rows are of keys that are left in another one too."""
        if len(self._tables) < 2:
            return {k: np.zeros(table.num_rows, dtype=np.bool_) for k, table in self._tables.items()}
        codes, groups = self._codes(list(self._tables.values()))
        counts = np.zeros(groups, dtype=np.int64)
        for k, mine in zip(self._tables, codes, strict=True):
            np.add.at(counts, mine[self._left[k]], 1)
        return {k: counts[mine] > 1 for k, mine in zip(self._tables, codes, strict=True)}

    def _codes(self, tables: list[pa.Table]) -> tuple[list[Any], int]:
        """A number per row of each table, equal where all keys are, and how many numbers there are."""
        sizes = [table.num_rows for table in tables]
        columns = [
            pa.chunked_array([chunk for table in tables for chunk in table.column(name).chunks], _type(tables, name))
            for name in self._keys
        ]
        codes, groups = key_codes(columns, sum(sizes))
        if codes is None:
            codes, groups = np.zeros(sum(sizes), dtype=np.int64), 1
        return np.split(codes, np.cumsum(sizes)[:-1]), groups


def _type(tables: list[pa.Table], name: str) -> pa.DataType:
    return tables[0].schema.field(name).type


def _as_in(schema: pa.Schema, mine: pa.Schema) -> pa.Schema:
    """The types of columns as another schema has them, where it has them."""
    return pa.schema([schema.field(field.name) if field.name in schema.names else field for field in mine])


def _numbered(table: pa.Table, k: int) -> pa.Table:
    return table.append_column(SRC, pa.array(np.full(table.num_rows, k, dtype=np.int32)))


def _together(tables: list[pa.Table], codes: list[Any]) -> pa.Table:
    """Tables as one, by key, then by source; rows of one source stay in their order."""
    whole = pa.concat_tables(tables, promote_options="default")
    order = np.lexsort((whole.column(SRC).to_numpy(), np.concatenate(codes)))
    return whole.take(pa.array(order))
