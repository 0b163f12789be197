"""A job without Spark: trees of names, the least work, a memo of strings; killed and robbed at random.

names ──tree──► nodes wanted ──work_of──► sources and steps ──► strings, which no wrong order survives
"""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slidewise import incremental as inc
from slidewise.contraction import Void
from slidewise.incremental.ahead import wanted_next
from slidewise.incremental.book import Book, living_of
from slidewise.incremental.steps import Step, Work, work_of

WINDOWS = [
    inc.splits(1),
    inc.splits(7),
    inc.splits(8, bucket=2),
    inc.splits(6, tree="folding"),
    inc.splits(),
    inc.splits(variable=True),
    inc.splits(variable=True, tree="randomized", seed=5),
    inc.splits(variable=True, tree="strawman"),
]


class Drill:
    """What `Job` does, on strings in a dict; `lose` forgets nodes, a new tree is restored for every slide."""

    def __init__(self, window: inc.Splits, together: bool = False) -> None:
        self.window, self.together = window, together
        self.state: dict[str, Any] = {}
        self.kept: dict[str, str] = {}
        self.children: dict[str, tuple[str, ...]] = {}
        self.rows: dict[str, str] = {}
        """What each leaf was mapped to: it can be read again."""
        self.names: list[str] = []
        self.number = 0
        self.ahead: set[str] = set()
        """The nodes that the next slide is said to read."""

    def slide(self, add: int, drop: int, prepare: bool = False) -> Work:
        book = Book("query")
        tree = self.window.make(book.fold)
        if self.state:
            tree.restore(self.state)
        names = [f"s{self.number + k}" for k in range(add)]
        leaves = {name: book.leaf(name, self.number + k) for k, name in enumerate(names)}
        self.rows.update({leaf: f"<{name}>" for name, leaf in leaves.items()})
        if prepare:
            tree.prepare()
        else:
            tree.advance(leaves, drop)
        self.children.update(book.children)
        living = living_of(tree)
        work = work_of(living, self.children, self.kept.__contains__, self.rows.__getitem__)
        if self.together:
            work = work.mapped_together()
        made = {source.node: "".join(source.frames) or self.kept[source.node] for source in work.sources}
        for level in work.levels():
            for step in level:
                made[step.node] = "".join(made[part] for part in step.parts)
        self.kept = {node: made[node] if node in made else self.kept[node] for node in living}
        self.names = [*self.names, *names][drop:]
        self.number += add
        self.state = tree.state()
        self.ahead = wanted_next("query", self.window, tree, len(self.names))
        assert tree.state() == self.state
        root = "" if isinstance(tree.root, Void) else self.kept[tree.root]
        assert root == "".join(f"<{name}>" for name in self.names)
        return work

    def lose(self, node: str) -> None:
        del self.kept[node]


@pytest.mark.parametrize("window", WINDOWS, ids=inc.Splits.described)
@given(data=st.data())
def test_any_slides_with_any_losses(window: inc.Splits, data: st.DataObject) -> None:
    drill = Drill(window, together=data.draw(st.booleans()))
    for _ in range(data.draw(st.integers(1, 25))):
        there = len(drill.names)
        if there and data.draw(st.booleans()):
            drill.slide(0, 0, prepare=True)
        if window.width is not None:
            add = window.bucket * data.draw(st.integers(1, window.width // window.bucket))
            drop = window.dropped(there, add)
        else:
            add = data.draw(st.integers(0 if window.variable and there else 1, 6))
            drop = data.draw(st.integers(0, there)) if window.variable else 0
        drill.slide(add, drop)
        for node in (
            data.draw(st.lists(st.sampled_from(sorted(drill.kept)), max_size=2, unique=True)) if drill.kept else []
        ):
            drill.lose(node)


@pytest.mark.parametrize("window", WINDOWS, ids=inc.Splits.described)
@given(data=st.data())
def test_what_the_next_slide_reads_is_known(window: inc.Splits, data: st.DataObject) -> None:
    drill = Drill(window)
    first = data.draw(st.integers(1, 40)) if window.width is None else window.bucket
    drill.slide(first, 0)
    for _ in range(data.draw(st.integers(1, 30))):
        if data.draw(st.booleans()):
            drill.slide(0, 0, prepare=True)
        there, said = len(drill.names), drill.ahead
        assert said <= set(drill.kept)
        work = drill.slide(window.bucket, 1 if window.variable else window.dropped(there, window.bucket))
        read = {source.node for source in work.sources if not source.new}
        if window.tree == "randomized":  # where groups begin depends on the name of the split that comes
            assert said or not read
        else:
            assert read == said


def test_new_splits_that_nobody_keeps_apart_are_mapped_as_one() -> None:
    drill = Drill(inc.splits(), together=True)
    assert [source.frames for source in drill.slide(3, 0).sources] == [("<s0>", "<s1>", "<s2>")]
    work = drill.slide(2, 0)
    assert sorted(source.frames for source in work.sources) == [(), ("<s3>", "<s4>")]
    assert work.combines == 1
    apart = Drill(inc.splits(variable=True), together=True).slide(3, 0)
    assert [len(source.frames) for source in apart.sources] == [1, 1, 1]  # each is a leaf that may leave by itself


def test_combines_by_key_are_counted_from_the_rows_of_tables() -> None:
    tables = {"a": {1, 2, 3}, "b": {2, 3, 4}, "c": {3}, "d": {9}}
    children = {"n": ("a", "b", "c"), "m": ("n", "d")}
    work = work_of(["n", "m"], children, tables.__contains__, str)
    tables |= {"n": {1, 2, 3, 4}, "m": {1, 2, 3, 4, 9}}
    rows = {name: len(keys) for name, keys in tables.items()}
    assert work.key_combines(rows) == 3  # key 2 once, key 3 twice, and nothing of m is in both of its parts
    del rows["n"]  # not written
    assert work.key_combines(rows) == 3


def test_a_slide_makes_only_what_changed() -> None:
    """8 splits on a circle: prepared, the next slide reads one table and makes two, of which one is the split."""
    drill = Drill(inc.splits(8))
    drill.slide(8, 0)
    drill.slide(0, 0, prepare=True)
    work = drill.slide(1, 1)
    assert [source.new for source in work.sources].count(False) == 1
    assert (len(work.written), work.combines) == (2, 1)


def test_only_the_lost_node_is_made_again() -> None:
    drill = Drill(inc.splits(variable=True))
    drill.slide(16, 0)
    source = random.Random(1)
    for _ in range(10):
        node = source.choice([name for name in drill.kept if drill.children.get(name)])
        before = dict(drill.kept)
        drill.lose(node)
        work = work_of([node], drill.children, drill.kept.__contains__, drill.rows.__getitem__)
        assert (work.written, work.combines, len(work.sources)) == ((node,), 1, 2)
        drill.kept = before


def test_long_folds_are_taken_apart_into_pairs_in_order() -> None:
    work = work_of(["n"], {"n": ("a", "b", "c", "d", "e")}, set("abcde").__contains__, str)
    levels = work.levels()
    assert [len(level) for level in levels] == [2, 1, 1]
    made = {name: name for name in "abcde"}
    for level in levels:
        for step in level:
            assert isinstance(step, Step)
            made[step.node] = made[step.parts[0]] + made[step.parts[1]]
    assert made["n"] == "abcde"
    assert work.combines == 4
