"""Rows of many keys that came in any order, as stretches: all rows of a key together, by order and then by tie.

    rows ──sort──► a a a a ┊ a a │ b b b │ c        │ another key    ┊ the same key after a silence

With `idle`, a silence longer than that ends a key's windows: what follows is a stretch of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slidewise.engine.arrange import counting_sort, key_codes
from slidewise.engine.columns import to_column
from slidewise.engine.plan import Plan

TIE = "__tie"
"""The hidden column that orders rows of equal order."""


@dataclass(frozen=True)
class Stretches:
    """Stretch s is rows `[starts[s], starts[s + 1])`; `last` says that no other of its key follows."""

    rows: pa.Table
    times: Any
    starts: Any
    last: Any

    def __len__(self) -> int:
        return len(self.last)

    def keys(self, by: tuple[str, ...]) -> list[list[Any]]:
        """The key of each stretch, column by column."""
        firsts = pa.array(self.starts[:-1])
        return [self.rows.column(name).take(firsts).to_pylist() for name in by]


def stretches(plan: Plan, rows: pa.Table, times: Any, idle: Any) -> Iterator[Stretches]:
    """The rows in order, each key once in each part; keys with a silence are in several."""
    codes, groups = key_codes([rows.column(name) for name in plan.by], rows.num_rows)
    places = _places(plan, rows, times, codes, groups)
    rows, times = rows.take(pa.array(places)).combine_chunks(), np.ascontiguousarray(times[places])
    times.flags.writeable = False
    ends = np.zeros(len(times), dtype=np.bool_)
    ends[-1:] = True
    if codes is not None:
        ends[:-1] = codes[places[1:]] != codes[places[:-1]]
    if idle is None or not ((np.diff(times) > idle) & ~ends[:-1]).any():
        starts = np.concatenate([[0], np.nonzero(ends)[0] + 1]).astype(np.int64)
        yield Stretches(rows, times, starts, np.ones(len(starts) - 1, dtype=np.bool_))
        return
    yield from _parts(rows, times, ends, idle)


def _parts(rows: pa.Table, times: Any, ends: Any, idle: Any) -> Iterator[Stretches]:
    """First the first stretch of every key, then the second of those that have one, and so on."""
    silent = np.append(np.diff(times) > idle, False) & ~ends
    stops = np.nonzero(ends | silent)[0] + 1
    starts = np.concatenate([[0], stops[:-1]])
    opens = np.concatenate([[True], ends[stops[:-1] - 1]])  # the first stretch of a key
    number = np.arange(len(starts)) - np.maximum.accumulate(np.where(opens, np.arange(len(starts)), 0))
    for part in range(int(number.max()) + 1):
        mine = np.nonzero(number == part)[0]
        sizes = stops[mine] - starts[mine]
        begins = np.cumsum(sizes) - sizes
        places = np.repeat(starts[mine] - begins, sizes) + np.arange(int(sizes.sum()))
        chosen = np.ascontiguousarray(times[places])
        chosen.flags.writeable = False
        taken = rows.take(pa.array(places)).combine_chunks()
        yield Stretches(taken, chosen, np.append(begins, sizes.sum()).astype(np.int64), ends[stops[mine] - 1])


def _places(plan: Plan, rows: pa.Table, times: Any, codes: Any, groups: int) -> Any:
    """The permutation that sorts rows by key, order and tie."""
    places = np.argsort(times, kind="stable")  # quick where rows come nearly in order
    if codes is not None:
        places = places[counting_sort(codes[places], groups)[0]]
    moved = times[places]
    equal = moved[1:] == moved[:-1]
    if codes is not None:
        equal &= codes[places[1:]] == codes[places[:-1]]
    if not equal.any():
        return places
    tied = np.nonzero(np.append(equal, False) | np.insert(equal, 0, False))[0]
    group = np.cumsum(np.insert(~equal, 0, True))[tied]
    some = rows.take(pa.array(places[tied]))
    by = [some.column(TIE).to_numpy()] if TIE in rows.column_names else []
    by.extend(_ranks(some.column(name)) for name in reversed(plan.order[1:]))
    places[tied] = places[tied][np.lexsort([*by, group])]
    return places


def _ranks(column: pa.ChunkedArray) -> Any:
    """Numbers in the order of the values."""
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type) or pa.types.is_temporal(column.type):
        return to_column(column).values
    return pc.rank(column, tiebreaker="dense").to_numpy()
