"""The golden cases on every container, and the oracle against them.

In process each case is one call. On Spark a query costs seconds, so cases share one: every case gets a key of its own,
and the query computes all their aggregates over all their windows, from which each case picks its columns.

    case A ─┐ key "A"                                     ┌─► rows of key "A", its columns ─► expected
    case B ─┤ key "B" ─► one table ─► one sw.slide call ──┤
    case C ─┘ key "C"                                     └─► ...
"""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import slidewise as sw
from slidewise.monoids import BUILTINS
from tests import golden, oracle
from tests.catalogue import ON_SPARK, rare
from tests.containers import LATENESS, SEQUENCES, TABLES, Container, Sequence, nan_is_null, spark_batch, spark_stream
from tests.golden import CASES, Aggregate, Case, Column, Columns, Window, is_per_event, spark_reason
from tests.oracle import Answer, key_rank
from tests.same import assert_same

VALUES = {"int64", "int32", "float64", "float32"}


def values(columns: Columns) -> dict[str, list[Any]]:
    return {name: column.values for name, column in columns.items()}


def types(columns: Columns) -> dict[str, str]:
    return {name: column.type for name, column in columns.items()}


def answer(case: Case, columns: Columns | None = None) -> Answer:
    return oracle.slide(columns or case.columns, case.aggregates, case.windows, case.by, case.order)


def ids(case: Case) -> str:
    return case.name


def has_nan(columns: Columns) -> bool:
    return any(isinstance(v, float) and math.isnan(v) for column in columns.values() for v in column.values)


# --- the file itself -------------------------------------------------------------------------------------------------


def test_names_are_unique() -> None:
    assert len({case.name for case in CASES}) == len(CASES)


@pytest.mark.parametrize("case", CASES, ids=ids)
def test_oracle_agrees(case: Case) -> None:
    if case.raises:
        with pytest.raises(OverflowError):
            answer(case)
        return
    result = answer(case)
    assert types(result.columns) == types(case.expected)
    assert_same(values(result.columns), values(case.expected), scale=result.scales)


# --- tables in process -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("container", TABLES.values(), ids=lambda container: container.name)
@pytest.mark.parametrize("case", CASES, ids=ids)
def test_table(case: Case, container: Container) -> None:
    data = container.build(case.columns)

    def run() -> Columns:
        result = sw.slide(
            data,
            golden.aggregates(case.aggregates),
            golden.windows(case.windows),
            by=_plain(case.by),
            order=_plain(case.order),
        )
        assert isinstance(result, container.kind)
        if isinstance(result, pd.DataFrame) and case.per_event:
            pd.testing.assert_index_equal(result.index, data.index)
        return container.extract(result)

    if case.raises:
        with pytest.raises(OverflowError):
            run()
        return
    result = run()
    expected, scales = case.expected, answer(case).scales
    if container.nan_is_null and has_nan(case.columns):
        recomputed = answer(case, container.seen(case.columns))
        expected, scales = recomputed.columns, recomputed.scales
    if case.per_event:
        given = list(case.columns)
        assert list(result)[: len(given)] == given, "input columns first"
        assert_same(
            {name: result.pop(name).values for name in given},
            values(container.seen(case.columns)),
        )
    else:
        assert list(result) == list(expected), "keys, window_start, window_end, results"
    assert _types_in(container, result, expected) == types(expected)
    if not case.per_event and any(None in expected[name].values for name in case.by):
        result = _by_key_and_end(result, case.by)  # where a null key sorts is the container's choice
    assert_same(values(result), values(container.seen(expected)), scale=scales)
    _check_nullable_integers(container, result)


def _types_in(container: Container, result: Columns, expected: Columns) -> dict[str, str]:
    """The types that came; NumPy has none for decimals and nested values, so pandas says nothing of theirs."""
    untold = ("decimal", "list", "struct", "bool", "string", "binary") if container.name == "pandas" else ()
    return {
        name: expected[name].type if name in expected and expected[name].type.startswith(untold) else column.type
        for name, column in result.items()
    }


