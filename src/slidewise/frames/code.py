"""Each kind of frame as the functions of its fold, for the type of its column.

    threshold   s nothing              opens while x is on the right side of the level
    boundary    s the cell             closes on another cell
    delta       s the first value, or the least and the greatest
    aggregate   s the aggregate's partial
    session     s the time of the last event
    custom      s whatever the user's functions make of it

Integers are compared as integers, to the ends of int64: a level between two of them is the next one up. Decimals are
compared as decimals: a level of 0.1 is one tenth to them. Functions are built once for each shape, so that equal kinds
share their machine code; levels and limits are handed over as numbers.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np

from slidewise.frames.fold import FoldCode
from slidewise.frames.kind import Boundary, Custom, Delta, Frame, Silence, Threshold, Total
from slidewise.kernels.jit import Jit, inlined, kernel, plain, with_helpers
from slidewise.kernels.ops import CannotCompile, Ops, cast_of, field_names, object_ops, wider, write

LEAST, GREATEST = -(2**63), 2**63 - 1

Functions = tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]


def threshold_code(kind: Threshold, dtype: str | None) -> FoldCode:
    """`dtype` is how the column enters: "int64", "float64", or None for Python objects."""
    level: Any = kind.level
    never = False
    if dtype == "int64":
        level, never = math.ceil(level), math.ceil(level) > GREATEST
        level = max(LEAST, min(level, GREATEST))
    else:
        level = _float_up(level) if dtype == "float64" else _either(level)
    update, closes, opens, jit = _threshold_functions(kind.below, dtype is not None)
    return _made(kind.whole, False, update, closes, opens, (level, never), jit, ("bool",))


@functools.cache
def _threshold_functions(below: bool, compiled: bool) -> tuple[Any, ...]:
    jit, of = _jit(compiled), _of(compiled)

    def update(s: Any, params: Any, inputs: Any, i: int, t: Any) -> Any:
        return s

    def at_least(s: Any, params: Any, inputs: Any, i: int, t: Any) -> Any:
        x = inputs[0][i]
        return x == x and x >= of(x, params[0]) and not params[1]

    def under(s: Any, params: Any, inputs: Any, i: int, t: Any) -> Any:
        x = inputs[0][i]
        return x == x and (params[1] or x < of(x, params[0]))

    opens = jit(under if below else at_least)

    def closes(s: Any, c: Any, params: Any, inputs: Any, i: int, t: Any) -> Any:
        return not opens(s, params, inputs, i, t)

    return jit(update), jit(closes), opens, jit


def boundary_code(kind: Boundary, dtype: str | None) -> FoldCode:
    """`dtype` as for `threshold_code`."""
    bounds: Any = list(kind.bounds)
    if dtype == "int64":
        whole = sorted({max(LEAST, math.ceil(one)) for one in bounds if math.ceil(one) <= GREATEST})
        bounds = np.array(whole, dtype=np.int64)
    elif dtype == "float64":
        bounds = np.array(sorted({_float_up(one) for one in bounds}))
    else:
        pairs = [_either(one) for one in bounds]
        bounds = ([plain for plain, _ in pairs], [exact for _, exact in pairs])
    update, closes, opens, jit = _boundary_functions(dtype is not None)
    return _made(True, -2, update, closes, opens, (bounds,), jit, ("int64",))


@functools.cache
def _boundary_functions(compiled: bool) -> tuple[Any, ...]:
    jit, of = _jit(compiled), _of(compiled)

    def update(s: Any, params: Any, inputs: Any, i: int, t: Any) -> Any:
        """The number of bounds at or below the value; NaN has a cell of its own."""
        x = inputs[0][i]
        if x != x:
            return -1
        bounds = of(x, params[0])
        lo, hi = 0, len(bounds)
        while lo < hi:
            middle = (lo + hi) // 2
            if bounds[middle] <= x:
                lo = middle + 1
            else:
                hi = middle
        return lo

    def closes(s: Any, c: Any, params: Any, inputs: Any, i: int, t: Any) -> Any:
        return s != c

    return jit(update), jit(closes), jit(_always), jit


def delta_code(kind: Delta, dtype: str | None) -> FoldCode:
    """`dtype` as for `threshold_code`."""
    size: Any = kind.size
    initial: Any = None
    if dtype == "int64":
        size, initial = np.uint64(min(math.ceil(size) - 1, 2**64 - 1)), 0
    elif dtype == "float64":
        size, initial = float(size), 0.0
    else:
        size = _either(size)
    ranged = kind.anchor == "range"
    fields = (dtype or "",) * (3 if ranged else 2)
    update, closes, opens, jit = _delta_functions(ranged, dtype)
    start = (False, initial, initial) if ranged else (False, initial)
    return _made(True, start, update, closes, opens, (size,), jit, ("bool", *fields[1:]))


@functools.cache
def _delta_functions(ranged: bool, dtype: str | None) -> tuple[Any, ...]:
    jit, of = _jit(dtype is not None), _of(dtype is not None)
    apart = jit(_apart_int if dtype == "int64" else _apart)

    def keep_first(s: Any, params: Any, inputs: Any, i: int, t: Any) -> Any:
        return s if s[0] else (True, inputs[0][i])

    def from_first(s: Any, c: Any, params: Any, inputs: Any, i: int, t: Any) -> Any:
        x = inputs[0][i]
        if x != x or s[1] != s[1]:
            return True
        return apart(s[1], x, of(x, params[0])) if s[1] <= x else apart(x, s[1], of(x, params[0]))

    def keep_range(s: Any, params: Any, inputs: Any, i: int, t: Any) -> Any:
        x = inputs[0][i]
        if not s[0] or x != x or s[1] != s[1]:
            return (True, x, x)
        return (True, x if x < s[1] else s[1], x if x > s[2] else s[2])

    def by_range(s: Any, c: Any, params: Any, inputs: Any, i: int, t: Any) -> Any:
        x = inputs[0][i]
        return x != x or s[1] != s[1] or apart(c[1], c[2], of(x, params[0]))

    update, closes = (keep_range, by_range) if ranged else (keep_first, from_first)
    return jit(update), jit(closes), jit(_always), jit


def _apart(less: Any, more: Any, size: Any) -> Any:
    return not more - less < size


def _apart_int(less: Any, more: Any, size: Any) -> Any:
    return np.uint64(more) - np.uint64(less) > size  # `size` is the greatest distance that is not too far


def total_code(kind: Total, ops: Ops, arity: int) -> FoldCode:
    """The aggregate's own functions; `arity` is how many columns it takes."""
    if ops.tally is not None:
        ops = object_ops(ops.monoid, arity, "its partials are changed in place")
    limit: Any = kind.limit
    whole = ops.compiled and ops.answers[0] != "float64"
    never = False
    if whole:
        limit = math.floor(limit) if kind.strict else math.ceil(limit) - 1
        limit, never = max(LEAST, min(limit, GREATEST)), limit < LEAST
    else:
        limit = float(limit) if ops.compiled else _either(limit)
    update, closes, opens = ops.built(
        ("frames", whole or kind.strict), lambda: _total_functions(ops, reaches=not (whole or kind.strict))
    )
    return FoldCode(
        initial=ops.identity,
        update=update,
        closes=closes,
        opens=opens,
        params=(limit, never),
        jit=ops.jit,
        kernel=ops.kernel,
        fields=ops.fields,
        include=kind.crossing == "include",
        why=ops.why,
    )


