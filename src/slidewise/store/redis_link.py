"""The way to a Redis server or cluster: password and TLS, patience with broken connections, errors in our words.

Everything a store asks of Redis may be asked twice: a script that was run, but whose answer was lost, leaves the same
keys when it is run again. So a request is repeated, with growing pauses, until it is answered or patience ends.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from typing import Any, TypeVar

import redis
from redis.backoff import NoBackoff
from redis.cluster import ClusterNode, RedisCluster
from redis.exceptions import (
    AuthenticationError,
    AuthorizationError,
    ClusterDownError,
    ConnectionError,
    MasterDownError,
    NoPermissionError,
    OutOfMemoryError,
    ReadOnlyError,
    RedisClusterException,
    RedisError,
    TimeoutError,
    TryAgainError,
)
from redis.retry import Retry

from slidewise.errors import ArgumentError, StoreError, StoreFull, StoreUnreachable
from slidewise.store.url import Url, check_options, hosts

PORT = 6379
PATIENCE = 10.0
"""Seconds for which a request is repeated before it fails; ``?patience=`` in the URL."""

SHORT_PATIENCE = 1.0
"""The same for the first and the last one: a wrong address is told at once, and closing does not hang."""

OPTIONS = ("durability", "prefix", "patience", "ca", "cert", "key")

_FIRST_PAUSE, _LONGEST_PAUSE = 0.02, 1.0
_PASSING = (
    ConnectionError,
    TimeoutError,
    ClusterDownError,
    MasterDownError,
    ReadOnlyError,
    RedisClusterException,
    TryAgainError,
)
_REFUSED = (AuthenticationError, AuthorizationError, NoPermissionError)

_T = TypeVar("_T")


class Link:
    """A client, and how it is asked.

    Attributes
    ----------
    client
        redis-py's, of one server or of a cluster.
    """

    def __init__(self, url: Url) -> None:
        check_options(url, OPTIONS)
        self.url = url.shown
        self._password = url.password if url.password is not None else os.environ.get("SLIDEWISE_REDIS_PASSWORD")
        self._patience = _seconds(url)
        self.clustered = url.scheme.endswith("+cluster")
        places, path = hosts(url, PORT)
        settings: dict[str, Any] = {
            "username": url.user,
            "password": self._password,
            "socket_connect_timeout": 5.0,
            "socket_timeout": 30.0,
            "socket_keepalive": True,
            **_tls(url),
        }
        if self.clustered:
            if path not in ("", "0"):
                raise ArgumentError(f"url={url.shown!r}: a cluster has database 0 only")
            nodes = [ClusterNode(host, port) for host, port in places]  # type: ignore[no-untyped-call]
            self.client: Any = self.ask(lambda: RedisCluster(startup_nodes=nodes, **settings), SHORT_PATIENCE)
        else:
            if len(places) > 1 or not (path or "0").isdecimal():
                raise ArgumentError(f"url={url.shown!r}: expected {url.scheme}://host:port/number")
            host, port = places[0]
            no_retry = Retry(NoBackoff(), 0)  # ours is enough
            self.client = redis.Redis(host=host, port=port, db=int(path or 0), retry=no_retry, **settings)
        self.ask(self.client.ping, SHORT_PATIENCE)

    def ask(self, work: Callable[[], _T], patience: float | None = None) -> _T:
        """What `work` returns, which asks the server and may be asked again; or an error in our words."""
        limit = self._patience if patience is None else min(patience, self._patience)
        start, pause = time.monotonic(), _FIRST_PAUSE
        while True:
            try:
                return work()
            except _REFUSED as error:
                raise self._refused(error) from None
            except _PASSING as error:
                if "NOAUTH" in str(error) or "WRONGPASS" in str(error):
                    raise self._refused(error) from None
                waited = time.monotonic() - start
                if waited + pause > limit:
                    raise StoreUnreachable(f"{self.url}: no answer in {waited:.1f} s: {self._said(error)}") from error
                time.sleep(pause * random.uniform(0.5, 1.0))
                pause = min(2 * pause, _LONGEST_PAUSE)
            except OutOfMemoryError as error:
                raise StoreFull(
                    f"{self.url}: the server's maxmemory is reached; nothing of the batch was written, nothing lost"
                ) from error
            except RedisError as error:
                full = "No space left" in str(error)
                raise (StoreFull if full else StoreError)(f"{self.url}: {self._said(error)}") from error

    def run(self, script: str, keys: list[bytes], arguments: list[bytes | int], patience: float | None = None) -> Any:
        """Run a Lua script, atomically; its keys lie in one slot."""
        return self.ask(lambda: self.client.eval(script, len(keys), *keys, *arguments), patience)

    def servers(self) -> list[Any]:
        """A client for each server that holds keys."""
        if not self.clustered:
            return [self.client]
        return [self.client.get_redis_connection(node) for node in self.client.get_primaries()]

    def close(self) -> None:
        """Let go of the connections."""
        self.client.close()

    def _refused(self, error: Exception) -> StoreUnreachable:
        if "permission" in str(error).lower() or isinstance(error, NoPermissionError):
            return StoreUnreachable(f"{self.url}: the user may not do this: {self._said(error)}")
        if self._password is None:
            return StoreUnreachable(f"{self.url}: the server asks for a password: redis://:PASSWORD@host:port/db")
        return StoreUnreachable(f"{self.url}: the server refuses the user or password")

    def _said(self, error: Exception) -> str:
        """The client's words on one line, without the password."""
        text = " ".join(str(error).split()) or type(error).__name__
        return text.replace(self._password, "***") if self._password else text


def _seconds(url: Url) -> float:
    said = url.options.get("patience", str(PATIENCE))
    try:
        seconds = float(said)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < 1e6:
        raise ArgumentError(f"url={url.shown!r}: option patience={said!r}: expected a number of seconds")
    return seconds


def _tls(url: Url) -> dict[str, Any]:
    """TLS settings of a rediss:// URL: from its options, or else from the environment."""
    files = {name: url.options.get(name) or os.environ.get(f"SLIDEWISE_REDIS_{name.upper()}") for name in OPTIONS[-3:]}
    if not url.scheme.startswith("rediss"):
        given = [name for name in files if name in url.options]
        if given:
            raise ArgumentError(f"url={url.shown!r}: option {given[0]!r} is for rediss://")
        return {}
    for name, path in files.items():
        if path and not os.access(path, os.R_OK):
            raise ArgumentError(f"url={url.shown!r}: {name}={path!r}: expected a file that can be read")
    return {
        "ssl": True,
        "ssl_cert_reqs": "required",
        "ssl_check_hostname": True,
        "ssl_ca_certs": files["ca"],
        "ssl_certfile": files["cert"],
        "ssl_keyfile": files["key"],
    }
