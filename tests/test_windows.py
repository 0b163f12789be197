"""Every kind of window, along every kind of order, on every container in process, against the naive oracle."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

import slidewise as sw
from tests import golden, oracle, window_strategies
from tests.containers import TABLES, Container
from tests.golden import Columns
from tests.same import assert_same
from tests.window_strategies import AGGREGATES, ALONG, Along, Query


def values(columns: Columns) -> dict[str, list[Any]]:
    return {name: column.values for name, column in columns.items()}


def types(columns: Columns) -> dict[str, str]:
    return {name: column.type for name, column in columns.items()}


def expected(query: Query, columns: Columns) -> oracle.Answer:
    return oracle.slide(columns, AGGREGATES, query.windows, query.by, ["t"])


def run(query: Query, container: Container, **options: Any) -> Columns:
    data, aggregates, windows = (
        container.build(query.columns),
        golden.aggregates(AGGREGATES),
        golden.windows(query.windows),
    )
    return container.extract(sw.slide(data, aggregates, windows, by=query.by or None, order="t", **options))


def check_events(query: Query, container: Container, **options: Any) -> None:
    answer = expected(query, container.seen(query.columns))
    result = run(query, container, **options)
    for name in query.columns:
        result.pop(name)
    assert types(result) == types(answer.columns)
    assert_same(values(result), values(container.seen(answer.columns)), scale=answer.scales)


@pytest.mark.parametrize("along", ALONG)
@settings(max_examples=60)
@given(data=window_strategies.st.data())
def test_per_event(along: Along, data: Any) -> None:
    check_events(data.draw(window_strategies.queries(along, per_event=True)), TABLES["arrow"])


@pytest.mark.parametrize("container", ["pandas", "pandas_arrow", "polars", "polars_lazy"])
@pytest.mark.parametrize("along", ALONG)
@settings(max_examples=15)
@given(data=window_strategies.st.data())
def test_per_event_on_other_containers(along: Along, container: str, data: Any) -> None:
    check_events(data.draw(window_strategies.queries(along, per_event=True)), TABLES[container])


def check_windows(query: Query, container: Container) -> None:
    answer = expected(query, container.seen(query.columns))
    result = run(query, container)
    assert types(result) == types(answer.columns)
    key = [*query.by, "window_end"]
    rows = _places(result, key)
    wanted = _places(answer.columns, key)
    assert_same(
        {name: [column.values[row] for row in rows] for name, column in result.items()},
        {name: [column.values[row] for row in wanted] for name, column in container.seen(answer.columns).items()},
        scale={name: [scales[row] for row in wanted] for name, scales in answer.scales.items()},
    )


def _places(columns: Columns, key: list[str]) -> list[int]:
    size = len(columns["window_end"])
    return sorted(range(size), key=lambda row: oracle.key_rank(tuple(columns[name].values[row] for name in key)))


@pytest.mark.parametrize("along", ALONG)
@settings(max_examples=50)
@given(data=window_strategies.st.data())
def test_per_window(along: Along, data: Any) -> None:
    check_windows(data.draw(window_strategies.queries(along, per_event=False)), TABLES["arrow"])


@pytest.mark.parametrize("container", ["pandas", "pandas_arrow", "polars", "polars_lazy"])
@pytest.mark.parametrize("along", ALONG)
@settings(max_examples=15)
@given(data=window_strategies.st.data())
def test_per_window_on_other_containers(along: Along, container: str, data: Any) -> None:
    check_windows(data.draw(window_strategies.queries(along, per_event=False)), TABLES[container])
