"""Nodes in memory: what the next slide reads is there, gives the same answers, and goes when nobody needs it."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from slidewise import incremental as inc
from slidewise.errors import ArgumentError
from slidewise.incremental import hot
from slidewise.incremental.files import NODES
from tests.incremental.windows import IN_ARROW, IN_JVM, assert_answers, frame

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def kept(spark: SparkSession) -> int:
    """How many tables Spark keeps, of anybody's."""
    return int(spark.sparkContext._jsc.getPersistentRDDs().size())  # type: ignore[union-attr]


def opened(spark: SparkSession, state: Path, query: inc.Query, width: int = 4, *, cache: bool = True) -> inc.Job:
    return inc.Job(spark, state=str(state), query=query, window=inc.splits(width), cache=cache)


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a cluster, where nodes that tasks could read themselves come into memory too: files are far there."""
    monkeypatch.setattr(hot, "_level", lambda spark: hot.TWO_COPIES)


def test_an_answer_that_the_next_slide_reads_is_kept(spark: SparkSession, tmp_path: Path) -> None:
    """A window that only grows reads its last answer's node: from memory if somebody has looked at the answer."""
    before = kept(spark)
    job = inc.Job(spark, state=str(tmp_path), query=IN_JVM, window=inc.splits())
    for number, looked in enumerate([True, False, True]):
        made = job.advance({f"s{number}": frame(spark, number)})
        report = job.report()
        assert report.rows_hot == (report.rows_read if number == 1 else 0)
        if looked:
            assert_answers(made, IN_JVM, range(number + 1))
    assert kept(spark) > before
    del job, made
    gc.collect()
    assert kept(spark) == before


@pytest.mark.usefixtures("cluster")
def test_through_arrow_prepare_brings_the_last_answer_s_node(spark: SparkSession, tmp_path: Path) -> None:
    """There answers lie beside partials, and reading them leaves the partials where they are."""
    before = kept(spark)
    job = inc.Job(spark, state=str(tmp_path), query=IN_ARROW, window=inc.splits())
    for number, prepared in enumerate([False, True, False]):
        made = job.advance({f"s{number}": frame(spark, number)})
        report = job.report()
        assert report.rows_hot == (report.rows_read if number == 2 else 0)
        if prepared:
            job.prepare()
            assert kept(spark) > before
        assert_answers(made, IN_ARROW, range(number + 1))
    del job, made
    gc.collect()
    assert kept(spark) == before


@pytest.mark.usefixtures("cluster")
def test_prepare_brings_into_memory_what_the_next_slide_reads(spark: SparkSession, tmp_path: Path) -> None:
    job = opened(spark, tmp_path, IN_ARROW)
    job.advance({f"s{k}": frame(spark, k) for k in range(4)})
    job.prepare()
    assert "warm" in job.report().seconds
    for place in (tmp_path / NODES).iterdir():  # were files read now, their checksums would tell
        place.write_bytes(b"x" * place.stat().st_size)
    made = job.advance({"s4": frame(spark, 4)})
    assert job.report().rows_hot == job.report().rows_read > 0
    assert_answers(made, IN_ARROW, range(1, 5))


@pytest.mark.usefixtures("cluster")
def test_a_node_whose_files_are_gone_is_made_again_whatever_memory_holds(spark: SparkSession, tmp_path: Path) -> None:
    job = opened(spark, tmp_path, IN_ARROW)
    job.advance({f"s{k}": frame(spark, k) for k in range(4)})
    job.prepare()
    (ahead,) = job._hot._frames
    for file in (tmp_path / NODES).glob(f"{ahead}.*"):
        file.unlink()
    made = job.advance({"s4": frame(spark, 4)})
    assert job.report().rows_hot == 0
    assert_answers(made, IN_ARROW, range(1, 5))


@pytest.mark.usefixtures("cluster")
def test_a_cache_that_somebody_emptied_is_not_counted_on(spark: SparkSession, tmp_path: Path) -> None:
    job = opened(spark, tmp_path, IN_ARROW)
    job.advance({f"s{k}": frame(spark, k) for k in range(4)})
    job.prepare()
    spark.catalog.clearCache()
    made = job.advance({"s4": frame(spark, 4)})
    assert job.report().rows_hot == 0
    assert_answers(made, IN_ARROW, range(1, 5))


@pytest.mark.usefixtures("cluster")
def test_without_a_cache_nothing_is_kept(spark: SparkSession, tmp_path: Path) -> None:
    before = kept(spark)
    job = opened(spark, tmp_path, IN_ARROW, cache=False)
    job.advance({f"s{k}": frame(spark, k) for k in range(4)})
    job.prepare()
    assert_answers(job.advance({"s4": frame(spark, 4)}), IN_ARROW, range(1, 5))
    assert (kept(spark), job.report().rows_hot) == (before, 0)
    with pytest.raises(ArgumentError, match="cache='yes': expected True or False"):
        opened(spark, tmp_path, IN_ARROW, cache="yes")  # type: ignore[arg-type]


def test_on_one_machine_tasks_read_their_own_files(spark: SparkSession, tmp_path: Path) -> None:
    """The system has them in memory as it is, and they need no shuffle."""
    before = kept(spark)
    job = opened(spark, tmp_path, IN_ARROW)
    job.advance({f"s{k}": frame(spark, k) for k in range(4)})
    job.prepare()
    assert "warm" not in job.report().seconds
    assert_answers(job.advance({"s4": frame(spark, 4)}), IN_ARROW, range(1, 5))
    assert (kept(spark), job.report().rows_hot) == (before, 0)
