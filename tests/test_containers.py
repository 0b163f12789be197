"""Random tables through every container, against the naive oracle; then what containers have of their own."""

from __future__ import annotations

import datetime as dt
import functools
import math
import operator
import random
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import slidewise as sw
from slidewise.errors import ArgumentError
from tests import golden, oracle, strategies
from tests.catalogue import OFTEN, rare
from tests.containers import LATENESS, SEQUENCES, TABLES, Container, Sequence, spark_batch, spark_stream, to_arrow
from tests.golden import Aggregate, Column, Columns, Window
from tests.same import assert_same

AGGREGATES = strategies.aggregates_of("n", "v")


def values(columns: Columns) -> dict[str, list[Any]]:
    return {name: column.values for name, column in columns.items()}


def types(columns: Columns) -> dict[str, str]:
    return {name: column.type for name, column in columns.items()}


# --- tables in process -----------------------------------------------------------------------------------------------


def _run(container: Container, query: strategies.Query, **options: Any) -> Columns:
    result = sw.slide(
        container.build(query.columns),
        golden.aggregates(AGGREGATES),
        golden.windows(query.windows),
        by=query.by or None,
        order="t",
        **options,
    )
    return container.extract(result)


@pytest.mark.parametrize("container", TABLES.values(), ids=lambda container: container.name)
@given(query=strategies.queries(per_event=True))
def test_per_event(container: Container, query: strategies.Query) -> None:
    expected = oracle.slide(container.seen(query.columns), AGGREGATES, query.windows, query.by, query.order)
    result = _run(container, query)
    given_columns = {name: result.pop(name) for name in query.columns}
    assert_same(values(given_columns), values(container.seen(query.columns)))
    assert types(result) == types(expected.columns)
    assert_same(values(result), values(container.seen(expected.columns)), scale=expected.scales)


@pytest.mark.parametrize("container", TABLES.values(), ids=lambda container: container.name)
@given(query=strategies.queries(per_event=False))
def test_per_window(container: Container, query: strategies.Query) -> None:
    expected = oracle.slide(container.seen(query.columns), AGGREGATES, query.windows, query.by, query.order)
    result = _run(container, query)
    assert list(result) == list(expected.columns)
    assert types(result) == types(expected.columns)
    key = [*query.by, "window_end"]
    result, scales = _sorted(result, key), _sorted_scales(expected, key)
    assert_same(values(result), values(container.seen(_sorted(expected.columns, key))), scale=scales)


def _places(columns: Columns, key: list[str]) -> list[int]:
    size = len(columns["window_end"])
    return sorted(range(size), key=lambda row: oracle.key_rank(tuple(columns[name].values[row] for name in key)))


def _sorted(columns: Columns, key: list[str]) -> Columns:
    """Null keys first: where a null sorts is the container's choice."""
    places = _places(columns, key)
    return {name: Column(column.type, [column.values[row] for row in places]) for name, column in columns.items()}


def _sorted_scales(answer: oracle.Answer, key: list[str]) -> dict[str, list[float | None]]:
    places = _places(answer.columns, key)
    return {name: [scales[row] for row in places] for name, scales in answer.scales.items()}


@given(columns=strategies.tables(), window=strategies.step_windows())
def test_windows_come_sorted_by_key_then_end(columns: Columns, window: Window) -> None:
    columns["k"] = Column("string", [value or "" for value in columns["k"].values])
    result = sw.slide(to_arrow(columns), sw.count(), golden.window(window), by="k", order="t")
    rows = list(zip(result.column("k").to_pylist(), result.column("window_end").to_pylist(), strict=True))
    assert rows == sorted(set(rows))


