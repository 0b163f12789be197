"""Windows of one call share their slices on Spark too: the plan that is made, the loop that runs, and the answers.

batch     Arrow batches ──► Partition ──► one loop for all windows per piece
stream    micro-batches ──► Bucket    ──► one loop for all windows per advance
"""

from __future__ import annotations

import functools
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import slidewise as sw
from slidewise.engine import carry, carry_shared, steps
from slidewise.engine.carry import Carry
from slidewise.spark.bucket import Bucket, Manner, forget_all
from slidewise.spark.partition import Partition
from slidewise.spark.recipe import Recipe, plan_from
from tests.spark.replay import SECOND, MemoryStore, assert_answers
from tests.spark.test_stream import FAR, Files, arrivals, random_rows, run, sentinel, table_of, written

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

AGGREGATES = [sw.count("x"), sw.sum("x"), sw.max("v"), sw.mean("v")]
EVENTS = {"5s": sw.trailing("5 s"), "20s": sw.trailing("20 s"), "1m": sw.trailing("1 min")}
EVERY = {
    "5s": sw.tumbling("5 s"),
    "20s": sw.trailing("20 s").every("5 s"),
    "1m": sw.trailing("1 min").every("5 s"),
    "odd": sw.trailing("7 s").every("4 s"),
}
ROWS = {"a": sw.trailing(10).every(5), "b": sw.trailing(20).every(5), "c": sw.tumbling(3)}


def recipe_of(windows: dict[str, Any]) -> Recipe:
    table = table_of([])
    types = dict(zip(table.schema.names, table.schema.types, strict=True))
    return Recipe(types, AGGREGATES, windows, ["k"], "t", "auto")


