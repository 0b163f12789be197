"""Spark for the benchmarks: all cores of this machine, loopback only, its output in a log and not in the tables."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from bench.measure import ROOT, Bar, Report, words

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def session(scratch: Path, other: Mapping[str, str] | None = None) -> Iterator[SparkSession]:
    """A session with its files in `scratch`; as many shuffle partitions as cores, so that no task waits for another.

    `other` are settings that replace or join those of here.
    """
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    known = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys([str(ROOT), *filter(None, known)]))  # workers import bench
    settings = {
        "spark.master": f"local[{CORES}]",
        "spark.app.name": "slidewise bench",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "4g",
        "spark.local.dir": str(scratch / "local"),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": str(CORES),
        "spark.sql.streaming.stateStore.providerClass": (
            "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
        ),
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        **(other or {}),
    }
    conf = SparkConf().setAll(list(settings.items()))
    with (scratch / "spark.log").open("wb") as sink:
        gateway = launch_gateway(conf, {"stdout": sink, "stderr": sink})
    spark = SparkSession(SparkContext(conf=conf, gateway=gateway))
    try:
        yield spark
    finally:
        spark.stop()
        gateway.shutdown()
        SparkContext._gateway = SparkContext._jvm = None  # the next session gets a JVM of its own


def spread_keys(spark: SparkSession, count: int) -> list[int]:
    """Keys that Spark's hash puts in equal numbers on the shuffle partitions, as many keys would be by themselves."""
    found = spark.range(64 * count).selectExpr("id", f"pmod(hash(id), {CORES}) place").collect()
    places: dict[int, list[int]] = {}
    for key, place in found:
        places.setdefault(place, []).append(key)
    return [places[number % CORES][number // CORES] for number in range(count)]


def boxed(call: Callable[[], None], seconds: float, most: int = 3) -> tuple[float, ...]:
    """Wall time of each of up to `most` calls, no more than fit into so many seconds but for the first.

    The caller has warmed up what is called, on less data.
    """
    taken: list[float] = []
    while len(taken) < most and (not taken or sum(taken) + max(taken) <= seconds):
        start = time.perf_counter()
        call()
        taken.append(time.perf_counter() - start)
    return tuple(taken)


def worst(what: str, found: Mapping[str, float | None], limit: float, *, at_most: bool) -> list[Bar]:
    """One bar for all cases: the worst of them, named; none if nothing was measured."""
    known = {case: value for case, value in found.items() if value is not None}
    if not known:
        return []
    case = (max if at_most else min)(known, key=known.__getitem__)
    return [Bar(f"{what}; worst: {case}", known[case], limit, at_most=at_most)]


def flatness(report: Report, who: str, apart: str = "") -> dict[str, float | None]:
    """Slowest through fastest window, but for `apart`, by the rest of the case; for cases with more than one window."""
    groups: dict[str, list[float]] = {}
    for timing in report.timings:
        if timing.who == who and timing.nanoseconds is not None and timing.case.get("window") != apart:
            rest = words({key: value for key, value in timing.case.items() if key != "window"})
            groups.setdefault(rest, []).append(timing.nanoseconds)
    return {rest: max(times) / min(times) for rest, times in groups.items() if len(times) > 1}