def _total_functions(ops: Ops, *, reaches: bool) -> Functions:
    jit, combine, lift_at = ops.jit, ops.combine, ops.lift_at
    lower = getattr(ops.monoid.lower, "py_func", ops.monoid.lower)
    if lower is None:
        lower = _itself
    elif ops.compiled:
        lower = with_helpers(lower)
    lowered, of = jit(lower), _of(ops.compiled)

    def update(s: Any, params: Any, inputs: Any, i: int, t: Any) -> Any:
        return combine(s, lift_at(inputs, i))

    def exceeds(s: Any, c: Any, params: Any, inputs: Any, i: int, t: Any) -> Any:
        value = lowered(c)
        return False if value is None else params[1] or value != value or not value <= of(value, params[0])

    def attains(s: Any, c: Any, params: Any, inputs: Any, i: int, t: Any) -> Any:
        value = lowered(c)
        return False if value is None else params[1] or value != value or not value < of(value, params[0])

    return jit(update), jit(attains if reaches else exceeds), jit(_always)


def silence_code(gap: Any, *, floats: bool, compiled: bool = True) -> FoldCode:
    """`gap` in units of the order, `floats` if that is a column of floats."""
    update, closes, opens, jit = _silence_functions(floats, compiled)
    start, field = (0.0, "float64") if floats else (0, "int64")
    return _made(True, start, update, closes, opens, (gap,), jit, (field,))


