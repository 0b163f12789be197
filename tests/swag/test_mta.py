"""The Monoid Tree Aggregators: the paper's figures, how many combines a step takes, and how few looks a policy gets."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import slidewise as sw
from slidewise.monoids.catalogue import extremes, sums
from slidewise.swag import ALGORITHMS
from slidewise.swag.amta import Amta
from slidewise.swag.log_mta import LogMta
from slidewise.swag.mta import VOID, Mta

BOTH: list[type[Mta]] = [LogMta, Amta]
SUM = sw.Monoid(identity=0, combine=lambda a, b: a + b, name="add")
LATEST = sw.Monoid(identity=0, combine=lambda a, b: a if a > b else b, name="latest")


def named(structure: type[Mta]) -> str:
    return structure.card.name


class Counting:
    """A monoid that counts its combines: a partial is the stretch of numbers it covers, so order and gaps show."""

    def __init__(self) -> None:
        self.count = 0
        self.monoid = sw.Monoid(identity=None, lift=lambda x: (x, x + 1), combine=self._combine, name="stretch")

    def _combine(self, a: Any, b: Any) -> Any:
        self.count += 1
        if a is None or b is None:
            return a or b
        assert a[1] == b[0], "neighbours, older first"
        return (a[0], b[1])

    def of(self, step: Any) -> int:
        """How many combines a step takes."""
        before = self.count
        step()
        return self.count - before


def filled(structure: type[Mta], n: int, first: int = 0) -> tuple[Counting, Any]:
    """A window of the numbers [first, first + n)."""
    counting = Counting()
    window: Any = structure(counting.monoid)
    for x in range(first + n):
        window.insert(x)
    window.evict_many(first)
    return counting, window


# ---- the figures of the paper ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("types", [None, ("int64",)], ids=["objects", "compiled"])
class TestFigures:
    def of(self, structure: type[Mta], values: list[int], types: Any) -> Any:
        window = structure(SUM, types=types)
        for x in values:
            window.insert(x)
        return window

    def test_figure_1(self, types: Any) -> None:
        """The full tree over six elements, level by level; the newest edge lacks its newer siblings."""
        window = self.of(LogMta, [1, 2] * 3, types)
        assert window.levels() == [[(1, 2), (1, 2), (1, 2)], [(3, 3), (3, VOID)], [(6, 3)], [(9, VOID)]]
        assert window.query() == 9

    def test_figure_4(self, types: Any) -> None:
        window = self.of(Amta, [1, 2] * 4, types)
        assert window.levels() == [[(1, 2), (1, 2), (1, 2), (1, 2)], [(3, 3), (3, VOID)], [(6, VOID)]]
        assert window.result_pair() == (6, 6)
        assert window.stack() == [3, 5]  # 5 on top
        window.insert(1)
        assert window.result_pair() == (6, 7)
        assert window.query() == 13
        window.check()

    def test_figure_4_evict(self, types: Any) -> None:
        window = self.of(Amta, [1, 2] * 4, types)
        window.evict()
        assert window.result_pair() == (5, 6)
        assert window.query() == 11
        window.check()

    def test_figure_5(self, types: Any) -> None:
        window = self.of(Amta, [1, 3, 2, 1, 2, 1, 1, 0, 3, 1], types)
        assert (window.query(), window.result_pair(), window.stack()[-1]) == (15, (7, 8), 6)
        window.evict()
        assert (window.query(), window.result_pair()) == (14, (6, 8))
        window.evict()  # ⟨2, 1⟩ is the first pair now: 1 on the stack is what is behind the 2
        assert (window.query(), window.result_pair(), window.stack()) == (11, (3, 8), [1])
        window.check()


@pytest.mark.parametrize("types", [None, pytest.param(("int64",), marks=pytest.mark.slow)], ids=["objects", "compiled"])
@pytest.mark.parametrize("structure", BOTH, ids=named)
def test_figure_2(structure: type[Mta], types: Any) -> None:
    """A window of four units of time: 8 leaves only itself."""
    window = structure(LATEST, types=types)
    for time in [1, 2, 3, 4, 8]:
        window.insert(time)
    assert window.enforce(lambda total, old: total - old >= 4) == 4
    assert (len(window), window.query()) == (1, 8)
    window.check()


# Three numbers at once: the sum, the newest, the largest.
SIZED = sw.Monoid(
    identity=(0, 0, 0),
    lift=lambda x: (x, x, x),
    combine=lambda a, b: (a[0] + b[0], b[1] if b[1] else a[1], a[2] if a[2] > b[2] else b[2]),
    name="sized",
)


@pytest.mark.parametrize(
    "algorithm", [name for name in ALGORITHMS if name not in ("subtract_on_evict", "monotonic_deque")]
)
def test_a_window_whose_sum_is_at_most_ten(algorithm: str) -> None:
    """The golden cases of section 3.2: total - old + old.last is the candidate's last element with what follows."""

    def after(values: list[int]) -> tuple[int, Any]:
        window = ALGORITHMS[algorithm](SIZED, heads=True)
        for x in values:
            window.insert(x)
            window.enforce(lambda total, old: total[0] - old[0] + old[1] > 10)
        return len(window), window.query()

    assert after([2, 2, 3, 3]) == (4, (10, 3, 3))
    assert after([2, 2, 3, 3, 4]) == (3, (10, 4, 4))
    assert after([4, 6, 6]) == (1, (6, 6, 6))


