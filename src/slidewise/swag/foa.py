"""FOA, the Functional Okasaki Aggregator: an immutable window; every step makes a new one, old ones still answer.

    paper     001 figures 5 to 7
    time      query 1 ⊕, insert ≤ 4 ⊕, evict ≤ 3 ⊕, always: worst O(1), allocation and garbage collection aside
    space     2n partials in n cells; object mode only

    insert(v)   ⟨F, N, B⟩  ─►  makeq ⟨F, N, cons(v, Σ_B ⊕ v, B)⟩
    evict       ⟨F, N, B⟩  ─►  makeq ⟨tail F, N, B⟩
    makeq       N empty: F and N become rot(F, B, []), B is empty;   else N goes on by one: ⟨F, tail N, B⟩
    rot(L, R, A)               L, then R turned round, then A, where |R| = |L| + 1; all but its first cell is suspended

Invariant: as in swag/okasaki.py. A suspension remembers what it was forced to, so sharing it between versions costs
nothing twice; that aside nothing is ever changed, so a version answers for as long as it is kept.

>>> import slidewise as sw
>>> concat = sw.Monoid(identity="", combine=lambda a, b: a + b, name="concat")
>>> one = Queue(concat).insert("a").insert("b").insert("c")
>>> two = one.evict().insert("d")
>>> two.query(), one.query()
('bcd', 'abc')
"""

from __future__ import annotations

from typing import Any

from slidewise.kernels.jit import Jit
from slidewise.kernels.ops import Ops
from slidewise.kernels.registers import BASE, HEAD, TAIL
from slidewise.kernels.sweep import Steps
from slidewise.monoids.monoid import Monoid
from slidewise.swag.card import Card
from slidewise.swag.okasaki import Lists, Okasaki, Pairs


class Suspension:
    """A `rot` that has not run yet; `force` runs it once."""

    __slots__ = ("forced", "monoid", "rot")

    def __init__(self, monoid: Monoid, left: Cell | None, right: Cell | None, accumulated: Cell | None) -> None:
        self.monoid = monoid
        self.rot: tuple[Cell | None, Cell | None, Cell | None] | None = (left, right, accumulated)
        self.forced: Cell | None = None

    def force(self) -> Cell | None:
        """The list it stands for."""
        if self.rot is not None:
            self.forced, self.rot = rotate(self.monoid, *self.rot), None
        return self.forced


class Cell:
    """A list: its first element, the sum of all of it, and the rest, which may be suspended."""

    __slots__ = ("agg", "rest", "value")

    def __init__(self, value: Any, agg: Any, rest: Cell | Suspension | None) -> None:
        self.value = value
        self.agg = agg
        self.rest = rest

    @property
    def tail(self) -> Cell | None:
        """The list without its first element; forces what is suspended."""
        return self.rest.force() if isinstance(self.rest, Suspension) else self.rest


def rotate(monoid: Monoid, left: Cell | None, right: Cell | None, accumulated: Cell | None) -> Cell:
    """The paper's `rot`: `left`, then `right` turned round, then `accumulated`; only the first cell is made now."""
    assert right is not None
    combine, sum_a = monoid.combine, _agg(monoid, accumulated)
    more = Cell(right.value, combine(right.value, sum_a), accumulated)
    if left is None:
        return more
    rest = Suspension(monoid, left.tail, right.tail, more)
    return Cell(left.value, combine(combine(left.agg, right.agg), sum_a), rest)


class Queue:
    """One version of a window: ⟨F, N, B⟩ under a monoid. Elements are partials."""

    __slots__ = ("back", "front", "monoid", "next")

    def __init__(
        self, monoid: Monoid, front: Cell | None = None, next: Cell | None = None, back: Cell | None = None
    ) -> None:
        self.monoid = monoid
        self.front = front
        self.next = next
        self.back = back

    def insert(self, value: Any) -> Queue:
        """The version with one more, the newest."""
        total = self.monoid.combine(_agg(self.monoid, self.back), value)
        return self._make(self.front, Cell(value, total, self.back))

    def evict(self) -> Queue:
        """The version without the oldest."""
        if self.front is None:
            raise IndexError("evict from an empty window")
        return self._make(self.front.tail, self.back)

    def query(self) -> Any:
        """The sum of all elements."""
        return self.monoid.combine(_agg(self.monoid, self.front), _agg(self.monoid, self.back))

    def _make(self, front: Cell | None, back: Cell | None) -> Queue:
        if self.next is not None:
            return Queue(self.monoid, front, self.next.tail, back)
        rotated = rotate(self.monoid, front, back, None)
        return Queue(self.monoid, rotated, rotated, None)


class Foa(Okasaki):
    """Worst-case constant time in immutable lists; `version()` is a window that stays as it is."""

    card = Card(
        name="foa",
        full_name="Functional Okasaki Aggregator",
        paper="DABA 2017, fig. 5 to 7",
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

    def version(self) -> Queue:
        """The window as it is now, for good."""
        held: Queue = self._held
        return held

    @staticmethod
    def build(ops: Ops, jit: Jit) -> Steps:
        empty = Queue(ops.monoid)

        def clear(cols: Any, R: Any) -> None:
            cols[0][R[BASE] - 1] = empty

        def insert(cols: Any, R: Any, p: Any) -> None:
            cols[0][R[BASE] - 1] = cols[0][R[BASE] - 1].insert(p)
            R[TAIL] += 1

        def evict(cols: Any, R: Any) -> None:
            cols[0][R[BASE] - 1] = cols[0][R[BASE] - 1].evict()
            R[HEAD] += 1

        def query(cols: Any, R: Any) -> Any:
            return cols[0][R[BASE] - 1].query()

        return Steps(clear, insert, evict, query)

    def lists(self) -> Lists:
        queue, reached = self.version(), 0
        front: Pairs = []
        cell: Cell | Suspension | None = queue.front
        while isinstance(cell, Cell):
            reached = len(front) if cell is queue.next else reached
            front.append((cell.value, cell.agg))
            cell = cell.rest
            if isinstance(cell, Suspension) and cell.rot is None:
                cell = cell.forced
        rot = None
        if cell is not None and cell.rot is not None:
            left, right, accumulated = cell.rot
            rot = _pairs(left), _pairs(right), _pairs(accumulated)
        return Lists(front, rot, _pairs(queue.back), reached if queue.next is not None else len(front))

    def set_lists(self, lists: Lists) -> None:
        end = None
        if lists.rot is not None:
            left, right, accumulated = lists.rot
            end = Suspension(self.monoid, _cells(left), _cells(right), _cells(accumulated))
        front = _cells(lists.front, end)
        next = front if lists.reached < len(lists.front) else None
        for _ in range(lists.reached):
            next = next and next.tail
        self._held = Queue(self.monoid, front, next, _cells(lists.back))


def _agg(monoid: Monoid, cells: Cell | None) -> Any:
    return monoid.identity if cells is None else cells.agg


def _pairs(cells: Cell | None) -> Pairs:
    found = []
    while cells is not None:
        found.append((cells.value, cells.agg))
        cells = cells.tail
    return found


def _cells(pairs: Pairs, end: Suspension | None = None) -> Cell | None:
    made: Any = end
    for value, agg in reversed(pairs):
        made = Cell(value, agg, made)
    return made  # type: ignore[no-any-return]
