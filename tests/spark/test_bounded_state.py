"""Keys that come and go: state, memory and work per batch follow the keys that live, not those that were ever seen.

batch 0   keys 0 .. 999                   8 s between batches, windows and patience of 10 s:
batch 1        keys 500 .. 1499           a key has rows in two batches, and is forgotten two later
batch 2             keys 1000 .. 1999
"""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import slidewise as sw
from slidewise.engine.keyed import KeyedWindows
from slidewise.spark import bucket as bucket_module
from slidewise.spark.bucket import forget_all
from tests.spark.replay import FAR, SCHEMA, SECOND, MemoryStore, plan_of
from tests.spark.test_stream import BASE, run
from tests.spark.workers import Workers

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ALIVE, PAUSE = 1000, 8 * SECOND
FEW = sw.evict_while(lambda total, old: total.n - old.n >= 3, uses={"n": sw.count()})
CASES: dict[str, tuple[Any, dict[str, Any]]] = {
    "time": (sw.trailing("10 s"), {}),
    "session": (sw.session("10 s"), {}),
    "steps": (sw.trailing("10 s").every("5 s"), {}),
    "idle": ({"all": sw.expanding(), "rows": sw.trailing(3)}, {"idle": 10 * SECOND}),
    "policy": (FEW, {"idle": 10 * SECOND}),
    "row steps": (sw.trailing(3).every(2), {"idle": 10 * SECOND}),
    "ahead": (sw.around(1, 1), {"idle": 10 * SECOND}),
    "changes": (sw.trailing("10 s"), {"idle": 10 * SECOND, "emit": "change"}),
    "updates": ({"all": sw.expanding(), "time": sw.trailing("10 s")}, {"idle": 10 * SECOND, "emit": "update"}),
}


def rows_of(number: int) -> pa.Table:
    """One row of each key that is there in a batch."""
    keys = np.arange(ALIVE) + number * ALIVE // 2
    columns = {
        "k": pa.array([str(key) for key in keys.tolist()]),
        "f": pa.nulls(ALIVE, pa.float64()),
        "t": pa.array(number * PAUSE + keys % 100).cast(pa.timestamp("us", tz="UTC")),
        "x": pa.array(keys % 7),
        "s": pa.array(["p"] * ALIVE),
        "__tie": pa.array(keys),
    }
    return pa.table(columns, schema=SCHEMA)


@dataclass
class CountedStore(MemoryStore):
    """A store that knows what was asked of it."""

    calls: Counter[str] = field(default_factory=Counter)

    def read_page(self, page: int) -> bytes:
        self.calls["pages read"] += 1
        self.calls["bytes read"] += len(self.pages[page])
        return super().read_page(page)

    def write_page(self, page: int, stored: bytes) -> None:
        self.calls["pages written"] += 1
        self.calls["bytes written"] += len(stored)
        super().write_page(page, stored)


def sizes(workers: Workers, windows: KeyedWindows) -> dict[str, int]:
    """Everything that could grow."""
    pages, carry = workers.store.pages, windows.carry
    return {
        "state bytes": sum(map(len, pages.values())),
        "pages": len(pages),
        "keys": len(windows.keys._slots),
        "keys by slot": len(windows.keys._keys),
        "room for keys": len(windows.keys.seen),
        "slots": carry.slots,
        "waiting": 0 if windows.pending is None else windows.pending.num_rows,
        "origins": len(windows.origins.numbers),
        "rows tracked": sum(len(windows.origins[number].slots) for number in windows.origins.numbers),
        **{
            f"bank {n}.{k} {what}": size
            for n, lane in enumerate(carry.lanes)
            for k, bank in enumerate(lane.all_banks)
            for what, size in (("slots", bank.slots), ("places", len(bank.cols[0])), ("used", bank.used))
        },
    }


def follow(case: str, batches: int) -> None:
    """The largest sizes in the last half are those of the first half, but for what a ring's or a page's rounding adds.

    Sums of work are over each half.
    """
    forget_all()
    window, manner = CASES[case]
    plan = plan_of(window, ["k"])
    workers, store = Workers(plan, "error", **manner), CountedStore()
    workers.store = store
    halves: list[dict[str, int]] = [{}, {}]
    calls = []
    for half, most in enumerate(halves):
        store.calls.clear()
        for number in range(half * batches // 2, (half + 1) * batches // 2):
            emitted = workers.run(rows_of(number), (number - 1) * PAUSE + 1000)
            _, windows = bucket_module._cache["q",]
            for name, size in sizes(workers, windows).items():
                most[name] = max(most.get(name, 0), size)
            assert emitted.keys == len(windows.keys._slots) == len(windows.keys._keys) <= 3 * ALIVE
            assert len(windows.carry._free) == windows.carry.slots - emitted.keys
            assert emitted.bytes == sum(map(len, store.pages.values()))
            assert len(store.record or b"") < 4096  # it remembers up to 64 commits
        calls.append(Counter(store.calls))
    first, last = halves
    grown = {name: (first[name], size) for name, size in last.items() if size > 1.25 * first[name] + 64}
    assert not grown, f"grew from the first half to the second: {grown}"
    busier = {name: (calls[0][name], count) for name, count in calls[1].items() if count > 1.25 * calls[0][name] + 64}
    assert not busier, f"more work in the second half: {busier}"
    done = workers.run(None, FAR)
    assert (store.pages, done.keys, done.waiting, done.bytes) == ({}, 0, 0, 0)


@pytest.mark.parametrize("case", CASES)
def test_what_is_kept_follows_the_living(case: str) -> None:
    """20 000 keys."""
    follow(case, 40)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("case", ["time", "session", "idle"])
def test_what_is_kept_follows_the_living_among_a_million(case: str) -> None:
    follow(case, 2000)


@pytest.mark.slow
@pytest.mark.spark
def test_in_a_query(spark: SparkSession, tmp_path: Path) -> None:
    """Spark's own count of rows in state and our figures agree that nothing grows over 24 batches."""
    place = tmp_path / "in"
    place.mkdir()
    for number in range(24):
        table = rows_of(number).select(["k", "t", "x"])
        times = pa.array(table["t"].cast(pa.int64()).to_numpy() + BASE).cast(table["t"].type)
        path = place / f"{number:04}.parquet"
        pq.write_table(table.set_column(1, "t", times), path)
        os.utime(path, (1_000_000_000 + number,) * 2)  # Spark reads the oldest first
    stream = spark.readStream.schema("k string, t timestamp, x long").option("maxFilesPerTrigger", 1)
    windows = {"all": sw.expanding(), "time": sw.trailing("10 s")}
    made = sw.slide(stream.parquet(str(place)), sw.sum("x"), windows, by="k", order="t", lateness="1 s", idle="10 s")
    query = run(made, tmp_path)
    seen = [progress for progress in query.recentProgress if progress.numInputRows]
    assert len(seen) == 24
    ours = [progress.observedMetrics["slidewise"] for progress in seen]
    for name in ("keys", "state_bytes", "rows_waiting"):
        figures = [getattr(one, name) for one in ours]
        assert 0 < max(figures[12:]) <= 1.25 * max(figures[4:12]), (name, figures)
    assert max(one.keys for one in ours) <= 3 * ALIVE
    in_state = [progress.stateOperators[0].numRowsTotal for progress in seen]
    assert max(in_state[12:]) <= max(in_state[4:12]) + 4, in_state
