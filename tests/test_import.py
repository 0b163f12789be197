"""Start-up: importing the package is quick and pulls in nothing heavy."""

from __future__ import annotations

import subprocess
import sys

HEAVY = ("pyspark", "numba", "pandas", "polars", "pyarrow", "lmdb", "redis")


def in_a_new_process(program: str) -> str:
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.strip()


def test_importing_imports_nothing_heavy() -> None:
    program = f"import sys, slidewise; print([m for m in {HEAVY!r} if m in sys.modules])"
    assert in_a_new_process(program) == "[]"


def test_declaring_an_aggregate_and_a_window_is_still_light() -> None:
    program = (
        "import sys, slidewise as sw; sw.max('x').alias('y'); sw.trailing('5 min').every('1 min');"
        "sw.Monoid(identity=0, combine=lambda a, b: a + b, name='m');"
        f"print([m for m in {HEAVY!r} if m in sys.modules])"
    )
    assert in_a_new_process(program) == "[]"


def test_every_public_name_is_there_and_documented() -> None:
    import slidewise as sw

    for name in sw.__all__:
        assert getattr(sw, name).__doc__, name
    assert set(sw.__all__) <= set(dir(sw))


def test_verbs_stay_functions_in_any_order_of_use() -> None:
    program = "import slidewise as sw; sw.explain; sw.schema; print(callable(sw.slide), callable(sw.aggregate))"
    assert in_a_new_process(program) == "True True"
