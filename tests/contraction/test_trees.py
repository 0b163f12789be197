"""Every tree against concatenation, which no wrong order survives; combines as the table of the trees says."""

from __future__ import annotations

import math
import random
import statistics
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import slidewise as sw
from slidewise.contraction import TREES, VOID, Coalescing, Folding, Randomized, Rotating, Strawman, Tree, folding_of
from slidewise.errors import ArgumentError

CONCAT = sw.Monoid(identity="", combine=lambda a, b: a + b, name="concat")


def letters(first: int, count: int) -> dict[str, str]:
    return {f"s{k}": f"<{k}>" for k in range(first, first + count)}


def expected(first: int, count: int) -> Any:
    return "".join(letters(first, count).values()) or VOID


class Window(RuleBasedStateMachine):
    """Any tree under random slides; a tree made of its state is the same tree."""

    @initialize(
        name=st.sampled_from(sorted(TREES)), buckets=st.integers(1, 9), width=st.integers(1, 3), seed=st.integers(0, 99)
    )
    def begin(self, name: str, buckets: int, width: int, seed: int) -> None:
        self.options: dict[str, int] = {}
        if name == "rotating":
            self.options = {"buckets": buckets, "width": width}
        elif name == "randomized":
            self.options = {"seed": seed}
        self.tree: Tree[str] = TREES[name].over(CONCAT, **self.options)
        self.first = self.count = 0

    def slide(self, add: int, drop: int) -> None:
        self.tree.advance(letters(self.first + self.count, add), drop)
        self.first, self.count = self.first + drop, self.count + add - drop

    @precondition(lambda self: self.tree.name in ("strawman", "folding", "randomized"))
    @rule(add=st.integers(0, 9), share=st.floats(0, 1))
    def vary(self, add: int, share: float) -> None:
        self.slide(add, round(share * self.count))

    @precondition(lambda self: self.tree.name in ("strawman", "folding", "randomized"))
    @rule(left=st.integers(0, 1))
    def shrink(self, left: int) -> None:
        self.slide(0, max(0, self.count - left))

    @precondition(lambda self: self.tree.name in ("strawman", "folding", "randomized"))
    @rule(add=st.integers(20, 90))
    def grow(self, add: int) -> None:
        self.slide(add, 0)

    @precondition(lambda self: self.tree.name == "rotating")
    @rule(buckets=st.integers(1, 12))
    def rotate(self, buckets: int) -> None:
        width, room = self.options["width"], self.options["buckets"]
        add = buckets * width
        over = max(0, self.count + add - room * width)
        self.tree.advance(letters(self.first + self.count, add), min(over, self.count))
        self.first, self.count = self.first + over, self.count + add - over

    @precondition(lambda self: self.tree.name == "coalescing")
    @rule(add=st.integers(1, 6))
    def append(self, add: int) -> None:
        self.slide(add, 0)

    @rule()
    def prepare(self) -> None:
        before = self.tree.combines
        self.tree.prepare()
        assert self.tree.combines == before

    @rule()
    def again(self) -> None:
        """Another process goes on."""
        tree: Tree[str] = TREES[self.tree.name].over(CONCAT, **self.options)
        tree.restore(self.tree.state())
        assert sorted(map(repr, tree.places())) == sorted(map(repr, self.tree.places()))
        assert (tree.combines, tree.background) == (0, 0)
        self.tree = tree

    @invariant()
    def same(self) -> None:
        if hasattr(self, "tree"):
            self.tree.check()
            assert self.tree.root == expected(self.first, self.count)
            assert len(self.tree) == self.count


TestWindow = Window.TestCase
TestWindow.settings = settings(max_examples=60, stateful_step_count=25)


def slid(tree: Tree[str], size: int, slides: int, prepare: bool = False) -> list[int]:
    """The combines of each slide by one, in a window of so many splits."""
    tree.advance(letters(0, size))
    costs = []
    for k in range(slides):
        if prepare:
            tree.prepare()
        before = tree.combines
        tree.advance(letters(size + k, 1), 1)
        costs.append(tree.combines - before)
        assert tree.root == expected(k + 1, size)
    return costs


@pytest.mark.parametrize(("size", "combines"), [(64, 6), (256, 8), (1024, 10)])
def test_folding_a_slide_of_one_costs_exactly_the_logarithm(size: int, combines: int) -> None:
    tree = Folding.over(CONCAT)
    assert set(slid(tree, size, 3 * size if size < 1000 else 40)) == {combines}


