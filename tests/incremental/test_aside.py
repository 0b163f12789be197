"""Kept rows that a task reads itself: each is given out once, with its key, and none of another key."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slidewise.incremental import aside
from slidewise.incremental.arrow_worker import cut_of
from slidewise.incremental.aside import Aside
from slidewise.incremental.files import SRC

NAN = float("nan")
KEYS = st.tuples(st.sampled_from(["a", "b", "ä", "", None]), st.sampled_from([0.0, 1.5, -np.inf, NAN, None]))
NAMES = ("k", "f")


def table(rows: list[tuple[Any, ...]], **more: list[Any]) -> pa.Table:
    keys = {"k": pa.array([k for k, _ in rows], pa.string()), "f": pa.array([f for _, f in rows], pa.float64())}
    return pa.table({**keys, **{name: pa.array(values, pa.int64()) for name, values in more.items()}})


def keys_of(some: pa.Table) -> list[tuple[Any, ...]]:
    pairs = zip(some.column("k").to_pylist(), some.column("f").to_pylist(), strict=True)
    return [(k, "NaN" if f is not None and math.isnan(f) else f) for k, f in pairs]


def runs_of(some: pa.Table) -> list[tuple[tuple[Any, ...], list[int]]]:
    """The keys as they follow one another, with the sources of their rows."""
    runs: list[tuple[tuple[Any, ...], list[int]]] = []
    for key, src in zip(keys_of(some), some.column(SRC).to_pylist(), strict=True):
        if not runs or runs[-1][0] != key:
            runs.append((key, []))
        runs[-1][1].append(src)
    return runs


@given(
    kept=st.lists(st.lists(KEYS, unique_by=repr, max_size=8), min_size=1, max_size=3),
    new=st.lists(st.lists(KEYS, min_size=1, max_size=4), max_size=3),
    size=st.integers(1, 5),
    barred=st.booleans(),
)
def test_every_kept_row_is_given_out_once_with_all_of_its_key(
    kept: list[list[Any]], new: list[list[Any]], size: int, barred: bool
) -> None:
    tables = {k + 1: table(rows, p=[100 * k + n for n in range(len(rows))]) for k, rows in enumerate(kept)}
    read = Aside(NAMES, tables)
    given_out: list[int] = []
    asked: set[Any] = set()
    for rows in new:
        mine = sorted([key for key in rows if repr(key) not in asked], key=repr)  # a key's rows come together, once
        asked |= {repr(key) for key in mine}
        if not mine:
            continue
        streamed = table(mine, v=list(range(len(mine)))).append_column(SRC, pa.array([0] * len(mine), pa.int32()))
        whole = read.with_kept(streamed)
        runs = runs_of(whole)
        assert len({key for key, _ in runs}) == len(runs)  # together
        assert {key for key, _ in runs} == set(keys_of(streamed))
        assert all(sources == sorted(sources) for _, sources in runs)
        assert [v for v in whole.sort_by("v").column("v").to_pylist() if v is not None] == list(range(len(mine)))
        for key, sources in runs:
            there = [k for k, one in tables.items() if key in keys_of(one)]
            assert sources == [0] * Counter(keys_of(streamed))[key] + there
        given_out += [p for p in whole.column("p").to_pylist() if p is not None] if "p" in whole.column_names else []
    seen = {key for rows in new for key in keys_of(table(rows))}
    left = {k: [key for key in keys_of(one) if key not in seen] for k, one in tables.items()}
    counts = Counter(key for keys in left.values() for key in keys)
    for k, rows in read.alone({1: np.zeros(tables[1].num_rows, dtype=np.bool_)} if barred else {}):
        assert not (barred and k == 1)
        assert all(counts[key] == 1 and key in left[k] for key in keys_of(rows))
        given_out += rows.column("p").to_pylist()
    with mock.patch.object(aside, "BATCH", size):
        several = list(read.shared())
    found = [key for one in several for key, _ in runs_of(one)]
    assert len(set(found)) == len(found)  # whole keys
    alone = {key for key in left[1] if counts[key] == 1} if barred else set()
    assert set(found) == {key for key in counts if counts[key] > 1} | alone
    given_out += [p for one in several for p in one.column("p").to_pylist()]
    assert sorted(given_out) == sorted(p for one in tables.values() for p in one.column("p").to_pylist())
    assert list(read.shared()) == []


def test_without_keys_all_rows_are_of_one() -> None:
    read = Aside((), {1: pa.table({"p": [7]}), 2: pa.table({"p": [8]})})
    whole = read.with_kept(pa.table({SRC: pa.array([0, 0], pa.int32())}))
    assert whole.column(SRC).to_pylist() == [0, 0, 1, 2]
    assert whole.column("p").to_pylist() == [None, None, 7, 8]


def test_keys_come_as_the_stream_has_them() -> None:
    """Spark may hand a key over in another type of Arrow than the file has, such as a time of another zone."""
    at = pa.array([0, 1], pa.timestamp("us", "UTC"))
    read = Aside(("k",), {1: pa.table({"k": at, "p": [7, 8]})})
    there = at.cast(pa.timestamp("us", "Europe/Berlin")).slice(1)
    whole = read.with_kept(pa.table({"k": there, SRC: pa.array([0], pa.int32())}))
    assert whole.column("p").to_pylist() == [None, 8]


@pytest.mark.parametrize("rows", [0, 1, 7])
def test_rows_that_are_left_come_in_tables_of_about_a_batch(rows: int) -> None:
    keys = table([(f"{n}", 0.0) for n in range(rows)], p=list(range(rows)))
    read = Aside(NAMES, {1: keys, 2: keys})
    with mock.patch.object(aside, "BATCH", 4):
        assert [one.num_rows for one in read.shared()] == {0: [], 1: [2], 7: [4, 4, 4, 2]}[rows]


def test_the_first_row_of_a_task_says_its_cut() -> None:
    def batch(*sources: int) -> pa.RecordBatch:
        return pa.RecordBatch.from_pydict({SRC: pa.array(sources, pa.int32())})

    cut, rows = cut_of([batch(), batch(-3, 0, 1), batch(1)])
    assert (cut, [one.column(SRC).to_pylist() for one in rows]) == (2, [[0, 1], [1]])
    for wrong in (batch(0), batch(-1, -2)):
        with pytest.raises(RuntimeError, match="of several cuts, or none"):
            cut_of([wrong])