# ---- how many combines ----------------------------------------------------------------------------------------------
def slide(counting: Counting, window: Any, n: int, steps: int) -> list[int]:
    """Combines of each step at constant size: insert, evict, query."""

    def step(x: int) -> None:
        window.insert(x)
        if len(window) > n:
            window.evict()
        assert window.query() == (x + 1 - n, x + 1)

    start = window.query()[1]
    return [counting.of(lambda x=x: step(x)) for x in range(start, start + steps)]


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 31, 33, 64, 100, 128, 255, 256, 1000, 1024, 4095, 4096])
def test_amta_takes_four_combines_on_average_at_any_size(n: int) -> None:
    """1 ⊕ into R1 and 1 for the answer, less than 1 for nodes, less than 1 for the stack, and little for new trees."""
    counting, window = filled(Amta, n)
    slide(counting, window, n, 1)  # the ring has grown to n + 1 places
    taken = slide(counting, window, n, max(2 * n, 512))
    assert sum(taken) / len(taken) <= 4.01
    assert max(taken) <= 3 * math.log2(n + 1) + 2


@pytest.mark.parametrize("n", [4, 16, 64, 256, 1024, 4096])
def test_amta_is_flat(n: int) -> None:
    counting, window = filled(Amta, n)
    slide(counting, window, n, 1)
    assert sum(slide(counting, window, n, 4 * n)) == 4 * n * 4 - 4  # 4 - 1/n each


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 33, 64, 255, 512])
def test_log_mta_takes_a_logarithm_per_step(n: int) -> None:
    counting, window = filled(LogMta, n)
    slide(counting, window, n, 1)
    depth = math.ceil(math.log2(n + 1)) + 1
    for x in range(n + 1, 3 * n + 8):
        assert counting.of(lambda x=x: window.insert(x)) <= 2 * depth
        assert counting.of(window.evict) <= depth
        assert counting.of(window.query) <= 1
        assert len(window.levels()) <= 2 * math.log2(n + 1) + 2


@pytest.mark.parametrize("structure", BOTH, ids=named)
@pytest.mark.parametrize("first", [0, 1, 7, 64, 100])
def test_any_number_leaves_at_once(structure: type[Mta], first: int) -> None:
    n = 600
    for k in [*range(0, n, 23), 1, 2, 3, 255, 256, 257, n - 1, n]:
        counting, window = filled(structure, n, first)
        window.query()
        evicted = counting.of(lambda window=window, k=k: window.evict_many(k))
        answered = counting.of(window.query)
        assert evicted + answered <= (1 if structure is LogMta else 2.2) * math.log2(n) + 1, k
        assert window.query() == ((first + k, first + n) if k < n else None)
        window.check()