@pytest.fixture
def loops(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each loop ran, and for how many windows it answered."""
    seen: Counter[str] = Counter()

    def counted(name: str, call: Any) -> Any:
        @functools.wraps(call)
        def wrapped(*given: Any, **named: Any) -> Any:
            seen[name] += 1
            return call(*given, **named)

        return wrapped

    for module in (carry_shared, steps):
        monkeypatch.setattr(module, "run_hops", counted("hops", module.run_hops))
    for module in (carry, steps):
        monkeypatch.setattr(module, "sweep", counted("sweep", module.sweep))
    monkeypatch.setattr(carry_shared, "run_shared", counted("events", carry_shared.run_shared))
    return seen


@pytest.mark.parametrize(("windows", "loop"), [(EVENTS, "events"), (EVERY, "hops"), (ROWS, "hops")], ids=str)
def test_a_partition_runs_one_loop_for_all_windows(windows: dict[str, Any], loop: str, loops: Counter[str]) -> None:
    rows = [row for row in random_rows(200, seed=5) if row["k"] == "a"]
    partition = Partition(plan_from(recipe_of(windows).packed()), False, {})
    batches = table_of(rows).combine_chunks().to_batches(max_chunksize=20)
    made = [pa.Table.from_batches([one]) for batch in batches for one in partition.take(batch)]
    made += [pa.Table.from_batches([one]) for one in partition.finish()]
    calls = len(batches) + (loop == "hops")  # the windows that are left at the end
    assert loops == {loop: 2 * calls}  # over x and over v, whatever the number of windows
    expected = sw.slide(table_of(rows), AGGREGATES, windows, by="k", order="t")
    key = ["n"] if loop == "events" else ["k", "window_end"]
    assert_answers(made, expected, [*key, *(f"{one.name}_{name}" for name in windows for one in AGGREGATES)])


@pytest.mark.parametrize(("windows", "loop"), [(EVENTS, "events"), (EVERY, "hops"), (ROWS, "hops")], ids=str)
def test_a_bucket_runs_one_loop_for_all_windows(windows: dict[str, Any], loop: str, loops: Counter[str]) -> None:
    forget_all()
    rows = random_rows(200, seed=6)
    plan, store, made = plan_from(recipe_of(windows).packed()), MemoryStore(), []
    table = table_of(rows).append_column("__tie", pa.array([row["n"] for row in rows], pa.int64()))
    for first in range(0, 200, 50):
        bucket = Bucket(plan, store, ("sharing",), Manner("drop", "event" if plan.per_event else "window"))
        watermark = rows[first]["t"] - SECOND if first else 0
        made.append(bucket.process(table.slice(first, 50), watermark).final)
    made.append(Bucket(plan, store, ("sharing",), Manner()).process(None, 10**16).final)
    assert set(loops) == {loop}
    assert loops[loop] <= 2 * 5
    expected = sw.slide(table, AGGREGATES, windows, by="k", order=["t", "__tie"])
    key = ["n"] if loop == "events" else ["k", "window_end"]
    assert_answers(made, expected, [*key, *(f"{one.name}_{name}" for name in windows for one in AGGREGATES)])
    forget_all()


def test_what_workers_are_sent_shares() -> None:
    """A plan goes to the workers as a recipe; what they make of it shares as the driver's does."""
    events, every = (Carry(plan_from(recipe_of(windows).packed())) for windows in (EVENTS, EVERY))
    assert [len(one.shared.windows) for one in events.shared] == [3, 3]
    assert [len(one.shared.windows) for one in every.hops] == [4, 4]
    assert all(not lane.work for lane in (*events.lanes, *every.lanes))


# ---- on Spark -------------------------------------------------------------------------------------------------------
def apart(data: pa.Table, windows: dict[str, Any]) -> pa.Table:
    """A call for each window over the table, joined on key and end, or on the row."""
    rows: dict[Any, dict[str, Any]] = {}
    per_event = windows is EVENTS
    for label, window in windows.items():
        for row in sw.slide(data, AGGREGATES, window, by="k", order="t").to_pylist():
            key = row["n"] if per_event else (row["k"], row["window_end"])
            mine = rows.setdefault(key, {name: row[name] for name in (["n"] if per_event else ["k", "window_end"])})
            mine |= {f"{one.name}_{label}": row[one.name] for one in AGGREGATES}
    names = [f"{one.name}_{label}" for label in windows for one in AGGREGATES]
    first = ["n"] if per_event else ["k", "window_end"]
    return pa.table({name: [row.get(name) for row in rows.values()] for name in (*first, *names)})


@pytest.mark.spark
@pytest.mark.parametrize("windows", [EVENTS, EVERY, ROWS], ids=["events", "every", "rows"])
def test_a_batch_shares_and_answers_as_windows_apart(spark: SparkSession, windows: dict[str, Any]) -> None:
    data = table_of([{**row, "t": row["t"] + row["n"]} for row in random_rows(300, seed=7)])  # no ties
    frame = spark.createDataFrame(data)
    said = sw.explain(frame, AGGREGATES, windows, by="k", order="t")
    assert said.count("shared: ") == 2
    assert windows is not EVERY or "composite slide of 20 s, by pairs" in said
    expected = apart(data, windows)
    assert_answers([sw.slide(frame, AGGREGATES, windows, by="k", order="t").toArrow()], expected, expected.column_names)


@pytest.mark.spark
def test_a_stream_shares_and_answers_as_windows_apart(spark: SparkSession, tmp_path: Path) -> None:
    rows = [{**row, "t": row["t"] + row["n"]} for row in random_rows(300, seed=8)]
    files = Files(tmp_path / "in")
    files.add(arrivals(rows, 4.5, seed=9), parts=3)
    files.add([sentinel(FAR)])
    stream = files.stream(spark)
    assert sw.explain(stream, AGGREGATES, EVERY, by="k", order="t", lateness="5 s").count("shared: ") == 2
    run(sw.slide(stream, AGGREGATES, EVERY, by="k", order="t", lateness="5 s"), tmp_path)
    expected = apart(table_of(rows), EVERY)
    assert_answers([written(spark, tmp_path)], expected, expected.column_names)
