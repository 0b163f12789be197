"""A standalone Spark cluster on loopback: a master and workers in processes of their own; one can be slowed."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

PATIENCE = 60.0
"""Seconds that a process has to come up."""
QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""A Java that is quick to start; what executors run is set by the application."""


@dataclass(frozen=True)
class Cluster:
    """Where the master is, and the processes of its workers."""

    url: str
    workers: tuple[subprocess.Popen[bytes], ...]

    @contextmanager
    def slowed(self, number: int, share: float = 0.7) -> Iterator[None]:
        """Stop what one worker runs for this share of the time, a tenth of a second at a time."""
        over = threading.Event()

        def stutter() -> None:
            while not over.is_set():
                children = _below(self.workers[number].pid)
                _signal(children, signal.SIGSTOP)
                time.sleep(0.1 * share)
                _signal(children, signal.SIGCONT)
                time.sleep(0.1 * (1 - share))

        thread = threading.Thread(target=stutter, daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()


@contextmanager
def cluster(scratch: Path, workers: int = 2, cores: int = 1, memory: str = "1g") -> Iterator[Cluster]:
    """A master and its workers, in `scratch`; gone at the end, with all they started."""
    import pyspark

    launcher = Path(pyspark.__file__).parent / "bin" / "spark-class"
    scratch.mkdir(parents=True, exist_ok=True)
    setting = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_DAEMON_JAVA_OPTS": QUICK}
    setting |= {"SPARK_WORKER_DIR": str(scratch / "work"), "SPARK_NO_DAEMONIZE": "1"}
    started: list[subprocess.Popen[bytes]] = []

    def start(name: str, kind: str, *arguments: str) -> Path:
        log = scratch / f"{name}.log"
        command = [str(launcher), f"org.apache.spark.deploy.{kind}", "--host", "127.0.0.1", "--webui-port", "0"]
        with log.open("wb") as sink:
            process = subprocess.Popen(
                [*command, *arguments], env=setting, stdout=sink, stderr=sink, start_new_session=True
            )
        started.append(process)
        return log

    try:
        url = _said(start("master", "master.Master", "--port", "0"), r"Starting Spark master at (spark://\S+)")
        logs = [
            start(f"worker-{k}", "worker.Worker", "--cores", str(cores), "--memory", memory, url)
            for k in range(workers)
        ]
        for log in logs:
            _said(log, r"(Successfully registered) with master")
        yield Cluster(url, tuple(started[1:]))
    finally:
        for process in reversed(started):
            _signal([*_below(process.pid), process.pid], signal.SIGKILL)
            process.wait()


def _said(log: Path, pattern: str) -> str:
    """What a process says in its log once it is up."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        found = re.search(pattern, log.read_text(errors="replace"))
        if found:
            return found.group(1)
        time.sleep(0.1)
    raise TimeoutError(f"{log.stem} did not come up within {PATIENCE:.0f} s: {log.read_text(errors='replace')[-500:]}")


def _below(pid: int) -> list[int]:
    """The processes that one started, and those that they started."""
    found: list[int] = []
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                found += [int(child), *_below(int(child))]
    return found


def _signal(pids: list[int], what: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, what)
