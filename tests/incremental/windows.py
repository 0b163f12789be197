"""Splits, queries and what a plain run over the same rows answers: shared by the tests of incremental jobs."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

import slidewise as sw
from slidewise import incremental as inc
from slidewise.incremental.files import NODES, TEMPORARY
from slidewise.incremental.manifest import load
from tests.same import same

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS = 7
TEXTS = sw.Monoid(identity="", combine=lambda a, b: a + b, name="texts", result="string")
AFFINE = sw.Monoid(
    identity=(1, 0),
    lift=lambda n: (n % 5 + 1, n % 7),
    combine=lambda f, g: ((f[0] * g[0]) % 1009, (g[0] * f[1] + g[1]) % 1009),
    lower=lambda f: f[0] * 10_000 + f[1],
    name="affine",
)
IN_JVM = inc.group_by("k").aggregate(
    sw.count(), sw.sum("n"), sw.mean("n"), sw.stddev("x"), sw.max("x"), sw.sum("x").where("n", ">", 0).alias("some")
)
IN_ARROW = inc.group_by("k", order="t").aggregate(
    sw.aggregate(TEXTS, "s"), sw.aggregate(AFFINE, "n"), sw.median("x"), sw.sum("n"), sw.last("s")
)
QUERIES = {"jvm": IN_JVM, "arrow": IN_ARROW}


def split(number: int, rows: int = ROWS) -> pa.Table:
    """The rows of one split: few keys, one of them null, some of which come and go; nulls, NaN, times that rise."""
    source = random.Random(number)
    keys = [source.choice(["a", "b", None, f"k{number // 2}", "ä"]) for _ in range(rows)]
    return pa.table(
        {
            "k": pa.array(keys, pa.string()),
            "t": pa.array([number * 1000 + n for n in range(rows)], pa.int64()),
            "n": pa.array([source.choice([None, *range(-9, 9)]) for _ in range(rows)], pa.int64()),
            "x": pa.array([source.choice([None, 1e9 + source.random(), 1e9]) for _ in range(rows)], pa.float64()),
            "s": pa.array([f"{number}.{n};" for n in range(rows)], pa.string()),
        }
    )


def expected(query: inc.Query, numbers: Sequence[int], rows: int = ROWS) -> list[dict[str, Any]]:
    """The answers over these splits, by the engine for tables: the last of each key's running answers."""
    if not numbers:
        return []
    table = pa.concat_tables([split(number, rows) for number in numbers])
    answers = sw.slide(
        table.select(["k", "t", "n", "x", "s"]), list(query.aggregates), sw.expanding(), by="k", order="t"
    )
    last = {row["k"]: row for row in answers.to_pylist()}
    names = [one.name for one in query.aggregates]
    return sorted(({"k": key, **{name: row[name] for name in names}} for key, row in last.items()), key=_rank)


def answers(df: DataFrame) -> list[dict[str, Any]]:
    return sorted((row.asDict() for row in df.collect()), key=_rank)


def _rank(row: dict[str, Any]) -> tuple[bool, str]:
    return row["k"] is None, row["k"] or ""


def assert_answers(df: DataFrame, query: inc.Query, numbers: Sequence[int], rows: int = ROWS) -> None:
    got, wanted = answers(df), expected(query, numbers, rows)
    assert [row["k"] for row in got] == [row["k"] for row in wanted]
    for mine, theirs in zip(got, wanted, strict=True):
        for name, value in theirs.items():
            scale = 1e9 * ROWS * len(numbers) if isinstance(value, float) and not math.isnan(value) else None
            assert same(mine[name], value, scale), (name, mine, theirs)


def frame(spark: SparkSession, number: int, rows: int = ROWS) -> DataFrame:
    return spark.createDataFrame(split(number, rows))


def assert_nothing_leaked(places: Sequence[Path]) -> None:
    """Every file is one that the manifest names, in every replica, and nothing half-written is left."""
    manifest = load(tuple(map(str, places)))
    assert manifest is not None
    named = {part.file for node in manifest.nodes.values() for part in node.parts}
    living = {node for window in manifest.living for node in window}
    assert set(manifest.nodes) <= living
    for place in places:
        assert {path.name for path in (place / NODES).iterdir()} == named
        assert not list(place.glob(f"*{TEMPORARY}"))
