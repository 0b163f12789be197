"""How a monoid becomes code: the handful of small functions that every algorithm and loop is built from.

    lift_at(inputs, i)            the partial of row i, made of as many columns as the monoid takes
    combine(older, newer)         as the user wrote it, each field cast to its column's type
    inverse(whole, older)         likewise; None if the monoid has none
    newer_wins(older, newer)      True if combine, which selects, returns the newer one, and the older is something else
    load(cols, i)                 the partial at place i: one array per field
    store(cols, i, partial)
    answer(cols, outs, ok, j, p)  lower p and write it as answer j; a None clears ok[j]
    vacant(cols, outs, ok, j)     what to do for a window without values, where it is not just null

For a flat numeric partial these compile (`compiled_ops`): field types are found by asking Numba, so the answer never
depends on sample values. For anything else they run on lists of Python objects (`object_ops`), with the same
signatures.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from slidewise.kernels.jit import Jit, inlined, kernel, plain, with_helpers
from slidewise.monoids.monoid import Monoid

if TYPE_CHECKING:
    from slidewise.kernels.tallies import TallyOps

RANKS = {"bool": 0, "int64": 1, "float64": 2}
"""Field types, in the order in which one may be widened to the next."""

AT = {"at": np.uint64}
"""Places are never negative: an unsigned index spares the test for one at every access."""

CASTS = {"bool": "bool", "int64": "int", "float64": "float"}


class CannotCompile(Exception):
    """Why a monoid runs in object mode; the text is shown by `explain`."""


def cannot(*values: Any) -> Any:
    """Stands for a function that these ops do not have; an algorithm that needs it refuses them first."""
    raise TypeError("not a function of these ops")


@dataclass(frozen=True, eq=False)
class Ops:
    """A monoid's functions at one of the two speeds; `fields` and `answers` are dtype names, empty in object mode."""

    monoid: Monoid
    jit: Jit
    kernel: Jit
    identity: Any
    lift_at: Callable[..., Any]
    combine: Callable[..., Any]
    load: Callable[..., Any]
    store: Callable[..., Any]
    answer: Callable[..., Any]
    vacant: Callable[..., Any]
    newer_wins: Callable[..., Any] = cannot
    inverse: Callable[..., Any] | None = None
    fields: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    packed: bool = False
    why: str = ""
    tally: TallyOps | None = None
    _built: dict[object, Any] = field(default_factory=dict)

    @property
    def compiled(self) -> bool:
        """True if these are machine code."""
        return bool(self.fields)

    def built(self, loop: object, build: Callable[[], Any]) -> Any:
        """A loop over these functions, built at first use and kept as long as they are."""
        if loop not in self._built:
            self._built[loop] = build()
        return self._built[loop]

    def called(self, name: str) -> Any:
        """One of these functions for Python to call; in machine code they are for kernels, which inline them."""
        function = getattr(self, name)
        return self.built(("called", name), lambda: kernel(function.py_func)) if self.compiled else function

    def columns(self, length: int) -> tuple[Any, ...]:
        """Room for `length` partials: an array per field, or one list of objects."""
        if not self.compiled:
            return ([None] * length,)
        return tuple(np.zeros(length, dtype=name) for name in self.fields)

    def outputs(self, length: int) -> tuple[Any, ...]:
        """Room for `length` answers."""
        if not self.compiled:
            return ([None] * length,)
        if self.tally is not None and self.answers[0] == "list":
            tally = self.tally.tally
            return np.zeros((length, tally.most), dtype=tally.dtype), np.zeros(length, dtype=np.int64)
        if self.tally is not None and self.answers[0] == "bytes":
            return (np.zeros((length, self.tally.tally.size), dtype=np.uint8),)
        return tuple(np.zeros(length, dtype=name) for name in self.answers)


T = TypeVar("T")


def once(make: Callable[[Ops, Jit], T]) -> Callable[[Ops, Jit], T]:
    """``make(ops, jit)``, called once per ops and speed: what several kernels inline is then compiled once."""

    @functools.wraps(make)
    def made(ops: Ops, jit: Jit) -> T:
        found: T = ops.built((make, jit), lambda: make(ops, jit))
        return found

    return made


