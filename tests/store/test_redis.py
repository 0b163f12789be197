"""Redis: passwords, TLS, settings, full memory, leases and fences."""

from __future__ import annotations

import dataclasses
import logging
import shutil
import subprocess
import time
import uuid
from pathlib import Path

import pytest

from slidewise import store as stores
from slidewise.errors import StoreCorrupt, StoreError, StoreFull, StoreLocked, StoreUnreachable
from slidewise.store import Holder, Store, keys
from tests.store.servers import DURABLE, Server, free_port

pytest.importorskip("redis")

from slidewise.store import redis as module

SECRET = "s3cr3t/p@ss"
NAME = keys.prefix("w")


def test_nobody_answers() -> None:
    port = free_port()
    start = time.monotonic()
    with pytest.raises(StoreUnreachable, match=rf"^redis://127\.0\.0\.1:{port}/0: no answer in .* refused") as caught:
        stores.open(f"redis://:{SECRET}@127.0.0.1:{port}/0")
    assert time.monotonic() - start < 5
    assert SECRET not in str(caught.value)


def test_nobody_answers_for_a_cluster() -> None:
    port = free_port()
    with pytest.raises(StoreUnreachable, match=rf"^redis\+cluster://127\.0\.0\.1:{port}: no answer"):
        stores.open(f"redis+cluster://127.0.0.1:{port}")


def test_a_server_alone_is_no_cluster(redis_server: Server) -> None:
    with pytest.raises(StoreError, match="cluster"):
        stores.open(f"redis+cluster://127.0.0.1:{redis_server.port}")


