"""Exact quantiles over monotone bounds: values become ranks by sorting, windows become sets of ranks.

    rows      ├──── segment 0 ────┤                        sorted once: every value has a rank
                       ├──── segment 1 ────┤               begins where its first window does
    windows   [───)→→→→→→→→ [───)→→→→→→→→

    ranks     0 1 1 0 1 0 0 1 1 0 1        the window as a set of bits; `mark` has `below` members below it
                      ▲ mark

Rows are cut into overlapping segments a few windows long, each with the answers whose windows lie inside. A segment is
sorted by NumPy as 64-bit keys: the value's place in the order above, as many of its bits as there is room for, the
row's number below; values that differ only in bits that were cut off are put right afterwards. Then per row one bit is
set and one is cleared, and the mark moves to the next member or the one before. O(log w) per row for the sorting and
O(log₆₄ w), mostly one word, for the rest ("Median filtering is equivalent to sorting", Suomela 2014, with bitmaps for
his linked lists, so that even a window of a million rows stays in a core's own cache).

Ranks follow (value, row), NaN last and the two zeros equal, so answers are those of `monoids/catalogue/ranks.py` to
the bit. Values are taken as float64. Nulls have no rank.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from slidewise.kernels.bits import MARGIN, highest, pair_at, put, room, take
from slidewise.kernels.jit import kernel, with_helpers
from slidewise.kernels.spans import WINDOWS, Span, rows_of, run_of, validity

SHORTEST = 64
"""Rows of a segment of short windows; of longer ones it has as many times their rows as a span has at least."""

BATCH = 2**16
"""Rows sorted in one call: few enough to stay in the cache, enough to make the calls' own cost small."""

LONG = 8
"""Moves per value beyond which a segment is better sorted again."""

FIRST, LAST, VALUES, FIRST_ANSWER, LAST_ANSWER, RUN, CUT = range(7)
"""Of a segment: its rows, how many are not null, its answers, the first one's run, and how many bits are cut off."""

U = np.uint64
HIGHEST = np.int64(2**63 - 1)
SIGN = np.uint64(2**63)
PADDING = np.uint64(2**64 - 1)


