"""How much memory a window in the embedded store takes: a few megabytes, whatever it holds."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
MOST = 64 * 2**20

PROGRAM = """
import json, sys, time
import numpy as np
from slidewise.engine.stored import StoredState
from slidewise.monoids.catalogue.extremes import MAX_FLOAT

def private():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("RssAnon")) * 1024

def made(name):
    state = StoredState(sys.argv[1], name, create=True)
    return state, state.structure(MAX_FLOAT, ("float64",), 1)

def fed(window, n):
    draw, piece = np.random.default_rng(1), 2**16
    for _ in range(0, n, piece):
        window.extend_arrays(draw.random(piece))

warm, window = made("warm")  # machine code, and what the first window of a process needs beside
fed(window, 2**17)
window.evict_many(2**16)
window.query()
warm.flush({}, None)
warm.close()
del warm, window

n = 2 ** int(sys.argv[2])
state, window = made("large")
empty = private()
start = time.perf_counter()
fed(window, n)
took = time.perf_counter() - start
state.flush({}, None)
full, evictions = private(), []
for gone in (1, n // 1000, n // 3, n // 2):
    start, reads = time.perf_counter(), window.reads
    window.evict_many(gone)
    answer = window.query()
    evictions.append([gone, time.perf_counter() - start, window.reads - reads])
state.close()
sys.stdout.write(json.dumps({"grown": full - empty, "after": private() - empty, "ns": took / n * 1e9,
                             "evictions": evictions, "held": len(window), "answer": answer}))
"""


def measured(folder: Path, power: int) -> dict[str, Any]:
    pytest.importorskip("lmdb")
    if not Path("/proc/self/status").exists():
        pytest.skip("private memory is told by /proc")
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-c", PROGRAM, f"disk:{folder}/store", str(power)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def holds(found: dict[str, Any], power: int) -> None:
    """The window holds far more than its memory, and an eviction of any size read at most two pages per level."""
    assert found["held"] == 2**power - sum(gone for gone, _, _ in found["evictions"])
    assert 0.999 < found["answer"] < 1
    assert found["grown"] < MOST
    assert found["after"] < MOST
    assert all(reads <= 2 * (power + 1) for _, _, reads in found["evictions"])


def test_four_million_doubles(tmp_path: Path) -> None:
    holds(measured(tmp_path, 22), 22)


@pytest.mark.slow
def test_thirty_million_doubles(tmp_path: Path) -> None:
    holds(measured(tmp_path, 25), 25)
