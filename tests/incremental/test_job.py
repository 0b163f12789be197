"""Incremental equals plain: random slides on every tree, in the JVM and through Arrow; and what calls are refused."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import slidewise as sw
from slidewise import incremental as inc
from slidewise.errors import ArgumentError, StoreLocked
from slidewise.incremental.jvm_build import MANY
from slidewise.incremental.memo import Memo
from tests.incremental.windows import (
    IN_ARROW,
    IN_JVM,
    QUERIES,
    answers,
    assert_answers,
    assert_nothing_leaked,
    frame,
    split,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

WINDOWS = {
    "rotating": inc.splits(5),
    "buckets": inc.splits(4, bucket=2),
    "coalescing": inc.splits(),
    "folding": inc.splits(variable=True),
    "randomized": inc.splits(variable=True, tree="randomized", seed=3),
    "strawman": inc.splits(variable=True, tree="strawman"),
}


def slides(window: inc.Splits, steps: int, source: random.Random) -> list[tuple[int, int]]:
    """How many splits come and go at each step: to one and to none, beyond the capacity, and by one."""
    plan: list[tuple[int, int]] = []
    there = 0
    for k in range(steps):
        add, drop = source.choice([1, 1, 2, (window.width or 6) // window.bucket]) * window.bucket, 0
        if window.variable:
            add = source.choice([0, 1, 1, 2, 6]) if there else 3
            drop = source.choice([0, 1, min(2, there), max(0, there - 1), there]) if k else 0
            add = add if add or drop else 1
        plan.append((add, drop))
        there = there + add - drop if window.variable else there + add
    return plan


def run(spark: SparkSession, state: Path, query: inc.Query, window: inc.Splits, steps: int, seed: int) -> inc.Job:
    """Slides, each compared with a plain run; now and then another process goes on."""
    source = random.Random(seed)
    places = [state / "a", state / "b"]

    def opened() -> inc.Job:
        return inc.Job(spark, state=[str(place) for place in places], query=query, window=window)

    job, first, number = opened(), 0, 0
    for add, drop in slides(window, steps, source):
        new = {f"s{number + k}": frame(spark, number + k) for k in range(add)}
        made = job.advance(new, drop if window.variable else None)
        number += add
        first = first + drop if window.variable else max(first, number - (window.width or number))
        assert_answers(made, query, range(first, number))
        assert job.splits() == [f"s{k}" for k in range(first, number)]
        assert_nothing_leaked(places)
        if source.random() < 0.4:
            job.prepare()
        if source.random() < 0.3:
            job = opened()
    return job


@pytest.mark.parametrize("name", ["folding", "rotating"])
def test_incremental_equals_plain_through_arrow(spark: SparkSession, tmp_path: Path, name: str) -> None:
    run(spark, tmp_path, IN_ARROW, WINDOWS[name], 2, seed=len(name))


def test_incremental_equals_plain_in_the_jvm(spark: SparkSession, tmp_path: Path) -> None:
    job = run(spark, tmp_path, IN_JVM, WINDOWS["rotating"], 2, seed=2)
    assert job.report().engine == "the JVM"


@pytest.mark.slow
@pytest.mark.parametrize("name", WINDOWS)
@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("seed", range(2))
def test_long_runs(spark: SparkSession, tmp_path: Path, name: str, query: str, seed: int) -> None:
    run(spark, tmp_path, QUERIES[query], WINDOWS[name], 14, seed=100 + seed)


@pytest.mark.slow
def test_many_splits_at_once_are_aggregated_one_by_one(spark: SparkSession, tmp_path: Path) -> None:
    """More sources than fit side by side: a third stage, the same answers."""
    job = inc.Job(spark, state=str(tmp_path), query=IN_JVM, window=inc.splits(variable=True))
    made = job.advance({f"s{k}": frame(spark, k) for k in range(20)})
    assert_answers(made, IN_JVM, range(20))
    assert_answers(job.advance({"s20": frame(spark, 20)}, 3), IN_JVM, range(3, 21))


@pytest.mark.slow
def test_a_new_split_among_many_kept_tables(spark: SparkSession, tmp_path: Path) -> None:
    """The strawman reads nearly all it has: more tables than fit side by side, one of them new."""
    window = inc.splits(variable=True, tree="strawman")
    job = inc.Job(spark, state=str(tmp_path), query=IN_JVM, window=window)
    job.advance({f"s{k}": frame(spark, k) for k in range(20)})
    made = job.advance({"s20": frame(spark, 20)}, 1)
    assert job.report().combines > MANY
    assert_answers(made, IN_JVM, range(1, 21))


@pytest.mark.parametrize("query", QUERIES)
def test_the_plain_run_is_what_tables_answer(spark: SparkSession, query: str) -> None:
    df = frame(spark, 0).union(frame(spark, 1)).union(frame(spark, 2))
    assert_answers(QUERIES[query].run(df), QUERIES[query], [0, 1, 2])


@pytest.mark.slow
def test_without_keys_there_is_one_row(spark: SparkSession, tmp_path: Path) -> None:
    queries = [inc.group_by().aggregate(sw.sum("n")), inc.group_by(order="t").aggregate(sw.sum("n"), sw.last("s"))]
    for k, query in enumerate(queries):
        job = inc.Job(spark, state=str(tmp_path / str(k)), query=query, window=inc.splits(2))
        for number in range(3):
            made = job.advance({f"s{number}": frame(spark, number)})
        table = pa.concat_tables([split(1), split(2)])
        (row,) = made.collect()
        assert row["sum_n"] == sum(n for n in table["n"].to_pylist() if n is not None)
        assert query.run(spark.createDataFrame(table)).collect() == [row]


def test_one_job_of_two_stages_and_no_rows_on_the_driver(spark: SparkSession, tmp_path: Path) -> None:
    """Of each advance but the first: one job, two stages; what comes back are names of files."""
    for name, query in QUERIES.items():
        job = inc.Job(spark, state=str(tmp_path / name), query=query, window=inc.splits(3))
        job.advance({f"s{number}": frame(spark, number) for number in range(3)})
        spark.sparkContext.setJobGroup(name, name)
        job.advance({"s3": frame(spark, 3)})
        spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()  # what is told of stages lags behind
        tracker = spark.sparkContext.statusTracker()
        jobs = [tracker.getJobInfo(one) for one in tracker.getJobIdsForGroup(name)]
        # Adaptive execution submits the shuffle's map side as a job of its own; stages that run are counted once.
        stages = {stage for one in jobs if one is not None for stage in one.stageIds}
        ran = [stage for stage in stages if (info := tracker.getStageInfo(stage)) and info.numCompletedTasks]
        assert len(ran) == 2, (name, len(ran), len(jobs))
    spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)


def test_a_path_is_as_good_as_a_dataframe(spark: SparkSession, tmp_path: Path) -> None:
    job = inc.Job(spark, state=str(tmp_path / "state"), query=IN_ARROW, window=inc.splits(2))
    for number in range(2):
        pq.write_table(split(number), tmp_path / f"{number}.parquet")
    made = job.advance({f"s{number}": str(tmp_path / f"{number}.parquet") for number in range(2)})
    assert_answers(made, IN_ARROW, [0, 1])
    with pytest.raises(ArgumentError, match=r"add='.*nowhere': cannot be read as parquet"):
        job.advance({"s3": str(tmp_path / "nowhere")})


@pytest.mark.slow
def test_what_is_added_can_be_cut_into_splits(spark: SparkSession, tmp_path: Path) -> None:
    query = inc.group_by("k").aggregate(sw.sum("n"), sw.count())
    job = inc.Job(spark, state=str(tmp_path), query=query, window=inc.splits(), split_rows=3)
    job.advance({"s0": frame(spark, 0)})
    assert_answers(job.advance({"s1": frame(spark, 1)}), query, [0, 1])
    assert job.splits() == ["s0/0", "s0/1", "s0/2", "s1/0", "s1/1", "s1/2"]


def test_prepare_in_the_background_can_be_cancelled(spark: SparkSession, tmp_path: Path) -> None:
    job = inc.Job(spark, state=str(tmp_path), query=IN_ARROW, window=inc.splits(2))
    for number in range(3):
        made = job.advance({f"s{number}": frame(spark, number)}, prepare="auto")
        assert_answers(made, IN_ARROW, range(max(0, number - 1), number + 1))
    job.cancel()
    assert_answers(job.advance({"s3": frame(spark, 3)}), IN_ARROW, [2, 3])
    with pytest.raises(ArgumentError, match="prepare='now': expected None or 'auto'"):
        job.advance({"s4": frame(spark, 4)}, prepare="now")


def test_reports_and_pictures(spark: SparkSession, tmp_path: Path) -> None:
    job = inc.Job(spark, state=str(tmp_path / "a"), query=IN_ARROW, window=inc.splits(variable=True))
    with pytest.raises(ArgumentError, match="holds nothing yet"):
        job.report()
    job.advance({f"s{k}": frame(spark, k) for k in range(3)})
    first = job.report()
    assert (first.built, first.reused, first.void, first.combines, first.cold) == (5, 0, 1, 2, True)
    job.advance({"s3": frame(spark, 3)}, 1)
    report = job.report()
    assert (report.added, report.dropped, report.cold) == (("s3",), ("s0",), False)
    assert (report.reused, report.built, report.void, report.combines) == (2, 3, 1, 2)
    assert "reused" in str(report)
    fresh = inc.Job(spark, state=str(tmp_path / "a"), query=IN_ARROW, window=inc.splits(variable=True))
    assert fresh.report().built == report.built
    text = fresh.draw()
    assert text.splitlines()[1:4] == [
        "level 2  ├──────●───────┤",
        "level 1          ├──●───┤",
        "splits    ·   ○   ○   ●",
    ]
    svg = fresh.draw(tmp_path / "tree.svg")
    assert svg == (tmp_path / "tree.svg").read_text(encoding="utf-8")
    assert svg.count("<title>built") == 3
    assert svg.count("<title>reused") == 2


# ---- what is refused, or right --------------------------------------------------------------------------------------
def refused(call: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        call()


def test_wrong_calls_are_told_and_change_nothing(spark: SparkSession, tmp_path: Path) -> None:
    state = str(tmp_path / "state")
    job = inc.Job(spark, state=state, query=IN_ARROW, window=inc.splits(variable=True))
    one, two = frame(spark, 1), frame(spark, 2)
    refused(lambda: job.advance(), "nothing to do")
    refused(lambda: job.advance({"s1": one}, 1), "drop=1: expected at most 0, the splits there are")
    job.advance({"s1": one, "s2": two})
    before = sorted(path.name for path in (tmp_path / "state" / "nodes").iterdir())
    refused(lambda: job.advance({"s1": two}), "add='s1': a split of that name was added at 20.*expected a new name")
    refused(lambda: job.advance({"s0": frame(spark, 0)}), r"add='s0': begins at 0, before split 's2' ends at 2006")
    refused(lambda: job.advance(drop=3), "drop=3: expected at most 2, the splits there are")
    refused(lambda: job.advance(drop=-1), "drop=-1: expected at most 2")
    refused(lambda: job.advance(drop=["s2"]), r"drop=\['s2'\]: expected the oldest splits, in order.*'s1', 's2'")
    refused(lambda: job.advance(drop=1.5), "drop=1.5: expected a count, or a list")  # type: ignore[arg-type]
    refused(lambda: job.advance({"s3": two.drop("x")}), r"add\['s3'\]: has no column 'x'; there are 'k'")
    other = two.withColumn("n", two["n"].cast("string"))
    refused(lambda: job.advance({"s3": other}), r"add\['s3'\]: column 'n' is of type string, and int64 in the state")
    refused(lambda: job.advance({"s3": 7}), r"add\['s3'\]=7: expected a batch DataFrame of Spark, or a path")  # type: ignore[dict-item]
    refused(lambda: job.advance([one]), "add=.*expected a dict of names to DataFrames or paths")  # type: ignore[arg-type]
    refused(lambda: job.advance({"": one}), "add='': expected names of splits as non-empty strings")

    def opened(query: inc.Query = IN_ARROW, window: inc.Splits | None = None) -> inc.Job:
        return inc.Job(spark, state=state, query=query, window=window or inc.splits(variable=True))

    refused(lambda: opened(IN_JVM).result(), "is of another query: it has order t: int64")
    refused(
        lambda: opened(window=inc.splits(3)).result(), "window='3 splits, rotating tree': the state .* has 'variable"
    )
    assert job.splits() == ["s1", "s2"]
    assert_answers(job.result(), IN_ARROW, [1, 2])
    assert set(before) <= {path.name for path in (tmp_path / "state" / "nodes").iterdir()}
    fixed = inc.Job(spark, state=str(tmp_path / "fixed"), query=IN_ARROW, window=inc.splits(2))
    refused(lambda: fixed.advance({"s1": one, "s2": two}, 1), "drop=1: expected at most 0")
    refused(lambda: fixed.advance({f"s{k}": one for k in range(3)}), "add=3: expected at most 2 splits at once")
    with Memo((state,)).writing(), pytest.raises(StoreLocked, match=r"another job is writing it.*held by process"):
        job.advance({"s3": two})


@pytest.mark.parametrize("name", ["arrow", pytest.param("jvm", marks=pytest.mark.slow)])
def test_empty_splits_other_columns_and_an_empty_window_are_right(
    spark: SparkSession, tmp_path: Path, name: str
) -> None:
    query = QUERIES[name]
    job = inc.Job(spark, state=str(tmp_path), query=query, window=inc.splits(variable=True))
    made = job.advance({"s1": frame(spark, 1), "none": frame(spark, 1, rows=0)})
    assert_answers(made, query, [1])
    wider = frame(spark, 2).selectExpr("'more' as more", "s", "x", "n", "t", "k")
    assert_answers(job.advance({"s2": wider}, ["s1"]), query, [2])
    made = job.advance(drop=2)
    assert answers(made) == []
    assert set(made.columns) == {"k", *(one.name for one in query.aggregates)}
    assert_answers(job.advance({"s3": frame(spark, 3)}), query, [3])


def test_constructors_name_what_is_wrong(tmp_path: Path) -> None:
    refused(lambda: inc.splits(0), "width=0: expected an integer of at least 1")
    refused(lambda: inc.splits(3, variable=True), "width=3: expected None where variable=True")
    refused(lambda: inc.splits(5, bucket=2), "bucket=2: expected 1, or a number that divides a fixed width")
    refused(lambda: inc.splits(tree="folding"), "tree='folding': expected one of 'coalescing', 'strawman'")
    refused(lambda: inc.group_by("k", "k"), "keys=.*expected each column once")
    refused(lambda: inc.group_by(1), "keys=.*expected names of columns")  # type: ignore[arg-type]
    refused(lambda: inc.group_by("k").aggregate(), "aggregates=.*expected at least one aggregate")
    refused(lambda: inc.group_by("k").aggregate(IN_ARROW), "aggregates=.*expected aggregates such as")  # type: ignore[arg-type]

    def job(**given: Any) -> inc.Job:
        return inc.Job(None, **{"state": str(tmp_path), "query": IN_JVM, "window": inc.splits(3), **given})  # type: ignore[arg-type]

    refused(lambda: job(state="s3://bucket/x"), "state='s3://bucket/x': expected a path, or a file: URI")
    refused(lambda: job(state=[]), "state=.*expected a path, or a list of paths")
    refused(lambda: job(state=["/x", "/x"]), "state=.*expected a different path for each replica")
    refused(lambda: job(query="select"), "query='select': expected a query such as")
    refused(lambda: job(window=3), "window=3: expected splits")
    refused(lambda: job(gc=0), "gc=0: expected an integer of at least 1, or a function of a node")
    refused(lambda: job(query=IN_ARROW, split_rows=3), "split_rows=3: expected None for a query with order=")


def test_queries_name_what_is_wrong(spark: SparkSession) -> None:
    df = frame(spark, 0)
    refused(lambda: inc.group_by("z").aggregate(sw.count()).run(df), "keys='z': no such column; there are 'k'")
    refused(lambda: inc.group_by("k").aggregate(sw.first("s")).run(df), "order=None: 'first_s' depends on the order")
    refused(lambda: inc.group_by("k").aggregate(sw.sum("s")).run(df), "sum.*is of type string")
    refused(lambda: inc.group_by("k").aggregate(sw.sum("n").alias("k")).run(df), "result column 'k' is there already")
    refused(lambda: inc.group_by("k").aggregate(sw.sum("n")).run(split(0)), "df=.*expected a batch DataFrame")  # type: ignore[arg-type]
