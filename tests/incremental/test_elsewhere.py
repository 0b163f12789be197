"""The same job on a cluster with the package shipped to it, and over Spark Connect."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench.standalone import cluster
from tests.shipping import shipped_to

ROOT = Path(__file__).resolve().parents[2]

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def run(*arguments: str) -> dict[str, int]:
    known = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    setting = {
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYTHONPATH": os.pathsep.join([str(ROOT), *known]),
    }
    program = [sys.executable, "-m", "tests.incremental.elsewhere", *arguments]
    done = subprocess.run(
        program, cwd=ROOT, env={**os.environ, **setting}, capture_output=True, text=True, timeout=280, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, int] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.fixture
def shipped(tmp_path: Path) -> Path:
    return shipped_to(tmp_path / "slidewise.zip")


def test_on_a_cluster(tmp_path: Path, shipped: Path) -> None:
    assert set(run("cluster", str(tmp_path / "state"), str(shipped))) == {"jvm", "arrow"}


def test_on_a_standalone_master_one_of_whose_workers_dies(tmp_path: Path, shipped: Path) -> None:
    with cluster(tmp_path / "cluster", memory="512m") as standalone:
        assert set(run(standalone.url, str(tmp_path / "first"), str(shipped))) == {"jvm", "arrow"}
        standalone.workers[0].kill()
        assert set(run(standalone.url, str(tmp_path / "second"), str(shipped))) == {"jvm", "arrow"}


def test_over_connect(tmp_path: Path) -> None:
    pytest.importorskip("grpc")
    assert set(run("connect", str(tmp_path / "state"))) == {"jvm", "arrow"}
