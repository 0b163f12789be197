"""Slider on a standalone cluster of two workers: where tasks run, and what a slow worker costs (table 1 of the paper).

The paper's scheduler runs tasks where memoized state is and moves them away from machines that turn out slow. Spark has
both as settings: `spark.locality.wait` (how long a task waits for the worker that has its block) and
`spark.speculation` (a task that takes long is started again elsewhere; a node's file has a name of its own, so that
both may write). Each setting has a session of its own on one cluster; slides are prepared, so that what they read is in
the workers' memory. One worker is slowed by stopping its processes seven tenths of the time.

On one machine, blocks of the other worker come over loopback, so locality can save less here than over a network.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.measure import Report, Timing
from bench.slider_apps import APPS, App
from bench.slider_meter import metered, written
from bench.spark import session
from bench.standalone import Cluster, cluster
from slidewise import incremental as inc

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SPLITS = 8
SLIDES = 4
CHOSEN = {"K-Means": 6_000, "HCT": 60_000}
"""One application with a heavy map and one with many keys; rows of a split."""
SETTINGS = {
    "as Spark comes: wait 3 s": {"spark.locality.wait": "3s"},
    "no wait": {"spark.locality.wait": "0s"},
    "wait 3 s, speculation": {"spark.locality.wait": "3s", "spark.speculation": "true"},
    "no wait, speculation": {"spark.locality.wait": "0s", "spark.speculation": "true"},
}
SPECULATION = {
    "spark.speculation.interval": "50ms",
    "spark.speculation.minTaskRuntime": "200ms",
    "spark.speculation.multiplier": "1.5",
    "spark.speculation.quantile": "0.5",
}
"""As eager as slides of seconds need; the defaults wait for a stage of minutes."""


def run(quick: bool, tell: Callable[[str], None]) -> Report:
    """Both applications under all settings, with and without a slow worker."""
    report = Report("slider_cluster", quick, "M rows/s", "slidewise")
    table = [["app, setting", "slide s", "one worker slow: slide s", "slower by"]]
    with tempfile.TemporaryDirectory(prefix="slidewise-bench-") as scratch:
        place = Path(scratch)
        apps = [app for app in APPS if app.name in CHOSEN]
        rows = {app.name: CHOSEN[app.name] // (20 if quick else 1) for app in apps}
        for app in apps:
            for number in range(SPLITS + 2 * SLIDES + 1):
                app.write(place / f"{app.name}-{number}.parquet", number, rows[app.name])
        with cluster(place / "cluster", memory="2g") as machines:
            for name, settings in SETTINGS.items():
                other = {
                    "spark.master": machines.url,
                    "spark.executor.memory": "1g",
                    "spark.sql.files.minPartitionNum": "4",
                    **SPECULATION,
                    **settings,
                }
                with session(place, other) as spark:
                    for app in apps:
                        usual, slow = _slides(spark, machines, app, place, name)
                        for what, seconds in (("both workers", usual), ("one worker slow", slow)):
                            case = {"app": app.name, "setting": name, "workers": what}
                            report.timings.append(Timing(case, "slidewise", rows[app.name], tuple(seconds)))
                        a, b = statistics.median(usual), statistics.median(slow)
                        table.append([f"{app.name}, {name}", f"{a:.2f}", f"{b:.2f}", f"{b / a - 1:.0%}"])
                        tell(f"{app.name}, {name}: {a:.2f} s, with a slow worker {b:.2f} s")
    report.tables["Table 1: a slide under settings of Spark's scheduler (paper: saves 23 % and 12 %)"] = table
    return report


def _slides(spark: SparkSession, machines: Cluster, app: App, place: Path, name: str) -> list[list[float]]:
    """Seconds of prepared slides with both workers sound, then with a slow one."""
    state = place / f"state-{app.name}-{list(SETTINGS).index(name)}"
    job = inc.Job(spark, state=str(state), query=app.query, window=inc.splits(SPLITS))

    def split(number: int) -> dict[str, Any]:
        return {f"{number:04}": app.mapped(spark.read.parquet(str(place / f"{app.name}-{number}.parquet")))}

    written(job.advance({name: df for number in range(SPLITS) for name, df in split(number).items()}))
    job.prepare()
    written(job.advance(split(SPLITS)))  # compiled, workers started
    found: list[list[float]] = [[], []]
    for number in range(SPLITS + 1, SPLITS + 1 + 2 * SLIDES):
        slow = number % 2  # by turns
        job.prepare()
        add = split(number)
        with machines.slowed(0) if slow else nullcontext(), metered(spark) as meter:
            written(job.advance(add))
        found[slow].append(meter.seconds)
    return found
