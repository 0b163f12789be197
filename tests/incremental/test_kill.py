"""kill -9 of a whole advance, driver, JVM and workers, at each step and at random moments between them."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from slidewise import incremental as inc
from tests.incremental.windows import IN_ARROW, assert_answers, assert_nothing_leaked, frame
from tests.spark.test_kill import kill_all

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

ROOT = Path(__file__).resolve().parents[2]


def killed(places: list[Path], number: int, step: str, seconds: float) -> None:
    known = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *known]), "SPARK_LOCAL_IP": "127.0.0.1"}
    env["PYSPARK_PYTHON"] = sys.executable
    arguments = [*map(str, places), str(number), step, str(seconds)]
    with (places[0].parent / "log").open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.incremental.drill", *arguments],
            cwd=ROOT,
            env=env,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        code = process.wait(120)
    finally:
        kill_all(process)
    assert code in (-signal.SIGKILL, 0), (places[0].parent / "log").read_text()[-3000:]
    assert seconds or code == -signal.SIGKILL


def drilled(spark: SparkSession, tmp_path: Path, deaths: list[tuple[str, float]]) -> None:
    places = [tmp_path / "a", tmp_path / "b"]

    def opened() -> inc.Job:
        return inc.Job(spark, state=[str(place) for place in places], query=IN_ARROW, window=inc.splits(4))

    opened().advance({f"s{k}": frame(spark, k) for k in range(4)})
    number = 4
    for step, seconds in deaths:
        killed(places, number, step, seconds)
        job = opened()
        number += f"s{number}" in job.splits()
        made = job.advance({f"s{number}": frame(spark, number)})
        assert_answers(made, IN_ARROW, range(number - 3, number + 1))
        assert_nothing_leaked(places)
        number += 1


@pytest.mark.slow
def test_an_advance_is_killed_before_it_commits(spark: SparkSession, tmp_path: Path) -> None:
    drilled(spark, tmp_path, [("after nodes", 0.0)])


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_an_advance_is_killed_at_each_step(spark: SparkSession, tmp_path: Path) -> None:
    steps = ("before nodes", "before manifest", "after manifest", "collecting")
    drilled(spark, tmp_path, [(step, 0.0) for step in steps])


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", range(3))
def test_an_advance_is_killed_while_nodes_are_written(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    source = random.Random(seed)
    drilled(spark, tmp_path, [("before nodes", source.uniform(0.1, 6.0)) for _ in range(3)])
