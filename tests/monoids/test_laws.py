"""Every built-in, for every kind of column it takes, keeps the laws; and the laws catch monoids that are broken."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

import slidewise as sw
from slidewise.errors import LawError
from slidewise.monoids import BUILTINS, laws
from slidewise.monoids.codec import decode_plain, encode_plain
from slidewise.monoids.kinds import COMPILED, Kind

ENDS = [-(2**63), -(2**63) + 1, -1, 0, 1, 2**32 - 1, 2**32, 2**63 - 2, 2**63 - 1]
SPECIAL = [math.nan, math.inf, -math.inf, 0.0, -0.0]

#: Magnitudes within 1e6, so that the tolerance of the laws (1e-9 of the largest partial) is far above rounding (1e-16)
#: and far below a wrong answer.
numbers = st.floats(-1e6, 1e6, allow_subnormal=False) | st.integers(-4, 4).map(float)

SAMPLES: dict[Kind, st.SearchStrategy[Any]] = {
    "int": st.sampled_from(ENDS) | st.integers(-(2**63), 2**63 - 1),
    "bool": st.integers(0, 1),  # as a kernel takes them
    "temporal": st.sampled_from(ENDS) | st.integers(-(2**63), 2**63 - 1),
    "float": numbers | st.sampled_from(SPECIAL),
    "decimal": st.decimals(-(10**9), 10**9, places=4),
    "unordered": st.lists(st.integers(0, 2), max_size=2),
    "object": st.text(max_size=3) | st.sampled_from(["", "ä", "日本", "\U0001f600"]),
}

CASES = [
    pytest.param(family.choose((kind,)), kind, id=f"{name}-{kind}")
    for name, family in sorted(BUILTINS.items())
    for kind in get_args(Kind)
    if family.choose((kind,)) is not None
]


def test_every_kind_has_samples() -> None:
    assert set(SAMPLES) == set(get_args(Kind))
    assert {case.id.split("-")[0] for case in CASES} == set(BUILTINS)


@pytest.mark.parametrize(("monoid", "kind"), CASES)
@given(data=st.data())
def test_builtins_keep_the_laws(monoid: sw.Monoid, kind: Kind, data: st.DataObject) -> None:
    each = SAMPLES[kind]
    if monoid.name in ("var", "stddev") and kind == "int":
        each = st.integers(-(10**6), 10**6)  # its partials are floats: as above
    laws.check(monoid, data.draw(st.lists(each, max_size=5)), tolerance=_tolerance(monoid))


def _tolerance(monoid: sw.Monoid) -> float:
    """Deviations are squares, but measured by the lifted values: up to 15 · 1e6 · 1e6 · 1e-16 beside 1e6."""
    return 1e-7 if monoid.name in ("var", "stddev") else laws.TOLERANCE


@pytest.mark.parametrize(("monoid", "kind"), CASES)
@given(data=st.data())
def test_partials_are_storable(monoid: sw.Monoid, kind: Kind, data: st.DataObject) -> None:
    """What a built-in holds needs no codec of its own, and is the same partial afterwards."""
    for value in data.draw(st.lists(SAMPLES[kind], max_size=5)):
        partial = monoid.lifted(value)
        stored = decode_plain(encode_plain(partial))
        assert repr(stored) == repr(partial)


@pytest.mark.parametrize("name", ["min", "max"])
@given(values=st.lists(st.sampled_from(SPECIAL) | numbers, min_size=1))
def test_nan_is_the_largest(name: str, values: list[float]) -> None:
    def rank(x: float) -> tuple[bool, float]:
        return (math.isnan(x), 0.0 if math.isnan(x) else x)

    monoid = BUILTINS[name].choose(("float",))
    assert monoid is not None
    got = monoid.fold(values)
    wanted = {"min": min, "max": max}[name](values, key=rank)
    assert got == wanted or (math.isnan(got) and math.isnan(wanted))


@given(values=st.lists(SAMPLES["int"], max_size=20))
def test_integer_sums_are_exact_or_refused(values: list[int]) -> None:
    monoid = BUILTINS["sum"].choose(("int",))
    assert monoid is not None
    total = sum(values)
    if -(2**63) <= total < 2**63:
        assert monoid.fold(values) == total
    else:
        with pytest.raises(OverflowError):
            monoid.fold(values)


def test_which_kinds_are_refused() -> None:
    """Arithmetic on numbers only, order on what has one, counting on anything."""
    refused = {name: {kind for kind in get_args(Kind) if f.choose((kind,)) is None} for name, f in BUILTINS.items()}
    assert refused["count"] == set()
    assert refused["min"] == refused["max"] == {"unordered"}
    assert refused["sum"] == {"temporal", "unordered", "object"}
    assert all({"unordered", "object", "temporal"} <= refused[name] for name in ("mean", "var", "stddev"))


# --- the laws catch what is broken -----------------------------------------------------------------------------------


def _add(a: Any, b: Any) -> Any:
    return a + b


def _append(older: list[Any], newer: list[Any]) -> list[Any]:
    older.extend(newer)
    return older


BROKEN: list[tuple[str, dict[str, Any], list[Any], str]] = [
    ("max_from_zero", {"identity": 0, "combine": max}, [-1], "identity on the left"),
    ("left_only", {"identity": 0, "combine": lambda a, b: b}, [1], "identity on the right"),
    ("minus", {"identity": 0, "combine": lambda a, b: a - b}, [1], "identity on the left"),
    ("midpoint", {"identity": None, "combine": lambda a, b: b if a is None else a if b is None else (a + b) / 2},
     [1.0, 2.0, 5.0], "associative"),
    ("concat_commutes", {"identity": "", "combine": _add, "commutative": True}, ["a", "b"], "commutative"),
    ("add_selects", {"identity": 0, "combine": _add, "selective": True}, [1, 2], "selective"),
    ("inverse_of_the_newer", {"identity": "", "combine": _add, "inverse": lambda whole, older: whole[: -len(older)]},
     ["a", "b"], "inverse"),
    ("inverse_of_max", {"identity": 0, "combine": max, "inverse": lambda whole, older: whole}, [1, 2], "inverse"),
    ("changes_in_place", {"identity": [], "lift": lambda x: [x], "combine": _append}, [1, 2], "immutable"),
    ("nan_lost", {"identity": -math.inf, "combine": max}, [math.nan, 1.0], "identity on the left"),
    ("tiny_error", {"identity": 0.0, "combine": lambda a, b: (a + b) * (1 + 1e-6)}, [1.0], "identity"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("monoid", "samples", "law"),
    [pytest.param(sw.Monoid(name=name, **parts), samples, law, id=name) for name, parts, samples, law in BROKEN],
)
def test_the_laws_catch(monoid: sw.Monoid, samples: list[Any], law: str) -> None:
    with pytest.raises(LawError, match=law) as caught:
        laws.check(monoid, samples)
    assert monoid.name in str(caught.value)


def test_the_laws_allow_what_is_right() -> None:
    """A group that is not commutative, with the inverse that takes the oldest off; several columns; no samples."""
    affine = sw.Monoid(
        identity=(1, 0),
        lift=lambda p, q: (p, q),
        combine=lambda older, newer: (older[0] * newer[0], older[1] * newer[0] + newer[1]),
        inverse=lambda whole, older: (whole[0] * older[0], whole[1] - older[1] * whole[0] * older[0]),
        name="affine",
    )
    laws.check(affine, [(1, 2), (-1, 5), (-1, -3)])
    laws.check(affine, [])
    laws.check(sw.Monoid(identity=dt.timedelta(0), combine=_add, name="spans"), [dt.timedelta(1), dt.timedelta(2)])
    laws.check(sw.Monoid(identity=Decimal(0), combine=_add, name="exact"), [Decimal("0.1"), Decimal("1e20")])


def test_compiled_kinds_are_machine_numbers() -> None:
    """Where a kernel takes a column, the monoid's identity is a flat tuple of numbers, so that it compiles."""
    for case in CASES:
        monoid, kind = case.values
        if kind in COMPILED:
            parts = monoid.identity if isinstance(monoid.identity, tuple) else (monoid.identity,)
            assert all(isinstance(part, (int, float)) for part in parts)
