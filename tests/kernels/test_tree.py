"""The aggregation tree: right for any bounds and any number of rows, and as few combines as it promises."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import slidewise as sw
from slidewise.engine.any_bounds import tree_of
from slidewise.engine.plan import make_plan

AFFINE = sw.Monoid(  # x -> a·x + b modulo a prime, composed: numbers that do not commute
    identity=(1, 0),
    lift=lambda x: ((x * 7 + 1) % 97, x % 97),
    combine=lambda f, g: (f[0] * g[0] % 97, (f[1] * g[0] + g[1]) % 97),
    lower=lambda f: f[0] * 97 + f[1],
    name="affine",
)


def table(size: int, seed: int) -> pa.Table:
    draw = random.Random(seed)
    bounds = [(draw.randint(-2, size + 1), draw.randint(-2, size + 1)) for _ in range(size)]
    return pa.table(
        {
            "t": range(size),
            "lo": pa.array([low for low, _ in bounds], pa.int64()),
            "hi": pa.array([high for _, high in bounds], pa.int64()),
            "x": pa.array([None if draw.random() < 0.2 else draw.randint(0, 50) for _ in range(size)], pa.int64()),
            "s": pa.array(["abcdefgh"[k % 8] for k in range(size)]),
        }
    )


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 7, 8, 9, 31, 33, 100])
def test_any_size(size: int) -> None:
    data = table(size, seed=size)
    made = sw.slide(data, [sw.aggregate(AFFINE, "x"), sw.concat("s")], sw.between("lo", "hi"), order="t")
    rows = data.to_pylist()
    for row, affine, text in zip(rows, made["affine_x"].to_pylist(), made["concat_s"].to_pylist(), strict=True):
        inside = [other for other in rows if row["lo"] <= other["t"] <= row["hi"]]
        values = [other["x"] for other in inside if other["x"] is not None]
        assert affine == (AFFINE.fold(values) if values else None)
        assert text == ("".join(other["s"] for other in inside) if inside else None)


@pytest.mark.parametrize("size", [64, 1000])
def test_combines(size: int) -> None:
    """n - 1 to build; for an answer at most two per level and one to join both sides."""
    calls = 0

    def combine(a: str, b: str) -> str:
        nonlocal calls
        calls += 1
        return a + b

    monoid = sw.Monoid(identity="", combine=combine, name="counted", result="string")
    columns: dict[str, Any] = {"t": pa.int64(), "s": pa.string(), "lo": pa.int64(), "hi": pa.int64()}
    plan = make_plan(columns, sw.aggregate(monoid, "s"), sw.between("lo", "hi"), order="t")
    (output,) = plan.outputs
    assert output.choice.tree
    grow, ranges = tree_of(output)
    nodes, text = output.ops.columns(2 * size), ["x"] * size
    grow(nodes, (text,), [], False, 0, size)
    assert calls == size - 1
    for lo, hi in [(0, size), (1, size - 1), (size // 3, size // 3 + 1), (5, size - 7)]:
        calls = 0
        outs: Any = ([None],)
        ranges(nodes, size, [lo], [hi], 0, 1, [], False, 0, outs, np.ones(1, dtype=np.bool_))
        assert outs[0][0] == "x" * (hi - lo)
        assert calls <= 2 * math.ceil(math.log2(size)) + 1


def test_bounds_that_rise_are_swept() -> None:
    """At most three combines per row on average instead of a logarithm of them."""
    calls = 0

    def combine(a: str, b: str) -> str:
        nonlocal calls
        calls += 1
        return a + b

    size = 2000
    monoid = sw.Monoid(identity="", combine=combine, name="counted", result="string")
    data = pa.table({"t": range(size), "lo": np.arange(size) - 9, "hi": np.arange(size), "s": ["x"] * size})
    made = sw.slide(data, sw.aggregate(monoid, "s"), sw.between("lo", "hi"), order="t")
    assert made["counted_s"].to_pylist() == ["x" * min(k + 1, 10) for k in range(size)]
    assert calls <= 3 * size
    backwards = data.set_column(1, "lo", pa.array(np.where(np.arange(size) == 1000, 0, np.arange(size) - 9)))
    calls = 0
    made = sw.slide(backwards, sw.aggregate(monoid, "s"), sw.between("lo", "hi"), order="t")
    assert len(made["counted_s"][1000].as_py()) == 1001
    assert calls > 3 * size
