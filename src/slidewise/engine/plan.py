"""The plan: every aggregate of every window, its columns, types and code, checked before any work starts.

    (aggregates x windows) ──► Output(name, window, monoid, ops, choice, inputs, Arrow type) ...

The same plan serves every container, Spark batch and streams; making it is where a bad call is found out.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from slidewise.engine.columns import dtype_of, kind_of
from slidewise.errors import ArgumentError, bad, listed, shown
from slidewise.kernels.ops import CannotCompile, Ops, compiled_ops, object_ops
from slidewise.monoids.aggregate import Aggregate, Family
from slidewise.monoids.kinds import Kind
from slidewise.monoids.monoid import Monoid
from slidewise.swag.choose import ALGORITHMS, Choice, choose
from slidewise.windows.duration import NANOS
from slidewise.windows.window import Window

VALUE = "data"
"""The name of a plain sequence's only column."""

START, END = "window_start", "window_end"


@dataclass(frozen=True)
class Output:
    """One result column: an aggregate over a window, ready to run."""

    name: str
    window: Window
    inputs: tuple[str, ...]
    ops: Ops
    choice: Choice
    arrow: pa.DataType | None


@dataclass(frozen=True)
class Plan:
    """A checked call of `slide`. `unit` is the resolution of `order` if windows go by time: "us" or "ns"."""

    outputs: tuple[Output, ...]
    windows: tuple[Window, ...]
    by: tuple[str, ...]
    order: tuple[str, ...]
    unit: str | None
    types: Mapping[str, pa.DataType | None]

    @property
    def per_event(self) -> bool:
        """True if every input row gets an answer; False if every window gets a row."""
        return self.windows[0].per_event

    @property
    def columns(self) -> tuple[str, ...]:
        """The input columns that some aggregate needs, once each."""
        return tuple(dict.fromkeys(name for output in self.outputs for name in output.inputs))

    def of(self, window: Window) -> tuple[Output, ...]:
        """The outputs of one window."""
        return tuple(output for output in self.outputs if output.window is window)

    def extent(self, window: Window) -> int:
        """A window's length in rows, or in units of `order`."""
        return window.rows if window.rows is not None else self.in_units(window.nanos or 0)

    def in_units(self, nanos: int) -> int:
        """Nanoseconds in units of `order`."""
        return nanos if self.unit == "ns" else nanos // 1000

    @property
    def reach(self) -> int:
        """How far from an event's time the bounds of a window can lie, in units of `order`."""
        timed = [window for window in self.windows if window.by_time]
        return max((self.extent(window) + self.in_units(window.step or 0) for window in timed), default=0)

    def schema(self) -> list[pa.Field]:
        """The new columns; raises if a type cannot be known without running."""
        fields = []
        for output in self.outputs:
            if output.arrow is None:
                raise ArgumentError(
                    f"the type of {output.name!r} cannot be known before running: give its Monoid result=, "
                    'e.g. result="string"'
                )
            fields.append(pa.field(output.name, output.arrow))
        if not self.per_event:
            fields = [*self.window_fields(), *fields]
        return fields

    def window_fields(self) -> list[pa.Field]:
        """The columns that say which window a row is: times of the type of `order`, or row numbers."""
        arrow = pa.int64()
        if self.windows[0].by_time:
            arrow = self.types[self.order[0]]
            arrow = arrow if pa.types.is_timestamp(arrow) else pa.timestamp("us")  # else a date, or no value at all
        return [pa.field(START, arrow), pa.field(END, arrow)]


def make_plan(
    types: Mapping[str, pa.DataType | None],
    aggregates: object,
    window: object,
    *,
    by: object = None,
    order: object = None,
    algorithm: str = "auto",
    plain: bool = False,
    whole: bool = True,
    objects: tuple[Kind, str] = ("object", "object"),
) -> Plan:
    """Check a call and resolve it; `types` are the columns there are.

    `plain`: the data is a sequence of values, so aggregates name no column. `whole`: whole columns will be swept, so
    the blocked kernel may serve. `objects` says what a column of no Arrow type holds: the kind, and in words.
    """
    wanted = _aggregates(aggregates)
    windows = _windows(window)
    keys = _names("by", by, types)
    orders = _names("order", order, types)
    _refuse_unordered("by", keys, types)
    _refuse_unordered("order", orders, types)
    unit = _unit(windows, orders, types)
    if not isinstance(algorithm, str):
        raise bad("algorithm", algorithm, "'auto' or the name of an algorithm")
    outputs = []
    for label, one in windows:
        for aggregate in wanted:
            alone = not label or (aggregate.label is not None and len(windows) == 1)
            name = aggregate.name if alone else f"{aggregate.name}_{label}"
            outputs.append(_output(name, aggregate, one, types, algorithm, plain, whole, objects))
    plan = Plan(tuple(outputs), tuple(one for _, one in windows), keys, orders, unit, dict(types))
    _refuse_collisions(plan, {} if plain else types)
    return plan


