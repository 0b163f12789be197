"""State that an older version wrote is read as it was meant: the stream goes on, and the answers are the batch's.

`state_format_1.json` holds 60 rows and, for four windows, the record and pages after the first 40 of them in batches of
five, a second of lateness behind, as the last version that wrote format 1 left them.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import slidewise as sw
from slidewise.engine.keyed import TIE
from slidewise.spark.pages import Record
from tests.spark.replay import FAR, SECOND, MemoryStore, assert_answers, batch_answer, names_of, plan_of, table_of
from tests.spark.workers import Workers

OLD = json.loads(Path(__file__).with_name("state_format_1.json").read_text())
WINDOWS = [sw.trailing(3), sw.trailing("4 s"), sw.trailing("4 s").every("2 s"), sw.trailing(5).every(2)]
TAKEN = 40

pytestmark = pytest.mark.usefixtures("small")


@pytest.mark.parametrize("window", WINDOWS, ids=str)
def test_state_of_format_1_goes_on(window: Any) -> None:
    plan, rows, state = plan_of(window, ["k"]), OLD["rows"], OLD["states"][str(window)]
    workers = Workers(plan, "error")
    pages = {int(number): base64.b64decode(page) for number, page in state["pages"].items()}
    workers.store = MemoryStore(json.dumps(state["record"]).encode(), pages)
    assert state["record"]["format"] == 1
    answered_to = workers.record.watermark
    made = []
    for first in range(TAKEN, len(rows), 5):
        part = rows[first : first + 5]
        made.append(workers.run(table_of(part), rows[first - 1]["t"] - SECOND, worker=first // 5 % 2).final)
    made.append(workers.run(None, FAR).final)
    assert Record.decode(workers.store.record or b"").commits > 0
    expected = batch_answer(rows, window, ["k"])
    assert_answers(made, expected.filter(pa.array(after(expected, answered_to, rows), pa.bool_())), names_of(plan))


def after(expected: pa.Table, watermark: int, rows: list[dict[str, Any]]) -> list[bool]:
    """Which answers the old version had not given."""
    if "t" in expected.column_names:
        return [t > watermark for t in expected.column("t").cast(pa.int64()).to_pylist()]
    if pa.types.is_timestamp(expected.column("window_end").type):
        return [end > watermark for end in expected.column("window_end").cast(pa.int64()).to_pylist()]
    keyed: dict[Any, list[int]] = {}
    for row in sorted(rows, key=lambda row: (row["t"], row[TIE])):
        keyed.setdefault(row["k"], []).append(row["t"])
    return [keyed[row["k"]][row["window_end"] - 1] > watermark for row in expected.to_pylist()]
