"""One advance as a process of its own, killed with all it started at a step, or some time after it.

    python -m tests.incremental.drill STATE_A STATE_B NUMBER STEP SECONDS

STEP "-" lets it live. It goes with whoever started it.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path

from slidewise import incremental as inc
from slidewise.incremental import memo
from tests.incremental.windows import IN_ARROW, frame
from tests.spark.small_session import small_session


def main(places: list[str], number: int, step: str, seconds: float) -> None:
    def die() -> None:
        time.sleep(seconds)
        os.killpg(0, signal.SIGKILL)

    def at(reached: str) -> None:
        if reached == step and seconds == 0:
            os.killpg(0, signal.SIGKILL)
        elif reached == step:
            threading.Thread(target=die, daemon=True).start()

    memo.hook = at
    spark = small_session("local[2]", Path(places[0]).parent)
    spark.sparkContext.setLogLevel("ERROR")
    job = inc.Job(spark, state=places, query=IN_ARROW, window=inc.splits(4))
    job.advance({f"s{number}": frame(spark, number)})
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1:3], int(sys.argv[3]), sys.argv[4], float(sys.argv[5]))
