"""Whole columns in chunks: where they are cut, and how many threads there are, changes no answer."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest

import slidewise as sw
from slidewise.engine import batch
from tests.golden import MONOIDS

AGGREGATES = [
    sw.count(),
    sw.sum("x"),
    sw.aggregate(sw.Monoid(name="affine", **MONOIDS["affine"]), "p", "x"),
    sw.aggregate(sw.Monoid(name="concat", **MONOIDS["concat"]), "s"),
]
WINDOWS: list[Any] = [
    sw.trailing(7),
    sw.trailing(3, include_current=False),
    sw.trailing(5, along="order"),
    sw.trailing(5, along="order", ties="together"),
    sw.trailing(9, along="order", coarse=4),
    sw.trailing(9, along="order", coarse=4, ties="together", include_current=False),
    sw.around(3, 2),
    sw.around(0, 9),
    sw.around(4, 3, along="order"),
    sw.around(0, 3, along="order", ties="together"),
    sw.around(3, 0, along="order", ties="together"),
    sw.expanding(),
    sw.expanding(ties="together", include_current=False),
    sw.between("lo", "hi"),
    sw.session(1),
    sw.tumbling(7, along="order"),
]


def table(keys: int, size: int = 400) -> pa.Table:
    draw = random.Random(keys)
    times = [draw.randint(0, size // 2) for _ in range(size)]
    return pa.table(
        {
            "k": [draw.randint(1, keys) for _ in range(size)],
            "t": times,
            "lo": [t + draw.randint(-20, 20) for t in times],
            "hi": [t + draw.randint(-20, 20) for t in times],
            "x": pa.array([draw.choice([None, 1, 2, 3]) for _ in range(size)], pa.int64()),
            "p": [draw.choice([-1, 0, 1]) for _ in range(size)],
            "s": [draw.choice("abc") for _ in range(size)],
        }
    )


@pytest.mark.parametrize("order", ["int64", "float64"])
@pytest.mark.parametrize("keys", [1, 3, 60])
@pytest.mark.parametrize("window", WINDOWS, ids=str)
def test_chunks(window: Any, keys: int, order: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data = table(keys)
    for name in ("t", "lo", "hi"):
        data = data.set_column(data.column_names.index(name), name, data[name].cast(order))
    whole = sw.slide(data, AGGREGATES, window, by="k", order="t", threads=1)
    monkeypatch.setattr(batch, "CHUNK", 16)
    for threads in (1, 3):
        assert sw.slide(data, AGGREGATES, window, by="k", order="t", threads=threads) == whole


def test_chunks_are_cut_where_runs_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    """An expanding window has a halo everywhere but there, which must be short beside the chunk."""
    cuts: list[tuple[int, int]] = []
    real = batch._run_chunk
    monkeypatch.setattr(batch, "CHUNK", 16)
    monkeypatch.setattr(batch, "_run_chunk", lambda *given: (cuts.append(given[-2:]), real(*given)))
    data = pa.table({"k": [k // 10 for k in range(100)], "x": range(100)})
    sw.slide(data, sw.sum("x"), sw.expanding(), by="k", threads=1)
    assert len(cuts) >= 4
    assert all((last % 10) * 4 <= last - first for first, last in cuts)
    cuts.clear()
    sw.slide(data, sw.sum("x"), sw.expanding(), threads=1)
    assert cuts == [(0, 100)]
