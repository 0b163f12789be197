"""`evict_while` and `adwin` as values: what they refuse, how they read, how they are joined."""

from __future__ import annotations

from typing import Any

import pytest

import slidewise as sw
from slidewise.errors import ArgumentError

USES = {"n": sw.count()}


def few(total: Any, old: Any) -> bool:
    return bool(total.n - old.n >= 3)


def peak(total: Any, old: Any) -> bool:
    return bool(old.p < total.p)


FEW = sw.evict_while(few, USES)
PEAK = sw.evict_while(peak, {"p": sw.max("x")})


@pytest.mark.parametrize(
    ("arguments", "options", "said"),
    [
        ((3, USES), {}, "policy=3: expected a function of (total, old)"),
        ((None, USES), {}, "policy=None: expected a function of (total, old)"),
        ((lambda: True, USES), {}, "does not take (total, old): too many positional arguments"),
        ((lambda a, b, c: True, USES), {}, "does not take (total, old): missing a required argument: 'c'"),
        ((few, {}), {}, "uses={}: expected names and aggregates"),
        ((few, [sw.count()]), {}, "uses=[count()]: expected names and aggregates"),
        ((few, None), {}, "uses=None: expected names and aggregates"),
        ((few, {"a b": sw.count()}), {}, "uses='a b': expected names that can follow a dot"),
        ((few, {"_n": sw.count()}), {}, "uses='_n': expected names that can follow a dot"),
        ((few, {"class": sw.count()}), {}, "uses='class': expected names that can follow a dot"),
        ((few, {1: sw.count()}), {}, "uses=1: expected names that can follow a dot"),
        ((few, {"n": "count"}), {}, "uses['n']='count': expected an aggregate such as sw.sum('x')"),
        ((few, {"n": sw.count}), {}, "uses['n']="),
        ((few, USES), {"include_current": 1}, "include_current=1: expected True or False"),
        ((few, USES), {"check": "yes"}, "check='yes': expected True or False"),
        ((few, USES), {"min_rows": -1}, "min_rows=-1: expected an integer of at least 0"),
        ((few, USES), {"min_rows": 1.5}, "min_rows=1.5: expected an integer of at least 0"),
    ],
)
def test_bad_arguments_of_evict_while(arguments: Any, options: Any, said: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        sw.evict_while(*arguments, **options)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"delta": 0}, "delta=0: expected a number between 0 and 1"),
        ({"delta": 1}, "delta=1: expected a number between 0 and 1"),
        ({"delta": -0.1}, "delta=-0.1: expected a number between 0 and 1"),
        ({"delta": float("nan")}, "delta=nan: expected a number between 0 and 1"),
        ({"delta": True}, "delta=True: expected a number between 0 and 1"),
        ({"delta": "0.1"}, "delta='0.1': expected a number between 0 and 1"),
        ({"column": 3}, "column=3: expected the name of a column, or None"),
        ({"column": ""}, "column='': expected the name of a column, or None"),
        ({"min_rows": -1}, "min_rows=-1: expected an integer of at least 0"),
    ],
)
def test_bad_arguments_of_adwin(options: Any, said: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        sw.adwin(**options)
    assert str(caught.value) == said


def test_they_read_as_they_were_written() -> None:
    assert repr(FEW) == "evict_while(few, uses={'n': count()})"
    assert repr(PEAK) == "evict_while(peak, uses={'p': max('x')})"
    assert repr(sw.evict_while(few, USES, include_current=False, min_rows=2)) == (
        "evict_while(few, uses={'n': count()}, include_current=False, min_rows=2)"
    )
    assert repr(FEW | PEAK) == f"{FEW!r} | {PEAK!r}"
    assert repr(sw.adwin()) == "adwin(0.002)"
    assert repr(sw.adwin(0.1, column="x", min_rows=3)) == "adwin(0.1, column='x', min_rows=3)"
    assert repr(sw.evict_while(max, USES)).startswith("evict_while(max, ")


def test_joined() -> None:
    three = FEW | PEAK | FEW
    assert [policy.function for policy in three.policies] == [few, peak, few]
    assert (sw.evict_while(few, USES, min_rows=2) | PEAK).min_rows == 2
    assert (PEAK | sw.evict_while(few, USES, check=True)).check
    with pytest.raises(
        ArgumentError, match=r"evict_while\(few.*\| evict_while\(peak.*include_current to be the same in both"
    ):
        FEW | sw.evict_while(peak, {"p": sw.max("x")}, include_current=False)
    for other in (sw.trailing(3), sw.adwin(), 3):
        with pytest.raises(TypeError):
            FEW | other


def test_they_have_no_step() -> None:
    with pytest.raises(ArgumentError, match=r"every\('1 h'\): is for trailing windows, not for evict_while"):
        FEW.every("1 h")