def test_passwords(tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    caplog.set_level(logging.DEBUG)
    with Server(tmp_path, *DURABLE, "--requirepass", SECRET) as server:
        place = f"127.0.0.1:{server.port}/0"
        said = []
        with pytest.raises(
            StoreUnreachable, match=rf"^redis://{place}: the server refuses the user or password$"
        ) as wrong:
            stores.open(f"redis://:wr0ng@{place}")
        said += [str(wrong.value), repr(wrong.value)]
        with pytest.raises(StoreUnreachable, match="asks for a password"):
            stores.open(f"redis://{place}")
        for url in (f"redis://:{SECRET}@{place}", f"redis://default:s3cr3t%2Fp%40ss@{place}"):
            with stores.open(url) as store:
                store.put_many({b"w/a/1": b"x"})
                said += [repr(store), store.url, repr(store.claim(NAME))]
        monkeypatch.setenv("SLIDEWISE_REDIS_PASSWORD", SECRET)
        with stores.open(f"redis://{place}", create=False) as store:
            assert store.get_many([b"w/a/1"]) == [b"x"]
    for text in (*said, caplog.text):
        assert SECRET not in text
        assert "wr0ng" not in text


@pytest.mark.parametrize("settings", [(), ("--appendonly", "yes"), (*DURABLE, "--no-appendfsync-on-rewrite", "yes")])
def test_a_server_that_is_not_durable(settings: tuple[str, ...], tmp_path: Path) -> None:
    with Server(tmp_path, *settings) as server:
        needed = "no-appendfsync-on-rewrite no" if len(settings) > 2 else "appendfsync always"
        with pytest.raises(
            StoreError, match=f"not durable: set .*{needed} on the server, or open it with .durability=re"
        ):
            stores.open(server.url)
        with stores.open(f"{server.url}?durability=relaxed") as store, stores.open(server.url, durable=False) as other:
            store.put_many({b"w/a/1": b"x"})
            assert other.get_many([b"w/a/1"]) == [b"x"]


def test_a_server_that_forgets_what_it_likes(tmp_path: Path) -> None:
    with (
        Server(tmp_path, *DURABLE, "--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru") as server,
        pytest.raises(StoreError, match="set maxmemory-policy noeviction"),
    ):
        stores.open(server.url)


def test_settings_that_may_not_be_seen(tmp_path: Path) -> None:
    with Server(tmp_path, *DURABLE, "--rename-command", "CONFIG", "") as server:
        with pytest.raises(StoreError, match="durability cannot be checked"):
            stores.open(server.url)
        stores.open(f"{server.url}?durability=relaxed").close()


def test_full_memory_loses_nothing(tmp_path: Path) -> None:
    page = bytes(range(256)) * 256
    with Server(tmp_path, *DURABLE, "--maxmemory", "4mb") as server, stores.open(server.url) as store:
        written = 0
        with pytest.raises(StoreFull, match="maxmemory is reached; nothing of the batch was written"):  # noqa: PT012
            for k in range(1000):
                store.put_many({keys.page("w", 0, k): page, keys.meta("w"): b"%d" % k})
                written = k + 1
        assert written > 5
        assert dict(store.scan(*keys.page_range("w", 0))) == {keys.page("w", 0, k): page for k in range(written)}
        assert store.get_many([keys.meta("w")]) == [b"%d" % (written - 1)]
        store.delete_range(*keys.page_range("w", 0, 0, 5))
        store.put_many({keys.page("w", 0, written): page})


def test_a_store_of_a_newer_version(redis_server: Server) -> None:
    name = uuid.uuid4().hex
    redis_server.client().set(f"{name}:format", 2)
    with pytest.raises(StoreCorrupt, match="is of format 2; this version of slidewise reads up to 1"):
        stores.open(f"{redis_server.url}?prefix={name}")


def test_what_is_not_ours(redis_server: Server) -> None:
    name = uuid.uuid4().hex
    redis_server.client().set(f"{name}:{{w/w/}}:pages", "a string")
    with stores.open(f"{redis_server.url}?prefix={name}") as store, pytest.raises(StoreError, match="WRONGTYPE"):
        store.get_many([keys.meta("w")])


def test_tls(tmp_path: Path) -> None:
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("no openssl to make a certificate with")
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    request = [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", str(key), "-out", str(cert)]
    request += ["-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run(request, check=True, capture_output=True)
    files = ("--tls-cert-file", str(cert), "--tls-key-file", str(key), "--tls-ca-cert-file", str(cert))
    with Server(tmp_path / "server", *DURABLE, *files, scheme="rediss") as server:
        own = f"cert={cert}&key={key}"
        with stores.open(f"{server.url}?ca={cert}&{own}") as store:
            store.put_many({b"w/a/1": b"x"})
            assert store.get_many([b"w/a/1"]) == [b"x"]
        with pytest.raises(StoreUnreachable, match="certificate"):
            stores.open(f"{server.url}?{own}")


# ---- leases and fences -----------------------------------------------------------------------------------------------
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Claims come from a host whose processes we cannot see, with a short lease."""
    real = Holder.me
    monkeypatch.setattr(module, "LEASE", 0.6)
    monkeypatch.setattr(Holder, "me", lambda: dataclasses.replace(real(), host="faraway", place="another boot"))


def silent(store: Store) -> None:
    """The process sleeps: nothing renews its leases."""
    store._ending.set()  # type: ignore[attr-defined]


def test_a_sleeper_is_taken_over_and_fenced(redis_server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere(monkeypatch)
    url = f"{redis_server.url}?prefix={uuid.uuid4().hex}"
    with stores.open(url) as sleeper, stores.open(url) as other:
        old = sleeper.claim(NAME)
        sleeper.put_many({keys.meta("w"): b"old"}, claim=old)
        silent(sleeper)
        start = time.monotonic()
        new = other.claim(NAME)
        assert time.monotonic() - start < 2  # when the lease had run out
        other.put_many({keys.meta("w"): b"new", keys.page("w", 0, 1): b"page"}, claim=new)
        with pytest.raises(
            StoreLocked, match=r"window 'w' is held by process .* on faraway since .*; nothing was written"
        ):
            sleeper.put_many({keys.meta("w"): b"stale"}, delete=[keys.page("w", 0, 1)], claim=old)
        with pytest.raises(StoreLocked, match="nothing was written"):
            sleeper.delete_range(*keys.window_range("w"), claim=old)
        sleeper.release(old)  # must not touch the other's
        assert other.get_many([keys.meta("w"), keys.page("w", 0, 1)]) == [b"new", b"page"]
        other.put_many({keys.meta("w"): b"newer"}, claim=new)


def test_a_sleeper_that_nobody_missed_goes_on(redis_server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere(monkeypatch)
    url = f"{redis_server.url}?prefix={uuid.uuid4().hex}"
    with stores.open(url) as store:
        claim = store.claim(NAME)
        silent(store)
        time.sleep(0.8)
        assert store.holder(NAME) is None
        store.put_many({keys.meta("w"): b"awake"}, claim=claim)


def test_a_far_writer_that_lives_is_respected(redis_server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere(monkeypatch)
    url = f"{redis_server.url}?prefix={uuid.uuid4().hex}"
    with stores.open(url) as one, stores.open(url) as other:
        claim = one.claim(NAME)
        with pytest.raises(StoreLocked, match="on faraway since"):
            other.claim(NAME)
        time.sleep(1)  # longer than a lease: it is renewed
        assert other.holder(NAME) == claim.holder
        one.put_many({keys.meta("w"): b"x"}, claim=claim)


def test_a_number_that_came_back_is_another_process(redis_server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """The holder's process number exists again, but was born at another time: it is dead."""
    url = f"{redis_server.url}?prefix={uuid.uuid4().hex}"
    real = Holder.me
    monkeypatch.setattr(Holder, "me", lambda: dataclasses.replace(real(), born="1"))
    with stores.open(url) as dead, stores.open(url) as other:
        dead.claim(NAME)
        monkeypatch.undo()
        start = time.monotonic()
        other.claim(NAME)
        assert time.monotonic() - start < 1