@pytest.mark.parametrize(
    "algorithm", [name if name == "auto" or name in OFTEN else rare(name) for name in strategies.ALGORITHMS]
)
@settings(max_examples=20)
@given(data=st.data())
def test_users_monoids(algorithm: str, data: st.DataObject) -> None:
    """A compiled and an object monoid, neither commutative."""
    size = data.draw(st.integers(0, strategies.MAX_ROWS))
    draw = lambda each: data.draw(st.lists(each, min_size=size, max_size=size))  # noqa: E731
    columns = {
        "k": Column("string", draw(st.sampled_from(strategies.KEYS))),
        "t": Column("timestamp", draw(strategies.times)),
        "p": Column("int64", draw(st.integers(-1, 1))),
        "q": Column("int64", draw(st.integers(-9, 9))),
        "u": Column("string", draw(st.none() | st.sampled_from("abcäß"))),
    }
    window = data.draw(strategies.event_windows())
    specs = [Aggregate("user:affine", ("p", "q")), Aggregate("user:concat", ("u",))]
    expected = oracle.slide(columns, specs, {"": window}, ["k"], ["t"])
    result = sw.slide(
        to_arrow(columns), golden.aggregates(specs), golden.window(window), by="k", order="t", algorithm=algorithm
    )
    for name, column in expected.columns.items():
        assert_same(result.column(name).to_pylist(), column.values)


@pytest.mark.parametrize(
    ("identity", "combine", "data", "expected"),
    [
        (-(2**63), max, [3, 1, 2], [3, 3, 2]),
        (0, operator.add, [3, 1, 2], [3, 4, 3]),
        ((), operator.add, [(3,), (1,), (2,)], [(3,), (3, 1), (1, 2)]),
        (
            frozenset(),
            frozenset.union,
            [frozenset("a"), frozenset("b"), frozenset("a")],
            [{"a"}, {"a", "b"}, {"a", "b"}],
        ),
        (0, functools.partial(lambda k, a, b: a + b + k, 0), [3, 1, 2], [3, 4, 3]),
    ],
    ids=["max", "add", "tuples", "sets", "partial"],
)
def test_combine_may_be_any_callable(identity: Any, combine: Any, data: list[Any], expected: list[Any]) -> None:
    """What cannot be compiled runs as Python."""
    monoid = sw.Monoid(identity=identity, combine=combine, name="own")
    assert sw.slide(data, sw.aggregate(monoid), sw.trailing(2)) == expected


# --- plain sequences -------------------------------------------------------------------------------------------------

_FUNCTIONS = [Aggregate(f, ("x",)) for f in strategies.FUNCTIONS if f != "count"]


@pytest.mark.parametrize("sequence", SEQUENCES.values(), ids=lambda sequence: sequence.name)
@given(data=st.data())
def test_sequence(sequence: Sequence, data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(["int64", "float64"]))
    each = strategies.ints if kind == "int64" else strategies.floats
    each = each if sequence.holds_null else each.filter(lambda value: value is not None)
    column = Column(kind, data.draw(st.lists(each, min_size=1, max_size=strategies.MAX_ROWS)))
    if sequence.name == "list" and kind == "float64":  # a list has its type from its values
        column.values[0] = 0.5
    window = data.draw(strategies.event_windows())
    size = len(column)
    times = Column("timestamp", data.draw(st.lists(strategies.times, min_size=size, max_size=size)))
    ordered = isinstance(window["trailing"], str) or data.draw(st.booleans())
    result = sw.slide(
        sequence.build(column),
        golden.aggregates(_FUNCTIONS, bound=False),
        golden.window(window),
        order=sequence.build(times) if ordered else None,
    )
    expected = oracle.slide(
        {"x": sequence.seen(column), "t": times}, _FUNCTIONS, {"": window}, [], ["t"] if ordered else []
    )
    assert list(result) == [spec.function for spec in _FUNCTIONS]
    for spec in _FUNCTIONS:
        want = expected.columns[spec.name()].values
        got = result[spec.function]
        assert isinstance(got, sequence.kind)
        if sequence.name == "numpy":
            want = _as_numpy(want, got)
        if sequence.nan_is_null:
            want = [None if isinstance(value, float) and math.isnan(value) else value for value in want]
        assert_same(sequence.extract(got), want, scale=expected.scales[spec.name()])


