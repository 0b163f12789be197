"""Hashes of values: 63 bits, never negative, the same on every machine, in every process and for every container.

A number hashes as the integer it is equal to, if there is one, so that 1, 1.0 and True are one value; a time as its
microseconds since the epoch (nanoseconds in columns of that unit), a date as its days.
"""

from __future__ import annotations

import hashlib
import struct
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def hash_value(value: Any) -> int:
    """The hash of one Python value; O(its size).

    >>> hash_value(1) == hash_value(1.0) == int(hash_numbers(np.array([1]))[0])
    True
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, datetime):
        aware = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
        value = (aware - EPOCH) // timedelta(microseconds=1)
    elif isinstance(value, date):
        value = (value - EPOCH.date()).days
    elif isinstance(value, timedelta):
        value = value // timedelta(microseconds=1)
    elif isinstance(value, Decimal) and value.is_finite() and value == int(value):
        value = int(value)
    if isinstance(value, (int, float)) and -(2**63) <= value < 2**63:
        return int(hash_numbers(np.array([value]))[0])
    if isinstance(value, float):
        return int(hash_numbers(np.array([value]))[0])
    return _hash_bytes(_bytes_of(value))


def hash_numbers(values: Any) -> Any:
    """The hashes of an array of integers or floats, as int64; a few NumPy passes."""
    if values.dtype.kind == "f":
        values = values.astype(np.float64)
        whole = (values == np.floor(values)) & (values >= -(2.0**63)) & (values < 2.0**63)
        clean = np.where(np.isnan(values), np.nan, values).view(np.int64) ^ np.int64(0x5851F42D4C957F2D)
        bits = np.where(whole, np.where(whole, values, 0.0).astype(np.int64), clean).view(np.uint64)
    else:
        bits = values.astype(np.int64).view(np.uint64)
    with np.errstate(over="ignore"):  # SplitMix64's finalizer
        bits = bits + np.uint64(0x9E3779B97F4A7C15)
        bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        bits = bits ^ (bits >> np.uint64(31))
    return (bits >> np.uint64(1)).view(np.int64)


def _bytes_of(value: Any) -> bytes:
    if isinstance(value, str):
        return b"s" + value.encode("utf-8", "surrogatepass")
    if isinstance(value, (bytes, bytearray, memoryview)):
        return b"b" + bytes(value)
    if isinstance(value, Decimal):
        return b"n" + format(value, "f").rstrip("0").encode()
    if isinstance(value, (list, tuple)):
        return b"l" + b"".join(struct.pack("<q", hash_value(part)) if part is not None else b"-" for part in value)
    if isinstance(value, dict):
        return b"d" + _bytes_of([part for item in value.items() for part in item])
    return b"o" + repr(value).encode()


def _hash_bytes(data: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little") >> 1
