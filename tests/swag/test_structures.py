"""Every algorithm against a fold, step by step, in both modes, with its invariants checked after each step."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

import slidewise as sw
from slidewise.monoids.catalogue import extremes, moments, sums
from slidewise.monoids.codec import decode_plain, encode_plain
from slidewise.monoids.laws import check, same
from slidewise.swag import ALGORITHMS
from slidewise.swag.positional import NonFifo, Ranged
from tests.affine import AFFINE


def _larger(a: Any, b: Any) -> Any:
    return b if b[0] > a[0] else a


CONCAT = sw.Monoid(identity="", combine=lambda a, b: a + b, name="concat")
LARGEST = sw.Monoid(  # the oldest of the largest: selects, does not commute
    identity=(-1, 0), lift=lambda x: (x % 5, x), combine=_larger, lower=lambda p: p[1], selective=True, name="largest"
)
LATEST = sw.Monoid(
    identity=None, combine=lambda a, b: a if b is None else b, selective=True, name="latest", result="string"
)
MONOIDS: dict[str, tuple[sw.Monoid, Any, tuple[str, ...] | None]] = {
    "concat": (CONCAT, st.text(max_size=2), None),
    "affine": (AFFINE, st.integers(0, 10**6), ("int64",)),
    "largest": (LARGEST, st.integers(0, 10**6), ("int64",)),
    "latest": (LATEST, st.text(max_size=2), None),
    "sum_int": (sums.SUM_INT, st.integers(-(2**50), 2**50), ("int64",)),
    "max_float": (extremes.MAX_FLOAT, st.floats(allow_nan=True), ("float64",)),
    "min_float": (extremes.MIN_FLOAT, st.floats(allow_nan=True), ("float64",)),
    "stddev": (moments.STDDEV_MONOID, st.floats(-100, 100), ("float64",)),
    "max_text": (extremes.MAX_OBJECT, st.text(max_size=3), None),
}


def refused(algorithm: str, monoid: sw.Monoid) -> bool:
    try:
        ALGORITHMS[algorithm].refuse(monoid)
    except sw.errors.ArgumentError:
        return True
    return False


def first_compiled(algorithm: str) -> tuple[str, ...]:
    """The monoid that an algorithm is compiled for in the normal run; one that does not commute, if it takes it."""
    return next((name,) for name in ("affine", "sum_int", "max_float") if not refused(algorithm, MONOIDS[name][0]))


CASES = [
    (algorithm, name, compiled)
    for algorithm, structure in ALGORITHMS.items()
    for name, (monoid, _, types) in MONOIDS.items()
    for compiled in (False, True)
    if not refused(algorithm, monoid) and (not compiled or (types and structure.card.compiles))
]

OFTEN = {"two_stacks_lite": ("affine", "sum_int", "max_float", "stddev"), "amta": ("affine", "max_float")}
"""Compiled, each pair is machine code of its own: of other algorithms the normal run sees the first that they take."""

MARKED = [
    pytest.param(algorithm, name, compiled, marks=[pytest.mark.slow] if rare else [])
    for algorithm, name, compiled in CASES
    for rare in [compiled and name not in OFTEN.get(algorithm, first_compiled(algorithm))]
]


def some_monoid(algorithm: str) -> tuple[sw.Monoid, Any]:
    """A monoid that the algorithm takes, and a value for it."""
    return next(
        (monoid, value)
        for monoid, value in [(CONCAT, "a"), (AFFINE, 3), (LATEST, "a")]
        if not refused(algorithm, monoid)
    )


def test_the_monoids_of_these_tests_keep_their_laws() -> None:
    check(AFFINE, range(12))
    check(LARGEST, range(12))
    check(LATEST, ["a", "b", "", "a"])


def machine(algorithm: str, monoid_name: str, compiled: bool, **options: Any) -> type[RuleBasedStateMachine]:
    monoid, values, types = MONOIDS[monoid_name]
    structure = ALGORITHMS[algorithm]
    non_fifo, ranged = issubclass(structure, NonFifo), issubclass(structure, Ranged)

    class Window(RuleBasedStateMachine):
        def __init__(self) -> None:
            super().__init__()
            self.window: Any = structure(monoid, types=types if compiled else None, heads=True, **options)
            self.elements: list[Any] = []

        @rule(x=values)
        def insert(self, x: Any) -> None:
            self.window.insert(x)
            self.elements.append(x)

        @rule()
        def insert_null(self) -> None:
            self.window.insert_null()
            self.elements.append(None)

        @precondition(lambda self: self.elements)
        @rule()
        def evict(self) -> None:
            self.window.evict()
            self.elements.pop(0)

        @rule(share=st.floats(0, 1))
        def evict_many(self, share: float) -> None:
            n = int(share * len(self.elements))
            self.window.evict_many(n)
            del self.elements[:n]

        @rule(share=st.floats(0, 1))
        def enforce(self, share: float) -> None:
            """The policy holds for the answers of the first few prefixes; it is never asked about nulls alone."""
            prefixes = [self.expected(self.elements[: k + 1]) for k in range(len(self.elements))]
            first, slack, total = prefixes[: int(share * len(prefixes))], self.slack(), self.expected()
            holds = [any(same(one, other, slack) for other in first) for one in prefixes]
            has_value = [any(x is not None for x in self.elements[: k + 1]) for k in range(len(prefixes))]
            if holds != sorted(holds, reverse=True):
                return  # equal answers make it a policy that is not monotone

            def policy(given: Any, old: Any) -> bool:
                assert same(given, total, slack)
                assert any(same(old, one, slack) for one, asked in zip(prefixes, has_value, strict=True) if asked)
                return any(same(old, one, slack) for one in first)

            gone = self.window.enforce(policy)
            both = [k + 1 for k in range(len(prefixes)) if holds[k] and has_value[k]]
            assert gone == max(both, default=0)
            del self.elements[:gone]

        @rule(xs=st.lists(values, max_size=20), size=st.one_of(st.none(), st.integers(1, 6)))
        def extend(self, xs: list[Any], size: int | None) -> None:
            answers = self.window.extend(xs, size)
            assert len(answers) == len(xs)
            for x, answer in zip(xs, answers, strict=True):
                self.elements.append(x)
                if size is not None:
                    del self.elements[: max(0, len(self.elements) - size)]
                assert same(answer, self.expected(), self.slack())

        @rule(xs=st.lists(values, min_size=1, max_size=3), times=st.integers(1, 40))
        def grow(self, xs: list[Any], times: int) -> None:
            self.window.extend(xs * times)
            self.elements += xs * times

        @rule()
        def clear(self) -> None:
            self.window.clear()
            self.elements.clear()

        @rule()
        def snapshot_and_restore(self) -> None:
            registers, partials, links = self.window.state()
            stored = [encode_plain(partial) for partial in partials]
            registers, links = json.loads(json.dumps([registers, links]))
            heads = None if self.window.heads is None else encode_plain(self.window.heads.state())
            self.window = structure(monoid, types=types if compiled else None, heads=True)
            self.window.insert_null()
            self.window.set_state(registers, [decode_plain(part) for part in stored], links)
            if heads is not None:
                self.window.heads.set_state(decode_plain(heads))

        if non_fifo:

            @rule(share=st.floats(0, 1), x=values)
            def insert_at(self, share: float, x: Any) -> None:
                i = int(share * len(self.elements))
                self.window.insert_at(i, x)
                self.elements.insert(i, x)

            @precondition(lambda self: self.elements)
            @rule(share=st.floats(0, 1, exclude_max=True))
            def evict_at(self, share: float) -> None:
                i = int(share * len(self.elements))
                self.window.evict_at(i)
                del self.elements[i]

        if ranged:

            @rule(a=st.floats(0, 1), b=st.floats(0, 1))
            def query_range(self, a: float, b: float) -> None:
                first, last = sorted((int(a * len(self.elements)), int(b * len(self.elements))))
                got = self.window.query_range(first, last)
                assert same(got, self.expected(self.elements[first:last]), self.slack())

            @precondition(lambda self: self.elements)
            @rule(changes=st.dictionaries(st.floats(0, 1, exclude_max=True), values, max_size=5))
            def update(self, changes: dict[float, Any]) -> None:
                named = {int(share * len(self.elements)): x for share, x in changes.items()}
                self.window.update_many({i: monoid.lifted(x) for i, x in named.items()})
                for i, x in named.items():
                    self.elements[i] = x

        @invariant()
        def agrees(self) -> None:
            self.window.check()
            assert len(self.window) == len(self.elements)
            assert same(self.window.query(), self.expected(), self.slack())

        def expected(self, elements: list[Any] | None = None) -> Any:
            kept = [x for x in (self.elements if elements is None else elements) if x is not None]
            return monoid.fold(kept) if kept else None

        def slack(self) -> float:
            return 1e-9 * (1 + sum(abs(x) for x in self.elements if isinstance(x, float) and math.isfinite(x)))

    return Window


def play(window: type[RuleBasedStateMachine]) -> None:
    window.TestCase.settings = settings(max_examples=10, stateful_step_count=25, deadline=None)
    window.TestCase().runTest()


@pytest.mark.parametrize(("algorithm", "monoid", "compiled"), MARKED)
def test_agrees_with_a_fold(algorithm: str, monoid: str, compiled: bool) -> None:
    play(machine(algorithm, monoid, compiled))


@pytest.mark.parametrize(
    ("monoid", "compiled"),
    [pytest.param(*one.values[1:], marks=one.marks) for one in MARKED if one.values[0] == "daba"],
)
def test_the_cached_daba_agrees_with_a_fold(monoid: str, compiled: bool) -> None:
    """A snapshot says whether the window is cached: it is restored into a window that is not."""
    play(machine("daba", monoid, compiled, cached=True))


@pytest.mark.parametrize("algorithm", [name for name, one in ALGORITHMS.items() if one.card.compiles])
class TestMemory:
    @pytest.mark.parametrize("capacity", [1, 8, 100])
    def test_capacity_is_allocated_once(self, algorithm: str, capacity: int) -> None:
        monoid, _, types = MONOIDS[first_compiled(algorithm)[0]]
        window = ALGORITHMS[algorithm](monoid, capacity, types=types)
        before = [column.ctypes.data for column in window._bank.cols]
        for x in range(capacity):
            window.insert(x)
        for x in range(3 * capacity):
            window.evict()
            window.insert(x)
        assert [column.ctypes.data for column in window._bank.cols] == before
        with pytest.raises(OverflowError, match=f"capacity={capacity}"):
            window.insert(1)
        assert len(window) == capacity
        window.check()

    def test_a_window_that_drains_gives_memory_back(self, algorithm: str) -> None:
        monoid, _, types = MONOIDS[first_compiled(algorithm)[0]]
        window = ALGORITHMS[algorithm](monoid, types=types)
        window.extend(range(8000, 0, -1))
        most = window._bank.held
        while len(window) > 10:
            window.evict_many(len(window) // 2)
            assert window.query() == monoid.fold(range(len(window), 0, -1))
            window.check()
        for _ in range(100):  # some return a bit per step, those that evict many at once with what comes next
            if window.bulk:
                window.insert(1)
                window.evict()
            else:
                window.query()
        assert window._bank.held < most / 20


@pytest.mark.parametrize("algorithm", ALGORITHMS)
class TestRules:
    def test_evict_from_empty(self, algorithm: str) -> None:
        with pytest.raises(IndexError, match="empty window"):
            ALGORITHMS[algorithm](some_monoid(algorithm)[0]).evict()

    def test_evict_more_than_there_is(self, algorithm: str) -> None:
        monoid, value = some_monoid(algorithm)
        window = ALGORITHMS[algorithm](monoid)
        window.insert(value)
        with pytest.raises(IndexError, match="evict_many"):
            window.evict_many(2)
        assert len(window) == 1

    def test_a_window_fed_one_by_one_may_be_long(self, algorithm: str) -> None:
        monoid, value = some_monoid(algorithm)
        window = ALGORITHMS[algorithm](monoid)
        for _ in range(3000):
            window.insert(value)
        window.check()
        assert window.query() == monoid.fold([value] * 3000)

    def test_bad_arguments(self, algorithm: str) -> None:
        monoid = some_monoid(algorithm)[0]
        with pytest.raises(sw.errors.ArgumentError, match="capacity=0"):
            ALGORITHMS[algorithm](monoid, 0)
        with pytest.raises(sw.errors.ArgumentError, match="monoid='max'"):
            ALGORITHMS[algorithm]("max")
        with pytest.raises(sw.errors.ArgumentError, match="size=0"):
            ALGORITHMS[algorithm](monoid).extend([], 0)

    def test_card_says_its_name(self, algorithm: str) -> None:
        assert ALGORITHMS[algorithm].card.name == algorithm

    def test_the_module_is_its_card(self, algorithm: str) -> None:
        import sys

        said = sys.modules[ALGORITHMS[algorithm].__module__].__doc__ or ""
        assert all(word in said for word in ("paper", "time", "space", "Invariant"))


def test_subtraction_needs_an_inverse() -> None:
    with pytest.raises(sw.errors.ArgumentError, match=r"'subtract_on_evict'.*'max'.* has no inverse"):
        ALGORITHMS["subtract_on_evict"](extremes.MAX_FLOAT)


def test_a_deque_needs_a_monoid_that_selects() -> None:
    with pytest.raises(sw.errors.ArgumentError, match=r"'monotonic_deque'.*'sum'.*selective=True"):
        ALGORITHMS["monotonic_deque"](sums.SUM_INT)


@pytest.mark.parametrize("algorithm", [name for name, one in ALGORITHMS.items() if not one.card.compiles])
def test_what_runs_on_objects_only_says_so(algorithm: str) -> None:
    with pytest.raises(sw.errors.ArgumentError, match=f"types=.*{algorithm} runs on Python objects only"):
        ALGORITHMS[algorithm](AFFINE, types=("int64",))
    said = sw.explain([1.0, 2.0], sw.max(), sw.trailing(2), algorithm=algorithm)
    assert f"object mode ({algorithm} runs on Python objects only)" in said
    window = ALGORITHMS[algorithm](CONCAT, 2)
    window.extend("ab")
    with pytest.raises(OverflowError, match="capacity=2"):
        window.insert("c")


def test_a_deque_returns_the_very_object() -> None:
    first = sw.Monoid(identity=None, combine=lambda a, b: b if a is None or b > a else a, selective=True, name="max")
    window = ALGORITHMS["monotonic_deque"](first)
    assert window.extend([1, 1.0, True], 2) == [1, 1, 1]
    assert [type(answer) for answer in ALGORITHMS["monotonic_deque"](first).extend([1, 1.0, True], 2)] == [
        int,
        int,
        float,
    ]


@pytest.mark.parametrize("algorithm", [name for name, one in ALGORITHMS.items() if issubclass(one, NonFifo)])
def test_places_outside_the_window_are_named(algorithm: str) -> None:
    window: Any = ALGORITHMS[algorithm](AFFINE)
    window.insert(1)
    for call in (lambda: window.insert_at(2, 1), lambda: window.evict_at(1)):
        with pytest.raises(IndexError, match="holds 1 element"):
            call()
    with pytest.raises(sw.errors.ArgumentError, match="i=-1"):
        window.insert_at(-1, 1)
    window.evict()
    with pytest.raises(IndexError, match="empty window"):
        window.evict_at(0)


def test_only_these_serve_windows_that_are_not_fifo() -> None:
    having = {name for name, structure in ALGORITHMS.items() if hasattr(structure, "insert_at")}
    assert having == {"recalculate", "subtract_on_evict", "reactive"} & set(ALGORITHMS)


def test_only_these_answer_ranges() -> None:
    having = {name for name, structure in ALGORITHMS.items() if hasattr(structure, "query_range")}
    assert having == {"reactive", "b_int", "flatfit"} & set(ALGORITHMS)
