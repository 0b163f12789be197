"""Kafka as source and sink, with a real broker: what is in the sink is what `slide` says of the same rows as a table.

A sink of Kafka has every answer at least once, one of files exactly once. Skipped where Maven has not what they need.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import slidewise as sw
from tests.spark.kafka import Broker, broker_jars, connector_jars
from tests.spark.maven import Unavailable
from tests.spark.replay import SECOND, assert_answers
from tests.spark.through_kafka import AGGREGATES, ROWS_A_BATCH, WINDOWS

pytestmark = [pytest.mark.slow, pytest.mark.spark, pytest.mark.timeout(900)]

ROOT = Path(__file__).resolve().parents[2]
ROWS, PATIENCE = 600, 240
BASE = 1_700_000_000 * SECOND
SENTINEL = {"n": -1, "k": "~", "t": BASE + 10**6 * SECOND, "x": None}


class Kafka(NamedTuple):
    address: str
    connector: list[str]


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kafka]:
    try:
        connector = connector_jars()
        jars = broker_jars(connector)
    except Unavailable as why:
        pytest.skip(f"a broker needs Maven: {why}")
    with Broker(tmp_path_factory.mktemp("kafka"), jars) as broker:
        yield Kafka(broker.address, connector)


def random_rows() -> list[dict[str, Any]]:
    """Eight events a second, no two at once."""
    source = random.Random(11)
    numbers = [None, *range(-9, 10)]
    return [
        {"n": n, "k": source.choice("abcdefg"), "t": BASE + n * SECOND // 8, "x": source.choice(numbers)}
        for n in range(ROWS)
    ]


def write_events(place: Path, *parts: list[dict[str, Any]]) -> None:
    """A file of JSON for each part, with a line that is no JSON."""
    (place / "in").mkdir()
    for number, part in enumerate(parts):
        lines = [json.dumps({**row, "t": datetime.fromtimestamp(row["t"] / SECOND, UTC).isoformat()}) for row in part]
        (place / "in" / f"{number}.json").write_text("\n".join([*lines[:9], "{", *lines[9:]]) + "\n")


def run(kafka: Kafka, place: Path, sink: str) -> pa.Table:
    paths = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    setting = {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1", "PYTHONPATH": paths}
    program = [sys.executable, "-m", "tests.spark.through_kafka"]
    done = subprocess.run(
        [*program, str(place), sink, kafka.address, ",".join(kafka.connector)],
        env={**os.environ, **setting},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return pq.read_table(place / "answers.parquet")


def check(made: pa.Table, rows: list[dict[str, Any]]) -> None:
    kinds = {"n": pa.int64(), "k": pa.string(), "t": pa.timestamp("us", tz="UTC"), "x": pa.int64()}
    table = pa.table({name: pa.array([row[name] for row in rows], kind) for name, kind in kinds.items()})
    expected = sw.slide(table, AGGREGATES, WINDOWS, by="k", order="t")
    assert_answers([made], expected, expected.column_names)


def once(made: pa.Table) -> pa.Table:
    """One answer per event; those that came again must say the same."""
    rows = {tuple(row.values()) for row in made.to_pylist()}
    first = {row[made.column_names.index("n")]: row for row in rows}
    assert len(first) == len(rows), "an event was answered twice, differently"
    return pa.Table.from_pylist([dict(zip(made.column_names, row, strict=True)) for row in first.values()], made.schema)


def arrivals(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Up to three seconds out of order; keys, and so the three partitions, are read each at its own pace besides."""
    source = random.Random(12)
    return sorted(rows, key=lambda row: row["t"] + source.random() * 3 * SECOND)


def test_from_topic_to_topic(kafka: Kafka, tmp_path: Path) -> None:
    rows = random_rows()
    write_events(tmp_path, [*arrivals(rows), SENTINEL])
    check(run(kafka, tmp_path, "kafka"), rows)
    batches = [path for path in (tmp_path / "checkpoint" / "commits").iterdir() if path.name.isdigit()]
    assert len(batches) > ROWS // ROWS_A_BATCH


@pytest.mark.parametrize("sink", ["kafka", "files"])
def test_a_query_dies_and_goes_on_from_its_checkpoint(kafka: Kafka, tmp_path: Path, sink: str) -> None:
    """
    events 0 to 299 ──► batch ──► batch ──► batch ─✗            ✗ the sink has it, the checkpoint does not
    the rest                                batch ──► batch ──► batch ──► ...
    """
    rows = random_rows()
    came = arrivals(rows)
    write_events(tmp_path, came[: ROWS // 2], [*came[ROWS // 2 :], SENTINEL])
    made = run(kafka, tmp_path, sink)
    if sink == "kafka":
        assert made.num_rows > pc.count_distinct(made["n"]).as_py(), "no answer came twice: the batch was not repeated"
        made = once(made)
    check(made, rows)
