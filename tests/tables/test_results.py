"""Results of every sort as each container has them: lists, structs, bytes, decimals, durations, and their nulls."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import slidewise as sw

START = dt.datetime(2024, 1, 1)
TIMES = [START + dt.timedelta(seconds=seconds) for seconds in (0, 2, 5)]
PRICES = [Decimal("1.50"), Decimal("0.25"), Decimal("2.00")]
TABLE = pa.table(
    {
        "n": [3, 1, 2],
        "t": pa.array(TIMES, pa.timestamp("us")),
        "m": pa.array(PRICES, pa.decimal128(5, 2)),
        "s": ["b", "a", "b"],
    }
)
BEFORE = sw.trailing(2, include_current=False)
"""The first answer is null."""

AGGREGATES = [
    sw.top_k("n", 2),
    sw.collect("t"),
    sw.most_frequent("s", 1, counts=True),
    sw.longest_increasing_run("n", "t"),
    sw.bloom("s", capacity=1),
    sw.sum("m"),
    sw.spread("t"),
    sw.any("b"),
]
TYPES = {
    "top_k_n": pa.list_(pa.int64()),
    "collect_t": pa.list_(pa.timestamp("us")),
    "most_frequent_s": pa.list_(pa.struct([("value", pa.string()), ("count", pa.int64())])),
    "longest_increasing_run_n_t": pa.struct(
        {"start": pa.timestamp("us"), "end": pa.timestamp("us"), "interval": pa.duration("us"), "count": pa.int64()}
    ),
    "bloom_s": pa.binary(),
    "sum_m": pa.decimal128(15, 2),
    "spread_t": pa.duration("us"),
    "any_b": pa.bool_(),
}
VALUES: dict[str, list[Any]] = {
    "top_k_n": [None, [3], [3, 1]],
    "collect_t": [None, TIMES[:1], TIMES[:2]],
    "most_frequent_s": [None, [{"value": "b", "count": 1}], [{"value": "a", "count": 1}]],
    "longest_increasing_run_n_t": [None]
    + [{"start": START, "end": START, "interval": dt.timedelta(0), "count": 1}] * 2,
    "sum_m": [None, Decimal("1.50"), Decimal("1.75")],
    "spread_t": [None, dt.timedelta(0), dt.timedelta(seconds=2)],
    "any_b": [None, True, True],
}
DATA = TABLE.append_column("b", pa.array([True, False, None]))


def test_arrow() -> None:
    for data in (DATA, pa.concat_tables([DATA.slice(0, 1), DATA.slice(1)])):
        out = sw.slide(data, AGGREGATES, BEFORE)
        assert {name: out.schema.field(name).type for name in TYPES} == TYPES
        assert {name: out[name].to_pylist() for name in VALUES} == VALUES
        assert [seen is None for seen in out["bloom_s"].to_pylist()] == [True, False, False]


def test_polars() -> None:
    frame = pl.from_arrow(DATA)
    for data in (frame, frame.lazy()):
        out = sw.slide(data, AGGREGATES, BEFORE)
        out = out.collect() if isinstance(out, pl.LazyFrame) else out
        assert {name: out[name].to_list() for name in VALUES} == VALUES
        assert out["sum_m"].dtype == pl.Decimal(15, 2)
        assert out["spread_t"].dtype == pl.Duration("us")
        assert out["top_k_n"].dtype == pl.List(pl.Int64)
        assert out["bloom_s"].dtype == pl.Binary


@pytest.mark.parametrize("kind", ["numpy", "arrow"])
def test_pandas(kind: str) -> None:
    frame = DATA.to_pandas(types_mapper=pd.ArrowDtype if kind == "arrow" else None)
    out = sw.slide(frame, AGGREGATES, BEFORE)
    if kind == "arrow":
        assert {name: out[name].dtype.pyarrow_dtype for name in TYPES} == TYPES
    else:
        assert [str(out[name].dtype) for name in ("spread_t", "any_b", "sum_m")] == [
            "timedelta64[us]",
            "boolean",
            "object",
        ]
    for name, wanted in VALUES.items():
        assert out[name].isna().tolist() == [True, False, False]
        assert [_plain(value) for value in out[name][1:]] == wanted[1:]


def _plain(value: Any) -> Any:
    """A pandas value as Python's."""
    if isinstance(value, np.ndarray):
        return [_plain(one) for one in value.tolist()]
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, (pd.Timestamp, dt.datetime)):
        return pd.Timestamp(value).to_pydatetime()
    return pd.Timedelta(value).to_pytimedelta() if isinstance(value, (pd.Timedelta, dt.timedelta)) else value


