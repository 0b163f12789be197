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

WINDOWS = 6
"""A segment is as many times as long as the longest window: longer ones overlap less and are thinner sets."""

SHORTEST = 64
"""Rows of a segment of short windows."""

BATCH = 2**16
"""Rows sorted in one call: few enough to stay in the cache, enough to make the calls' own cost small."""

LONG = 8
"""Moves per value beyond which a segment is better sorted again."""

FIRST, LAST, VALUES, FIRST_ANSWER, LAST_ANSWER, CUT = range(6)
"""Of a segment: its rows, how many are not null, its answers, and how many bits of the values are cut off."""

U = np.uint64
HIGHEST = np.int64(2**63 - 1)
SIGN = np.uint64(2**63)
PADDING = np.uint64(2**64 - 1)


def slide_ranked(q: float, values: Any, valid: Any, lo: Any, hi: Any, min_rows: int, out: Any, ok: Any) -> None:
    """Write the q-quantile of rows `[lo[j], hi[j])` to `out[j]`, or clear `ok[j]`; both bounds never fall.

    `valid` is None if no row is null.
    """
    if len(lo) == 0:
        return
    values = np.ascontiguousarray(values, dtype=np.float64).view()
    values.flags.writeable = False  # one Numba type for columns of integers and floats, so one kernel
    has_nulls = valid is not None
    valid = np.ascontiguousarray(valid) if has_nulls else np.zeros(0, dtype=np.bool_)
    longest = int((hi - lo).max())
    length = min(max(SHORTEST, WINDOWS * longest), max(1, int(hi[-1] - lo[0])))
    number_bits = max(1, (length - 1).bit_length())
    count = max(1, BATCH // length)
    keys, segments = np.empty((count, length), dtype=np.uint64), np.empty((count, 6), dtype=np.int64)
    ranks = np.empty(length, dtype=np.int32 if length < 2**31 else np.int64)
    words, floors = room(MARGIN + length)
    pack, settle, sweep = ranked_kernels()
    answer = 0
    while answer < len(lo):
        held = pack(values, valid, has_nulls, lo, hi, answer, number_bits, keys, segments)
        keys[:held].sort(axis=1)
        unsettled = settle(values, segments[:held], 0, number_bits, keys)
        while unsettled < held:
            _sort_slowly(values, valid if has_nulls else None, segments[unsettled], keys[unsettled])
            unsettled = settle(values, segments[:held], unsettled + 1, number_bits, keys)
        sweep(
            q,
            values,
            valid,
            has_nulls,
            lo,
            hi,
            min_rows,
            number_bits,
            keys,
            segments[:held],
            ranks,
            words,
            floors,
            out,
            ok,
        )
        answer = int(segments[held - 1, LAST_ANSWER])


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


def _pack(
    values: Any,
    valid: Any,
    has_nulls: bool,
    lo: Any,
    hi: Any,
    answer: int,
    number_bits: int,
    keys: Any,
    segments: Any,
) -> int:
    answers = len(lo)
    for s in range(len(segments)):
        if answer == answers:
            return s
        first = lo[answer]
        room_ends = first + keys.shape[1]
        left, right = answer + 1, answers  # the first answer whose window ends outside
        while left < right:
            middle = (left + right) >> 1
            if hi[middle] <= room_ends:
                left = middle + 1
            else:
                right = middle
        last = hi[left - 1]
        row_keys, rows = keys[s], last - first
        least, most = PADDING, U(0)
        for k in range(rows):
            place = _place(values[U(first + k)])
            row_keys[U(k)] = place
            least = min(least, place)
            most = max(most, place)
        cut = 0
        if most > least:
            cut = max(0, highest(most - least) + 1 + number_bits - 64)
        for k in range(rows):
            row_keys[U(k)] = (((row_keys[U(k)] - least) >> U(cut)) << U(number_bits)) | U(k)
        count = rows
        for k in range(rows if has_nulls else 0):
            if not valid[U(first + k)]:
                row_keys[U(k)] = PADDING
                count -= 1
        for k in range(rows, keys.shape[1]):
            row_keys[U(k)] = PADDING
        segments[s, FIRST] = first
        segments[s, LAST] = last
        segments[s, VALUES] = count
        segments[s, FIRST_ANSWER] = answer
        segments[s, LAST_ANSWER] = left
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
    values: Any,
    valid: Any,
    has_nulls: bool,
    lo: Any,
    hi: Any,
    min_rows: int,
    number_bits: int,
    keys: Any,
    segments: Any,
    ranks: Any,
    words: Any,
    floors: Any,
    out: Any,
    ok: Any,
) -> None:
    mask = (U(1) << U(number_bits)) - U(1)
    for s in range(len(segments)):
        first = segments[s, FIRST]
        row_keys = keys[s]
        for k in range(segments[s, VALUES]):
            ranks[row_keys[U(k)] & mask] = k + MARGIN
        for k in range(len(words)):
            words[k] = 0
        mark, below, held = np.int64(MARGIN), np.int64(0), np.int64(0)
        oldest, newest = first, first  # the rows [oldest, newest) are in the set
        for j in range(segments[s, FIRST_ANSWER], segments[s, LAST_ANSWER]):
            start, stop = lo[U(j)], hi[U(j)]
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
                if low != high:
                    low += (high - low) * share
            out[U(j)] = low
