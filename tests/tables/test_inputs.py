"""What users hand in that is not a plain column of numbers: a right answer of the same kind, or a clear error."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import slidewise as sw
from slidewise.errors import ArgumentError

TWO = sw.trailing(2)

#: Two values of each type, the larger first.
TYPES: list[pa.Array] = [
    pa.array([2, 1], pa.int8()),
    pa.array([2, 1], pa.uint64()),
    pa.array(np.array([2, 1], np.float16)),
    pa.array([2.5, 1.5], pa.float32()),
    pa.array([True, False]),
    pa.array([Decimal("2.5"), Decimal("1.5")]),
    pa.array(["b", "a"]),
    pa.array(["b", "a"], pa.large_string()),
    pa.array(["b", "a"], pa.string_view()),
    pa.array(["b", "a"]).dictionary_encode(),
    pa.array([b"b", b"a"]),
    pa.array([b"b", b"a"], pa.binary(1)),
    pa.array([b"b", b"a"], pa.binary_view()),
    pa.array([2, 1], pa.date32()),
    pa.array([2 * 86_400_000, 86_400_000], pa.date64()),
    pa.array([2, 1], pa.time32("s")),
    pa.array([2000, 1000], pa.time64("ns")),
    pa.array([2, 1], pa.duration("s")),
    pa.array([2, 1], pa.timestamp("ms", tz="UTC")),
]
of_each_type = pytest.mark.parametrize("array", TYPES, ids=lambda array: str(array.type))


@of_each_type
def test_values_of_any_type(array: pa.Array) -> None:
    result = sw.slide(pa.table({"x": array}), [sw.max("x"), sw.min("x"), sw.count("x")], TWO)
    first, second = array.to_pylist()
    assert result["max_x"].to_pylist() == [first, first]
    assert result["min_x"].to_pylist() == [first, second]
    assert result["count_x"].to_pylist() == [1, 2]


@of_each_type
def test_keys_of_any_type(array: pa.Array) -> None:
    table = pa.table({"k": pa.concat_arrays([array, array]), "n": [1, 2, 4, 8]})
    assert sw.slide(table, sw.sum("n"), TWO, by="k")["sum_n"].to_pylist() == [1, 2, 5, 10]
    windows = sw.slide(table, sw.sum("n"), TWO.every(2), by="k")
    assert windows["k"].to_pylist() == array.to_pylist()[::-1]
    assert windows["sum_n"].to_pylist() == [10, 5]


@of_each_type
def test_order_of_any_type(array: pa.Array) -> None:
    table = pa.table({"o": array, "tie": [0, 0], "n": [1, 2]})
    for order in ("o", ["o", "tie"], ["tie", "o"]):
        assert sw.slide(table, sw.sum("n"), TWO, order=order)["sum_n"].to_pylist() == [3, 2]


def test_a_record_batch_comes_back_as_one() -> None:
    batch = pa.record_batch({"n": [1, 2, 3]})
    for data in (batch, batch.slice(3)):
        for window in (TWO, TWO.every(2)):
            assert isinstance(sw.slide(data, sw.sum("n"), window), pa.RecordBatch)
    assert sw.slide(batch, sw.sum("n"), TWO)["sum_n"].to_pylist() == [1, 3, 5]


def test_subclasses_are_taken_as_what_they_are() -> None:
    class Mine(pd.DataFrame):
        pass

    assert sw.slide(Mine({"n": [1, 2]}), sw.sum("n"), TWO)["sum_n"].tolist() == [1, 3]
    assert sw.slide(type("Many", (list,), {})([1, 2]), sw.sum(), TWO) == [1, 3]


# --- pandas: a result is of the same sort as the column it was computed of -------------------------------------------


@pytest.mark.parametrize(
    ("series", "of_max", "of_mean"),
    [
        (pd.Series([1.0, 2.0, None]), "float64", "float64"),
        (pd.Series([1, 2, 3]), "Int64", "float64"),
        (pd.Series([1, 2, None], dtype="Int32"), "Int32", "Float64"),
        (pd.Series([1, 2, None], dtype="Float64"), "Float64", "Float64"),
        (pd.Series([True, False, None], dtype="boolean"), "boolean", "Float64"),
        (pd.Series([1, 2, None], dtype="int64[pyarrow]"), "int64[pyarrow]", "double[pyarrow]"),
    ],
    ids=lambda value: str(getattr(value, "dtype", "")),
)
def test_pandas_dtypes_of_results(series: pd.Series, of_max: str, of_mean: str) -> None:
    """The first answer is null: the row before the first."""
    window = sw.trailing(1, include_current=False)
    result = sw.slide(pd.DataFrame({"x": series}), [sw.max("x"), sw.mean("x")], window)
    assert (str(result["max_x"].dtype), str(result["mean_x"].dtype)) == (of_max, of_mean)
    assert str(sw.slide(series, sw.max(), window).dtype) == of_max
    assert result["max_x"].isna().tolist() == [True, False, False]


@pytest.mark.parametrize("dtype", ["object", "string", "category", "string[pyarrow]"])
def test_pandas_keys_keep_their_dtype(dtype: str) -> None:
    frame = pd.DataFrame({"k": pd.Series(["b", "a", "b"], dtype=dtype), "n": [1, 2, 4]})
    result = sw.slide(frame, [sw.sum("n"), sw.max("k")], TWO.every(1), by="k")
    assert result["k"].dtype == frame["k"].dtype
    assert result["k"].tolist() == ["a", "b", "b"]
    if dtype.startswith("string"):
        assert result["max_k"].dtype == frame["k"].dtype


def test_pandas_masked_floats_keep_nan_apart_from_null() -> None:
    values = pd.arrays.FloatingArray(np.array([np.nan, 0.0, 3.0]), np.array([False, True, False]))
    result = sw.slide(pd.DataFrame({"v": values}), sw.sum("v"), sw.trailing(1))["sum_v"]
    assert result.isna().tolist() == [False, True, False]
    assert np.isnan(result.array._data[0])


def test_pandas_periods_and_intervals() -> None:
    frame = pd.DataFrame({"p": pd.PeriodIndex(["2025", "2024"], freq="Y"), "i": pd.interval_range(0, 2), "n": [1, 2]})
    assert sw.slide(frame, sw.sum("n"), TWO.every(1), by="p")["p"].tolist() == frame["p"].tolist()[::-1]
    for call in (lambda: sw.slide(frame, sw.max("i"), TWO), lambda: sw.slide(frame, sw.sum("n"), TWO, by="i")):
        with pytest.raises(ArgumentError, match="interval"):
            call()


# --- Polars ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [pl.String, pl.Categorical, pl.Enum(["b", "a"])], ids=str)
def test_polars_keys_keep_their_type(kind: Any) -> None:
    frame = pl.DataFrame({"k": pl.Series(["b", "a", "b"], dtype=kind), "n": [1, 2, 4]})
    result = sw.slide(frame, sw.sum("n"), TWO.every(1), by="k")
    assert result["k"].dtype == frame["k"].dtype
    assert result["k"].to_list() == ["a", "b", "b"]


# --- plain sequences -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ([True, 2, 0.5], [1.0, 2.0, 2.0]),
        ([(1, 2), (0, 5)], [(1, 2), (1, 2)]),
        ([2**70, 1], [2**70, 2**70]),
        (["\ud800", "a"], ["\ud800", "\ud800"]),
        ([dt.time(2), dt.time(1)], [dt.time(2), dt.time(2)]),
        ([], []),
    ],
    ids=["numbers", "tuples", "beyond_int64", "surrogates", "times", "empty"],
)
def test_lists_of_many_things(data: list[Any], expected: list[Any]) -> None:
    assert sw.slide(data, sw.max(), TWO) == expected


def test_an_empty_list_has_no_type() -> None:
    assert sw.slide([], sw.sum(), sw.trailing("1 s"), order=[]) == []
    assert sw.slide([], [sw.sum(), sw.count()], sw.tumbling("1 s"), order=[]) == {"sum": [], "count": []}


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: sw.slide([1, "a"], sw.max(), TWO), "int and str"),
        (lambda: sw.slide([1j, 2j], sw.max(), TWO), "complex"),
        (lambda: sw.slide([dt.date(2024, 1, 1), dt.datetime(2024, 1, 1)], sw.max(), TWO), "date and datetime"),
        (lambda: sw.slide([2**70], sw.sum(), TWO), "beyond 64 bits"),
        (lambda: sw.slide(np.array([2**63], np.uint64), sw.max(), TWO), "uint64.*within int64"),
        (lambda: sw.slide([1, 2], sw.sum(), TWO, order={1, 2}), "order={1, 2}.*array"),
        (lambda: sw.slide([1, 2], sw.sum(), TWO, order=[1, "a"]), "order.*common type"),
        (lambda: sw.slide((1, 2), sw.sum(), TWO), r"data=\(1, 2\).*list"),
        (
            lambda: sw.slide(pa.table({"window_end": [1], "n": [1]}), sw.sum("n"), TWO.every(1), by="window_end"),
            "by='window_end'",
        ),
        (lambda: sw.explain([1], sw.sum(), TWO, algoritm="auto"), "algoritm.*algorithm"),
        (lambda: sw.schema([1], sw.sum(), TWO, lateness="1 s"), "lateness.*stream"),
    ],
)
def test_clear_errors(call: Callable[[], Any], words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        call()


def test_the_schema_is_what_comes() -> None:
    table = pa.table({"k": ["a"], "t": pa.array([0], pa.timestamp("s")), "x": pa.array([1], pa.int16())})
    aggregates = [sw.max("x"), sw.sum("x"), sw.mean("x"), sw.count()]
    for window in (TWO, sw.trailing("1 h"), sw.tumbling("1 h"), TWO.every(1)):
        for data in (table, table.slice(1)):
            schema = sw.schema(data, aggregates, window, by="k", order="t")
            assert sw.slide(data, aggregates, window, by="k", order="t").schema == schema
    assert sw.schema([1, 2], sw.mean(), TWO.every(1), by=["a", "b"]) == pa.schema([("mean", pa.float64())])


def test_zeros_and_nans_are_one_key_each() -> None:
    """As Spark groups them."""
    keys = [0.0, -0.0, float("nan"), float("-nan"), None]
    table = pa.table({"k": pa.array(keys, from_pandas=False), "n": [1, 2, 4, 8, 16]})
    assert sw.slide(table, sw.sum("n"), TWO, by="k")["sum_n"].to_pylist() == [1, 3, 4, 12, 16]