def _as_numpy(want: list[Any], got: np.ndarray) -> list[Any]:
    """Null is NaN; an integer result that may be null is float64."""
    if got.dtype == np.int64:
        return want
    assert got.dtype == np.float64
    return [math.nan if value is None else float(value) for value in want]


def test_list_in_list_out() -> None:
    assert sw.slide([3, 1, 2], sw.max(), sw.trailing(2)) == [3, 3, 2]
    assert sw.slide([3, 1, 2], [sw.max(), sw.sum()], sw.trailing(2)) == {"max": [3, 3, 2], "sum": [3, 4, 3]}
    assert sw.slide([3, 1, 2], [sw.max().alias("top"), sw.count()], sw.trailing(2)) == {
        "top": [3, 3, 2],
        "count": [1, 2, 2],
    }


def test_list_with_several_windows() -> None:
    result = sw.slide([3, 1, 2], sw.max(), {"one": sw.trailing(1), "two": sw.trailing(2)})
    assert result == {"max_one": [3, 1, 2], "max_two": [3, 3, 2]}


@pytest.mark.parametrize("sequence", SEQUENCES.values(), ids=lambda sequence: sequence.name)
@pytest.mark.parametrize("kind", ["int64", "float64"])
def test_empty_sequence(sequence: Sequence, kind: str) -> None:
    result = sw.slide(sequence.build(Column(kind, [])), sw.sum(), sw.trailing(3))
    assert isinstance(result, sequence.kind)
    assert sequence.extract(result) == []


def test_list_of_nulls() -> None:
    assert sw.slide([None, None], sw.sum(), sw.trailing(3)) == [None, None]
    assert sw.slide([None, None], sw.count(), sw.trailing(3)) == [1, 2], "count() counts rows"


def test_column_of_nulls_without_a_type() -> None:
    """As an empty column of a CSV file, or a pandas column of None, arrives."""
    result = sw.slide(pa.table({"v": pa.nulls(2)}), [sw.sum("v"), sw.max("v"), sw.count("v")], sw.trailing(2))
    assert result["sum_v"].to_pylist() == [None, None]
    assert result["max_v"].to_pylist() == [None, None]
    assert result["count_v"].to_pylist() == [0, 0]


def test_list_overflow() -> None:
    with pytest.raises(OverflowError):
        sw.slide([2**63 - 1, 1], sw.sum(), sw.trailing(2))


def test_numpy_views_and_narrow_types() -> None:
    whole = np.arange(20, dtype=np.int32)
    assert sw.slide(whole[::-2], sw.sum(), sw.trailing(2)).tolist() == [19, 36, 32, 28, 24, 20, 16, 12, 8, 4]
    assert sw.slide(whole[:3], sw.max(), sw.trailing(2)).dtype == np.int32
    assert sw.slide(np.float32([0.5, 2]), sw.max(), sw.trailing(2)).dtype == np.float32
    assert sw.slide(np.float32([0.5, 2]), sw.sum(), sw.trailing(2)).dtype == np.float64


def test_numpy_of_the_other_byte_order() -> None:
    swapped = np.array([1, 2, 3], dtype=np.dtype(np.int64).newbyteorder())
    assert sw.slide(swapped, sw.sum(), sw.trailing(2)).tolist() == [1, 3, 5]


def test_numpy_numbers_as_arguments() -> None:
    assert sw.trailing(np.int64(3), min_rows=np.int32(2)) == sw.trailing(3, min_rows=2)
    assert sw.trailing(3).every(np.int64(2)) == sw.trailing(3).every(2)


def test_numpy_nan_is_a_value() -> None:
    result = sw.slide(np.array([1.0, math.nan, 2.0, 3.0]), sw.max(), sw.trailing(2))
    assert_same(result.tolist(), [1.0, math.nan, math.nan, 3.0])


