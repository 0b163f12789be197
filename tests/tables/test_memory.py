"""How much memory a call needs beside its data: measured in a process of its own, by the most it ever held.

The bound is 2.5 times the bytes of the columns that are read and made; what is made is part of it. The figures are
those of /proc: `ru_maxrss` survives exec, so that a child of a large process would begin with its parent's.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.catalogue import rare

ROWS = 10_000_000
MOST = 2.5

#: The kernels are compiled before, by a small call; the data is there before the first look.
_MEASURE = """
import gc, sys
import numpy as np, pyarrow as pa
import slidewise as sw

def memory(field):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith(field + ":"))

def extra(container, name, keyed, rows):
    source = np.random.default_rng(1)
    values = source.standard_normal(rows)
    keys = source.integers(0, 100, rows) if keyed else None
    aggregate = getattr(sw, name)
    if container == "numpy":
        data, one, by = values, aggregate(), keys
    else:
        data = pa.table({"v": values, **({"k": keys} if keyed else {})})
        one, by = aggregate("v"), "k" if keyed else None
    gc.collect()
    before = memory("VmRSS")
    answers = sw.slide(data, one, sw.trailing(1000), by=by)
    assert len(answers) == rows
    return memory("VmHWM") - before

container, name, keyed, rows = sys.argv[1], sys.argv[2], sys.argv[3] == "by", int(sys.argv[4])
extra(container, name, keyed, 50_000)
print(extra(container, name, keyed, rows))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("container", ["numpy", "arrow"])
@pytest.mark.parametrize(
    ("name", "by"), [("sum", ""), rare("max", ""), rare("stddev", ""), rare("sum", "by"), ("stddev", "by")]
)
def test_peak(container: str, name: str, by: str) -> None:
    command = [sys.executable, "-c", _MEASURE, container, name, by, str(ROWS)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    touched = 8 * ROWS * (3 if by else 2)
    assert 8 * ROWS <= int(done.stdout) <= MOST * touched, f"{int(done.stdout) / touched:.2f} of the columns touched"
