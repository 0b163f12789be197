"""Many DABA windows over one stream: one queue of values, and for each window its own sums and pointers.

    vals     x  x  x  x  x  x  x  x  x  x  x  x  x      lifted once, as many as the longest window holds
    size 12     F ──── L ── R ── A ──── B ────── E      aggs of its own, as swag/daba.py draws them
    size 5                        F L   RA  B    E

    time     per event and window: insert ≤ 4 ⊕, evict ≤ 3 ⊕, query ≤ 1 ⊕, always: worst O(1)
    space    n values, and per window as many sums as it has elements; rings of a power of two, allocated once

Windows of different functions share values too where their partials are equal or one holds the other
(sharing/parts.py). Every size is fixed, so nothing ever grows and no step waits for memory: for latency, where FlatFIT
resets now and then. Invariant: that of DABA, for each window.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from slidewise.errors import ArgumentError, bad, whole
from slidewise.kernels.jit import Jit
from slidewise.kernels.ops import Ops, compiled_ops, object_ops
from slidewise.monoids.monoid import Monoid
from slidewise.sharing.guard import Guard
from slidewise.sharing.live import Answers
from slidewise.sharing.parts import Parts
from slidewise.sharing.values import check_types, entering

SIZE, BASE, MASK, FRONT, LEFT, RIGHT, ACCUMULATED, BACK, END = range(9)
"""The registers of one window: where its ring of sums lies, and its pointers, as positions in the stream."""


class DabaWindows:
    """Windows of the last `size` rows, each under a monoid, answered after every row; values without nulls.

    Parameters
    ----------
    windows
        Pairs (monoid, size).
    types
        None: values are any Python objects. Dtype names, e.g. ``("float64",)``: machine code for arrays of that kind.

    >>> import slidewise as sw
    >>> letters = sw.Monoid(identity="", combine=lambda a, b: a + b, name="concat")
    >>> windows = DabaWindows([(letters, 2), (letters, 3)])
    >>> [windows.push(letter) for letter in "abcd"]
    [['a', 'a'], ['ab', 'ab'], ['bc', 'abc'], ['cd', 'bcd']]
    """

    def __init__(self, windows: Iterable[tuple[Monoid, int]], types: tuple[str, ...] | None = None) -> None:
        check_types(types)
        if not hasattr(windows, "__iter__"):
            raise bad("windows", windows, "pairs (monoid, size)")
        pairs = [_checked(window) for window in windows]
        if not pairs:
            raise bad("windows", [], "at least one pair (monoid, size)")
        self.parts = Parts([monoid for monoid, _ in pairs], types)
        self.sizes = [size for _, size in pairs]
        self.seen = 0
        self._guard = Guard()
        places = [place for place, _ in self.parts.found]
        self._queues = [
            _Queue(self._ops_of(monoid), [size for size, at in zip(self.sizes, places, strict=True) if at == place])
            for place, monoid in enumerate(self.parts.kept)
        ]
        self._places = places

    def push(self, value: Any) -> list[Any]:
        """One row, and the answer of each window."""
        return [answers.tolist()[0] for answers in self.extend([value])]

    def extend(self, values: Any) -> list[Answers]:
        """Many rows; each window's answer after every one of them. O(1) per row and window.

        What a user's lift or combine raises makes the windows of no more use (sharing/guard.py).
        """
        column, valid = entering(values, self.parts.types)
        if valid is not None:
            row = valid.index(False)
            raise ArgumentError(f"values[{row}]=None: DABA windows take no nulls; expected a value, or SharedWindows")
        rows = len(column)
        with self._guard.changes():
            found = [queue.extend((column,), rows) for queue in self._queues]
        self.seen += rows
        ends, ok = np.arange(self.seen - rows, self.seen) + 1, np.ones(rows, dtype=np.bool_)
        answers, taken = [], [0] * len(found)
        for number, place in enumerate(self._places):
            at, taken[place] = taken[place] * rows, taken[place] + 1
            mine = tuple(part[at : at + rows] for part in found[place])
            answers.append(Answers(ends, *self.parts.read(number, mine, ok)))
        return answers

    @property
    def values_held(self) -> int:
        """Values there is room for: those of the longest window of each kind, once."""
        return sum(len(queue.values[0]) for queue in self._queues)

    def _ops_of(self, monoid: Monoid) -> Ops:
        return object_ops(monoid, 1) if self.parts.types is None else compiled_ops(monoid, self.parts.types)


class _Queue:
    """One kind of partial: its values, and the windows that read them."""

    def __init__(self, ops: Ops, sizes: list[int]) -> None:
        self.ops = ops
        self.values = ops.columns(_ring(max(sizes)))
        rings = [_ring(size) for size in sizes]
        self.sums = ops.columns(sum(rings))
        self.tail = 0
        self.registers: Any = [[size, sum(rings[:k]), rings[k] - 1, 0, 0, 0, 0, 0, 0] for k, size in enumerate(sizes)]
        if ops.compiled:
            self.registers = np.array(self.registers, dtype=np.int64)

    def extend(self, inputs: tuple[Any, ...], rows: int) -> tuple[Any, ...]:
        """The partial of each window after each row, one window's after the other's."""
        partials = self.ops.columns(len(self.registers) * rows)
        loop = self.ops.built("many dabas", lambda: build_dabas(self.ops, self.ops.jit))
        loop(self.values, self.sums, self.registers, self.tail, inputs, rows, partials)
        self.tail += rows
        return partials


def build_dabas(ops: Ops, jit: Jit) -> Any:
    """The loop for one monoid: the new value, then every window's evict, insert and query."""
    combine, load, store, identity, lift_at = ops.combine, ops.load, ops.store, ops.identity, ops.lift_at

    def fixup(values: Any, sums: Any, R: Any, ring: int) -> None:
        base, mask, end = R[BASE], R[MASK], R[END]
        if R[FRONT] == R[BACK]:  # a single element, or none
            R[LEFT] = end
            R[RIGHT] = end
            R[ACCUMULATED] = end
            R[BACK] = end
            return
        if R[LEFT] == R[BACK]:  # flip
            R[LEFT] = R[FRONT]
            R[ACCUMULATED] = end
            R[BACK] = end
        if R[LEFT] == R[RIGHT]:  # shift
            R[ACCUMULATED] += 1
            R[RIGHT] += 1
            R[LEFT] = R[RIGHT]
        else:  # shrink
            left, last = R[LEFT], R[ACCUMULATED] - 1
            newer = identity
            if R[ACCUMULATED] != R[BACK]:
                newer = load(sums, base + (R[ACCUMULATED] & mask))
            total = combine(load(sums, base + (left & mask)), load(sums, base + (last & mask)))
            store(sums, base + (left & mask), combine(total, newer))
            store(sums, base + (last & mask), combine(load(values, last & ring), newer))
            R[LEFT] = left + 1
            R[ACCUMULATED] = last

    fixup = jit(fixup)

    def dabas(values: Any, sums: Any, registers: Any, tail: int, inputs: Any, rows: int, partials: Any) -> None:
        ring = len(values[0]) - 1
        for row in range(rows):
            p = lift_at(inputs, row)
            for k in range(len(registers)):
                R = registers[k]
                if R[END] - R[FRONT] == R[SIZE]:
                    R[FRONT] += 1
                    fixup(values, sums, R, ring)
            store(values, (tail + row) & ring, p)
            for k in range(len(registers)):
                R = registers[k]
                base, mask, end = R[BASE], R[MASK], R[END]
                newer = p
                if R[BACK] != end:
                    newer = combine(load(sums, base + ((end - 1) & mask)), p)
                store(sums, base + (end & mask), newer)
                R[END] = end + 1
                fixup(values, sums, R, ring)
                answer = identity
                if R[BACK] != R[END]:
                    answer = load(sums, base + (end & mask))
                if R[FRONT] != R[BACK]:
                    older = load(sums, base + (R[FRONT] & mask))
                    answer = combine(older, answer) if R[BACK] != R[END] else older
                store(partials, k * rows + row, answer)

    return ops.kernel(dabas)


def _ring(size: int) -> int:
    """Places of a ring for so many elements: the power of two that holds them."""
    return 1 << (size - 1).bit_length()


def _checked(window: Any) -> tuple[Monoid, int]:
    if not isinstance(window, tuple) or len(window) != 2 or not isinstance(window[0], Monoid):
        raise bad("windows", window, "pairs (monoid, size)")
    return window[0], whole("size", window[1], least=1, below=2**40)