def object_ops(monoid: Monoid, arity: int, why: str = "") -> Ops:
    """Object mode: any Python partial, at Python's speed."""
    lower = monoid.lower

    def answer(cols: Any, outs: Any, ok: Any, j: int, p: Any) -> None:
        value = p if lower is None else lower(p)
        if value is None:
            ok[j] = False
        else:
            outs[0][j] = value

    def newer_wins(older: Any, newer: Any) -> bool:
        winner = monoid.combine(older, newer)
        return winner is not older and (winner is newer or bool(winner != older))

    return Ops(
        monoid=monoid,
        jit=plain,
        kernel=plain,
        identity=monoid.identity,
        lift_at=_lift_at(monoid.lift, arity, plain),
        combine=monoid.combine,
        load=write("load(cols, i)", "return cols[0][i]"),
        store=write("store(cols, i, p)", "cols[0][i] = p"),
        answer=answer,
        vacant=nothing,
        newer_wins=newer_wins,
        inverse=monoid.inverse,
        why=why,
    )


def compiled_ops(monoid: Monoid, inputs: tuple[str, ...]) -> Ops:
    """Machine code for inputs of these dtypes ("int64", "float64"); raises `CannotCompile` with the reason."""
    made = _made(monoid, inputs)
    if isinstance(made, str):
        raise CannotCompile(made)
    return made


@functools.lru_cache(maxsize=256)
def _made(monoid: Monoid, inputs: tuple[str, ...]) -> Ops | str:
    """The functions, or why there are none: both are found once."""
    try:
        return _make(monoid, inputs)
    except CannotCompile as error:
        return str(error)


def _make(monoid: Monoid, inputs: tuple[str, ...]) -> Ops:
    identity, packed = _flat(monoid.identity)
    fields = tuple(_name_of_value(part) for part in identity)
    lift, combine, lower = _function(monoid, "lift"), _function(monoid, "combine"), _function(monoid, "lower")
    inverse = _function(monoid, "inverse")
    for _ in range(4):
        given, lowered = _types(inputs, fields, packed, lift, combine, lower, inverse)
        wide = tuple(wider(*names) for names in zip(fields, *given, strict=True))
        if wide == fields:
            break
        fields = wide
    else:  # pragma: no cover - three widenings reach float64 in every field
        raise CannotCompile("the partial's types do not settle")
    answers, answers_packed, nullable = lowered
    cast = inlined(cast_of(fields, packed))
    lift_raw = _lift_at(lift, len(inputs), inlined)

    def lift_at(cols: Any, i: int) -> Any:
        return cast(lift_raw(cols, i))

    def combine_cast(a: Any, b: Any) -> Any:
        return cast(combine(a, b))

    def inverse_cast(whole: Any, older: Any) -> Any:
        return cast(inverse(whole, older))

    load = inlined(load_of(fields, packed))
    store = inlined(store_of(len(fields), packed))
    put = inlined(store_of(len(answers), answers_packed))
    typed = [CASTS_PY[name](part) for name, part in zip(fields, identity, strict=True)]
    return Ops(
        monoid=monoid,
        jit=inlined,
        kernel=kernel,
        identity=tuple(typed) if packed else typed[0],
        lift_at=inlined(lift_at),
        combine=inlined(combine_cast),
        load=load,
        store=store,
        answer=inlined(make_answer(lower, put, nullable)),
        vacant=inlined(nothing),
        newer_wins=_newer_wins(inlined(combine_cast), len(fields), packed),
        inverse=inlined(inverse_cast) if inverse is not None else None,
        fields=fields,
        answers=answers,
        packed=answers_packed,
    )