def test_pandas_numpy_nan_is_null() -> None:
    frame = pd.DataFrame({"v": [1.0, math.nan, 2.0, 4.0]})
    result = sw.slide(frame, [sw.max("v"), sw.sum("v"), sw.count("v")], sw.trailing(2))
    assert result["max_v"].tolist() == [1, 1, 2, 4]
    assert result["sum_v"].tolist() == [1, 1, 2, 6]
    assert result["count_v"].tolist() == [1, 1, 1, 2]


def test_pandas_integers_with_null_are_int64() -> None:
    frame = pd.DataFrame({"n": [2**53 + 1, 2, 3]})
    result = sw.slide(frame, sw.max("n"), sw.trailing(2, include_current=False))
    assert str(result["max_n"].dtype) == "Int64"
    assert result["max_n"].tolist() == [pd.NA, 2**53 + 1, 2**53 + 1]


def test_pandas_series_keeps_its_index() -> None:
    series = pd.Series([3, 1, 2], index=["x", "x", "y"])
    result = sw.slide(series, sw.min(), sw.trailing(2))
    assert isinstance(result, pd.Series)
    assert result.index.tolist() == ["x", "x", "y"]
    assert result.tolist() == [3, 1, 1]


# --- what tables have of their own -----------------------------------------------------------------------------------

_TIMES = [dt.datetime(2024, 3, 31, 0, 30) + dt.timedelta(minutes=minutes) for minutes in (0, 20, 40, 100)]


@pytest.mark.parametrize("name", ["arrow", "pandas", "polars"])
def test_naive_times(name: str) -> None:
    """Times without a zone stay without one, in results too."""
    arrow = pa.table({"t": pa.array(_TIMES, pa.timestamp("us")), "n": [1, 2, 4, 8]})
    data = {"arrow": arrow, "pandas": arrow.to_pandas(), "polars": pl.from_arrow(arrow)}[name]
    result = sw.slide(data, sw.sum("n"), sw.trailing("1 h"), order="t")
    assert list(result["sum_n"].to_pylist() if name == "arrow" else result["sum_n"]) == [1, 3, 7, 8]
    result = sw.slide(data, sw.sum("n"), sw.tumbling("1 h"), order="t")
    starts = result["window_start"].to_pylist() if name == "arrow" else list(result["window_start"])
    assert starts == [dt.datetime(2024, 3, 31, hour) for hour in (0, 1, 2)]
    assert list(result["sum_n"].to_pylist() if name == "arrow" else result["sum_n"]) == [3, 4, 8]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_units_of_time(unit: str) -> None:
    """Window bounds have the type of the order column, whatever its unit and zone."""
    kind = pa.timestamp(unit, tz="Europe/Berlin")
    moments = pa.array([0, 59, 60, 3600], pa.timestamp("s")).cast(pa.timestamp(unit)).cast(kind)
    table = pa.table({"t": moments, "n": [1, 2, 4, 8]})
    assert sw.slide(table, sw.sum("n"), sw.trailing("1 min"), order="t")["sum_n"].to_pylist() == [1, 3, 6, 8]
    result = sw.slide(table, sw.sum("n"), sw.tumbling("1 h"), order="t")
    assert result.schema.field("window_start").type == kind
    assert result.schema.field("window_end").type == kind
    assert result["window_end"].cast(pa.int64()).to_pylist() == [
        seconds * {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit] for seconds in (3600, 7200)
    ]


def test_nanoseconds_count() -> None:
    table = pa.table({"t": pa.array([0, 1, 1_000_000_000, 1_000_000_001], pa.timestamp("ns")), "n": [1, 2, 4, 8]})
    assert sw.slide(table, sw.sum("n"), sw.trailing("1 s"), order="t")["sum_n"].to_pylist() == [1, 3, 6, 12]


def test_dates_as_order() -> None:
    table = pa.table({"t": pa.array([0, 1, 3], pa.date32()), "n": [1, 2, 4]})
    assert sw.slide(table, sw.sum("n"), sw.trailing("2 d"), order="t")["sum_n"].to_pylist() == [1, 3, 4]


