"""What FOA and IOA share: lists with sums, a window of two of them, and their snapshots.

    paper     001 sections 3.1 and 3.2, after Okasaki's real-time queue

    F  v0 ─ v1 ─ v2 ─ rot(L, R, A)        front, oldest first; its end may be suspended
            ▲
            N                             the next cell whose tail is to be looked at: a part of F
    B  v9 ─ v8 ─ v7                       back, newest first

Each cell holds an element and the sum of the list from there on, in the window's order. Invariant: |F| ≥ |B| and
|N| = |F| − |B| (001 prints |F| ≤ |B|, and L and R for F and B in the second); at most one `rot` is suspended, it is in
F, and it got |R| = |L| + 1. Both algorithms run on Python objects only: they are about laziness.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from slidewise.kernels.registers import BASE, HEAD
from slidewise.monoids.laws import same
from slidewise.swag.structure import Structure

Pairs = list[tuple[Any, Any]]
"""A list's cells: elements with their sums."""


@dataclass(frozen=True)
class Lists:
    """A window of two lists, laid open: `reached` is how many cells of the front lie before N."""

    front: Pairs
    rot: tuple[Pairs, Pairs, Pairs] | None
    back: Pairs
    reached: int

    @property
    def sizes(self) -> tuple[int, int, int]:
        """|F|, |N|, |B|, the suspended part included."""
        f = len(self.front) + (sum(map(len, self.rot)) if self.rot else 0)
        return f, f - self.reached, len(self.back)


class Okasaki(Structure):
    """A window that is one object, in the place of an extra partial; the ring is not used."""

    planes = 0
    extra = 1

    def lists(self) -> Lists:
        """The window laid open, without forcing anything; O(n)."""
        raise TypeError("an algorithm of lists must define lists() and set_lists()")

    def set_lists(self, lists: Lists) -> None:
        """Continue from what `lists` returned; O(n)."""
        raise TypeError("an algorithm of lists must define lists() and set_lists()")

    def check(self) -> None:
        super().check()
        lists = self.lists()
        f, n, b = lists.sizes
        assert f + b == len(self), "every element is in one list"
        assert f >= b, "|F| ≥ |B|"
        assert n == f - b, "|N| = |F| − |B|"
        combine = self.monoid.combine
        front = list(lists.front)
        if lists.rot is not None:
            left, right, accumulated = lists.rot
            assert len(right) == len(left) + 1, "rot got |R| = |L| + 1"
            front += [*left, *reversed(right), *accumulated]
        elements = [element for element, _ in front]
        sums = list(accumulate(reversed(elements), lambda newer, older: combine(older, newer)))[::-1]
        held = [total for _, total in lists.front]
        assert same(held, sums[: len(held)], 1e-6), "a sum of F reaches to the end of F"
        back = [element for element, _ in reversed(lists.back)]
        held = [total for _, total in reversed(lists.back)]
        assert same(held, list(accumulate(back, combine)), 1e-6), "a sum of B begins with its oldest"

    def state(self) -> tuple[list[int], list[Any], list[int]]:
        lists = self.lists()
        parts = [lists.front, *(lists.rot or ([], [], [])), lists.back]
        registers = [int(value) for value in self._bank.regs[0]][HEAD:]
        return registers, [one for part in parts for pair in part for one in pair], [*map(len, parts), lists.reached]

    def set_state(self, registers: list[int], partials: list[Any], links: list[int]) -> None:
        self.clear()
        for number, value in enumerate(registers, start=HEAD):
            self._bank.regs[0][number] = value
        pairs = list(zip(partials[::2], partials[1::2], strict=True))
        *lengths, reached = links
        ends = list(accumulate(lengths))
        front, left, right, accumulated, back = (
            pairs[end - size : end] for end, size in zip(ends, lengths, strict=True)
        )
        self.set_lists(Lists(front, (left, right, accumulated) if right else None, back, reached))

    @property
    def _held(self) -> Any:
        return self._bank.cols[0][self._bank.regs[0][BASE] - 1]

    @_held.setter
    def _held(self, window: Any) -> None:
        self._bank.cols[0][self._bank.regs[0][BASE] - 1] = window
