"""Stores on a Redis server, ``redis://``, or on a Redis Cluster, ``redis+cluster://``.

Per window, four Redis keys that share a hash tag and so a cluster's slot:

    PREFIX:{w/ID/}:pages    hash: key to value            PREFIX:{w/ID/}:lease    who writes; runs out by itself
    PREFIX:{w/ID/}:keys     sorted set: the keys in order PREFIX:{w/ID/}:fence    the token of the last claim

A batch is one Lua script, which Redis runs and logs as a whole. It first compares the writer's token with the fence: a
writer that was taken over is refused in the same step that would have written, however long it slept. The lease only
decides when a window may be taken over: at once if its process is known to be gone, else when it has run out. One round
trip per batch and per read; O(log n) per key.

A batch is durable when it is acknowledged if the server runs with ``appendonly yes`` and ``appendfsync always``, which
is checked on opening.
"""

from __future__ import annotations

import heapq
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote_from_bytes

from redis.exceptions import ResponseError

from slidewise.errors import StoreError, StoreLocked, StoreUnreachable
from slidewise.store.base import FORMAT, Claim, Store, check_format, one_group
from slidewise.store.holder import Holder
from slidewise.store.keys import group, shown
from slidewise.store.redis_link import SHORT_PATIENCE, Link
from slidewise.store.url import Url

LEASE = 10.0
"""Seconds after which the lease of a silent writer runs out; it is renewed three times in that time."""

_DURABLE = {"appendonly": "yes", "appendfsync": "always", "no-appendfsync-on-rewrite": "no"}
_FOR_EVER = -1
"""What Redis says of a lease that does not run out; ours do."""

_PIECE = 256
_POLL = 0.2

# KEYS: pages, keys, fence. ARGV: token or '', number of deletions, keys to delete, key and value of each item.
_PUT = """
if ARGV[1] ~= '' and redis.call('GET', KEYS[3]) ~= ARGV[1] then return 0 end
local n = tonumber(ARGV[2])
for i = 3, n + 2 do
    redis.call('HDEL', KEYS[1], ARGV[i])
    redis.call('ZREM', KEYS[2], ARGV[i])
end
for i = n + 3, #ARGV, 2 do
    redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1])
    redis.call('ZADD', KEYS[2], 0, ARGV[i])
end
return 1
"""

# KEYS: pages, keys, fence. ARGV: token or '', first, last.
_DELETE_RANGE = """
if ARGV[1] ~= '' and redis.call('GET', KEYS[3]) ~= ARGV[1] then return 0 end
while true do
    local found = redis.call('ZRANGEBYLEX', KEYS[2], '[' .. ARGV[2], '(' .. ARGV[3], 'LIMIT', 0, 1000)
    if #found == 0 then return 1 end
    redis.call('HDEL', KEYS[1], unpack(found))
    redis.call('ZREM', KEYS[2], unpack(found))
end
"""

# KEYS: lease, fence. ARGV: our lease, our token, its milliseconds, the lease of a dead writer or ''.
_CLAIM = """
local held = redis.call('GET', KEYS[1])
if held and held ~= ARGV[1] and held ~= ARGV[4] then return {held, redis.call('PTTL', KEYS[1])} end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[3])
redis.call('SET', KEYS[2], ARGV[2])
return {}
"""

# KEYS: lease, fence. ARGV: our lease, our token, its milliseconds.
_RENEW = """
if redis.call('GET', KEYS[2]) ~= ARGV[2] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[3])
return 1
"""

# KEYS: lease, fence. ARGV: our token.
_RELEASE = """
if redis.call('GET', KEYS[2]) == ARGV[1] then redis.call('DEL', KEYS[1], KEYS[2]) end
"""


