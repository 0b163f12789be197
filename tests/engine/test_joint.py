"""Outputs that run as one: products of few fields, in which no partial is kept twice."""

from __future__ import annotations

import random
from collections import Counter

import pyarrow as pa
import pytest

import slidewise as sw
from slidewise.engine.joint import MOST_FIELDS, joined
from slidewise.engine.plan import make_plan
from slidewise.engine.shared import shared_work
from slidewise.monoids.sharing import shared_parts
from tests.same import assert_same

NAMES = ["sum", "min", "kurt", "stddev", "max", "count", "skew", "var", "mean", "geomean", "spread"]
WINDOWS = {"1m": sw.trailing("1 min"), "5m": sw.trailing("5 min")}
TYPES = {"t": pa.timestamp("us"), "x": pa.float64()}


def orders() -> list[list[str]]:
    """Outputs that share a partial lie together, apart, or far apart."""
    draw = random.Random(5)
    return [NAMES, NAMES[::-1], *(draw.sample(NAMES, len(NAMES)) for _ in range(4))]


@pytest.mark.parametrize("names", orders(), ids=lambda names: "-".join(names[:3]))
def test_no_partial_is_kept_twice_however_many_fields_there_are(names: list[str]) -> None:
    plan = make_plan(TYPES, [getattr(sw, name)("x") for name in names], WINDOWS["1m"], order="t")
    work = joined(plan.outputs)
    by_structure = Counter(joint.choice.structure for joint, _ in work)
    assert max(by_structure.values()) > 1, "too few fields for more than one product: nothing is shown"
    for structure in by_structure:
        mine = [(joint, members) for joint, members in work if joint.choice.structure is structure]
        kept, _ = shared_parts([output.ops.monoid for _, members in mine for output in members])
        fields = {output.ops.monoid: len(output.ops.fields) for _, members in mine for output in members}
        assert sum(len(joint.ops.fields) for joint, _ in mine) == sum(fields[monoid] for monoid in kept)
    assert sorted(output.name for _, members in work for output in members) == sorted(o.name for o in plan.outputs)
    assert all(len(joint.ops.fields) <= max(MOST_FIELDS, len(members[0].ops.fields)) for joint, members in work)


@pytest.mark.parametrize("names", orders(), ids=lambda names: "-".join(names[:3]))
def test_windows_that_share_keep_no_partial_twice(names: list[str]) -> None:
    aggregates = [getattr(sw, name)("x") for name in names]
    plan = make_plan(TYPES, aggregates, WINDOWS, order="t")
    shared, rest = shared_work(plan)
    assert rest == []
    kept, _ = shared_parts([output.ops.monoid for output in plan.outputs[: len(names)]])
    fields = {output.ops.monoid: len(output.ops.fields) for output in plan.outputs}
    assert sum(len(one.ops.fields) for one in shared) == sum(fields[monoid] for monoid in kept)


@pytest.mark.slow  # half a minute of compiling; fewer outputs are in test_shared.py
@pytest.mark.parametrize("names", orders()[2:3], ids=lambda names: "-".join(names[:3]))
def test_many_outputs_of_windows_that_share_answer_as_each_alone(names: list[str]) -> None:
    aggregates = [getattr(sw, name)("x") for name in names]
    draw = random.Random(1)
    data = pa.table(
        {
            "t": pa.array(sorted(draw.randrange(10**9) for _ in range(300)), pa.timestamp("us")),
            "x": [draw.choice([None, draw.uniform(1.0, 2.0)]) for _ in range(300)],
        }
    )
    together = sw.slide(data, aggregates, WINDOWS, order="t")
    for label, window in WINDOWS.items():
        for one in aggregates:
            alone = sw.slide(data, one, window, order="t", algorithm="recalculate")[one.name].to_pylist()
            scale = None if one.name.startswith(("min", "max", "count")) else 1e4
            assert_same(together[f"{one.name}_{label}"].to_pylist(), alone, scale=scale)
