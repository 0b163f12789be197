"""A shared plan as a drawing: the composite slide, its edges, and who is answered where. O(edges drawn · queries).

├──────┼──────┤      ┼ a slice ends, ┆ an answer is due in the middle of one
0      2      4
       Q1     Q1
              Q2
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from slidewise.sharing.query import said

if TYPE_CHECKING:
    from slidewise.sharing.plan import Edge, SharedPlan

PER_LINE = 8
"""Edges side by side."""

LINES = 4
"""Lines of edges that are drawn of a long composite slide."""

NAMES = 12
"""Queries that are named below one edge, and in the list; more are counted."""


def draw(plan: SharedPlan) -> str:
    """The drawing that ``print(plan)`` shows.

    >>> import slidewise as sw
    >>> from slidewise.sharing import Query, SharedPlan
    >>> largest = sw.Monoid(identity=float("-inf"), combine=max, name="max")
    >>> print(draw(SharedPlan([Query(largest, 6, 2), Query(largest, 8, 4)])))
    composite slide of 4 rows, by pairs: 2 partials, 2 edges, 1 common; window of 4 partials
    0     2     4
    ├─────┼─────┤
          Q1    Q1
                Q2
    Q1  max over 6 rows every 2: 3 partials
    Q2  max over 8 rows every 4: 4 partials
    """
    names = list(plan.names)
    edges = _some_edges(plan, PER_LINE * LINES + 1)
    lines, first = [_title(plan)], 0
    for at in range(0, min(len(edges), PER_LINE * LINES), PER_LINE):
        part = edges[at : at + PER_LINE]
        lines += _line(plan, first, part, names)
        first = part[-1].at
    if first < plan.composite:
        lines.append("... and so on to the end of the composite slide")
    width = max(map(len, names[:NAMES]))
    for number, name in enumerate(names[:NAMES]):
        lines.append(f"{name:<{width}}  {plan.queries[number]!r}: {plan.partials_of(number):,} partials")
    if len(names) > NAMES:
        lines.append(f"... and {len(names) - NAMES:,} more queries")
    return "\n".join(lines)


def _title(plan: SharedPlan) -> str:
    length = f"{said(plan.composite, plan.axis)}{' rows' if plan.axis == 'rows' else ''}"
    title = f"composite slide of {length}, by {plan.slicing.name}: "
    if plan.listable:
        title += f"{plan.partials:,} partials, {len(plan.edges):,} edges, {plan.common:,} common"
    else:
        title += f"at most {plan.partials:,} partials"
    title += f"; window of {plan.size:,} partials"
    return title + (f"; {plan.punctuations:,} punctuations" if plan.punctuations else "")


def _some_edges(plan: SharedPlan, most: int) -> tuple[Edge, ...]:
    """The first edges, `most` of them at least where there are so many."""
    if plan.listable:
        return plan.edges
    reach = most * min(beat.period for beat in (*plan.cuts, *plan.ends))
    return plan.edges_between(0, min(plan.composite, reach))


def _line(plan: SharedPlan, first: int, edges: tuple[Edge, ...], names: list[str]) -> list[str]:
    """Edges side by side: their positions, the ruler, and below each one the queries it answers."""
    below = [_named([names[query] for query in edge.answers]) for edge in edges]
    labels = [said(first, plan.axis) if first else "0", *(said(edge.at, plan.axis) for edge in edges)]
    width = 2 + max(4, *(len(label) for label in labels), *(len(name) for column in below for name in column))
    marks = ["├", *("┼" if edge.cut else "┆" for edge in edges)]
    if edges[-1].at == plan.composite:
        marks[-1] = "┤"
    ruler = ("─" * (width - 1)).join(marks)
    rows = ["".join(f"{label:<{width}}" for label in labels).rstrip(), ruler]
    for k in range(max(map(len, below), default=0)):
        cells = ["", *(column[k] if k < len(column) else "" for column in below)]
        rows.append("".join(f"{cell:<{width}}" for cell in cells).rstrip())
    return rows


def _named(answered: list[str]) -> list[str]:
    if len(answered) <= NAMES:
        return answered
    return [*answered[: NAMES - 1], f"+{len(answered) - NAMES + 1}"]
