"""URLs of stores: scheme, place and options, and the form without password that messages show.

memory:NAME                                          disk:PATH?map=1GB
redis://[user][:password]@host:port/db?prefix=...    rediss://...?ca=FILE
redis+cluster://host:port,host:port                  rediss+cluster://...
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote

from slidewise.errors import ArgumentError, bad, listed

SCHEMES = ("memory", "disk", "lmdb", "redis", "rediss", "redis+cluster", "rediss+cluster")

_SCHEME = re.compile(r"([a-z][a-z0-9+]*):(.*)", re.DOTALL)
_SECRET = re.compile(r"//.*@", re.DOTALL)
_HOST = re.compile(r"(?P<host>\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)?(?::(?P<port>\d{1,5}))?")


@dataclass(frozen=True)
class Url:
    """A store's URL, taken apart; `shown` is the whole of it without user and password."""

    scheme: str
    rest: str
    shown: str
    options: Mapping[str, str]
    user: str | None = field(default=None, repr=False)
    password: str | None = field(default=None, repr=False)


def parse(url: str) -> Url:
    """Take a URL apart.

    >>> parse("redis://:secret@localhost:6379/2?prefix=mine")
    Url(scheme='redis', rest='localhost:6379/2', shown='redis://localhost:6379/2', options={'prefix': 'mine'})
    """
    if not isinstance(url, str):
        raise bad("url", url, "a store's URL, as 'disk:PATH' or 'redis://host:6379/0'")
    found = _SCHEME.fullmatch(url)
    if found is None or found[1] not in SCHEMES:
        raise ArgumentError(f"url={without_secret(url)!r}: expected one of the schemes {listed(SCHEMES)}")
    scheme, rest = found[1], found[2]
    if not scheme.startswith("redis"):
        path, options = _split_options(scheme, rest, url) if scheme != "memory" else (rest, {})
        return Url(scheme, path, f"{scheme}:{path}", options)
    if not rest.startswith("//"):
        raise ArgumentError(f"url={without_secret(url)!r}: expected {scheme}://host:port")
    # The password ends at the last @: one that was not percent-encoded must not end up in a message either.
    secret, at, place = rest[2:].rpartition("@")
    user, colon, password = secret.partition(":")
    place, options = _split_options(scheme, place, url)
    return Url(
        scheme,
        place,
        f"{scheme}://{place}",
        options,
        unquote(user) or None if at else None,
        unquote(password) if colon else None,
    )


def without_secret(url: str) -> str:
    """A URL as typed, without user and password.

    >>> without_secret("redis://me:p@ss/word@host:1/0")
    'redis://host:1/0'
    """
    return _SECRET.sub("//", url)


def hosts(url: Url, port: int) -> tuple[list[tuple[str, int]], str]:
    """The hosts with their ports, `port` where none is given, and what follows the first slash.

    >>> hosts(parse("redis+cluster://a:7000,b"), 6379)
    ([('a', 7000), ('b', 6379)], '')
    """
    places, _, path = url.rest.partition("/")
    found = []
    for place in places.split(","):
        at = _HOST.fullmatch(place)
        if at is None or not 0 < int(at["port"] or port) < 65536:
            raise ArgumentError(f"url={url.shown!r}: expected host:port behind ://, not {place!r}")
        found.append(((at["host"] or "localhost").strip("[]"), int(at["port"] or port)))
    return found, path


def check_options(url: Url, allowed: tuple[str, ...]) -> None:
    """Refuse options that the store does not have."""
    for name in url.options:
        if name not in allowed:
            raise ArgumentError(f"url={url.shown!r}: option {name!r}: expected one of {listed(allowed)}")


def _split_options(scheme: str, rest: str, url: str) -> tuple[str, dict[str, str]]:
    place, _, query = rest.partition("?")
    if not place and scheme in ("disk", "lmdb"):
        raise ArgumentError(f"url={without_secret(url)!r}: expected a path behind {scheme}:")
    return place, dict(parse_qsl(query, keep_blank_values=True))
