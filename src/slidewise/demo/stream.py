"""The Spark side of the demo: a folder of Parquet files replayed as a stream, through one call of ``slide``.

::

    events ──► files by arrival ──► readStream, one file per batch ──► query ──► foreachBatch ──► Batch
    events ─────────────────────────────────────────────────────────► query ──► expected        (the same function)

``query`` runs on the stream and on the Arrow table alike; ``differences`` says whether both gave the same rows.
"""

from __future__ import annotations

import itertools
import os
import queue
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import slidewise as sw

__all__ = ["Batch", "WINDOWS", "batches", "differences", "query", "watermark", "write_files"]

WINDOWS: Final = {"1s": "1 s", "5s": "5 s", "500r": "500 rows"}
"""Names of the windows of :func:`query`, as they end its columns, and in words."""

LATENESS: Final = "2 s"
"""How late an event may come to the stream; a batch has no such thing."""

_COLUMNS: Final = (
    "ts TIMESTAMP, arrived TIMESTAMP, machine STRING, power_a DOUBLE, power_b DOUBLE, power_c DOUBLE, "
    "valves TINYINT, dosing BOOLEAN, fault TINYINT"
)

Container = TypeVar("Container", DataFrame, pa.Table)


def query(events: Container, lateness: str | None = None) -> Container:
    # An aggregate of our own: the largest jump between neighbouring readings. Order matters to it, it has no inverse.
    jump = sw.Monoid(
        name="jump",
        identity=(0.0, 0.0, 0.0, 0),  # first, last, largest jump, readings
        lift=lambda kw: (kw, kw, 0.0, 1),
        combine=lambda a, b: (
            (a[0], b[1], max(a[2], b[2], abs(b[0] - a[1])), a[3] + b[3]) if a[3] and b[3] else a if a[3] else b
        ),
        lower=lambda p: p[2],
    )
    windows: Container = sw.slide(
        events,
        [
            sw.mean("power_a"),
            sw.stddev("power_a"),
            sw.max("power_a"),
            sw.count(),
            sw.aggregate(jump, "power_a"),
        ],
        {"1s": sw.trailing("1 s"), "5s": sw.trailing("5 s"), "500r": sw.trailing(500)},
        by="machine",
        order="ts",
        lateness=lateness,
    )
    return windows


@dataclass(frozen=True)
class Batch:
    """One micro-batch: the rows that came out, and how it went."""

    number: int
    rows: pa.Table
    read: int
    seconds: float
    watermark: datetime | None


def write_files(events: pa.Table, folder: Path, count: int) -> Path:
    """Cut the events, which are in arrival order, into files of equal stretches of arrival time; returns the folder."""
    folder.mkdir(exist_ok=True)
    arrived = events["arrived"].cast(pa.int64()).to_numpy()
    ends = np.searchsorted(arrived, np.linspace(arrived[0], arrived[-1] + 1, count + 1))
    now = time.time()
    for number, (lo, hi) in enumerate(itertools.pairwise(ends)):
        path = folder / f"{number:05}.parquet"
        pq.write_table(events.slice(lo, hi - lo), path)
        os.utime(path, (now - count + number,) * 2)  # Spark takes the oldest file first
    return folder


def batches(spark: SparkSession, folder: Path, checkpoint: Path) -> Iterator[Batch]:
    """Run the query over the files, one per micro-batch, and hand over each batch as it ends."""
    done: queue.SimpleQueue[tuple[int, pa.Table]] = queue.SimpleQueue()
    events = spark.readStream.schema(_COLUMNS).option("maxFilesPerTrigger", 1).parquet(str(folder))
    running = (
        query(events, LATENESS)
        .writeStream.foreachBatch(lambda frame, number: done.put((number, frame.toArrow())))
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start()
    )
    try:
        active = True
        while active or not done.empty():
            active = running.isActive  # asked before the queue, so that the last batch is not missed
            try:
                number, rows = done.get(timeout=0.1 if active else 0.0)
            except queue.Empty:
                continue
            yield _with_progress(running, number, rows)
        failure = running.exception()
        if failure is not None:
            raise failure
    finally:
        running.stop()


def _with_progress(running: StreamingQuery, number: int, rows: pa.Table) -> Batch:
    """Spark reports on a batch a moment after its last row; wait for that, but not for long."""
    report: dict[str, Any] = {}
    deadline = time.monotonic() + 2.0
    while not report and time.monotonic() < deadline:
        report = next((p for p in reversed(running.recentProgress) if p["batchId"] == number), {})
        if not report:
            time.sleep(0.02)
    mark = datetime.fromisoformat(report.get("eventTime", {}).get("watermark", "1970-01-01T00:00:00Z"))
    return Batch(
        number=number,
        rows=rows,
        read=report.get("numInputRows", 0),
        seconds=report.get("durationMs", {}).get("triggerExecution", 0) / 1000,
        watermark=mark if mark.year > 1970 else None,  # 1970 is Spark's word for none yet
    )


def watermark(events: pa.Table) -> datetime:
    """Up to where a stream that ends with these events has answered: the newest less the lateness, in milliseconds."""
    newest: datetime = pc.max(events["ts"]).as_py()
    return newest.replace(microsecond=newest.microsecond // 1000 * 1000) - timedelta(seconds=2)


def differences(streamed: pa.Table, expected: pa.Table) -> list[str]:
    """Columns in which two results differ; empty when they are the same.

    Means and deviations are sums of floats, which depend on how the stream was cut, in their last digits; everything
    else must be equal to the bit.
    """
    if streamed.num_rows != expected.num_rows:
        return [f"{streamed.num_rows:,} rows from the stream, {expected.num_rows:,} from the batch"]
    keys = [("machine", "ascending"), ("ts", "ascending")]
    left, right = streamed.sort_by(keys), expected.sort_by(keys)
    return [
        name
        for name in expected.column_names
        if name not in left.column_names or not _same(left[name], right[name], name.startswith(("mean_", "stddev_")))
    ]


def _same(left: pa.ChunkedArray, right: pa.ChunkedArray, rounded: bool) -> bool:
    if not rounded or not left.is_null().equals(right.is_null()):
        return bool(left.cast(right.type).equals(right))
    return bool(np.allclose(left.drop_null().to_numpy(), right.drop_null().to_numpy(), rtol=1e-9, atol=1e-9))