def _plain(names: list[str]) -> str | list[str] | None:
    """As a user writes it: a name where there is one."""
    return names[0] if len(names) == 1 else names or None


def _check_nullable_integers(container: Container, result: Columns) -> None:
    """`types` already says int64: a pandas column that became float to hold its nulls fails there."""
    if container.name == "pandas":
        assert all(
            isinstance(v, int | None) for column in result.values() if column.type == "int64" for v in column.values
        )


def _by_key_and_end(columns: Columns, by: list[str]) -> Columns:
    rows = sorted(
        range(len(columns["window_end"])),
        key=lambda row: (
            key_rank(tuple(columns[name].values[row] for name in by)),
            columns["window_end"].values[row],
        ),
    )
    return {name: Column(column.type, [column.values[row] for row in rows]) for name, column in columns.items()}


# --- plain sequences -------------------------------------------------------------------------------------------------


def _unbound_specs(case: Case) -> dict[str, Aggregate]:
    """The aggregates that have an unbound form, by name: count("v") has none, and a test of count() has no values.

    Two aliases of one aggregate have none that differs: each function once.
    """
    found = [s for s in case.aggregates if s.columns or not s.where]
    return {s.alias or s.function: s for s in found if s.function != "count" or not s.columns}


def _sequence_column(case: Case) -> str | None:
    """The one column of a case that a plain sequence can hold, if the case is such a one."""
    if not _unbound_specs(case):
        return None
    used = {name for spec in case.aggregates for name in spec.used}
    fits = case.per_event and not case.by and len(case.order) <= 1 and len(used) == 1
    fits = fits and not any("between" in window for window in case.windows.values())  # which names columns
    column = used.pop() if fits else None
    return column if column and case.columns[column].type in VALUES | {"string", "bool"} else None


SEQUENCE_CASES = [
    pytest.param(case, sequence, id=f"{case.name}-{sequence.name}")
    for case in CASES
    for sequence in SEQUENCES.values()
    if (column := _sequence_column(case))
    and (sequence.name == "list" or case.columns[column].type != "string")
    and (sequence.name != "list" or not case.columns[column].type.endswith("32"))
    and (sequence.holds_null or None not in case.columns[column].values)
]


@pytest.mark.parametrize(("case", "sequence"), SEQUENCE_CASES)
def test_sequence(case: Case, sequence: Sequence) -> None:
    column = _sequence_column(case)
    assert column is not None
    specs = _unbound_specs(case)
    data = sequence.build(case.columns[column])
    order = sequence.build(case.columns[case.order[0]]) if case.order else None

    def run() -> Any:
        return sw.slide(
            data,
            golden.aggregates(list(specs.values()), bound=False),
            golden.windows(case.windows),
            order=order,
        )

    if case.raises:
        with pytest.raises(OverflowError):
            run()
        return
    result = run()
    expected = answer(case, {**case.columns, column: sequence.seen(case.columns[column])})
    names = [(spec, suffix) for suffix in case.windows for spec in specs.values()]
    if len(names) == 1:
        result = {_unbound(*names[0]): result}
    assert set(result) == {_unbound(*name) for name in names}
    for spec, suffix in names:
        got, want = result[_unbound(spec, suffix)], expected.columns[spec.name(suffix)]
        assert isinstance(got, sequence.kind)
        if sequence.name == "pandas_series":
            pd.testing.assert_index_equal(got.index, data.index)
        if sequence.name == "numpy":
            want = _numpy_column(want)
            assert got.dtype == want.type
        if sequence.nan_is_null:
            want = nan_is_null({"": want})[""]
        kind = expected.columns[spec.name(suffix)].type
        if kind.startswith("struct") and sequence.name in ("list", "numpy"):
            want = Column(kind, [_as_tuple(value, kind) for value in want.values])
        assert_same(sequence.extract(got), want.values, scale=expected.scales[spec.name(suffix)])


