"""A stream's figures: read from its progress reports, shown as a table or as lines."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from slidewise.errors import ArgumentError
from slidewise.spark import figures, monitor

SEEN = {
    "rows_in": 1500,
    "rows_out": 1200,
    "late_rows": 3,
    "late_rows_ever": 9,
    "rows_waiting": 300,
    "keys": 12,
    "state_bytes": 2_500_000,
}


def report(batch: int = 7, observed: Any = SEEN, watermark: str = "2024-05-01T10:00:00.000Z") -> dict[str, Any]:
    return {
        "batchId": batch,
        "timestamp": "2024-05-01T10:00:20.500Z",
        "numInputRows": 1500,
        "durationMs": {"triggerExecution": 500},
        "eventTime": {"watermark": watermark, "max": "2024-05-01T10:00:10.250Z"},
        "observedMetrics": {} if observed is None else {"slidewise": observed},
    }


class Query:
    """What a streaming query shows of itself; it ends after as many looks as it has reports."""

    def __init__(self, *reports: dict[str, Any]) -> None:
        self.name = "readings"
        self.reports = reports
        self.looks = 0

    @property
    def recentProgress(self) -> list[dict[str, Any]]:
        self.looks += 1
        return list(self.reports[: self.looks])

    @property
    def isActive(self) -> bool:
        return self.looks <= len(self.reports)


def test_figures_of_the_last_batch() -> None:
    found = figures(Query(report()))
    assert found is not None
    assert found.to_dict() == {
        "batch": 7,
        **SEEN,
        "rows_per_second": 3000.0,
        "watermark": "2024-05-01T10:00:00.000Z",
        "behind_newest": 10.25,
        "behind_clock": 20.5,
    }


def test_a_batch_without_figures_is_passed_over() -> None:
    empty = dict.fromkeys(SEEN)
    query = Query(report(1), report(2, empty), report(3, None))
    query.looks = 2
    found = figures(query)
    assert found is not None
    assert found.batch == 1
    assert figures(Query()) is None
    first = figures(Query(report(watermark="1970-01-01T00:00:00.000Z")))
    assert first is not None
    assert (first.watermark, first.behind_newest, first.behind_clock) == (None, None, None)


def test_a_table_where_there_is_a_terminal() -> None:
    out = io.StringIO()
    screen = Console(file=out, force_terminal=True, width=140, color_system=None)
    monitor(Query(report(7), report(8)), every=0.01, console=screen)
    shown = out.getvalue()
    assert "slidewise · readings" in shown
    for cell in ("1,500", "3,000", "1,200", "2.5 MB", "10.2 s", "final up to 2024-05-01T10:00:00.000Z"):
        assert cell in shown, cell


def test_a_line_per_batch_where_there_is_none() -> None:
    out = io.StringIO()
    monitor(Query(report(7), report(8)), every=0.01, console=Console(file=out, width=40))
    lines = out.getvalue().splitlines()
    assert [line.split("  ")[0] for line in lines] == ["batch=7", "batch=8"]
    assert "late_rows_ever=9" in lines[0]


def test_other_queries_are_refused() -> None:
    with pytest.raises(ArgumentError, match=r"query='readings': .*|query=readings: has no slidewise.slide in it"):
        figures(Query(report(1, None)))
    with pytest.raises(
        ArgumentError, match=r"query=3: expected a streaming query, as writeStream.start\(\) returns it"
    ):
        monitor(3)
    with pytest.raises(ArgumentError, match=r"every=0: expected a number above 0"):
        monitor(Query(), every=0)
