"""Final aggregation: the newest slices in a window of partials, any number of which is asked for.

    insert(cols, R, partial)      the newest slice; once `size` of them are there, the oldest leaves
    query(cols, R, count)         the partial of the `count` newest slices, 1 ≤ count ≤ size

| final     | an insert         | a query of n slices                                             | partials        |
| --------- | ----------------- | --------------------------------------------------------------- | --------------- |
| `flatfit` | 0 ⊕               | ≤ 1 ⊕ where all ranges are asked for; one query: 3 on average   | n, and pointers |
| `flatfat` | log₂ N ⊕          | ≤ 2 log₂ N ⊕; 0 for the whole of a full ring where ⊕ commutes   | 2N              |
| `b_int`   | < 1 ⊕ on average  | ≤ 2 log₂ N ⊕                                                    | 2N              |

N is the power of two above n. The trees are those of swag/, without their evictions: a range never reaches what left.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from slidewise.kernels.jit import Jit
from slidewise.kernels.ops import Ops
from slidewise.kernels.registers import BASE, HEAD, MASK, TAIL
from slidewise.swag.b_int import BInt
from slidewise.swag.positional import Ranged
from slidewise.swag.reactive import Reactive


@dataclass(frozen=True)
class FinalSteps:
    """What a final aggregator's `build` returns: functions over its columns and registers."""

    insert: Callable[..., Any]
    query: Callable[..., Any]


class Final:
    """A window of the `size` newest slices under one monoid's functions; `cols` and `R` are what the steps take.

    >>> import slidewise as sw
    >>> from slidewise.kernels.ops import object_ops
    >>> letters = sw.Monoid(identity="", combine=lambda a, b: a + b, name="concat")
    >>> window = BIntFinal(object_ops(letters, 1), 4)
    >>> for letter in "abcdef": window.insert(letter)
    >>> window.query(2), window.query(4)
    ('ef', 'cdef')
    """

    name: ClassVar[str]

    def __init__(self, ops: Ops, size: int) -> None:
        self.ops = ops
        self.size = size

    @property
    def key(self) -> object:
        """What kernels built of its steps are known by."""
        return type(self)

    @property
    def cols(self) -> tuple[Any, ...]:
        """The columns of its partials."""
        raise TypeError("a final aggregator must have columns")

    @property
    def R(self) -> Any:
        """Its registers."""
        raise TypeError("a final aggregator must have registers")

    def build(self, ops: Ops, jit: Jit) -> FinalSteps:
        """The algorithm, each function passed through `jit`."""
        raise TypeError("a final aggregator must define build(ops, jit)")

    def steps(self) -> FinalSteps:
        """What `build` makes at the speed of its ops; made once."""
        steps: FinalSteps = self.ops.built((self.key, "steps"), lambda: self.build(self.ops, self.ops.jit))
        return steps

    def reserve(self, size: int) -> None:
        """Have room for so many slices; what is there stays. O(size) when it grows."""
        raise TypeError("a final aggregator must define reserve(size)")

    def insert(self, partial: Any) -> None:
        """Append the newest slice, in object mode."""
        self.steps().insert(self.cols, self.R, partial)

    def query(self, count: int) -> Any:
        """The partial of the `count` newest slices, in object mode."""
        return self.steps().query(self.cols, self.R, count)


class TreeFinal(Final):
    """A tree of swag/ asked by range."""

    tree: ClassVar[type[Ranged]]

    def __init__(self, ops: Ops, size: int) -> None:
        super().__init__(ops, size)
        self._bank = self.tree.bank(ops)
        self._bank.add(size)

    @property
    def cols(self) -> tuple[Any, ...]:
        return self._bank.cols

    @property
    def R(self) -> Any:
        return self._bank.regs[0]

    def reserve(self, size: int) -> None:
        self._bank.reserve(0, size)
        self.size = max(size, self.size)

    def build(self, ops: Ops, jit: Jit) -> FinalSteps:
        grow, ranged = self.tree.steps(ops).insert, self.tree.ranges(ops, jit).query
        load, root = ops.load, ops.monoid.commutative and self.tree is Reactive

        def insert(cols: Any, R: Any, p: Any) -> None:
            if R[TAIL] - R[HEAD] > R[MASK]:
                R[HEAD] += 1
            grow(cols, R, p)

        def query(cols: Any, R: Any, count: int) -> Any:
            if root and count > R[MASK]:
                return load(cols, R[BASE] + R[MASK] + 2)
            return ranged(cols, R, R[TAIL] - count, R[TAIL])

        return FinalSteps(jit(insert), jit(query))


class FlatFAT(TreeFinal):
    """The Reactive Aggregator's tree: an insert overwrites the oldest leaf and climbs to the root."""

    name = "flatfat"
    tree = Reactive


class BIntFinal(TreeFinal):
    """Base intervals: an insert finishes those that end at it."""

    name = "b_int"
    tree = BInt
