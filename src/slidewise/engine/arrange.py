"""Rows into runs: all rows of a key together, in order, ties in order of arrival.

    rows as they came ──► permutation, starts of runs ──► (answers) ──► rows as they came

Already arranged rows are found out in one pass and not moved. Otherwise one stable sort by `order` if it does not rise
yet, and one counting sort by key: O(n) for the keys, O(n log n) only for times that are out of order.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slidewise.engine.columns import frozen, to_column
from slidewise.engine.order import order_values, times_of
from slidewise.engine.plan import Plan
from slidewise.errors import ArgumentError
from slidewise.kernels.jit import kernel

__all__ = ["Arranged", "arrange", "counting_sort", "key_codes", "one_zero", "sortable", "times_of"]


@dataclass(frozen=True)
class Arranged:
    """`rows[k]` is the input row at place k (None: already in place); run r is `[starts[r], starts[r + 1])`."""

    rows: Any
    starts: Any
    times: Any


def arrange(
    plan: Plan,
    length: int,
    keys: Sequence[pa.ChunkedArray],
    order: Sequence[tuple[str, pa.ChunkedArray]],
    presorted: bool,
) -> Arranged:
    """Where each row goes, the runs of keys, and in that order what windows are measured along (None: only rows)."""
    for name, column in order:
        if column.null_count:
            raise ArgumentError(f"order={name!r}: holds {column.null_count} null(s); expected a value in every row")
    times = order_values(plan, order[0][1]) if order else None
    codes, groups = key_codes(keys, length)
    rows = None if presorted else _by_order(order, times)
    if codes is not None:
        moved = codes if rows is None else codes[rows]
        if not presorted and not _rising(moved):
            counted, starts = counting_sort(moved, groups)
            rows = counted if rows is None else rows[counted]
        else:
            changes = np.nonzero(moved[1:] != moved[:-1])[0] + 1
            starts = np.concatenate([[0], changes, [length]]) if length else np.zeros(1, dtype=np.int64)
    else:
        starts = np.array([0, length] if length else [0], dtype=np.int64)
    if rows is not None and times is not None:
        times = frozen(times[rows])
    if presorted:
        _check_presorted(times, starts, codes, order)
    return Arranged(rows, starts.astype(np.int64), times)


def key_codes(keys: Sequence[pa.ChunkedArray | pa.Array], length: int) -> tuple[Any, int]:
    """A number per row, equal where all keys are equal (null is a key as well), and how many numbers there are."""
    codes: Any = None
    groups = 1
    for column in keys:
        mine, size = _codes(pa.chunked_array([column]) if isinstance(column, pa.Array) else column)
        if codes is None:
            codes, groups = mine, size
        else:
            distinct, codes = np.unique(codes * size + mine, return_inverse=True)
            groups = max(1, len(distinct))
    return (codes, groups) if codes is not None else (None, 1)


def _codes(column: pa.ChunkedArray) -> tuple[Any, int]:
    """A number per row of one column, and how many numbers there are at most."""
    column = sortable(column)
    if pa.types.is_integer(column.type) and column.type != pa.uint64() and not column.null_count and len(column):
        values = to_column(column).values
        least, span = int(values.min()), int(values.max()) - int(values.min())
        if span <= 2 * len(values):  # dense enough to be counted as they are
            return values - least, span + 1
    encoded = column.dictionary_encode("encode").combine_chunks()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.chunk(0)
    return encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64), max(1, len(encoded.dictionary))


def sortable(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The same values in a type that Arrow can sort and encode, equal where they are the same key."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if isinstance(column.type, pa.BaseExtensionType):
        column = pa.chunked_array([chunk.storage for chunk in column.chunks], column.type.storage_type)
    if pa.types.is_floating(column.type):
        return one_zero(column.cast(pa.float64()))
    return column.cast(pa.string()) if pa.types.is_null(column.type) else column


def one_zero(column: Any) -> Any:
    """A key column in which equal keys have equal bits: floats with one zero and one NaN, as Spark groups them."""
    if not pa.types.is_floating(column.type):
        return column
    nan, zero = pa.scalar(np.nan, column.type), pa.scalar(0.0, column.type)
    return pc.if_else(pc.is_nan(column), nan, pc.add(column, zero))


def _by_order(order: Sequence[tuple[str, pa.ChunkedArray]], times: Any) -> Any:
    """The permutation that puts rows in order, ties as they came; None if they are."""
    if not order:
        return None
    if len(order) == 1:
        values = times
        if values is None:
            column = to_column(order[0][1], order[0][0])
            values = None if isinstance(column.values, list) else column.values
        if values is not None:
            return None if _rising(values) else np.argsort(values, kind="stable")
    table = pa.table({f"{k}": sortable(column) for k, (_, column) in enumerate(order)})
    rows = pc.sort_indices(table, sort_keys=[(f"{k}", "ascending") for k in range(len(order))])
    return rows.to_numpy().astype(np.int64)


def _rising(values: Any) -> bool:
    return bool((values[1:] >= values[:-1]).all())


def counting_sort(codes: Any, groups: int) -> tuple[Any, Any]:
    """The permutation that sorts codes of `[0, groups)`, equal ones as they are; O(n + groups).

    And where each code that occurs starts, with n at the end.
    """
    rows, places = np.empty(len(codes), dtype=np.int64), np.zeros(groups + 1, dtype=np.int64)
    _counting_sort()(codes, rows, places)
    ends = places[:-1]  # each place has moved to the end of its code
    return rows, np.concatenate([[0], ends[np.diff(ends, prepend=0) > 0]])


@functools.cache
def _counting_sort() -> Any:
    def counting_sort(codes: Any, rows: Any, places: Any) -> None:
        for code in codes:
            places[code + 1] += 1
        for k in range(1, len(places)):
            places[k] += places[k - 1]
        for i in range(len(codes)):
            rows[places[codes[i]]] = i
            places[codes[i]] += 1

    return kernel(counting_sort)


def _check_presorted(times: Any, starts: Any, codes: Any, order: Sequence[tuple[str, pa.ChunkedArray]]) -> None:
    if codes is not None and len(starts) - 1 > len(np.unique(codes)):
        raise ArgumentError("presorted=True: rows of a key are not all together; leave it out to have them arranged")
    values = times
    if values is None and len(order) == 1:
        column = to_column(order[0][1], order[0][0])
        values = None if isinstance(column.values, list) else column.values
    if values is not None and len(values):
        falls = values[1:] < values[:-1]
        falls[starts[1:-1] - 1] = False
        if falls.any():
            raise ArgumentError("presorted=True: order falls within a key; leave it out to have the rows sorted")
