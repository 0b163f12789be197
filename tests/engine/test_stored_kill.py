"""kill -9 of a process with a window in a store, of the server, of the connection: the window is as at its last flush.

Or as at one that was on its way: then it had written as a whole. In both cases it answers as a run that was never
interrupted did at that event, and goes on with the same answers.
"""

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

import slidewise as sw
from slidewise.errors import StoreUnreachable
from tests.engine import stored_drill as drill
from tests.engine.streams import WINDOWS
from tests.store.servers import DURABLE, Proxy, Server

ROOT = Path(__file__).resolve().parents[2]
NAMES = ["rows", "time", "policy", "adwin"]
EVERY = 150


@contextmanager
def feeder(url: str, name: str) -> Iterator[subprocess.Popen[str]]:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    command = [sys.executable, "-m", "tests.engine.stored_drill", url, name, str(EVERY)]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env, cwd=ROOT
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def told(process: subprocess.Popen[str]) -> int:
    assert process.stdout is not None
    assert process.stderr is not None
    line = process.stdout.readline()
    assert line, process.stderr.read()
    return int(line)


def killed(process: subprocess.Popen[str], after: float) -> int:
    """Kill -9 it so many seconds after its second flush; how many events it was told are durable."""
    assert process.stdout is not None
    told(process)
    told(process)
    first = told(process)
    time.sleep(after)
    process.send_signal(signal.SIGKILL)
    rest = process.stdout.read().split()
    process.wait()
    return int(rest[-1]) if rest else first


def kill_feeders(url: str, name: str, draw: random.Random, rounds: int = 2) -> None:
    last = 0
    for _ in range(rounds):
        with feeder(url, name) as process:
            acknowledged = killed(process, draw.uniform(0.0, 0.3))
        assert acknowledged >= last
        live = drill.opened(url, name)
        assert live.events >= acknowledged
        assert live.events <= acknowledged + EVERY  # the one on its way
        drill.checked(live, name, more=300)
        live.close(flush=draw.random() < 0.5)  # the next one goes on from here, or from where this one began
        last = acknowledged
    live = drill.opened(url, name)
    drill.checked(live, name, more=5000)
    live.check()
    live.close()


@pytest.mark.parametrize("name", ["time", "policy"])
def test_the_process_is_killed(tmp_path: Path, name: str) -> None:
    pytest.importorskip("lmdb")
    kill_feeders(f"disk:{tmp_path}/store", name, random.Random(1), rounds=1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_the_process_is_killed_again_and_again(tmp_path: Path, seed: int) -> None:
    pytest.importorskip("lmdb")
    kill_feeders(f"disk:{tmp_path}/store", NAMES[seed % len(NAMES)], random.Random(seed), rounds=4)


def test_the_client_of_redis_is_killed(redis_server: Server) -> None:
    kill_feeders(f"{redis_server.url}?prefix={time.time_ns()}", "time", random.Random(2), rounds=1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_the_client_of_redis_is_killed_again_and_again(redis_server: Server, seed: int) -> None:
    url = f"{redis_server.url}?prefix={time.time_ns()}"
    kill_feeders(url, NAMES[seed % len(NAMES)], random.Random(seed), rounds=4)


def kill_servers(folder: Path, name: str, draw: random.Random, rounds: int) -> None:
    """The process goes on by itself when the server is back; what it was told is there each time."""
    pytest.importorskip("redis")
    with Server(folder, *DURABLE) as server:
        with feeder(server.url, name) as process:
            told(process)
            for _ in range(rounds):
                time.sleep(draw.uniform(0.1, 0.4))
                server.kill()
                time.sleep(draw.uniform(0.0, 0.3))
                server.start()
            while told(process) < 2000:
                pass
            process.send_signal(signal.SIGKILL)
            assert process.stdout is not None
            rest = process.stdout.read().split()
            process.wait()
        acknowledged = int(rest[-1]) if rest else 2000
        server.kill()
        server.start()
        live = drill.opened(server.url, name)
        assert acknowledged <= live.events <= acknowledged + EVERY
        drill.checked(live, name, more=4000)
        live.check()
        live.close()


def test_the_server_is_killed(tmp_path: Path) -> None:
    kill_servers(tmp_path, "time", random.Random(3), rounds=2)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_the_server_is_killed_again_and_again(tmp_path: Path, seed: int) -> None:
    kill_servers(tmp_path, NAMES[seed % len(NAMES)], random.Random(seed), rounds=5)


def cut(server: Server, name: str, flushes: int, draw: random.Random) -> None:
    """Every flush meets a connection that breaks after some bytes of it, and so do pages on their way."""
    proxy = Proxy(server.port)
    url = f"prefix={time.time_ns()}"
    live = drill.opened(f"{proxy.url}?{url}", name)
    for k in range(flushes):
        drill.feed(live, live.events + draw.randrange(700))
        proxy.budget = draw.randrange(20_000)
        live.flush()
        if k % 3 == 2:
            proxy.budget = draw.randrange(20_000)
            live.close(flush=draw.random() < 0.5)
            live = drill.opened(f"{proxy.url}?{url}", name)
            drill.checked(live, name, more=100)
    assert proxy.cuts >= flushes // 3
    proxy.budget = None
    live.close()
    proxy.close()
    with drill.opened(f"{server.url}?{url}", name) as live:
        drill.checked(live, name, more=2000)
        live.check()


def test_the_connection_is_cut_in_the_middle_of_flushes(redis_server: Server) -> None:
    cut(redis_server, "policy", 12, random.Random(4))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_connection_is_cut_many_times(redis_server: Server, name: str) -> None:
    cut(redis_server, name, 60, random.Random(5))


def test_the_connection_stays_cut_for_longer_than_our_patience(redis_server: Server) -> None:
    """Errors reach the caller, the window stays as it is, and goes on when the server is there again."""
    proxy, name = Proxy(redis_server.port), "rows"
    prefix = f"prefix={time.time_ns()}"
    live = drill.opened(f"{proxy.url}?{prefix}&patience=0.2", name)
    drill.feed(live, 4000)
    live.flush()
    drill.feed(live, 4400)
    proxy.open, proxy.budget = False, 3000
    errors = 0
    for k in range(4400, 6000):
        if k % 200 == 0:
            time.sleep(0.25)  # the background's patience ends
        while True:
            try:
                answer = live.push(drill.events().values[k])
            except StoreUnreachable:
                errors += 1
                with pytest.raises(StoreUnreachable):
                    live.flush()
                proxy.open = errors >= 2
            else:
                break
        assert (answer, len(live)) == drill.uninterrupted(name)[k]
    assert errors >= 2
    live.flush()
    live.close()
    live = sw.LiveWindow.restore(f"{redis_server.url}?{prefix}", window=WINDOWS[name])
    assert live.events == 6000
    drill.checked(live, name, more=3000)
    live.close()
    proxy.close()
