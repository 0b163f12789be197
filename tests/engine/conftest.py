"""Stores for windows that live in them."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.store.servers import DURABLE, Server


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A durable Redis server for the whole run."""
    pytest.importorskip("redis")
    with Server(tmp_path_factory.mktemp("redis"), *DURABLE) as server:
        yield server


@pytest.fixture(params=["memory", "disk", "redis"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty store, of each kind."""
    if request.param == "memory":
        return f"memory:{uuid.uuid4().hex}"
    if request.param == "disk":
        pytest.importorskip("lmdb")
        return f"disk:{tmp_path / 'store'}"
    server = request.getfixturevalue("redis_server")
    return f"{server.url}?prefix={uuid.uuid4().hex}"


@pytest.fixture
def small_rings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rings of the least size, so that windows of a few thousand events have most of them in the store."""
    monkeypatch.setattr("slidewise.swag.paged_amta.COMPILED_RING", 2048)
