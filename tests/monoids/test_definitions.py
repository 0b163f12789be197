"""Every built-in's monoid, folded over random values, is what its definition says (tests/definitions.py)."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slidewise.monoids import BUILTINS
from slidewise.monoids.aggregate import Aggregate
from slidewise.monoids.kinds import Kind
from tests.catalogue import VARIANTS, family_of, takes
from tests.definitions import DEFINED, Options, define
from tests.same import same

_special = st.sampled_from([math.nan, math.inf, -math.inf, 0.0, -0.0])
_halves = st.integers(-9, 9).map(lambda x: x / 2)
EACH: dict[Kind, st.SearchStrategy[Any]] = {
    "int": st.integers(-4, 4) | st.integers(-(10**6), 10**6),
    "bool": st.integers(0, 1),
    "temporal": st.integers(-4, 4) | st.integers(-(10**15), 10**15),
    "float": _halves | st.floats(-1e3, 1e3).filter(lambda x: x == 0 or abs(x) > 1e-6) | _special,
    "decimal": st.decimals(-999, 999, places=2),
    "string": st.sampled_from(["", "a", "b", "ä"]),
    "object": st.sampled_from([b"", b"a", b"\xff"]),
}
TIMED = {"longest_increasing_run", "time_weighted_mean", "ewm"}
CASES = [
    pytest.param(one, kinds, id=f"{label}-{'-'.join(kinds)}")
    for name, variants in VARIANTS.items()
    if name in DEFINED and name != "approx_distinct"
    for label, one in variants.items()
    for kind in EACH
    for kinds in ([(kind,)] if takes(one) == 1 else [(kind, "int")])
    if family_of(one).choose(kinds, **dict(one.options)) is not None
]


def test_all_but_bloom_are_defined() -> None:
    assert set(BUILTINS) - DEFINED == {"bloom"}
    assert {family_of(case.values[0]).name for case in CASES} == DEFINED - {"approx_distinct"}  # test_sketches.py


@pytest.mark.parametrize(("one", "kinds"), CASES)
@settings(max_examples=40)
@given(data=st.data())
def test_folds_to_its_definition(one: Aggregate, kinds: tuple[Kind, ...], data: st.DataObject) -> None:
    family, monoid = family_of(one), family_of(one).choose(kinds, **dict(one.options))
    assert monoid is not None
    rows = data.draw(st.lists(st.tuples(*(EACH[kind] for kind in kinds)), max_size=12))
    if family.name in TIMED and len(kinds) > 1:
        rows.sort(key=lambda row: row[1])  # times never fall
    if family.nullable:
        rows = [(row[0] if data.draw(st.booleans()) else None, row[1]) for row in rows]
    partial = monoid.identity
    for row in rows:
        present = (row[0], row[0] is not None, *row[1:]) if family.nullable else row
        partial = monoid.combine(partial, monoid.lifted(*present))
    got = monoid.lowered(partial) if rows or monoid.answers_empty else None
    wanted, scale = define(family.name, rows, _written(one.options))
    assert same(_comparable(got), _comparable(wanted), scale), (rows, got, wanted)


def _written(options: Any) -> Options:
    """As a user writes them: a half-life in nanoseconds is one of as many of the column's units here."""
    found = dict(options)
    nanos = found.pop("half_life_nanos", None)
    return found if nanos is None else {"half_life": f"{nanos / 1e6} s"}


def _comparable(answer: Any) -> Any:
    """Lists, tuples of plain values; a decimal as the fraction it is, to 80 digits where it is a quotient."""
    if isinstance(answer, dict):
        return [_comparable(part) for part in answer.values()]
    if isinstance(answer, (list, tuple)):
        return [_comparable(part) for part in answer]
    if isinstance(answer, bool):
        return int(answer)
    if isinstance(answer, Decimal) or (hasattr(answer, "limit_denominator") and not isinstance(answer, int)):
        return round(Fraction(answer), 60)
    return answer