def _aggregates(given: object) -> list[Aggregate]:
    found: list[Any] = list(given) if isinstance(given, (list, tuple)) else [given]
    if not found:
        raise bad("aggregates", given, "at least one aggregate, e.g. sw.max('x')")
    for one in found:
        if isinstance(one, Monoid):
            raise ArgumentError(f"aggregates={one!r}: a Monoid must be bound: sw.aggregate(monoid, 'column')")
        if not isinstance(one, Aggregate):
            raise bad("aggregates", one, "aggregates such as sw.max('x') or sw.aggregate(monoid, 'x')")
    return found


def _windows(given: object) -> list[tuple[str, Window]]:
    named: list[tuple[Any, Any]] = list(given.items()) if isinstance(given, Mapping) else [("", given)]
    if not named:
        raise bad("window", given, "at least one window, e.g. {'5m': sw.trailing('5 min')}")
    for label, one in named:
        if not isinstance(one, Window):
            raise bad("window", one, "a window such as sw.trailing(100) or sw.trailing('5 min'), or a dict of them")
        if isinstance(given, Mapping) and (not isinstance(label, str) or not label):
            raise bad("window", label, "names of windows as non-empty strings")
    stepped = [one for _, one in named if not one.per_event]
    if stepped and len(named) > 1:
        raise ArgumentError(
            f"window={shown(given)}: expected one window where there is .every or tumbling (each has rows of its own), "
            "or several per-event windows"
        )
    return [(label, _own(one)) for label, one in named]


def _own(window: Window) -> Window:
    """A copy with an identity of its own, so that equal windows of one call stay apart."""
    import copy

    return copy.copy(window)


def _names(argument: str, given: object, types: Mapping[str, pa.DataType | None]) -> tuple[str, ...]:
    if given is None:
        return ()
    names = (given,) if isinstance(given, str) else tuple(given) if isinstance(given, (list, tuple)) else None
    if names is None or not all(isinstance(name, str) for name in names):
        raise bad(argument, given, "a column name or a list of column names")
    for name in names:
        if name not in types:
            raise ArgumentError(f"{argument}={name!r}: no such column; there are {listed(types)}")
    if len(set(names)) != len(names):
        raise bad(argument, given, "each column once")
    return names


def _refuse_unordered(argument: str, names: Sequence[str], types: Mapping[str, pa.DataType | None]) -> None:
    for name in names:
        arrow = types[name]
        if arrow is not None and (kind_of(arrow) == "unordered" or pa.types.is_interval(arrow)):
            raise ArgumentError(
                f"{argument}={name!r}: is of type {arrow}; expected plain values such as integers, strings or times"
            )


def _unit(
    windows: list[tuple[str, Window]], order: tuple[str, ...], types: Mapping[str, pa.DataType | None]
) -> str | None:
    timed = [window for _, window in windows if window.by_time]
    if not timed:
        return None
    if not order:
        raise ArgumentError(f"order=None: {timed[0]!r} goes by time; expected order= to name the column of times")
    arrow = types[order[0]]
    if arrow is None or not (pa.types.is_timestamp(arrow) or pa.types.is_date(arrow) or pa.types.is_null(arrow)):
        raise ArgumentError(
            f"order={order[0]!r}: is of type {arrow}; {timed[0]!r} goes by time and needs a timestamp or date column"
        )
    finest = arrow.unit if pa.types.is_timestamp(arrow) else "us"
    for window in timed:
        # The bounds of windows with a step are columns of the type of `order`; others are only compared with its times.
        unit = "us" if window.per_event and finest != "ns" else finest
        if any(nanos is not None and nanos % NANOS[unit] for nanos in (window.nanos, window.step)):
            raise ArgumentError(
                f"order={order[0]!r}: is of type {arrow}, too coarse for the bounds of {window!r}; "
                "expected a finer unit"
            )
    return "ns" if finest == "ns" else "us"


def _output(
    name: str,
    aggregate: Aggregate,
    window: Window,
    types: Mapping[str, pa.DataType | None],
    algorithm: str,
    plain: bool,
    whole: bool,
    objects: tuple[Kind, str],
) -> Output:
    inputs = _inputs(aggregate, types, plain)
    arrows = [types[column] for column in inputs]
    held = next((objects[1] if arrow is None else str(arrow) for arrow in arrows), None)
    monoid = aggregate.monoid(tuple(kind_of(arrow, objects[0]) for arrow in arrows), held)
    ops = make_ops(monoid, arrows)
    if ops.compiled and algorithm in ALGORITHMS and not ALGORITHMS[algorithm].card.compiles:
        ops = object_ops(monoid, len(arrows), f"{algorithm} runs on Python objects only")
    fixed = window.rows is not None and window.per_event and whole
    exact = ops.compiled and "float64" not in ops.fields
    choice = choose(monoid, algorithm=algorithm, fixed_rows=fixed, compiled=ops.compiled, exact=exact)
    return Output(name, window, inputs, ops, choice, _result_type(monoid, ops, arrows))


