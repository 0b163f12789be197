"""The user's query: group by keys, aggregate. `run` runs it plainly over all rows, and is what a `Job` must equal.

    rows ──► (key, partial) ──► (key, answers)        by Spark's own aggregation, or sorted by key through Arrow

Built-ins of which every step is the same in the JVM stay there (jvm.py); the others, and users' monoids, go through
Arrow (arrow.py), and the whole query with them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from slidewise.engine.columns import kind_of
from slidewise.engine.enter import Derived, enter
from slidewise.engine.output import Data, Output, make_output
from slidewise.engine.partials import described
from slidewise.errors import ArgumentError, bad, listed
from slidewise.monoids.aggregate import Aggregate
from slidewise.monoids.monoid import Monoid
from slidewise.windows.window import Expanding

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

HIDDEN = "__slidewise_"
"""Columns of ours begin so."""


@dataclass(frozen=True)
class Bound:
    """A query over columns of known types: what it reads, and an output per aggregate."""

    keys: tuple[str, ...]
    order: tuple[str, ...]
    outputs: tuple[Output, ...]
    derived: Mapping[str, Derived]
    types: Mapping[str, pa.DataType]
    """Of the columns that it reads, and no others."""

    def entered(self, source: Any, length: int) -> Any:
        """The columns of the outputs, as kernels take them."""
        return enter([name for output in self.outputs for name in output.needs], self.derived, source, length)

    @property
    def ordered(self) -> bool:
        """True if the order of rows matters."""
        return any(not output.ops.monoid.commutative for output in self.outputs)

    def phrases(self, engine: str) -> list[str]:
        """What stored partials depend on, one phrase each."""
        by = ", ".join(f"{name}: {self.types[name]}" for name in self.keys) or "nothing"
        order = ", ".join(f"{name}: {self.types[name]}" for name in self.order) or "nothing"
        return [f"by {by}", f"order {order}", *(described(output) for output in self.outputs), f"through {engine}"]


@dataclass(frozen=True)
class Query:
    """An aggregation by key; made by ``group_by(...).aggregate(...)``.

    >>> import slidewise as sw
    >>> from slidewise import incremental as inc
    >>> inc.group_by("user").aggregate(sw.sum("bytes"), sw.max("bytes"))
    group_by('user').aggregate(sum('bytes'), max('bytes'))
    """

    keys: tuple[str, ...]
    order: tuple[str, ...]
    aggregates: tuple[Aggregate, ...]

    def run(self, df: DataFrame) -> DataFrame:
        """The query over all rows of a DataFrame, plainly: one shuffle. Keys without rows have no row."""
        from slidewise.incremental.plain import run_plainly

        return run_plainly(self, df)

    def explain(self, df: DataFrame) -> str:
        """In words: what is combined where, and why."""
        from slidewise.incremental.jvm import why_not
        from slidewise.spark.schema import spark_types

        bound = self.bind(spark_types(df))
        lines = [f"keys: {', '.join(self.keys) or 'none, so one row'}"]
        reasons = {output.name: why_not(output, aggregate) for output, aggregate in self._pairs(bound)}
        through = "Arrow" if any(reasons.values()) else "the JVM"
        lines.append(f"lifted, combined and lowered in {through}")
        lines += [f"{name}: {reason or 'as JVM expressions'}" for name, reason in reasons.items()]
        if bound.ordered:
            lines.append(f"rows of a split in order of {', '.join(self.order)}; splits in the order of adding")
        return "\n".join(lines)

    def _pairs(self, bound: Bound) -> list[tuple[Output, Aggregate]]:
        return list(zip(bound.outputs, self.aggregates, strict=True))

    def bind(self, types: Mapping[str, pa.DataType]) -> Bound:
        """The query over columns of these types, or an error that names the column."""
        for argument, names in (("keys", self.keys), ("order", self.order)):
            for name in names:
                if name not in types:
                    raise ArgumentError(f"{argument}={name!r}: no such column; there are {listed(types)}")
                if kind_of(types[name]) == "unordered" or pa.types.is_interval(types[name]):
                    raise ArgumentError(
                        f"{argument}={name!r}: is of type {types[name]}; expected plain values such as integers, "
                        "strings or times"
                    )
        data = Data(types, self.order, whole=False, positions=False)
        outputs, made, taken = [], {}, list(self.keys)
        for aggregate in self.aggregates:
            output, derived = make_output(aggregate.name, aggregate, Expanding(), data, "recalculate")
            if output.arrow is None:
                raise ArgumentError(
                    f"the type of {output.name!r} cannot be known before running: give its Monoid result=, "
                    'e.g. result="string"'
                )
            if output.name in taken:
                raise ArgumentError(
                    f"result column {output.name!r} is there already; give the aggregate another .alias(...)"
                )
            taken.append(output.name)
            outputs.append(output)
            made.update({one.name: one for one in derived})
        for output in outputs:
            if not output.ops.monoid.commutative and not self.order:
                raise ArgumentError(
                    f"order=None: {output.name!r} depends on the order of rows, which a DataFrame does not have; name "
                    "the column(s), e.g. group_by('user', order='ts'), or make its Monoid commutative=True"
                )
        bases = [base for output in outputs for need in output.needs for base in _bases(need, made)]
        used = dict.fromkeys((*self.keys, *self.order, *bases))
        return Bound(self.keys, self.order, tuple(outputs), made, {name: types[name] for name in used})

    def __repr__(self) -> str:
        inside = [repr(key) for key in self.keys] + ([f"order={list(self.order)!r}"] if self.order else [])
        return f"group_by({', '.join(inside)}).aggregate({', '.join(map(repr, self.aggregates))})"


def _bases(name: str, made: Mapping[str, Derived]) -> tuple[str, ...]:
    return made[name].bases if name in made else (name,)


@dataclass(frozen=True)
class Grouped:
    """Keys that wait for aggregates."""

    keys: tuple[str, ...]
    order: tuple[str, ...]

    def aggregate(self, *aggregates: Aggregate) -> Query:
        """The query; O(1).

        >>> import slidewise as sw
        >>> group_by("user").aggregate(sw.count())
        group_by('user').aggregate(count())
        """
        if not aggregates:
            raise bad("aggregates", aggregates, "at least one aggregate, e.g. sw.sum('bytes')")
        for one in aggregates:
            if isinstance(one, Monoid):
                raise ArgumentError(f"aggregates={one!r}: a Monoid must be bound: sw.aggregate(monoid, 'column')")
            if not isinstance(one, Aggregate):
                raise bad("aggregates", one, "aggregates such as sw.sum('bytes') or sw.aggregate(monoid, 'bytes')")
        return Query(self.keys, self.order, aggregates)


def group_by(*keys: str, order: str | list[str] | tuple[str, ...] | None = None) -> Grouped:
    """Begin a query: one row per key, or one in all without keys; O(1).

    `order` names the columns that rows of a split are taken in order of, for aggregates that depend on it.

    >>> group_by("user", order="ts")
    Grouped(keys=('user',), order=('ts',))
    """
    orders = () if order is None else (order,) if isinstance(order, str) else order
    for argument, names in (("keys", keys), ("order", orders)):
        if not isinstance(names, (list, tuple)) or not all(isinstance(name, str) and name for name in names):
            raise bad(argument, names, "names of columns")
        if len(set(names)) != len(names):
            raise bad(argument, names, "each column once")
        for name in names:
            if name.startswith(HIDDEN):
                raise bad(argument, name, f"a name that does not begin with {HIDDEN!r}")
    return Grouped(tuple(keys), tuple(orders))
