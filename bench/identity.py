"""The floor of a stateful stream: rows packed, shuffled, handed to a processor that returns them, and unpacked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle

from slidewise.spark import spark_types
from slidewise.spark.pack import BUCKET, NUMBER, PACKET, labels_for, packer, unpacker

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Identity(StatefulProcessor):
    """Packets out as they came in, with no state."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        pass

    def handleInputRows(self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any) -> Iterator[pd.DataFrame]:
        for frame in rows:
            yield frame[[PACKET]]

    def close(self) -> None:
        pass


def identity(df: DataFrame, key: str) -> DataFrame:
    """The rows of a stream through the same operators as `slide`, without windows."""
    buckets = int(df.sparkSession.conf.get("spark.sql.shuffle.partitions") or 1)
    number = F.pmod(F.xxhash64(key), F.lit(buckets)).cast("int")
    pack = packer(labels_for(df.sparkSession, buckets), pa.schema(spark_types(df)), ())
    packets = df.withColumn(NUMBER, number).mapInArrow(pack, f"{BUCKET} int, {PACKET} binary")
    answered = packets.groupBy(BUCKET).transformWithStateInPandas(Identity(), f"{PACKET} binary", "Append", "EventTime")
    return answered.mapInArrow(unpacker(df.columns), df.schema)
