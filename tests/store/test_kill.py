"""kill -9: of the writer, of the server; the connection cut in the middle of a batch. Nothing acknowledged is lost, and
no batch is there by half."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from slidewise import store as stores
from slidewise.errors import StoreLocked, StoreUnreachable
from slidewise.store import keys
from tests.store import drill
from tests.store.servers import DURABLE, Cluster, Proxy, Server

ROOT = Path(__file__).resolve().parents[2]
SOON = 2.0
"""Seconds within which a writer gets in after another on the same host was killed."""


@contextmanager
def writer(url: str) -> Iterator[subprocess.Popen[str]]:
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.store.drill", url],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": paths},
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def claimed(process: subprocess.Popen[str]) -> float:
    """Seconds that the writer took to get in."""
    assert process.stdout is not None
    assert process.stderr is not None
    line = process.stdout.readline()
    assert line.startswith("claimed "), process.stderr.read()
    return float(line.split()[1])


def killed(process: subprocess.Popen[str], after: float) -> int:
    """Kill -9 the writer after so many seconds; the last batch it was told is durable, -1 if none."""
    assert process.stdout is not None
    time.sleep(after)
    process.send_signal(signal.SIGKILL)
    told = process.stdout.read().split()
    process.wait()
    return int(told[-1]) if told else -1


def kill_writers(url: str, rounds: int, draw: random.Random) -> None:
    last = -1
    for _ in range(rounds):
        with writer(url) as process:
            assert claimed(process) < SOON
            last = max(last, killed(process, draw.uniform(0.02, 0.4)))
        with stores.open(url, create=False) as store:
            found = drill.last_whole(store)
            assert last <= found <= last + 1  # the one on its way may have arrived, as a whole
            last = found
    assert last > 2


def test_the_writer_is_killed(lasting_url: str) -> None:
    kill_writers(lasting_url, 3, random.Random(1))


@pytest.mark.slow
def test_the_writer_is_killed_many_times(lasting_url: str) -> None:
    kill_writers(lasting_url, 40, random.Random(2))


@pytest.mark.slow
def test_the_writer_on_a_cluster_is_killed(redis_cluster: Cluster) -> None:
    kill_writers(f"{redis_cluster.url}?prefix=killed", 10, random.Random(3))


def test_after_kill_the_same_process_gets_in_at_once(lasting_url: str) -> None:
    with stores.open(lasting_url) as store, writer(lasting_url) as process:
        claimed(process)
        with pytest.raises(StoreLocked, match=rf"window 'drill' is held by process {process.pid} on \S+ since 20"):
            store.claim(keys.prefix(drill.WINDOW))
        killed(process, 0.1)
        start = time.monotonic()
        with store.claim(keys.prefix(drill.WINDOW)):
            assert time.monotonic() - start < SOON


def kill_servers(folder: Path, rounds: int, draw: random.Random) -> None:
    found: list[int] = []
    with Server(folder, *DURABLE) as server, writer(server.url) as process:
        claimed(process)
        for _ in range(rounds):
            time.sleep(draw.uniform(0.1, 0.4))
            server.kill()
            process.send_signal(signal.SIGSTOP)  # so that nobody mends what is broken before we have looked
            server.start()
            with stores.open(server.url) as store:
                found.append(drill.last_whole(store))
            process.send_signal(signal.SIGCONT)
        assert found == sorted(found)
        told = killed(process, 0.5)  # it has survived all of them
        with stores.open(server.url) as store:
            assert told <= drill.last_whole(store) <= told + 1
        assert told > 2


def test_the_server_is_killed_and_comes_back(tmp_path: Path) -> None:
    pytest.importorskip("redis")
    kill_servers(tmp_path, 2, random.Random(4))


@pytest.mark.slow
def test_the_server_is_killed_many_times(tmp_path: Path) -> None:
    pytest.importorskip("redis")
    kill_servers(tmp_path, 25, random.Random(5))


@pytest.mark.slow
def test_a_server_of_a_cluster_is_killed_and_comes_back(redis_cluster: Cluster) -> None:
    url = f"{redis_cluster.url}?prefix=restarted&patience=30"
    with writer(url) as process:
        claimed(process)
        for server in redis_cluster.servers:
            time.sleep(0.5)
            server.kill()
            time.sleep(0.5)
            server.start()
            redis_cluster.wait()
        told = killed(process, 2)
    with stores.open(url) as store:
        assert told <= drill.last_whole(store) <= told + 1
    assert told > 10


def test_the_server_does_not_come_back(tmp_path: Path) -> None:
    pytest.importorskip("redis")
    with Server(tmp_path, *DURABLE) as server:
        store = stores.open(server.url + "?patience=0.5")
        claim = store.claim(keys.prefix(drill.WINDOW))
        for k in range(3):
            drill.write(store, claim, k)
        server.kill()
        start = time.monotonic()
        with pytest.raises(StoreUnreachable, match=rf"127.0.0.1:{server.port}/0: no answer in 0\.\d s"):
            drill.write(store, claim, 3)
        assert time.monotonic() - start < 3
        server.start()
        assert drill.last_whole(store) == 2
        drill.write(store, claim, 3)  # nothing was lost: the same batch again, under the same claim
        assert drill.last_whole(store) == 3
        server.kill()
        start = time.monotonic()
        store.close()  # does not hang, nor fail
        assert time.monotonic() - start < 3


def cut(server: Server, batches: int, draw: random.Random) -> None:
    """Every batch meets a connection that breaks after some bytes of it."""
    proxy = Proxy(server.port)
    with stores.open(f"{proxy.url}?prefix={time.time_ns()}") as store:
        claim = store.claim(keys.prefix(drill.WINDOW))
        for k in range(batches):
            proxy.budget = draw.randrange(drill.PAGES * drill.SIZE)
            drill.write(store, claim, k)
        assert proxy.cuts >= batches * 0.9
        proxy.budget = None
        assert drill.last_whole(store) == batches - 1
    proxy.close()


def test_the_connection_is_cut_in_the_middle_of_a_batch(redis_server: Server) -> None:
    cut(redis_server, 12, random.Random(6))


@pytest.mark.slow
def test_the_connection_is_cut_many_times(redis_server: Server) -> None:
    cut(redis_server, 300, random.Random(7))


def test_the_connection_stays_cut(redis_server: Server) -> None:
    proxy = Proxy(redis_server.port)
    name = f"prefix={time.time_ns()}"
    store = stores.open(f"{proxy.url}?{name}&patience=0.3")
    claim = store.claim(keys.prefix(drill.WINDOW))
    drill.write(store, claim, 0)
    proxy.open, proxy.budget = False, 5000
    with pytest.raises(StoreUnreachable):
        drill.write(store, claim, 1)
    with stores.open(f"{redis_server.url}?{name}") as other:
        assert drill.last_whole(other) == 0
    proxy.open = True
    drill.write(store, claim, 1)
    assert drill.last_whole(store) == 1
    store.close()
    proxy.close()