def _or_clear_error(call: Callable[[], pa.Table], fragment: str) -> pa.Table | None:
    """Any input gets a clear error (then None) or a right answer."""
    try:
        return call()
    except ArgumentError as error:
        message = str(error)
    assert fragment in message
    return None


@pytest.mark.parametrize("window", [sw.trailing("7 d"), sw.tumbling("7 d")], ids=["trailing", "tumbling"])
def test_times_at_the_ends_of_int64(window: Any) -> None:
    """No bound wraps around."""
    table = pa.table({"t": pa.array([-(2**63) + 1, 2**63 - 1], pa.timestamp("us")), "n": [1, 2]})
    result = _or_clear_error(lambda: sw.slide(table, sw.sum("n"), window, order="t"), "'t'")
    assert result is None or result["sum_n"].to_pylist() == [1, 2]


@pytest.mark.parametrize(
    "window", [sw.tumbling("1500 ms"), sw.trailing("1 s").every("250 ms")], ids=["tumbling", "every"]
)
def test_bounds_finer_than_the_unit_of_time(window: Any) -> None:
    table = pa.table({"t": pa.array([0, 1, 3], pa.timestamp("s")), "n": [1, 2, 4]})
    fine = table.set_column(0, "t", table["t"].cast(pa.timestamp("ms")))
    expected = sw.slide(fine, sw.sum("n"), window, order="t")
    result = _or_clear_error(lambda: sw.slide(table, sw.sum("n"), window, order="t"), "'t'")
    if result is not None:
        assert result["window_end"].cast(pa.timestamp("ms")).equals(expected["window_end"])
        assert result["sum_n"].equals(expected["sum_n"])


def test_chunked_and_sliced_arrow() -> None:
    whole = pa.table({"k": ["a", "b", "a", "b", "a"], "v": [1.0, None, 3.0, 4.0, 5.0]})
    pieces = pa.concat_tables([whole.slice(0, 2), whole.slice(2, 0), whole.slice(2, 1), whole.slice(3)])
    for table in (whole, pieces):
        result = sw.slide(table.slice(1), [sw.sum("v"), sw.count()], sw.trailing(2), by="k")
        assert result["sum_v"].to_pylist() == [None, 3.0, 4.0, 8.0]
        assert result["count"].to_pylist() == [1, 1, 2, 2]


def test_dictionary_keys() -> None:
    table = pa.table({"k": pa.array(["b", "a", None, "b", None]).dictionary_encode(), "n": [1, 2, 4, 8, 16]})
    result = sw.slide(table, sw.sum("n"), sw.trailing(2), by="k")
    assert result["sum_n"].to_pylist() == [1, 2, 4, 9, 20]
    assert result.schema.field("k").type == table.schema.field("k").type


def test_pandas_categorical_keys() -> None:
    frame = pd.DataFrame({"k": pd.Categorical(["b", "a", None, "b", None]), "n": [1, 2, 4, 8, 16]})
    result = sw.slide(frame, sw.sum("n"), sw.trailing(2), by="k")
    assert result["sum_n"].tolist() == [1, 2, 4, 9, 20]
    assert result["k"].dtype == frame["k"].dtype


@pytest.mark.parametrize(
    "keys",
    [
        [1.5, None, 1.5, 2.5, None],
        [True, None, True, False, None],
        [dt.date(2024, 1, 1), None, dt.date(2024, 1, 1), dt.date(2024, 1, 2), None],
        [b"x", None, b"x", b"y", None],
        [2**62, None, 2**62, 2**62 + 1, None],
    ],
    ids=["float", "bool", "date", "bytes", "int"],
)
def test_keys_of_many_types(keys: list[Any]) -> None:
    table = pa.table({"k": keys, "n": [1, 2, 4, 8, 16]})
    assert sw.slide(table, sw.sum("n"), sw.trailing(5), by="k")["sum_n"].to_pylist() == [1, 2, 5, 8, 18]