class RedisStore(Store):
    """Pages on a Redis server or cluster; one round trip per batch and per read."""

    def __init__(self, url: Url, create: bool, durable: bool) -> None:
        super().__init__(url.shown)
        self._prefix = url.options.get("prefix", "slidewise").encode()
        self._link = Link(url)
        self._mine: list[Claim] = []
        self._renewing: threading.Thread | None = None
        self._ending = threading.Event()
        try:
            self._check_format(create)
            if durable:
                self._check_durability()
        except BaseException:
            self._link.close()
            raise

    def _check_format(self, create: bool) -> None:
        name, client = self._prefix + b":format", self._link.client
        found = self._link.ask(lambda: client.get(name))
        if found is None:
            if not create:
                raise StoreError(f"{self.url}: there is no store (no key {name.decode('utf-8', 'replace')!r})")
            self._link.ask(lambda: client.set(name, FORMAT))
        else:
            check_format(found, self.url)

    def _check_durability(self) -> None:
        """What a durable batch needs of every server; CONFIG may be forbidden, then nothing can be promised."""
        relax = "or open it with ?durability=relaxed, where batches may be lost with the server"
        for server in self._link.servers():
            found = self._link.ask(lambda server=server: _settings(server))  # type: ignore[misc]
            if found is None:
                raise StoreError(
                    f"{self.url}: CONFIG GET is forbidden: durability cannot be checked; allow it, {relax}"
                )
            wrong = [f"{name} {value}" for name, value in _DURABLE.items() if found.get(name, value) != value]
            if found.get("maxmemory", "0") != "0" and found.get("maxmemory-policy", "").startswith("allkeys"):
                wrong.append("maxmemory-policy noeviction")
            if wrong:
                raise StoreError(f"{self.url}: not durable: set {', '.join(wrong)} on the server, {relax}")

    # ---- reading --------------------------------------------------------------------------------------------------
    def _get(self, keys: Sequence[bytes]) -> list[bytes | None]:
        places: dict[bytes, list[bytes]] = {}
        for key in keys:
            places.setdefault(group(key), []).append(key)

        def ask() -> list[list[bytes | None]]:
            if len(places) == 1:
                return [self._link.client.hmget(self._name(start, b"pages"), asked) for start, asked in places.items()]
            with self._link.client.pipeline(transaction=False) as pipeline:
                for start, asked in places.items():
                    pipeline.hmget(self._name(start, b"pages"), asked)
                return list(pipeline.execute())

        answers = {start: iter(values) for start, values in zip(places, self._link.ask(ask), strict=True)}
        return [next(answers[group(key)]) for key in keys]

    def _scan(self, first: bytes, last: bytes) -> Iterator[tuple[bytes, bytes]]:
        def values(start: bytes, keys: list[bytes]) -> list[bytes | None]:
            return list(self._link.client.hmget(start + b"pages", keys))

        return self._merged(first, last, values)

    def _sizes(self, first: bytes, last: bytes) -> Iterator[tuple[bytes, int]]:
        def lengths(start: bytes, keys: list[bytes]) -> list[int]:
            with self._link.client.pipeline(transaction=False) as pipeline:
                for key in keys:
                    pipeline.hstrlen(start + b"pages", key)
                return list(pipeline.execute())

        return self._merged(first, last, lengths)

    def _merged(self, first: bytes, last: bytes, of: Callable[[bytes, list[bytes]], list[Any]]) -> Iterator[Any]:
        return heapq.merge(*(self._pieces(start, first, last, of) for start in self._starts(first, last)))

    def _pieces(
        self, start: bytes, first: bytes, last: bytes, of: Callable[[bytes, list[bytes]], list[Any]]
    ) -> Iterator[tuple[bytes, Any]]:
        """A range of one group: keys, then what is asked of them, a piece at a time."""
        low = first
        while True:
            keys: list[bytes] = self._link.ask(
                lambda low=low: self._link.client.zrangebylex(  # type: ignore[misc]
                    start + b"keys", b"[" + low, b"(" + last, 0, _PIECE
                )
            )
            if keys:
                found = self._link.ask(lambda keys=keys: of(start, keys))  # type: ignore[misc]
                yield from ((key, value) for key, value in zip(keys, found, strict=True) if value is not None)
            if len(keys) < _PIECE:
                return
            low = keys[-1] + b"\0"

    def _starts(self, first: bytes, last: bytes) -> list[bytes]:
        """What the Redis keys of each group begin with that may have keys in a range."""
        one = one_group(first, last)
        if one:
            return [self._name(one, b"")]
        pattern = _literal(self._prefix) + b":{*}:keys"
        found = self._link.ask(lambda: set(self._link.client.scan_iter(match=pattern, count=1000)))
        return sorted(name.removesuffix(b"keys") for name in found)

    # ---- writing --------------------------------------------------------------------------------------------------
    def _put(self, items: Mapping[bytes, bytes], delete: Sequence[bytes], claim: Claim | None, durable: bool) -> None:
        start = group(next(iter(items), None) or delete[0])
        arguments: list[Any] = [b"" if claim is None else claim.token, len(delete), *delete]
        for key, value in items.items():
            arguments += (key, value)
        self._write(_PUT, self._name(start, b""), arguments, claim)

    def _delete_range(self, first: bytes, last: bytes, claim: Claim | None, durable: bool) -> None:
        token = b"" if claim is None else claim.token
        for start in self._starts(first, last):
            self._write(_DELETE_RANGE, start, [token, first, last], claim)

    def _write(self, script: str, start: bytes, arguments: list[Any], claim: Claim | None) -> None:
        if not self._link.run(script, [start + b"pages", start + b"keys", start + b"fence"], arguments):
            assert claim is not None
            now = self.holder(claim.name)
            taken = f"is held by {now}" if now else "was taken over by another writer, or the server has lost it"
            raise StoreLocked(f"{self.url}: {shown(claim.name)} {taken}; nothing was written")

    def sync(self) -> None:
        """Nothing to wait for: the server answers when it has done what its settings promise."""
        self._check_open()

    # ---- the one writer -------------------------------------------------------------------------------------------
    def _claim(self, name: bytes) -> Claim:
        holder, token = Holder.me(), secrets.token_hex(8).encode()
        claim = Claim(self, name, holder, token)
        dead, last_left = b"", float("inf")
        while True:
            answer = self._link.run(_CLAIM, self._lease_keys(claim), [*self._lease(claim), dead])
            if not answer:
                break
            held, left = bytes(answer[0]), float(answer[1])
            other = Holder.decode(held.partition(b" ")[2])
            if other.is_dead():
                dead = held
                continue
            if other.is_here() or left > last_left or left == _FOR_EVER:  # we see its process, or it has just renewed
                raise StoreLocked(f"{self.url}: {shown(name)} is held by {other}")
            last_left = left
            time.sleep(min(_POLL, max(left, 0) / 1000 + 0.01))
        self._mine.append(claim)
        if self._renewing is None:
            self._renewing = threading.Thread(target=self._renew, name="slidewise lease", daemon=True)
            self._renewing.start()
        return claim

    def _renew(self) -> None:
        """Keep our leases from running out; a claim that is lost is told by the next write."""
        while not self._ending.wait(LEASE / 3):
            for claim in [*self._mine]:
                try:
                    self._link.run(_RENEW, self._lease_keys(claim), self._lease(claim))
                except StoreError:
                    continue  # the next write tells

    def _release(self, claim: Claim) -> None:
        self._mine.remove(claim)
        self._link.run(_RELEASE, self._lease_keys(claim), [claim.token], SHORT_PATIENCE)

    def holder(self, name: bytes) -> Holder | None:
        """Who holds the window with this prefix; None if nobody does."""
        self._check_open()
        held = self._link.ask(lambda: self._link.client.get(self._name(name, b"lease")))
        holder = None if held is None else Holder.decode(held.partition(b" ")[2])
        return None if holder is None or holder.is_dead() else holder

    def _lease(self, claim: Claim) -> list[Any]:
        return [claim.token + b" " + claim.holder.encode(), claim.token, int(LEASE * 1000)]

    def _lease_keys(self, claim: Claim) -> list[bytes]:
        return [self._name(claim.name, b"lease"), self._name(claim.name, b"fence")]

    # ---- its life -------------------------------------------------------------------------------------------------
    def _close(self) -> None:
        self._ending.set()
        try:
            for claim in [*self._mine]:
                self.release(claim)
        except StoreUnreachable:
            pass  # then the leases run out by themselves
        finally:
            self._link.close()

    def _name(self, start: bytes, part: bytes) -> bytes:
        """A Redis key of a group; the braces make a cluster keep all of a group in one slot."""
        tag = quote_from_bytes(start, safe="/%").encode() or b"-"
        return b"%s:{%s}:%s" % (self._prefix, tag, part)


def _settings(server: Any) -> dict[str, str] | None:
    try:
        return {**server.config_get("*append*"), **server.config_get("maxmemory*")}
    except ResponseError:
        return None


def _literal(pattern: bytes) -> bytes:
    """Text that SCAN must find as it is."""
    return b"".join(b"\\" + bytes([c]) if c in b"*?[]\\^" else bytes([c]) for c in pattern)
