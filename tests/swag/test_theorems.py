"""What the papers prove about the number of combines, and about the shapes their structures go through, counted."""

from __future__ import annotations

import itertools
import math
import random
import re
from collections.abc import Callable
from typing import Any

import pytest

import slidewise as sw
from slidewise.kernels.registers import MASK
from slidewise.swag import ALGORITHMS, Structure
from slidewise.swag.b_int import BInt
from slidewise.swag.daba import Daba
from slidewise.swag.daba_lite import DabaLite
from slidewise.swag.flatfit import FlatFIT
from slidewise.swag.foa import Foa, Queue
from slidewise.swag.okasaki import Okasaki
from slidewise.swag.reactive import Reactive

SIZES = [1, 2, 3, 4, 5, 7, 8, 16, 61, 64, 65, 128, 200]


class Counting:
    """A monoid that counts its combines and inverses; it does not commute."""

    def __init__(self) -> None:
        self.count = 0
        self.monoid = sw.Monoid(
            identity=(), lift=lambda x: (x,), combine=self._combine, inverse=self._rest, name="seen"
        )

    def _combine(self, a: Any, b: Any) -> Any:
        self.count += 1
        return (a + b)[-3:] if len(a) + len(b) > 3 else a + b  # bounded, so that long runs stay quick

    def _rest(self, whole: Any, older: Any) -> Any:
        self.count += 1
        return whole

    def of(self, step: Callable[[], Any]) -> int:
        """How many combines a step takes."""
        before = self.count
        step()
        return self.count - before


def steady(algorithm: type[Structure], n: int, **options: Any) -> tuple[Counting, Any]:
    """A window of n elements that has slid for a while."""
    counting = Counting()
    window: Any = algorithm(counting.monoid, **options)
    for x in range(n):
        window.insert(x)
    for x in range(3 * n):
        window.insert(x)
        window.evict()
    return counting, window


# ---- worst cases: every single step of any run ----------------------------------------------------------------------
WORST: dict[str, tuple[type[Structure], dict[str, Any], int, int, int]] = {  # query, insert, evict
    "daba": (Daba, {}, 1, 4, 3),
    "daba, cached": (Daba, {"cached": True}, 1, 3, 2),
    "daba_lite": (DabaLite, {}, 1, 3, 2),
    "foa": (Foa, {}, 1, 4, 3),
    "ioa": (ALGORITHMS["ioa"], {}, 1, 4, 3),
    "subtract_on_evict": (ALGORITHMS["subtract_on_evict"], {}, 0, 1, 1),
}


@pytest.mark.parametrize("name", WORST)
def test_no_step_costs_more_than_its_bound(name: str) -> None:
    structure, options, query, insert, evict = WORST[name]
    counting = Counting()
    window: Any = structure(counting.monoid, **options)
    draw = random.Random(17)
    most = [0, 0, 0]
    for _ in range(6000):
        growing = draw.random() < 0.5 + 0.3 * math.sin(len(window) / 50.0)
        if growing or not len(window):
            most[1] = max(most[1], counting.of(lambda: window.insert(1)))
        else:
            most[2] = max(most[2], counting.of(window.evict))
        if len(window):
            most[0] = max(most[0], counting.of(window.query))
    assert most == [query, insert, evict]


# ---- averages -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("cached", "average"), [(False, 4.0), (True, 3.0)])
@pytest.mark.parametrize("n", [size for size in SIZES if size >= 2])
def test_daba_takes_four_combines_for_insert_and_evict(n: int, cached: bool, average: float) -> None:
    counting, window = steady(Daba, n, cached=cached)
    total, rounds = _one_period(counting, window, n)
    assert total == average * rounds


@pytest.mark.parametrize("n", [size for size in SIZES if size >= 2])
def test_daba_lite_takes_three(n: int) -> None:
    counting, window = steady(DabaLite, n)
    total, rounds = _one_period(counting, window, n)
    assert total == 3.0 * rounds


def _one_period(counting: Counting, window: Any, n: int) -> tuple[int, int]:
    """Combines of insert and evict over whole periods: until the pointers stand as at the start."""
    start, total, rounds = window.positions(), 0, 0
    while rounds == 0 or window.positions() != start:
        total += counting.of(lambda: window.insert(1)) + counting.of(window.evict)
        rounds += 1
        assert rounds <= 10 * n + 10
    return total, rounds


@pytest.mark.parametrize("n", [8, 9, 16, 64, 65])
def test_daba_splits_its_combines_as_the_theorem_says_at_these_sizes(n: int) -> None:
    counting, window = steady(Daba, n)
    start, inserts, evicts, rounds = window.positions(), 0, 0, 0
    while rounds == 0 or window.positions() != start:
        evicts += counting.of(window.evict)
        inserts += counting.of(lambda: window.insert(1))
        rounds += 1
    assert (inserts / rounds, evicts / rounds) == (2.5, 1.5)  # n = 0 or 1 mod 4; elsewhere only the sum is 4


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("algorithm", ["two_stacks", "two_stacks_lite"])
def test_two_stacks_is_constant_on_average_and_linear_at_worst(algorithm: str, n: int) -> None:
    counting, window = steady(ALGORITHMS[algorithm], n)
    steps = []
    for x in range(10 * n):
        steps += [counting.of(lambda x=x: window.insert(x)), counting.of(window.evict), counting.of(window.query)]
    assert sum(steps) <= 3 * 10 * n + n + 1  # at most one flip more than its share
    if n > 8:
        assert max(steps) >= n - 1