def test_other_columns_pass_through() -> None:
    table = pa.table(
        {"v": [1.0, 2.0], "tags": [["a"], None], "what": pa.array([{"x": 1}, {"x": None}]), "b": [True, None]}
    )
    result = sw.slide(table, sw.sum("v"), sw.trailing(2))
    assert result.drop_columns("sum_v").equals(table)


@pytest.mark.parametrize("container", TABLES.values(), ids=lambda container: container.name)
def test_input_is_left_alone(container: Container) -> None:
    columns = {
        "k": Column("string", ["b", None, "b"]),
        "t": Column("timestamp", [3, 2, 1]),
        "v": Column("float64", [1.0, None, 2.0]),
    }
    data = container.build(columns)
    sw.slide(data, sw.sum("v"), sw.trailing(2), by="k", order="t")
    assert_same(values(container.extract(data)), values(container.seen(columns)))
    assert list(container.extract(data)) == list(columns)


def test_presorted_changes_nothing() -> None:
    columns = {"t": Column("timestamp", [0, 1, 1, 5]), "n": Column("int64", [1, 2, 4, 8])}
    for window in (sw.trailing(2), sw.trailing("3 s"), sw.tumbling("2 s")):
        plain = sw.slide(to_arrow(columns), sw.sum("n"), window, order="t")
        assert sw.slide(to_arrow(columns), sw.sum("n"), window, order="t", presorted=True).equals(plain)


@pytest.mark.parametrize("length", [7, 100_000, 1_500_000])
def test_threads_change_nothing(length: int) -> None:
    """Fixed chunks with halos, longer and shorter than the window: the cut does not depend on the number of threads."""
    size = 2**21 + 17
    floats = np.random.default_rng(5).normal(size=size)
    ints = np.arange(size) * 7 % 1_000_003
    one, two = (
        [sw.slide(data, [sw.sum(), sw.max()], sw.trailing(length), threads=threads) for data in (floats, ints)]
        for threads in (1, 2)
    )
    for alone, together in zip(one, two, strict=True):
        for name, column in alone.items():
            np.testing.assert_array_equal(together[name], column)
    total = np.concatenate([[0], np.cumsum(ints)])
    end = np.arange(1, size + 1)
    np.testing.assert_array_equal(one[1]["sum"], total[end] - total[np.maximum(end - length, 0)])
    rolling = pd.Series(floats).rolling(length, min_periods=1).max().to_numpy()
    np.testing.assert_array_equal(one[0]["max"], rolling)


def test_one_aggregate_or_a_list_of_one() -> None:
    table = pa.table({"v": [1.0, 2.0]})
    assert sw.slide(table, [sw.sum("v")], sw.trailing(2)).equals(sw.slide(table, sw.sum("v"), sw.trailing(2)))


def test_windows_are_values() -> None:
    """Equal windows are equal, and one can be used many times."""
    assert sw.trailing("5 min") == sw.trailing("300 s")
    assert sw.trailing(5) != sw.trailing(5, include_current=False)
    assert hash(sw.trailing(5, min_rows=2)) == hash(sw.trailing(5, min_rows=2))


# --- Spark -----------------------------------------------------------------------------------------------------------


def _random_table(seed: int, size: int = 300) -> Columns:
    """Unique times within a key, since arrival does not survive a shuffle."""
    source = random.Random(seed)
    specials = [None, math.nan, math.inf, -math.inf]
    return {
        "row_": Column("int64", list(range(size))),
        "k": Column("string", [source.choice(["a", "b", None, "ä", ""]) for _ in range(size)]),
        "t": Column("timestamp", [moment * 500_000 for moment in source.sample(range(-400, 800), size)]),
        "n": Column("int64", [source.choice([None, source.randint(-(2**57), 2**57)]) for _ in range(size)]),
        "v": Column(
            "float64", [source.choice([*specials, *(source.gauss(0, 1e3) for _ in range(12))]) for _ in range(size)]
        ),
    }


