"""A shared plan: many queries over one stream, cut into slices once.

    Q1 range 6 slide 2  |. .|. .|         composite slide: 4, the least common multiple of the slides
    Q2 range 8 slide 4  |. . . .|         edges: 2 (Q1 is answered), 4 (a common edge: Q1 and Q2)
    together            |. .|. .|         2 partials per composite slide serve both

An *edge* is a position where some slice ends or some query is answered; what happens in one composite slide repeats in
the next. Queries of one range and slide are one *span*: they ask for the same slices, whatever they compute. Making a
plan is O(queries); its edges are listed when asked for, O(edges log edges), and never for a composite slide of more
than `MOST` of them, as slides without a common measure have.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from slidewise.errors import ArgumentError, bad, listed
from slidewise.sharing.query import Query
from slidewise.sharing.slicing import Beat, Slicing, slicing_of

MOST = 100_000
"""A composite slide of no more edges is listed; beyond that, a stream is cut stretch by stretch."""


@dataclass(frozen=True)
class Span:
    """A range and a slide that some queries have: a window of slices to be aggregated at every end."""

    length: int
    step: int
    phase: int


@dataclass(frozen=True)
class Edge:
    """A position of the composite slide: whether a slice ends there, and which queries are answered."""

    at: int
    cut: bool
    answers: tuple[int, ...]


class SharedPlan:
    """All queries of a stream as one plan: where it is cut, and who is answered where.

    Parameters
    ----------
    queries
        One or more `Query`, all by rows, or all along times.
    slicing
        ``"pairs"``, ``"panes"``, ``"cutty"``, or a value like them (sharing/slicing.py).

    >>> import slidewise as sw
    >>> largest = sw.Monoid(identity=float("-inf"), combine=max, name="max")
    >>> plan = SharedPlan([Query(largest, 6, 2), Query(largest, 8, 4)])
    >>> plan.composite, [(edge.at, edge.answers) for edge in plan.edges], plan.size
    (4, [(2, (0,)), (4, (0, 1))], 4)
    """

    def __init__(self, queries: Iterable[Query], slicing: str | Slicing = "pairs") -> None:
        self.queries = _checked(queries)
        self.slicing = slicing_of(slicing)
        self.axis = self.queries[0].axis
        spans = [Span(query.length, query.step, query.phase) for query in self.queries]
        self.spans = tuple(dict.fromkeys(spans))
        place = {span: number for number, span in enumerate(self.spans)}
        self.span_of = tuple(place[span] for span in spans)
        """For each query, the number of its span."""
        self.cuts = tuple(sorted({beat for query in self.queries for beat in self.slicing.beats(query)}))
        self.ends = tuple(Beat(span.step, span.phase) for span in self.spans)
        self.composite = math.lcm(*(query.step for query in self.queries))

    @cached_property
    def longest(self) -> int:
        """The longest range; O(spans), once."""
        return max(span.length for span in self.spans)

    @property
    def listable(self) -> bool:
        """True if a composite slide has few enough edges to list them."""
        return sum(self.composite // beat.period for beat in (*self.cuts, *self.ends)) <= MOST

    @cached_property
    def edges(self) -> tuple[Edge, ...]:
        """The edges of the composite slide, positions 1 to `composite`."""
        if not self.listable:
            raise ArgumentError(
                f"edges: a composite slide of {self.composite:,} has more than {MOST:,}; expected slides with a "
                "smaller common multiple, or edges_between(first, last)"
            )
        return self.edges_between(0, self.composite)

    def edges_between(self, first: int, last: int) -> tuple[Edge, ...]:
        """The edges at positions ``first < at ≤ last``.

        >>> import slidewise as sw
        >>> plan = SharedPlan([Query(sw.Monoid(identity=0, combine=max), 5, 3)], slicing="cutty")
        >>> plan.edges_between(0, 4)
        (Edge(at=1, cut=True, answers=()), Edge(at=3, cut=False, answers=(0,)), Edge(at=4, cut=True, answers=()))
        """
        cuts = {int(at) for at in positions(self.cuts, first, last)}
        due: dict[int, list[int]] = {}
        for number, query in enumerate(self.queries):
            for at in positions((Beat(query.step, query.phase),), first, last):
                due.setdefault(int(at), []).append(number)
        return tuple(Edge(at, at in cuts, tuple(due.get(at, ()))) for at in sorted(cuts | set(due)))

    @cached_property
    def common(self) -> int:
        """How many edges of a listed composite slide are common: more than one query has a slice or a window end there.

        >>> import slidewise as sw
        >>> largest = sw.Monoid(identity=float("-inf"), combine=max, name="max")
        >>> SharedPlan([Query(largest, 5, 4), Query(largest, 9, 12)]).common  # 3 and 12: only at 12 are both answered
        2
        """
        marks = []
        for number, span in enumerate(self.spans):
            query = self.queries[self.span_of.index(number)]
            mine = {*self.slicing.beats(query), Beat(span.step, span.phase)}
            marks += [positions(mine, 0, self.composite)] * min(2, self.span_of.count(number))
        _, counts = np.unique(np.concatenate(marks), return_counts=True)
        return int((counts > 1).sum())

    @cached_property
    def names(self) -> tuple[str, ...]:
        """What drawings call the queries: their names, or ``Q1``, ``Q2``, ... by number; no two alike.

        >>> import slidewise as sw
        >>> largest = sw.Monoid(identity=float("-inf"), combine=max, name="max")
        >>> SharedPlan([Query(largest, 5, name="Q2"), Query(largest, 6), Query(largest, 7)]).names
        ('Q2', 'Q2_', 'Q3')
        """
        taken = {query.name for query in self.queries if query.name is not None}
        found = []
        for number, query in enumerate(self.queries, start=1):
            name = query.name or f"Q{number}"
            while query.name is None and name in taken:
                name += "_"
            taken.add(name)
            found.append(name)
        return tuple(found)

    @cached_property
    def partials(self) -> int:
        """Slices per composite slide; at most so many where it is too long to list."""
        if self.listable:
            return len(positions(self.cuts, 0, self.composite))
        return min(self.composite, sum(self.composite // beat.period for beat in self.cuts))

    @property
    def punctuations(self) -> int:
        """Messages in the stream per composite slide that say where slices start; 0 unless the technique needs them."""
        return self.partials if self.slicing.punctuates else 0

    @cached_property
    def size(self) -> int:
        """The window in partials, wSize of 002: the most slices an answer takes; a bound if not listable."""
        return max(self.partials_of(number) for number in range(len(self.queries)))

    def partials_of(self, query: int) -> int:
        """The most slices that one query's answers take, other queries' cuts included; a bound if not listable."""
        span = self.spans[self.span_of[query]]
        if not self.listable:
            return min(span.length, sum(-(-span.length // beat.period) for beat in self.cuts))
        ends = positions((Beat(span.step, span.phase),), 0, self.composite)
        return int((self.cuts_before(ends) - self.cuts_before(ends - span.length)).max())

    def cuts_before(self, at: Any) -> Any:
        """How many cuts lie at 0 or after, before each position; negative for those before 0."""
        cuts = positions(self.cuts, -1, self.composite - 1)
        slides, rest = np.divmod(at, self.composite)
        return slides * len(cuts) + np.searchsorted(cuts, rest)

    def __str__(self) -> str:
        from slidewise.sharing.drawing import draw

        return draw(self)

    def __repr__(self) -> str:
        return f"SharedPlan({list(self.queries)!r}, slicing={self.slicing.name!r})"


def positions(beats: Iterable[Beat], first: int, last: int) -> Any:
    """Where any of the beats lies in ``(first, last]``, ascending, once each; O(k log k) for k of them.

    >>> positions((Beat(2, 0), Beat(3, 0)), 0, 6).tolist()
    [2, 3, 4, 6]
    """
    found = [np.arange(first + 1 + (beat.offset - first - 1) % beat.period, last + 1, beat.period) for beat in beats]
    return np.unique(np.concatenate(found)) if found else np.zeros(0, dtype=np.int64)


def _checked(queries: Iterable[Query]) -> tuple[Query, ...]:
    try:
        found = tuple(queries)
    except TypeError:
        raise bad("queries", queries, "one or more Query, in a list") from None
    if not found:
        raise bad("queries", queries, "at least one Query")
    for query in found:
        if not isinstance(query, Query):
            raise bad("queries", query, "Query values, e.g. Query(monoid, 6, 2)")
    named = [query.name for query in found if query.name is not None]
    for name in named:
        if named.count(name) > 1:
            raise ArgumentError(f"queries: {named.count(name)} are named {name!r}; expected each name once, or none")
    axes = {query.axis for query in found}
    if len(axes) > 1:
        raise ArgumentError(f"queries: by {listed(sorted(axes))}; expected all by rows, or all along the same times")
    return found
