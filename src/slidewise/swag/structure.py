"""What every window algorithm shares: a window of partials with insert, evict, query, and the rules of the house.

To add an algorithm: one file with a subclass that has a `card`, says how many registers (`own`) and extra partials
(`extra`) it keeps, and how many partials (`planes`, `scratch`) and integers (`links`) per element, writes its steps in
`build`, its invariants in `check`, and one line in `ALGORITHMS`. Tests, containers and Spark find it there. The steps
are plain functions over columns and integer registers (kernels/registers.py); they run as they are in object mode and
as machine code in compiled mode.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np

from slidewise.errors import ArgumentError, bad, whole
from slidewise.kernels.jit import Jit
from slidewise.kernels.ops import Ops, compiled_ops, object_ops
from slidewise.kernels.registers import HEAD, LAST, MOVED, TAIL
from slidewise.kernels.spans import validity
from slidewise.kernels.sweep import Steps, build_extend, build_sweep
from slidewise.monoids.monoid import Monoid
from slidewise.swag.bank import Bank
from slidewise.swag.card import Card
from slidewise.swag.heads import Heads

NEVER = 2**62
"""More rows than any window has: a sweep that asks for so many answers nothing."""


class Structure:
    """One window under one monoid; see each subclass's card for its cost.

    Parameters
    ----------
    monoid
        What to compute.
    capacity
        None: the window grows as needed. A number: memory is allocated once, and a further insert is an error.
    types
        None: object mode, any Python value. Dtype names, e.g. ``("float64",)``: compiled mode for such columns.
    arity
        How many values the monoid's lift takes, in object mode.
    heads
        True: keep the elements beside sums, so that `enforce` can look at them; one more partial per element. Needed
        only where the algorithm does not keep them anyway.

    >>> from slidewise.swag import ALGORITHMS
    >>> import slidewise as sw
    >>> window = ALGORITHMS["two_stacks_lite"](sw.Monoid(identity="", combine=lambda a, b: a + b, name="concat"))
    >>> for letter in "abc": window.insert(letter)
    >>> window.evict(); window.query()
    'bc'
    """

    card: ClassVar[Card]
    own: ClassVar[int] = 0
    extra: ClassVar[int] = 0
    planes: ClassVar[int] = 1
    links: ClassVar[int] = 0
    tallies: ClassVar[bool] = False
    scratch: ClassVar[int] = 0
    live: ClassVar[tuple[int, int]] = (HEAD, TAIL)
    bulk: ClassVar[bool] = False
    """Evicts many at once: memory is given back when the next elements come, so that an eviction never waits for it."""
    named: ClassVar[bool] = False
    """Keeps every element's own partial, so that it can be looked at by its number."""

    @staticmethod
    def build(ops: Ops, jit: Jit) -> Steps:
        """The algorithm: its steps for one monoid, each passed through `jit`."""
        raise TypeError("an algorithm must define build(ops, jit)")

    @classmethod
    def steps(cls, ops: Ops) -> Steps:
        """What `build` makes at the speed of `ops`; made once, so that all kernels share what they inline."""
        steps: Steps = ops.built((cls, "steps"), lambda: cls.build(ops, ops.jit))
        return steps

    @classmethod
    def bank(cls, ops: Ops) -> Bank:
        """Room for windows of this algorithm."""
        return Bank(
            ops.columns,
            compiled=ops.compiled,
            extra=cls.extra,
            own=cls.own,
            planes=cls.planes,
            links=cls.links,
            scratch=cls.scratch,
            live=cls.live,
        )

    @classmethod
    def ops(cls, monoid: Monoid, types: tuple[str, ...] | None, arity: int = 1) -> Ops:
        """The monoid's functions as this algorithm takes them; `types` None is object mode."""
        return object_ops(monoid, arity) if types is None else compiled_ops(monoid, types)

    def check(self) -> None:
        """Assert the algorithm's invariants; O(n)."""
        registers = self._bank.regs[0]
        assert 0 <= registers[HEAD] <= registers[TAIL], "head and tail"
        assert registers[LAST] < registers[TAIL], "last value"
        assert self.heads is None or len(self.heads) == len(self), "an element beside each"

    def __init__(
        self,
        monoid: Monoid,
        capacity: int | None = None,
        *,
        types: tuple[str, ...] | None = None,
        arity: int = 1,
        heads: bool = False,
    ) -> None:
        _check_capacity(capacity)
        if not isinstance(heads, bool):
            raise bad("heads", heads, "True or False")
        self.refuse(monoid)
        if types is not None and not self.card.compiles:
            raise bad("types", types, f"None: {self.card.name} runs on Python objects only")
        self.monoid = monoid
        self.capacity = capacity
        self.heads = Heads() if heads and not self.named else None
        self._types: tuple[str | None, ...] = (None,) * arity if types is None else types
        self._ops = self.ops(monoid, types, arity)
        self._bank = self.bank(self._ops)
        self._bank.add(capacity if capacity is not None else 0)
        self.clear()

    @classmethod
    def refuse(cls, monoid: Monoid) -> None:
        """Raise `ArgumentError` if the algorithm cannot serve this monoid; none is refused by default."""
        if not isinstance(monoid, Monoid):
            raise ArgumentError(f"monoid={monoid!r}: expected a slidewise.Monoid")

    def clear(self) -> None:
        """Drop everything; O(1)."""
        self._sweep((), 0, fresh=True)
        self._keep_heads()

    def __len__(self) -> int:
        return self._bank.length(0)

    def insert(self, *value: Any) -> None:
        """Append the newest element, lifted; a lift of several columns takes as many values."""
        self._make_room(1)
        columns = self._columns(value)
        self._sweep(columns, 1)
        if self.heads is not None:
            self.heads.append(self._ops.called("lift_at")(columns, 0))

    def insert_null(self) -> None:
        """Append an element that takes a place and has no value."""
        self._make_room(1)
        self._sweep(tuple(_column([0], dtype) for dtype in self._types), 1, valid=np.zeros(1, dtype=np.bool_))
        if self.heads is not None:
            self.heads.append_null()

    def evict(self) -> None:
        """Drop the oldest element; IndexError on an empty window."""
        if len(self) == 0:
            raise IndexError("evict from an empty window")
        self.evict_many(1)

    def evict_many(self, n: int) -> None:
        """Drop the n oldest elements."""
        if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 0:
            raise ArgumentError(f"n={n!r}: expected an integer of at least 0")
        if n > len(self):
            raise IndexError(f"evict_many({n}) from a window of {len(self)}")
        self._drop(int(n))

    def _drop(self, n: int) -> None:
        """Drop the n oldest elements, which are there."""
        self._sweep((), 0, lo=[n - len(self)], hi=[0], min_rows=NEVER)
        self._keep_heads()

    def enforce(self, policy: Callable[[Any, Any], bool]) -> int:
        """Evict the longest prefix for which ``policy(total, old)`` holds; how many elements left.

        `policy` sees answers, as `query` gives them: of the whole window, and of a prefix that has a value. It must be
        monotone: true for every prefix shorter than one for which it is true. Element by element, so k + 1 looks and ⊕
        for k that leave; `amta` and `log_mta` need O(log k).

        >>> from slidewise.swag import ALGORITHMS
        >>> import slidewise as sw
        >>> times = ALGORITHMS["two_stacks_lite"](sw.Monoid(identity=0, combine=max, name="latest"), heads=True)
        >>> for time in [1, 2, 3, 8]: times.insert(time)
        >>> times.enforce(lambda total, old: total - old >= 4), len(times)
        (3, 1)
        """
        check_policy(policy)
        elements, total = self._elements(), self.query()
        combine, lowered = self.monoid.combine, self.monoid.lowered
        old, asked, gone = self.monoid.identity, self.monoid.answers_empty, 0
        for number, (partial, has_value) in enumerate(elements, start=1):
            old, asked = combine(old, partial), asked or has_value
            if asked and not policy(total, lowered(old)):
                break
            gone = number if asked else 0
        self.evict_many(gone)
        return gone

    def _elements(self) -> Iterator[tuple[Any, bool]]:
        """Each element's partial, and whether it has a value, oldest first."""
        if self.heads is None:
            raise ArgumentError(
                f"{self.card.name}: keeps sums of elements, so a policy cannot look at one; expected heads=True where "
                "the window is made, or amta, which needs no more than it has"
            )
        return self.heads.elements(self.monoid.identity)

    def _keep_heads(self) -> None:
        if self.heads is not None:
            self.heads.keep(len(self))

    def query(self) -> Any:
        """The answer over the window: None (null) if it holds no value, unless the monoid answers that too."""
        (answer,) = self._answers(*self._sweep((), 0, lo=[-len(self)], hi=[0]))
        return answer

    def extend(self, values: Any, size: int | None = None) -> list[Any]:
        """Insert each value and answer after each, keeping the `size` newest; one call of compiled code in that mode.

        >>> from slidewise.swag import ALGORITHMS
        >>> import slidewise as sw
        >>> adder = sw.Monoid(identity=0.0, combine=lambda a, b: a + b, name="add")
        >>> window = ALGORITHMS["two_stacks_lite"](adder, types=("float64",))
        >>> window.extend([1.0, 2.0, 3.0], size=2)
        [1.0, 3.0, 5.0]
        """
        return self._answers(*self.extend_arrays(_column(values, self._types[0]), size))

    def extend_arrays(self, values: Any, size: int | None = None) -> tuple[tuple[Any, ...], Any]:
        """As `extend`, for an array of the mode's dtype; the answers as arrays with their validity."""
        size = None if size is None else whole("size", size, least=1)
        n, held = len(values), len(self)
        live = held + n if size is None else max(held, min(size, held + n))
        self._make_room(live - held)
        bank, outs, ok = self._bank, self._ops.outputs(n), np.ones(n, dtype=np.bool_)
        extend = extend_of(type(self), self._ops)
        extend(bank.cols, bank.regs[0], (values,), n, NEVER if size is None else size, outs, ok)
        self._give_back()
        if self.heads is not None:
            lift_at = self._ops.called("lift_at")
            for i in range(max(0, n - len(self)), n):
                self.heads.append(lift_at((values,), i))
            self._keep_heads()
        return outs, ok

    def _columns(self, value: tuple[Any, ...]) -> tuple[Any, ...]:
        """One row, as the kernels take it."""
        return tuple(_column([x], dtype) for x, dtype in zip(value, self._types, strict=True))

    def _sweep(
        self,
        inputs: tuple[Any, ...],
        rows: int,
        *,
        lo: Any = (),
        hi: Any = (),
        valid: Any = None,
        fresh: bool = False,
        min_rows: int = 0,
    ) -> tuple[tuple[Any, ...], Any]:
        """Every method comes down to this: the same loop that sweeps whole columns, over these rows and answers."""
        ops, bank, answers = self._ops, self._bank, len(lo)
        if not inputs:
            inputs = tuple(_column([], dtype) for dtype in self._types)
        outs, ok = ops.outputs(answers), np.ones(answers, dtype=np.bool_)
        has_nulls = valid is not None
        runs: Any = [[0, int(fresh), 0, rows, 0, answers, -len(self)]]
        if ops.compiled:
            lo, hi = np.asarray(lo, dtype=np.int64), np.asarray(hi, dtype=np.int64)
            runs = np.array(runs, dtype=np.int64)
            valid = validity(valid)
        sweep_of(type(self), ops)(bank.cols, bank.regs, inputs, valid, has_nulls, lo, hi, runs, min_rows, outs, ok)
        if rows or not self.bulk:
            self._give_back()
        return outs, ok

    def _answers(self, outs: tuple[Any, ...], ok: Any) -> list[Any]:
        if not self._ops.compiled:
            found = outs[0]
        elif outs[0].ndim == 2:
            sizes = outs[1].tolist() if len(outs) == 2 else [None] * len(ok)
            found = [
                row[:size].tolist() if size is not None else row.tobytes()
                for row, size in zip(outs[0], sizes, strict=True)
            ]
        elif self._ops.packed:
            found = list(zip(*(out.tolist() for out in outs), strict=True))
        else:
            found = outs[0].tolist()
        return [answer if good else None for answer, good in zip(found, ok.tolist(), strict=True)]

    def _make_room(self, more: int) -> None:
        need = len(self) + more
        if self.capacity is not None:
            if need > self.capacity:
                raise OverflowError(f"window is full: capacity={self.capacity}, evict before inserting")
        else:
            self._bank.reserve(0, need)

    def _give_back(self) -> None:
        if self.capacity is None:
            self._bank.shrink(0)

    def state(self) -> tuple[list[int], list[Any], list[int]]:
        """All a snapshot needs: registers from HEAD on; partials, live ones oldest first, then extra ones; links."""
        registers = [int(value) for value in self._bank.regs[0]][HEAD:]
        if self.scratch:
            registers[MOVED - HEAD] = 1  # what can be derived is not stored
        places = self._bank.places(0)
        links = [int(self._bank.cols[-1][place]) for place in self._linked(places)]
        return registers, [self._at(place) for place in places], links

    def set_state(self, registers: list[int], partials: list[Any], links: list[int]) -> None:
        """Continue from what `state` returned; where there are `heads`, they have a state of their own."""
        bank = self._bank
        self.clear()
        self._make_room(registers[1] - registers[0])
        mine = bank.regs[0]
        for number, value in enumerate(registers, start=HEAD):
            mine[number] = value
        for place, partial in zip(bank.places(0), partials, strict=True):
            self._put(place, partial)
        for place, link in zip(self._linked(bank.places(0)), links, strict=True):
            bank.cols[-1][place] = link

    def _slack(self) -> float:
        """How far apart sums of the same elements may be that were added in another order; 0 without floats."""
        found = [abs(part) for partial in self.state()[1] for part in floats_in(partial) if math.isfinite(part)]
        return 1e-9 * max(found, default=0.0)

    def _linked(self, places: list[int]) -> list[int]:
        """Those of a slot's places that have a link."""
        first, last = (int(self._bank.regs[0][number]) for number in self.live)
        return places[: self.links * (last - first)]

    def _at(self, place: int) -> Any:
        """The partial at a place of the arena, as plain Python values."""
        if not self._ops.compiled:
            return self._bank.cols[0][place]
        values = tuple(column[place].item() for column in self._bank.cols[: len(self._ops.fields)])
        return values if isinstance(self._ops.identity, tuple) else values[0]

    def _put(self, place: int, partial: Any) -> None:
        parts = partial if self._ops.compiled and isinstance(self._ops.identity, tuple) else (partial,)
        for column, part in zip(self._bank.cols, parts, strict=False):
            column[place] = part


