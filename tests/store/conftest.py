"""Stores under test: every kind by its URL, with a way to come back to it as another process would."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.store.servers import DURABLE, Cluster, Server


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A durable Redis server for the whole run."""
    pytest.importorskip("redis")
    with Server(tmp_path_factory.mktemp("redis"), *DURABLE) as server:
        yield server


@pytest.fixture(scope="session")
def redis_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster of three servers for the whole run."""
    pytest.importorskip("redis")
    cluster = Cluster(tmp_path_factory.mktemp("cluster"))
    yield cluster
    cluster.kill()


@pytest.fixture(params=["memory", "disk", "redis", pytest.param("cluster", marks=pytest.mark.slow)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty store, of each kind."""
    return url_of(request, request.param, tmp_path)


@pytest.fixture(params=["disk", "redis"])
def lasting_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty store that other processes can open."""
    return url_of(request, request.param, tmp_path)


def url_of(request: pytest.FixtureRequest, kind: str, folder: Path) -> str:
    name = uuid.uuid4().hex
    if kind == "memory":
        return f"memory:{name}"
    if kind == "disk":
        pytest.importorskip("lmdb")
        return f"disk:{folder / 'store'}"
    server = request.getfixturevalue("redis_server" if kind == "redis" else "redis_cluster")
    return f"{server.url}?prefix={name}"
