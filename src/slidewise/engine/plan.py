"""The plan: every aggregate of every window, its columns, types and code, checked before any work starts.

    (aggregates x windows) ──► Output(name, window, monoid, ops, choice, inputs, Arrow type) ...

The same plan serves every container, Spark batch and streams; making it is where a bad call is found out.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from slidewise.duration import NANOS
from slidewise.engine.columns import Column, dtype_of, kind_of
from slidewise.engine.enter import Derived, Source, derived, derived_mask, derived_position, enter
from slidewise.engine.filters import check_condition
from slidewise.engine.order import unit_of
from slidewise.engine.results import result_type
from slidewise.errors import ArgumentError, bad, listed, shown
from slidewise.kernels.ops import CannotCompile, Ops, compiled_ops, object_ops
from slidewise.kernels.tallies import compiled_tally_ops, object_tally_ops
from slidewise.monoids.aggregate import ORDER, POSITION, Aggregate, Family, Options
from slidewise.monoids.condition import Condition
from slidewise.monoids.kinds import Kind
from slidewise.monoids.monoid import Monoid
from slidewise.swag.choose import ALGORITHMS, Choice, choose
from slidewise.windows.policy import Adwin, EvictWhile
from slidewise.windows.window import Around, Between, Expanding, Length, Session, Window

VALUE = "data"
"""The name of a plain sequence's only column."""

START, END = "window_start", "window_end"


@dataclass(frozen=True)
class Output:
    """One result column: an aggregate over a window, ready to run.

    `columns` are those of the data; `inputs` are they or what is derived from them (engine/enter.py), `types` their
    types; `mask` is the derived column that says which rows count, None if all do.
    """

    name: str
    window: Window
    columns: tuple[str, ...]
    inputs: tuple[str, ...]
    types: tuple[pa.DataType | None, ...]
    ops: Ops
    choice: Choice
    arrow: pa.DataType | None
    mask: str | None = None
    filtered: tuple[Condition, ...] = ()
    options: Options = ()

    @property
    def needs(self) -> tuple[str, ...]:
        """The entered columns that it reads."""
        return self.inputs if self.mask is None else (*self.inputs, self.mask)


