"""How many ⊕ the loops of `sw.slide` take: the same source as the machine code, run on objects that count.

per event   one for its slice's prefix, one for its slice's suffixes, two per window: (2 + 2 · windows) at most
per step    one per row into its slice; what FlatFIT takes per slice and answer
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from slidewise.kernels.ops import object_ops
from slidewise.sharing.events import SLICE, banks_of, build_events, places_for
from slidewise.sharing.hops import build_hops, hop_banks, slice_rows
from slidewise.sharing.plan import SharedPlan
from slidewise.sharing.query import Query
from tests.sharing.counting import Counted


def letters() -> Counted:
    """A ⊕ that does not commute, and stays small."""
    return Counted((), lambda a, b: (a + b)[-3:], "last three")


def events_spent(widths: list[int], rows: int, warm: int) -> tuple[float, list[list[Any]]]:
    """⊕ per row for windows of so many rows, over the rows after `warm`; and all answers."""
    counted = letters()
    ops = object_ops(counted.monoid, 1)
    row_bank, slice_bank = banks_of(ops)
    for bank, places in zip((row_bank, slice_bank), places_for(rows), strict=True):
        bank.add(places)
    loop = build_events(ops)
    lo = np.concatenate([np.maximum(np.arange(rows) + 1 - width, 0) for width in widths])
    outs = tuple(ops.outputs(rows) for _ in widths)
    ok = tuple(np.ones(rows, dtype=np.bool_) for _ in widths)
    inputs, none = ([(k,) for k in range(rows)],), np.zeros(0, dtype=np.bool_)
    least = np.zeros(len(widths), dtype=np.int64)
    spent = 0
    for first, last in ((0, warm), (warm, rows)):
        run = np.array([[0, first == 0, first, first, last, max(0, last - max(widths)), 0]])
        scratch = (ops.columns(SLICE), np.zeros(SLICE, dtype=np.int64))
        given = (inputs, none, False, run, 0, lo, rows, least, outs, ok)
        spent = counted.of(
            lambda s=scratch, g=given: loop(row_bank.cols, row_bank.regs, slice_bank.cols, slice_bank.regs, *s, *g)
        )
    answers = [mine[0] for mine in outs]
    assert counted.lifted == rows  # once for all windows
    return spent / (rows - warm), answers


@pytest.mark.parametrize("widths", [[50], [40, 400], [17, 50, 100, 333, 1000, 2000]], ids=str)
def test_two_combines_per_event_and_two_per_window(widths: list[int]) -> None:
    rows, warm = 4096, 2048
    spent, answers = events_spent(widths, rows, warm)
    for width, mine in zip(widths, answers, strict=True):
        for row in (0, 1, 15, 16, 17, 31, 999, 2048, 4095):
            assert mine[row] == tuple(range(max(0, row + 1 - width), row + 1))[-3:]
    # Prefixes and suffixes take 2 - 1/SLICE; the middle of each window is asked about twice a slice, at ≤ 3 ⊕.
    assert spent <= 2 + len(widths) * (2 + 6 / SLICE)
    assert spent >= 1 + len(widths)


@pytest.mark.parametrize("width", range(1, SLICE))
def test_windows_shorter_than_a_slice_are_folded_in_part(width: int) -> None:
    spent, _ = events_spent([width], 2048, 1024)
    assert 2 - 1 / SLICE <= spent <= 2 + 4.5


def test_a_window_more_costs_two_combines_however_long_it_is() -> None:
    rows, warm = 4096, 2048
    one, _ = events_spent([500], rows, warm)
    for longer in (600, 1500):
        two, _ = events_spent([500, longer], rows, warm)
        assert 1.8 <= two - one <= 2 + 6 / SLICE


def hops_spent(lengths: list[tuple[int, int]], rows: int, warm: int) -> tuple[int, int, int]:
    """⊕ for windows of rows with a step, after `warm` rows; the slices and the answers of those rows."""
    counted = letters()
    ops = object_ops(counted.monoid, 1)
    slices, ring = hop_banks(ops)
    for bank in (slices, ring):
        bank.add(rows)
    plan = SharedPlan([Query(counted.monoid, length, step) for length, step in lengths])
    periods, offsets = (np.array([getattr(beat, name) for beat in plan.cuts]) for name in ("period", "offset"))
    due = sorted((end, k) for k, (_, step) in enumerate(lengths) for end in range(step, rows + 1, step))
    loop, spent, cut, asked = build_hops(ops), 0, 0, 0
    for first, last in ((0, warm), (warm, rows)):
        mine = [(end, lengths[k][0]) for end, k in due if first < end <= last]
        hi = np.array([end for end, _ in mine])
        lo = np.array([max(0, end - length) for end, length in mine])
        outs, ok = (ops.outputs(len(mine)),), (np.ones(len(mine), dtype=np.bool_),)
        run = np.array([[0, first == 0, first, last, 0, len(mine), first]])
        begins, counts = np.zeros(rows, dtype=np.bool_), np.zeros(1, dtype=np.int64)
        slice_rows()(np.arange(rows), run, periods, offsets, begins, counts)
        inputs, none = ([(k,) for k in range(rows)],), np.zeros(0, dtype=np.bool_)
        run[0, -1] = 0
        place, least = np.arange(len(mine)), np.zeros(1, dtype=np.int64)  # all as if they were of one window
        given = (inputs, none, False, begins, run, lo, hi, lo * 0, place, least, outs, ok)
        spent = counted.of(lambda g=given: loop(slices.cols, slices.regs, ring.cols[0], ring.regs, *g))
        for (end, length), answer in zip(mine, outs[0][0], strict=True):
            assert answer == tuple(range(max(0, end - length), end))[-3:]
        cut, asked = int(counts[0]), len(mine)
    assert counted.lifted == rows
    return spent, cut, asked


@pytest.mark.parametrize(
    ("ranges", "each"),
    [([1], 0), ([60], 3), ([1, 5, 60], 2), (list(range(1, 61)), 1)],
    ids=["tumbling", "one", "three", "all"],
)
def test_windows_that_end_together_take_a_combine_per_row_and_few_per_answer(ranges: list[int], each: int) -> None:
    """As FlatFIT has it: 3 on average for one range, at most 1 where all are asked, something between for few."""
    rows, warm, step = 9600, 4800, 10
    spent, cut, asked = hops_spent([(step * many, step) for many in ranges], rows, warm)
    assert cut == (rows - warm) // step  # a slice per step, however many windows there are
    folded = rows - warm - cut  # every row but the first of a slice
    assert folded + (each - 1) * asked < spent <= folded + each * asked


def test_slices_are_cut_where_windows_start_and_end_and_nowhere_else() -> None:
    spent, cut, asked = hops_spent([(5, 4), (9, 12)], 2400, 1200)
    assert cut == 6 * 100  # by pairs, 6 partials per composite slide of 12 rows (tests/sharing/test_plan.py)
    assert spent <= 1200 - cut + 3 * asked