def test_recalculate_folds_at_a_query_only() -> None:
    for n in SIZES:
        counting, window = steady(ALGORITHMS["recalculate"], n)
        assert counting.count == 0
        assert counting.of(window.query) == n - 1
        assert counting.of(lambda: window.insert_at(n // 2, 0)) == 0  # noqa: B023
        assert counting.of(lambda: window.evict_at(n // 2)) == 0  # noqa: B023


def test_a_deque_compares_each_element_at_most_twice() -> None:
    count = 0

    def larger(a: Any, b: Any) -> Any:
        nonlocal count
        count += 1
        return b if a is None or (b is not None and b > a) else a

    window = ALGORITHMS["monotonic_deque"](sw.Monoid(identity=None, combine=larger, selective=True, name="max"))
    draw = random.Random(5)
    window.extend([draw.random() for _ in range(5000)], 100)
    assert count <= 2 * 5000


# ---- FlatFIT --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("n", [size for size in SIZES if size >= 3])
def test_flatfit_takes_three_times_n_minus_one_combines_in_n_plus_one_slides(n: int) -> None:
    counting, window = steady(FlatFIT, n)
    slides = []
    for x in range(5 * (n + 1)):
        window.insert(x)
        window.evict()
        slides.append(counting.of(window.query))
    resets = [k for k, cost in enumerate(slides) if cost == n - 1 and n > 3]
    for first in range(n + 1, 4 * (n + 1)):  # any n + 1 slides in a row
        assert sum(slides[first : first + n + 1]) == 3 * (n - 1)
    if n > 3:
        assert {b - a for a, b in itertools.pairwise(resets)} == {n + 1}
        cycle = slides[resets[0] : resets[0] + n + 1]
        assert cycle == [n - 1, 1, *[2] * (n - 2), 1]


def test_flatfit_of_example_2() -> None:
    values, n = [2, 4, 0, 3, 7, 6, 1, 8, 9, 5], 5
    counted = 0

    def larger(a: float, b: float) -> float:
        nonlocal counted
        counted += 1
        return max(a, b)

    window = FlatFIT(sw.Monoid(identity=-math.inf, combine=larger, name="max"))
    for _ in range(n):
        window.insert(-math.inf)  # the paper's window begins full of the initial value
    answers = []
    for x in values:
        window.insert(x)
        window.evict()
        answers.append(window.query())
    assert answers == [2, 4, 4, 4, 7, 7, 7, 8, 9, 9]
    assert counted == 21  # and 40 for the naive algorithm


@pytest.mark.parametrize("n", [2, 5, 16, 33])
def test_flatfit_answers_all_ranges_with_n_minus_one_combines(n: int) -> None:
    counting, window = steady(FlatFIT, n)
    for x in range(3 * n):
        window.insert(x)
        window.evict()
        cost = counting.of(lambda: [window.query_range(first, n) for first in range(n)])
        assert x == 0 or cost == n - 1


# ---- trees ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("n", [8, 15, 16, 31, 100])
def test_reactive_climbs_from_leaf_to_root(n: int) -> None:
    counting, window = steady(Reactive, n)
    levels = int(math.log2(int(window._bank.regs[0][MASK]) + 1))
    assert n <= 2**levels < 4 * n
    for x in range(3 * n):
        assert counting.of(lambda x=x: window.insert(x)) == levels
        assert counting.of(window.evict) == levels
        assert counting.of(window.query) <= 2 * levels
        assert counting.of(lambda x=x: window.update(x % n, (x,))) == levels
        assert counting.of(lambda x=x: window.query_range(x % n, n)) <= 2 * levels


def test_reactive_shares_the_climb_of_many_updates() -> None:
    counting, window = steady(Reactive, 64)
    ring = int(window._bank.regs[0][MASK]) + 1
    assert counting.of(lambda: window.update_many({i: (i,) for i in range(64)})) <= ring - 1 + math.log2(ring)


@pytest.mark.parametrize("n", [8, 15, 16, 31, 100])
def test_b_int_finishes_the_intervals_that_end_at_an_insert(n: int) -> None:
    counting, window = steady(BInt, n)
    inserts = []
    for x in range(8 * n):
        inserts.append(counting.of(lambda x=x: window.insert(x)))
        assert counting.of(window.evict) == 0
        assert counting.of(window.query) <= 2 * math.ceil(math.log2(n)) + 2
    assert sum(inserts) <= len(inserts)
    assert max(inserts) <= math.log2(n + 1)
    first = inserts.index(0)
    assert set(inserts[first::2]) == {0}  # no interval but its own ends at every other element


# ---- the shapes DABA goes through -----------------------------------------------------------------------------------
def fixup_cases(before: list[int], after: list[int], evicted: bool) -> list[str]:
    """Which cases of fixup took DABA's pointers from one state to the next."""
    _, left, right, acc, back, end = (p - evicted for p in before)
    end += not evicted
    cases = []
    if back == 0:
        return ["singleton"] if after[1:] == [end] * 5 else ["?"]
    if left == back:
        cases.append("flip")
        left, acc, back = 0, end, end
    if left == right:
        cases.append("shift")
        acc, right, left = acc + 1, right + 1, left + 1
    else:
        cases.append("shrink")
        left, acc = left + 1, acc - 1
    assert after == [0, left, right, acc, back, end]
    return cases


def test_daba_on_the_window_of_figure_4() -> None:
    window = Daba(sw.Monoid(identity=-math.inf, combine=max, name="max"))
    for _ in range(5):
        window.insert(0)
    for x in (2, 6, 3, 5, 3):  # slides in, so that all of it is in the front, as in the figure's first state
        window.insert(x)
        window.evict()
    assert window.positions() == [0, 1, 2, 3, 5, 5]
    cases: list[str] = []
    answers = [window.query()]
    for x in (1, 0, 1, 2):
        for step, evicted in ((window.evict, True), (lambda x=x: window.insert(x), False)):
            before = window.positions()
            step()
            cases += fixup_cases(before, window.positions(), evicted)
            answers.append(window.query())
    assert cases == ["shrink", "shift", "shift", "shift", "flip", "shrink", "shrink", "shift", "shift"]
    assert answers == [6, 6, 6, 5, 5, 5, 5, 3, 3]


@pytest.mark.parametrize("n", [size for size in SIZES if size >= 2])
@pytest.mark.parametrize("structure", [Daba, DabaLite])
def test_daba_repeats_shrink_shift_flip(structure: type[Any], n: int) -> None:
    _, window = steady(structure, n)
    letters = ""
    for _ in range(4 * n):
        for step, evicted in ((lambda: window.insert(1), False), (window.evict, True)):
            before = window.positions()
            step()
            found = fixup_cases(before, window.positions(), evicted)
            letters += "".join({"shrink": "s", "shift": "t", "flip": "f", "singleton": "1"}[case] for case in found)
    assert re.fullmatch(r"s*t*f?(s+t+f)*s*t*", letters)
    assert letters.count("f") >= 3


# ---- FOA ------------------------------------------------------------------------------------------------------------
def test_foa_keeps_every_version() -> None:
    concat = sw.Monoid(identity="", combine=lambda a, b: a + b, name="concat")
    draw = random.Random(3)
    versions, windows = [Queue(concat)], [""]
    for k in range(400):
        base = draw.randrange(len(versions)) if draw.random() < 0.2 else len(versions) - 1  # branch off an old one
        version, held = versions[base], windows[base]
        if held and draw.random() < 0.45:
            versions.append(version.evict())
            windows.append(held[1:])
        else:
            letter = chr(97 + k % 26)
            versions.append(version.insert(letter))
            windows.append(held + letter)
    assert [version.query() for version in versions] == windows
    with pytest.raises(IndexError, match="empty window"):
        versions[0].evict()


def test_a_version_of_a_foa_window_stays_as_it_is() -> None:
    window = Foa(sw.Monoid(identity="", combine=lambda a, b: a + b, name="concat"))
    window.extend("abcdef")
    old = window.version()
    window.extend("ghi", 4)
    assert (window.query(), old.query()) == ("fghi", "abcdef")


@pytest.mark.parametrize("algorithm", ["foa", "ioa"])
def test_long_lists_are_freed_without_recursion(algorithm: str) -> None:
    window = ALGORITHMS[algorithm](sw.Monoid(identity=0, combine=lambda a, b: a + b, name="add"))
    window.extend(range(200_000))
    assert isinstance(window, Okasaki)
    window.clear()
    assert window.query() is None


# ---- DABA's queue ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("algorithm", ["daba", "daba_lite"])
def test_no_step_of_daba_moves_what_is_there(algorithm: str) -> None:
    """Object mode: an insert or evict makes or drops at most a few lists of fixed length, at any size."""
    window: Any = ALGORITHMS[algorithm](sw.Monoid(identity="", combine=lambda a, b: b, name="last"))
    pages = window._bank.cols[0]

    def furnished() -> dict[int, int]:
        return {
            (i << 11) + k: id(page)
            for i, under in enumerate(pages.root)
            if under is not None
            for k, page in enumerate(under)
            if page is not None
        }

    before = furnished()
    for step in range(2000):
        window.insert("x") if step < 1500 else window.evict()
        now = furnished()
        assert all(now[page] == before[page] for page in set(now) & set(before)), "no chunk is moved"
        assert len(set(now) ^ set(before)) <= 4
        before = now
    assert len(before) < 40
