"""One run of the drill, as a process of its own that may be killed at any moment: python drill.py FOLDER WINDOWS.

    FOLDER/in/*.parquet ──► these windows ──► FOLDER/out/*.parquet        FOLDER/checkpoint: to go on from

Ends by itself when all files are read. Tasks that lose their Python worker are tried again, up to four times.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path

import slidewise as sw
from tests.spark.small_session import small_session

WINDOWS = {
    "events": {"rows": sw.trailing(7), "time": sw.trailing("9 s"), "before": sw.trailing("3 s", include_current=False)},
    "steps": sw.trailing(7).every(2),
    "remembered": {
        "all": sw.expanding(),
        "policy": sw.evict_while(lambda total, old: old.peak < total.peak, uses={"peak": sw.max("x")})
        | sw.evict_while(lambda total, old: total.n - old.n >= 9, uses={"n": sw.count()}),
        "rows": sw.trailing(7),
    },
    "frames": sw.frames.aggregate(sw.max("x"), 4, max_count=9),
}


def main(place: Path, windows: str) -> None:
    spark = small_session("local[2,4]", place)
    spark.sparkContext.setLogLevel("ERROR")
    rows = spark.readStream.schema("n long, k string, t timestamp, x long").option("maxFilesPerTrigger", 1)
    answers = sw.slide(
        rows.parquet(str(place / "in")), [sw.sum("x"), sw.count()], WINDOWS[windows], by="k", order="t", lateness="5 s"
    )
    query = (
        answers.writeStream.format("parquet")
        .option("path", str(place / "out"))
        .option("checkpointLocation", str(place / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    spark.stop()


def die_with(parent: int) -> None:
    """Leave nothing running if whoever started the drill is gone."""
    while os.getppid() == parent:
        time.sleep(1)
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    threading.Thread(target=die_with, args=(os.getppid(),), daemon=True).start()
    main(Path(sys.argv[1]), sys.argv[2])