@pytest.mark.parametrize("structure", BOTH, ids=named)
def test_a_second_query_costs_nothing_for_amta_and_one_combine_at_most_for_log_mta(structure: type[Mta]) -> None:
    counting, window = filled(structure, 100)
    window.query()
    assert counting.of(window.query) <= (0 if structure is Amta else 1)


def test_the_result_pair_is_computed_once_however_often_it_went_stale() -> None:
    """000 section 5.2: an update asks for it at most once, and not at all if nothing is asked."""
    counting, window = filled(Amta, 1000)
    window.query()
    cost = counting.of(lambda: [window.evict_many(100) for _ in range(9)])  # each leaves the leftmost tree behind
    assert cost <= 9
    first = counting.of(window.query)
    assert 0 < first <= 4 * math.log2(1000) + 2
    assert counting.of(window.query) == 0


# ---- how few looks --------------------------------------------------------------------------------------------------
class Looks:
    """A monotone policy that holds for prefixes up to `last`, and counts how often it is asked."""

    def __init__(self, last: int) -> None:
        self.last = last
        self.count = 0

    def __call__(self, total: Any, old: Any) -> bool:
        self.count += 1
        return old is not None and old[1] <= self.last


@pytest.mark.parametrize("structure", BOTH, ids=named)
def test_every_length_is_found_with_few_looks(structure: type[Mta]) -> None:
    draw = random.Random(23)
    for n, first in [
        (1, 0),
        (2, 3),
        (37, 0),
        (64, 0),
        (65, 63),
        (100, 1),
        *((draw.randint(3, 150), draw.randint(0, 99)) for _ in range(12)),
    ]:
        for k in range(n + 1):
            _, window = filled(structure, n, first)
            policy = Looks(first + k)
            assert window.enforce(policy) == k
            assert len(window) == n - k
            assert window.query() == ((first + k, first + n) if k < n else None)
            assert policy.count <= 3 * math.log2(k + 1) + 2, (n, first, k)


@pytest.mark.parametrize("structure", BOTH, ids=named)
def test_looks_grow_with_what_leaves_not_with_the_window(structure: type[Mta]) -> None:
    for k in (0, 1, 2, 10):
        _, window = filled(structure, 4000, 5)
        policy = Looks(5 + k)
        assert window.enforce(policy) == k
        assert policy.count <= 3 * math.log2(k + 1) + 2
    window.check()


@pytest.mark.parametrize("types", [None, ("float64",)], ids=["objects", "compiled"])
@pytest.mark.parametrize("structure", BOTH, ids=named)
@settings(max_examples=40)
@given(
    steps=st.lists(st.tuples(st.floats(0.25, 100), st.floats(1, 400)), min_size=1, max_size=80),
    gaps=st.sets(st.integers(0, 79), max_size=10),
)
def test_enforced_at_every_step(structure: type[Mta], types: Any, steps: Any, gaps: set[int]) -> None:
    """Random eviction, long and short, nulls between: the same prefix as every one asked in turn."""
    window: Any = structure(sums.SUM_FLOAT, types=types)
    held: list[float | None] = []
    for number, (x, bound) in enumerate(steps):
        if number in gaps:
            window.insert_null()
            held.append(None)
        else:
            window.insert(x)
            held.append(x)
        total = sum(x for x in held if x is not None)
        stays, old = 0, 0.0
        for k, x in enumerate(held, start=1):
            old += x or 0.0
            if any(y is not None for y in held[:k]) and total - old >= bound:
                stays = k
        edge = [
            old
            for old in (sum(x or 0.0 for x in held[:k]) for k in range(len(held)))
            if abs(total - old - bound) < 1e-6
        ]
        gone = window.enforce(lambda total, old, bound=bound: total - old >= bound)
        if not edge:
            assert gone == stays
        del held[:gone]
        window.check()


