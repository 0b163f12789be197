"""⊕ of the final aggregators, as sharing/final.py says: an insert, a query of any range, the whole window."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from slidewise.kernels.ops import object_ops
from slidewise.sharing.final import BIntFinal, Final, FlatFAT
from slidewise.sharing.flatfit import FlatFIT
from tests.sharing.counting import CONCAT, Counted

SIZES = [3, 5, 8, 16, 21, 64]  # a ring has at least four places


def counted_last() -> Counted:
    """Does not commute, and stays small."""
    return Counted((), lambda a, b: (a + b)[-3:], "last three")


def full(kind: type[Final], counted: Counted, size: int) -> Final:
    """A window that has gone round a few times."""
    window = kind(object_ops(counted.monoid, 1), size)
    for number in range(5 * size + 3):
        window.insert((number,))
    return window


@pytest.mark.parametrize("size", SIZES)
def test_flatfat_climbs_to_the_root_at_every_insert(size: int) -> None:
    counted, height = counted_last(), math.ceil(math.log2(size))
    window = full(FlatFAT, counted, size)
    assert [counted.of(lambda n=n: window.insert((n,))) for n in range(3 * size)] == [height] * (3 * size)


@pytest.mark.parametrize("size", SIZES)
def test_b_int_finishes_the_intervals_that_end_at_an_insert(size: int) -> None:
    counted, height = counted_last(), math.ceil(math.log2(size))
    window = full(BIntFinal, counted, size)
    spent = [counted.of(lambda n=n: window.insert((n,))) for n in range(1 << (height + 3))]
    assert max(spent) <= height
    assert sum(spent) / len(spent) < 1


@pytest.mark.parametrize("kind", [FlatFAT, BIntFinal])
@pytest.mark.parametrize("size", SIZES)
def test_trees_take_two_logarithms_for_any_range(kind: type[Final], size: int) -> None:
    counted, height = counted_last(), math.ceil(math.log2(size))
    window = full(kind, counted, size)
    worst = 0
    for number in range(2 * size):
        window.insert((number,))
        for count in range(1, size + 1):
            worst = max(worst, counted.of(lambda c=count: window.query(c)))
    assert worst <= 2 * height
    assert size < 8 or worst > height  # more than a path to the root: the bound is near


def test_flatfat_reads_the_whole_of_a_full_ring_off_its_root_where_combine_commutes() -> None:
    counted = Counted(-math.inf, max, "max")
    window = FlatFAT(object_ops(replace(counted.monoid, commutative=True), 1), 16)
    for number in range(50):
        window.insert(number)
        if number >= 15:
            assert counted.of(lambda: window.query(16)) == 0
            assert window.query(16) == number


@pytest.mark.parametrize("size", SIZES)
def test_flatfit_inserts_without_a_combine(size: int) -> None:
    counted = counted_last()
    window = full(FlatFIT, counted, size)
    assert counted.of(lambda: [window.insert((n,)) for n in range(3 * size)]) == 0


@pytest.mark.parametrize("kind", [FlatFIT, FlatFAT, BIntFinal])
def test_every_range_is_in_order(kind: type[Final]) -> None:
    window = kind(object_ops(CONCAT, 1), 13)
    for number in range(60):
        window.insert((number,))
        for count in range(1, min(13, number + 1) + 1):
            assert window.query(count) == tuple(range(number + 1 - count, number + 1))


@pytest.mark.parametrize("kind", [FlatFIT, FlatFAT, BIntFinal])
def test_all_ranges_of_a_slide(kind: type[Final]) -> None:
    """002 table 1, max-multi-query: n − 1 ⊕ per slide for FlatFIT, n log n for the trees."""
    n, counted = 64, Counted(-math.inf, max, "max")
    window = kind(object_ops(counted.monoid, 1), n)
    for number in range(2 * n):
        window.insert(number)
        for count in range(1, min(n, number + 1) + 1):
            window.query(count)
    before = counted.count
    for number in range(n):
        window.insert(number)
        for count in range(1, n + 1):
            window.query(count)
    each = (counted.count - before) / n
    assert each == n - 1 if kind is FlatFIT else n * math.log2(n) / 2 < each < 2 * n * math.log2(n)
