"""Every built-in, with several settings and for every kind of column it takes, keeps the laws; and the laws catch
monoids that are broken."""

from __future__ import annotations

import datetime as dt
import itertools
import math
from decimal import Decimal
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import slidewise as sw
from slidewise.errors import LawError
from slidewise.monoids import BUILTINS, laws
from slidewise.monoids.aggregate import Aggregate
from slidewise.monoids.codec import codec_of
from slidewise.monoids.kinds import COMPILED, Kind
from tests.catalogue import VARIANTS, family_of, takes

KINDS: tuple[Kind, ...] = get_args(Kind)
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
    "decimal": st.decimals(-(10**9), 10**9, places=4) | st.sampled_from([Decimal(10**38 - 1), Decimal("-1e-38")]),
    "unordered": st.lists(st.integers(0, 2), max_size=2),
    "string": st.text(max_size=3) | st.sampled_from(["", "ä", "日本", "\U0001f600"]),
    "object": st.binary(max_size=2) | st.sampled_from([b"", b"\x00", b"\xff"]),
}

#: Where a partial is made of floats, measured by the largest number that was lifted, powers of values must stay within
#: what 1e-9 of that allows: the square of a deviation of 1e6 is 1e12 and rounds at 1e-4, its fourth power at 1e8.
#: So the largest value that is drawn, and the tolerance, by how high a power the partial holds:
#:    15 merges · 10^4 · 1e-16 ≈ 1e-11 beside a slack of 10 · 1e-7, and wrong answers differ by more than 1e-3
_POWERS = {"product": 100.0, "skew": 10.0, "kurt": 10.0, "covariance": 1e3, "correlation": 1e3}
_FLOATS = {"var", "stddev", "geomean", "ewm", "time_weighted_mean"} | set(_POWERS)


def samples(one: Aggregate, kinds: tuple[Kind, ...]) -> st.SearchStrategy[Any]:
    """What the lift takes, as one value or a tuple of them."""
    family = family_of(one)
    if family.hashes:
        return st.sampled_from([0, 1, 2**31, 2**63 - 1]) | st.integers(0, 2**63 - 1)
    each = [SAMPLES[kind] for kind in kinds]
    if family.name in _FLOATS:
        each[0] = _bounded(_POWERS.get(family.name, 1e6), kinds[0])
        if len(kinds) > 1:
            times = st.integers(-1000, 1000) if family.implied(dict(one.options)) else _bounded(1e3, kinds[1])
            each[1] = times.map(float) if kinds[1] == "float" and times is not each[0] else times
    for place in family.nullable:
        each.insert(place + 1, st.booleans())
    return st.tuples(*each) if len(each) != 1 else each[0]


def _bounded(most: float, kind: Kind) -> st.SearchStrategy[Any]:
    if kind == "float":
        return st.floats(-most, most).filter(lambda x: x == 0 or abs(x) > 1e-3) | st.sampled_from(SPECIAL)
    if kind == "decimal":
        return st.decimals(-int(most), int(most), places=2)
    return SAMPLES["bool"] if kind == "bool" else st.integers(-int(most), int(most))


def _pairs(one: Aggregate) -> list[tuple[Kind, ...]]:
    """Each kind; for two columns each kind beside itself and beside those of a column of times."""
    if takes(one) == 1:
        return [(kind,) for kind in KINDS]
    return [(kind, other) for kind in KINDS for other in KINDS if kind == other or other in ("int", "temporal")]


CASES = [
    pytest.param(monoid, one, kinds, id=f"{label}-{'-'.join(kinds)}")
    for variants in VARIANTS.values()
    for label, one in variants.items()
    for kinds in _pairs(one)
    if (monoid := family_of(one).choose(kinds, **dict(one.options))) is not None
]
each_case = pytest.mark.parametrize(("monoid", "one", "kinds"), CASES)


def test_every_builtin_is_here() -> None:
    assert set(SAMPLES) == set(KINDS)
    assert {family_of(case.values[1]).name for case in CASES} == set(BUILTINS)


@each_case
@settings(max_examples=25)
@given(data=st.data())
def test_builtins_keep_the_laws(
    monoid: sw.Monoid, one: Aggregate, kinds: tuple[Kind, ...], data: st.DataObject
) -> None:
    drawn = data.draw(st.lists(samples(one, kinds), max_size=4))
    if "half_life_nanos" in dict(one.options):
        _check_in_order(monoid, drawn)
        drawn = [(value, 5) for value, _ in drawn]  # any order of equal times is in order
    laws.check(monoid, drawn, tolerance=_tolerance(monoid))


def _tolerance(monoid: sw.Monoid) -> float:
    """Deviations are powers, but measured by the lifted values."""
    return 1e-7 if monoid.name in ("var", "stddev", *_POWERS) else laws.TOLERANCE


