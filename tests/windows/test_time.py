"""Durations however they are written, and times of every unit and zone: a day is 24 h, windows are aligned in UTC."""

from __future__ import annotations

import datetime as dt
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import slidewise as sw
from slidewise.duration import nanoseconds

BERLIN = ZoneInfo("Europe/Berlin")
HOUR = dt.timedelta(hours=1)


@pytest.mark.parametrize(
    ("written", "nanos"),
    [
        ("250 ms", 250_000_000),
        ("5 min", 300_000_000_000),
        ("1 h 30 min", 5_400_000_000_000),
        ("1 day", 86_400_000_000_000),
        ("1.5 s", 1_500_000_000),
        (dt.timedelta(days=1, microseconds=1), 86_400_000_001_000),
        (np.timedelta64(90, "m"), 5_400_000_000_000),
        (np.timedelta64(2, "D"), 172_800_000_000_000),
        (np.timedelta64(1, "W"), 604_800_000_000_000),
        (np.timedelta64(7, "ns"), 7),
        (np.timedelta64(3, "10s"), 30_000_000_000),
        (pd.Timedelta("1h 5ns"), 3_600_000_000_005),
        (pd.Timedelta(2, unit="s"), 2_000_000_000),
    ],
    ids=str,
)
def test_durations(written: Any, nanos: int) -> None:
    assert nanoseconds(written) == nanos
    window = sw.trailing(written)
    assert window == sw.trailing(f"{nanos} ns")
    assert window.by_time
    assert sw.session(written) == sw.session(f"{nanos} ns")
    assert sw.around(written, "1 s") == sw.around(f"{nanos} ns", "1 s")
    assert sw.trailing("100 w").every(written) == sw.trailing("100 w").every(f"{nanos} ns")


def hours(first: dt.datetime, count: int) -> list[dt.datetime]:
    """Full hours from a local time on, as the clock on the wall shows them."""
    start = first.replace(tzinfo=BERLIN).astimezone(dt.UTC)
    return [(start + k * HOUR).astimezone(BERLIN) for k in range(count)]


SPRING, AUTUMN = dt.datetime(2024, 3, 31), dt.datetime(2024, 10, 27)  # a day of 23 hours, a day of 25


@pytest.mark.parametrize("day", [SPRING, AUTUMN], ids=["spring", "autumn"])
@pytest.mark.parametrize("kind", ["arrow", "pandas", "polars", "list"])
def test_a_day_is_24_hours_whatever_the_clock_on_the_wall(day: dt.datetime, kind: str) -> None:
    moments = hours(day - 24 * HOUR, 72)
    arrow = pa.array(moments, pa.timestamp("us", tz="Europe/Berlin"))
    table = pa.table({"t": arrow, "x": [1] * 72})
    if kind == "list":
        made = sw.slide([1] * 72, sw.count(), sw.trailing("1 day"), order=moments)
    else:
        data = {"arrow": table, "pandas": table.to_pandas(), "polars": pl.from_arrow(table)}[kind]
        result = sw.slide(data, sw.count(), sw.trailing("1 day"), order="t")
        made = result["count"].to_pylist() if kind == "arrow" else list(result["count"])
    assert made == [min(k + 1, 24) for k in range(72)]


@pytest.mark.parametrize("day", [SPRING, AUTUMN], ids=["spring", "autumn"])
def test_days_are_aligned_in_utc_and_keep_their_zone(day: dt.datetime) -> None:
    moments = hours(day, 48)
    table = pa.table({"t": pa.array(moments, pa.timestamp("us", tz="Europe/Berlin")), "x": range(48)})
    made = sw.slide(table, sw.count(), sw.tumbling("1 day"), order="t")
    assert made.schema.field("window_start").type == pa.timestamp("us", tz="Europe/Berlin")
    starts = made["window_start"].to_pylist()
    assert all(start.astimezone(dt.UTC).timetz() == dt.time(tzinfo=dt.UTC) for start in starts)
    days = [moment.astimezone(dt.UTC).date() for moment in moments]
    assert made["count"].to_pylist() == [days.count(one) for one in sorted(set(days))]
    ends = made["window_end"].to_pylist()
    lengths = {end.astimezone(dt.UTC) - start.astimezone(dt.UTC) for start, end in zip(starts, ends, strict=True)}
    assert lengths == {24 * HOUR}


