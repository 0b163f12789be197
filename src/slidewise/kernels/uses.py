"""What a slide policy sees: several aggregates, each over columns of its own, as one partial, at either speed.

    partial   (partial of the first use, of the second, ..., 1 if any value was seen per use that needs one)
    holds     per policy: policy(total, old) with its uses lowered; UNKNOWN for a prefix in which one has no value yet

Compiled, the partial is flat, with one array per field; on objects it is a tuple of partials.
"""

from __future__ import annotations

import math
from collections import namedtuple
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from slidewise.kernels.jit import inlined, kernel, plain, with_helpers
from slidewise.kernels.ops import CannotCompile, Ops, load_of, nothing, object_ops, store_of, write
from slidewise.monoids.monoid import Monoid

STAYS, LEAVES, UNKNOWN = range(3)
"""What `holds` says of a prefix."""


@dataclass(frozen=True)
class Use:
    """One aggregate of a policy: its name there, its functions, how many columns it takes.

    `scale` is what an answer that is a time is multiplied with to be nanoseconds, or that of each part of an answer
    that has parts. `seen` does the same where answers are Python objects.
    """

    name: str
    ops: Ops
    arity: int = 1
    scale: int | tuple[int, ...] = 1
    seen: Callable[[Any], Any] | None = None


@dataclass(frozen=True, eq=False)
class UsesOps:
    """Functions of the joint partial: `ops` for a structure, and what only a policy needs.

    `lift_row(inputs, valids, i)` makes the partial of row i, of a tuple of input columns per use and a tuple of
    validities, each empty where all rows are valid. `holds` has a function of (total, old) per policy, which gives one
    of STAYS, LEAVES, UNKNOWN.
    """

    ops: Ops
    lift_row: Callable[..., Any]
    holds: tuple[Callable[..., Any], ...]


def uses_ops(groups: Sequence[tuple[Callable[..., Any], Sequence[Use]]], *, objects: bool = False) -> UsesOps:
    """The functions of one or more policies, each with its uses; compiled if all compile, unless `objects`."""
    uses = [use for _, several in groups for use in several]
    why = next((f"{use.name}: {use.ops.why}" for use in uses if not use.ops.compiled), "")
    why = "every prefix is asked about" if objects else why
    if not why:
        try:
            made = _compiled(groups, uses)
            _try(made)
        except CannotCompile as error:
            why = str(error)
        else:
            return made
    return _plain(groups, uses, why)


# ---- on objects -----------------------------------------------------------------------------------------------------
def _plain(groups: Sequence[tuple[Callable[..., Any], Sequence[Use]]], uses: list[Use], why: str) -> UsesOps:
    monoids = [use.ops.monoid for use in uses]
    sees_all = [monoid.answers_empty for monoid in monoids]
    lifts = [object_ops(use.ops.monoid, use.arity).lift_at for use in uses]
    identity = tuple((monoid.identity, free) for monoid, free in zip(monoids, sees_all, strict=True))

    def lift_row(inputs: Any, valids: Any, i: int) -> Any:
        return tuple(
            (lifts[k](inputs[k], i), True) if len(valids[k]) == 0 or valids[k][i] else identity[k]
            for k in range(len(lifts))
        )

    def combine(a: Any, b: Any) -> Any:
        return tuple(
            (monoid.combine(older, newer), seen or also)
            for monoid, (older, seen), (newer, also) in zip(monoids, a, b, strict=True)
        )

    def value(partial: Any, k: int) -> Any:
        lowered, seen = monoids[k].lowered(partial[k][0]), uses[k].seen
        return in_nanos(lowered if seen is None else seen(lowered), uses[k].scale)

    def holds_of(function: Callable[..., Any], view: Any, places: range) -> Callable[..., Any]:
        def holds(total: Any, old: Any) -> int:
            if not all(old[k][1] for k in places):
                return UNKNOWN
            answer = function(view(*[value(total, k) for k in places]), view(*[value(old, k) for k in places]))
            return LEAVES if answer else STAYS

        return holds

    asked, at = [], 0
    for function, several in groups:
        asked.append(holds_of(function, _view(several), range(at, at + len(several))))
        at += len(several)
    monoid = Monoid(identity=identity, combine=combine, name="uses")
    ops = Ops(
        monoid=monoid,
        jit=plain,
        kernel=plain,
        identity=identity,
        lift_at=_never,
        combine=combine,
        load=write("load(cols, i)", "return cols[0][i]"),
        store=write("store(cols, i, p)", "cols[0][i] = p"),
        answer=_never,
        vacant=nothing,
        why=why,
    )
    return UsesOps(ops, lift_row, tuple(asked))


def in_nanos(value: Any, scale: int | tuple[int, ...]) -> Any:
    """A value as a policy sees it: NaN for null, times in nanoseconds since the epoch."""
    if value is None:
        return math.nan
    if scale == 1:
        return value
    if isinstance(scale, tuple):
        return tuple(part * one for part, one in zip(value, scale, strict=True))
    return [part * scale for part in value] if isinstance(value, list) else value * scale


def _never(*values: Any) -> Any:
    raise TypeError("a policy's partial is lifted and lowered by itself")


def _view(uses: Sequence[Use]) -> Any:
    """The class of `total` and `old`: a tuple with an attribute per use."""
    return namedtuple("Uses", [use.name for use in uses])


