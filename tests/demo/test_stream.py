"""The Spark side, without Spark where it can be, and once for real."""

from __future__ import annotations

import itertools
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from slidewise import datasets, demo

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

stream = pytest.importorskip("slidewise.demo.stream", reason="needs PySpark")


def test_importing_the_demo_does_not_import_spark() -> None:
    code = "import sys, slidewise.demo; sys.exit('pyspark' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_files_hold_the_stream_in_arrival_order_oldest_file_first(tmp_path: Path) -> None:
    events = datasets.factory(seconds=10)
    stream.write_files(events, tmp_path, 4)
    paths = sorted(tmp_path.iterdir(), key=lambda path: path.stat().st_mtime)
    assert [path.name for path in paths] == [f"{number:05}.parquet" for number in range(4)]
    assert all(a.stat().st_mtime < b.stat().st_mtime for a, b in itertools.pairwise(paths))
    assert pa.concat_tables(pq.read_table(path) for path in paths).equals(events)


def test_the_last_watermark_is_in_whole_milliseconds() -> None:
    events = datasets.factory(seconds=10)
    newest = max(events["ts"].to_pylist())
    behind = (newest - stream.watermark(events)).total_seconds()
    assert 2.0 <= behind < 2.001
    assert stream.watermark(events).microsecond % 1000 == 0


def test_the_query_gives_what_the_definitions_give(results: pa.Table) -> None:
    events = results.select(datasets.SCHEMA.names)
    assert stream.differences(stream.query(events), results) == []


def test_no_differences_in_any_row_order(results: pa.Table) -> None:
    turned = results.take(pa.array(range(results.num_rows - 1, -1, -1)))
    assert stream.differences(turned, results) == []


@pytest.mark.parametrize(
    ("column", "change", "found"),
    [
        ("mean_power_a_5s", 1e-13, False),  # a sum of floats may differ in its last digits
        ("mean_power_a_5s", 1e-3, True),
        ("max_power_a_5s", 1e-13, True),  # a maximum is one of its inputs
        ("count_1s", 1, True),
    ],
)
def test_differences_are_found(results: pa.Table, column: str, change: float, found: bool) -> None:
    values = results[column].to_pylist()
    values[17] += change
    at = results.column_names.index(column)
    changed = results.set_column(at, column, pa.array(values, results[column].type))
    assert stream.differences(changed, results) == ([column] if found else [])


def test_a_null_is_not_a_number(results: pa.Table) -> None:
    at = results.column_names.index("mean_power_a_5s")
    values = [None, *results["mean_power_a_5s"].to_pylist()[1:]]
    changed = results.set_column(at, "mean_power_a_5s", pa.array(values, pa.float64()))
    assert stream.differences(changed, results) == ["mean_power_a_5s"]


def test_missing_rows_and_columns_are_told(results: pa.Table) -> None:
    assert "rows from the stream" in stream.differences(results.slice(1), results)[0]
    assert stream.differences(results.drop_columns(["count_1s"]), results) == ["count_1s"]


@pytest.mark.spark
def test_the_demo_for_real(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo, "_BATCHES", 4)
    done = demo.run(seconds=12, machines=2, seed=3, out=tmp_path / "out", live=False)
    assert done.same, done.differences
    assert done.picture == tmp_path / "out" / "demo.html"
    assert "<svg" in done.picture.read_text(encoding="utf-8")
    assert 0 < done.results < done.events
    said = capsys.readouterr().out
    assert "gave what the batch call gives" in said
    assert "demo.html" in said
