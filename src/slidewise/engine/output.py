"""An output: one aggregate over one window, its columns, types and code, checked before any work starts.

aggregate ──► monoid for these column types ──► rung of the ladder ──► machine code, or Python objects and why
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from slidewise.duration import NANOS
from slidewise.engine.columns import dtype_of, kind_of
from slidewise.engine.enter import Derived, derived, derived_mask, derived_position
from slidewise.engine.filters import check_condition
from slidewise.engine.results import result_type
from slidewise.errors import ArgumentError, listed
from slidewise.frames.kind import Frame
from slidewise.kernels.ops import CannotCompile, Ops, compiled_ops, object_ops
from slidewise.kernels.tallies import compiled_tally_ops, object_tally_ops
from slidewise.monoids.aggregate import ORDER, POSITION, Aggregate, Family, Options
from slidewise.monoids.condition import Condition
from slidewise.monoids.kinds import Kind
from slidewise.monoids.monoid import Monoid
from slidewise.swag.choose import ALGORITHMS, Choice, choose
from slidewise.windows.window import Between, Expanding, Session, Window

VALUE = "data"
"""The name of a plain sequence's only column."""


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
class Data:
    """What an output may know of the data.

    `types` are its columns, `order` those it is ordered by. `plain`: it is a sequence of values, so aggregates name no
    column. `whole`: whole columns will be swept. `positions`: rows have a number. `objects` says what a column of no
    Arrow type holds: the kind, and in words.
    """

    types: Mapping[str, pa.DataType | None]
    order: tuple[str, ...] = ()
    plain: bool = False
    whole: bool = True
    positions: bool = True
    objects: tuple[Kind, str] = ("object", "object")


def make_output(
    name: str, aggregate: Aggregate, window: Window, data: Data, algorithm: str
) -> tuple[Output, list[Derived]]:
    """An aggregate over a window, and the columns that must be derived for it."""
    columns = _inputs(aggregate, data)
    arrows = [pa.int64() if column == POSITION else data.types[column] for column in columns]
    held = ", ".join(data.objects[1] if arrow is None else str(arrow) for arrow in arrows)
    monoid = _monoid(aggregate, arrows, held, data.objects[0], algorithm)
    made = [derived_position()] if POSITION in columns else []
    inputs, entered, more = _entered(aggregate, monoid, columns, arrows)
    if _objects_only(algorithm):
        entered = _times_as_numbers(aggregate, arrows, entered)
    conditions = _conditions(aggregate, data)
    mask = derived_mask(conditions) if conditions else None
    choice, ops = _code(monoid, entered, algorithm, window, data.whole)
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
        "whole_only": isinstance(window, Expanding | Session | Frame),
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


def _conditions(aggregate: Aggregate, data: Data) -> tuple[Condition, ...]:
    """The aggregate's filter with every column named; each test is tried on its column's type."""
    types, plain = data.types, data.plain
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


def _inputs(aggregate: Aggregate, data: Data) -> tuple[str, ...]:
    """The columns that an aggregate takes, implied ones included."""
    source, types, order, plain = aggregate.source, data.types, data.order, data.plain
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
    if POSITION in inputs and not data.positions:
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
