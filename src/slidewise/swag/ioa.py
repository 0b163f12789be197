"""IOA, the Imperative Okasaki Aggregator: FOA's lists in cells that are changed in place, and freed as they leave.

    paper     001 section 3.2
    time      query 1 ⊕, insert ≤ 4 ⊕, evict ≤ 3 ⊕, always: worst O(1), allocation aside
    space     2n partials in n cells; object mode only

    forced cell    [ value, agg, tail ]         tail: the next cell, or none
    delayed cell   [ L, R, A ]                  the arguments of a `rot` that has not run; becomes a forced cell
                                                when it is first looked at

    F ─► [v0] ─► [v1] ─► [v2] ─► [ L, R, A ]
                  ▲ N                           each step looks at one cell behind N, so it forces one at most

Invariant: as in swag/okasaki.py. One window, changed in place: no version outlives a step, and a cell is freed (by
CPython's reference count, as the paper's by its shared pointers) once F and N have passed it.
"""

from __future__ import annotations

from typing import Any

from slidewise.kernels.jit import Jit
from slidewise.kernels.ops import Ops
from slidewise.kernels.registers import BASE, HEAD, TAIL
from slidewise.kernels.sweep import Steps
from slidewise.swag.card import Card
from slidewise.swag.okasaki import Lists, Okasaki, Pairs


class Cell:
    """A cell: forced, with value, agg and tail, or delayed, with the arguments of its `rot`."""

    __slots__ = ("agg", "delayed", "tail", "value")

    def __init__(self, value: Any = None, agg: Any = None, tail: Cell | None = None) -> None:
        self.value = value
        self.agg = agg
        self.tail = tail
        self.delayed: tuple[Cell | None, Cell | None, Cell | None] | None = None


class Window:
    """The three lists, which the steps change."""

    __slots__ = ("back", "front", "next")

    def __init__(self) -> None:
        self.front: Cell | None = None
        self.next: Cell | None = None
        self.back: Cell | None = None


class Ioa(Okasaki):
    """Worst-case constant time with cells and pointers; DABA does the same in flat memory."""

    card = Card(
        name="ioa",
        full_name="Imperative Okasaki Aggregator",
        paper="DABA 2017, sec. 3.2",
        ordering="FIFO",
        needs="associative",
        amortized="O(1)",
        worst="O(1)",
        bulk_evict="O(1) each",
        space="2n",
        local_size="2n",
        custom_policy="head by head",
        external_store=False,
        compiles=False,
    )

    @staticmethod
    def build(ops: Ops, jit: Jit) -> Steps:
        combine, identity = ops.combine, ops.identity

        def agg(cell: Cell | None) -> Any:
            return identity if cell is None else cell.agg

        def rotate(cell: Cell, left: Cell | None, right: Cell | None, accumulated: Cell | None) -> None:
            """Make `cell` the first cell of `rot(left, right, accumulated)`, and the one behind it a delayed one."""
            assert right is not None
            sum_a = agg(accumulated)
            total = combine(right.value, sum_a)
            if left is None:
                cell.value, cell.agg, cell.tail = right.value, total, accumulated
                return
            cell.value, cell.agg, cell.tail = left.value, combine(combine(left.agg, right.agg), sum_a), Cell()
            cell.tail.delayed = (left.tail, right.tail, Cell(right.value, total, accumulated))

        def tail(cell: Cell) -> Cell | None:
            rest = cell.tail
            if rest is not None and rest.delayed is not None:
                delayed, rest.delayed = rest.delayed, None
                rotate(rest, *delayed)
            return rest

        def make(window: Window) -> None:
            if window.next is not None:
                window.next = tail(window.next)
            else:
                rotated = Cell()
                rotate(rotated, window.front, window.back, None)
                window.front, window.next, window.back = rotated, rotated, None

        def clear(cols: Any, R: Any) -> None:
            cols[0][R[BASE] - 1] = Window()

        def insert(cols: Any, R: Any, p: Any) -> None:
            window = cols[0][R[BASE] - 1]
            window.back = Cell(p, combine(agg(window.back), p), window.back)
            make(window)
            R[TAIL] += 1

        def evict(cols: Any, R: Any) -> None:
            window = cols[0][R[BASE] - 1]
            window.front = tail(window.front)
            make(window)
            R[HEAD] += 1

        def query(cols: Any, R: Any) -> Any:
            window = cols[0][R[BASE] - 1]
            return combine(agg(window.front), agg(window.back))

        return Steps(clear, insert, evict, query)

    def lists(self) -> Lists:
        window, reached = self._held, 0
        front: Pairs = []
        cell = window.front
        while cell is not None and cell.delayed is None:
            reached = len(front) if cell is window.next else reached
            front.append((cell.value, cell.agg))
            cell = cell.tail
        rot = None
        if cell is not None:
            left, right, accumulated = cell.delayed
            rot = _pairs(left), _pairs(right), _pairs(accumulated)
        return Lists(front, rot, _pairs(window.back), reached if window.next is not None else len(front))

    def set_lists(self, lists: Lists) -> None:
        window, end = Window(), None
        if lists.rot is not None:
            left, right, accumulated = lists.rot
            end = Cell()
            end.delayed = (_cells(left), _cells(right), _cells(accumulated))
        window.front = _cells(lists.front, end)
        window.next = window.front if lists.reached < len(lists.front) else None
        for _ in range(lists.reached):
            window.next = window.next and window.next.tail
        window.back = _cells(lists.back)
        self._held = window


def _pairs(cell: Cell | None) -> Pairs:
    found = []
    while cell is not None:
        found.append((cell.value, cell.agg))
        cell = cell.tail
    return found


def _cells(pairs: Pairs, end: Cell | None = None) -> Cell | None:
    for value, agg in reversed(pairs):
        end = Cell(value, agg, end)
    return end
