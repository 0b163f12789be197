"""`LiveWindow`, event by event, answers what `sw.slide` answers over the whole column, with every algorithm; its
snapshots go on anywhere; damaged ones are refused."""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import math
import subprocess
import sys
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import slidewise as sw
from slidewise.engine.snapshot import FORMAT, pack, unpack
from slidewise.errors import ArgumentError, SnapshotError
from tests import strategies
from tests.catalogue import CORE, VARIANTS, family_of, serves, takes
from tests.fold import ROUNDED
from tests.golden import MONOIDS
from tests.same import assert_same

ALGORITHMS = sorted(sw.swag.ALGORITHMS)
CONCAT = sw.Monoid(identity="", combine=lambda older, newer: older + newer, name="concat")
OWN = {name: sw.aggregate(sw.Monoid(name=name, **MONOIDS[name])) for name in ("concat", "queue")}
FED = {
    label: one
    for variants in VARIANTS.values()
    for label, one in variants.items()
    if takes(one) == 1 or 1 in family_of(one).columns
}
"""Every built-in with every setting that takes one value per event."""

each_algorithm = pytest.mark.parametrize("algorithm", ["auto", *ALGORITHMS])
for_any_monoid = pytest.mark.parametrize("algorithm", strategies.ALGORITHMS)


@dataclass(frozen=True)
class Stream:
    """Values of one kind, rising times (with ties), a window."""

    label: str
    aggregate: sw.Aggregate
    values: list[Any]
    times: list[dt.datetime]
    window: sw.Window

    @property
    def scale(self) -> float:
        """What computed floats are measured by, as 1e-12 of it; what was selected must be the same to the bit."""
        numbers = [float(x) for x in self.values if isinstance(x, (int, float, Decimal)) and math.isfinite(x)]
        return 1 + sum(x * x if self.label == "var" else abs(x) for x in numbers)

    def order(self) -> list[dt.datetime] | None:
        return self.times if self.window.by_time else None

    def slide(self, algorithm: str = "foa") -> list[Any]:
        """On objects, unless the ladder is asked, and then for some built-ins: each is machine code of its own."""
        algorithm = "auto" if algorithm == "auto" and self.aggregate.source.name in CORE else "foa"
        return sw.slide(self.values, self.aggregate, self.window, order=self.order(), algorithm=algorithm)

    def feed(self, live: sw.LiveWindow, first: int = 0, last: int | None = None) -> list[Any]:
        times = None if self.order() is None else self.times[first:last]
        return live.extend(self.values[first:last], times)


_ints = st.integers(-3, 3) | st.integers(-(2**57), 2**57)
_eighths = st.integers(-40, 40).map(lambda x: x / 8)
_special = st.sampled_from([math.nan, math.inf, -math.inf])
_texts = st.sampled_from(["", "a", "b", "ä", "日本", "\ud800"])
EACH: dict[str, st.SearchStrategy[Any]] = {
    "int": _ints,
    "float": _eighths | st.floats(-1e6, 1e6) | _special,
    "bool": st.booleans(),
    "decimal": st.decimals(-99, 99, places=2),
    "string": _texts,
    "object": st.sampled_from([b"", b"a", b"\xff"]),
}
#: Quotients of powers, where large numbers side by side leave no digits: numbers that hold exactly. Powers of two for
#: products, so that these are exact in whatever order.
CLOSE: dict[str, st.SearchStrategy[Any]] = {"int": st.integers(-3, 3), "float": _eighths | _special}
TWOS: dict[str, st.SearchStrategy[Any]] = {
    "int": st.sampled_from([-2, -1, 0, 1, 2]),
    "float": st.sampled_from([-2.0, -0.5, 0.0, 0.25, 1.0, 4.0]) | _special,
    "decimal": st.sampled_from([Decimal("0.5"), Decimal("-2.0")]),
}


@st.composite
def windows(draw: st.DrawFn) -> sw.Window:
    extent = draw(st.sampled_from([1, 2, 3, 5, 100, "1 s", "3 s", "1 min"]))
    most = min(extent, 3) if isinstance(extent, int) else 3
    return sw.trailing(extent, include_current=draw(st.booleans()), min_rows=draw(st.integers(0, most)))


