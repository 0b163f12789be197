"""Real Redis servers for the tests, each on a free port with a folder of its own, and a proxy that can be cut."""

from __future__ import annotations

import contextlib
import shutil
import socket
import subprocess
import threading
import time
from pathlib import Path
from typing import Any, Self

import pytest

DURABLE = ("--appendonly", "yes", "--appendfsync", "always")


def free_port(below: int = 55000) -> int:
    """A port nobody listens on; below 55,000, since a cluster's bus takes the one 10,000 above."""
    while True:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port: int = probe.getsockname()[1]
        if port < below:
            return port


class Server:
    """A redis-server of our own. Its folder outlives it, so that it can be started again."""

    def __init__(self, folder: Path, *settings: str, scheme: str = "redis") -> None:
        program = shutil.which("redis-server")
        if program is None:
            pytest.skip("redis-server is not installed: tools/ensure_redis.sh installs it on Debian as root")
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.settings, self.scheme = folder, settings, scheme
        self._program = program
        self._process: subprocess.Popen[bytes] | None = None
        for last in (False, False, True):  # somebody else may take the port before the server does
            self.port = free_port()
            try:
                self.start()
                break
            except AssertionError:
                if last:
                    raise

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        ports = ("--port", "0", "--tls-port") if self.scheme == "rediss" else ("--port",)
        command = [self._program, *ports, str(self.port), "--bind", "127.0.0.1", "--dir", str(self.folder)]
        command += ["--save", "", "--daemonize", "no", *self.settings]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log)
        self._wait()

    def _wait(self) -> None:
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            assert self._process is not None
            if self._process.poll() is not None:
                break
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return
            time.sleep(0.02)
        raise AssertionError(f"redis-server did not start:\n{(self.folder / 'log').read_text()}")

    def kill(self) -> None:
        """kill -9."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def client(self, **settings: Any) -> Any:
        import redis

        return redis.Redis(port=self.port, **settings)


class Cluster:
    """A Redis Cluster of three servers on loopback."""

    def __init__(self, folder: Path) -> None:
        self.servers: list[Server] = []
        try:
            self._start(folder)
        except BaseException:
            self.kill()
            raise

    def _start(self, folder: Path) -> None:
        for k in range(3):
            settings = (*DURABLE, "--cluster-enabled", "yes", "--cluster-node-timeout", "2000")
            self.servers.append(Server(folder / str(k), *settings))
        clients = [server.client() for server in self.servers]
        step = 16384 // 3 + 1
        for k, client in enumerate(clients):
            client.execute_command("CLUSTER", "ADDSLOTSRANGE", k * step, min((k + 1) * step, 16384) - 1)
            client.execute_command("CLUSTER", "SET-CONFIG-EPOCH", k + 1)
        for server in self.servers[1:]:
            clients[0].execute_command("CLUSTER", "MEET", "127.0.0.1", server.port)
        self.wait()

    def wait(self) -> None:
        """Until all servers see each other."""
        deadline = time.monotonic() + 20
        while not all(_agreed(server.client()) for server in self.servers):
            assert time.monotonic() < deadline, "the cluster did not form"
            time.sleep(0.05)

    @property
    def url(self) -> str:
        return "redis+cluster://" + ",".join(f"127.0.0.1:{server.port}" for server in self.servers)

    def kill(self) -> None:
        for server in self.servers:
            server.kill()


def _agreed(client: Any) -> bool:
    info = {str(name): str(value) for name, value in client.execute_command("CLUSTER INFO").items()}
    return info["cluster_state"] == "ok" and info["cluster_known_nodes"] == "3"


class Proxy:
    """A TCP proxy in front of a server that lets only so many bytes through, then cuts the connection."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.budget: int | None = None
        """Bytes that may still go to the server before it is cut; None for any number."""
        self.open = True
        self.cuts = 0
        self._lock = threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            if not self.open:
                near.close()
                continue
            far = socket.create_connection(("127.0.0.1", self._target))
            threading.Thread(target=self._pump, args=(near, far, True), daemon=True).start()
            threading.Thread(target=self._pump, args=(far, near, False), daemon=True).start()

    def _pump(self, source: socket.socket, sink: socket.socket, counted: bool) -> None:
        with contextlib.suppress(OSError):
            while piece := source.recv(65536):
                if counted and not self._allowed(piece, sink):
                    break
                sink.sendall(piece)
        for side in (source, sink):
            with contextlib.suppress(OSError):
                side.shutdown(socket.SHUT_RDWR)

    def _allowed(self, piece: bytes, sink: socket.socket) -> bool:
        with self._lock:
            if self.budget is None:
                return True
            if self.budget >= len(piece):
                self.budget -= len(piece)
                return True
            sink.sendall(piece[: self.budget])
            self.budget = None
            self.cuts += 1
            return False