@dataclass(frozen=True)
class Plan:
    """A checked call of `slide`. `unit` is what windows along `order` are measured in (engine/order.py), if any are."""

    outputs: tuple[Output, ...]
    windows: tuple[Window, ...]
    by: tuple[str, ...]
    order: tuple[str, ...]
    unit: str | None
    types: Mapping[str, pa.DataType | None]
    derived: Mapping[str, Derived]
    uses: tuple[Output, ...] = ()
    """What slide policies see (windows/policy.py): no columns of the result."""

    @property
    def per_event(self) -> bool:
        """True if every input row gets an answer; False if every window gets a row."""
        return self.windows[0].per_event

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the data that some aggregate or window needs, once each."""
        bases = (self.derived[name].bases if name in self.derived else (name,) for name in self._needed())
        return tuple(dict.fromkeys(name for several in bases for name in several))

    def enter(self, source: Source, length: int, rows: Any = None) -> dict[str, Column]:
        """All that the outputs need, as the kernels take it, in the order that `rows` says (None: as it is)."""
        return enter(self._needed(), self.derived, source, length, rows)

    def enter_nothing(self) -> dict[str, Column]:
        """The same columns without a row."""
        return self.enter(lambda name: pa.array([], type=self.types[name]), 0)

    def _needed(self) -> list[str]:
        bounds = [name for window in self.windows if isinstance(window, Between) for name in (window.lo, window.hi)]
        outputs = (*self.outputs, *self.uses)
        mine = [name for output in outputs for name in output.needs]
        return [*mine, *bounds]

    def of(self, window: Window) -> tuple[Output, ...]:
        """The outputs of one window."""
        return tuple(output for output in self.outputs if output.window is window)

    def uses_of(self, window: Window) -> tuple[Output, ...]:
        """What the policies of one window see, in their order."""
        return tuple(output for output in self.uses if output.window is window)

    def extent(self, window: Window) -> Any:
        """A window's length in rows, or in units of `order`."""
        return self.amount(window, window.lengths[0])

    def amount(self, window: Window, length: Length) -> Any:
        """One of a window's lengths in rows, or in units of `order`."""
        if window.axis == "rows":
            return int(length)
        if window.axis == "time":
            return self.in_units(length)
        return float(length) if self.unit == "float" else int(length)

    def in_units(self, nanos: Length) -> int:
        """Nanoseconds in units of `order`."""
        return int(nanos) if self.unit == "ns" else int(nanos) // 1000

    @property
    def reach(self) -> Any:
        """How far from an event's order the bounds of a window can lie, in units of `order`."""
        along = [window for window in self.windows if window.axis != "rows"]
        return max((sum(self.amount(window, n) for n in window.lengths) for window in along), default=0)

    @property
    def waits(self) -> bool:
        """True if an event's answer can depend on rows that come after it."""
        return any(isinstance(one, Around | Between) or one.ties == "together" for one in self.windows)

    @property
    def whole_keys(self) -> bool:
        """True if an answer can depend on any row of the key."""
        return any(isinstance(window, Between) for window in self.windows)

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
        """The columns that say which window a row is: of the type of `order`, or row numbers."""
        arrow = pa.int64()
        if self.windows[0].by_time:
            arrow = self.types[self.order[0]]
            arrow = arrow if pa.types.is_timestamp(arrow) else pa.timestamp("us")  # else a date, or no value at all
        elif self.windows[0].axis == "order" and not pa.types.is_null(self.types[self.order[0]]):
            arrow = self.types[self.order[0]]
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
    positions: bool = True,
    objects: tuple[Kind, str] = ("object", "object"),
) -> Plan:
    """Check a call and resolve it; `types` are the columns there are.

    `plain`: the data is a sequence of values, so aggregates name no column. `whole`: whole columns will be swept, so
    the blocked kernel may serve. `positions`: rows have a number in the data. `objects` says what a column of no Arrow
    type holds: the kind, and in words.
    """
    wanted = _aggregates(aggregates)
    windows = _windows(window)
    keys = _names("by", by, types)
    orders = _names("order", order, types)
    _refuse_unordered("by", keys, types)
    _refuse_unordered("order", orders, types)
    _refuse_named_bounds([one for _, one in windows], plain)
    unit = unit_of([one for _, one in windows], orders, types)
    if not isinstance(algorithm, str):
        raise bad("algorithm", algorithm, "'auto' or the name of an algorithm")
    outputs, uses, made = [], [], {}
    for label, one in windows:
        for name, aggregate in used_by(one, wanted, plain):
            output, needed = _output(name, aggregate, one, orders, types, "amta", plain, whole, positions, objects)
            uses.append(output)
            made.update({column.name: column for column in needed})
        for aggregate in wanted:
            alone = not label or (aggregate.label is not None and len(windows) == 1)
            name = aggregate.name if alone else f"{aggregate.name}_{label}"
            output, needed = _output(name, aggregate, one, orders, types, algorithm, plain, whole, positions, objects)
            outputs.append(output)
            made.update({column.name: column for column in needed})
    windows_only = tuple(one for _, one in windows)
    plan = Plan(tuple(outputs), windows_only, keys, orders, unit, dict(types), made, tuple(uses))
    _refuse_collisions(plan, {} if plain else types)
    return plan


def used_by(window: Window, wanted: Sequence[Aggregate], plain: bool) -> list[tuple[str, Aggregate]]:
    """What a window's policies see, by name; none for other windows."""
    if isinstance(window, EvictWhile):
        return [use for policy in window.policies for use in policy.uses]
    if not isinstance(window, Adwin):
        return []
    from slidewise.monoids.catalogue.moments import var

    if plain:
        if window.column is not None:
            raise ArgumentError(f"window={window!r}: a plain sequence has no columns; expected column=None")
        return [("moments", var())]
    named = list(dict.fromkeys(column for aggregate in wanted for column in aggregate.columns))
    if window.column is None and len(named) != 1:
        raise ArgumentError(
            f"window={window!r}: expected column=, the one whose mean is watched; the aggregates name {listed(named)}"
        )
    return [("moments", var(window.column or named[0]))]


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
            f"window={shown(given)}: expected one window where there is .every, tumbling or session (each has rows of "
            "its own), or several per-event windows"
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


def _refuse_named_bounds(windows: list[Window], plain: bool) -> None:
    for window in windows:
        if plain and isinstance(window, Between):
            raise ArgumentError(f"window={window!r}: names columns, and a plain sequence has none; expected a table")


