"""An embedded Spark for the demo: two cores, loopback only, and nothing of its own on the user's screen.

::

    JVM, Python workers ──► stdout, stderr ──► a log file      (warnings, worker chatter: kept, not shown)
    this process        ──► stdout         ──► the terminal
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from slidewise.errors import SlidewiseError

__all__ = ["require_java", "session"]

_SETTINGS: Final = {
    "spark.master": "local[2]",
    "spark.app.name": "slidewise demo",
    # For a run this short the JVM's best compiler costs more than it saves: two thirds of the time without it.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.log.level": "WARN",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


@contextmanager
def session(scratch: Path, log: Path) -> Iterator[SparkSession]:
    """Spark with its files in ``scratch`` and its output in ``log``; one that runs already is used and left alone.

    Raises
    ------
    SlidewiseError
        If Spark does not start, most likely for a Java too old.
    """
    running = SparkSession.getActiveSession()
    if running is not None:
        yield running
        return
    spark = _started(scratch, log)
    try:
        yield spark
    finally:
        spark.stop()


def require_java() -> None:
    """Raise `SlidewiseError` if there is no Java where Spark will look for it."""
    home = os.environ.get("JAVA_HOME")
    if not (Path(home, "bin", "java").is_file() if home else shutil.which("java")):
        where = f"none in JAVA_HOME={home}" if home else "none on PATH"
        raise SlidewiseError(f"Spark needs Java 17 or newer ({where}): install it, or set JAVA_HOME")


def _started(scratch: Path, log: Path) -> SparkSession:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # workers would otherwise take python3 from PATH
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")  # and Spark the machine's outward address
    settings = {
        **_SETTINGS,
        "spark.local.dir": str(scratch / "local"),
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
    }
    conf = SparkConf().setAll(list(settings.items()))
    with log.open("wb") as sink:
        try:
            # A JVM of an earlier session is still there, and has its own output.
            quiet = {"stdout": sink, "stderr": sink}
            gateway = None if SparkContext._gateway else launch_gateway(conf, quiet)  # type: ignore[no-untyped-call]
            return SparkSession(SparkContext(conf=conf, gateway=gateway))
        except PySparkRuntimeError as failure:
            raise SlidewiseError(f"Spark did not start; it needs Java 17 or newer, and its log is {log}") from failure
