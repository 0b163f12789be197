"""A stream in one process: random rows, random arrival, random cuts, and the answers that must come out.

    rows ──delayed, cut──► batches with watermarks ──► Bucket on a MemoryStore ──► rows out

Every row has a tie-breaker of its own, `__tie`, so there is one right answer and rows can be told apart.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from hypothesis import settings
from hypothesis import strategies as st

import slidewise as sw
from slidewise.engine.keyed import BEGINNING, TIE
from slidewise.engine.plan import Plan, make_plan
from tests.golden import MONOIDS
from tests.same import same

SECOND = 1_000_000
FAR = 10**15
SCHEMA = pa.schema(
    [
        ("k", pa.string()),
        ("f", pa.float64()),
        ("t", pa.timestamp("us", tz="UTC")),
        ("x", pa.int64()),
        ("s", pa.string()),
        (TIE, pa.int64()),
    ]
)
CONCAT = sw.Monoid(name="concat", **MONOIDS["concat"])
AGGREGATES = [sw.count(), sw.sum("x"), sw.max("x"), sw.stddev("x"), sw.aggregate(CONCAT, "s")]
FEW = sw.evict_while(lambda total, old: total.n - old.n >= 3, uses={"n": sw.count()})
PEAK = sw.evict_while(lambda total, old: old.peak < total.peak, uses={"peak": sw.max("x")}, include_current=False)
PER_EVENT = [
    sw.trailing(3),
    sw.trailing(2, include_current=False),
    sw.trailing("3 s", min_rows=2),
    sw.trailing("2 s", ties="together"),
    {"rows": sw.trailing(4), "time": sw.trailing("2 s", include_current=False)},
    sw.trailing("3 s", coarse="2 s"),
    sw.around("2 s", "1.5 s"),
    sw.expanding(),
    sw.expanding(include_current=False, min_rows=2),
    {"all": sw.expanding(), "rows": sw.trailing(3), "ahead": sw.around("1 s", "1 s")},
    {"time": sw.trailing("3 s"), "ahead": sw.around("1 s", "2 s")},
    {"short": sw.trailing("1 s"), "long": sw.trailing("3 s", min_rows=2)},
    FEW,
    {"peak": PEAK, "all": sw.expanding(ties="together"), "ahead": sw.around("1 s", "1 s")},
]
PER_WINDOW = [
    sw.trailing("3 s").every("2 s"),
    sw.trailing("1 s").every("3 s"),
    sw.tumbling("2 s"),
    sw.session("1 s"),
    {"short": sw.tumbling("1 s"), "long": sw.trailing("4 s").every("1 s")},
    {
        "odd": sw.trailing("3 s").every("2 s"),
        "gaps": sw.trailing("1 s", min_rows=2).every("3 s"),
        "5s": sw.tumbling("5 s"),
    },
]
PER_ROWS = [
    sw.trailing(3).every(2),
    sw.trailing(2, min_rows=2).every(3),
    sw.trailing(5).every(1),
    sw.tumbling(4),
    {"a": sw.trailing(3).every(2), "b": sw.tumbling(5), "c": sw.trailing(1).every(4)},
]
BY: list[list[str]] = [[], ["k"], ["k", "f"], ["f"]]

Row = dict[str, Any]


def few(examples: int) -> settings:
    """So many examples in the normal run, which differ from run to run; a hundred times as many in a thorough one."""
    thorough = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"
    return settings(max_examples=examples * (100 if thorough else 1))


@dataclass
class MemoryStore:
    """A page store whose writes can be thrown away, as Spark does with those of a task that died."""

    record: bytes | None = None
    pages: dict[int, bytes] = field(default_factory=dict)

    def copy(self) -> MemoryStore:
        return MemoryStore(self.record, dict(self.pages))

    def read_record(self) -> bytes | None:
        return self.record

    def write_record(self, record: bytes) -> None:
        self.record = record

    def read_page(self, page: int) -> bytes:
        return self.pages[page]

    def write_page(self, page: int, stored: bytes) -> None:
        self.pages[page] = stored

    def remove_page(self, page: int) -> None:
        del self.pages[page]


@dataclass(frozen=True)
class Batch:
    """Rows that come together, and the watermark then; Spark takes it from the batches before."""

    rows: list[Row]
    watermark: int

    @property
    def table(self) -> pa.Table:
        return table_of(self.rows)


def table_of(rows: Sequence[Row]) -> pa.Table:
    table = pa.Table.from_pylist([{**row, "t": None} for row in rows], schema=SCHEMA)
    return table.set_column(2, "t", pa.array([row["t"] for row in rows], pa.timestamp("us", tz="UTC")))


def plan_of(window: Any, by: list[str], aggregates: Any = AGGREGATES) -> Plan:
    types = dict(zip(SCHEMA.names, SCHEMA.types, strict=True))
    return make_plan(types, aggregates, window, by=by, order=["t"])


@st.composite
def rows(draw: st.DrawFn) -> list[Row]:
    """In no order; keys of null, unicode, NaN and both zeros; many ties of time."""
    size = draw(st.integers(0, 30))
    row = st.fixed_dictionaries(
        {
            "k": st.sampled_from([None, "", "a", "日本"]),
            "f": st.sampled_from([None, math.nan, 0.0, -0.0, 1.5]),
            "t": st.integers(-10, 40).map(lambda half: half * SECOND // 2),
            "x": st.none() | st.integers(-3, 3),
            "s": st.none() | st.sampled_from("xyz"),
        }
    )
    found = draw(st.lists(row, min_size=size, max_size=size))
    ties = draw(st.permutations(range(size)))
    return [{**one, TIE: tie} for one, tie in zip(found, ties, strict=True)]


@st.composite
def batches(draw: st.DrawFn, lateness: int = 2 * SECOND, delay: int = 2 * SECOND) -> list[Batch]:
    """Rows delayed by less than `delay`, cut anywhere; none is late if that is no more than `lateness`."""
    found = draw(rows())
    delays = draw(st.lists(st.integers(0, 4), min_size=len(found), max_size=len(found)))
    moved = sorted(zip(found, delays, strict=True), key=lambda pair: pair[0]["t"] + pair[1] * delay // 5)
    arrived = [row for row, _ in moved]
    cuts = sorted(draw(st.lists(st.integers(0, len(found)), max_size=8)))
    made, watermark = [], BEGINNING
    for first, last in zip([0, *cuts], [*cuts, len(found)], strict=True):
        made.append(Batch(arrived[first:last], watermark))
        watermark = max([watermark, *(row["t"] - lateness for row in arrived[first:last])])
    return made


def sorted_answers(made: Sequence[pa.Table | None], names: Sequence[str]) -> list[tuple[Any, ...]]:
    """All rows of all tables, these columns, sorted by what they say."""
    parts = [table.select(list(names)).to_pylist() for table in made if table is not None]
    return sorted((tuple(row[name] for name in names) for part in parts for row in part), key=repr)


def assert_answers(made: Sequence[pa.Table | None], expected: pa.Table, names: Sequence[str]) -> None:
    """The same rows, in any order; `names` begins with what tells rows apart."""
    got, wanted = sorted_answers(made, names), sorted_answers([expected], names)
    assert len(got) == len(wanted), f"{len(got)} rows, expected {len(wanted)}"
    for one, other in zip(got, wanted, strict=True):
        assert all(same(a, b, 10.0) for a, b in zip(one, other, strict=True)), f"{one}, expected {other} for {names}"


def batch_answer(found: Sequence[Row], window: Any, by: list[str], aggregates: Any = AGGREGATES) -> pa.Table:
    """What `slide` says of the same rows as a table; keys of equal value are one key, as on Spark."""
    plain = [{**row, "f": row["f"] + 0.0 if row["f"] is not None else None} for row in found]
    return sw.slide(table_of(plain), aggregates, window, by=by, order=["t", TIE], algorithm="recalculate")


def names_of(plan: Plan) -> list[str]:
    """The columns to compare, those that tell rows apart first."""
    key = [TIE] if plan.per_event else [*plan.by, *(field.name for field in plan.window_fields())]
    return [*key, *(output.name for output in plan.outputs)]
