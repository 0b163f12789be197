"""A small Spark session for tests that run in a process of their own: two cores, loopback, quick to start."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETTINGS = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
}


def small_session(master: str, place: Path, **more: str) -> SparkSession:
    """With its files in `place`; `more` settings have `_` for the dots of their names."""
    from pyspark.sql import SparkSession

    builder = (
        SparkSession.builder.master(master).appName("slidewise-tests").config("spark.local.dir", str(place / "local"))
    )
    for name, value in {**SETTINGS, **{key.replace("_", "."): value for key, value in more.items()}}.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()
