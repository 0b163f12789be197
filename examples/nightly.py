"""Traffic per user over the last week, brought up to date each night: python examples/nightly.py

Writes ten days of page views, adds them one by one to a window of seven, and shows what each night cost; the answer of
the last night is compared with a plain run over the same week.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import slidewise as sw
from slidewise import incremental as inc

DAYS, WEEK, VIEWS = 10, 7, 20_000


def views(day: int) -> pa.Table:
    source = np.random.default_rng(day)
    return pa.table({"user": source.zipf(1.5, VIEWS) % 5_000, "bytes": source.integers(200, 50_000, VIEWS)})


def main(place: Path) -> None:
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    settings = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
    spark = SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    query = inc.group_by("user").aggregate(sw.sum("bytes"), sw.count(), sw.max("bytes"))
    job = inc.Job(spark, state=[str(place / "a"), str(place / "b")], query=query, window=inc.splits(WEEK))
    for day in range(DAYS):
        path = str(place / f"day-{day}.parquet")
        pq.write_table(views(day), path)
        answer = job.advance(add={f"day-{day}": path})
        print(job.report())
        job.prepare()
    print(job.draw())
    job.draw(place / "tree.svg")
    week = spark.read.parquet(*[str(place / f"day-{day}.parquet") for day in range(DAYS - WEEK, DAYS)])
    differ = answer.exceptAll(query.run(week)).count()
    print(f"{answer.count()} users; {differ} differ from a plain run over the week")
    spark.stop()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        main(Path(folder))
