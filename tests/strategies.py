"""Hypothesis: random tables, windows and aggregates in the form the oracle takes.

Small ranges on purpose, so that ties, equal keys and rows exactly at a bound are common. Floats stay between 1e-100 and
1e100 in size, where their squares neither overflow nor vanish; integers so small that thirty of them fit an int64.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from slidewise.swag import ALGORITHMS as ALL
from tests.golden import Aggregate, Column, Columns, Window

FUNCTIONS = ("sum", "mean", "var", "stddev", "min", "max", "count")
KEYS = (None, "", "a", "b", "ä", "日本")
ALGORITHMS = ("auto", *(name for name, one in ALL.items() if one.card.needs in ("nothing", "associative")))
"""Those that take any monoid."""
MAX_ROWS = 30

_whole = st.integers(-3, 3) | st.integers(-(2**57), 2**57)
_plain = st.floats(1e-100, 1e100, allow_nan=False) | st.integers(-4, 4).map(float)
finite = _plain | _plain.map(lambda x: -x)
special = st.sampled_from([math.nan, math.inf, -math.inf])

ints = st.none() | _whole
floats = finite | finite | special | st.none()
#: Whole and half seconds around 1970, so that windows of seconds meet rows exactly at their bounds.
times = st.integers(-20, 40).map(lambda half: half * 500_000)


@dataclass(frozen=True)
class Query:
    """One call: what to compute, and over what."""

    columns: Columns
    windows: dict[str, Window]
    by: list[str]
    order: list[str]


def aggregates_of(*columns: str) -> list[Aggregate]:
    """All seven aggregates of each column, and the count of rows."""
    return [Aggregate("count"), *(Aggregate(f, (column,)) for column in columns for f in FUNCTIONS)]


@st.composite
def tables(draw: st.DrawFn, *, unique_times: bool = False, min_rows: int = 0) -> Columns:
    """k string, j int64 (keys, with nulls); t timestamp; n int64, v float64 (values, with nulls)."""
    size = draw(st.integers(min_rows, MAX_ROWS))

    def column(kind: str, values: st.SearchStrategy[Any]) -> Column:
        return Column(kind, draw(st.lists(values, min_size=size, max_size=size)))

    moments = column("timestamp", times)
    if unique_times:
        moments = Column("timestamp", draw(st.lists(times, min_size=size, max_size=size, unique=True)))
    return {
        "k": column("string", st.sampled_from(KEYS)),
        "j": column("int64", st.none() | st.integers(0, 1)),
        "t": moments,
        "n": column("int64", ints),
        "v": column("float64", floats),
    }


@st.composite
def event_windows(draw: st.DrawFn) -> Window:
    """trailing(n) or trailing(duration), with any of its options."""
    rows = draw(st.booleans())
    length = draw(st.sampled_from([1, 2, 3, 5, 8, 100]) if rows else st.sampled_from(["500 ms", "1 s", "3 s", "1 min"]))
    window: Window = {"trailing": length}
    if not draw(st.booleans()):
        window["include_current"] = False
    if draw(st.booleans()):
        window["min_rows"] = draw(st.integers(1, min(length, 3) if rows else 3))
    if not rows and draw(st.booleans()):
        window["ties"] = "together"
    return window


@st.composite
def step_windows(draw: st.DrawFn) -> Window:
    """trailing(duration).every(step), trailing(n).every(m) or tumbling(duration)."""
    kind = draw(st.sampled_from(["time", "rows", "tumbling"]))
    if kind == "tumbling":
        return {"tumbling": draw(st.sampled_from(["500 ms", "2 s", "7 s", "1 h"]))}
    if kind == "rows":
        return {"trailing": draw(st.integers(1, 6)), "every": draw(st.integers(1, 4))}
    size, step = draw(
        st.sampled_from([("3 s", "1 s"), ("3 s", "2 s"), ("5 s", "500 ms"), ("2 s", "2 s"), ("1 min", "7 s")])
    )
    return {"trailing": size, "every": step}


@st.composite
def queries(draw: st.DrawFn, *, per_event: bool) -> Query:
    if per_event:
        windows = (
            {"": draw(event_windows())}
            if draw(st.booleans())
            else {"x": draw(event_windows()), "y": draw(event_windows())}
        )
    else:
        windows = {"": draw(step_windows())}
    by = draw(st.sampled_from([[], ["k"], ["k", "j"], ["j"]]))
    return Query(draw(tables()), windows, by, ["t"])