def _function(monoid: Monoid, name: str) -> Any:
    """One of the monoid's functions, compiled; a function that Numba compiled already is taken by its source."""
    function = getattr(monoid, name)
    function = getattr(function, "py_func", function)
    if function is None:
        return None
    if not isinstance(function, types.FunctionType):
        raise CannotCompile(f"{name} is a {type(function).__name__}, not a plain Python function")
    return inlined(with_helpers(function))


CASTS_PY: dict[str, Callable[[Any], Any]] = {"bool": bool, "int64": int, "float64": float}


def nothing(cols: Any, outs: Any, ok: Any, j: int) -> None:
    """Answer j is null."""
    ok[j] = False


def make_answer(lower: Any, put: Any, nullable: bool) -> Callable[..., None]:
    """`answer(cols, outs, ok, j, p)` for machine code: lower p and put it at place j."""
    if lower is None:

        def answer(cols: Any, outs: Any, ok: Any, j: int, p: Any) -> None:
            put(outs, j, p)

    elif nullable:

        def answer(cols: Any, outs: Any, ok: Any, j: int, p: Any) -> None:
            value = lower(p)
            if value is None:
                ok[j] = False
            else:
                put(outs, j, value)

    else:

        def answer(cols: Any, outs: Any, ok: Any, j: int, p: Any) -> None:
            put(outs, j, lower(p))

    return answer


# ---- asking Numba for types -----------------------------------------------------------------------------------------
def _types(
    inputs: tuple[str, ...], fields: tuple[str, ...], packed: bool, lift: Any, combine: Any, lower: Any, inverse: Any
) -> tuple[list[tuple[str, ...]], tuple[tuple[str, ...], bool, bool]]:
    """The field types that lift, combine and inverse give, and the answer's (types, is a tuple, may be None)."""
    from numba import types as nb

    xs = [f"x{k}" for k in range(len(inputs))]
    ps = [f"p{k}" for k in range(len(fields))]
    partial = f"({', '.join(ps)},)" if packed else ps[0]
    lifted = f"lift({', '.join(xs)})" if lift is not None else xs[0]
    lowered = "lower(p)" if lower is not None else "p"
    undone = "inverse(p, p)" if inverse is not None else "p"
    probe = kernel(
        write(
            f"probe({', '.join(xs + ps)})",
            f"p = {partial}\n    return {lifted}, combine(p, p), {lowered}, {undone}",
            {"lift": lift, "combine": combine, "lower": lower, "inverse": inverse},
        ),
        called=False,
    )
    signature = tuple(getattr(nb, "boolean" if name == "bool" else name) for name in (*inputs, *fields))
    try:
        probe.compile(signature)
    except Exception as error:  # Numba raises many kinds; whatever it is, object mode serves
        raise CannotCompile(_first_lines(error)) from error
    returned = probe.overloads[signature].signature.return_type
    if not isinstance(returned, nb.BaseTuple):  # pragma: no cover - the probe returns a tuple of three
        raise CannotCompile("not a flat partial")
    from_lift, from_combine, from_lower, from_inverse = returned
    nullable = isinstance(from_lower, nb.Optional)
    answer = from_lower.type if nullable else from_lower
    found = [field_names(from_lift), field_names(from_combine), field_names(from_inverse)]
    for names, function in zip(found, ("lift", "combine", "inverse"), strict=True):
        if len(names) != len(fields):
            raise CannotCompile(f"{function} gives {len(names)} fields, the identity has {len(fields)}")
    return found, (field_names(answer), isinstance(answer, nb.BaseTuple), nullable)


def field_names(numba_type: Any) -> tuple[str, ...]:
    """The dtypes of a number or a flat tuple of numbers, as Numba sees it; `CannotCompile` if it is none."""
    from numba import types as nb

    parts = tuple(numba_type) if isinstance(numba_type, nb.BaseTuple) else (numba_type,)
    return tuple(_name_of_type(nb.unliteral(part)) for part in parts)


def _name_of_type(numba_type: Any) -> str:
    from numba import types as nb

    if isinstance(numba_type, nb.Boolean):
        return "bool"
    if isinstance(numba_type, nb.Integer) and (numba_type.signed or numba_type.bitwidth < 64):
        return "int64"
    if isinstance(numba_type, nb.Float):
        return "float64"
    raise CannotCompile(f"{numba_type} is not a boolean, int64 or float64")


