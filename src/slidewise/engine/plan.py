"""The plan: every aggregate of every window, its columns, types and code, checked before any work starts.

    (aggregates x windows) ──► Output(name, window, monoid, ops, choice, inputs, Arrow type) ...

The same plan serves every container, Spark batch and streams; making it is where a bad call is found out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from slidewise.engine.columns import Column, kind_of
from slidewise.engine.enter import Derived, Source, enter
from slidewise.engine.order import unit_of
from slidewise.engine.output import Data, Output, make_output
from slidewise.engine.reading import along_order, read_by
from slidewise.errors import ArgumentError, bad, listed, shown
from slidewise.frames.kind import Frame
from slidewise.monoids.aggregate import Aggregate
from slidewise.monoids.kinds import Kind
from slidewise.monoids.monoid import Monoid
from slidewise.windows.policy import Adwin, EvictWhile
from slidewise.windows.window import Around, Between, Length, Window

START, END, FRAGMENT = "window_start", "window_end", "fragment"

CLOSED = "closed"
"""The column that says of a frame in a changelog whether it has been closed."""


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
    """What slide policies see (windows/policy.py) and frames are cut by: no columns of the result."""
    labels: tuple[str, ...] = ()
    """What the call names each window; empty for a window alone."""

    @property
    def per_event(self) -> bool:
        """True if every input row gets an answer; False if every window gets a row."""
        return self.windows[0].per_event

    @property
    def composite(self) -> bool:
        """True if several windows have a step: there is a row wherever one of them ends."""
        return not self.per_event and len(self.windows) > 1

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
        """The columns that say which window a row is: of the type of `order`, or row numbers.

        Where several windows end together there is no one start: each begins its own length before the end.
        """
        arrow = pa.int64()
        if self.windows[0].by_time:
            arrow = self.types[self.order[0]]
            arrow = arrow if pa.types.is_timestamp(arrow) else pa.timestamp("us")  # else a date, or no value at all
        elif self.windows[0].axis == "order" and not pa.types.is_null(self.types[self.order[0]]):
            arrow = self.types[self.order[0]]
        first = self.windows[0]
        numbered = [pa.field(FRAGMENT, pa.int64())] if isinstance(first, Frame) and first.fragments else []
        starts = [] if self.composite else [pa.field(START, arrow)]
        return [*starts, pa.field(END, arrow), *numbered]


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
    windows = [(label, along_order(one, orders, types) if isinstance(one, Frame) else one) for label, one in windows]
    unit = unit_of([one for _, one in windows], orders, types)
    if not isinstance(algorithm, str):
        raise bad("algorithm", algorithm, "'auto' or the name of an algorithm")
    data = Data(types, orders, plain, whole, positions, objects)
    outputs, uses, made = [], [], {}
    for label, one in windows:
        if isinstance(one, Frame):
            read, needed = read_by(one, data)
            uses += read
            made.update({column.name: column for column in needed})
        for name, aggregate in used_by(one, wanted, plain):
            output, needed = make_output(name, aggregate, one, data, "amta")
            uses.append(output)
            made.update({column.name: column for column in needed})
        for aggregate in wanted:
            alone = not label or (aggregate.label is not None and len(windows) == 1)
            name = aggregate.name if alone else f"{aggregate.name}_{label}"
            output, needed = make_output(name, aggregate, one, data, algorithm)
            outputs.append(output)
            made.update({column.name: column for column in needed})
    windows_only = tuple(one for _, one in windows)
    labels = tuple(label for label, _ in windows)
    plan = Plan(tuple(outputs), windows_only, keys, orders, unit, dict(types), made, tuple(uses), labels)
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
    if len(named) > 1:
        _refuse_strangers(given, [one for _, one in named])
    return [(label, _own(one)) for label, one in named]


def _refuse_strangers(given: object, windows: list[Window]) -> None:
    """Windows of one call have their answers at the same rows, or at ends along one axis."""
    if all(one.per_event for one in windows):
        return
    for one in windows:
        if not one.per_event and one.step is None:
            raise ArgumentError(
                f"window={shown(given)}: {one!r} has rows of its own, which no other window ends with; expected one "
                "window, or several that all have a step, or all an answer per event: make a call for it"
            )
    if any(one.per_event for one in windows):
        raise ArgumentError(
            f"window={shown(given)}: some answer at every event, others once per step; expected all with .every (or "
            "tumbling), or none: make two calls"
        )
    axes = sorted({one.axis for one in windows})
    if len(axes) > 1:
        raise ArgumentError(
            f"window={shown(given)}: steps of {listed(axes)}, which have no end in common; expected all in rows, all "
            "in time or all along the order: make a call for each"
        )


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


def _refuse_collisions(plan: Plan, types: Mapping[str, Any]) -> None:
    bounds = () if plan.per_event else tuple(dict.fromkeys((START, *(field.name for field in plan.window_fields()))))
    for name in () if plan.per_event else plan.by:
        if name in bounds:
            raise ArgumentError(f"by={name!r}: is the name of a column of the result; expected another name")
    taken = list(types) if plan.per_event else [*plan.by, *bounds]
    for output in plan.outputs:
        if output.name in taken:
            raise ArgumentError(
                f"result column {output.name!r} is there already; give the aggregate another .alias(...)"
            )
        taken.append(output.name)
