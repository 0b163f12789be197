"""`where`: every test, on columns of any type and on live values, is what Python's own exact comparison says.

One oracle for all (tests/definitions.passes): NaN is larger than any number and equal to itself, a null passes
`is null` and nothing else.
"""

from __future__ import annotations

import datetime as dt
import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import slidewise as sw
from slidewise.errors import ArgumentError
from slidewise.monoids.condition import COMPARISONS, TESTS
from tests import definitions

EDGE = 2**53
WHOLE = st.sampled_from([EDGE, EDGE + 1, EDGE - 1, -EDGE - 1, 2**63 - 1, -(2**63), 0, 1, 2]) | st.integers(-3, 3)
_floats = st.sampled_from([0.5, 2.5, -2.5, float(EDGE), 1e300, -0.0, math.inf, -math.inf, math.nan, 1.0, 2.0])
FLOATS = _floats.map(lambda x: x * 1.0)  # a NaN of its own each time
NUMBERS = WHOLE | FLOATS | st.sampled_from([2**64, -(2**70), 10**400])
LETTERS = st.sampled_from(["", "a", "b", "c", "ä"])
MOMENTS = st.integers(0, 3).map(lambda hour: dt.datetime(2024, 1, 1, hour))
DAYS = st.dates(dt.date(2024, 1, 1), dt.date(2024, 1, 4))
COLUMNS: dict[str, tuple[pa.DataType, st.SearchStrategy[Any], st.SearchStrategy[Any]]] = {
    "int64": (pa.int64(), WHOLE, NUMBERS),
    "int8": (pa.int8(), st.integers(-128, 127), NUMBERS),
    "float64": (pa.float64(), FLOATS, NUMBERS),
    "string": (pa.string(), LETTERS, LETTERS),
    "dictionary": (pa.dictionary(pa.int32(), pa.string()), LETTERS, LETTERS),
    "binary": (pa.binary(), LETTERS.map(str.encode), LETTERS.map(str.encode)),
    "bool": (pa.bool_(), st.booleans(), st.booleans()),
    "date": (pa.date32(), DAYS, DAYS),
    "timestamp": (pa.timestamp("us"), MOMENTS, MOMENTS),
    "decimal": (pa.decimal128(6, 2), st.decimals(-9, 9, places=2), st.decimals(-9, 9, places=2)),
}


def condition(draw: Any, others: st.SearchStrategy[Any]) -> tuple[Any, ...]:
    test = draw(st.sampled_from(TESTS))
    if test in ("is null", "is not null"):
        return (test,)
    return (test, draw(others if test in COMPARISONS else st.lists(others, max_size=3)))


@pytest.mark.parametrize("name", COLUMNS)
@given(data=st.data())
def test_columns(name: str, data: st.DataObject) -> None:
    arrow, each, others = COLUMNS[name]
    values = data.draw(st.lists(st.none() | each, max_size=8))
    test = condition(data.draw, others)
    table = pa.table({"x": pa.array(values, arrow)})
    wanted = [int(definitions.passes(value, *test)) for value in values]
    assert sw.slide(table, sw.count().where("x", *test), sw.trailing(1))["count"].to_pylist() == wanted
    chunked = pa.concat_tables([table.slice(0, 3), table.slice(3)])
    assert sw.slide(chunked, sw.count().where("x", *test), sw.trailing(1))["count"].to_pylist() == wanted


@pytest.mark.parametrize("name", ["int64", "float64", "string", "binary", "bool", "date", "decimal"])
@given(data=st.data())
def test_live_values(name: str, data: st.DataObject) -> None:
    """What passes is collected, so that a null that passes is not."""
    _, each, others = COLUMNS[name]
    values = data.draw(st.lists(st.none() | each, max_size=8))
    test = condition(data.draw, others)
    passed = [value for value in values if value is not None and definitions.passes(value, *test)]
    live = sw.LiveWindow(sw.collect().where(*test), sw.trailing(100))
    got = (live.extend(values) or [None])[-1] or []
    assert [definitions.rank(value) for value in got] == [definitions.rank(value) for value in passed]


def test_any_nan_is_in_a_list_with_one() -> None:
    for values, wanted in (([float("nan"), 1.0], [1, 1]), ([1.0, float("nan")], [0, 1])):
        assert sw.LiveWindow(sw.count().where("in", [float("nan"), 7.0]), sw.trailing(2)).extend(values) == wanted
        assert sw.LiveWindow(sw.count().where("not in", [float("nan")]), sw.trailing(1)).extend(values) == [
            int(value == value) for value in values
        ]


def test_numpy_numbers_as_values() -> None:
    table = pa.table({"n": [1, 2, 3], "v": [0.5, math.nan, 2.0]})
    for value in (np.int8(2), np.float32(2), np.uint64(2), np.float64(2)):
        assert sw.slide(table, sw.sum("n").where("n", ">=", value), sw.trailing(3))["sum_n"].to_pylist() == [None, 2, 5]
    got = sw.slide(table, sw.count().where("v", "==", np.float64("nan")), sw.trailing(3))["count"].to_pylist()
    assert got == [0, 1, 1]


def test_a_test_without_a_column_is_of_the_first_column() -> None:
    table = pa.table({"n": [1, 2, 3]})
    assert sw.slide(table, sw.sum("n").where(">", 1), sw.trailing(3))["sum_n"].to_pylist() == [None, 2, 5]


def test_a_column_named_like_a_test() -> None:
    table = pa.table({"in": [1, 2], "n": [4, 8]})
    assert sw.slide(table, sw.sum("n").where("in", "==", 2), sw.trailing(2))["sum_n"].to_pylist() == [None, 8]
    assert sw.slide(table, sw.sum("n").where("in", "in", [1]), sw.trailing(2))["sum_n"].to_pylist() == [4, 4]


def test_rows_that_do_not_pass_may_hold_anything() -> None:
    """An overflow among them does not matter, as with null."""
    table = pa.table({"n": [2**63 - 1, 2**63 - 1, 5], "ok": [False, True, True]})
    got = sw.slide(table, sw.sum("n").where("n", "<", 9).where("ok", "==", True), sw.trailing(3))["sum_n"].to_pylist()
    assert got == [None, None, 5]


def test_a_live_value_that_cannot_be_compared() -> None:
    with pytest.raises(ArgumentError, match=r"where\(.*'a'.*cannot be tested on 5"):
        sw.LiveWindow(sw.count().where(">", "a"), sw.trailing(2)).push(5)