def _flat(identity: Any) -> tuple[tuple[Any, ...], bool]:
    packed = isinstance(identity, tuple)
    parts = tuple(
        part.item() if isinstance(part, np.generic) else part for part in (identity if packed else (identity,))
    )
    if not parts or not all(isinstance(part, (bool, int, float)) for part in parts):
        raise CannotCompile(f"the identity {identity!r} is not a number or a flat tuple of numbers")
    if any(isinstance(part, int) and not -(2**63) <= part < 2**63 for part in parts):
        raise CannotCompile(f"the identity {identity!r} does not fit in int64")
    return parts, packed


def _name_of_value(value: bool | int | float) -> str:
    return "bool" if isinstance(value, bool) else "int64" if isinstance(value, int) else "float64"


def wider(*names: str) -> str:
    """The narrowest dtype that holds the values of all these."""
    return max(names, key=RANKS.__getitem__)


def _first_lines(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    picked = [line for line in lines if not line.startswith(("Failed in", "During:", "File", "<source"))][:2]
    return f"Numba cannot compile it ({type(error).__name__}: {'; '.join(picked)})"[:400]


# ---- functions of the right arity -----------------------------------------------------------------------------------
def _lift_at(lift: Any, arity: int, jit: Jit) -> Any:
    index = "i" if jit is plain else "at(i)"
    arguments = ", ".join(f"inputs[{k}][{index}]" for k in range(arity))
    body = f"return lift({arguments})" if lift is not None else f"return inputs[0][{index}]"
    return jit(write("lift_at(inputs, i)", body, {"lift": lift, **({} if jit is plain else AT)}))


def _newer_wins(combine: Any, arity: int, packed: bool) -> Any:
    """Selection as a comparison of fields: not those of the older one, NaN being equal to NaN."""
    fields = [f"w[{k}] != o[{k}] and (w[{k}] == w[{k}] or o[{k}] == o[{k}])" for k in range(arity)]
    differs = " or ".join(f"({field})" for field in fields) if packed else fields[0].replace("[0]", "")
    return inlined(write("newer_wins(o, n)", f"w = combine(o, n)\n    return {differs}", {"combine": combine}))


def _tuple(pattern: str, fields: tuple[str, ...], packed: bool, single: str) -> str:
    if not packed:
        return single.format(cast=CASTS[fields[0]])
    return "(" + ", ".join(pattern.format(k=k, cast=CASTS[name]) for k, name in enumerate(fields)) + ",)"


def cast_of(fields: tuple[str, ...], packed: bool) -> Callable[..., Any]:
    """`cast(p)`: each field as its column's type."""
    return write("cast(p)", f"return {_tuple('{cast}(p[{k}])', fields, packed, '{cast}(p)')}")


def load_of(fields: tuple[str, ...], packed: bool) -> Callable[..., Any]:
    """`load(cols, i)`: the partial at place i."""
    return write("load(cols, i)", f"return {_tuple('cols[{k}][at(i)]', fields, packed, 'cols[0][at(i)]')}", AT)


def store_of(arity: int, packed: bool) -> Callable[..., Any]:
    """`store(cols, i, p)`: p to place i."""
    lines = [f"cols[{k}][at(i)] = p[{k}]" for k in range(arity)] if packed else ["cols[0][at(i)] = p"]
    return write("store(cols, i, p)", "\n    ".join(lines), AT)


def write(head: str, body: str, names: dict[str, Any] | None = None) -> Callable[..., Any]:
    """A function from a line of source: the one way to get exactly n indices, which is what compiles well."""
    scope: dict[str, Any] = {"__name__": __name__, **(names or {})}
    exec(compile(f"def {head}:\n    {body}\n", "<slidewise kernel>", "exec"), scope)
    function: Callable[..., Any] = scope[head.partition("(")[0]]
    return function
