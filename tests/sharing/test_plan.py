"""Slices, edges, who is answered where: counts as the spec says, figure 6 of 002, and the drawing."""

from __future__ import annotations

import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slidewise.errors import ArgumentError
from slidewise.sharing import SLICINGS, Pairs, Query, SharedPlan, SharedWindows
from slidewise.sharing.flatfit import FlatFIT
from slidewise.sharing.plan import MOST
from tests.sharing.counting import CONCAT, MAX, SUM, largest

LENGTHS = st.integers(1, 60)


@given(length=LENGTHS, step=LENGTHS, along=st.sampled_from(["rows", "order"]))
def test_the_number_of_partials_per_window(length: int, step: int, along: str) -> None:
    query = Query(MAX, length, step, along=along)  # type: ignore[arg-type]
    found = {name: SharedPlan([query], name).size for name in SLICINGS}
    whole = length % step == 0
    assert found["panes"] == length // math.gcd(length, step)
    assert found["pairs"] == (length // step if whole else 2 * (length // step) + 1)
    assert found["cutty"] <= length // step + 1
    assert {name: SLICINGS[name].partials(query) for name in SLICINGS} == found


@given(length=LENGTHS, step=LENGTHS, along=st.sampled_from(["rows", "order"]))
def test_windows_begin_where_slices_do(length: int, step: int, along: str) -> None:
    for name in SLICINGS:
        plan = SharedPlan([Query(MAX, length, step, along=along)], name)  # type: ignore[arg-type]
        cuts = {edge.at for edge in plan.edges_between(-200, 200) if edge.cut}
        ends = {edge.at for edge in plan.edges_between(-100, 200) if edge.answers}
        assert all(end - length in cuts for end in ends)
        assert name == "cutty" or ends <= cuts
        starts = {end - length for end in ends} | ({0} if along == "rows" else set())
        assert along == "rows" or all(start % step == 0 for start in starts)  # aligned to 0, as tumbling windows are


def test_figure_6() -> None:
    """
    rows    . . . . . . . . . . . .
    Q1      [─────────)                  the last three partials, every 2 rows
    Q2      [─────────────)              the last four, every 4
    slices  |. .|. .|. .|. .|
    """
    plan = SharedPlan([Query(MAX, 6, 2), Query(MAX, 8, 4)])
    assert plan.composite == 4
    assert [(edge.at, edge.cut, edge.answers) for edge in plan.edges] == [(2, True, (0,)), (4, True, (0, 1))]
    assert (plan.partials, plan.size, plan.partials_of(0), plan.partials_of(1)) == (2, 4, 3, 4)
    assert plan.common == 1  # at 4; at 2 only Q1 has a mark


INF = math.inf
FIGURE_6 = [  # two rows: their ⊕ into a slice; the ⊕ and the answer of Q1, of Q2 where it is due; Pointers, Partials
    ((3, 1), 1, (0, 3), None, [1, 2, 3, 0], [-INF, -INF, -INF, 3]),
    ((4, 1), 1, (1, 4), (1, 4), [1, 2, 3, 0], [4, -INF, -INF, 3]),
    ((5, 9), 1, (2, 9), None, [2, 2, 3, 0], [9, 9, -INF, 3]),
    ((2, 6), 1, (1, 9), (2, 9), [3, 2, 3, 0], [9, 9, 6, 3]),
    ((5, 3), 1, (2, 9), None, [3, 2, 0, 0], [9, 9, 6, 5]),
    ((5, 8), 1, (1, 8), (2, 9), [1, 2, 1, 0], [8, 9, 8, 5]),
    ((9, 7), 1, (2, 9), None, [2, 2, 1, 0], [9, 9, 8, 5]),
    ((9, 3), 1, (1, 9), (2, 9), [3, 2, 3, 0], [9, 9, 9, 5]),
]


def test_figure_6_step_by_step() -> None:
    """As printed; a partial is made once for both queries, where apart they would take 8 and 12 ⊕ for theirs."""
    counted = largest()
    plan = SharedPlan([Query(counted.monoid, 6, 2), Query(counted.monoid, 8, 4)])
    windows = SharedWindows(plan, write_back=False)
    assert isinstance(windows.final, FlatFIT)
    assert (windows.final.pointers, windows.final.partials) == ([1, 2, 3, 0], [-INF] * 4)
    row, folds = 0, 0
    for values, folded, q1, q2, pointers, partials in FIGURE_6:
        assert counted.of(lambda x=values[0]: windows.push(x)) == 0  # opens a slice; nobody is answered
        row += 2
        due: list[tuple[int, int, object]] = []
        spent = counted.of(lambda x=values[1], due=due: due.extend(windows.push(x)))
        assert due == [(0, row, q1[1]), *([(1, row, q2[1])] if q2 else [])]
        assert spent == folded + q1[0] + (q2[0] if q2 else 0)
        assert (windows.final.pointers, windows.final.partials) == (pointers, partials)
        folds += folded
    assert folds == 8
    assert counted.lifted == 16
    apart = []
    for length, step in ((2, 2), (4, 4)):  # windows of one partial: nothing but their slices
        alone = largest()
        SharedWindows(SharedPlan([Query(alone.monoid, length, step)])).extend(
            [x for step_ in FIGURE_6 for x in step_[0]]
        )
        apart.append(alone.count)
    assert apart == [8, 12]


@pytest.mark.parametrize(("slicing", "partials"), [("pairs", 6), ("panes", 12), ("cutty", 3)])
def test_the_slices_of_a_composite_slide(slicing: str, partials: int) -> None:
    """
    rows     1  2  3  4  5  6  7  8  9 10 11 12
    5 / 4          (           )                     starts at 3, 7, 11, ends at 4, 8, 12
    9 / 12         (                          )      starts at 3, ends at 12
    """
    plan = SharedPlan([Query(MAX, 5, 4), Query(MAX, 9, 12)], slicing)
    assert (plan.composite, plan.partials) == (12, partials)
    assert plan.punctuations == (3 if slicing == "cutty" else 0)


def test_partial_aggregation_counts() -> None:
    counted = largest()
    plan = SharedPlan([Query(counted.monoid, 12, 12)])  # one slice per window: the final aggregation is free
    windows = SharedWindows(plan)
    windows.extend(list(range(120)))
    assert counted.count == 10 * 11
    assert counted.lifted == 120


def test_queries_of_one_range_and_slide_are_one_span() -> None:
    plan = SharedPlan([Query(MAX, 6, 2), Query(SUM, 6, 2), Query(MAX, 8, 4)])
    assert plan.span_of == (0, 0, 1)
    counted = largest()
    plan = SharedPlan([Query(counted.monoid, 5), Query(counted.monoid, 5)])
    windows = SharedWindows(plan, write_back=False)
    alone = SharedWindows(SharedPlan([Query(counted.monoid, 5)]), write_back=False)
    assert counted.of(lambda: windows.extend(list(range(30)))) == counted.of(lambda: alone.extend(list(range(30))))


SHORT = st.integers(1, 12)


@given(st.lists(st.tuples(SHORT, SHORT), min_size=1, max_size=4), st.sampled_from(list(SLICINGS)))
def test_an_edge_is_common_if_more_than_one_query_has_a_mark_there(
    lengths: list[tuple[int, int]], slicing: str
) -> None:
    """A mark is where a query's slice ends or its answer is due, whether or not others are answered there."""
    plan = SharedPlan([Query(MAX, length, step) for length, step in lengths], slicing)
    alone = [SharedPlan([query], slicing).edges_between(0, plan.composite) for query in plan.queries]
    marks = Counter(edge.at for edges in alone for edge in edges)
    assert set(marks) == {edge.at for edge in plan.edges}
    assert plan.common == sum(count > 1 for count in marks.values())


def test_names_of_queries_are_distinct() -> None:
    plan = SharedPlan([Query(MAX, 5), Query(MAX, 6, name="Q1"), Query(MAX, 7, name="Q1_")])
    assert plan.names == ("Q1__", "Q1", "Q1_")
    assert "Q1__  max over 5 rows every 1" in str(plan)


# ---- the drawing ----------------------------------------------------------------------------------------------------
def test_a_plan_draws_itself() -> None:
    plan = SharedPlan([Query(MAX, "5 min", "3 min", name="short"), Query(SUM, "9 min", "6 min")], slicing="cutty")
    assert str(plan).splitlines() == [
        "composite slide of 6 min, by cutty: 2 partials, 4 edges, 2 common; window of 3 partials; 2 punctuations",
        "0      2 min  3 min  5 min  6 min",
        "├──────┆──────┼──────┆──────┤",
        "       short  Q2     short",
        "short  max over 5 min every 3 min: 2 partials",
        "Q2     sum over 9 min every 6 min: 3 partials",
    ]


@given(st.lists(st.tuples(LENGTHS, LENGTHS), min_size=1, max_size=30), st.sampled_from(list(SLICINGS)))
def test_every_edge_of_a_short_plan_is_drawn(lengths: list[tuple[int, int]], slicing: str) -> None:
    plan = SharedPlan([Query(MAX, length, step) for length, step in lengths], slicing)
    drawn = str(plan)
    assert drawn.startswith(f"composite slide of {plan.composite:,} rows, by {slicing}: ")
    if plan.listable and len(plan.edges) <= 30:
        ruler = [line for line in drawn.splitlines() if line.startswith("├")]
        assert sum(line.count("┼") + line.count("┆") + line.count("┤") for line in ruler) == len(plan.edges)
    assert all(len(line) < 200 for line in drawn.splitlines())


def test_a_composite_slide_too_long_to_list_still_has_a_plan() -> None:
    slides = [7, 11, 13, 17, 19, 23, 29, 31]
    plan = SharedPlan([Query(MAX, 100, slide) for slide in slides])
    assert plan.composite == math.prod(slides)
    assert not plan.listable
    assert "and so on" in str(plan)
    with pytest.raises(ArgumentError, match=f"more than {MOST:,}"):
        plan.edges  # noqa: B018
    assert len(plan.edges_between(0, 77)) > 20


# ---- wrong calls ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Query("max", 5), "monoid='max': expected a slidewise.Monoid"),
        (lambda: Query(MAX, 0), "range=0: expected"),
        (lambda: Query(MAX, 5, 0), "slide=0: expected"),
        (lambda: Query(MAX, 2.5, 1.5), "range=2.5: expected a whole number or a duration"),
        (lambda: Query(MAX, "5 min"), "slide=None: expected how often to answer"),
        (lambda: Query(MAX, "5 min", 3), "slide=3: expected the kind of length that range='5 min' is"),
        (lambda: Query(MAX, 5, name=""), "name='': expected a non-empty string"),
        (lambda: SharedPlan([]), r"queries=\[\]: expected at least one Query"),
        (lambda: SharedPlan([Query(MAX, 5, name="a")] * 2), "queries: 2 are named 'a'; expected each name once"),
        (lambda: SharedPlan(3), "queries=3: expected one or more Query"),
        (lambda: SharedPlan([3]), "queries=3: expected Query values"),
        (lambda: SharedPlan([Query(MAX, 5), Query(MAX, "1 s", "1 s")]), "by 'rows', 'time'; expected all by rows"),
        (lambda: SharedPlan([Query(MAX, 5)], "slabs"), "slicing='slabs': expected one of 'panes', 'pairs', 'cutty'"),
        (lambda: SharedWindows("plan"), "plan='plan': expected a SharedPlan"),
        (lambda: SharedWindows(SharedPlan([Query(MAX, 5)]), "daba"), "final='daba': expected one of 'flatfit'"),
        (lambda: SharedWindows(SharedPlan([Query(MAX, 5)]), "b_int", write_back=False), "write_back=False"),
        (lambda: SharedWindows(SharedPlan([Query(CONCAT, 5)]), types=("float64",)), "types=.*does not compile"),
        (lambda: SharedWindows(SharedPlan([Query(MAX, 5)])).push(1, 2), r"times=\[2\]: the plan counts rows"),
        (lambda: SharedWindows(SharedPlan([Query(MAX, 5)])).advance(2), "time=2: rows have no times"),
        (lambda: SharedWindows(SharedPlan([Query(MAX, "1 s", "1 s")])).push(1), "times=None: expected 1 integers"),
        (lambda: SharedWindows(SharedPlan([Query(MAX, "1 s", "1 s")])).push(1, 1.5), "expected integers"),
    ],
)
def test_wrong_calls_say_what_is_allowed(make: object, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        make()  # type: ignore[operator]


def test_a_slicing_of_ones_own() -> None:
    class Fine:
        name, punctuates = "fine", False

        def beats(self, query: Query) -> tuple[object, ...]:
            return Pairs().beats(Query(query.monoid, 1, 1))

        def partials(self, query: Query) -> int:
            return query.length

    plan = SharedPlan([Query(MAX, 5, 3)], Fine())  # type: ignore[arg-type]
    assert plan.size == 5