@pytest.mark.parametrize("size", [4, 16, 64, 256])
def test_rotating_costs_the_logarithm_and_prepared_one(size: int) -> None:
    slides = 2 * size + 3
    assert set(slid(Rotating.over(CONCAT, buckets=size), size, slides)) == {int(math.log2(size))}
    tree = Rotating.over(CONCAT, buckets=size)
    assert set(slid(tree, size, slides, prepare=True)) == {1}
    ahead = tree.background / slides
    assert math.log2(size) - 1 <= ahead <= math.log2(size) + 1


@pytest.mark.parametrize("size", [3, 5, 11, 90])
def test_rotating_over_any_number_of_buckets_costs_at_most_the_logarithm(size: int) -> None:
    costs = slid(Rotating.over(CONCAT, buckets=size), size, 3 * size)
    assert statistics.mean(costs) <= math.ceil(math.log2(size))


def test_coalescing_costs_one() -> None:
    tree = Coalescing.over(CONCAT)
    for k in range(20):
        before = tree.combines
        tree.advance(letters(k, 1))
        assert tree.combines - before == (1 if k else 0)
        if k % 3:
            tree.prepare()
    assert tree.background == 0


@pytest.mark.parametrize("size", [64, 256])
def test_strawman_folds_nearly_everything_again(size: int) -> None:
    costs = slid(Strawman.over(CONCAT), size, 10)
    assert min(costs) >= size - 1 - math.log2(size)
    appended = Strawman.over(CONCAT)
    appended.advance(letters(0, size))
    before = appended.combines
    appended.advance(letters(size, 1))
    assert appended.combines - before <= math.log2(size) + 1


def test_randomized_costs_about_twice_the_logarithm() -> None:
    size = 512
    means = [statistics.mean(slid(Randomized.over(CONCAT, seed=seed), size, 200)) for seed in range(4)]
    assert 1.5 <= statistics.mean(means) / math.log2(size) <= 2.3


def test_a_folding_tree_that_is_nearly_void_is_laid_out_anew() -> None:
    tree = Folding.over(CONCAT)
    tree.advance(letters(0, 520))
    assert tree.capacity == 1024
    before = tree.combines
    tree.advance({}, 510)  # on both sides of the middle
    assert (tree.capacity, tree.combines - before) == (16, 9)
    assert tree.root == expected(510, 10)


def test_after_a_shrink_the_randomized_tree_is_not_as_high() -> None:
    """The paper's figure 12: half of the window leaves, across the middle, and slides by one follow."""
    costs: dict[str, float] = {}
    for tree in (Folding.over(CONCAT), Randomized.over(CONCAT, seed=1)):
        tree.advance(letters(0, 600))
        tree.advance({}, 500)
        before = tree.combines
        for k in range(10):
            tree.advance(letters(600 + k, 1), 1)
        costs[tree.name] = (tree.combines - before) / 10
        assert tree.root == expected(510, 100)
    assert costs["folding"] <= 10
    assert costs["randomized"] <= 2.6 * math.log2(100)


def test_bulk_slides_cost_the_change_and_the_height() -> None:
    source = random.Random(1)
    tree, first, count = Folding.over(CONCAT), 0, 300
    tree.advance(letters(0, count))
    for _ in range(60):
        add, drop = source.randint(0, 20), source.randint(0, 20)
        before = tree.combines
        tree.advance(letters(first + count, add), drop)
        first, count = first + drop, count + add - drop
        assert tree.root == expected(first, count)
        if tree.combines - before < count // 2:  # not laid out anew
            assert tree.combines - before <= add + drop + 2 * (tree.height + 1)


# ---- the figures of the paper ---------------------------------------------------------------------------------------
def test_figure_2_heights() -> None:
    """T1: 0 1 2 in a tree of height 2; T2: 3 and 4 make it 3; T3: 1, 2 and 3 leave and it is 2 again."""
    tree = Folding.over(CONCAT)
    tree.advance(letters(0, 3))
    assert tree.height == 2
    tree.advance(letters(3, 2), 1)
    assert tree.height == 3
    assert tree.root == expected(1, 4)
    tree.advance({}, 3)
    assert tree.height in (0, 2)  # what is left is one split: laid out anew where that is smaller
    tree = Folding.over(CONCAT)
    tree.advance(letters(0, 3))
    tree.advance(letters(3, 3), 1)
    tree.advance({}, 3)
    assert tree.height == 2
    assert tree.root == expected(4, 2)