@functools.cache
def _silence_functions(floats: bool, compiled: bool) -> tuple[Any, ...]:
    jit = _jit(compiled)

    def update(s: Any, params: Any, inputs: Any, i: int, t: Any) -> Any:
        return t

    def apart(s: Any, c: Any, params: Any, inputs: Any, i: int, t: Any) -> Any:
        return t - s > params[0]

    def apart_int(s: Any, c: Any, params: Any, inputs: Any, i: int, t: Any) -> Any:
        return t > s + params[0]

    return jit(update), jit(apart if floats else apart_int), jit(_always), jit


def custom_code(kind: Custom, dtypes: tuple[str | None, ...]) -> FoldCode:
    """Machine code if columns and state are numbers and Numba can compile the three functions; else as they are."""
    try:
        if None in dtypes:
            raise CannotCompile("a column of it is not a machine number")
        hash(kind.state)
        numbers = tuple(dtype for dtype in dtypes if dtype is not None)
        return _custom_compiled(kind, numbers, repr(kind.state))  # 0 and 0.0 are equal, and not the same state
    except (CannotCompile, TypeError) as error:
        update, closes, opens = _custom_functions(kind, len(dtypes), plain, None)
        return _made(False, kind.state, update, closes, opens, (), plain, (), kind.carries, str(error), lazy=True)


def _custom_functions(kind: Custom, arity: int, jit: Jit, cast: Any) -> Functions:
    values = ", ".join(f"inputs[{k}][i]" for k in range(arity))
    names = {
        name: jit(with_helpers(getattr(kind, name)) if jit is inlined else getattr(kind, name))
        for name in ("update", "close", "open")
    }
    updated = f"update(s, {values})"
    names["cast"] = cast
    if cast is not None:
        updated = f"cast({updated})"
    return (
        jit(write("updated(s, params, inputs, i, t)", f"return {updated}", names)),
        jit(write("closes(s, c, params, inputs, i, t)", f"return bool(close(s, {values}))", names)),
        jit(write("opens(s, params, inputs, i, t)", f"return bool(open(s, {values}))", names)),
    )


@functools.lru_cache(maxsize=64)
def _custom_compiled(kind: Custom, dtypes: tuple[str, ...], spelled: str) -> FoldCode:
    from numba import types as nb

    packed = isinstance(kind.state, tuple)
    parts = kind.state if packed else (kind.state,)
    if not parts or not all(isinstance(part, (bool, int, float)) for part in parts):
        raise CannotCompile(f"the state {kind.state!r} is not a number or a flat tuple of numbers")
    for name in ("open", "update", "close"):
        if not hasattr(getattr(kind, name), "__code__"):
            raise CannotCompile(f"{name} is a {type(getattr(kind, name)).__name__}, not a plain Python function")
    fields = tuple("bool" if isinstance(p, bool) else "int64" if isinstance(p, int) else "float64" for p in parts)
    for _ in range(4):
        wide = tuple(wider(*names) for names in zip(fields, _updated(kind, dtypes, fields, packed, nb), strict=True))
        if wide == fields:
            break
        fields = wide
    typed = tuple(CASTS[name](part) for name, part in zip(fields, parts, strict=True))
    update, closes, opens = _custom_functions(kind, len(dtypes), inlined, inlined(cast_of(fields, packed)))
    initial = typed if packed else typed[0]
    return _made(False, initial, update, closes, opens, (), inlined, fields, kind.carries, lazy=True)


