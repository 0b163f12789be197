"""Hypothesis: every kind of window along every kind of order, in the form the oracle takes.

An order is a column of times, integers or floats; bounds are two columns of the same type, in any order, with nulls.
Small ranges on purpose, so that ties, rows exactly at a bound and empty windows are common.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

from hypothesis import strategies as st

from tests.golden import Aggregate, Column, Columns, Window
from tests.strategies import KEYS, floats, ints

MAX_ROWS = 24

Along = Literal["timestamp", "int64", "float64"]
ALONG: tuple[Along, ...] = ("timestamp", "int64", "float64")

PLACES: dict[Along, st.SearchStrategy[Any]] = {
    "timestamp": st.integers(-12, 24).map(lambda half: half * 500_000),
    "int64": st.integers(-12, 24),
    "float64": st.integers(-12, 24).map(lambda half: half / 2) | st.sampled_from([0.1, 0.2, 0.3, 0.1 + 0.2, -0.0]),
}
LENGTHS: dict[Along, list[Any]] = {
    "timestamp": ["500 ms", "1 s", "3 s", "1 min"],
    "int64": [1, 2, 5, 100],
    "float64": [0.1, 0.5, 1.0, 2.5, 100.0],
}
NOTHING: dict[Along, Any] = {"timestamp": "0 s", "int64": 0, "float64": 0.0}

#: Neither monoid is commutative: one compiles, one runs on objects.
AGGREGATES = [
    Aggregate("count"),
    Aggregate("sum", ("n",)),
    Aggregate("max", ("v",)),
    Aggregate("mean", ("v",)),
    Aggregate("user:affine", ("p", "q")),
    Aggregate("user:concat", ("u",)),
]


@dataclass(frozen=True)
class Query:
    columns: Columns
    windows: dict[str, Window]
    by: list[str]


@st.composite
def tables(draw: st.DrawFn, along: Along, *, infinite: bool = False) -> Columns:
    """k a key, t the order, lo and hi its bounds; n, v, p, q, u values of all sorts with nulls."""
    size = draw(st.integers(0, MAX_ROWS))

    def column(kind: str, values: st.SearchStrategy[Any]) -> Column:
        return Column(kind, draw(st.lists(values, min_size=size, max_size=size)))

    places = PLACES[along]
    if infinite and along == "float64":
        places = places | st.sampled_from([math.inf, -math.inf])
    rising = draw(st.booleans())
    bounds = [column(along, places | st.none()) for _ in range(2)]
    if rising:  # bounds that move forward, as a sweep can follow
        bounds = [Column(along, sorted(draw(st.lists(places, min_size=size, max_size=size)))) for _ in range(2)]
    moments = column(along, places)
    if rising:
        moments = Column(along, sorted(moments.values))
    return {
        "k": column("string", st.sampled_from(KEYS[:4])),
        "t": moments,
        "lo": bounds[0],
        "hi": bounds[1],
        "n": column("int64", ints),
        "v": column("float64", floats),
        "p": column("int64", st.integers(-1, 1)),
        "q": column("int64", st.integers(-9, 9)),
        "u": column("string", st.none() | st.sampled_from("abcäß")),
    }


@st.composite
def event_windows(draw: st.DrawFn, along: Along) -> Window:
    """Any per-event window, with any of its options."""
    kind = draw(st.sampled_from(["trailing", "coarse", "expanding", "around", "between", "rows", "rows around"]))
    lengths, window = LENGTHS[along], {}
    if kind == "rows":
        window = {"trailing": draw(st.sampled_from([1, 2, 5, 100]))}
    elif kind == "rows around":
        window = {"around": draw(st.sampled_from([[0, 1], [1, 0], [2, 3], [100, 1]]))}
    elif kind == "trailing":
        window = {"trailing": draw(st.sampled_from(lengths))}
    elif kind == "coarse":
        small, large = sorted(draw(st.lists(st.sampled_from(range(len(lengths))), min_size=2, max_size=2)))
        window = {"trailing": lengths[large], "coarse": lengths[small]}
    elif kind == "expanding":
        window = {"expanding": True}
    elif kind == "between":
        window = {"between": ["lo", "hi"]}
    else:
        before = draw(st.sampled_from([NOTHING[along], *lengths]))
        after = draw(st.sampled_from(lengths if before == NOTHING[along] else [NOTHING[along], *lengths]))
        window = {"around": [before, after]}
    if along == "int64" and kind in ("trailing", "coarse", "around"):
        window["along"] = "order"
    if "trailing" in window or "expanding" in window:
        window |= draw(st.sampled_from([{}, {"include_current": False}]))
    if kind not in ("rows", "rows around", "between"):
        window |= draw(st.sampled_from([{}, {"ties": "together"}]))
    return window | draw(st.sampled_from([{}, {}, {"min_rows": 1}]))


@st.composite
def step_windows(draw: st.DrawFn, along: Along, kinds: tuple[str, ...] = ("session", "tumbling", "every")) -> Window:
    """Any window with a row of its own."""
    kind = draw(st.sampled_from(kinds))
    lengths = LENGTHS[along]
    window = {"trailing" if kind == "every" else kind: draw(st.sampled_from(lengths))}
    if kind == "every":
        window["every"] = draw(st.sampled_from(lengths))
    if along == "int64" and kind != "session":
        window["along"] = "order"
    return window | draw(st.sampled_from([{}, {"min_rows": 2}]))


@st.composite
def queries(draw: st.DrawFn, along: Along, *, per_event: bool) -> Query:
    """One window, or several of all sorts at once."""
    by = draw(st.sampled_from([[], ["k"]]))
    if not per_event:
        windows = {"": draw(step_windows(along))}
        if draw(st.booleans()):  # a row wherever one of them ends
            windows = {name: draw(step_windows(along, ("tumbling", "every"))) for name in "xyz"}
        return Query(draw(tables(along)), windows, by)
    windows = {"": draw(event_windows(along))}
    if draw(st.booleans()):
        windows = {name: draw(event_windows(along)) for name in "xyz"}
    stepped = any("coarse" in window for window in windows.values())
    return Query(draw(tables(along, infinite=not stepped)), windows, by)
