"""Every built-in over splits answers what it answers over a table; those of the JVM with NaN, infinities, limits."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyspark import cloudpickle

import slidewise as sw
from slidewise import incremental as inc
from slidewise.errors import ArgumentError
from slidewise.incremental.arrow_worker import Task, bound_from, lowerer, node_writer
from slidewise.incremental.files import SRC, Part, read_part
from slidewise.incremental.jvm import MAKERS
from slidewise.incremental.mark import mark_of
from slidewise.incremental.sheet import node_schema
from slidewise.incremental.steps import Step
from slidewise.monoids import BUILTINS
from slidewise.monoids.aggregate import Aggregate
from tests.catalogue import CORE, VARIANTS, family_of, rare
from tests.same import same

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COLUMNS = ("x", "n", "s", "b", "at")
ROWS = 12


def rows(number: int) -> pa.Table:
    source = random.Random(number)
    size = range(ROWS)
    return pa.table(
        {
            "k": pa.array([source.choice(["a", "b", f"of {number}"]) for _ in size]),
            "t": pa.array([number * 100 + n for n in size], pa.int64()),
            "x": pa.array([source.choice([None, 1.5, 2.25, 8.0, source.uniform(1, 9)]) for _ in size], pa.float64()),
            "n": pa.array([source.choice([None, 1, 5, 2**40]) for _ in size], pa.int64()),
            "s": pa.array([source.choice([None, "x", "y", "ä"]) for _ in size], pa.string()),
            "b": pa.array([source.choice([None, True, False]) for _ in size], pa.bool_()),
            "at": pa.array([number * 10**9 + n * 10**6 for n in size], pa.timestamp("us", tz="UTC")),
        }
    )


def bound(one: Aggregate, name: str) -> Aggregate | None:
    """The aggregate over the first columns that it takes; None if rows must have positions for it."""
    table = rows(0)
    types = dict(zip(table.schema.names, table.schema.types, strict=True))
    family = family_of(one)
    tries: list[tuple[str, ...]] = [()] if 0 in family.columns else []
    tries += [(c,) for c in COLUMNS] if 1 in family.columns else []
    tries += [(a, b) for a in COLUMNS for b in ("at", "t", "n") if a != b] if 2 in family.columns else []
    for columns in sorted(tries, key=len, reverse=True):
        made = replace(one, columns=columns).alias(name)
        try:
            inc.group_by("k", order="t").aggregate(made).bind(types)
        except ArgumentError:
            continue
        return made
    return None


def expected(aggregates: list[Aggregate], tables: list[pa.Table]) -> dict[str, dict[str, Any]]:
    made = sw.slide(pa.concat_tables(tables), aggregates, sw.expanding(), by="k", order="t")
    return {row["k"]: row for row in made.to_pylist()}


def plain(value: Any) -> Any:
    if hasattr(value, "asDict"):
        return {name: plain(part) for name, part in value.asDict().items()}
    if isinstance(value, bytearray):
        return bytes(value)
    return [plain(part) for part in value] if isinstance(value, list) else value


def check(got: list[dict[str, Any]], aggregates: list[Aggregate], tables: list[pa.Table], scale: float) -> None:
    wanted, found = expected(aggregates, tables), {row["k"]: row for row in got}
    assert set(found) == set(wanted)
    for key, row in wanted.items():
        for one in aggregates:
            mine, theirs = plain(found[key][one.name]), row[one.name]
            large = 10 * abs(theirs) if isinstance(theirs, float) and math.isfinite(theirs) else 0.0
            assert same(mine, theirs, max(scale, large)), (one, mine, theirs)


def through_workers(
    query: inc.Query, tables: list[pa.Table], place: Path, answered: bool, apart: bool
) -> list[dict[str, Any]]:
    """What Spark's workers do, on one partition and without Spark: leaves are written, read again and combined.

    With `answered`, every node has its answers beside it, and keys of one leaf alone keep theirs. With `apart` the task
    reads the leaves itself, else they come sorted.
    """
    packed: bytes = cloudpickle.dumps((query, dict(zip(tables[0].schema.names, tables[0].schema.types, strict=True))))
    mark = mark_of(query, bound_from(packed)) if answered else None
    assert (mark is None) != answered
    schema = node_schema(bound_from(packed), answered)

    def run(
        rows: pa.Table, nodes: list[str], new: bool, steps: tuple[Step, ...], written: str, kept: Any
    ) -> list[Part]:
        begin = pa.table({SRC: pa.array([-1], pa.int32())})
        keys = [("k", "ascending"), (SRC, "ascending"), *([("t", "ascending")] if new else [])]
        batches = rows.sort_by(keys).to_batches(max_chunksize=5) if rows.num_rows else []
        task = Task(packed, tuple(nodes), (new,) * len(nodes), steps, (written,), (str(place),), written, mark, kept)
        told = [row for batch in node_writer(task)([*begin.to_batches(), *batches]) for row in batch.to_pylist()]
        return [Part(one["file"], 0, 0, one["checksum"]) for one in told if one["file"]]

    def numbered(table: pa.Table, number: int) -> pa.Table:
        return table.append_column(SRC, pa.array([number] * table.num_rows, pa.int32()))

    nodes = [f"leaf{k}" for k in range(len(tables))]
    leaves = [run(numbered(table, 0), [node], True, (), node, {}) for node, table in zip(nodes, tables, strict=True)]
    read = [
        [read_part(node, part, (str(place),), schema) for part in parts]
        for node, parts in zip(nodes, leaves, strict=True)
    ]
    both = pa.concat_tables([numbered(pa.concat_tables(parts), k) for k, parts in enumerate(read)])
    kept = {k: {0: tuple(parts)} for k, parts in enumerate(leaves)}
    shuffled, nothing = (both, {}), (both.slice(0, 0), kept)
    rows, kept = nothing if apart else shuffled
    (root,) = run(rows, nodes, False, (Step("root", tuple(nodes)),), "root", kept)
    table = read_part("root", root, (str(place),), schema)
    return [row for batch in lowerer(packed, mark)(table.to_batches()) for row in batch.to_pylist()]


@pytest.mark.parametrize("name", [name if name in (*CORE, "median") else rare(name) for name in BUILTINS])
@pytest.mark.parametrize("answered", [False, True], ids=["lowered at last", "answered"])
@pytest.mark.parametrize("apart", [False, True], ids=["shuffled", "read by the task"])
def test_every_builtin_through_arrow(tmp_path: Path, name: str, answered: bool, apart: bool) -> None:
    aggregates = [bound(one, f"{name}_{k}") for k, one in enumerate(VARIANTS[name].values())]
    found = [one for one in aggregates if one is not None]
    assert len(found) == len(aggregates)
    tables = [rows(1), rows(2)]
    query = inc.group_by("k", order="t").aggregate(*found)
    check(through_workers(query, tables, tmp_path, answered, apart), found, tables, scale=1e15)


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("window", [inc.splits(2), inc.splits()], ids=["fixed", "append"])
def test_every_builtin_on_spark(spark: SparkSession, tmp_path: Path, window: inc.Splits) -> None:
    """All of them in one query, over two slides of two splits."""
    made = [bound(one, f"{name}_{k}") for name in BUILTINS for k, one in enumerate(VARIANTS[name].values())]
    found = [one for one in made if one is not None]
    assert len(found) == len(made)
    query = inc.group_by("k", order="t").aggregate(*found)
    job = inc.Job(spark, state=str(tmp_path), query=query, window=window)
    tables = [rows(number) for number in range(4)]
    for first in (0, 2):
        two = tables[first : first + 2]
        df = job.advance({f"s{first + k}": spark.createDataFrame(table) for k, table in enumerate(two)})
        inside = two if window.width else tables[: first + 2]
        check(df.toArrow().to_pylist(), found, inside, scale=1e15)  # times keep their zone on this way


@pytest.mark.slow
@pytest.mark.spark
def test_the_builtins_of_the_jvm(spark: SparkSession, tmp_path: Path) -> None:
    """Numbers of every sort; what a plain run on a table says of NaN, infinities and large integers."""
    aggregates = [
        getattr(sw, name)(column).alias(f"{name}_{column}")
        for name in MAKERS
        for column in ("x", "n", "b", "f")
        if not (name == "product" and column == "n")
    ]
    aggregates += [
        sw.count("s"),
        sw.sum("n").where("s", "in", ["x"]).alias("some"),
        sw.max("n").where("b", "==", True).alias("most"),
    ]
    source = random.Random(5)

    def table(number: int) -> pa.Table:
        base = rows(number)
        x = [source.choice([None, math.nan, math.inf, 1e9, -2.5, 0.0]) for _ in range(ROWS)]
        n = [source.choice([None, 2**55, -(2**55), 3, -7]) for _ in range(ROWS)]
        f = pa.array([source.choice([None, 0.5, -3.25]) for _ in range(ROWS)], pa.float32())
        keyed = base.set_column(2, "x", pa.array(x, pa.float64())).set_column(3, "n", pa.array(n, pa.int64()))
        return keyed.append_column("f", f)

    tables = [table(number) for number in range(3)]
    query = inc.group_by("k").aggregate(*aggregates)
    job = inc.Job(spark, state=str(tmp_path), query=query, window=inc.splits(variable=True))
    job.advance({"0": spark.createDataFrame(tables[0]), "1": spark.createDataFrame(tables[1])})
    answer = job.advance({"2": spark.createDataFrame(tables[2])}, 1)
    assert job.report().engine == "the JVM"
    check([row.asDict() for row in answer.collect()], aggregates, tables[1:], scale=1e22)


@pytest.mark.spark
def test_a_sum_that_does_not_fit_is_told(spark: SparkSession, tmp_path: Path) -> None:
    job = inc.Job(spark, state=str(tmp_path), query=inc.group_by().aggregate(sw.sum("n")), window=inc.splits(2))
    df = spark.createDataFrame(pa.table({"n": [2**62, 2**62]}))
    answer = job.advance({"0": df})
    with pytest.raises(Exception, match="sum: a group's total does not fit in int64"):
        answer.collect()
