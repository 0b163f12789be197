"""An aggregate: a monoid bound to columns, with its options, its filter and the name of its result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

from slidewise.errors import ArgumentError, bad
from slidewise.monoids.condition import Condition, condition
from slidewise.monoids.kinds import Kind
from slidewise.monoids.monoid import Monoid

POSITION, ORDER = "#position", "#order"
"""Columns that nobody names: a row's number in the data, and the first column of `order`."""

Nature = Literal["distributive", "algebraic", "holistic"]
Options = tuple[tuple[str, Any], ...]


@dataclass(frozen=True)
class Family:
    """A built-in aggregate: one name, and a monoid for each kind of column it can take.

    Parameters
    ----------
    choose
        ``choose(kinds, **options)`` gives the monoid for columns of these kinds; None if it cannot take them. The same
        arguments give the same monoid, so that its machine code is found again.
    takes
        In words, what it can take.
    nature
        Distributive (its answer is its partial), algebraic (made of a fixed number of distributive parts, named in
        `parts`; aggregates that share a part need it once), or holistic (the partial grows with the values).
    instead
        For a holistic one: the sketch to use where state must be bounded.
    columns
        How many columns it may be bound to, e.g. ``(0, 1)`` for `count`.
    implied
        ``implied(options)`` says what completes a binding that is one column short: its place, and `POSITION` or
        `ORDER`; None if nothing does.
    hashes
        True if it takes a 64-bit hash of the value in place of the value.
    nullable
        Columns that may be null in a row that counts; the lift gets each of them as a value and whether there is one.
    timed
        True if `choose` also takes `tick`: how many nanoseconds a unit of the column of times is.
    """

    name: str
    takes: str
    choose: Callable[..., Monoid | None]
    nature: Nature = "distributive"
    parts: tuple[str, ...] = ()
    instead: str = ""
    columns: tuple[int, ...] = (1,)
    implied: Callable[[dict[str, Any]], tuple[int, str] | None] = lambda options: None
    hashes: bool = False
    nullable: tuple[int, ...] = ()
    timed: bool = False

    def __reduce__(self) -> tuple[Callable[[str], Family], tuple[str]]:
        """A built-in travels by its name."""
        return _builtin, (self.name,)

    def completed(self, columns: tuple[str, ...], options: dict[str, Any]) -> tuple[str, ...]:
        """The columns as the lift takes them: those given, and what they imply."""
        added = self.implied(options)
        if added is None or len(columns) != max(self.columns) - 1:
            return columns
        place, special = added
        return (*columns[:place], special, *columns[place:])


def _builtin(name: str) -> Family:
    from slidewise.monoids.catalogue import BUILTINS

    return BUILTINS[name]


@dataclass(frozen=True)
class Aggregate:
    """What to compute, of which columns; made by `sw.max("power")` or `sw.aggregate(monoid, "price", "qty")`.

    >>> import slidewise as sw
    >>> sw.max("power").name
    'max_power'
    >>> sw.max("power").alias("peak").where("state", "==", 1)
    max('power').where('state', '==', 1).alias('peak')
    """

    source: Family | Monoid
    columns: tuple[str, ...] = ()
    label: str | None = None
    options: Options = ()
    conditions: tuple[Condition, ...] = ()

    def __post_init__(self) -> None:
        for column in self.columns:
            if not isinstance(column, str) or not column:
                raise bad("column", column, "the name of a column")
        if isinstance(self.source, Family) and self.columns and len(self.columns) not in self.source.columns:
            allowed = " or ".join(str(n) for n in self.source.columns)
            raise ArgumentError(f"{self.source.name}{self.columns!r}: expected {allowed} column names")

    def alias(self, name: str) -> Aggregate:
        """The same aggregate with its result column named `name`."""
        if not isinstance(name, str) or not name:
            raise bad("alias", name, "a non-empty string")
        return replace(self, label=name)

    def where(self, *test: Any) -> Aggregate:
        """The same aggregate over only those rows that pass a test; further tests narrow it down.

        ``where("state", "==", 1)`` tests a column, ``where(">", 0)`` the values of a plain sequence. The tests:
        ``== != < <= > >=`` with a value, ``in`` and ``not in`` with a list, ``is null`` and ``is not null``. A row that
        does not pass keeps its place in the window and gives no value, as a null does. O(1) per row.

        >>> import slidewise as sw
        >>> sw.slide([4, -2, 3, -1], sw.sum().where(">", 0), sw.trailing(2))
        [4, 4, 3, 3]
        """
        return replace(self, conditions=(*self.conditions, condition(test)))

    @property
    def name(self) -> str:
        """The result column's name."""
        return self.label if self.label is not None else "_".join((self.source.name, *self.columns))

    @property
    def inputs(self) -> tuple[str, ...]:
        """The columns as the lift takes them, implied ones included."""
        if isinstance(self.source, Monoid):
            return self.columns
        return self.source.completed(self.columns, dict(self.options))

    def monoid(self, kinds: tuple[Kind, ...], held: str | None = None, tick: int = 1) -> Monoid:
        """The monoid for columns of these kinds, or an error that names the column.

        `held` says their types in words; `tick` is how many nanoseconds a unit of the column of times is.
        """
        if isinstance(self.source, Monoid):
            return self.source
        options = {**dict(self.options), **({"tick": tick} if self.source.timed else {})}
        found = self.source.choose(kinds, **options)
        if found is None:
            where = f"column {self.columns[0]!r}" if len(self.columns) == 1 else "columns" if self.columns else "data"
            verb = "are" if where == "columns" else "is"
            raise ArgumentError(
                f"{self!r}: {where} {verb} of type {held or ', '.join(kinds)}; expected {self.source.takes}"
            )
        return found

    def __repr__(self) -> str:
        inside = [repr(column) for column in self.columns] + [f"{name}={value!r}" for name, value in self.options]
        shown = f"{self.source.name}({', '.join(inside)})"
        shown += "".join(f".where({one!r})" for one in self.conditions)
        return f"{shown}.alias({self.label!r})" if self.label is not None else shown


def aggregate(monoid: Monoid, *columns: str) -> Aggregate:
    """Bind your own monoid to columns; without columns it is for plain value streams. O(1).

    >>> import slidewise as sw
    >>> vwap = sw.Monoid(
    ...     identity=(0.0, 0.0),
    ...     lift=lambda price, qty: (price * qty, qty),
    ...     combine=lambda a, b: (a[0] + b[0], a[1] + b[1]),
    ...     lower=lambda p: p[0] / p[1] if p[1] else None,
    ...     name="vwap",
    ... )
    >>> sw.aggregate(vwap, "price", "qty")
    vwap('price', 'qty')
    """
    if not isinstance(monoid, Monoid):
        raise bad("monoid", monoid, "a slidewise.Monoid")
    return Aggregate(monoid, columns)
