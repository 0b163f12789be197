"""Every built-in under every algorithm, on every container, found in the registries: a new one is tested from then on.

The oracle is the monoid itself, folded over each window's rows: the law tests vouch for the monoid, this for the rest.
"""

from __future__ import annotations

import datetime as dt
import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import slidewise as sw
from slidewise.engine.columns import kind_of
from slidewise.monoids import BUILTINS
from slidewise.monoids.aggregate import Aggregate
from slidewise.monoids.laws import same
from slidewise.swag import ALGORITHMS

EPOCH = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
WINDOWS = {"3r": sw.trailing(3), "4s": sw.trailing("4 s")}


def make_table(rows: int = 60, seed: int = 5) -> pa.Table:
    draw = random.Random(seed)
    return pa.table(
        {
            "key": [draw.choice(["a", "b", "ü"]) for _ in range(rows)],
            "ts": pa.array([EPOCH + dt.timedelta(seconds=i) for i in range(rows)], pa.timestamp("us", tz="UTC")),
            "whole": pa.array([draw.choice([None, draw.randint(-50, 50)]) for _ in range(rows)], pa.int64()),
            "real": pa.array([draw.choice([None, draw.uniform(-9, 9)]) for _ in range(rows)], pa.float64()),
        }
    )


TABLE = make_table()


def aggregates() -> list[Aggregate]:
    """Every built-in, on every column it takes."""
    found = []
    for name, family in BUILTINS.items():
        kinds = {column: kind_of(TABLE.schema.field(column).type) for column in ("whole", "real")}
        taken = [column for column, kind in kinds.items() if family.choose((kind,)) is not None]
        found.extend(Aggregate(family, (column,)) for column in taken if 1 in family.columns)
        if 0 in family.columns:
            found.append(Aggregate(family, ()))
        assert any(aggregate.source.name == name for aggregate in found), f"{name} takes no number: extend this test"
    return found


def expected(aggregate: Aggregate, window: str, row: int) -> Any:
    """The monoid folded over the row's window."""
    keys, values = TABLE["key"].to_pylist(), None
    mine = [i for i in range(row + 1) if keys[i] == keys[row]]
    mine = mine[-3:] if window == "3r" else [i for i in mine if i > row - 4]
    kinds = tuple(kind_of(TABLE.schema.field(name).type) for name in aggregate.columns)
    monoid = aggregate.monoid(kinds)
    partial, some = monoid.identity, False
    for i in mine:
        values = [TABLE[name][i].as_py() for name in aggregate.columns]
        if None not in values:
            partial, some = monoid.combine(partial, monoid.lifted(*values)), True
    return monoid.lowered(partial) if some or monoid.answers_empty else None


EXPECTED = {
    (aggregate.name, window): [expected(aggregate, window, row) for row in range(len(TABLE))]
    for aggregate in aggregates()
    for window in WINDOWS
}


def check(out: list[dict[str, Any]]) -> None:
    by_time = {row["ts"].astimezone(dt.UTC): row for row in out}
    assert len(by_time) == len(TABLE)
    for (name, window), answers in EXPECTED.items():
        for row, answer in enumerate(answers):
            got = by_time[TABLE["ts"][row].as_py()][f"{name}_{window}"]
            got = None if isinstance(got, float) and math.isnan(got) and answer is None else got
            assert same(got, answer, 1e-9), (name, window, row, got, answer)


TABLES: dict[str, tuple[Callable[[pa.Table], Any], Callable[[Any], list[dict[str, Any]]]]] = {
    "arrow": (lambda table: table, lambda out: out.to_pylist()),
    "pandas": (
        lambda table: table.to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get),  # integers stay integers
        lambda out: pa.Table.from_pandas(out).to_pylist(),
    ),
    "polars": (pl.from_arrow, lambda out: out.to_dicts()),
}


@pytest.mark.parametrize("algorithm", ["auto", *ALGORITHMS])
@pytest.mark.parametrize("container", TABLES)
def test_tables(container: str, algorithm: str) -> None:
    build, read = TABLES[container]
    chosen = [one for one in aggregates() if serves(algorithm, one)]
    out = sw.slide(build(TABLE), chosen, WINDOWS, by="key", order="ts", algorithm=algorithm)
    rows = read(out)
    if len(chosen) == len(aggregates()):
        check(rows)
    else:
        names = {f"{one.name}_{window}" for one in chosen for window in WINDOWS}
        assert names <= set(rows[0])


@pytest.mark.parametrize("algorithm", ["auto", *ALGORITHMS])
@pytest.mark.parametrize("name", BUILTINS)
def test_sequences_and_live_windows(name: str, algorithm: str) -> None:
    for values in ([3, -1, 4, 1, -5, 9, 2, 6], [3.5, -1.0, math.nan, math.inf, 2.0, 7.0, 1.0]):
        aggregate = Aggregate(BUILTINS[name])
        if not serves(algorithm, aggregate):
            continue
        listed = sw.slide(values, aggregate, sw.trailing(3), algorithm=algorithm)
        array = sw.slide(np.array(values), aggregate, sw.trailing(3), algorithm=algorithm)
        live = sw.LiveWindow(aggregate, sw.trailing(3), algorithm).extend(values)
        frame = sw.slide(pd.Series(values, dtype=object), aggregate, sw.trailing(3), algorithm=algorithm)
        assert len(listed) == len(array) == len(live) == len(frame) == len(values)
        for got, one, pushed in zip(listed, array.tolist(), live, strict=True):
            assert same(got, None if got is None and math.isnan(one) else one, 1e-9)
            assert same(got, pushed, 1e-9)


def serves(algorithm: str, aggregate: Aggregate) -> bool:
    """False where an algorithm refuses a monoid, e.g. for want of an inverse."""
    if algorithm == "auto":
        return True
    kinds = tuple(kind_of(TABLE.schema.field(name).type) for name in aggregate.columns) or ("float",)
    try:
        ALGORITHMS[algorithm].refuse(aggregate.monoid(kinds if aggregate.columns else kinds[:1]))
    except sw.errors.ArgumentError:
        return False
    return True


@pytest.mark.spark
@pytest.mark.parametrize("algorithm", ["auto", *ALGORITHMS])
def test_spark_batch(spark: Any, algorithm: str) -> None:
    chosen = [one for one in aggregates() if serves(algorithm, one)]
    out = sw.slide(spark.createDataFrame(TABLE), chosen, WINDOWS, by="key", order="ts", algorithm=algorithm)
    rows = out.toArrow().to_pylist()
    if len(chosen) == len(aggregates()):
        check(rows)


@pytest.mark.spark
def test_spark_stream(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    pq.write_table(TABLE.slice(0, 35), tmp_path / "in" / "0.parquet")
    last = pa.Table.from_pylist([{"key": "z", "ts": EPOCH + dt.timedelta(days=1)}], schema=TABLE.schema)
    pq.write_table(pa.concat_tables([TABLE.slice(35), last]), tmp_path / "in" / "1.parquet")
    stream = spark.readStream.schema(spark.createDataFrame(TABLE).schema).option("maxFilesPerTrigger", 1)
    events = stream.parquet(str(tmp_path / "in"))
    out = sw.slide(events, aggregates(), WINDOWS, by="key", order="ts", lateness="1 h")
    query = (
        out.writeStream.format("memory")
        .queryName("enumerated")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    check([row for row in spark.table("enumerated").toArrow().to_pylist() if row["key"] != "z"])
