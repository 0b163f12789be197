"""Events through Kafka to a sink, as a process of its own: the connector's jars must be there when its session starts.

    python -m tests.spark.through_kafka FOLDER SINK BROKER JARS

    FOLDER/in/*.json ──► a topic ──► these windows ──► SINK: another topic, or files ──► FOLDER/answers.parquet

For each file, which holds an event per line: its events are produced, and the query runs until it has read them.
Before it starts again the last commit is taken from its checkpoint, as if it had died after the sink had a batch and
before Spark had noted that.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq

import slidewise as sw
from tests.spark.small_session import small_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

EVENT = "n long, k string, t timestamp, x long"
AGGREGATES = [sw.sum("x"), sw.count(), sw.mean("x")]
WINDOWS = {"rows": sw.trailing(7), "time": sw.trailing("9 s")}
ROWS_A_BATCH = 100


class Kafka:
    """Topics of one broker, as DataFrames."""

    def __init__(self, spark: SparkSession, address: str) -> None:
        self.spark, self.options = spark, {"kafka.bootstrap.servers": address}

    def produce(self, path: Path, topic: str) -> None:
        """The lines of a file in their order, in the partition of their key."""
        lines = self.spark.read.text(str(path)).selectExpr("get_json_object(value, '$.k') key", "value")
        lines.write.format("kafka").options(**self.options).option("topic", topic).save()

    def stream(self, topic: str) -> DataFrame:
        options = {"subscribe": topic, "startingOffsets": "earliest", "maxOffsetsPerTrigger": str(ROWS_A_BATCH)}
        return self.spark.readStream.format("kafka").options(**self.options, **options).load()

    def all(self, topic: str) -> DataFrame:
        return self.spark.read.format("kafka").options(**self.options).option("subscribe", topic).load()


def answers(messages: DataFrame) -> DataFrame:
    """Of the messages that are events: a broken one has no time, and would stop the query each time it is read."""
    from pyspark.sql import functions as F

    events = messages.select(F.from_json(F.col("value").cast("string"), EVENT).alias("e")).select("e.*")
    return sw.slide(events.where("t is not null"), AGGREGATES, WINDOWS, by="k", order="t", lateness="10 s")


def forget_last_commit(checkpoint: Path) -> None:
    commits = checkpoint / "commits"
    last = max(int(path.name) for path in commits.iterdir() if path.name.isdigit())
    (commits / str(last)).unlink()
    (commits / f".{last}.crc").unlink(missing_ok=True)


def main(place: Path, sink: str, address: str, jars: str) -> None:
    from pyspark.sql import functions as F

    spark = small_session("local[2]", place, spark_jars=jars)
    spark.sparkContext.setLogLevel("ERROR")
    kafka = Kafka(spark, address)
    checkpoint, to_kafka = place / "checkpoint", sink == "kafka"
    asked, answered = f"{place.name}-events", f"{place.name}-answers"
    for path in sorted((place / "in").iterdir()):
        kafka.produce(path, asked)
        out = answers(kafka.stream(asked))
        if to_kafka:
            message = out.select(F.col("n").cast("string").alias("key"), F.to_json(F.struct("*")).alias("value"))
            writer = message.writeStream.format("kafka").options(**kafka.options).option("topic", answered)
        else:
            writer = out.writeStream.format("parquet").option("path", str(place / "out"))
        if checkpoint.exists():
            forget_last_commit(checkpoint)
        query = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
        query.awaitTermination()
    if to_kafka:
        value = F.from_json(F.col("value").cast("string"), out.schema).alias("answer")
        made = kafka.all(answered).select(value).select("answer.*")
    else:
        made = spark.read.parquet(str(place / "out"))
    pq.write_table(made.toArrow(), place / "answers.parquet")
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