@pytest.mark.parametrize("structure", BOTH, ids=named)
def test_nulls_alone_are_never_asked_about(structure: type[Mta]) -> None:
    window = structure(sums.SUM_FLOAT)
    asked: list[Any] = []

    def policy(total: Any, old: Any) -> bool:
        asked.append((total, old))
        return True

    for _ in range(5):
        window.insert_null()
    assert window.enforce(policy) == 0
    window.insert(2.0)
    window.insert_null()
    assert window.enforce(policy) == 7
    assert set(asked) == {(2.0, 2.0)}
    assert window.enforce(policy) == 0


@pytest.mark.parametrize("structure", BOTH, ids=named)
def test_nulls_are_asked_about_where_they_have_an_answer(structure: type[Mta]) -> None:
    window = structure(replace(ADDER, answers_empty=True))
    for _ in range(5):
        window.insert_null()
    assert window.enforce(lambda total, old: total == old == 0) == 5


# ---- all the others -------------------------------------------------------------------------------------------------
ADDER = sw.Monoid(
    identity=0, combine=lambda a, b: a + b, inverse=lambda whole, older: whole - older, commutative=True, name="add"
)


@pytest.mark.parametrize(
    ("algorithm", "types"),
    [
        pytest.param(algorithm, types, id=f"{algorithm}-{mode}", marks=[pytest.mark.slow] if rare else [])
        for algorithm in ALGORITHMS
        for mode, types in (("objects", None), ("compiled", ("int64",)))
        for rare in [types is not None and algorithm not in ("amta", "log_mta", "two_stacks_lite")]
    ],
)
def test_every_algorithm_evicts_what_amta_evicts(algorithm: str, types: Any) -> None:
    if types is not None and not ALGORITHMS[algorithm].card.compiles:
        types = None
    selects = algorithm == "monotonic_deque"
    monoid = extremes.MAX_INT if selects else ADDER
    draw = random.Random(5)
    window, other = ALGORITHMS[algorithm](monoid, types=types, heads=True), Amta(monoid)
    latest = 0
    for _ in range(300):
        latest = latest + draw.randint(0, 3) if selects else draw.randint(0, 9)
        null = draw.random() < 0.1
        for one in (window, other):
            if null:
                one.insert_null()
            else:
                one.insert(latest)
        bound = draw.randint(1, 60)
        left = [one.enforce(lambda total, old, bound=bound: total - old >= bound) for one in (window, other)]
        assert left[0] == left[1]
        assert window.query() == other.query()
    assert len(window) == len(other)
    window.check()


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_what_keeps_sums_only_says_how_to_be_made(algorithm: str) -> None:
    structure = ALGORITHMS[algorithm]
    monoid = extremes.MAX_INT if algorithm == "monotonic_deque" else ADDER
    window = structure(monoid)
    window.insert(1)
    if structure.named:
        assert window.enforce(lambda total, old: True) == 1
        return
    with pytest.raises(sw.errors.ArgumentError, match=rf"^{algorithm}: keeps sums.*heads=True.*amta"):
        window.enforce(lambda total, old: True)
    assert len(window) == 1


@pytest.mark.parametrize("algorithm", ["amta", "two_stacks_lite", "recalculate"])
def test_bad_arguments_are_named(algorithm: str) -> None:
    window = ALGORITHMS[algorithm](ADDER, heads=True)
    with pytest.raises(sw.errors.ArgumentError, match=r"^policy=3: expected a function of \(total, old\)$"):
        window.enforce(3)
    with pytest.raises(sw.errors.ArgumentError, match=r"^heads=1: expected True or False$"):
        ALGORITHMS[algorithm](ADDER, heads=1)


@pytest.mark.parametrize("algorithm", ["amta", "log_mta", "daba_lite", "two_stacks"])
def test_within_a_capacity(algorithm: str) -> None:
    window = ALGORITHMS[algorithm](ADDER, 8, heads=True)
    for x in range(100):
        window.insert(x)
        window.enforce(lambda total, old, x=x: total - old >= 3 * x)
        assert len(window) <= 5
    while len(window) < 8:
        window.insert(1)
    with pytest.raises(OverflowError, match="capacity=8"):
        window.insert(1)
    window.check()
