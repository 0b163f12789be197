"""A program that slides over a DataFrame of a session of its own, on Connect or on a cluster, and checks the answers.

    python -m tests.spark.elsewhere connect
    python -m tests.spark.elsewhere cluster PACKAGE.zip

Prints what it found as JSON. A process of its own, since a Python process has one kind of session.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

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
        builder = SparkSession.builder.master("local-cluster[2,1,512]")
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


def _row(value: Any) -> Any:
    return tuple(value.values()) if isinstance(value, dict) else value


if __name__ == "__main__":
    main(sys.argv[1])
