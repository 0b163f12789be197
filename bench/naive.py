"""What one writes without a library: a plain per-key `transformWithState` that keeps a key's rows in a list.

Every batch reads the whole list of a key, folds it anew for each event, and writes it back. It takes rows as they come,
without waiting for late ones, so it does less than `slide` does.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pandas as pd
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

OUT = "key long, ts timestamp, value double, max_value double"


class Naive(StatefulProcessor):
    """The largest value of the last `seconds` at every event."""

    def __init__(self, seconds: int) -> None:
        self.seconds = seconds

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.rows = handle.getListState("rows", "at double, value double")

    def handleInputRows(self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any) -> Iterator[pd.DataFrame]:
        frame = pd.concat(list(rows)).sort_values("ts")
        kept = deque((row[0], row[1]) for row in self.rows.get())
        found = []
        for at, value in zip(frame["ts"].astype("int64").to_numpy() / 1e9, frame["value"].tolist(), strict=True):
            kept.append((at, value))
            while kept[0][0] <= at - self.seconds:
                kept.popleft()
            found.append(max(one for _, one in kept))
        self.rows.put(list(kept))
        yield frame.assign(max_value=found)[["key", "ts", "value", "max_value"]]

    def close(self) -> None:
        pass


def naive(events: DataFrame, seconds: int) -> DataFrame:
    """A per-key maximum over the last `seconds`, an answer per event."""
    return events.groupBy("key").transformWithStateInPandas(Naive(seconds), OUT, "Append", "None")
