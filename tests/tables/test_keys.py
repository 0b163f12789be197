"""Keys of any type, one, two and three of them together, nulls among them, on every kind of table."""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import slidewise as sw

EACH: dict[str, pa.Array] = {
    "bool": pa.array([True, False, None]),
    "int": pa.array([2**62, 2**62 + 1, None]),
    "float": pa.array([0.5, -1.0, None]),
    "date": pa.array([dt.date(2024, 1, 1), dt.date(2024, 1, 2), None]),
    "time": pa.array([dt.datetime(2024, 1, 1), dt.datetime(2024, 1, 1, 0, 0, 0, 1), None], pa.timestamp("us")),
    "decimal": pa.array([Decimal("1.10"), Decimal("1.1") + Decimal("0.01"), None], pa.decimal128(5, 2)),
    "text": pa.array(["", "ä", None]),
    "bytes": pa.array([b"", b"\x00", None]),
    "category": pa.array(["b", "a", None]).dictionary_encode(),
}
#: Every pair of values of every two columns occurs twice: the place in one column by threes, in the other one by one.
SIZE = 18
TABLES: dict[str, Callable[[pa.Table], Any]] = {
    "arrow": lambda table: table,
    "chunked": lambda table: pa.concat_tables([table.slice(0, 7), table.slice(7, 0), table.slice(7)]),
    "pandas": lambda table: table.to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get),
    "pandas_arrow": lambda table: table.to_pandas(types_mapper=pd.ArrowDtype),
    "polars": pl.from_arrow,
    "polars_lazy": lambda table: pl.from_arrow(table).lazy(),
}


def answers(out: Any, name: str) -> list[Any]:
    if isinstance(out, pl.LazyFrame):
        out = out.collect()
    return out[name].to_pylist() if isinstance(out, pa.Table) else out[name].to_list()


def keyed(names: tuple[str, ...]) -> tuple[pa.Table, list[tuple[int, ...]]]:
    """A table, and which value each row has of each key."""
    places = [tuple((row // 3**k) % 3 for k in range(len(names))) for row in range(SIZE)]
    keys = {name: EACH[name].take([place[k] for place in places]) for k, name in enumerate(names)}
    return pa.table({**keys, "n": [2**row for row in range(SIZE)]}), places


def wanted(places: list[tuple[int, ...]], window: int) -> list[int]:
    found = []
    for row, place in enumerate(places):
        mine = [other for other in range(row + 1) if places[other] == place]
        found.append(sum(2**other for other in mine[-window:]))
    return found


@pytest.mark.parametrize("container", TABLES)
@pytest.mark.parametrize("name", EACH)
def test_one_key(name: str, container: str) -> None:
    table, places = keyed((name,))
    out = sw.slide(TABLES[container](table), [sw.sum("n"), sw.last("n")], sw.trailing(3), by=name)
    assert answers(out, "sum_n") == wanted(places, 3)
    assert answers(out, "last_n") == [2**row for row in range(SIZE)]


@pytest.mark.parametrize("container", TABLES)
@pytest.mark.parametrize("names", list(itertools.combinations(EACH, 2)), ids="-".join)
def test_two_keys(names: tuple[str, str], container: str) -> None:
    table, places = keyed(names)
    assert answers(sw.slide(TABLES[container](table), sw.sum("n"), sw.trailing(2), by=list(names)), "sum_n") == wanted(
        places, 2
    )


@pytest.mark.parametrize("container", TABLES)
@pytest.mark.parametrize("names", [("bool", "category", "bytes"), ("date", "decimal", "text")], ids="-".join)
def test_three_keys_per_window(names: tuple[str, ...], container: str) -> None:
    """One row per window: every key's sum of all its rows, with the key as it was."""
    table, places = keyed(names)
    out = sw.slide(TABLES[container](table), sw.sum("n"), sw.trailing(SIZE).every(1), by=list(names))
    got = sorted(zip(answers(out, "window_end"), answers(out, "sum_n"), strict=True))
    ends = [places[: row + 1].count(place) for row, place in enumerate(places)]
    assert got == sorted(zip(ends, wanted(places, SIZE), strict=True))
    if isinstance(out, pa.Table):
        assert out.schema.field(names[0]).type == table.schema.field(names[0]).type