def sweep_of(structure: type[Structure], ops: Ops) -> Callable[..., Any]:
    """The sweep of one algorithm and one monoid; built once."""
    sweep: Callable[..., Any] = ops.built(structure, lambda: build_sweep(ops, structure.steps(ops)))
    return sweep


def extend_of(structure: type[Structure], ops: Ops) -> Callable[..., Any]:
    """The loop behind `extend` for one algorithm and one monoid; built once."""
    extend: Callable[..., Any] = ops.built((structure, "extend"), lambda: build_extend(ops, structure.steps(ops)))
    return extend


def floats_in(partial: Any) -> list[float]:
    """Every float in a partial."""
    if isinstance(partial, (tuple, list)):
        return [number for part in partial for number in floats_in(part)]
    return [partial] if isinstance(partial, float) else []


def _check_capacity(capacity: int | None) -> None:
    if capacity is not None and (not isinstance(capacity, int) or isinstance(capacity, bool) or capacity < 1):
        raise ArgumentError(f"capacity={capacity!r}: expected an integer of at least 1, or None")


def check_policy(policy: object) -> None:
    """Raise `ArgumentError` unless this can be called."""
    if not callable(policy):
        raise bad("policy", policy, "a function of (total, old)")


def _column(values: Any, dtype: str | None) -> Any:
    if dtype is None:
        return list(values)
    array = np.ascontiguousarray(values, dtype=dtype).view()
    array.flags.writeable = False
    return array
