"""The kill drill: kill -9 at random moments, the driver or its Python workers; what is in the files is what must be.

start ──batch──batch──✗        ✗ SIGKILL to the whole process group: JVM, driver and workers
start ─────batch──batch──batch──► done          files out = the answers of the same rows as a batch
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import slidewise as sw
from tests.spark.drill import WINDOWS
from tests.spark.replay import SECOND, assert_answers

pytestmark = pytest.mark.spark

ROOT = Path(__file__).resolve().parents[2]
ROWS, PATIENCE = 50, 150
BASE = 1_700_000_000 * SECOND
SENTINEL = "~"


def make_input(place: Path, files: int) -> pa.Table:
    """Files of rows that overlap in time, and one that pushes the watermark past them; returns all rows."""
    source = random.Random(3)
    size = files * ROWS
    keys, numbers = source.choices("abcdefg", k=size), source.choices(range(-9, 10), k=size)
    rows = [{"n": n, "k": keys[n], "t": BASE + n * SECOND // 8, "x": numbers[n]} for n in range(size)]
    came = sorted(rows, key=lambda row: row["t"] + source.random() * 4.5 * SECOND)
    schema = pa.schema([("n", pa.int64()), ("k", pa.string()), ("t", pa.timestamp("us", tz="UTC")), ("x", pa.int64())])

    def table_of(part: list[dict[str, Any]]) -> pa.Table:
        return pa.table({name: pa.array([row[name] for row in part], schema.field(name).type) for name in schema.names})

    parts = [came[first : first + ROWS] for first in range(0, size, ROWS)]
    parts.append([{"n": -1, "k": SENTINEL, "t": BASE + 10**6 * SECOND, "x": 0}])
    (place / "in").mkdir(parents=True)
    for number, part in enumerate(parts):
        path = place / "in" / f"{number:04}.parquet"
        pq.write_table(table_of(part), path)
        os.utime(path, (1_000_000_000 + number,) * 2)  # Spark reads the oldest first
    return table_of(rows)


def batches_done(place: Path) -> int:
    commits = place / "checkpoint" / "commits"
    return sum(name.name.isdigit() for name in commits.iterdir()) if commits.exists() else 0


@contextlib.contextmanager
def running(place: Path, windows: str) -> Iterator[subprocess.Popen[bytes]]:
    """The drill in a session of its own, which is gone afterwards whatever happens."""
    env = {**os.environ, "PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
    paths = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    env |= {"SPARK_LOCAL_IP": "127.0.0.1", "PYTHONPATH": paths}
    script = Path(__file__).with_name("drill.py")
    with (place / "log").open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, str(script), str(place), windows], env=env, stdout=log, stderr=log, start_new_session=True
        )
    try:
        yield process
    finally:
        kill_all(process)


def kill_all(process: subprocess.Popen[bytes]) -> None:
    """SIGKILL to driver, JVM and Python workers."""
    deadline = time.monotonic() + 20
    while (alive := members(process.pid)) and time.monotonic() < deadline:
        for one in alive:
            kill(one.pid)
        time.sleep(0.02)
    process.wait(20)


def kill(pid: int) -> bool:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
        return True
    return False


class Process(NamedTuple):
    pid: int
    parent: int
    command: str


def members(session: int) -> list[Process]:
    """The live processes of a session; not of a group, since Spark's Python daemons make their own."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError, IndexError, ValueError):
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                if int(fields[3]) == session and fields[0] != "Z":
                    command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                    found.append(Process(int(entry.name), int(fields[1]), command))
    return found


def workers_of(process: subprocess.Popen[bytes]) -> list[int]:
    """Spark's Python workers: what its daemons forked."""
    alive = [one for one in members(process.pid) if "pyspark.daemon" in one.command]
    return [one.pid for one in alive if one.parent in {other.pid for other in alive}]


def wait_for(process: subprocess.Popen[bytes], is_so: Callable[[], bool]) -> bool:
    """True once it is so while the process lives; False if it ended first."""
    deadline = time.monotonic() + PATIENCE
    while process.poll() is None and not is_so():
        assert time.monotonic() < deadline, "the drill takes too long"
        time.sleep(0.02)
    return process.poll() is None


def kill_driver(place: Path, windows: str, source: random.Random) -> int:
    """One run that is killed as a whole at a random moment; returns 1, or 0 if it was done before."""
    goal = batches_done(place) + source.randint(1, 4)
    with running(place, windows) as process:
        if not wait_for(process, lambda: batches_done(place) >= goal):
            return 0
        time.sleep(source.random() * 0.7)
        return int(process.poll() is None)


def kill_workers(place: Path, windows: str, source: random.Random, wanted: int) -> int:
    """One run to the end whose Python workers die now and then; returns how many did."""
    killed, begun = 0, batches_done(place)
    with running(place, windows) as process:
        for goal in range(begun + 1, begun + 1 + wanted):
            if wait_for(process, lambda goal=goal: batches_done(place) >= goal):
                time.sleep(source.random() * 0.7)
                killed += sum(map(kill, workers_of(process)))
        assert process.wait(PATIENCE) == 0, (place / "log").read_text()[-3000:]
    return killed


def check(place: Path, windows: str, rows: pa.Table) -> None:
    """Nothing lost, nothing twice, every answer as in a batch; read through the sink's own log of what is committed."""
    log = place / "out" / "_spark_metadata"
    assert log.exists()
    names: set[str] = set()
    for entry in log.iterdir():
        if not entry.name.startswith("."):
            names |= {part.split('"')[0].rpartition("/")[2] for part in entry.read_text().split('"path":"')[1:]}
    made = ds.dataset([str(place / "out" / name) for name in sorted(names)], format="parquet").to_table()
    made = made.filter(ds.field("k") != SENTINEL)
    expected = sw.slide(rows, [sw.sum("x"), sw.count()], WINDOWS[windows], by="k", order="t")
    if windows == "frames":  # a stream holds the last of each key, which is open
        keys = expected.column("k").to_pylist()
        expected = expected.filter(pa.array([key == later for key, later in zip(keys, [*keys[1:], None], strict=True)]))
        made = made.select(expected.column_names).cast(expected.schema)  # files of Spark have times without a zone
    assert_answers([made], expected, [name for name in expected.column_names if name != "t"])


def drill(place: Path, windows: str, seed: int, driver_kills: int, worker_kills: int, files: int = 8) -> None:
    source = random.Random(seed)
    rows = make_input(place, files)
    assert sum(kill_driver(place, windows, source) for _ in range(driver_kills)) > 0, "the driver was never killed"
    assert kill_workers(place, windows, source, worker_kills) > 0, "no worker was killed"
    check(place, windows, rows)


def test_the_driver_is_killed_and_then_workers(tmp_path: Path) -> None:
    drill(tmp_path, "remembered", seed=1, driver_kills=1, worker_kills=1, files=4)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("windows", WINDOWS)
@pytest.mark.parametrize("seed", range(4))
def test_everything_is_killed_again_and_again(tmp_path: Path, windows: str, seed: int) -> None:
    drill(tmp_path, windows, seed=100 + seed, driver_kills=3, worker_kills=3)