def test_the_hour_that_comes_twice_is_two_hours() -> None:
    moments = hours(AUTUMN, 5)  # 0, 1, 2, 2 again, 3 o'clock
    assert [moment.hour for moment in moments] == [0, 1, 2, 2, 3]
    table = pa.table({"t": pa.array(moments, pa.timestamp("us", tz="Europe/Berlin")), "x": [1, 2, 4, 8, 16]})
    assert sw.slide(table, sw.sum("x"), sw.trailing("1 h"), order="t")["sum_x"].to_pylist() == [1, 2, 4, 8, 16]
    assert sw.slide(table, sw.sum("x"), sw.trailing("2 h"), order="t")["sum_x"].to_pylist() == [1, 3, 6, 12, 24]
    assert sw.slide(table, sw.sum("x"), sw.session("59 min"), order="t").num_rows == 5
    assert sw.slide(table, sw.sum("x"), sw.around("1 h", "1 h"), order="t")["sum_x"].to_pylist() == [3, 6, 12, 24, 16]


WINDOWS = [
    sw.trailing("2 d"),
    sw.trailing("2 d", coarse="1 d"),
    sw.around("1 d", "1 d"),
    sw.expanding(ties="together"),
    sw.between("lo", "hi"),
]
TYPES = [
    pa.timestamp("s"),
    pa.timestamp("ms"),
    pa.timestamp("us", tz="UTC"),
    pa.timestamp("ns", tz="Europe/Berlin"),
    pa.timestamp("ns"),
    pa.date32(),
    pa.date64(),
]


@pytest.mark.parametrize("arrow", TYPES, ids=str)
@pytest.mark.parametrize("window", WINDOWS, ids=str)
def test_times_of_every_type(window: Any, arrow: pa.DataType) -> None:
    days = [dt.date(1969, 12, 30) + dt.timedelta(days=k) for k in (0, 1, 1, 3, 5)]

    def column(values: list[dt.date]) -> pa.Array:
        zone = getattr(arrow, "tz", None)
        return (
            pa.array(values, pa.date32())
            .cast(pa.timestamp("us"))
            .cast(pa.int64())
            .cast(pa.timestamp("us", tz=zone))
            .cast(arrow)
        )

    hi = [day + dt.timedelta(days=1) for day in days]
    table = pa.table({"t": column(days), "lo": column(days), "hi": column(hi), "x": [1, 2, 4, 8, 16]})
    plain = table.set_column(0, "t", pa.array([(day - dt.date(1970, 1, 1)).days for day in days]))
    plain = plain.set_column(1, "lo", plain["t"]).set_column(
        2, "hi", pa.array([(d - dt.date(1970, 1, 1)).days for d in hi])
    )
    numbers = {
        "trailing('2 d')": sw.trailing(2, along="order"),
        "trailing('2 d', coarse='1 d')": sw.trailing(2, coarse=1, along="order"),
        "around('1 d', '1 d')": sw.around(1, 1, along="order"),
    }
    expected = sw.slide(plain, sw.sum("x"), numbers.get(repr(window), window), order="t")["sum_x"]
    assert sw.slide(table, sw.sum("x"), window, order="t")["sum_x"] == expected


@pytest.mark.parametrize("arrow", TYPES, ids=str)
def test_sessions_have_bounds_of_the_type_of_the_order(arrow: pa.DataType) -> None:
    table = pa.table({"t": pa.array([0, 1, 5], pa.date32()).cast(pa.timestamp("us")).cast(arrow), "x": [1, 2, 4]})
    made = sw.slide(table, sw.sum("x"), sw.session("1 d"), order="t")
    bound = pa.timestamp("us") if pa.types.is_date(arrow) else arrow
    assert made.schema.field("window_start").type == made.schema.field("window_end").type == bound
    assert sw.schema(table, sw.sum("x"), sw.session("1 d"), order="t") == made.schema
    assert made["sum_x"].to_pylist() == [3, 4]
    ends = made["window_end"].cast(pa.timestamp("us", tz=bound.tz)).cast(pa.int64()).to_pylist()
    assert ends == [2 * 86_400_000_000, 6 * 86_400_000_000]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("bound", ["s", "ms", "us", "ns"])
def test_bounds_of_another_unit_are_compared_exactly(unit: str, bound: str) -> None:
    """Half a second between two seconds: a coarse order or bound must not be rounded over it."""
    fine = bound != "s"
    lo = [1_500 if fine else 2_000, 0]
    hi = [2_500 if fine else 2_000, 999 if fine else 0]
    table = pa.table(
        {
            "t": pa.array([0, 1, 2, 3][:4], pa.timestamp("s")).cast(pa.timestamp(unit)),
            "lo": pa.array([*lo, *lo], pa.timestamp("ms")).cast(pa.timestamp(bound)),
            "hi": pa.array([*hi, *hi], pa.timestamp("ms")).cast(pa.timestamp(bound)),
            "x": [1, 2, 4, 8],
        }
    )
    assert sw.slide(table, sw.sum("x"), sw.between("lo", "hi"), order="t")["sum_x"].to_pylist() == [4, 1, 4, 1]