def make_ops(monoid: Monoid, inputs: Sequence[pa.DataType | None]) -> Ops:
    """Compiled if the inputs are machine numbers and the monoid compiles, else object mode with the reason."""
    dtypes = tuple(dtype_of(kind_of(arrow)) for arrow in inputs)
    if any(dtype is None for dtype in dtypes):
        kinds = ", ".join(str(arrow) for arrow in inputs)
        return object_ops(monoid, len(inputs), f"the column type {kinds} is not a machine number")
    if monoid.codec is not None:
        return object_ops(monoid, len(inputs), "the monoid declares a codec for object partials")
    try:
        return compiled_ops(monoid, tuple(dtype for dtype in dtypes if dtype is not None))
    except CannotCompile as error:
        return object_ops(monoid, len(inputs), str(error))


def _inputs(aggregate: Aggregate, types: Mapping[str, pa.DataType | None], plain: bool) -> tuple[str, ...]:
    source = aggregate.source
    if plain:
        if aggregate.columns:
            raise ArgumentError(
                f"{aggregate!r}: a plain sequence has no columns; use it unbound, e.g. sw.{source.name}()"
                if isinstance(source, Family)
                else f"{aggregate!r}: a plain sequence has no columns; use sw.aggregate(monoid)"
            )
        inputs: tuple[str, ...] = () if isinstance(source, Family) and 0 in source.columns else (VALUE,)
    else:
        inputs = aggregate.columns
        if not inputs and not (isinstance(source, Family) and 0 in source.columns):
            raise ArgumentError(f"{aggregate!r}: names no column; on a table it needs one of {listed(types)}")
    for column in inputs:
        if column not in types:
            raise ArgumentError(f"{aggregate!r}: no column {column!r}; there are {listed(types)}")
        if types[column] is not None and pa.types.is_interval(types[column]):
            raise ArgumentError(f"{aggregate!r}: column {column!r} is an interval, which cannot be aggregated")
    check_arity(aggregate, len(inputs))
    return inputs


def check_arity(aggregate: Aggregate, columns: int) -> None:
    """Raise `ArgumentError` unless a user's monoid takes as many values as there are columns."""
    monoid = aggregate.source
    if not isinstance(monoid, Monoid):
        return
    if monoid.lift is None:
        if columns != 1:
            raise ArgumentError(
                f"{aggregate!r}: {columns} columns without a lift; expected 1, or a lift of {columns} values"
            )
        return
    try:
        inspect.signature(monoid.lift).bind(*range(columns))
    except TypeError as error:
        raise ArgumentError(f"{aggregate!r}: its lift does not take {columns} value(s): {error}") from error
    except ValueError:  # a built-in without a signature: found out when it is called
        return


def _result_type(monoid: Monoid, ops: Ops, inputs: list[pa.DataType | None]) -> pa.DataType | None:
    named = monoid.result
    if named == "same":
        first = inputs[0]
        if first is None:
            return None
        return first.value_type if pa.types.is_dictionary(first) else pa.float64() if pa.types.is_null(first) else first
    if named == "sum_of_decimals" and inputs[0] is not None:
        return pa.decimal128(min(38, inputs[0].precision + 10), inputs[0].scale)
    if named is not None:
        try:
            return pa.type_for_alias(named)
        except ValueError as error:
            raise ArgumentError(f"result={named!r} of {monoid!r}: not an Arrow type name such as 'float64'") from error
    if not ops.compiled:
        return None
    if ops.packed:
        return pa.struct([(f"f{k}", pa.type_for_alias(name)) for k, name in enumerate(ops.answers)])
    return pa.type_for_alias(ops.answers[0])


def _refuse_collisions(plan: Plan, types: Mapping[str, Any]) -> None:
    for name in () if plan.per_event else plan.by:
        if name in (START, END):
            raise ArgumentError(f"by={name!r}: is the name of a column of the result; expected another name")
    taken = list(types) if plan.per_event else [*plan.by, START, END]
    for output in plan.outputs:
        if output.name in taken:
            raise ArgumentError(
                f"result column {output.name!r} is there already; give the aggregate another .alias(...)"
            )
        taken.append(output.name)
