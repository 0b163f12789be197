"""The stateful operator: Spark's state handle on one side, a `Bucket` on the other.

Each micro-batch with rows calls it once per bucket; in one without, a bucket is woken by an event-time timer when the
watermark makes something final. Both do the same: rows in (if any), then answers up to the watermark.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import StructType

from slidewise.engine.keyed import BEGINNING
from slidewise.errors import SnapshotError
from slidewise.spark.bucket import Bucket, Emitted, Manner, answered_rows
from slidewise.spark.fingerprint import STATE
from slidewise.spark.pack import HISTORY, PACKET, from_packet, to_packet
from slidewise.spark.recipe import plan_from

METRICS = ("rows_in", "rows_out", "late_rows", "late_rows_ever", "rows_waiting", "keys", "state_bytes")
OUTPUT = f"{PACKET} binary, " + ", ".join(f"{name} long" for name in METRICS)


class SlideProcessor(StatefulProcessor):
    """Windows of one bucket of keys, as Spark's `transformWithState` wants them."""

    def __init__(
        self, packed: bytes, fingerprint: StructType, names: list[str], manner: Manner, late_column: str | None
    ) -> None:
        self.packed = packed
        self.made_of = hashlib.sha256(packed).hexdigest()
        self.fingerprint = fingerprint
        self.names = names
        self.manner = manner
        self.late_column = late_column

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Once per task."""
        self.handle = handle
        self.store = _HandleStore(handle)
        handle.getValueState(STATE, self.fingerprint)

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[pd.DataFrame]:
        """This batch's packets of a bucket."""
        tables = [from_packet(packet) for frame in rows for packet in frame[PACKET] if packet is not None]
        yield self._process(key, pa.concat_tables(tables) if tables else None, timerValues, fired=None)

    def handleInitialState(self, key: Any, initialState: Any, timerValues: Any) -> None:
        """In the first batch: packets of history, each row with the time at which history ends."""
        tables = [from_packet(packet) for packet in initialState[PACKET] if packet is not None]
        if not tables:
            return
        history = pa.concat_tables(tables)
        ends = history.column(HISTORY)[0].as_py()
        bucket = self._bucket(key)
        bucket.seed(history.drop_columns([HISTORY]), ends)
        self._set_alarm(bucket, None, int(timerValues.getCurrentWatermarkInMs()))

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[pd.DataFrame]:
        """A bucket without rows whose alarm the watermark has passed."""
        yield self._process(key, None, timerValues, fired=int(expiredTimerInfo.getExpiryTimeInMs()))

    def _process(self, key: Any, table: pa.Table | None, timers: Any, fired: int | None) -> pd.DataFrame:
        watermark = int(timers.getCurrentWatermarkInMs())
        bucket = self._bucket(key)
        # Spark's watermark starts at 0, which means that there is none yet.
        emitted = bucket.process(table, watermark * 1000 if watermark > 0 else BEGINNING)
        self._set_alarm(bucket, fired, watermark)
        return self._frame(answered_rows(emitted, bucket.plan, self.names, self.late_column), emitted)

    def _bucket(self, key: Any) -> Bucket:
        label = str(key[0] if isinstance(key, tuple) else key)  # Spark gives a tuple with rows, a Row with timers
        return Bucket(plan_from(self.packed), self.store, (_query(), self.made_of, label), self.manner)

    def _set_alarm(self, bucket: Bucket, fired: int | None, watermark: int) -> None:
        wakes = bucket.windows.wakes_at()
        alarm = None if wakes is None else max(-(-wakes // 1000), watermark + 1)
        if alarm == bucket.record.alarm and alarm != fired:
            return
        if bucket.record.alarm is not None and bucket.record.alarm != fired:
            self.handle.deleteTimer(bucket.record.alarm)
        if alarm is not None:
            self.handle.registerTimer(alarm)
        bucket.record.alarm = alarm
        self.store.write_record(bucket.record.encode())

    def _frame(self, rows: pa.Table | None, emitted: Emitted) -> pd.DataFrame:
        out = 0 if rows is None else rows.num_rows
        late, waiting = (emitted.late_rows, emitted.late_ever), emitted.waiting
        values = (emitted.rows, out, *late, waiting, emitted.keys, emitted.bytes)
        packet = None if rows is None else to_packet(rows)
        return pd.DataFrame({PACKET: [packet], **{name: [value] for name, value in zip(METRICS, values, strict=True)}})

    def close(self) -> None:
        """Once per task."""


class _HandleStore:
    """A bucket's record and pages in Spark's state, under the current grouping key."""

    def __init__(self, handle: StatefulProcessorHandle) -> None:
        self._record = handle.getValueState("record", "stored binary")
        self._pages = handle.getMapState("pages", "page long", "stored binary")

    def read_record(self) -> bytes | None:
        found = self._record.get()
        return None if found is None else bytes(found[0])

    def write_record(self, record: bytes) -> None:
        self._record.update((record,))

    def read_page(self, page: int) -> bytes:
        found = self._pages.getValue((page,))
        if found is None:
            raise SnapshotError(f"page {page} of the bucket's state is missing")
        return bytes(found[0])

    def write_page(self, page: int, stored: bytes) -> None:
        self._pages.updateValue((page,), (stored,))

    def remove_page(self, page: int) -> None:
        self._pages.removeKey((page,))


def _query() -> str:
    context = TaskContext.get()
    found = context.getLocalProperty("sql.streaming.queryId") if context is not None else None
    return str(found)
