"""An aggregate that is fed values, one event after the other: what its lift takes of each, and which it leaves out."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

from slidewise.engine.filters import passes_one
from slidewise.engine.output import VALUE, check_arity
from slidewise.errors import ArgumentError, bad
from slidewise.monoids.aggregate import ORDER, Aggregate, Family
from slidewise.monoids.hashing import hash_value
from slidewise.monoids.kinds import Kind
from slidewise.monoids.monoid import Monoid

THERE = "#there"
"""Stands for "a position is there", which it always is."""


class Fed:
    """One unbound aggregate; O(1) per event."""

    def __init__(self, aggregate: Aggregate, argument: str = "aggregate") -> None:
        _check(aggregate, argument)
        self.aggregate = aggregate
        self.inputs = _inputs_of(aggregate)

    @property
    def own(self) -> bool:
        """True for a user's monoid, which takes values of any kind."""
        return isinstance(self.aggregate.source, Monoid)

    @property
    def counts_rows(self) -> bool:
        """True for `count()`: a null is a row as well."""
        return isinstance(self.aggregate.source, Family) and 0 in self.aggregate.source.columns

    @property
    def any_kind(self) -> bool:
        """True if its monoid does not depend on what the values are."""
        return self.own or self.counts_rows

    def kinds(self, kind: Kind) -> tuple[Kind, ...]:
        """The kinds of what the monoid takes, of a value of this kind."""
        if self._hashes:
            return ("int",)
        return tuple(kind if name == VALUE else "int" for name in self.inputs if name != THERE)

    def monoid(self, kind: Kind, held: str = "") -> Monoid:
        """The monoid for values of a kind; raises `ArgumentError` if it takes none of it."""
        return self.aggregate.monoid(self.kinds(kind), held) if held else self.aggregate.monoid(self.kinds(kind))

    def monoids(self, kinds: Iterable[Kind]) -> Iterator[Monoid]:
        """The monoids for those of the kinds that it takes."""
        for kind in kinds:
            with contextlib.suppress(ArgumentError):
                yield self.monoid(kind)

    def counts(self, value: Any) -> bool:
        """True unless the event takes a place and has no value: a null, or one that its `where` leaves out."""
        kept = all(passes_one(value, test) for test in self.aggregate.conditions)
        return kept and (value is not None or self.counts_rows)

    def taken(self, value: Any, position: int, now: Any) -> tuple[Any, ...]:
        """The event as the lift takes it: its value, and its position or time where the aggregate looks at them."""
        if self.counts_rows:
            return (value,)
        if self._hashes:
            return (hash_value(value),)
        when = position if now is None else now
        return tuple(
            value if name == VALUE else when if name == ORDER else True if name == THERE else position
            for name in self.inputs
        )

    @property
    def _hashes(self) -> bool:
        return isinstance(self.aggregate.source, Family) and self.aggregate.source.hashes


def _inputs_of(aggregate: Aggregate) -> tuple[str, ...]:
    source = aggregate.source
    if isinstance(source, Monoid) or 0 in source.columns:
        return (VALUE,)
    named = source.completed((VALUE,), dict(aggregate.options))
    return tuple(part for k, name in enumerate(named) for part in ((name, THERE) if k in source.nullable else (name,)))


def _check(aggregate: Aggregate, argument: str) -> None:
    if not isinstance(aggregate, Aggregate):
        raise bad(argument, aggregate, "an unbound aggregate, e.g. sw.max() or sw.aggregate(monoid)")
    if aggregate.columns or any(test.column is not None for test in aggregate.conditions):
        raise bad(argument, aggregate, "an unbound aggregate: a live window is fed values, not columns")
    source = aggregate.source
    if isinstance(source, Family) and min(source.columns) > 1:
        raise bad(argument, aggregate, "an aggregate of one value per event")
    check_arity(aggregate, 1)
