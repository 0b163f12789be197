"""A real Kafka for the tests: the jars of Spark's connector and of a broker, and one broker on loopback.

The connector is that of the installed pyspark's version, the broker of the version of the connector's own client.
"""

from __future__ import annotations

import base64
import contextlib
import os
import re
import socket
import struct
import subprocess
import time
import warnings
from pathlib import Path
from typing import Self

from tests.spark.maven import Unavailable, fetch, java
from tests.store.servers import free_port

CONNECTOR = "org.apache.spark:spark-sql-kafka-0-10_2.13"
NEAREST = "4.2.0"
TOKENS = "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.1.0-preview1"
"""The connector to take where Maven has none of pyspark's version, and the part of it that sees to delegation tokens.

4.0.0 and 4.1.0-preview1 do not run on Spark 4.3, where SerializedOffset has moved. A repository was seen to have that
connector and not its own token provider; the tests use no tokens, so they name one that is there.
"""
PATIENCE = 60
PARTITIONS = 3
QUICK = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


def connector_jars() -> list[str]:
    import pyspark

    try:
        return fetch(f"{CONNECTOR}:{pyspark.__version__}")
    except Unavailable as why:
        jars = fetch(f"{CONNECTOR}:{NEAREST}", instead=[TOKENS])
        warnings.warn(f"the connector of Spark {NEAREST} is tested instead of pyspark's own: {why}", stacklevel=2)
        return jars


def broker_jars(connector: list[str]) -> list[str]:
    """A broker of the same version as the client among the connector's jars, and a logger that writes to its output."""
    (version,) = {found[1] for jar in connector if (found := re.search(r"/kafka-clients-([^/]+)\.jar$", jar))}
    return fetch(f"org.apache.kafka:kafka_2.13:{version}", "org.slf4j:slf4j-simple:1.7.36")


class Broker:
    """One node that is broker and controller (KRaft), on two free ports; topics come with the first message."""

    def __init__(self, folder: Path, jars: list[str]) -> None:
        self.folder, self._jars = folder, os.pathsep.join(jars)
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        for last in (False, False, True):  # somebody else may take a port before the broker does
            self.port, controller = free_port(), free_port()
            settings = self._settings(controller)
            self._format(settings)
            with (self.folder / "log").open("ab") as log:
                self._process = subprocess.Popen(self._java("kafka.Kafka", str(settings)), stdout=log, stderr=log)
            try:
                self._wait()
                break
            except BaseException as error:
                self.__exit__()
                if last or not isinstance(error, AssertionError):
                    raise
        return self

    def __exit__(self, *_: object) -> None:
        """The data is a test's own, so the broker need not close its logs."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def _settings(self, controller: int) -> Path:
        settings = {
            "process.roles": "broker,controller",
            "node.id": 1,
            "controller.quorum.voters": f"1@127.0.0.1:{controller}",
            "controller.listener.names": "CONTROLLER",
            "listeners": f"PLAINTEXT://{self.address},CONTROLLER://127.0.0.1:{controller}",
            "advertised.listeners": f"PLAINTEXT://{self.address}",
            "log.dirs": self.folder / "data",
            "num.partitions": PARTITIONS,
            "auto.create.topics.enable": "true",
            "offsets.topic.num.partitions": 1,
            "offsets.topic.replication.factor": 1,
            "transaction.state.log.replication.factor": 1,
            "transaction.state.log.min.isr": 1,
        }
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / "server.properties"
        path.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        return path

    def _format(self, settings: Path) -> None:
        """An empty store of the cluster's own metadata, which a KRaft node does not start without."""
        cluster = base64.urlsafe_b64encode(b"slidewise tests.").decode().rstrip("=")
        arguments = ("format", "--ignore-formatted", "--cluster-id", cluster, "--config", str(settings))
        done = subprocess.run(self._java("kafka.tools.StorageTool", *arguments), capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()[-3000:]

    def _java(self, program: str, *arguments: str) -> list[str]:
        return [java(), *QUICK, "-cp", self._jars, program, *arguments]

    def _wait(self) -> None:
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            assert self._process is not None
            if self._process.poll() is not None:
                break
            with contextlib.suppress(OSError):
                if self._answers():
                    return
            time.sleep(0.1)
        raise AssertionError(f"the broker did not start:\n{(self.folder / 'log').read_text()[-3000:]}")

    def _answers(self) -> bool:
        """True if it tells which requests it knows: ApiVersions (18) of version 0, numbered 7, no client's name."""
        request = struct.pack(">hhih", 18, 0, 7, -1)
        with socket.create_connection(("127.0.0.1", self.port), 2) as connection:
            connection.sendall(struct.pack(">i", len(request)) + request)
            with connection.makefile("rb") as stream:
                head = stream.read(10)  # the answer's size, the request's number, an error or 0
        return len(head) == 10 and struct.unpack(">ih", head[4:]) == (7, 0)