def _check_in_order(monoid: sw.Monoid, drawn: list[Any]) -> None:
    """Associativity of a monoid whose times never fall: over triples in order only."""
    partials = [monoid.identity, *(monoid.lifted(*one) for one in sorted(drawn, key=lambda pair: pair[1]))]
    for a, b, c in itertools.combinations_with_replacement(partials, 3):
        left, right = monoid.combine(monoid.combine(a, b), c), monoid.combine(a, monoid.combine(b, c))
        assert laws.same(left, right, 1e-9 * 1e6)


def test_the_count_of_rows_keeps_the_laws() -> None:
    """Its lift takes nothing."""
    laws.check(BUILTINS["count"].choose(()), [(), (), ()])


@each_case
@settings(max_examples=10)
@given(data=st.data())
def test_partials_are_storable(monoid: sw.Monoid, one: Aggregate, kinds: tuple[Kind, ...], data: st.DataObject) -> None:
    """What a built-in holds needs no codec of the user's, and goes on as the same partial afterwards."""
    each = samples(one, kinds)
    encode, decode = codec_of(monoid)
    total = monoid.identity
    for value in [*data.draw(st.lists(each, max_size=3)), None]:
        stored = decode(encode(total))
        assert repr(stored) == repr(total)
        if value is None or "half_life_nanos" in dict(one.options):
            return
        partial = monoid.lifted(*value) if isinstance(value, tuple) else monoid.lifted(value)
        assert repr(monoid.combine(stored, decode(encode(partial)))) == repr(monoid.combine(total, partial))
        total = monoid.combine(total, partial)


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


NUMERIC = {"int", "float", "bool", "decimal"}
MACHINE = {"int", "float", "bool", "temporal"}
ORDERED = set(KINDS) - {"unordered"}
ANYTHING = set(KINDS)

#: name -> the kinds it takes, by column: arithmetic on numbers only, order on what has one, counting on anything.
TAKES: dict[str, tuple[set[Kind], ...]] = {
    "count": (ANYTHING,),
    "sum": (NUMERIC,),
    "product": (NUMERIC,),
    "mean": (NUMERIC,),
    "var": (NUMERIC,),
    "stddev": (NUMERIC,),
    "skew": (NUMERIC,),
    "kurt": (NUMERIC,),
    "geomean": (NUMERIC,),
    "min": (ORDERED,),
    "max": (ORDERED,),
    "argmin": (ANYTHING, ORDERED),
    "argmax": (ANYTHING, ORDERED),
    "count_of_min": (ORDERED,),
    "count_of_max": (ORDERED,),
    "spread": (NUMERIC | MACHINE,),
    "first": (ANYTHING,),
    "last": (ANYTHING,),
    "first_n": (ANYTHING,),
    "last_n": (ANYTHING,),
    "collect": (ANYTHING,),
    "collect_distinct": (ORDERED,),
    "count_distinct": (ORDERED,),
    "top_k": (ORDERED,),
    "most_frequent": (ORDERED,),
    "bloom": (ANYTHING,),
    "approx_distinct": (ANYTHING,),
    "quantile": (NUMERIC,),
    "median": (NUMERIC,),
    "covariance": (NUMERIC, NUMERIC),
    "correlation": (NUMERIC, NUMERIC),
    "longest_increasing_run": (MACHINE, MACHINE),
    "time_weighted_mean": (NUMERIC, MACHINE),
    "ewm": (NUMERIC,),
    "all": ({"bool"},),
    "any": ({"bool"},),
    "concat": ({"string"},),
}


def test_which_kinds_are_refused() -> None:
    assert set(TAKES) == set(BUILTINS)
    for name, variants in VARIANTS.items():
        for one in variants.values():
            wanted = (NUMERIC, MACHINE) if "half_life_nanos" in dict(one.options) else TAKES[name]
            assert takes(one) == len(wanted)
            for kinds in itertools.product(KINDS, repeat=len(wanted)):
                taken = family_of(one).choose(kinds, **dict(one.options)) is not None
                assert taken == all(kind in some for kind, some in zip(kinds, wanted, strict=True)), (one, kinds)


def test_the_same_settings_give_the_same_monoid() -> None:
    """So that its machine code is found again."""
    for case in CASES:
        monoid, one, kinds = case.values
        assert family_of(one).choose(kinds, **dict(one.options)) is monoid


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
    """Where a kernel takes a column, the identity is a flat tuple of numbers, or a tally says how large an array is."""
    objects = {"collect", "collect_distinct", "count_distinct", "most_frequent", "median"}
    for case in CASES:
        monoid, one, kinds = case.values
        if not all(kind in COMPILED for kind in kinds) or monoid.name in objects or "exact" in dict(one.options):
            continue
        if monoid.tally is not None:
            assert monoid.tally.size > 0
            assert len(monoid.identity) == monoid.tally.size
            continue
        parts = monoid.identity if isinstance(monoid.identity, tuple) else (monoid.identity,)
        assert all(isinstance(part, (int, float)) for part in parts)