def _as_tuple(value: dict[str, Any] | None, kind: str) -> Any:
    """A struct as a list has it: a tuple of Python values."""
    if value is None:
        return None
    made = {"timestamp": _moment, "duration": lambda part: dt.timedelta(microseconds=part)}
    return tuple(made.get(part, lambda same: same)(value[name]) for name, part in golden.fields(kind))


def _moment(microseconds: int) -> dt.datetime:
    return dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(microseconds=microseconds)


def _unbound(spec: Aggregate, suffix: str) -> str:
    return Aggregate(spec.function, (), spec.alias).name(suffix)


def _numpy_column(column: Column) -> Column:
    """A possibly-null integer result is float64 with NaN; lists are Python's."""
    if column.type.startswith(("list", "struct")):
        return Column("object", column.values)
    if None not in column.values:
        return column
    kind = column.type if column.type.startswith("float") else "float64"
    return Column(kind, [math.nan if value is None else float(value) for value in column.values])


def test_sequence_cases_cover_every_kind() -> None:
    assert {param.values[1].name for param in SEQUENCE_CASES} == set(SEQUENCES)


def test_numpy_integers_stay_integers() -> None:
    result = sw.slide(np.array([3, 1, 2]), sw.max(), sw.trailing(2))
    assert isinstance(result, np.ndarray)
    assert result.dtype == np.int64
    assert result.tolist() == [3, 3, 2]


# --- Spark, many cases in one query ----------------------------------------------------------------------------------

#: The columns of the cases that are about aggregates, not windows: `at` is their order, so that they share a query.
_AGGREGATED = {"av", "aw", "an", "as", "ab", "am", "ah", "ag", "ar", "at"}
_BUCKETS = ({"v", "f", "u", "p", "q", "x", "y"}, {"n", "s", "w"}, {"big"}, _AGGREGATED, {"abig"})
_KEYS = ("by0", "by1")


@dataclass(frozen=True)
class Shared:
    """Cases that share one query: same order, values of the same bucket, all per event or all of one window."""

    cases: list[Case]

    @property
    def order(self) -> list[str]:
        return self.cases[0].order

    @property
    def aggregates(self) -> list[Aggregate]:
        """Each once, with a name that tells its options apart."""
        found = {_unnamed(spec): None for case in self.cases for spec in case.aggregates}
        return [replace(spec, alias=f"a{i}") for i, spec in enumerate(found)]

    def column(self, spec: Aggregate, window: str) -> str:
        """The result column that a case's aggregate shares."""
        return next(one for one in self.aggregates if _unnamed(one) == _unnamed(spec)).name(window)

    @property
    def windows(self) -> dict[str, Window]:
        """All windows of the cases; a single one has no name."""
        found = {json.dumps(window): window for case in self.cases for window in case.windows.values()}
        return {f"w{i}" if len(found) > 1 else "": window for i, window in enumerate(found.values())}

    def window_name(self, window: Window) -> str:
        return next(name for name, other in self.windows.items() if other == window)

    def table(self) -> Columns:
        """All cases one below the other; `case_` and the keys group them, `row_` is the row's place in its case."""
        types_: dict[str, str] = {"case_": "string", "row_": "int64", "by0": "string", "by1": "int64"}
        for case in self.cases:
            used = [*case.order, *(name for spec in case.aggregates for name in spec.used)]
            used += [name for window in case.windows.values() for name in window.get("between", [])]
            types_ |= {name: case.columns[name].type for name in used}
        rows: dict[str, list[Any]] = {name: [] for name in types_}
        for case in self.cases:
            for row in range(case.rows):
                here = {name: column.values[row] for name, column in case.columns.items()}
                here |= {key: here[name] for key, name in zip(_KEYS, case.by, strict=False)}
                here |= {"case_": case.name, "row_": row}
                for name in types_:
                    rows[name].append(here.get(name))
        return {name: Column(kind, rows[name]) for name, kind in types_.items()}

    def call(self, **options: Any) -> Callable[[Any], Any]:
        return lambda data: sw.slide(
            data,
            golden.aggregates(self.aggregates),
            golden.windows(self.windows),
            by=["case_", *_KEYS],
            order=_plain(self.order),
            **options,
        )

    def pick(self, case: Case, result: Columns) -> Columns:
        """The rows and result columns of one case, named and sorted as in the case."""
        rows = [row for row, name in enumerate(result["case_"].values) if name == case.name]
        mine = {name: Column(column.type, [column.values[row] for row in rows]) for name, column in result.items()}
        if case.per_event:
            places = sorted(range(len(rows)), key=mine["row_"].values.__getitem__)
            mine = {n: Column(c.type, [c.values[place] for place in places]) for n, c in mine.items()}
            assert mine["row_"].values == list(range(case.rows)), "every row comes out, once"
            names = {}
        else:
            mine = _by_key_and_end(mine, list(_KEYS))
            names = {name: key for key, name in zip(_KEYS, case.by, strict=False)}
            names |= {"window_start": "window_start", "window_end": "window_end"}
        for suffix, window in case.windows.items():
            for spec in case.aggregates:
                names[spec.name(suffix)] = self.column(spec, self.window_name(window))
        return {name: mine[shared] for name, shared in names.items()}


