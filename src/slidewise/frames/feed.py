"""Aggregates that are fed the values of a buffer: what their lifts take of an event, and what a frame's partials say.

A partial of None stands for "no value yet"; a frame without values answers as a window without any does. O(1) per
event and aggregate.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import Any

from slidewise.errors import ArgumentError, bad, shown
from slidewise.frames.live import Event, Key, Partials
from slidewise.kernels.ops import Ops, object_ops
from slidewise.monoids.aggregate import ORDER, Aggregate, Family
from slidewise.monoids.hashing import hash_value
from slidewise.monoids.kinds import Kind
from slidewise.monoids.monoid import Monoid

VALUE, THERE = "#value", "#there"


class Feed:
    """One aggregate over plain values; `argument` is what a message calls it."""

    def __init__(self, aggregate: object, argument: str) -> None:
        if not isinstance(aggregate, Aggregate):
            raise bad(argument, aggregate, "an unbound aggregate such as sw.count() or sw.sum(), or a list of them")
        if aggregate.conditions:
            raise bad(argument, aggregate, "an aggregate without `where`: a buffer is fed what counts")
        source = aggregate.source
        if isinstance(source, Family) and min(source.columns) > 1:
            raise bad(argument, aggregate, "an aggregate of one value per event")
        if isinstance(source, Monoid):
            _check_lift(aggregate, source, argument)
        self.aggregate = aggregate
        self.name = aggregate.name
        self.counts_rows = isinstance(source, Family) and 0 in source.columns
        self.any_kind = self.counts_rows or isinstance(source, Monoid)
        self._hashes = isinstance(source, Family) and source.hashes
        self._inputs = _inputs(aggregate)
        self._plain = self._inputs == (VALUE,) and not self._hashes
        self.holistic = isinstance(source, Family) and source.nature == "holistic"
        self._ops: Ops | None = None
        self._floats = False

    @property
    def ops(self) -> Ops:
        """Its functions; `settle` chose them."""
        assert self._ops is not None, "values come first"
        return self._ops

    def settle(self, kind: Kind) -> None:
        """Values are of this kind: choose the monoid, or raise `ArgumentError`."""
        kinds: tuple[Kind, ...] = ("int",) if self._hashes else ()
        if not self._hashes:
            kinds = tuple(kind if name == VALUE else "int" for name in self._inputs if name != THERE)
        arity = 1 if self._hashes else len(self._inputs)
        self._ops = object_ops(self.aggregate.monoid(kinds), arity)
        self._floats = kind == "float" and not self.any_kind

    def counts(self, value: Any) -> bool:
        """True unless the value is null and nulls are not counted."""
        return value is not None or self.counts_rows

    def inputs(self, value: Any, key: Key) -> tuple[Any, ...]:
        """The columns of one event, a row each, as the fold takes them."""
        return tuple([one] for one in self._taken(value, key))

    def _taken(self, value: Any, key: Key) -> tuple[Any, ...]:
        """What the lift takes of one event: its value, and its time or arrival where the aggregate looks at them."""
        if self._floats and value is not None:
            value = float(value)
        if self._plain:
            return (value,)
        if self._hashes:
            return (hash_value(value),)
        given = {VALUE: value, ORDER: key[0], THERE: True}
        return tuple(given.get(name, key[1]) for name in self._inputs)

    def measure(self, event: Event) -> Any:
        """The partial of one event; None if it has no value."""
        if not self.counts(event.value):
            return None
        return self.ops.monoid.lifted(*self._taken(event.value, event.key))

    def combine(self, older: Any, newer: Any) -> Any:
        """Two partials as one, either of which may be None."""
        if older is None or newer is None:
            return newer if older is None else older
        return self.ops.combine(older, newer)

    def answer(self, partial: Any) -> Any:
        """What a frame's partial says."""
        if partial is not None:
            return self.ops.monoid.lowered(partial)
        if self._ops is not None and self.ops.monoid.answers_empty:
            return self.ops.monoid.lowered(self.ops.identity)
        return None


class Feeds:
    """The aggregates of a buffer's results, side by side."""

    def __init__(self, feeds: Iterable[Feed]) -> None:
        self.feeds = tuple(feeds)
        self.empty: Partials = (None,) * len(self.feeds)
        self.light = tuple(k for k, feed in enumerate(self.feeds) if not feed.holistic)
        """Those whose partials stay small, so that a tree can keep them for every stretch."""

    def measure(self, event: Event) -> Partials:
        """The partials of one event."""
        return tuple(feed.measure(event) for feed in self.feeds)

    def combine(self, older: Partials, newer: Partials) -> Partials:
        """Older events, then newer ones."""
        return tuple(feed.combine(a, b) for feed, a, b in zip(self.feeds, older, newer, strict=True))

    def fold(self, events: Iterable[Event]) -> Partials:
        """The partials of events in order."""
        total = self.empty
        for event in events:
            total = self.combine(total, self.measure(event))
        return total

    def lighter(self) -> Feeds:
        """Only those whose partials stay small."""
        return Feeds(self.feeds[k] for k in self.light)

    def answers(self, partials: Partials) -> dict[str, Any]:
        """By name."""
        return {feed.name: feed.answer(one) for feed, one in zip(self.feeds, partials, strict=True)}


def feeds_of(aggregates: object) -> Feeds:
    """What a user gave as `aggregates`, checked."""
    given = list(aggregates) if isinstance(aggregates, (list, tuple)) else [aggregates]
    if not given:
        raise bad("aggregates", aggregates, "at least one aggregate")
    feeds = [Feed(one, "aggregates") for one in given]
    for feed in feeds:
        if feed.aggregate.columns:
            raise bad("aggregates", feed.aggregate, "an unbound aggregate: a buffer is fed values, not columns")
    names = [feed.name for feed in feeds]
    if len(set(names)) < len(names):
        raise ArgumentError(f"aggregates={shown(given)}: expected results with different names; use .alias()")
    return Feeds(feeds)


def _inputs(aggregate: Aggregate) -> tuple[str, ...]:
    source = aggregate.source
    if isinstance(source, Monoid) or 0 in source.columns:
        return (VALUE,)
    named = source.completed((VALUE,), dict(aggregate.options))
    return tuple(part for k, name in enumerate(named) for part in ((name, THERE) if k in source.nullable else (name,)))


def _check_lift(aggregate: Aggregate, monoid: Monoid, argument: str) -> None:
    if monoid.lift is None:
        return
    try:
        inspect.signature(monoid.lift).bind(0)
    except TypeError as error:
        raise bad(argument, aggregate, f"an aggregate whose lift takes one value ({error})") from error
    except ValueError:  # a built-in without a signature: found out when it is called
        return
