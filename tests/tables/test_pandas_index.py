"""The index of pandas: a DatetimeIndex is the order of windows by time, levels go by their names, the index is kept."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import slidewise as sw
from slidewise.errors import ArgumentError

SECONDS = [4, 0, 2, 1]
TIMES = pd.DatetimeIndex(pd.to_datetime(SECONDS, unit="s", utc=True))
WINDOWS: list[Any] = [
    sw.trailing("3 s"),
    sw.trailing("3 s", include_current=False, ties="together"),
    sw.trailing("2 s").every("1 s"),
    sw.tumbling("2 s"),
    sw.session("1 s"),
    sw.around("1 s", "1 s"),
    sw.expanding(ties="together"),
    {"a": sw.trailing("3 s"), "b": sw.trailing(2), "c": sw.expanding()},
]


def frame(index: Any) -> pd.DataFrame:
    return pd.DataFrame({"k": ["a", "b", "a", "a"], "x": [1, 2, 4, 8]}, index=index)


def column_form(data: pd.DataFrame) -> pd.DataFrame:
    return data.rename_axis("t").reset_index()


@pytest.mark.parametrize("name", [None, "t", "x y"])
@pytest.mark.parametrize(
    "index", [TIMES, TIMES.tz_localize(None), TIMES.tz_convert("Europe/Berlin")], ids=["utc", "naive", "zoned"]
)
@pytest.mark.parametrize("window", WINDOWS, ids=str)
@pytest.mark.parametrize("by", [None, "k"])
def test_a_datetime_index_is_the_order(name: str | None, index: Any, window: Any, by: str | None) -> None:
    data = frame(index.rename(name))
    given = data.copy()
    made = sw.slide(data, [sw.sum("x"), sw.count()], window, by=by)
    expected = sw.slide(column_form(data), [sw.sum("x"), sw.count()], window, by=by, order="t")
    if "window_start" not in expected:
        pd.testing.assert_index_equal(made.index, data.index)
        assert list(made.columns[:2]) == ["k", "x"]
        expected = expected.drop(columns="t").set_axis(data.index)
    pd.testing.assert_frame_equal(made, expected)
    pd.testing.assert_frame_equal(data, given)
    schema = sw.schema(data, [sw.sum("x"), sw.count()], window, by=by)
    assert schema.names == list(made.columns)
    if name == "t":
        pd.testing.assert_frame_equal(sw.slide(data, [sw.sum("x"), sw.count()], window, by=by, order="t"), made)


def test_rows_are_taken_as_they_come_by_a_window_of_rows() -> None:
    assert sw.slide(frame(TIMES), sw.sum("x"), sw.trailing(2))["sum_x"].tolist() == [1, 3, 6, 12]
    assert sw.slide(frame(TIMES), sw.sum("x"), sw.expanding())["sum_x"].tolist() == [1, 3, 7, 15]


def test_the_index_of_between() -> None:
    data = frame(TIMES.rename("t")).assign(lo=TIMES - pd.Timedelta("1s"), hi=TIMES)
    assert sw.slide(data, sw.sum("x"), sw.between("lo", "hi"))["sum_x"].tolist() == [1, 2, 12, 10]


def test_levels_by_name() -> None:
    index = pd.MultiIndex.from_arrays([["a", "b", "a", "a"], TIMES], names=["key", "t"])
    data = frame(index)
    made = sw.slide(data, sw.sum("x"), sw.trailing("3 s"), by="key", order="t")
    assert made["sum_x"].tolist() == [5, 2, 12, 8]
    pd.testing.assert_index_equal(made.index, index)
    made = sw.slide(data, sw.sum("x"), sw.tumbling("2 s"), by=["key"], order=["t"])
    assert made["key"].tolist() == ["a", "a", "a", "b"]
    assert made["sum_x"].tolist() == [8, 4, 1, 2]
    assert sw.schema(data, sw.sum("x"), sw.tumbling("2 s"), by="key", order="t").field("key").type == pa.string()


def test_a_column_wins_over_a_level() -> None:
    data = frame(TIMES.rename("t")).assign(t=TIMES[::-1])
    made = sw.slide(data, sw.sum("x"), sw.trailing("2 s"), order="t")
    assert made["sum_x"].tolist() == [5, 3, 4, 8]


def test_a_numeric_index_by_name() -> None:
    data = frame(pd.Index([1, 2, 3, 9], name="place"))
    assert sw.slide(data, sw.sum("x"), sw.trailing(2, along="order"), order="place")["sum_x"].tolist() == [1, 3, 6, 8]


def test_series() -> None:
    series = pd.Series([1.0, 2.0, np.nan, 8.0], index=TIMES.rename("t"), name="x")
    made = sw.slide(series, sw.sum(), sw.trailing("3 s"))
    assert made.tolist() == [1.0, 2.0, 10.0, 10.0]
    pd.testing.assert_index_equal(made.index, series.index)
    assert made.name == "x"
    for order in ("t", TIMES, TIMES.to_series()):
        pd.testing.assert_series_equal(sw.slide(series, sw.sum(), sw.trailing("3 s"), order=order), made)
    assert sw.slide(series, sw.sum(), sw.session("1 s")).tolist() == [10.0, 1.0]
    assert sw.slide(series, sw.sum(), sw.trailing(2)).tolist() == [1.0, 3.0, 2.0, 8.0]
    level = pd.Series([1, 2, 4], index=pd.MultiIndex.from_arrays([["a", "b", "a"], [0, 1, 2]], names=["k", "i"]))
    assert sw.slide(level, sw.sum(), sw.trailing(2), by="k").tolist() == [1, 2, 5]


@pytest.mark.parametrize(
    ("call", "parts"),
    [
        (lambda: sw.slide(frame(pd.RangeIndex(4)), sw.sum("x"), sw.trailing("1 s")), ["order=None", "time"]),
        (lambda: sw.slide(frame(TIMES), sw.sum("x"), sw.trailing(2.5)), ["order=None", "2.5"]),
        (lambda: sw.slide(frame(TIMES), sw.sum("x"), sw.trailing("1 s"), order="t"), ["order='t'", "no such column"]),
        (lambda: sw.slide(frame(TIMES.insert(0, pd.NaT)[:4]), sw.sum("x"), sw.trailing("1 s")), ["<index>", "null"]),
        (lambda: sw.slide(pd.Series([1], TIMES[:1]), sw.sum(), sw.trailing(2), order="t"), ["order='t'", "array"]),
    ],
)
def test_bad_calls(call: Any, parts: list[str]) -> None:
    with pytest.raises(ArgumentError) as caught:
        call()
    assert all(part in str(caught.value) for part in parts), str(caught.value)
