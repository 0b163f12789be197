"""A program that slides over a DataFrame of a session of its own, on Connect or on a cluster, and checks the answers.

    python -m tests.spark.elsewhere connect
    python -m tests.spark.elsewhere stream FOLDER        on Connect; its files go to an empty folder
    python -m tests.spark.elsewhere cluster PACKAGE.zip

Prints what it found as JSON. A process of its own, since a Python process has one kind of session.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

import slidewise as sw

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS = 2_000
QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""A Java that is quick to start."""

OWN = sw.Monoid(identity=(0.0, 0), lift=lambda x: (x, 1), combine=lambda a, b: (a[0] + b[0], a[1] + b[1]), name="own")
TEXTS = sw.Monoid(identity="", lift=str, combine=lambda a, b: a + b, name="texts", result="string")
CALLS: dict[str, dict[str, Any]] = {
    "keys": {"window": {"r": sw.trailing(50), "t": sw.trailing(40, along="order")}, "by": "k"},
    "steps": {"window": sw.trailing(30, along="order").every(7), "by": "k"},
    "session": {"window": sw.session(1), "by": "k"},
    "ranges": {"window": sw.trailing(20), "threads": 3},
    "totals": {"window": sw.expanding(), "threads": 3},
    "large key": {"window": sw.trailing(20), "by": "one", "threads": 3},
}
CHOSEN = {"connect": ("keys", "steps", "ranges", "totals", "large key"), "cluster": ("keys", "session", "totals")}
"""Which calls are made where; each takes seconds."""


def session(where: str) -> SparkSession:
    from pyspark.sql import SparkSession

    settings = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": QUICK,
    }
    if where == "connect":
        builder = SparkSession.builder.remote("local[2]")
    else:
        builder = SparkSession.builder.master(where if where.startswith("spark://") else "local-cluster[2,1,512]")
        settings |= {"spark.executor.memory": "512m", "spark.executor.extraJavaOptions": QUICK}
        settings |= {"spark.submit.pyFiles": sys.argv[2]}
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def rows() -> pa.Table:
    return pa.table(
        {
            "k": [f"ä{n % 3}" for n in range(ROWS)],
            "one": ["all"] * ROWS,
            "n": pa.array([n * 7919 % ROWS * 3 // 2 for n in range(ROWS)], pa.int64()),
            "x": [None if n % 11 == 0 else float(n % 101) for n in range(ROWS)],
        }
    )


def homes(df: DataFrame) -> list[tuple[str, int]]:
    """Where workers have the package from, and which processes they are."""

    def look(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import slidewise

        for _ in batches:
            yield pa.RecordBatch.from_pylist([{"home": str(slidewise.__file__), "process": os.getppid()}])

    found = df.repartition(4).mapInArrow(look, "home string, process long").collect()
    return sorted({(home, process) for home, process in found})


def main(where: str) -> None:
    from slidewise.spark import ranges

    ranges.WORTH = 0
    spark, table = session(where), rows()
    df = spark.createDataFrame(table)
    same = {}
    for name in CHOSEN[where]:
        call = CALLS[name]
        aggregates = [sw.max("x"), sw.aggregate(OWN, "x").alias("own")]
        if name == "keys":
            aggregates.append(sw.aggregate(TEXTS, "x").alias("texts"))
        made = sw.slide(
            df, aggregates, order=["n", "k"], **{k: v for k, v in call.items() if k != "by"}, by=call.get("by")
        )
        wanted = sw.slide(table, aggregates, call["window"], order=["n", "k"], by=call.get("by"))
        keys = [name for name in ("n", "k", "window_end") if name in wanted.column_names]
        got = made.orderBy(*keys).collect()
        same[name] = [tuple(row) for row in got] == [
            tuple(map(_row, row.values())) for row in wanted.sort_by([(key, "ascending") for key in keys]).to_pylist()
        ]
    sys.stdout.write(json.dumps({"same": same, "homes": homes(df)}) + "\n")
    spark.stop()


def on_a_stream(place: Path) -> None:
    """Windows by time, by rows and of all rows, through a restart; the figures of each batch reach the client."""
    spark, table = session("connect"), rows()
    times = pa.array([n * 100_000 for n in table["n"].to_pylist()]).cast(pa.timestamp("us", tz="UTC"))
    table = table.select(["k", "x"]).append_column("t", times).sort_by([("t", "ascending"), ("k", "ascending")])
    end = pa.table({"k": ["~"], "x": [0.0], "t": pa.array([10**15]).cast(table.schema.field("t").type)})
    windows = {"all": sw.expanding(), "time": sw.trailing("5 s"), "few": sw.trailing(3)}
    aggregates = [sw.max("x"), sw.count(), sw.aggregate(TEXTS, "x").alias("texts")]
    (place / "in").mkdir()
    rows_in = 0
    for number, part in enumerate((table.slice(0, 1200), table.slice(1200), end)):
        pq.write_table(part, place / "in" / f"{number}.parquet")
        stream = spark.readStream.schema("k string, x double, t timestamp").parquet(str(place / "in"))
        made = sw.slide(stream, aggregates, windows, by="k", order="t", lateness="1 s")
        query = (
            made.writeStream.format("parquet")
            .option("path", str(place / "out"))
            .option("checkpointLocation", str(place / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        for one in query.recentProgress:
            figures = one.observedMetrics["slidewise"]  # at a client values and schema, not the columns by name
            names = [field["name"] for field in figures["schema"]["fields"]]
            rows_in += dict(zip(names, figures["values"], strict=True))["rows_in"] or 0
    out = spark.read.parquet(str(place / "out")).where("k <> '~'").orderBy("t", "k").toArrow()
    wanted = sw.slide(table, aggregates, windows, by="k", order="t")
    same = {name: out[name].to_pylist() == wanted[name].to_pylist() for name in wanted.column_names}
    sys.stdout.write(json.dumps({"same": same, "rows_in": rows_in}) + "\n")
    spark.stop()


def _row(value: Any) -> Any:
    return tuple(value.values()) if isinstance(value, dict) else value


if __name__ == "__main__":
    if sys.argv[1] == "stream":
        on_a_stream(Path(sys.argv[2]))
    else:
        main(sys.argv[1])