@st.composite
def streams(draw: st.DrawFn) -> Stream:
    label = draw(st.sampled_from([*FED, *(f"own {name}" for name in OWN)]))
    if label.startswith("own "):
        aggregate, kinds = OWN[label.removeprefix("own ")], ["string"]
    else:
        aggregate = FED[label]
        kinds = [kind for kind in EACH if _takes(aggregate, kind)]
    kind, name = draw(st.sampled_from(kinds)), label.partition("-")[0]
    table = CLOSE if name in ("skew", "kurt", "stddev", "ewm", "time_weighted_mean", "geomean") else EACH
    each = (TWOS if name == "product" else table).get(kind, EACH[kind])
    values = draw(st.lists(st.none() | each, max_size=25))
    seconds = draw(st.lists(st.integers(0, 8), min_size=len(values), max_size=len(values)))
    times = [dt.datetime(2024, 1, 1) + dt.timedelta(seconds=half / 2) for half in sorted(seconds)]
    return Stream(label, aggregate, values, times, draw(windows()))


def _takes(aggregate: sw.Aggregate, kind: str) -> bool:
    kinds = (kind,) if takes(aggregate) == 1 else ("int", kind) if "arg" in aggregate.name else (kind, "int")
    return family_of(aggregate).choose(kinds, **dict(aggregate.options)) is not None


@each_algorithm
@settings(max_examples=100)
@given(stream=streams())
def test_live_is_slide(algorithm: str, stream: Stream) -> None:
    live = _live(stream, algorithm)
    answers = []
    for row in range(len(stream.values)):
        answers += stream.feed(live, row, row + 1)
        assert_same([live.query()], answers[-1:])
        live.check()
    wanted = stream.slide(algorithm)
    assert_same(_as_slide(stream, answers, wanted), wanted, scale=stream.scale)


def _as_slide(stream: Stream, answers: list[Any], wanted: list[Any]) -> list[Any]:
    """A live window knows no types: decimals are not rounded, and a run's times are nanoseconds."""
    if stream.label == "mean" and any(isinstance(value, Decimal) for value in wanted):
        pairs = zip(answers, wanted, strict=True)
        return [None if one is None else ROUNDED.quantize(one, other) for one, other in pairs]
    if stream.label == "longest_increasing_run" and stream.window.by_time:
        return [None if one is None else (*map(_moment, one[:2]), _span(one[2]), one[3]) for one in answers]
    return answers


