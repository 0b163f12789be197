"""Factor windows: coarse windows aggregated from the results of finer ones, where a cost model says so.

    events ──► 1 min every 1 min ──► 1 h every 1 h (asked by nobody) ──► 24 h, 7 d, 30 d every 1 h

    paper     Wu, Bernstein et al.: Factor Windows: cost-based query rewriting for optimizing correlated window
              aggregates, arXiv 2008.12379

A span covers another if its windows lie side by side (range = slide) and the other's range and slide are multiples of
it: then every window of the other is a number of its results. A *factor window* is such a span that no query has asked
for, put in between because several coarse ones gain from it. Spans that read one stream of results are a *stage*, a
shared plan of its own.

The model counts ⊕ per unit of the axis, and where that is much the same, partials held. A stage fed `density` events
per unit folds those that do not begin a slice. Its windows then cost their slices less one each if they are combined
afresh; FlatFIT takes every new slice once for all windows, and beyond that one ⊕ per answer, two where there is but one
span. So it jumps along finer answers by itself, and what factors save is mostly the memory of fine slices. (Counted in
the tests: the model is within a sixth.) O(spans²) candidates are tried for every stage there is.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass

from slidewise.errors import bad
from slidewise.monoids.monoid import Monoid
from slidewise.sharing.plan import SharedPlan, Span
from slidewise.sharing.query import Query, said

ANY = Monoid(identity=0, combine=lambda a, b: a, name="any")
"""Stands for whatever is computed: a plan of spans does not look at it."""

SLACK = 0.01
"""The share of ⊕ that is not worth more memory."""


@dataclass(frozen=True)
class Stage:
    """Spans that read one stream: the events (`source` None), or the results of a span of an earlier stage."""

    source: Span | None
    spans: tuple[Span, ...]


@dataclass(frozen=True)
class Cost:
    """⊕ per unit of the axis, and partials held."""

    combines: float
    partials: int

    def beats(self, other: Cost) -> bool:
        """True if it takes fewer ⊕; or, where that is no more than `SLACK` apart, fewer partials.

        >>> Cost(1.001, 100).beats(Cost(1.0, 5000)), Cost(1.1, 100).beats(Cost(1.0, 5000))
        (True, False)
        """
        if abs(self.combines - other.combines) <= SLACK * other.combines:
            return self.partials < other.partials
        return self.combines < other.combines


class FactorPlan:
    """The queries of a plan, each reading events or the results of a finer window, whichever costs less.

    Parameters
    ----------
    plan
        A `SharedPlan`; its slicing is that of every stage.
    density
        Events per unit of the axis: 1 for rows, for times what the stream has.

    >>> import slidewise as sw
    >>> largest = sw.Monoid(identity=float("-inf"), combine=max, name="max")
    >>> print(FactorPlan(SharedPlan([Query(largest, 7, 7), Query(largest, 1000, 10), Query(largest, 2000, 10)])))
    events: 7 every 7, 10 every 10 (factor)
    10 every 10: 1,000 every 10, 2,000 every 10
    1.29 combines per row and 203 partials, where one plan takes 1.29 and 458
    """

    def __init__(self, plan: SharedPlan, density: float = 1.0) -> None:
        if not isinstance(plan, SharedPlan):
            raise bad("plan", plan, "a SharedPlan")
        if isinstance(density, bool) or not isinstance(density, (int, float)) or not 0 < density < math.inf:
            raise bad("density", density, "a positive number: events per unit of the axis")
        self.plan = plan
        self.density = float(density)
        self.alone = self._cost([Stage(None, plan.spans)])
        self.stages = tuple(self._chosen())
        self.cost = self._cost(self.stages)

    @property
    def factors(self) -> tuple[Span, ...]:
        """Spans that nobody asked for."""
        asked = set(self.plan.spans)
        return tuple(span for stage in self.stages for span in stage.spans if span not in asked)

    def stage_plan(self, stage: Stage) -> SharedPlan:
        """A stage's spans as a plan of their own."""
        along = "rows" if self.plan.axis == "rows" else "order"
        return SharedPlan([Query(ANY, span.length, span.step, along) for span in stage.spans], self.plan.slicing)  # type: ignore[arg-type]

    def _chosen(self) -> list[Stage]:
        """Start from one stage for all; put in the factor that saves most, as long as one saves anything."""
        best, cost = [Stage(None, self.plan.spans)], self.alone
        while True:
            tried = [(self._cost(stages), stages) for stages in self._moves(best)]
            better = [one for one in tried if one[0].beats(cost)]
            if not better:
                return best
            cost, best = min(better, key=lambda one: (one[0].partials, one[0].combines))

    def _moves(self, stages: list[Stage]) -> Iterable[list[Stage]]:
        """Every way to have one more stage: some span of a stage, asked for or not, feeds those it covers."""
        for place, stage in enumerate(stages):
            sources = {other.source for other in stages}
            for source in _candidates(stage.spans, stage.source):
                moved = tuple(span for span in stage.spans if span != source and covers(source, span))
                if not moved or source in sources or source == stage.source:
                    continue
                left = tuple(span for span in stage.spans if span not in moved)
                left = left if source in left else (*left, source)
                yield [*stages[:place], Stage(stage.source, left), Stage(source, moved), *stages[place + 1 :]]

    def _cost(self, stages: Iterable[Stage]) -> Cost:
        combines, partials = 0.0, 0
        for stage in stages:
            plan = self.stage_plan(stage)
            density = self.density if stage.source is None else min(self.density, 1 / stage.source.step)
            cuts = min(plan.partials / plan.composite, density)
            each = [(max(0.0, span.length * cuts - 1), 1 / span.step) for span in plan.spans]
            afresh = sum(slices * often for slices, often in each)
            again = cuts + sum(min(slices, 2 if len(each) == 1 else 1) * often for slices, often in each)
            combines += max(0.0, density - cuts) + min(afresh, again)
            partials += plan.size
        return Cost(combines, partials)

    def __str__(self) -> str:
        asked, axis = set(self.plan.spans), self.plan.axis
        lines = []
        for stage in self.stages:
            reads = [_words(span, axis) + ("" if span in asked else " (factor)") for span in stage.spans]
            lines.append(f"{'events' if stage.source is None else _words(stage.source, axis)}: {', '.join(reads)}")
        unit = {"rows": "row", "time": "ns"}.get(axis, "unit")
        ours, alone = self.cost, self.alone
        lines.append(
            f"{ours.combines:.3g} combines per {unit} and {ours.partials:,} partials, where one plan takes "
            f"{alone.combines:.3g} and {alone.partials:,}"
        )
        return "\n".join(lines)


def covers(fine: Span, coarse: Span) -> bool:
    """True if every window of `coarse` is a number of windows of `fine`, side by side.

    >>> covers(Span(5, 5, 0), Span(20, 10, 0)), covers(Span(5, 2, 0), Span(20, 10, 0))
    (True, False)
    """
    side_by_side = fine.length == fine.step and coarse != fine
    return side_by_side and coarse.length % fine.step == 0 and coarse.step % fine.step == 0


def _candidates(spans: tuple[Span, ...], source: Span | None) -> list[Span]:
    """Spans that may feed others: those that are there, and the coarsest that covers some of them."""
    steps = {span.step for span in spans if span.length == span.step}
    for many in (1, 2):
        for some in itertools.combinations(spans, many):
            steps.add(math.gcd(*(length for span in some for length in (span.length, span.step))))
    steps.add(math.gcd(*(length for span in spans for length in (span.length, span.step))))
    least = 1 if source is None else source.step
    return [Span(step, step, 0) for step in sorted(steps) if step > least and step % least == 0]


def _words(span: Span, axis: str) -> str:
    return f"{said(span.length, axis)} every {said(span.step, axis)}"