CASTS: dict[str, Callable[[Any], Any]] = {"bool": bool, "int64": int, "float64": float}


def _updated(kind: Custom, dtypes: tuple[str, ...], fields: tuple[str, ...], packed: bool, nb: Any) -> tuple[str, ...]:
    """The types of the state's fields after an update; all three functions are compiled to find them."""
    ps, xs = [f"p{k}" for k in range(len(fields))], [f"x{k}" for k in range(len(dtypes))]
    state, values = f"({', '.join(ps)},)" if packed else ps[0], ", ".join(xs)
    names = {name: inlined(with_helpers(getattr(kind, name))) for name in ("open", "update", "close")}
    body = f"s = {state}\n    return update(s, {values}), bool(close(s, {values})), bool(open(s, {values}))"
    probe = kernel(write(f"probe({', '.join([*ps, *xs])})", body, names), called=False)
    signature = tuple(getattr(nb, "boolean" if name == "bool" else name) for name in (*fields, *dtypes))
    try:
        probe.compile(signature)
    except Exception as error:  # Numba raises many kinds; whatever it is, object mode serves
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        raise CannotCompile(f"Numba cannot compile it ({type(error).__name__}: {' '.join(lines[:2])})"[:240]) from error
    found = field_names(probe.overloads[signature].signature.return_type[0])
    if len(found) != len(fields):
        raise CannotCompile(f"update gives {len(found)} numbers, the state has {len(fields)}")
    return found


def object_code(kind: Frame, total: Ops | None = None) -> FoldCode:
    """The functions of any kind as plain Python, for one event at a time; `total` are those of an aggregate's limit."""
    if isinstance(kind, Threshold):
        return threshold_code(kind, None)
    if isinstance(kind, Boundary):
        return boundary_code(kind, None)
    if isinstance(kind, Delta):
        return delta_code(kind, None)
    if isinstance(kind, Silence):
        return silence_code(kind.gap, floats=isinstance(kind.gap, float), compiled=False)
    if isinstance(kind, Total):
        assert total is not None, "a limit on an aggregate needs its functions"
        return total_code(kind, total, 1)
    assert isinstance(kind, Custom)
    update, closes, opens = _custom_functions(kind, max(1, len(kind.columns)), plain, None)
    return _made(False, kind.state, update, closes, opens, (), plain, (), kind.carries, lazy=True)


# ---- what they share ------------------------------------------------------------------------------------------------
def _made(
    whole: bool,
    initial: Any,
    update: Any,
    closes: Any,
    opens: Any,
    params: tuple[Any, ...],
    jit: Jit,
    fields: tuple[str, ...],
    carries: bool = False,
    why: str = "",
    *,
    lazy: bool = False,
) -> FoldCode:
    compiled = jit is not plain
    return FoldCode(
        initial=initial,
        update=update,
        closes=closes,
        opens=opens,
        params=params,
        jit=jit,
        kernel=kernel if compiled else plain,
        fields=fields if compiled else (),
        whole=whole,
        carries=carries,
        lazy=lazy,
        why=why,
    )


def _jit(compiled: bool) -> Jit:
    return inlined if compiled else plain


def _of(compiled: bool) -> Callable[..., Any]:
    """``of(x, level)``: the level as x is compared with it."""
    return inlined(_as_it_is) if compiled else _as_x_is


def _as_it_is(x: Any, level: Any) -> Any:
    return level


def _as_x_is(x: Any, level: Any) -> Any:
    return level[1] if isinstance(x, Decimal) else level[0]


def _either(level: Any) -> tuple[Any, Decimal]:
    """A level for numbers, and for decimals as it is written."""
    exact = level if isinstance(level, Decimal) else Decimal(repr(level))
    return (float(level) if isinstance(level, Decimal) else level), exact


def _float_up(level: Any) -> float:
    """The least float that is not below the level."""
    near = float(level)
    return near if isinstance(level, Decimal) or near >= level else math.nextafter(near, math.inf)


def _always(s: Any, params: Any, inputs: Any, i: int, t: Any) -> Any:
    return True


def _itself(p: Any) -> Any:
    return p
