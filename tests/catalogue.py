"""Every built-in with a few settings of its options, unbound: what tests that enumerate the catalogue go through.

    VARIANTS["top_k"]  ->  {"top_k": top_k(), "top_k-k=1": top_k(k=1), ...}

A built-in that is not named here is taken with its defaults, so a new one is enumerated from then on.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import slidewise as sw
from slidewise.engine.columns import kind_of
from slidewise.monoids import BUILTINS
from slidewise.monoids.aggregate import Aggregate, Family
from slidewise.swag import ALGORITHMS

CORE = frozenset({"sum", "max", "stddev", "last", "concat"})
"""Built-ins that the normal run puts through every algorithm: exact, selective, rounded, not commutative, objects."""

ON_SPARK = CORE | {
    "count",
    "mean",
    "first",
    "most_frequent",
    "approx_distinct",
    "median",
    "any",
    "argmax",
    "correlation",
}
"""Built-ins that the normal run takes to Spark: an answer of every type, a tally, a sketch, two columns. There each is
machine code of its own too, and what it computes is tested in process.
"""

OFTEN = frozenset({"two_stacks_lite", "foa"})
"""Algorithms that the normal run puts all of those through; of others it sees `max`, or `sum` where they subtract."""


def rare(*values: Any) -> Any:
    """Parameters of the slow run, where others like them are in the normal one."""
    return pytest.param(*values, marks=pytest.mark.slow)


def in_normal_run(algorithm: str) -> frozenset[str]:
    """The built-ins that the normal run puts through an algorithm: each pair is machine code of its own."""
    if algorithm == "auto":
        return frozenset(BUILTINS)
    return CORE if algorithm in OFTEN else frozenset({"sum" if algorithm == "subtract_on_evict" else "max"})


#: Sketches are small here, so that pure Python combines of them are quick; their errors have tests of their own.
_SETTINGS: dict[str, list[Aggregate]] = {
    "skew": [sw.skew(), sw.skew(bias=True)],
    "kurt": [sw.kurt(), sw.kurt(bias=True)],
    "first_n": [sw.first_n(), sw.first_n(1), sw.first_n(3)],
    "last_n": [sw.last_n(), sw.last_n(1), sw.last_n(3)],
    "top_k": [sw.top_k(), sw.top_k(1), sw.top_k(3)],
    "most_frequent": [sw.most_frequent(), sw.most_frequent(1), sw.most_frequent(3, counts=True)],
    "bloom": [sw.bloom(capacity=8), sw.bloom(capacity=3, error=0.5)],
    "approx_distinct": [sw.approx_distinct(error=0.26), sw.approx_distinct(error=0.13)],
    "quantile": [
        sw.quantile(0, error=0.2, smallest=0.1, largest=1e3),
        sw.quantile(0.5, error=0.2, smallest=0.1, largest=1e3),
        sw.quantile(1, error=0.5, smallest=1, largest=10),
        sw.quantile(0, exact=True),
        sw.quantile(0.3, exact=True),
        sw.quantile(1, exact=True),
    ],
    "ewm": [sw.ewm(alpha=0.25), sw.ewm(alpha=1), sw.ewm(span=3), sw.ewm(half_life=2), sw.ewm(half_life="3 s")],
    "concat": [sw.concat(), sw.concat(sep=", ")],
}


def _named(name: str, one: Aggregate) -> str:
    return "-".join([name, *(f"{option}={value}" for option, value in one.options)])


VARIANTS: dict[str, dict[str, Aggregate]] = {
    name: {_named(name, one): one for one in _SETTINGS.get(name, [Aggregate(family)])}
    for name, family in BUILTINS.items()
}


def family_of(one: Aggregate) -> Family:
    assert isinstance(one.source, Family)
    return one.source


def takes(one: Aggregate) -> int:
    """How many columns the lift takes, implied ones included."""
    family = family_of(one)
    several = max(family.columns)
    completed = family.implied(dict(one.options)) is not None or several - 1 not in family.columns
    return several if several < 2 or completed else several - 1


def served(algorithm: str, aggregates: list[Aggregate], types: dict[str, pa.DataType]) -> list[Aggregate]:
    """Those of the aggregates that an algorithm can do on columns of these types; implied ones are integers."""
    return [
        one
        for one in aggregates
        if serves(algorithm, one.monoid(tuple(kind_of(types.get(name, pa.int64())) for name in one.inputs)))
    ]


def serves(algorithm: str, monoid: sw.Monoid) -> bool:
    """False where an algorithm refuses a monoid, e.g. for want of an inverse."""
    if algorithm == "auto":
        return True
    try:
        ALGORITHMS[algorithm].refuse(monoid)
    except sw.errors.ArgumentError:
        return False
    return True
