"""Answers kept beside the nodes of a window that only grows: never those of another `lower`, never needed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

import pyarrow.parquet as pq
import pytest

import slidewise as sw
from slidewise import incremental as inc
from slidewise.incremental.files import NODES
from slidewise.incremental.sheet import ANSWERED
from tests.incremental.windows import IN_ARROW, assert_answers, frame

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def marks(place: Path) -> list[set[str | None]]:
    """The marks in each file of a state that has room for them."""
    tables = [pq.read_table(path) for path in (place / NODES).iterdir()]
    return [set(table.column(ANSWERED).to_pylist()) for table in tables if ANSWERED in table.column_names]


def job_of(spark: SparkSession, place: Path, lower: Callable[[Any], Any]) -> inc.Job:
    texts = sw.Monoid(identity="", combine=lambda a, b: a + b, lower=lower, name="texts", result="string")
    query = inc.group_by("k", order="t").aggregate(sw.aggregate(texts, "s").alias("all"))
    return inc.Job(spark, state=str(place), query=query, window=inc.splits())


def test_another_lower_answers_anew(spark: SparkSession, tmp_path: Path) -> None:
    """Its partials mean what they did, so the state is as good as before; its answers are not."""
    first = job_of(spark, tmp_path, lambda text: text)
    asked = {row.k: row.all for row in first.advance({"s0": frame(spark, 0)}).collect()}
    (there,) = {mark for one in marks(tmp_path) for mark in one}
    assert there is not None
    other = job_of(spark, tmp_path, lambda text: text[::-1])
    assert {row.k: row.all for row in other.result().collect()} == {k: text[::-1] for k, text in asked.items()}
    moved = {row.k: row.all for row in other.advance({"s1": frame(spark, 1)}).collect()}
    assert moved.keys() >= asked.keys()
    assert all(moved[k].endswith(text[::-1]) for k, text in asked.items())  # also where nothing was added


def test_what_cannot_be_told_is_not_kept(spark: SparkSession, tmp_path: Path) -> None:
    class Upper:
        def __call__(self, text: str) -> str:
            return text.upper()

    job = job_of(spark, tmp_path, Upper())
    for number in range(2):
        made = job.advance({f"s{number}": frame(spark, number)})
    assert {row.all for row in made.collect()} == {row.all for row in job.result().collect()}
    assert marks(tmp_path) == []


def test_a_state_of_before_answers_were_kept_goes_on(spark: SparkSession, tmp_path: Path) -> None:
    def opened() -> inc.Job:
        return inc.Job(spark, state=str(tmp_path), query=IN_ARROW, window=inc.splits())

    with mock.patch.object(inc.Splits, "grows", False):
        opened().advance({"s0": frame(spark, 0)})
        opened().advance({"s1": frame(spark, 1)})
    assert marks(tmp_path) == []
    assert_answers(opened().result(), IN_ARROW, range(2))
    assert_answers(opened().advance({"s2": frame(spark, 2)}), IN_ARROW, range(3))
    assert_answers(opened().advance({"s3": frame(spark, 3)}), IN_ARROW, range(4))
    assert marks(tmp_path)