# ---- in machine code ------------------------------------------------------------------------------------------------
def _compiled(groups: Sequence[tuple[Callable[..., Any], Sequence[Use]]], uses: list[Use]) -> UsesOps:
    fields: list[str] = []
    spans: list[str] = []
    values: list[Any] = []
    for use in uses:
        at, width = len(fields), len(use.ops.fields)
        packed = isinstance(use.ops.identity, tuple)
        spans.append("(" + ", ".join(f"{{p}}[{at + k}]" for k in range(width)) + ",)" if packed else f"{{p}}[{at}]")
        fields += use.ops.fields
        values += use.ops.identity if packed else (use.ops.identity,)
    seen = {k: len(fields) + n for n, k in enumerate(k for k, use in enumerate(uses) if _needs_value(use))}
    fields += ["bool"] * len(seen)
    values += [False] * len(seen)
    names: dict[str, Any] = {}
    for k, use in enumerate(uses):
        names |= {f"lift{k}": use.ops.lift_at, f"combine{k}": use.ops.combine, f"identity{k}": use.ops.identity}
        names[f"lower{k}"] = _lower(use)
    flat = ", ".join([*(_each(k, use) for k, use in enumerate(uses)), *(f"s{k}" for k in seen)])
    lifted = []
    for k in range(len(uses)):
        lifted += [
            f"if len(valids[{k}]) == 0 or valids[{k}][i]:",
            f"    p{k} = lift{k}(inputs[{k}], i)",
            f"    s{k} = True",
            "else:",
            f"    p{k} = identity{k}",
            f"    s{k} = False",
        ]
    combined = [f"p{k} = combine{k}({span.format(p='a')}, {span.format(p='b')})" for k, span in enumerate(spans)]
    combined += [f"s{k} = a[{at}] or b[{at}]" for k, at in seen.items()]
    holds, at = [], 0
    for g, (function, several) in enumerate(groups):
        if not hasattr(function, "__code__"):
            raise CannotCompile(f"the policy is a {type(function).__name__}, not a plain Python function")
        mine = range(at, at + len(several))
        at += len(several)
        names |= {f"policy{g}": inlined(with_helpers(function)), f"View{g}": _view(several)}
        sides = [
            f"View{g}(" + ", ".join(f"lower{k}({spans[k].format(p=p)})" for k in mine) + ")" for p in ("total", "old")
        ]
        asked = [f"if not old[{seen[k]}]:\n        return {UNKNOWN}" for k in mine if k in seen]
        asked.append(f"if policy{g}({', '.join(sides)}):\n        return {LEAVES}")
        holds.append(inlined(_lines("holds(total, old)", [*asked, f"return {STAYS}"], names)))
    identity = tuple(values)
    combine = inlined(_lines("combine(a, b)", [*combined, f"return ({flat},)"], names))
    ops = Ops(
        monoid=Monoid(identity=identity, combine=_never, name="uses"),
        jit=inlined,
        kernel=kernel,
        identity=identity,
        lift_at=_never,
        combine=combine,
        load=inlined(load_of(tuple(fields), packed=True)),
        store=inlined(store_of(len(fields), packed=True)),
        answer=_never,
        vacant=inlined(nothing),
        fields=tuple(fields),
        answers=("bool",),
    )
    lift_row = inlined(_lines("lift_row(inputs, valids, i)", [*lifted, f"return ({flat},)"], names))
    return UsesOps(ops, lift_row, tuple(holds))


def _needs_value(use: Use) -> bool:
    return not use.ops.monoid.answers_empty


def _lower(use: Use) -> Any:
    """The lowered answer as a policy sees it: null as NaN, times in nanoseconds."""
    lower, scale = use.ops.monoid.lower, use.scale
    lower = getattr(lower, "py_func", lower)
    _known_to_numba()
    answer = "known(p)" if lower is None else "known(lower(p))"
    if isinstance(scale, tuple):
        parts = ", ".join(f"value[{k}]" if one == 1 else f"value[{k}] * {one}" for k, one in enumerate(scale))
        lines = [f"value = {answer}", f"return ({parts},)"]
    else:
        lines = [f"return {answer}" if scale == 1 else f"return {answer} * {scale}"]
    made = None if lower is None else inlined(with_helpers(lower))
    return inlined(_lines("lowered(p)", lines, {"lower": made, "known": known}))


def known(value: Any) -> Any:
    """NaN for null. Compiled, an integer that cannot be null stays one: times in nanoseconds are no floats."""
    return math.nan if value is None else value


@cache
def _known_to_numba() -> None:
    from numba import types as nb
    from numba.extending import overload

    def or_nan(value: Any) -> Any:
        return math.nan if value is None else value

    def as_it_is(value: Any) -> Any:
        return value

    def choose(value: Any) -> Any:
        return or_nan if isinstance(value, (nb.Optional, nb.NoneType)) else as_it_is

    overload(known)(choose)


def _each(k: int, use: Use) -> str:
    if not isinstance(use.ops.identity, tuple):
        return f"p{k}"
    return ", ".join(f"p{k}[{field}]" for field in range(len(use.ops.fields)))


def _lines(head: str, lines: list[str], names: dict[str, Any]) -> Any:
    return write(head, "\n    ".join(lines), names)


def _try(made: UsesOps) -> None:
    """Compile the policy for a partial of these fields, or say why it cannot be."""
    from numba import types as nb

    types = [getattr(nb, "boolean" if name == "bool" else name) for name in made.ops.fields]
    partial = nb.Tuple(tuple(types))

    def probe_of(holds: Any) -> Any:
        def probe(total: Any, old: Any) -> Any:
            return holds(total, old)

        return kernel(probe)

    try:
        for holds in made.holds:
            probe_of(holds).compile((partial, partial))
    except Exception as error:  # Numba raises many kinds; whatever it is, object mode serves
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        lines = [line for line in lines if not line.startswith("Failed in nopython mode")] or lines
        told = f"{type(error).__name__}: {' '.join(lines[:2])}"[:240]
        raise CannotCompile(f"Numba cannot compile the policy ({told})") from error