def _output(
    name: str,
    aggregate: Aggregate,
    window: Window,
    order: tuple[str, ...],
    types: Mapping[str, pa.DataType | None],
    algorithm: str,
    plain: bool,
    whole: bool,
    positions: bool,
    objects: tuple[Kind, str],
) -> tuple[Output, list[Derived]]:
    """An aggregate over a window, and the columns that must be derived for it."""
    columns = _inputs(aggregate, types, order, plain, positions)
    arrows = [pa.int64() if column == POSITION else types[column] for column in columns]
    held = ", ".join(objects[1] if arrow is None else str(arrow) for arrow in arrows)
    monoid = _monoid(aggregate, arrows, held, objects[0], algorithm)
    made = [derived_position()] if POSITION in columns else []
    inputs, entered, more = _entered(aggregate, monoid, columns, arrows)
    if _objects_only(algorithm):
        entered = _times_as_numbers(aggregate, arrows, entered)
    conditions = _conditions(aggregate, types, plain)
    mask = derived_mask(conditions) if conditions else None
    choice, ops = _code(monoid, entered, algorithm, window, whole)
    arrow = result_type(monoid, ops, arrows)
    output = Output(
        name=name,
        window=window,
        columns=tuple(column for column in columns if column != POSITION),
        inputs=inputs,
        types=entered,
        ops=ops,
        choice=choice,
        arrow=arrow,
        mask=None if mask is None else mask.name,
        filtered=conditions,
        options=aggregate.options,
    )
    return output, [*made, *more, *([] if mask is None else [mask])]


def _monoid(aggregate: Aggregate, arrows: list[pa.DataType | None], held: str, objects: Kind, algorithm: str) -> Monoid:
    """The aggregate's monoid for columns of these types; a column without a value is of whatever kind it takes."""
    kinds = tuple(kind_of(arrow, objects) for arrow in arrows)
    if _objects_only(algorithm):
        with contextlib.suppress(ArgumentError):
            return aggregate.monoid(_times_as_objects(kinds), held)
    if any(arrow is not None and pa.types.is_null(arrow) for arrow in arrows):
        for guess in ("float", "bool", "string"):
            guessed: tuple[Kind, ...] = tuple(
                guess if arrow is not None and pa.types.is_null(arrow) else kind
                for arrow, kind in zip(arrows, kinds, strict=True)
            )
            with contextlib.suppress(ArgumentError):
                return aggregate.monoid(guessed, held, _tick(arrows))
    return aggregate.monoid(kinds, held, _tick(arrows))


def _objects_only(algorithm: str) -> bool:
    return algorithm in ALGORITHMS and not ALGORITHMS[algorithm].card.compiles


def _times_as_objects(kinds: tuple[Kind, ...]) -> tuple[Kind, ...]:
    return tuple("object" if kind == "temporal" else kind for kind in kinds)


def _times_as_numbers(
    aggregate: Aggregate, arrows: Sequence[pa.DataType | None], entered: tuple[pa.DataType | None, ...]
) -> tuple[pa.DataType | None, ...]:
    """The types that object mode takes: times as Python's own, or as numbers for an aggregate that needs numbers."""
    try:
        aggregate.monoid(_times_as_objects(tuple(kind_of(arrow) for arrow in arrows)))
    except ArgumentError:
        return tuple(pa.int64() if arrow is not None and pa.types.is_temporal(arrow) else arrow for arrow in entered)
    return entered


def _entered(
    aggregate: Aggregate, monoid: Monoid, columns: tuple[str, ...], arrows: list[pa.DataType | None]
) -> tuple[tuple[str, ...], tuple[pa.DataType | None, ...], list[Derived]]:
    """The columns as the lift takes them, their types, and those that are derived.

    A built-in whose answer is a float takes decimals as floats, so that it compiles.
    """
    source = aggregate.source
    if isinstance(source, Monoid):
        return columns, tuple(arrows), []
    inputs: list[str] = []
    entered: list[pa.DataType | None] = []
    made: list[Derived] = []
    for k, (column, arrow) in enumerate(zip(columns, arrows, strict=True)):
        if source.hashes:
            made.append(derived("hash", column))
            inputs.append(made[-1].name)
            entered.append(pa.int64())
        elif k in source.nullable and column != POSITION:
            made += [derived("bare", column), derived("there", column)]
            inputs += [made[-2].name, made[-1].name]
            entered += [arrow, pa.int64()]
        elif k in source.nullable:
            made.append(derived("there", column))
            inputs += [column, made[-1].name]
            entered += [arrow, pa.int64()]
        elif monoid.result == "float64" and arrow is not None and pa.types.is_decimal(arrow):
            made.append(derived("float", column))
            inputs.append(made[-1].name)
            entered.append(pa.float64())
        else:
            inputs.append(column)
            entered.append(arrow)
    return tuple(inputs), tuple(entered), made


