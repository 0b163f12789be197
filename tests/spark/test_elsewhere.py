"""Spark Connect, and a cluster of several processes with the package shipped to it: the same answers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.shipping import shipped_to

ROOT = Path(__file__).resolve().parent.parent.parent

pytestmark = pytest.mark.spark


def run(*arguments: str) -> Any:
    known = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    setting = {
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYTHONPATH": os.pathsep.join([str(ROOT), *known]),
    }
    done = subprocess.run(
        [sys.executable, "-m", "tests.spark.elsewhere", *arguments],
        env={**os.environ, **setting},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.slow
def test_on_connect() -> None:
    pytest.importorskip("grpc")
    assert all(run("connect")["same"].values())


@pytest.mark.slow
def test_a_stream_on_connect(tmp_path: Path) -> None:
    pytest.importorskip("grpc")
    found = run("stream", str(tmp_path))
    assert all(found["same"].values()), found["same"]
    assert found["rows_in"] == 2001


@pytest.mark.slow
def test_on_a_cluster_with_the_package_shipped(tmp_path: Path) -> None:
    shipped = shipped_to(tmp_path / "slidewise.zip")
    found = run("cluster", str(shipped))
    assert all(found["same"].values()), found["same"]
    assert all("slidewise.zip" in home for home, _ in found["homes"])
    assert len({process for _, process in found["homes"]}) > 1, "rows went to one executor"
