"""What a run on Spark costs: seconds, and the sum of its tasks' seconds by stage."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass
class Meter:
    """Seconds, and task seconds by stage, of what ran while it did."""

    seconds: float = 0.0
    stages: list[float] = field(default_factory=list)

    @property
    def work(self) -> float:
        """The sum of task times."""
        return sum(self.stages)


@contextmanager
def metered(spark: SparkSession) -> Iterator[Meter]:
    """Measure what runs inside."""
    before = set(stages(spark))
    meter, start = Meter(), time.perf_counter()
    yield meter
    meter.seconds = time.perf_counter() - start
    time.sleep(0.2)  # the listener lags behind
    after = stages(spark)
    meter.stages = [after[key] for key in sorted(after) if key not in before and after[key]]


def stages(spark: SparkSession) -> dict[tuple[int, int], float]:
    """Task seconds of every stage that has run."""
    context = spark.sparkContext
    jvm, gateway = context._jvm, context._gateway
    nothing = jvm.java.util.ArrayList()
    found = context._jsc.sc().statusStore().stageList(nothing, False, False, gateway.new_array(jvm.double, 0), nothing)
    every = (found.apply(k) for k in range(found.size()))
    return {(one.stageId(), one.attemptId()): one.executorRunTime() / 1000 for one in every}


def written(df: DataFrame) -> None:
    """Compute all of it, keep nothing."""
    df.write.format("noop").mode("overwrite").save()
