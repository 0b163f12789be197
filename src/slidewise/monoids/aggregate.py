"""An aggregate: a monoid bound to columns, with the name of its result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from slidewise.errors import ArgumentError, bad
from slidewise.monoids.kinds import Kind
from slidewise.monoids.monoid import Monoid


@dataclass(frozen=True)
class Family:
    """A built-in aggregate: one name, and a monoid for each kind of column it can take.

    `choose` returns None for a kind it cannot take; `takes` says in words what it can. `columns` is how many
    columns it may be bound to, e.g. ``(0, 1)`` for `count`.
    """

    name: str
    takes: str
    choose: Callable[[Kind | None], Monoid | None]
    columns: tuple[int, ...] = (1,)

    def __reduce__(self) -> tuple[Callable[[str], Family], tuple[str]]:
        """A built-in travels by its name."""
        return _builtin, (self.name,)


def _builtin(name: str) -> Family:
    from slidewise.monoids.catalogue import BUILTINS

    return BUILTINS[name]


@dataclass(frozen=True)
class Aggregate:
    """What to compute, of which columns; made by `sw.max("power")` or `sw.aggregate(monoid, "price", "qty")`.

    >>> import slidewise as sw
    >>> sw.max("power").name
    'max_power'
    >>> sw.max("power").alias("peak").name
    'peak'
    """

    source: Family | Monoid
    columns: tuple[str, ...] = ()
    label: str | None = None

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

    @property
    def name(self) -> str:
        """The result column's name."""
        return self.label if self.label is not None else "_".join((self.source.name, *self.columns))

    def monoid(self, kinds: tuple[Kind, ...], held: str | None = None) -> Monoid:
        """The monoid for columns of these kinds, or an error that names the column; `held` says its type in words."""
        if isinstance(self.source, Monoid):
            return self.source
        found = self.source.choose(kinds[0] if kinds else None)
        if found is None:
            where = f"column {self.columns[0]!r}" if self.columns else "data"
            raise ArgumentError(f"{self!r}: {where} is of type {held or kinds[0]}; expected {self.source.takes}")
        return found

    def __repr__(self) -> str:
        inside = ", ".join(repr(column) for column in self.columns)
        shown = f"{self.source.name}({inside})"
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