def streams(case: Case) -> bool:
    """Whether a stream has these windows; where it does not, it says so by name (tests/test_errors.py).

    Rows that look ahead by rows are answered when those come, so the last ones of a case are not.
    """
    return not any("between" in window or by_rows(window) for window in case.windows.values()) and not (
        expands(case)
        and any(getattr(BUILTINS.get(spec.function), "nature", "") == "holistic" for spec in case.aggregates)
    )


def by_rows(window: Window) -> bool:
    return "around" in window and isinstance(window["around"][0], int)


def expands(case: Case) -> bool:
    return any("expanding" in window for window in case.windows.values())


def is_rare(case: Case) -> bool:
    """Cases about aggregates that only the slow run takes to Spark: there they compile once more."""
    used = {name for spec in case.aggregates for name in spec.used}
    return used <= _AGGREGATED and not all(spec.function in ON_SPARK for spec in case.aggregates)


def _unnamed(spec: Aggregate) -> Aggregate:
    return replace(spec, alias=None)


def _share() -> dict[str, Shared]:
    """case name -> the cases it shares a query with."""
    groups: dict[str, list[Case]] = {}
    for case in CASES:
        if spark_reason(case) is None:
            used = {name for spec in case.aggregates for name in spec.used}
            bucket = next(i for i, names in enumerate(_BUCKETS) if used <= names)
            shape = json.dumps(case.windows.get(""))
            if case.per_event:
                shape = f"event, {expands(case)}" if streams(case) else "event, batch only"
            groups.setdefault(f"{bucket} {is_rare(case)} {case.order} {shape}", []).append(case)
    return {case.name: Shared(cases) for cases in groups.values() for case in cases}


SHARED = _share()
SPARK_CASES = [case for case in CASES if case.name in SHARED]
ALONE_OR_RARE = {case.name for case in SPARK_CASES if is_rare(case) or len(SHARED[case.name].cases) == 1}
STREAM_CASES = [case for case in SPARK_CASES if case.order == ["t"] and streams(case)]


@pytest.fixture(scope="session")
def shared_results() -> dict[Any, Columns | BaseException]:
    """Results of the shared queries, by container and query; an exception fails every case of its query, once run."""
    return {}


