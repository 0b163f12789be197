"""Fixtures and Hypothesis profiles that every test shares."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from slidewise.monoids import BUILTINS
from tests.catalogue import in_normal_run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SLOW_FIRST_CALL = (HealthCheck.too_slow, HealthCheck.function_scoped_fixture)  # a kernel compiles on its first call
settings.register_profile("default", deadline=None, max_examples=50, suppress_health_check=_SLOW_FIRST_CALL)
settings.register_profile("ci", settings.get_profile("default"), derandomize=True, print_blob=True)
settings.register_profile("thorough", settings.get_profile("default"), max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "default"))

_ROOT = Path(__file__).resolve().parent.parent


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Generator[None, None, None]:
    """Algorithm x built-in is machine code of its own for each pair: all of them are for the slow run.

    The ladder's own choice runs every built-in in the normal run too. What needs Spark comes first in each half of the
    tests: it waits more than it works, so two processes of the run have some of it each.
    """
    for item in items:
        params = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
        one = params.get("one", params.get("name", params.get("aggregate")))
        name = getattr(getattr(one, "source", None), "name", one)
        if not isinstance(name, str) or "algorithm" not in params or name not in BUILTINS:
            continue
        if name not in in_normal_run(params["algorithm"]):
            item.add_marker(pytest.mark.slow)
    yield  # tests that are not asked for go
    items[:] = _spread(items)


def _spread(items: list[pytest.Item]) -> list[pytest.Item]:
    """Two halves, each with files of tests that need Spark first, about as many in either."""
    files: dict[Path, list[pytest.Item]] = {}
    plain = [item for item in items if item.get_closest_marker("spark") is None]
    for item in items:
        if item.get_closest_marker("spark") is not None:
            files.setdefault(item.path, []).append(item)
    halves: tuple[list[pytest.Item], list[pytest.Item]] = ([], [])
    for several in sorted(files.values(), key=lambda some: (-len(some), str(some[0].path))):
        min(halves, key=len).extend(several)
    middle = max(0, len(items) // 2 - len(halves[0]))
    return [*halves[0], *plain[:middle], *halves[1], *plain[middle:]]


def pytest_collection_finish() -> None:
    """Compiling leaves much behind that stays: looking through all of it again and again is a tenth of the run."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 2 MB."""
    place = tmp_path / "small"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(place)]
    if os.geteuid() or subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("mounting a tmpfs needs root")
    yield place
    subprocess.run(["umount", str(place)], check=True)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """One local Spark for the whole run: two cores, two shuffle partitions, UTC, state in RocksDB, loopback only."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    # Workers import what the tests pickled by reference: the users' monoids of tests.golden.
    paths = [str(_ROOT), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(paths))
    place = tmp_path_factory.mktemp("spark")
    session = (
        SparkSession.builder.master("local[2]")
        .appName("slidewise-tests")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.memory", "1g")
        .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")  # quick to start
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.default.parallelism", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config(
            "spark.sql.streaming.stateStore.providerClass",
            "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
        )
        .config("spark.local.dir", str(place / "local"))
        .config("spark.sql.warehouse.dir", str(place / "warehouse"))
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()