def _span(nanos: int) -> dt.timedelta:
    return dt.timedelta(microseconds=nanos // 1000)


def _moment(nanos: int) -> dt.datetime:
    return dt.datetime(1970, 1, 1) + _span(nanos)


@each_algorithm
@settings(max_examples=100)
@given(stream=streams(), cut=st.integers(0, 25))
def test_snapshot_and_restore_mid_stream(algorithm: str, stream: Stream, cut: int) -> None:
    live = _live(stream, algorithm)
    stream.feed(live, 0, cut)
    blob = live.snapshot()
    own = isinstance(stream.aggregate.source, sw.Monoid)
    again = sw.LiveWindow.restore(blob, stream.aggregate if own else None)
    assert sw.LiveWindow.restore(again.snapshot(), again.aggregate).snapshot() == again.snapshot()
    assert len(again) == len(live)
    again.check()
    assert_same(stream.feed(again, cut), stream.feed(live, cut), scale=stream.scale)


def _live(stream: Stream, algorithm: str) -> sw.LiveWindow:
    """By this algorithm, or by "auto" where it refuses the monoid: at once, or at the first value."""
    with contextlib.suppress(ArgumentError):
        stream.feed(sw.LiveWindow(stream.aggregate, stream.window, algorithm))
        return sw.LiveWindow(stream.aggregate, stream.window, algorithm)
    with pytest.raises(ArgumentError, match=algorithm):
        stream.feed(sw.LiveWindow(stream.aggregate, stream.window, algorithm))
    algorithm = "auto"
    return sw.LiveWindow(stream.aggregate, stream.window, algorithm)


@for_any_monoid
def test_by_hand(algorithm: str) -> None:
    """insert, evict, evict_many, query: nothing leaves by itself."""
    own = next(own for own in reversed(OWN.values()) if serves(algorithm, own.source))
    live = sw.LiveWindow(own, sw.trailing(2), algorithm)
    for letter in "abcde":
        live.insert(letter)
    assert (live.query(), len(live)) == ("abcde", 5)
    live.evict()
    assert live.query() == "bcde"
    live.evict_many(3)
    assert (live.query(), len(live)) == ("e", 1)
    live.evict_many(0)
    live.evict()
    assert (live.query(), len(live)) == (None, 0)
    for call in (live.evict, lambda: live.evict_many(2)):
        with pytest.raises(IndexError):
            call()
    assert live.push("f") == "f"


def test_an_event_outside_its_own_answer() -> None:
    live = sw.LiveWindow(sw.sum(), sw.trailing(2, include_current=False))
    assert [(live.push(x), live.query(), len(live)) for x in (1, 2, 4, 8)] == [
        (None, None, 0),
        (1, 1, 1),
        (3, 3, 2),
        (6, 6, 2),
    ]
    live.evict()
    assert live.query() == 4


def test_nulls_before_the_first_value() -> None:
    live = sw.LiveWindow(sw.mean(), sw.trailing(3, min_rows=2))
    assert live.extend([None, None, 3, None, 6]) == [None, None, 3.0, 3.0, 4.5]
    live = sw.LiveWindow(sw.max(), sw.trailing(2))
    live.insert(None)
    live.insert(None)
    live.evict()
    assert (live.query(), len(live)) == (None, 1)


def test_count_counts_rows() -> None:
    assert sw.LiveWindow(sw.count(), sw.trailing(2)).extend([5, None, "x"]) == [1, 2, 2]
    assert sw.LiveWindow(sw.count(), sw.trailing(2)).query() == 0


# --- values and times ------------------------------------------------------------------------------------------------


def test_numpy_numbers_do_not_wrap() -> None:
    live = sw.LiveWindow(sw.sum(), sw.trailing(3))
    assert live.extend(np.array([100, 100], dtype=np.int8)) == [100, 200]
    assert live.push(np.bool_(True)) == 201
    live = sw.LiveWindow(sw.aggregate(sw.Monoid(identity=0, combine=lambda a, b: a + b, name="add")), sw.trailing(3))
    assert live.extend(np.array([100, 100], dtype=np.int8)) == [100, 200]
    assert sw.LiveWindow.restore(live.snapshot(), live.aggregate).query() == 200


def test_a_sum_beyond_int64() -> None:
    live = sw.LiveWindow(sw.sum(), sw.trailing(2))
    live.push(2**63 - 1)
    with pytest.raises(OverflowError):
        live.push(1)
    assert live.push(-1) == 0


def test_exact_and_other_values() -> None:
    assert sw.LiveWindow(sw.sum(), sw.trailing(2)).extend([Decimal("0.1"), Decimal("0.2")])[1] == Decimal("0.3")
    assert sw.LiveWindow(sw.max(), sw.trailing(2)).extend([2**70, 2**71]) == [2**70, 2**71]
    days = [dt.date(2024, 1, 2), dt.date(2024, 1, 1)]
    assert sw.LiveWindow(sw.min(), sw.trailing(2)).extend(days) == [days[0], days[1]]


def test_the_kind_said_at_the_start() -> None:
    assert sw.LiveWindow(sw.sum(), sw.trailing(2), kind="float").extend([1, 1.5]) == [1.0, 2.5]
    assert sw.LiveWindow(sw.max(), sw.trailing(2), kind="object").extend([1, 1.5]) == [1, 1.5]


@pytest.mark.parametrize(
    "moment",
    [
        1_704_067_200_000_000_001,
        np.int64(1_704_067_200_000_000_001),
        pd.Timestamp("2024-01-01T00:00:00.000000001"),
        np.datetime64("2024-01-01T00:00:00.000000001"),
        dt.datetime(2024, 1, 1, 0, 0, 0, 1),
        dt.datetime(2024, 1, 1, 1, tzinfo=dt.timezone(dt.timedelta(minutes=59))),
        dt.date(2024, 1, 2),
    ],
    ids=lambda moment: type(moment).__name__,
)
def test_times_of_any_sort(moment: object) -> None:
    live = sw.LiveWindow(sw.count(), sw.trailing("1 d"))
    live.push(None, dt.datetime(2024, 1, 1))
    assert live.push(None, moment) == (1 if moment == dt.date(2024, 1, 2) else 2)
    with pytest.raises(ArgumentError, match=r"time=.*never fall"):
        live.push(None, dt.datetime(2024, 1, 1))
    assert len(live) == (1 if moment == dt.date(2024, 1, 2) else 2)


BAD: list[tuple[str, Callable[[], Any], list[str]]] = [
    ("monoid", lambda: sw.LiveWindow(CONCAT, sw.trailing(2)), ["aggregate", "sw.aggregate"]),
    ("bound", lambda: sw.LiveWindow(sw.max("v"), sw.trailing(2)), ["aggregate", "'v'", "unbound"]),
    (
        "two_columns",
        lambda: sw.LiveWindow(
            sw.aggregate(sw.Monoid(identity=0, lift=lambda x, y: x, combine=max, name="m")), sw.trailing(2)
        ),
        ["lift", "1"],
    ),
    ("window", lambda: sw.LiveWindow(sw.max(), 5), ["window", "5", "trailing"]),
    ("step", lambda: sw.LiveWindow(sw.max(), sw.tumbling(5)), ["window", "per-event"]),
    ("ties", lambda: sw.LiveWindow(sw.max(), sw.trailing("1 s", ties="together")), ["window", "ties"]),
    ("algorithm", lambda: sw.LiveWindow(sw.max(), sw.trailing(2), "quick"), ["algorithm", "quick", "two_stacks_lite"]),
    ("store", lambda: sw.LiveWindow(sw.max(), sw.trailing(2), store=5), ["store", "5", "disk:PATH"]),
    ("kind", lambda: sw.LiveWindow(sw.max(), sw.trailing(2), kind="number"), ["kind", "number", "float"]),
    ("text_kind", lambda: sw.LiveWindow(sw.sum(), sw.trailing(2), kind="object"), ["sum", "object", "numbers"]),
    ("text", lambda: sw.LiveWindow(sw.sum(), sw.trailing(2)).push("a"), ["sum", "str", "numbers"]),
    ("mixed", lambda: sw.LiveWindow(sw.sum(), sw.trailing(2)).extend([1, 1.5]), ["value=1.5", "int", "kind='float'"]),
    ("mixed_text", lambda: sw.LiveWindow(sw.max(), sw.trailing(2)).extend([1, "a"]), ["value='a'", "int"]),
    ("no_time", lambda: sw.LiveWindow(sw.max(), sw.trailing("1 s")).push(1), ["time=None", "datetime"]),
    ("half_time", lambda: sw.LiveWindow(sw.max(), sw.trailing("1 s")).push(1, 0.5), ["time=0.5", "datetime"]),
    ("nat", lambda: sw.LiveWindow(sw.max(), sw.trailing("1 s")).push(1, np.datetime64("NaT")), ["time", "NaT"]),
    ("pandas_nat", lambda: sw.LiveWindow(sw.max(), sw.trailing("1 s")).push(1, pd.NaT), ["time", "NaT"]),
    ("time_of_rows", lambda: sw.LiveWindow(sw.max(), sw.trailing(2)).push(1, 5), ["time=5", "counts rows"]),
    ("half_evict", lambda: sw.LiveWindow(sw.max(), sw.trailing(2)).evict_many(0.5), ["n=0.5", "integer"]),
    ("negative_evict", lambda: sw.LiveWindow(sw.max(), sw.trailing(2)).evict_many(-1), ["n=-1", "at least 0"]),
    ("not_a_blob", lambda: sw.LiveWindow.restore(5), ["blob", "5", "bytes"]),
    ("not_a_url", lambda: sw.LiveWindow.restore("text"), ["'text'", "disk"]),
]


@pytest.mark.parametrize(("call", "fragments"), [pytest.param(call, parts, id=name) for name, call, parts in BAD])
def test_bad_arguments(call: Callable[[], Any], fragments: list[str]) -> None:
    with pytest.raises(ArgumentError) as caught:
        call()
    for fragment in fragments:
        assert fragment in str(caught.value)


def test_a_refused_event_changes_nothing() -> None:
    for include_current in (True, False):
        live = sw.LiveWindow(sw.sum(), sw.trailing("3 s", include_current=include_current))
        live.extend([1, 2], [0, 10**9])
        blob = live.snapshot()
        for bad in (("x", 2 * 10**9), (3, 0), (3, None)):
            with pytest.raises(ArgumentError):
                live.push(*bad)
        assert live.snapshot() == blob


# --- snapshots -------------------------------------------------------------------------------------------------------

_ELSEWHERE = """
import json, sys, slidewise as sw
live = sw.LiveWindow.restore(sys.stdin.buffer.read())
print(json.dumps([live.push(x, t) for x, t in json.loads(sys.argv[1])]))
"""


def test_another_process_goes_on() -> None:
    live = sw.LiveWindow(sw.stddev(), sw.trailing("3 s", include_current=False))
    live.extend([1.0, None, 4.0, 9.0], [0, 10**9, 2 * 10**9, 3 * 10**9])
    rest = [(16.0, 4 * 10**9), (None, 5 * 10**9), (36.0, 7 * 10**9)]
    done = subprocess.run(
        [sys.executable, "-c", _ELSEWHERE, json.dumps(rest)], input=live.snapshot(), capture_output=True, check=True
    )
    assert json.loads(done.stdout) == [live.push(x, t) for x, t in rest]


def _blob() -> bytes:
    live = sw.LiveWindow(sw.max(), sw.trailing(3))
    live.extend([4, 1, None, 3])
    return live.snapshot()


def test_every_damaged_byte_is_found() -> None:
    blob = _blob()
    for place in range(len(blob)):
        damaged = bytearray(blob)
        damaged[place] ^= 1
        with pytest.raises(SnapshotError):
            sw.LiveWindow.restore(bytes(damaged))


def test_every_cut_is_found() -> None:
    blob = _blob()
    for size in range(len(blob)):
        with pytest.raises(SnapshotError):
            sw.LiveWindow.restore(blob[:size])
    with pytest.raises(SnapshotError):
        sw.LiveWindow.restore(blob + b"x")


def test_a_newer_snapshot() -> None:
    blob = _blob().replace(b" 1 ", b" 2 ", 1)
    with pytest.raises(SnapshotError, match=rf"format 2.*up to {FORMAT}"):
        sw.LiveWindow.restore(blob)


@pytest.mark.parametrize(
    "change", [{"structure": "unheard_of"}, {"window": {"months": 3}}, {"registers": None}, {"kind": "quaternion"}]
)
def test_a_whole_snapshot_that_does_not_fit(change: dict[str, Any]) -> None:
    """Written by a version that knows more, in the same format."""
    header, parts = unpack("live window", _blob())
    with pytest.raises(SnapshotError, match="does not fit"):
        sw.LiveWindow.restore(pack("live window", {**header, **change}, parts))


def test_the_snapshot_of_something_else() -> None:
    body = b'{"lengths": []}\n'
    other = b"slidewise frame 1 %08x\n" % zlib.crc32(body) + body
    for blob in (b"", b"{}", other):
        with pytest.raises(SnapshotError, match="live window"):
            sw.LiveWindow.restore(blob)


def test_the_aggregate_must_be_the_same() -> None:
    def own(**changes: Any) -> sw.Aggregate:
        return sw.aggregate(
            sw.Monoid(**{"identity": 0, "combine": lambda a, b: a + b, "name": "own", "version": 2, **changes})
        )

    blob = sw.LiveWindow(own(), sw.trailing(2)).snapshot()
    assert sw.LiveWindow.restore(blob, own()).push(5) == 5
    for other, words in [
        (own(name="other"), "'other'"),
        (own(version=3), "version 3"),
        (own(identity=(0, 0)), r"\(int, int\)"),
        (sw.sum(), "'sum'"),
    ]:
        with pytest.raises(SnapshotError, match=words):
            sw.LiveWindow.restore(blob, other)
    with pytest.raises(ArgumentError, match="hand its aggregate in"):
        sw.LiveWindow.restore(blob)
    with pytest.raises(ArgumentError, match="unbound"):
        sw.LiveWindow.restore(blob, sw.sum("v"))


def test_partials_of_any_sort() -> None:
    """Plain data needs no codec, other objects do; what a built-in holds is always storable."""
    for values in (
        [dt.datetime(2024, 1, 1, tzinfo=dt.UTC)],
        [dt.date(2024, 1, 1)],
        [dt.timedelta(1)],
        [Decimal("0.1")],
    ):
        live = sw.LiveWindow(sw.max(), sw.trailing(2))
        live.extend(values)
        assert sw.LiveWindow.restore(live.snapshot()).query() == values[0]
    sets = {"identity": frozenset(), "lift": lambda x: frozenset([x]), "combine": frozenset.union, "name": "sets"}
    live = sw.LiveWindow(sw.aggregate(sw.Monoid(**sets)), sw.trailing(2))
    live.extend("abc")
    with pytest.raises(SnapshotError, match=r"frozenset.*codec"):
        live.snapshot()
    coded = sw.aggregate(
        sw.Monoid(**sets, codec=(lambda s: "".join(sorted(s)).encode(), lambda stored: frozenset(stored.decode())))
    )
    live = sw.LiveWindow(coded, sw.trailing(2))
    live.extend("abc")
    assert sw.LiveWindow.restore(live.snapshot(), coded).push("d") == {"c", "d"}


# --- what went wrong once --------------------------------------------------------------------------------------------


def test_a_users_monoid_named_as_a_builtin_must_be_handed_in() -> None:
    own = sw.aggregate(sw.Monoid(identity=0, combine=lambda a, b: a + b, name="max"))
    live = sw.LiveWindow(own, sw.trailing(3))
    live.extend([1, 2, 4])
    blob = live.snapshot()
    with pytest.raises(ArgumentError, match="hand its aggregate in"):
        sw.LiveWindow.restore(blob)
    with pytest.raises(SnapshotError, match=r"a user's own.*a built-in"):
        sw.LiveWindow.restore(blob, sw.max())
    assert sw.LiveWindow.restore(blob, own).push(8) == 14
    with pytest.raises(SnapshotError, match=r"a built-in.*a user's own"):
        sw.LiveWindow.restore(_blob(), own)


@each_algorithm
def test_nan_is_one_value_after_a_restore(algorithm: str) -> None:
    found = {sw.count_distinct(): 2, sw.collect_distinct(): [math.nan, 1.0], sw.most_frequent(1): [math.nan]}
    for one, answer in found.items():
        if serves(algorithm, family_of(one).choose(("float",), **dict(one.options))):
            live = sw.LiveWindow(one, sw.trailing(3), algorithm)
            live.extend([math.nan, 1.0])
            assert_same([sw.LiveWindow.restore(live.snapshot()).push(math.nan)], [answer])


def test_options_and_filters_are_in_the_snapshot() -> None:
    one = sw.top_k(2).where(">", 1).where("not in", [7])
    live = sw.LiveWindow(one, sw.trailing(3))
    live.extend([5, 1, 7])
    again = sw.LiveWindow.restore(live.snapshot())
    assert repr(again.aggregate) == repr(one)
    assert again.extend([9, 3, 0]) == [[9], [9, 3], [9, 3]]
