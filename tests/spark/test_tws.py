"""The stateful operator inside Spark's own tester: state, timers, and a processor unpickled for every batch."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import slidewise as sw
from slidewise.engine.keyed import BEGINNING, TIE
from slidewise.spark.bucket import Manner, forget_all
from slidewise.spark.fingerprint import describe, fingerprint_schema
from slidewise.spark.pack import PACKET, from_packet, to_packet
from slidewise.spark.processor import METRICS, SlideProcessor
from slidewise.spark.recipe import Recipe
from tests.spark.replay import (
    AGGREGATES,
    FAR,
    FEW,
    SCHEMA,
    Batch,
    assert_answers,
    batch_answer,
    batches,
    few,
    names_of,
    table_of,
)

pytestmark = pytest.mark.spark
LABELS = (12, 6)


class Harness:
    """`TwsTester` as Spark would run it: watermark, input, timers; late rows are the processor's affair."""

    def __init__(self, window: Any, by: list[str]) -> None:
        from pyspark import cloudpickle
        from pyspark.sql.streaming.tws_tester import TwsTester

        types = dict(zip(SCHEMA.names, SCHEMA.types, strict=True))
        recipe = Recipe(types, AGGREGATES, window, by, "t", "auto")
        self.plan = recipe.plan()
        own = [output.name for output in self.plan.outputs]
        names = [*SCHEMA.names, *own] if self.plan.per_event else [*by, "window_start", "window_end", *own]
        schema = fingerprint_schema(describe(self.plan))
        self.blob = cloudpickle.dumps(SlideProcessor(recipe.packed(), schema, names, Manner("error"), None))
        self.tester = TwsTester(self.unpickled(), timeMode="EventTime", eventTimeExtractor=lambda row: FAR)
        self.tester._eventTimeExtractor = None  # switches its filter of late rows off
        self.metrics = dict.fromkeys(METRICS, 0)

    def unpickled(self) -> Any:
        from pyspark import cloudpickle

        return cloudpickle.loads(self.blob)

    def batch(self, tables: dict[int, pa.Table], watermark: int) -> list[pa.Table]:
        """What one micro-batch gives; `watermark` in milliseconds."""
        tester = self.tester
        tester.processor.close()
        tester.processor = self.unpickled()
        tester.processor.init(tester.handle)
        tester._currentWatermarkMs = watermark
        tester.handle.setWatermark(-1 << 62)  # Spark takes timers that are due already
        frames = []
        for label, table in tables.items():
            packets = [to_packet(part) for part in (table.slice(0, 1), table.slice(1)) if part.num_rows]
            frames.append(tester.testInPandas(label, pd.DataFrame({PACKET: packets})))
        frames.append(tester._handleExpiredTimers())
        for frame in frames:
            for name in METRICS if len(frame) else ():
                self.metrics[name] += int(frame[name].sum())
        return [from_packet(packet) for frame in frames if len(frame) for packet in frame[PACKET] if packet is not None]

    def timers(self, label: int) -> list[int]:
        self.tester.handle.setGroupingKey(label)
        return sorted(self.tester.handle.listTimers())


@pytest.mark.parametrize(
    "window",
    [
        sw.trailing(3),
        sw.trailing("3 s", ties="together"),
        sw.trailing("3 s").every("2 s"),
        sw.trailing(3).every(2),
        sw.trailing(1).every(3),
        sw.session("1 s"),
        {"all": sw.expanding(), "few": FEW, "ahead": sw.around("1 s", "1 s")},
    ],
    ids=str,
)
@few(8)
@given(stream=batches(), data=st.data())
def test_batches_and_timers_answer_everything(window: Any, stream: list[Batch], data: st.DataObject) -> None:
    forget_all()
    harness = Harness(window, ["k"])
    made = []
    for batch in [*stream, Batch([], FAR)]:
        parts: dict[int, list[Any]] = {}
        for row in batch.rows:
            parts.setdefault(LABELS[len(row["k"] or "") % 2], []).append(row)
        watermark = max(0, batch.watermark // 1000) if batch.watermark != BEGINNING else 0
        made += harness.batch({label: table_of(rows) for label, rows in parts.items()}, watermark)
        if data.draw(st.booleans()):
            forget_all()
        assert all(len(harness.timers(label)) <= 1 for label in LABELS)
    everything = [row for batch in stream for row in batch.rows]
    assert_answers(made, batch_answer(everything, window, ["k"]), names_of(harness.plan))
    assert harness.metrics["rows_in"] == len(everything)
    assert harness.metrics["rows_out"] == sum(table.num_rows for table in made)
    assert all(harness.timers(label) == [] for label in LABELS)


def test_row_numbers_go_on_in_another_worker() -> None:
    """Every batch finds a cold cache; pages go, their rows are counted, the alarm is at the earliest row that waits."""
    forget_all()
    harness = Harness(sw.trailing(3).every(2), ["k"])
    made = []
    for second in range(1, 30):
        row = {"k": "a", "f": None, "t": second * 1_000_000, "x": second, "s": None, TIE: second}
        made += harness.batch({12: table_of([row])}, 1000 * (second - 1))
        forget_all()
        assert harness.timers(12) == [1000 * second]
        assert len(harness.tester.peekMapState("pages", 12)) <= 8
    assert [one for table in made for one in table.column("window_end").to_pylist()] == list(range(2, 29, 2))
    assert [one for table in made for one in table.column("sum_x").to_pylist()] == [3, *range(9, 82, 6)]
    assert harness.batch({}, 10**6) == []
    assert harness.timers(12) == []


def test_one_alarm_at_a_time() -> None:
    """Alarms: 2 s (the row waits), 5 s (its window empties), none."""
    forget_all()
    harness = Harness(sw.trailing("3 s"), ["k"])
    row = {"k": "a", "f": None, "t": 2_000_000, "x": 1, "s": None, TIE: 0}
    assert harness.batch({12: table_of([row])}, 0) == []
    assert harness.timers(12) == [2000]
    assert harness.batch({}, 1999) == []
    (made,) = harness.batch({}, 2000)
    assert made.column("count").to_pylist() == [1]
    assert harness.timers(12) == [5000]
    assert harness.batch({}, 9000) == []
    assert harness.timers(12) == []
    assert harness.tester.peekMapState("pages", 12) == {}