def slide_ranked(q: float, values: Any, valid: Any, spans: list[Span], min_rows: int, out: Any, ok: Any) -> None:
    """Write the q-quantile of each answer's rows to `out[j]`, or clear `ok[j]`; `valid` is None if no row is null."""
    values = np.ascontiguousarray(values, dtype=np.float64).view()
    values.flags.writeable = False  # one Numba type for columns of integers and floats, so one kernel
    rows = values, validity(valid), valid is not None
    pack, settle, sweep = ranked_kernels()
    for span in spans:
        length = max(1, min(max(SHORTEST, WINDOWS * span.longest), span.rows))
        number_bits = max(1, (length - 1).bit_length())
        keys = np.empty((max(1, BATCH // length), length), dtype=np.uint64)
        segments = np.empty((len(keys), 7), dtype=np.int64)
        ranks = np.empty(length, dtype=np.int32 if length < 2**31 else np.int64)
        sets = ranks, *room(MARGIN + length)
        answer, run = span.begin, 0
        while answer < span.end:
            held = segments[: pack(rows, span.bounds, answer, span.end, run, number_bits, keys, segments)]
            keys[: len(held)].sort(axis=1)
            unsettled = settle(values, held, 0, number_bits, keys)
            while unsettled < len(held):
                _sort_slowly(values, valid, held[unsettled], keys[unsettled])
                unsettled = settle(values, held, unsettled + 1, number_bits, keys)
            sweep(q, rows, span.bounds, min_rows, number_bits, keys, held, sets, out, ok)
            answer, run = int(held[-1, LAST_ANSWER]), int(held[-1, RUN])


def _sort_slowly(values: Any, valid: Any, segment: Any, keys: Any) -> None:
    """Row numbers in the order of their values, where too many values are alike in all bits but the last."""
    first, last = segment[FIRST], segment[LAST]
    rows = np.arange(last - first) if valid is None else np.nonzero(valid[first:last])[0]
    keys[: len(rows)] = rows[np.argsort(values[first:last][rows], kind="stable")]


@functools.cache
def ranked_kernels() -> tuple[Any, Any, Any]:
    """`pack`, `settle` and `sweep`, compiled; built once."""
    return kernel(with_helpers(_pack)), kernel(with_helpers(_settle)), kernel(with_helpers(_sweep))


# ---- hot loops ------------------------------------------------------------------------------------------------------
def _place(x: float) -> Any:
    """An unsigned integer that is ordered as the values are: NaN last, the two zeros equal."""
    bits = np.float64(x + 0.0).view(np.int64)
    return PADDING if x != x else U(bits ^ ((bits >> 63) & HIGHEST)) ^ SIGN


def _pack(rows: Any, bounds: Any, answer: int, end: int, run: int, number_bits: int, keys: Any, segments: Any) -> int:
    """Cut segments from `answer` on, as many as there is room for, and write their keys; how many it was."""
    values, valid, has_nulls = rows
    for s in range(len(segments)):
        if answer == end:
            return s
        run = run_of(bounds, run, answer)
        first, last = rows_of(bounds, run, answer)
        left, right = answer + 1, end  # the first answer whose window ends outside
        while left < right:
            middle = (left + right) >> 1
            ends = rows_of(bounds, run, middle)[1]
            if ends <= first + keys.shape[1]:
                left = middle + 1
                last = ends
            else:
                right = middle
        row_keys, size = keys[s], last - first
        least, most = PADDING, U(0)
        for k in range(size):
            place = _place(values[U(first + k)])
            row_keys[U(k)] = place
            least = min(least, place)
            most = max(most, place)
        cut = 0
        if most > least:
            cut = max(0, highest(most - least) + 1 + number_bits - 64)
        for k in range(size):
            row_keys[U(k)] = (((row_keys[U(k)] - least) >> U(cut)) << U(number_bits)) | U(k)
        count = size
        for k in range(size if has_nulls else 0):
            if not valid[U(first + k)]:
                row_keys[U(k)] = PADDING
                count -= 1
        for k in range(size, keys.shape[1]):
            row_keys[U(k)] = PADDING
        segments[s, FIRST] = first
        segments[s, LAST] = last
        segments[s, VALUES] = count
        segments[s, FIRST_ANSWER] = answer
        segments[s, LAST_ANSWER] = left
        segments[s, RUN] = run
        segments[s, CUT] = cut
        answer = left
    return len(segments)


def _settle(values: Any, segments: Any, begin: int, number_bits: int, keys: Any) -> int:
    """Put right what differs only in bits that were cut off, by insertion; the first segment where that takes long."""
    for s in range(begin, len(segments)):
        if segments[s, CUT] > 0 and not _settled(values, segments[s], number_bits, keys[s]):
            return s
    return len(segments)


def _settled(values: Any, segment: Any, number_bits: int, keys: Any) -> bool:
    first, count = segment[FIRST], segment[VALUES]
    mask = (U(1) << U(number_bits)) - U(1)
    moves = 0
    for k in range(1, count):
        key = keys[U(k)]
        if (key ^ keys[U(k - 1)]) > mask:
            continue
        place = _place(values[U(first) + (key & mask)])
        p = k
        while p > 0:
            other = keys[U(p - 1)]
            if (key ^ other) > mask or _place(values[U(first) + (other & mask)]) <= place:
                break
            keys[U(p)] = other
            p -= 1
        keys[U(p)] = key
        moves += k - p
        if moves > LONG * count:
            return False
    return True


def _sweep(
    q: float,
    rows: Any,
    bounds: Any,
    min_rows: int,
    number_bits: int,
    keys: Any,
    segments: Any,
    sets: Any,
    out: Any,
    ok: Any,
) -> None:
    """The answers of some segments, from their sorted keys."""
    values, valid, has_nulls = rows
    ranks, words, floors = sets
    mask = (U(1) << U(number_bits)) - U(1)
    for s in range(len(segments)):
        first, run = segments[s, FIRST], segments[s, RUN]
        row_keys = keys[s]
        for k in range(segments[s, VALUES]):
            ranks[row_keys[U(k)] & mask] = k + MARGIN
        for k in range(len(words)):
            words[k] = 0
        mark, below, held = np.int64(MARGIN), np.int64(0), np.int64(0)
        oldest, newest = first, first  # the rows [oldest, newest) are in the set
        for j in range(segments[s, FIRST_ANSWER], segments[s, LAST_ANSWER]):
            run = run_of(bounds, run, j)
            start, stop = rows_of(bounds, run, j)
            while oldest < start and oldest < newest:
                if not has_nulls or valid[U(oldest)]:
                    rank = np.int64(ranks[U(oldest - first)])
                    take(words, floors, rank)
                    held -= 1
                    below -= np.int64(rank < mark)
                oldest += 1
            if newest < start:  # the rows between are in no window
                oldest, newest = start, start
            while newest < stop:
                if not has_nulls or valid[U(newest)]:
                    rank = np.int64(ranks[U(newest - first)])
                    put(words, floors, rank)
                    held += 1
                    below += np.int64(rank < mark)
                newest += 1
            if held == 0 or stop - start < min_rows:
                ok[U(j)] = False
                continue
            place = q * (held - 1)
            wanted = np.int64(math.floor(place))
            share = place - wanted
            mark, following = pair_at(words, floors, mark, wanted - below, share != 0.0)
            below = wanted
            low = values[U(first) + (row_keys[U(mark - MARGIN)] & mask)]
            if share != 0.0:
                high = values[U(first) + (row_keys[U(following - MARGIN)] & mask)]
                low = low if low == high else low * (1.0 - share) + high * share
            out[U(j)] = low