_EVENT_WINDOWS: dict[str, Window] = {
    "rows": {"trailing": 7},
    "before": {"trailing": 5, "include_current": False, "min_rows": 2},
    "time": {"trailing": "20 s"},
    "leakfree": {"trailing": "1 min", "include_current": False},
}


_STEP_WINDOWS: dict[str, Window] = {
    "every": {"trailing": "20 s", "every": "5 s"},
    "every_rows": {"trailing": 5, "every": 3},
    "tumbling": {"tumbling": "1 min"},
}


def _by_row(columns: Columns) -> Columns:
    places = sorted(range(len(columns["row_"])), key=columns["row_"].values.__getitem__)
    return {name: Column(column.type, [column.values[p] for p in places]) for name, column in columns.items()}


def _check_events(result: Columns, columns: Columns, by: list[str]) -> None:
    expected = oracle.slide(columns, AGGREGATES, _EVENT_WINDOWS, by, ["t"])
    result = _by_row(result)
    assert_same({name: result.pop(name).values for name in columns}, values(columns))
    assert types(result) == types(expected.columns)
    assert_same(values(result), values(expected.columns), scale=expected.scales)


def _check_windows(spark: Any, columns: Columns, window: Window, by: list[str]) -> None:
    result = spark_batch(
        spark,
        columns,
        lambda frame: sw.slide(frame, golden.aggregates(AGGREGATES), golden.window(window), by=by or None, order="t"),
    )
    _check_same_windows(result, columns, window, by)


def _check_same_windows(result: Columns, columns: Columns, window: Window, by: list[str]) -> None:
    expected = oracle.slide(columns, AGGREGATES, {"": window}, by, ["t"])
    assert list(result) == list(expected.columns)
    assert types(result) == types(expected.columns)
    key = [*by, "window_end"]
    want, scales = _sorted(expected.columns, key), _sorted_scales(expected, key)
    assert_same(values(_sorted(result, key)), values(want), scale=scales)


@pytest.mark.spark
@pytest.mark.parametrize("by", [["k"], []], ids=["keys", "no_key"])
def test_spark_batch_per_event(by: list[str], request: pytest.FixtureRequest) -> None:
    columns = _random_table(1)
    result = spark_batch(
        request.getfixturevalue("spark"),
        columns,
        lambda frame: sw.slide(
            frame, golden.aggregates(AGGREGATES), golden.windows(_EVENT_WINDOWS), by=by or None, order="t"
        ),
    )
    _check_events(result, columns, by)


@pytest.fixture
def small_batches(request: pytest.FixtureRequest) -> Iterator[Any]:
    """Spark with Arrow batches of seven rows: windows are carried across them, keys begin and end anywhere."""
    spark = request.getfixturevalue("spark")
    setting = "spark.sql.execution.arrow.maxRecordsPerBatch"
    before = spark.conf.get(setting)
    spark.conf.set(setting, "7")
    yield spark
    spark.conf.set(setting, before)


@pytest.mark.spark
@pytest.mark.parametrize("by", [["k"], []], ids=["keys", "no_key"])
def test_spark_batch_cuts_per_event(by: list[str], small_batches: Any) -> None:
    columns = _random_table(5)
    result = spark_batch(
        small_batches,
        columns,
        lambda frame: sw.slide(
            frame, golden.aggregates(AGGREGATES), golden.windows(_EVENT_WINDOWS), by=by or None, order="t"
        ),
    )
    _check_events(result, columns, by)


@pytest.mark.spark
@pytest.mark.parametrize("by", [["k"], []], ids=["keys", "no_key"])
@pytest.mark.parametrize("window", _STEP_WINDOWS.values(), ids=_STEP_WINDOWS)
def test_spark_batch_cuts_per_window(window: Window, by: list[str], small_batches: Any) -> None:
    _check_windows(small_batches, _random_table(6), window, by)


