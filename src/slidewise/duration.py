"""Durations in words: "250 ms", "5 min", "1 h 30 min", or a `timedelta`; nanoseconds inside.

A day is 24 hours, in UTC. Months and years have no fixed length and are refused.
"""

from __future__ import annotations

import re
from datetime import timedelta

from slidewise.errors import ArgumentError, bad, shown

NANOS = {
    "ns": 1,
    "us": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "min": 60_000_000_000,
    "h": 3_600_000_000_000,
    "d": 86_400_000_000_000,
    "w": 7 * 86_400_000_000_000,
}
SPELLINGS = {
    "nanosecond": "ns", "nanoseconds": "ns",
    "microsecond": "us", "microseconds": "us", "µs": "us",
    "millisecond": "ms", "milliseconds": "ms",
    "sec": "s", "secs": "s", "second": "s", "seconds": "s",
    "mins": "min", "minute": "min", "minutes": "min",
    "hr": "h", "hrs": "h", "hour": "h", "hours": "h",
    "day": "d", "days": "d",
    "week": "w", "weeks": "w",
}  # fmt: skip
CALENDAR = {"month", "months", "mo", "year", "years", "y", "quarter", "quarters"}
ALLOWED = 'a positive duration such as "250 ms", "5 min", "1 h 30 min" (ns, us, ms, s, min, h, d, w) or a timedelta'

_PART = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Zµ]+)\s*,?")
LONGEST = 2**62


def nanoseconds(value: object, argument: str = "duration", *, or_zero: bool = False) -> int:
    """The length of a duration in nanoseconds; positive, unless `or_zero`.

    >>> nanoseconds("1 h 30 min") // 10**9
    5400
    >>> nanoseconds("1 month", "window")
    Traceback (most recent call last):
      ...
    slidewise.errors.ArgumentError: window='1 month': months and years have no fixed length; give days, e.g. "30 d"
    """
    if isinstance(value, timedelta):
        total = (value.days * 86_400 + value.seconds) * 1_000_000_000 + value.microseconds * 1_000
    elif isinstance(value, str):
        total = _parse(value, argument)
    else:
        raise bad(argument, value, ALLOWED)
    if not (0 < total < LONGEST or (or_zero and total == 0 and value != "")):
        raise bad(argument, value, ALLOWED if total <= 0 else "less than 53375 d, some 146 years")
    return total


def _parse(text: str, argument: str) -> int:
    total, at = 0, 0
    while at < len(text.rstrip()):
        match = _PART.match(text, at)
        if match is None:
            raise bad(argument, text, ALLOWED)
        number, written = match.groups()
        unit = SPELLINGS.get(written.lower(), written if written in NANOS else written.lower())
        if unit in CALENDAR:
            raise ArgumentError(
                f'{argument}={shown(text)}: months and years have no fixed length; give days, e.g. "30 d"'
            )
        if unit not in NANOS:
            raise ArgumentError(f"{argument}={shown(text)}: unknown unit {written!r}; expected {ALLOWED}")
        whole, _, fraction = number.partition(".")
        scaled, rest = divmod(int(whole + fraction) * NANOS[unit], 10 ** len(fraction))
        if rest:
            raise ArgumentError(f"{argument}={shown(text)}: finer than a nanosecond; expected {ALLOWED}")
        total += scaled
        at = match.end()
    return total


def in_words(nanos: int) -> str:
    """A duration as people write it.

    >>> in_words(5_400_000_000_000)
    '1 h 30 min'
    """
    parts = []
    for unit in ("d", "h", "min", "s", "ms", "us", "ns"):
        count, nanos = divmod(nanos, NANOS[unit])
        if count:
            parts.append(f"{count} {unit}")
    return " ".join(parts) or "0 s"
