"""How many distinct values over monotone bounds: each row is linked to the rows of the same value before and after it.

    rows       a   b   a   c   a   b
    earlier    -   -   0   -   2   1        the row before with the same value, -1 if there is none
    later      2   5   4   ∞   ∞   ∞        the row after, the number of rows if there is none

A row brings a new value into a window if its `earlier` row lies before the window, and takes one out when it leaves if
its `later` row lies behind. So a window needs no counts by value: two reads in order per row. The links are made in
one pass with a hash table of rows, O(1) per row; the table is as long as the rows, its hot part as the values.

NaN is one value, and so is zero. Nulls are none.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from slidewise.kernels.jit import kernel, with_helpers
from slidewise.kernels.spans import Span, rows_of, run_of, validity

U = np.uint64


def slide_distinct(values: Any, valid: Any, spans: list[Span], min_rows: int, out: Any, ok: Any) -> None:
    """Write the number of distinct values of each answer's rows to `out[j]`; `valid` is None if no row is null."""
    link, sweep = distinct_kernels()
    size = len(values)
    number = np.int32 if size < 2**31 else np.int64
    earlier, later = np.empty(size, dtype=number), np.empty(size, dtype=number)
    has_nulls, valid = valid is not None, validity(valid)
    table_bits = max(1, (2 * size - 1).bit_length())
    link(_keys(values), valid, has_nulls, table_bits, np.zeros(2**table_bits, dtype=number), earlier, later)
    for span in spans:
        sweep(valid, has_nulls, span.bounds, span.begin, span.end, min_rows, earlier, later, out, ok)


@functools.cache
def distinct_kernels() -> tuple[Any, Any]:
    """`link` and `sweep`, compiled; built once."""
    return kernel(with_helpers(_link)), kernel(with_helpers(_sweep))


def _keys(values: Any) -> Any:
    """Integers that are equal where the values are."""
    if values.dtype == np.float64:
        values = np.where(values == values, values + 0.0, np.nan)
    return np.ascontiguousarray(values).view(np.uint64)


# ---- hot loops ------------------------------------------------------------------------------------------------------
def _link(keys: Any, valid: Any, has_nulls: bool, table_bits: int, table: Any, earlier: Any, later: Any) -> None:
    """Link the rows; `table` has 1 + the newest row of each value where its hash says, or right after; 0 is none."""
    mask = (U(1) << U(table_bits)) - U(1)
    for row in range(len(keys)):
        later[row] = len(keys)
        earlier[row] = -1
        if has_nulls and not valid[row]:
            continue
        key = keys[row]
        mixed = (key ^ (key >> U(32))) * U(0x9E3779B97F4A7C15)
        at = (mixed ^ (mixed >> U(29))) * U(0xBF58476D1CE4E5B9) >> U(64 - table_bits)
        while table[at] != 0 and keys[table[at] - 1] != key:
            at = (at + U(1)) & mask
        if table[at] != 0:
            earlier[row] = table[at] - 1
            later[table[at] - 1] = row
        table[at] = row + 1


def _sweep(
    valid: Any,
    has_nulls: bool,
    bounds: Any,
    begin: int,
    end: int,
    min_rows: int,
    earlier: Any,
    later: Any,
    out: Any,
    ok: Any,
) -> None:
    """Count the values of each window from those of the one before."""
    run = run_of(bounds, 0, begin)
    oldest = rows_of(bounds, run, begin)[0]
    newest, count = oldest, 0  # of rows [oldest, newest)
    for j in range(begin, end):
        run = run_of(bounds, run, j)
        start, stop = rows_of(bounds, run, j)
        while oldest < start and oldest < newest:
            if later[U(oldest)] >= newest and not (has_nulls and not valid[U(oldest)]):
                count -= 1
            oldest += 1
        if newest < start:  # the rows between are in no window
            oldest, newest = start, start
        while newest < stop:
            if earlier[U(newest)] < oldest and not (has_nulls and not valid[U(newest)]):
                count += 1
            newest += 1
        if stop - start < min_rows:
            ok[U(j)] = False
        else:
            out[U(j)] = count