@pytest.mark.parametrize(
    ("data", "one", "wanted"),
    [
        ([3, 1, 2], sw.top_k(2), [None, [3], [3, 1]]),
        (TIMES, sw.collect(), VALUES["collect_t"]),
        (TIMES, sw.spread(), VALUES["spread_t"]),
        (PRICES, sw.sum(), VALUES["sum_m"]),
        (PRICES, sw.mean(), [None, Decimal("1.50"), Decimal("0.875")]),
        (["b", "a", "b"], sw.most_frequent(1, counts=True), VALUES["most_frequent_s"]),
        ([3, 1, 2], sw.longest_increasing_run(), [None, (0, 0, 0, 1), (0, 0, 0, 1)]),
        ([True, False, True], sw.any(), [None, True, True]),
    ],
    ids=str,
)
def test_sequences(data: list[Any], one: sw.Aggregate, wanted: list[Any]) -> None:
    assert sw.slide(data, one, BEFORE) == wanted
    series = sw.slide(pl.Series(data), one, BEFORE)
    as_structs = [tuple(value.values()) if isinstance(value, dict) else value for value in series.to_list()]
    assert as_structs == wanted


def test_numpy() -> None:
    def slide(values: Any, one: sw.Aggregate) -> Any:
        return sw.slide(np.array(values), one, BEFORE)

    assert slide([3, 1, 2], sw.top_k(2)).tolist() == [None, [3], [3, 1]]
    assert slide([3, 1, 2], sw.longest_increasing_run()).tolist() == [None, (0, 0, 0, 1), (0, 0, 0, 1)]
    spread = slide(np.array(TIMES, "datetime64[us]"), sw.spread())
    assert spread.dtype == np.dtype("timedelta64[us]")
    assert np.isnat(spread[0])
    assert spread[2] == np.timedelta64(2, "s")
    median = slide([3, 1, 2], sw.median())
    assert median.dtype == np.float64
    assert np.isnan(median[0])
    assert median[1:].tolist() == [3.0, 2.0]
    distinct = slide([3, 1, 2], sw.count_distinct())
    assert distinct.dtype == np.int64
    assert distinct.tolist() == [0, 1, 2]
    assert sw.slide(np.array([True, False]), sw.all(), sw.trailing(2)).dtype == np.bool_


# --- numbers, what went wrong once -----------------------------------------------------------------------------------


def test_the_mean_of_many_integers() -> None:
    """The low halves of negative integers add up beyond what a float holds."""
    assert sw.slide(np.full(3_000_001, -1), sw.mean(), sw.trailing(3_000_001))[-1] == -1.0


def test_decimals_beyond_28_digits() -> None:
    """More than the context of Python's decimals holds by default."""
    large, small = Decimal("12345678901234567890123456789012345678"), Decimal(1)
    assert sw.slide([large, small], sw.sum(), sw.trailing(2)) == [
        large,
        Decimal(12345678901234567890123456789012345679),
    ]
    assert sw.slide([large, small], sw.spread(), sw.trailing(2))[1] == Decimal(12345678901234567890123456789012345677)
    live = sw.LiveWindow(sw.sum(), sw.trailing(2))
    assert live.extend([large, small])[1] == Decimal(12345678901234567890123456789012345679)


def test_the_mean_of_decimals_is_rounded_half_up() -> None:
    """0.01 / 32 is 0.0003125: up, away from zero, as Spark does it."""
    for sign in (1, -1):
        values = [Decimal(sign) / 100] + [Decimal("0.00")] * 31
        table = pa.table({"m": pa.array(values, pa.decimal128(5, 2))})
        mean = sw.slide(table, sw.mean("m"), sw.trailing(32))["mean_m"]
        assert mean.type == pa.decimal128(9, 6)
        assert mean[31].as_py() == sign * Decimal("0.000313")
        assert sw.slide(values, sw.mean(), sw.trailing(32))[31] == sign * Decimal("0.000313")