def _code(
    monoid: Monoid, inputs: Sequence[pa.DataType | None], algorithm: str, window: Window, whole: bool
) -> tuple[Choice, Ops]:
    """The rung of the ladder, and the monoid's functions as it takes them."""
    shape = {
        "fixed_rows": window.rows is not None and window.per_event and whole,
        "whole_only": isinstance(window, Expanding | Session),
        "any_bounds": isinstance(window, Between),
    }
    if monoid.tally is None or algorithm != "auto" or shape["any_bounds"]:
        ops = make_ops(monoid, inputs)
        if ops.compiled and algorithm in ALGORITHMS and not ALGORITHMS[algorithm].card.compiles:
            ops = object_ops(monoid, len(inputs), f"{algorithm} runs on Python objects only")
        exact = ops.compiled and "float64" not in ops.fields
        return choose(monoid, algorithm=algorithm, compiled=ops.compiled, exact=exact, **shape), ops
    dtypes = tuple(dtype_of(kind_of(arrow)) for arrow in inputs)
    choice = choose(monoid, algorithm=algorithm, numbers=whole and None not in dtypes, **shape)
    try:
        if None in dtypes:
            raise CannotCompile(f"the column type {', '.join(map(str, inputs))} is not a machine number")
        return choice, compiled_tally_ops(monoid, tuple(dtype for dtype in dtypes if dtype is not None))
    except CannotCompile as error:
        return choice, object_tally_ops(monoid, len(inputs), str(error))


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


def _tick(arrows: list[pa.DataType | None]) -> int:
    """How many nanoseconds a unit of the column of times is; 1 where there is none."""
    time = arrows[-1] if arrows else None
    if time is None or not pa.types.is_temporal(time):
        return 1
    if pa.types.is_date32(time):
        return NANOS["d"]
    return NANOS["ms"] if pa.types.is_date64(time) else NANOS[time.unit]


def _conditions(aggregate: Aggregate, types: Mapping[str, pa.DataType | None], plain: bool) -> tuple[Condition, ...]:
    """The aggregate's filter with every column named; each test is tried on its column's type."""
    found = []
    for one in aggregate.conditions:
        column = one.column
        if plain and column is not None:
            raise ArgumentError(
                f"{aggregate!r}: a plain sequence has no columns; test its values, e.g. where({one.test!r}, ...)"
            )
        if column is None:
            if not plain and not aggregate.columns:
                raise ArgumentError(f"{aggregate!r}: the test names no column; there are {listed(types)}")
            column = VALUE if plain else aggregate.columns[0]
        if column not in types:
            raise ArgumentError(f"{aggregate!r}: no column {column!r}; there are {listed(types)}")
        named = replace(one, column=column)
        check_condition(named, types[column], repr(aggregate))
        found.append(named)
    return tuple(found)


def _inputs(
    aggregate: Aggregate,
    types: Mapping[str, pa.DataType | None],
    order: tuple[str, ...],
    plain: bool,
    positions: bool,
) -> tuple[str, ...]:
    """The columns that an aggregate takes, implied ones included."""
    source = aggregate.source
    family = source if isinstance(source, Family) else None
    if plain:
        if aggregate.columns:
            raise ArgumentError(
                f"{aggregate!r}: a plain sequence has no columns; use it unbound, e.g. sw.{source.name}()"
                if family is not None
                else f"{aggregate!r}: a plain sequence has no columns; use sw.aggregate(monoid)"
            )
        given: tuple[str, ...] = () if family is not None and 0 in family.columns else (VALUE,)
    else:
        given = aggregate.columns
        if not given and not (family is not None and 0 in family.columns):
            raise ArgumentError(f"{aggregate!r}: names no column; on a table it needs one of {listed(types)}")
    for column in given:
        if column not in types:
            raise ArgumentError(f"{aggregate!r}: no column {column!r}; there are {listed(types)}")
        if types[column] is not None and pa.types.is_interval(types[column]):
            raise ArgumentError(f"{aggregate!r}: column {column!r} is an interval, which cannot be aggregated")
    if family is None:
        check_arity(aggregate, len(given))
        return given
    inputs = family.completed(given, dict(aggregate.options))
    if ORDER in inputs:
        inputs = tuple((order[0] if order else POSITION) if column == ORDER else column for column in inputs)
    if POSITION in inputs and not positions:
        raise ArgumentError(
            f"{aggregate!r}: rows of this data have no position; name {max(family.columns)} columns, "
            f"e.g. {family.name}('value', 'by')"
        )
    if len(inputs) not in (*family.columns, max(family.columns)) or (
        len(inputs) < min(family.columns) and 0 not in family.columns
    ):
        raise ArgumentError(f"{aggregate!r}: takes {max(family.columns)} columns, which this data does not have")
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
