"""Keys cut by a hash of our own: tasks read their parts of kept nodes; states that were cut otherwise go on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as F

import slidewise as sw
from slidewise import incremental as inc
from slidewise.errors import ArgumentError
from slidewise.incremental import manifest
from slidewise.incremental.files import NODES, Part
from slidewise.incremental.manifest import Node
from tests.incremental.windows import IN_ARROW, assert_answers, frame

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def loaded(place: Path) -> manifest.Manifest:
    found = manifest.load((str(place),))
    assert found is not None
    return found


def parts(place: Path) -> list[Part]:
    return [part for node in loaded(place).nodes.values() for part in node.parts]


def uncut(place: Path) -> None:
    """The state as it was before keys were cut."""
    found = loaded(place)
    for name, node in found.nodes.items():
        found.nodes[name] = Node([replace(part, cut=None, cuts=None) for part in node.parts], node.children)
    manifest.save(found, (str(place),))


def test_a_file_has_the_keys_of_its_cut(spark: SparkSession, tmp_path: Path) -> None:
    job = inc.Job(spark, state=str(tmp_path), query=IN_ARROW, window=inc.splits(3), partitions=3)
    for number in range(5):
        made = job.advance({f"s{number}": frame(spark, number)})
    assert_answers(made, IN_ARROW, range(2, 5))
    assert {part.cuts for part in parts(tmp_path)} == {3}
    assert len({part.cut for part in parts(tmp_path)}) > 1
    for part in parts(tmp_path):
        keys = spark.createDataFrame(pq.read_table(tmp_path / NODES / part.file, columns=["k"]))
        assert {row.cut for row in keys.select(F.expr("pmod(xxhash64(k), 3) AS cut")).collect()} == {part.cut}


@pytest.mark.parametrize("window", [inc.splits(3), inc.splits()], ids=["fixed", "append"])
def test_a_state_that_is_not_cut_goes_on(spark: SparkSession, tmp_path: Path, window: inc.Splits) -> None:
    for number in range(5):
        job = inc.Job(spark, state=str(tmp_path), query=IN_ARROW, window=window)
        made = job.advance({f"s{number}": frame(spark, number)})
        if number in (1, 2):
            uncut(tmp_path)
    assert_answers(made, IN_ARROW, range(2 if window.width else 0, 5))


def test_the_number_of_cuts_may_change(spark: SparkSession, tmp_path: Path) -> None:
    """What was cut into another number goes through the shuffle; a job that does not say takes the last one's."""
    for number, (partitions, cuts) in enumerate([(2, 2), (5, 5), (None, 5), (1, 1), (5, 5)]):
        before = {part.file for part in parts(tmp_path)} if number else set()
        job = inc.Job(spark, state=str(tmp_path), query=IN_ARROW, window=inc.splits(3), partitions=partitions)
        made = job.advance({f"s{number}": frame(spark, number)})
        job.prepare()
        assert {part.cuts for part in parts(tmp_path) if part.file not in before} == {cuts}
        assert_answers(made, IN_ARROW, range(max(0, number - 2), number + 1))
    with pytest.raises(ArgumentError, match="partitions=0"):
        inc.Job(spark, state=str(tmp_path), query=IN_ARROW, window=inc.splits(3), partitions=0)


def test_more_cuts_than_keys_and_a_query_without_keys(spark: SparkSession, tmp_path: Path) -> None:
    """A cut without rows has a task too, and that of a node that nothing is added to passes it on."""
    texts = sw.aggregate(sw.Monoid(identity="", combine=lambda a, b: a + b, name="texts", result="string"), "s")
    query = inc.group_by(order="t").aggregate(texts.alias("all"))
    job = inc.Job(spark, state=str(tmp_path / "one"), query=query, window=inc.splits(2), partitions=4)
    for number in range(3):
        made = job.advance({f"s{number}": frame(spark, number, rows=2)})
    assert [row.all for row in made.collect()] == ["1.0;1.1;2.0;2.1;"]
    assert {(part.cut, part.cuts) for part in parts(tmp_path / "one")} == {(0, 1)}

    job = inc.Job(spark, state=str(tmp_path / "many"), query=IN_ARROW, window=inc.splits(), partitions=16)
    job.advance({"s0": frame(spark, 0), "s1": frame(spark, 1)})
    assert_answers(job.advance({"nothing": frame(spark, 2).limit(0)}), IN_ARROW, range(2))
    assert_answers(job.advance({"s2": frame(spark, 2)}), IN_ARROW, range(3))
