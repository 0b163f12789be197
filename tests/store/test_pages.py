"""Pages, meta records and keys: what is damaged is refused, and names its place."""

from __future__ import annotations

import struct
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slidewise.errors import ArgumentError, StoreCorrupt
from slidewise.store import keys, meta, pages

KEY = keys.page("power", 2, 7)
URL = "disk:/windows"


@given(st.binary(max_size=200), st.sampled_from(["nodes", "x", "8letters"]))
def test_what_was_sealed_comes_back(payload: bytes, kind: str) -> None:
    assert pages.unseal(pages.seal(payload, kind), KEY, kind, URL) == payload
    assert pages.unseal(pages.seal(memoryview(payload), kind), KEY, kind, URL) == payload


def test_columns_are_sealed_without_a_copy_and_stay_aligned() -> None:
    column = np.arange(512.0)
    blob = pages.seal(column.data, "nodes")
    back = np.frombuffer(pages.unseal(blob, KEY, "nodes", URL))
    assert (back == column).all()
    assert back.flags.aligned
    assert np.shares_memory(back, np.frombuffer(blob, "u1"))


def test_every_damaged_byte_is_found() -> None:
    blob = pages.seal(b"some payload", "nodes")
    for at in range(len(blob)):
        if 5 <= at < 8:
            continue  # always zero; not a part of what is said
        damaged = bytearray(blob)
        damaged[at] ^= 0x10
        with pytest.raises(StoreCorrupt, match="disk:/windows: window 'power', level 2, page 7: is "):
            pages.unseal(bytes(damaged), KEY, "nodes", URL)


@pytest.mark.parametrize("length", [0, 3, 23, 24, 30])
def test_a_page_cut_short(length: int) -> None:
    with pytest.raises(StoreCorrupt, match="is damaged"):
        pages.unseal(pages.seal(b"some payload", "nodes")[:length], KEY, "nodes", URL)


def test_a_missing_page() -> None:
    with pytest.raises(StoreCorrupt, match="level 2, page 7: is missing"):
        pages.unseal(None, KEY, "nodes", URL)


def test_a_page_of_another_kind() -> None:
    with pytest.raises(StoreCorrupt, match="holds 'other'; expected 'nodes'"):
        pages.unseal(pages.seal(b"", "other"), KEY, "nodes", URL)


def test_a_page_of_a_newer_version() -> None:
    front = struct.pack("<4sB3x8sI", b"swpg", pages.FORMAT + 1, b"nodes", 1)
    blob = front + struct.pack("<I", zlib.crc32(b"!", zlib.crc32(front))) + b"!"
    with pytest.raises(StoreCorrupt, match=r"is of format 2; this version of slidewise reads up to 1"):
        pages.unseal(blob, KEY, "nodes", URL)


def test_a_bad_kind() -> None:
    with pytest.raises(ArgumentError, match="kind="):
        pages.seal(b"", "nine char")


def test_a_meta_record_whose_header_is_no_json() -> None:
    with pytest.raises(StoreCorrupt, match="window 'power', meta record: is damaged: its header"):
        meta.unpack(pages.seal(b"\x02\0\0\0{x", meta.KIND), keys.meta("power"), URL)


names = st.text(min_size=1, max_size=12)


@given(names, names)
def test_windows_have_ranges_of_their_own(one: str, other: str) -> None:
    first, last = keys.window_range(one)
    for key in (keys.meta(other), keys.page(other, 0, 0), keys.page(other, 255, 2**64 - 1)):
        assert (first <= key < last) == (one == other)
        assert keys.window_of(key) == other
        assert keys.group(key) == keys.prefix(other)


@given(names, st.integers(0, 255), st.integers(0, 2**64 - 1), st.integers(0, 255), st.integers(0, 2**64 - 1))
def test_pages_lie_in_the_order_of_their_numbers(name: str, level: int, a: int, other: int, b: int) -> None:
    one, two = keys.page(name, level, a), keys.page(name, other, b)
    assert (one < two) == ((level, a) < (other, b))
    assert keys.page_of(one) == (name, level, a)
    low, high = keys.page_range(name, level)
    assert (low <= two < high) == (level == other)


@pytest.mark.parametrize("name", ["", "x" * 401, None, 7])
def test_a_bad_name(name: str) -> None:
    with pytest.raises(ArgumentError, match="window="):
        keys.prefix(name)


@pytest.mark.parametrize(("level", "number"), [(256, 0), (-1, 0), (0, -1), (0, 2**64)])
def test_a_bad_page(level: int, number: int) -> None:
    with pytest.raises(ArgumentError, match="expected an integer"):
        keys.page("w", level, number)


@pytest.mark.parametrize("key", [b"w/a", b"x/a/meta", b"w/a/p/\0short", b"w/a/other", b""])
def test_what_is_no_page(key: bytes) -> None:
    assert keys.page_of(key) is None
