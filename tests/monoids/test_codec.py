"""Plain data as bytes and back: every type, to the bit; bytes that earlier versions wrote."""

from __future__ import annotations

import enum
from collections import Counter
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slidewise.errors import SnapshotError
from slidewise.monoids.codec import decode_plain, encode_plain

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(),
    st.binary(),
    st.dates(),
    st.datetimes().map(lambda at: at.replace(fold=0)),  # which of two equal local times is not kept
    st.timedeltas(),
    st.decimals(allow_nan=False),
)
KEYS = st.one_of(st.integers(), st.text(), st.binary(), st.booleans(), st.tuples(st.integers(), st.text()))
PLAIN = st.recursive(
    st.one_of(SCALARS, st.lists(st.integers()), st.lists(st.floats()), st.dictionaries(st.integers(), st.integers())),
    lambda inner: st.one_of(
        st.lists(inner), st.lists(inner).map(tuple), st.dictionaries(KEYS, inner, max_size=4), st.tuples(inner, inner)
    ),
)


@given(PLAIN)
def test_back_to_the_bit(value: Any) -> None:
    # repr tells 1 from 1.0 and True, -0.0 from 0.0, NaN from nothing, a tuple from a list, the order of a dict
    assert repr(decode_plain(encode_plain(value))) == repr(value)


class Colour(enum.IntEnum):
    RED = 3


def test_derived_types_are_stored_as_what_they_derive_from() -> None:
    value = [np.float64(2.5), Counter({"a": 2}), Colour.RED, np.float64("nan")]
    assert repr(decode_plain(encode_plain(value))) == "[2.5, {'a': 2}, 3, nan]"


def test_bytes_of_earlier_versions() -> None:
    old = (
        b'{"t":[{"i":"-12345678901234567890"},2.5,{"f":"nan"},{"d":[[{"i":"1"},{"b":"AP8="}],["k",[null,true]]]},'
        b'{"n":"1.50"},{"at":"2026-01-02T03:04:05+00:00"},{"on":"2026-01-02"},{"for":[1,2,3]}]}'
    )
    wanted = (
        -12345678901234567890,
        2.5,
        float("nan"),
        {1: b"\x00\xff", "k": [None, True]},
        Decimal("1.50"),
        datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
        date(2026, 1, 2),
        timedelta(1, 2, 3),
    )
    assert repr(decode_plain(old)) == repr(wanted)


@pytest.mark.parametrize("value", [object(), {1, 2}, [1, {2: object()}], (np.int64(3),)])
def test_other_types_are_refused_by_name(value: Any) -> None:
    with pytest.raises(SnapshotError, match=r"a partial of type (object|set|int64) cannot be stored: give the Monoid"):
        encode_plain(value)


@pytest.mark.parametrize(
    "damaged", [b"", b"{", b'{"x":1}', b'{"m":[[1],[]]}', b'{"m":[1]}', b'{"t":1,"i":"2"}', b"\xff"]
)
def test_damage_is_said(damaged: bytes) -> None:
    with pytest.raises(SnapshotError, match="stored partial is damaged"):
        decode_plain(damaged)
