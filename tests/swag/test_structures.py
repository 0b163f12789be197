"""Every algorithm against Recalculate, step by step, in both modes, with its invariants checked after each step."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

import slidewise as sw
from slidewise.monoids.catalogue import extremes, moments, sums
from slidewise.monoids.laws import same
from slidewise.swag import ALGORITHMS

CONCAT = sw.Monoid(identity="", combine=lambda a, b: a + b, name="concat")
AFFINE = sw.Monoid(  # x -> a·x + b, composed: numbers that do not commute
    identity=(1, 0),
    lift=lambda x: (x % 5 + 1, x % 7),
    combine=lambda f, g: ((f[0] * g[0]) % 1009, (g[0] * f[1] + g[1]) % 1009),
    lower=lambda f: f[0] * 10_000 + f[1],
    name="affine",
)
MONOIDS: dict[str, tuple[sw.Monoid, Any, tuple[str, ...] | None]] = {
    "concat": (CONCAT, st.text(max_size=2), None),
    "affine": (AFFINE, st.integers(0, 10**6), ("int64",)),
    "sum_int": (sums.SUM_INT, st.integers(-(2**57), 2**57), ("int64",)),
    "max_float": (extremes.MAX_FLOAT, st.floats(allow_nan=True), ("float64",)),
    "min_float": (extremes.MIN_FLOAT, st.floats(allow_nan=True), ("float64",)),
    "stddev": (moments.STDDEV_MONOID, st.floats(-100, 100), ("float64",)),
    "max_text": (extremes.MAX_OBJECT, st.text(max_size=3), None),
}
CASES = [
    (algorithm, monoid, compiled)
    for algorithm in ALGORITHMS
    for monoid, (_, _, types) in MONOIDS.items()
    for compiled in ((False, True) if types else (False,))
]


def machine(algorithm: str, monoid_name: str, compiled: bool) -> type[RuleBasedStateMachine]:
    monoid, values, types = MONOIDS[monoid_name]

    class Window(RuleBasedStateMachine):
        def __init__(self) -> None:
            super().__init__()
            self.window = ALGORITHMS[algorithm](monoid, types=types if compiled else None)
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

        @rule(xs=st.lists(values, max_size=20), size=st.one_of(st.none(), st.integers(1, 6)))
        def extend(self, xs: list[Any], size: int | None) -> None:
            answers = self.window.extend(xs, size)
            assert len(answers) == len(xs)
            for x, answer in zip(xs, answers, strict=True):
                self.elements.append(x)
                if size is not None:
                    del self.elements[: max(0, len(self.elements) - size)]
                assert same(answer, self.expected(), self.slack())

        @rule()
        def snapshot_and_restore(self) -> None:
            again = ALGORITHMS[algorithm](monoid, types=types if compiled else None)
            again.set_state(*self.window.state())
            self.window = again

        @invariant()
        def agrees(self) -> None:
            self.window.check()
            assert len(self.window) == len(self.elements)
            assert same(self.window.query(), self.expected(), self.slack())

        def expected(self) -> Any:
            kept = [x for x in self.elements if x is not None]
            return monoid.fold(kept) if kept else None

        def slack(self) -> float:
            return 1e-9 * (1 + sum(abs(x) for x in self.elements if isinstance(x, float) and math.isfinite(x)))

    return Window


@pytest.mark.parametrize(("algorithm", "monoid", "compiled"), CASES)
def test_agrees_with_a_fold(algorithm: str, monoid: str, compiled: bool) -> None:
    tested = machine(algorithm, monoid, compiled).TestCase
    tested.settings = settings(max_examples=15, stateful_step_count=30, deadline=None)
    tested().runTest()


class Counting:
    """A monoid that counts its combines."""

    def __init__(self) -> None:
        self.combines = 0

    def monoid(self) -> sw.Monoid:
        def combine(a: int, b: int) -> int:
            self.combines += 1
            return a + b

        return sw.Monoid(identity=0, combine=combine, name="counting")


@pytest.mark.parametrize("n", [2, 16, 100, 1000])
def test_two_stacks_lite_is_constant_on_average(n: int) -> None:
    counting = Counting()
    window = ALGORITHMS["two_stacks_lite"](counting.monoid())
    for x in range(n):
        window.insert(x)
    counting.combines = 0
    rounds = 20 * n
    for x in range(rounds):
        window.insert(x)
        window.evict()
        window.query()
    assert counting.combines <= 3 * rounds  # insert 1, flip 1 per element, query 1


@pytest.mark.parametrize("n", [1, 2, 16, 100])
def test_recalculate_folds_everything_at_a_query(n: int) -> None:
    counting = Counting()
    window = ALGORITHMS["recalculate"](counting.monoid())
    for x in range(n):
        window.insert(x)
    assert counting.combines == 0
    window.query()
    assert counting.combines == n - 1


@pytest.mark.parametrize("algorithm", ALGORITHMS)
class TestRules:
    def test_evict_from_empty(self, algorithm: str) -> None:
        with pytest.raises(IndexError, match="empty window"):
            ALGORITHMS[algorithm](CONCAT).evict()

    def test_evict_more_than_there_is(self, algorithm: str) -> None:
        window = ALGORITHMS[algorithm](CONCAT)
        window.insert("a")
        with pytest.raises(IndexError, match="evict_many"):
            window.evict_many(2)
        assert len(window) == 1

    def test_capacity_is_allocated_once(self, algorithm: str) -> None:
        window = ALGORITHMS[algorithm](sums.SUM_FLOAT, 8, types=("float64",))
        before = [column.ctypes.data for column in window._bank.cols]
        for x in range(8):
            window.insert(float(x))
        for _ in range(50):
            window.evict()
            window.insert(1.0)
        assert [column.ctypes.data for column in window._bank.cols] == before
        with pytest.raises(OverflowError, match="capacity=8"):
            window.insert(1.0)

    def test_bad_capacity(self, algorithm: str) -> None:
        with pytest.raises(sw.errors.ArgumentError, match="capacity=0"):
            ALGORITHMS[algorithm](CONCAT, 0)

    def test_card_says_its_name(self, algorithm: str) -> None:
        assert ALGORITHMS[algorithm].card.name == algorithm

    def test_the_module_is_its_card(self, algorithm: str) -> None:
        import sys

        said = sys.modules[ALGORITHMS[algorithm].__module__].__doc__ or ""
        assert all(word in said for word in ("paper", "time", "space", "Invariant"))