@pytest.mark.spark
def test_spark_stream_per_event(request: pytest.FixtureRequest) -> None:
    columns = _random_table(2)
    result = spark_stream(
        request.getfixturevalue("spark"),
        columns,
        lambda frame: sw.slide(
            frame, golden.aggregates(AGGREGATES), golden.windows(_EVENT_WINDOWS), by="k", order="t", lateness=LATENESS
        ),
        key="k",
        time="t",
    )
    _check_events(result, columns, ["k"])


def _arriving(columns: Columns, batches: int, lateness: int) -> list[list[int]]:
    """Rows in the order they arrive, none later than `lateness` microseconds, cut into batches at random places."""
    source = random.Random(9)
    times = columns["t"].values
    arrival = sorted(range(len(times)), key=lambda row: times[row] + source.uniform(0, 0.9 * lateness))
    cuts = [0, *sorted(source.sample(range(1, len(arrival)), batches - 1)), len(arrival)]
    return [arrival[start:end] for start, end in pairwise(cuts)]


@pytest.mark.spark
@pytest.mark.parametrize("shape", ["per_event", "per_window"])
def test_spark_stream_carries_windows(shape: str, request: pytest.FixtureRequest) -> None:
    """Rows go out while the stream runs, so windows live on in state: the same answers as a batch however it is cut.

    t      ──────────────────────────────────────────►
    batch  [ 1  ][ 2 ][     3     ][ 4 ][ 5 ]            rows up to 5 s late
    emitted  ▲      ▲          ▲      ▲
    """
    columns = _random_table(7)
    columns["t"] = Column(
        "timestamp", [moment + 3_600_000_000 for moment in columns["t"].values]
    )  # past the first watermark
    window = _STEP_WINDOWS["every"]
    windows = _EVENT_WINDOWS if shape == "per_event" else {"": window}
    result = spark_stream(
        request.getfixturevalue("spark"),
        columns,
        lambda frame: sw.slide(
            frame, golden.aggregates(AGGREGATES), golden.windows(windows), by="k", order="t", lateness="5 s"
        ),
        key="k",
        time="t",
        cuts=_arriving(columns, batches=5, lateness=5_000_000),
    )
    if shape == "per_event":
        _check_events(result, columns, ["k"])
    else:
        _check_same_windows(result, columns, window, ["k"])


@pytest.mark.spark
@pytest.mark.parametrize("window", _STEP_WINDOWS.values(), ids=_STEP_WINDOWS)
def test_spark_batch_per_window(window: Window, request: pytest.FixtureRequest) -> None:
    _check_windows(request.getfixturevalue("spark"), _random_table(3), window, ["k"])


@pytest.mark.spark
def test_spark_batch_users_monoids(request: pytest.FixtureRequest) -> None:
    source = random.Random(4)
    size = 100
    columns = {
        "row_": Column("int64", list(range(size))),
        "k": Column("string", [source.choice(["a", "b", None]) for _ in range(size)]),
        "t": Column("timestamp", [moment * 1_000_000 for moment in source.sample(range(1000), size)]),
        "p": Column("int64", [source.choice([-1, 1]) for _ in range(size)]),
        "q": Column("int64", [source.randint(-9, 9) for _ in range(size)]),
        "u": Column("string", [source.choice([None, "x", "y", "ß"]) for _ in range(size)]),
    }
    specs = [Aggregate("user:affine", ("p", "q")), Aggregate("user:concat", ("u",))]
    expected = oracle.slide(columns, specs, {"": {"trailing": 6}}, ["k"], ["t"])
    result = spark_batch(
        request.getfixturevalue("spark"),
        columns,
        lambda frame: sw.slide(frame, golden.aggregates(specs), sw.trailing(6), by="k", order="t"),
    )
    result = _by_row(result)
    assert_same({name: result[name].values for name in expected.columns}, values(expected.columns))
