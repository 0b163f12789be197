"""Where the rows of a stream are stored, and which of them still matter.

Rows that were inserted together have an *origin* in common: the page of state they lie in. A page may go when none of
its rows is needed, so of each origin this remembers the newest time and, where that is not enough, each row's slot and
its position among the rows of its key.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

ORIGIN, ROW = "__origin", "__row"
"""Hidden columns: which rows a row came with, and its number among them."""

WAITS, FORGOTTEN = -1, -2
"""In place of a slot: a row that is in no window yet, and one whose key has begun anew."""


@dataclass
class Origin:
    """Rows that lie together; `seeded` if they are history, which is not answered."""

    newest: int
    seeded: bool
    slots: Any
    positions: Any


class Origins:
    """By number; `tracked` says whether the place of every row is remembered."""

    def __init__(self, tracked: bool) -> None:
        self._tracked = tracked
        self._found: dict[int, Origin] = {}

    @property
    def numbers(self) -> set[int]:
        """The origins whose rows are remembered."""
        return set(self._found)

    def __getitem__(self, number: int) -> Origin:
        return self._found[number]

    def add(self, number: int, table: pa.Table, newest: int, seeded: bool) -> pa.Table:
        """Rows that lie together from now on; they come back with the two hidden columns."""
        n = table.num_rows
        placed = n if self._tracked else 0
        self._found[number] = Origin(newest, seeded, np.full(placed, WAITS), np.zeros(placed, dtype=np.int64))
        table = table.append_column(ORIGIN, pa.array(np.full(n, number, dtype=np.int64)))
        return table.append_column(ROW, pa.array(np.arange(n, dtype=np.int64)))

    def drop(self, number: int) -> None:
        """These rows are stored no longer."""
        del self._found[number]

    def note(self, rows: pa.Table, slots: Any, positions: Any) -> None:
        """Rows went into the windows: of which slot, as which row of it."""
        if not self._tracked or not rows.num_rows:
            return
        origin, row = rows.column(ORIGIN).to_numpy(), rows.column(ROW).to_numpy()
        first = int(origin.min())
        for number in (np.nonzero(np.bincount(origin - first))[0] + first).tolist():
            mine = origin == number
            self._found[number].slots[row[mine]] = slots[mine]
            self._found[number].positions[row[mine]] = positions[mine]

    def forget(self, slots: Any) -> None:
        """The rows of these slots matter no longer."""
        for one in self._found.values() if self._tracked else ():
            one.slots[np.isin(one.slots, slots)] = FORGOTTEN

    def seeded(self, rows: pa.Table) -> Any:
        """Which rows are history; None if none is."""
        history = [number for number, one in self._found.items() if one.seeded]
        return np.isin(rows.column(ORIGIN).to_numpy(), history) if history else None

    def kept_longer(self, time: int) -> int:
        """How many rows lie in origins with a row newer than this; where rows are tracked."""
        return sum(len(one.slots) for one in self._found.values() if one.newest > time)
