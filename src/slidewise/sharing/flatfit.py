"""FlatFIT as the final aggregator of a shared plan: algorithm 1 of 002, over circular arrays of exactly wSize places.

    index      0     1     2     3     4          figure 7 after step 5: 7 came to index 3, currInd is 4
    pointer    4     2     3     4     0          from 0 one jump to currInd: partial[0] covers all up to there
    partial    7     0     3     7     2

Invariant: partial[i] covers index i up to, not including, pointer[i], going round. A query of `count` slices starts at
currInd − count, jumps to currInd and comes back, older ⊕ newer; each index on its way is then one jump from currInd.

As printed (``write_back=False``) the start itself stays as it was, since a window that slides by one overwrites it
next; where shorter ranges are asked in ascending order that costs up to 2 ⊕ per query. By default the answer is written
back there too if count < wSize: ≤ 1 ⊕ per query and n − 1 per slide with all ranges 1 .. n, in any order. A single
query takes 3(n − 1) ⊕ per n + 1 slides either way. Where it departs from the print: lines 38 and 43 have newer ⊕ older,
here older is first; a query of one jump takes its answer from Partials without the second pop, which would find an
empty stack; and there is no stack: Positions is threaded through the pointers, each turned to where one came from. The
register DEPTH is the most entries that stack would have had beside the start.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from slidewise.kernels.jit import Jit
from slidewise.kernels.ops import Ops
from slidewise.kernels.registers import LAST, OWN, TAIL
from slidewise.sharing.final import Final, FinalSteps

SIZE, CURR, DEPTH = OWN, OWN + 1, OWN + 2


class FlatFIT(Final):
    """Constant time on average for one range, at most one ⊕ each for all of them; 2n numbers in all.

    >>> import slidewise as sw
    >>> from slidewise.kernels.ops import object_ops
    >>> window = FlatFIT(object_ops(sw.Monoid(identity=float("-inf"), combine=max, name="max"), 1), 5)
    >>> for x in [2, 4, 0, 3, 7]: window.insert(x)
    >>> window.query(5), window.query(3), window.depth
    (7, 7, 4)
    """

    name = "flatfit"

    def __init__(self, ops: Ops, size: int, *, write_back: bool = True) -> None:
        super().__init__(ops, size)
        self.write_back = write_back
        self._registers: Any = [0] * (OWN + 3)
        if ops.compiled:
            self._registers = np.zeros(OWN + 3, dtype=np.int64)
        self._registers[SIZE], self._registers[CURR], self._registers[LAST] = size, size - 1, -1
        self._cols = self._neutral(size)

    @property
    def key(self) -> object:
        return (type(self), self.write_back)

    @property
    def cols(self) -> tuple[Any, ...]:
        return self._cols

    @property
    def R(self) -> Any:
        return self._registers

    @property
    def depth(self) -> int:
        """The most ⊕ that one query took so far, so the most positions its stack would have held beside the start."""
        return int(self._registers[DEPTH])

    @property
    def pointers(self) -> list[int]:
        """The array Pointers, as figure 7 prints it."""
        return [int(pointer) for pointer in self._cols[-1]]

    @property
    def partials(self) -> list[Any]:
        """The array Partials; a list of columns in machine code."""
        return list(self._cols[0]) if not self.ops.compiled else [column.tolist() for column in self._cols[:-1]]

    def reserve(self, size: int) -> None:
        if size <= self.size:
            return
        old, more, fresh = self.size, size - self.size, self._neutral(size)
        curr = int(self._registers[CURR]) + 1 if int(self._registers[TAIL]) == 0 else int(self._registers[CURR])
        order = [(curr + k) % old for k in range(old)]  # oldest first
        for column, grown in zip(self._cols[:-1], fresh[:-1], strict=True):
            grown[more:] = column[order] if self.ops.compiled else [column[index] for index in order]
        jumps = ((int(self._cols[-1][index]) - curr) % old or old for index in order)  # currInd is a whole turn away
        fresh[-1][more:] = [(more + jump) % size for jump in jumps]
        self._cols, self.size = fresh, size
        self._registers[SIZE] = size
        self._registers[CURR] = size - 1 if int(self._registers[TAIL]) == 0 else 0

    def _neutral(self, size: int) -> tuple[Any, ...]:
        """Lines 7 to 14: the identity everywhere, each pointer to its neighbour."""
        cols, identity = self.ops.columns(size), self.ops.identity
        parts = identity if self.ops.compiled and isinstance(identity, tuple) else (identity,)
        for column, part in zip(cols, parts, strict=True):
            column[:] = part if self.ops.compiled else [part] * size
        pointers: Any = [(k + 1) % size for k in range(size)]
        return (*cols, np.array(pointers, dtype=np.int64) if self.ops.compiled else pointers)

    def build(self, ops: Ops, jit: Jit) -> FinalSteps:
        combine, load, store, write_back = ops.combine, ops.load, ops.store, self.write_back

        def insert(cols: Any, R: Any, p: Any) -> None:
            prev = R[CURR]
            curr = prev + 1
            if curr == R[SIZE]:
                curr = 0
            store(cols, prev, p)
            cols[-1][prev] = curr
            R[CURR] = curr
            R[TAIL] += 1

        def query(cols: Any, R: Any, count: int) -> Any:
            curr, size, pointers = R[CURR], R[SIZE], cols[-1]
            start = curr - count
            if start < 0:
                start += size
            at = start
            first = pointers[start]
            beyond = first
            before = start
            depth = 0
            while beyond != curr:
                pointers[at] = before
                before = at
                at = beyond
                beyond = pointers[at]
                depth += 1
            answer = load(cols, at)
            while at != start:
                at = before
                before = pointers[at]
                answer = combine(load(cols, at), answer)
                if at != start or (write_back and count < size):
                    store(cols, at, answer)
                    pointers[at] = curr
                else:
                    pointers[at] = first
            if depth > R[DEPTH]:
                R[DEPTH] = depth
            return answer

        return FinalSteps(jit(insert), jit(query))

    def check(self) -> None:
        """Assert the invariant that can be seen: from every index the pointers lead to currInd; O(n²)."""
        curr, pointers = int(self._registers[CURR]), self.pointers
        for index in range(self.size):
            turn = (curr - index) % self.size or self.size
            while index != curr or turn:
                jump = (pointers[index] - index) % self.size or self.size
                assert jump <= turn, "a pointer goes no further than the newest slice"
                index, turn = pointers[index], turn - jump