def _check_shared(
    case: Case, results: dict[Any, Columns | BaseException], kind: str, run: Callable[[Shared], Columns]
) -> None:
    shared = SHARED[case.name]
    key = (kind, shared.cases[0].name)
    if key not in results:
        try:
            results[key] = run(shared)
        except Exception as error:
            results[key] = error
            raise
    result = results[key]
    if isinstance(result, BaseException):
        pytest.fail(f"the query shared with {shared.cases[0].name!r} failed: {str(result)[:300]}")
    mine = shared.pick(case, result)
    assert types(mine) == types(case.expected)
    assert_same(values(mine), values(case.expected), scale=answer(case).scales)


@pytest.mark.spark
@pytest.mark.parametrize("case", [rare(one) if one.name in ALONE_OR_RARE else one for one in SPARK_CASES], ids=ids)
def test_spark_batch(case: Case, shared_results: dict[Any, Any], request: pytest.FixtureRequest) -> None:
    spark = request.getfixturevalue("spark")
    _check_shared(case, shared_results, "batch", lambda shared: spark_batch(spark, shared.table(), shared.call()))


@pytest.mark.spark
@pytest.mark.parametrize("case", [rare(one) if one.name in ALONE_OR_RARE else one for one in STREAM_CASES], ids=ids)
def test_spark_stream(case: Case, shared_results: dict[Any, Any], request: pytest.FixtureRequest) -> None:
    spark = request.getfixturevalue("spark")

    def run(shared: Shared) -> Columns:
        return spark_stream(spark, shared.table(), shared.call(lateness=LATENESS), key="case_", time="t")

    _check_shared(case, shared_results, "stream", run)


# --- Spark batch, a case by itself: without keys, without rows, and where it raises ----------------------------------


ALONE = [
    "unsorted_time",
    "several_windows",
    "every",
    "zero_rows",
    "tumbling_zero_rows",
    "int64_sum_past_the_limit_and_back",
]


@pytest.mark.spark
@pytest.mark.parametrize("case", [case for case in CASES if case.name in ALONE], ids=ids)
def test_spark_batch_alone(case: Case, request: pytest.FixtureRequest) -> None:
    spark = request.getfixturevalue("spark")
    row = {"row_": Column("int64", list(range(case.rows)))} if case.per_event else {}
    result = spark_batch(spark, {**case.columns, **row}, lambda frame: _slide(frame, case))
    if case.per_event:
        places = sorted(range(case.rows), key=result["row_"].values.__getitem__)
        result = {n: Column(c.type, [c.values[p] for p in places]) for n, c in result.items()}
        names = [*case.columns, "row_"]
        assert list(result)[: len(names)] == names, "input columns first"
        assert_same({name: result.pop(name).values for name in names}, values({**case.columns, **row}))
    else:
        assert list(result) == list(case.expected)
        result = _by_key_and_end(result, case.by)
    assert types(result) == types(case.expected)
    assert_same(values(result), values(case.expected), scale=answer(case).scales)


@pytest.mark.spark
@pytest.mark.parametrize("case", [case for case in CASES if case.raises], ids=ids)
def test_spark_batch_raises(case: Case, request: pytest.FixtureRequest) -> None:
    from pyspark.errors import PySparkException  # wraps what a worker raised

    spark = request.getfixturevalue("spark")
    with pytest.raises((OverflowError, PySparkException)) as caught:
        spark_batch(spark, case.columns, lambda frame: _slide(frame, case))
    assert str(case.raises) in f"{type(caught.value).__name__}: {caught.value}"


def _slide(frame: Any, case: Case) -> Any:
    return sw.slide(
        frame,
        golden.aggregates(case.aggregates),
        golden.windows(case.windows),
        by=_plain(case.by),
        order=_plain(case.order),
    )


def test_spark_runs_most_cases() -> None:
    assert len(SPARK_CASES) >= 60
    assert any(is_per_event(case.windows[""]) for case in STREAM_CASES if "" in case.windows)
    assert any(isinstance(window.get("every"), int) for case in STREAM_CASES for window in case.windows.values())
