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


def test_what_a_worker_of_an_incremental_job_loads_is_light() -> None:
    """A nightly slide is a process of its own, and so are its workers: those in the JVM only write files."""
    unwanted = tuple(name for name in HEAVY if name != "pyarrow")
    program = (
        "import sys, slidewise.incremental.jvm_worker;"
        f"print([m for m in {(*unwanted, 'slidewise.engine')!r} if m in sys.modules])"
    )
    assert in_a_new_process(program) == "[]"


def test_names_of_incremental_are_those_of_its_users_in_any_order() -> None:
    program = "from slidewise import incremental as inc; inc.Job; print(inc.splits(2).width, sorted(dir(inc)))"
    assert in_a_new_process(program) == "2 ['Job', 'Query', 'Report', 'Splits', 'group_by', 'splits']"
