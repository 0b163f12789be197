"""Paged AMTA against AMTA in memory and a fold: any steps in any order, with its middle in a dict that counts.

What is asserted beside the answers: an insert reads no page, single evictions read one now and then, and an eviction of
any number reads at most two per level. An error of whoever keeps the pages leaves the window as it was.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import slidewise as sw
from slidewise.engine.times import NEWEST_TIME
from slidewise.errors import ArgumentError
from slidewise.kernels.registers import HEAD, TAIL
from slidewise.monoids.catalogue import moments
from slidewise.monoids.catalogue.extremes import MAX_FLOAT
from slidewise.swag.amta import Amta
from slidewise.swag.paged_amta import PAGE, SMALLEST_RING, Columns, PagedAmta

PRIME = 1009


def _compose(f: Any, g: Any) -> Any:
    return ((f[0] * g[0]) % PRIME, (g[0] * f[1] + g[1]) % PRIME)


AFFINE = sw.Monoid(  # x -> a·x + b, composed: numbers that do not commute
    identity=(1, 0),
    lift=lambda x: (x % 5 + 1, x % 7),
    combine=_compose,
    lower=lambda f: f[0] * 10_000 + f[1],
    name="affine",
)
ADD = sw.Monoid(identity=0, combine=lambda a, b: a + b, name="add")
SPAN = sw.Monoid(  # first and last of neighbours, which must be neighbours: any wrong order is found out
    identity=None,
    lift=lambda x: (x, x),
    combine=lambda a, b: b if a is None else a if b is None else _joined(a, b),
    name="span",
)


def _joined(a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
    assert a[1] + 1 == b[0], (a, b)
    return a[0], b[1]


class Broken(Exception):
    """What a keeper raises in these tests."""


class Kept:
    """Pages in a dict, counted."""

    def __init__(self) -> None:
        self.pages: dict[tuple[int, int], Columns] = {}
        self.broken = False
        self.fetches = 0

    def ready(self) -> None:
        pass

    def keep(self, level: int, first: int, columns: Columns) -> None:
        assert len(columns[0]) % PAGE == 0
        for k in range(len(columns[0]) // PAGE):
            lent = tuple(column[k * PAGE : (k + 1) * PAGE] for column in columns)
            self.pages[level, first + k] = tuple(part.copy() for part in lent)

    def fetch(self, wanted: Sequence[tuple[int, int]]) -> list[Columns]:
        if self.broken:
            raise Broken
        self.fetches += 1
        return [self.pages[at] for at in wanted]


def paged(monoid: sw.Monoid, types: tuple[str, ...] | None = None, ring: int = SMALLEST_RING) -> PagedAmta:
    return PagedAmta(monoid, Kept(), types=types, ring=ring)


def kept_by(window: PagedAmta) -> Kept:
    kept = window._pages
    assert isinstance(kept, Kept)
    return kept


def levels_of(window: PagedAmta) -> int:
    return window.register(TAIL).bit_length()


# ---- any steps in any order -----------------------------------------------------------------------------------------
class Steps(RuleBasedStateMachine):
    """The same steps on a paged window and on one in memory; positions far enough that pages come and go."""

    monoid: sw.Monoid = AFFINE
    types: tuple[str, ...] | None = ("int64",)

    def __init__(self) -> None:
        super().__init__()
        self.paged = paged(self.monoid, self.types)
        self.near = Amta(self.monoid, types=self.types)
        self.next = 0

    def values(self, n: int) -> Any:
        self.next += n
        values = range(self.next - n, self.next)
        return np.array(values, dtype=np.int64) if self.types else list(values)

    @initialize(n=st.sampled_from([0, 700, 5000]))
    def begin(self, n: int) -> None:
        self.extend(n)

    @rule(n=st.integers(0, 3000))
    def extend(self, n: int) -> None:
        values = self.values(n)
        self.same_answers(values, None)

    @rule(n=st.integers(0, 1500), size=st.integers(1, 6000))
    def slide(self, n: int, size: int) -> None:
        self.same_answers(self.values(n), size)

    def same_answers(self, values: Any, size: int | None) -> None:
        assert self.paged.extend(values, size) == self.near.extend(values, size)

    @rule(n=st.integers(1, 20), null=st.booleans())
    def insert(self, n: int, null: bool) -> None:
        reads = self.paged.reads
        for value in self.values(n):
            for window in (self.paged, self.near):
                window.insert_null() if null and self.monoid is not SPAN else window.insert(value)
        assert self.paged.reads == reads  # never

    @rule(n=st.integers(0, 600))
    def evict_one_by_one(self, n: int) -> None:
        for _ in range(min(n, len(self.near))):
            self.paged.evict()
            self.near.evict()

    @rule(share=st.floats(0, 1))
    def evict_many(self, share: float) -> None:
        n, reads = int(share * len(self.near)), self.paged.reads
        self.paged.evict_many(n)
        self.near.evict_many(n)
        assert self.paged.reads - reads <= 2 * levels_of(self.paged)

    @rule()
    def restore(self) -> None:
        registers, ends, kept = self.paged.tails()
        assert all(len(columns[0]) <= PAGE + 4 for columns in kept)
        again = PagedAmta(self.monoid, kept_by(self.paged), types=self.types, ring=SMALLEST_RING)
        again.set_tails(registers, ends, kept)
        again.reads = self.paged.reads
        self.paged = again

    @rule(n=st.integers(0, 300), gone=st.integers(0, 300), other=st.integers(0, 5))
    def take_back(self, n: int, gone: int, other: int) -> None:
        marked = self.paged.mark()
        self.paged.evict_many(min(gone, len(self.paged)))
        for k in range(n):
            self.paged.insert(self.next + k)
        self.paged.query()
        self.paged.back_to(marked)
        for value in self.values(other):
            self.paged.insert(value)
            self.near.insert(value)

    @invariant()
    def same_window(self) -> None:
        assert len(self.paged) == len(self.near)
        assert self.paged.query() == self.near.query()
        assert self.paged.register(HEAD) == self.near.register(HEAD)


class ObjectSteps(Steps):
    monoid = SPAN
    types = None

    @rule(share=st.floats(0, 1.1))
    def enforce(self, share: float) -> None:
        if not len(self.near):
            return
        reads, first = self.paged.reads, self.near.query()[0]
        bound = first + int(share * len(self.near))

        def policy(total: Any, old: Any) -> bool:
            assert total == self.near.query()
            return bool(old is not None and old[1] < bound)

        gone = self.paged.enforce(policy)
        assert gone == min(bound - first, len(self.near))
        self.near.evict_many(gone)
        assert self.paged.reads - reads <= 3 * levels_of(self.paged)


TestNumbers = Steps.TestCase
TestNumbers.settings = settings(max_examples=15, stateful_step_count=15, deadline=None)
TestObjects = ObjectSteps.TestCase
TestObjects.settings = settings(max_examples=8, stateful_step_count=12, deadline=None)


@pytest.mark.slow
@pytest.mark.parametrize("machine", [Steps, ObjectSteps])
def test_many_more_steps(machine: type[Steps]) -> None:
    from hypothesis.stateful import run_state_machine_as_test

    run_state_machine_as_test(
        machine, settings=settings(max_examples=150, stateful_step_count=40, deadline=None, print_blob=True)
    )


@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "objects"])
def test_invariants_of_the_tree(compiled: bool) -> None:
    """`check` looks at every node, those elsewhere too."""
    window, draw, inside = paged(AFFINE, ("int64",) if compiled else None), random.Random(1), 0
    for step in range(8):
        values = [draw.randrange(1000) for _ in range(draw.randrange(3000))]
        window.extend(values)
        inside += len(values)
        gone = draw.randrange(inside // 2 + 1)
        window.evict_many(gone)
        inside -= gone
        if step % 3 == 2:
            window.query()
        window.check()
        assert len(window) == inside


@pytest.mark.slow
def test_floats_of_several_fields() -> None:
    draw = np.random.default_rng(2)
    window, near = paged(moments.STDDEV_MONOID, ("float64",)), Amta(moments.STDDEV_MONOID, types=("float64",))
    for size in (5000, 700, 4000, 3000):
        values = draw.normal(size=6000)
        for one, other in zip(window.extend(values, size), near.extend(values, size), strict=True):
            assert one == other or one == pytest.approx(other, rel=1e-9)


# ---- large windows, and what they read -----------------------------------------------------------------------------
LARGE = 2**18


@pytest.fixture(scope="module")
def large() -> tuple[list[int], Columns, list[Columns], Kept]:
    """A window of numbers, each its own position, as its tails and pages: every test restores its own."""
    window = paged(ADD, ("int64",), ring=4096)
    reads = window.reads
    for first in range(0, LARGE, 2**15):
        window._make_room(0)
        window.extend_arrays(np.arange(first, first + 2**15))
    assert window.reads - reads <= levels_of(window)  # the answers on the way look at each level's first page
    return *window.tails(), kept_by(window)


def again(large: tuple[list[int], Columns, list[Columns], Kept]) -> PagedAmta:
    registers, ends, tails, kept = large
    window = PagedAmta(ADD, kept, types=("int64",), ring=4096)
    window.set_tails(registers, ends, tails)
    return window


@pytest.mark.parametrize("gone", [1, 2, 100, 1000, 2**16, 2**17 - 1, 2**17 + 12345, LARGE - 5000, LARGE - 1, LARGE])
def test_an_eviction_of_any_size_reads_two_pages_per_level(large: Any, gone: int) -> None:
    window = again(large)
    window.evict_many(gone)
    total = (gone + LARGE - 1) * (LARGE - gone) // 2
    assert window.query() == (total if gone < LARGE else None)
    assert window.reads <= 2 * levels_of(window)
    fetches = kept_by(window).fetches
    window.query()
    assert kept_by(window).fetches == fetches
    for _ in range(min(200, LARGE - gone)):  # and the next ones find what they need
        window.evict()
    assert window.reads <= 2 * levels_of(window) + 2


def test_a_bulk_eviction_asks_once(large: Any) -> None:
    window = again(large)
    before = kept_by(window).fetches
    window.evict_many(2**17 + 999)
    window.query()
    assert kept_by(window).fetches - before == 1  # all levels in one round trip


@pytest.mark.parametrize("cut", [0, 1, 700, 2**16 + 3, LARGE - 1000, LARGE])
def test_a_policy_looks_at_few_pages(cut: int) -> None:
    """The newest position as the partial: a policy evicts by it, as windows by time do."""
    window = paged(NEWEST_TIME, ("int64",), ring=4096)
    window.extend_arrays(np.arange(LARGE))
    reads = window.reads
    assert window.enforce(lambda total, old: old < cut) == cut
    assert len(window) == LARGE - cut
    assert window.query() == (None if cut == LARGE else LARGE - 1)
    assert window.reads - reads <= 3 * levels_of(window)


def test_single_evictions_seldom_read(large: Any) -> None:
    window = again(large)
    steps, total = 20_000, LARGE * (LARGE - 1) // 2
    before = kept_by(window).fetches
    for position in range(steps):
        window.evict()
        total -= position
        if position % 97 == 0:
            assert window.query() == total
    assert window.reads <= 2 * steps // PAGE + 2 * levels_of(window)  # a page of each level once
    assert kept_by(window).fetches - before <= steps // (PAGE // 2) + 2


def test_an_insert_never_reads(large: Any) -> None:
    window = again(large)
    for position in range(LARGE, LARGE + 3000):
        window.insert(position)
    assert window.reads == 0
    assert window.query() == (LARGE + 3000) * (LARGE + 2999) // 2


def test_a_window_of_objects_with_its_middle_elsewhere() -> None:
    window = paged(SPAN)
    for value in range(101_000):
        window.insert(value)
    assert window.reads == 0
    assert window.query() == (0, 100_999)
    window.evict_many(77_777)
    assert window.query() == (77_777, 100_999)
    window.check()


# ---- what is handed over --------------------------------------------------------------------------------------------
def test_pages_are_handed_over_once_and_whole() -> None:
    window = paged(ADD, ("int64",))
    window.extend_arrays(np.arange(20_000))
    window.save()
    for level in range(15):
        nodes = (20_001 >> level) - 1
        assert sorted(n for at, n in kept_by(window).pages if at == level) == list(range(nodes // PAGE)), level
    for (level, number), (column,) in kept_by(window).pages.items():
        width = 1 << level
        firsts = (np.arange(PAGE) + number * PAGE) * width
        assert (column == firsts * width + width * (width - 1) // 2).all()


def test_levels_above_the_window_hand_nothing_over() -> None:
    """A node wider than the window has always lost some of its elements."""
    for types in (("int64",), None):
        window = paged(ADD, types)
        for _ in range(100):
            window.extend(list(range(1000)), size=100)
        assert max(level for level, _ in kept_by(window).pages) in (5, 6)
        assert window.query() == sum(range(900, 1000))


def test_tails_are_small_however_long_the_window_has_lived() -> None:
    window = paged(ADD, ("int64",))
    for first in range(0, 300_000, 50_000):
        window.extend_arrays(np.arange(first, first + 50_000), size=10)
    _, _, tails = window.tails()
    assert sum(len(columns[0]) for columns in tails) < 40


# ---- errors ---------------------------------------------------------------------------------------------------------
def test_an_error_of_the_keeper_leaves_the_window_as_it_was(large: Any) -> None:
    window = again(large)
    kept = kept_by(window)
    for gone in (1, 5000, 2**17):
        total, n = window.query(), len(window)
        window._cached = [range(0)] * 64
        window._checked = -1
        kept.broken = True
        for _ in range(3):
            with pytest.raises(Broken):
                window.evict_many(gone)
            assert len(window) == n
        kept.broken = False
        assert window.query() == total
        window.evict_many(gone)
        first = LARGE - len(window)
        assert window.query() == (first + LARGE - 1) * (LARGE - first) // 2


def test_what_was_taken_back_is_written_again_as_it_came_the_second_time() -> None:
    """The element that fills a page is taken back after the page was handed over; another comes in its place."""
    window = paged(ADD, ("int64",))
    window.extend_arrays(np.zeros(PAGE - 1, dtype=np.int64))
    marked = window.mark()
    window.insert(1)
    window.save()
    assert kept_by(window).pages[0, 0][0][-1] == 1
    window.back_to(marked)
    window.insert(7)
    window.extend_arrays(np.zeros(3 * SMALLEST_RING, dtype=np.int64))
    assert kept_by(window).pages[0, 0][0][-1] == 7
    window.evict_many(PAGE - 1)
    assert window.query() == 7


@pytest.mark.parametrize("ring", [1, 512, 1024, 2047, 3000])
def test_rings_that_are_too_small_or_odd(ring: int) -> None:
    with pytest.raises(ArgumentError, match=rf"ring={ring}: expected a power of two of at least 2,048"):
        PagedAmta(MAX_FLOAT, Kept(), ring=ring)


@pytest.mark.parametrize("size", [0, -1, 1.5, "a"])
def test_bad_sizes(size: Any) -> None:
    with pytest.raises(ArgumentError, match="size="):
        paged(MAX_FLOAT, ("float64",)).extend_arrays(np.zeros(0), size)


def test_a_window_shrinks_before_it_is_extended() -> None:
    """From 100,000 elements to ten, in the middle of arrays."""
    window, near = paged(AFFINE, ("int64",)), Amta(AFFINE, types=("int64",))
    for count, size in ((100_000, None), (10, 10), (50_000, None), (3000, 20_000), (1, 1)):
        values = np.arange(count)
        assert window.extend(values, size) == near.extend(values, size)
        assert len(window) == len(near)


def test_a_window_may_be_emptied_and_go_on() -> None:
    window = paged(SPAN)
    for first in range(0, 50_000, 5_000):
        for value in range(first, first + 5_000):
            window.insert(value)
        assert window.query() == (first, first + 4_999)
        window.evict_many(5_000)
        assert window.query() is None