def test_figure_3_one_path_is_rebuilt() -> None:
    """16 leaves in groups of 6, 3, 2 and 1; leaves 0 and 1 leave, and one group of each level is folded again."""
    heights = {3: 1, 7: 2, 9: 1, 11: 3, 13: 1, 0: 9}
    log: list[tuple[int, tuple[str, ...]]] = []

    def fold(level: int, parts: tuple[str, ...]) -> str:
        log.append((level, parts))
        return "".join(parts)

    tree: Randomized[str] = Randomized(fold, height=lambda name: heights.get(int(name[1:]), 0))
    tree.advance(letters(0, 16))
    assert sorted(level for level, _ in log) == sorted([1] * 6 + [2] * 3 + [3] * 1 + [4] * 1)
    log.clear()
    tree.advance({}, 2)
    assert [level for level, _ in log] == [2, 3, 4]  # C0 has one leaf left: it is that leaf
    assert tree.root == expected(2, 14)


def test_figure_4_the_bucket_that_comes_replaces_the_oldest() -> None:
    """w = 2, N = 4. Bucket 4 replaces bucket 0; C01 and C1 are used again, and I0 was folded ahead."""
    log: list[tuple[str, ...]] = []

    def fold(level: int, parts: tuple[str, ...]) -> str:
        log.append(parts)
        return "".join(parts)

    tree: Rotating[str] = Rotating(fold, buckets=4, width=2)
    tree.advance(letters(0, 8))
    log.clear()
    tree.prepare()
    assert log == [("<2><3>", "<4><5><6><7>")]  # I0 = C01 ⊕ C1
    log.clear()
    tree.advance(letters(8, 2), 2)
    assert log == [("<8>", "<9>"), ("<2><3><4><5><6><7>", "<8><9>")]
    assert tree.root == expected(2, 8)


def test_figure_5_appending() -> None:
    log: list[tuple[str, ...]] = []

    def fold(level: int, parts: tuple[str, ...]) -> str:
        log.append(parts)
        return "".join(parts)

    tree: Coalescing[str] = Coalescing(fold)
    tree.advance(letters(0, 2))
    tree.advance(letters(2, 2))
    assert log == [("<0>", "<1>"), ("<2>", "<3>"), ("<0><1>", "<2><3>")]  # C1, C2', C2


# ---- what is refused ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["strawman", "folding", "randomized"])
def test_no_more_can_leave_than_there_is(name: str) -> None:
    tree: Tree[str] = TREES[name].over(CONCAT)
    tree.advance(letters(0, 2))
    with pytest.raises(ArgumentError, match="drop=3: expected an integer from 0 to 2, the splits there are"):
        tree.advance({}, 3)
    assert tree.root == expected(0, 2)


def test_what_a_window_cannot_do_is_refused() -> None:
    grown = Coalescing.over(CONCAT)
    grown.advance(letters(0, 2))
    with pytest.raises(ArgumentError, match="drop=1: expected 0: a coalescing tree only grows"):
        grown.advance({}, 1)
    fixed = Rotating.over(CONCAT, buckets=2, width=2)
    with pytest.raises(ArgumentError, match="add=3: expected a multiple of 2 splits"):
        fixed.advance(letters(0, 3))
    fixed.advance(letters(0, 4))
    with pytest.raises(ArgumentError, match="drop=0: expected 2: a window of fixed width drops what is too much"):
        fixed.advance(letters(4, 2))
    with pytest.raises(ArgumentError, match="buckets=0"):
        Rotating.over(CONCAT, buckets=0)


def test_a_void_never_combines() -> None:
    def fold(level: int, parts: tuple[str, ...]) -> str:
        assert len(parts) > 1
        assert "" not in parts
        return folding_of(CONCAT)(level, parts)

    for name, options in (("folding", {}), ("rotating", {"buckets": 5}), ("randomized", {}), ("strawman", {})):
        tree: Tree[str] = TREES[name](fold, **options)  # type: ignore[arg-type]
        tree.advance(letters(0, 3))
        assert tree.root == expected(0, 3)
