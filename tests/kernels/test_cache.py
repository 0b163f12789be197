"""Kernels on disk: what a process compiled, the next one finds; what changes the code changes the key."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba import typeof

import slidewise as sw
from slidewise.kernels import cache
from slidewise.kernels.jit import inlined, kernel
from slidewise.kernels.ops import CannotCompile, compiled_ops
from slidewise.kernels.spans import validity

HERE = str(Path(sw.__file__).parents[1])
"""The copy under test, whichever one is installed."""

PROGRAM = """
import json, sys
import numpy as np
import slidewise as sw
from slidewise.kernels import cache
made, save = [], cache.KernelCache.save_overload
cache.KernelCache.save_overload = lambda self, *rest: (made.append(self._name), save(self, *rest))
factor = float(sys.argv[1])
mine = sw.Monoid(identity=0.0, lift=lambda x: x * factor, combine=lambda a, b: a + b, name="scaled")
times = np.arange(100).astype("datetime64[s]")
out = sw.slide(np.ones(100), [sw.max(), sw.aggregate(mine)], sw.trailing("10 s"), order=times)
blocked = sw.slide(np.ones(100), sw.stddev(), sw.trailing(10))
print(json.dumps({"hits": cache.hits, "compiles": cache.compiles, "made": made, "last": out["scaled"][-1]}))
"""


def run(folder: Path, factor: float) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(factor)],
        env={"SLIDEWISE_CACHE_DIR": str(folder), "PATH": "/usr/bin:/bin", "HOME": str(folder), "PYTHONPATH": HERE},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A folder that one process has filled, and what it said."""
    folder = tmp_path_factory.mktemp("kernels")
    return folder, run(folder, 2.0)


@pytest.fixture
def filled(first: tuple[Path, dict[str, Any]], tmp_path: Path) -> Path:
    return Path(shutil.copytree(first[0], tmp_path / "filled"))


def test_a_second_process_compiles_nothing(first: tuple[Path, dict[str, Any]], filled: Path) -> None:
    _, before = first
    assert before["hits"] == 0
    # one sweep of two outputs, one blocked loop, one bounds kernel, a type probe for each of the three monoids
    assert before["compiles"] == 6
    second = run(filled, 2.0)
    assert (second["compiles"], second["hits"]) == (0, before["compiles"])
    assert second["last"] == before["last"] == 20.0


def test_processes_at_the_same_time_compile_once(tmp_path: Path) -> None:
    with ThreadPoolExecutor(3) as pool:
        done = list(pool.map(lambda _: run(tmp_path, 2.0), range(3)))
    made = [name for one in done for name in one["made"] if name != "probe"]  # probes are not waited for
    assert sorted(made) == ["blocked", "event_bounds", "sweep"]


def test_a_turn_is_waited_for_and_given_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = cache.Turn(tmp_path / "one.lock"), cache.Turn(tmp_path / "one.lock")
    assert not first.take()
    monkeypatch.setattr(cache.Turn, "PATIENCE", 0.05)
    assert second.take()  # patience ends
    first.give_back()
    assert not second.take()
    assert not cache.Turn(tmp_path / "no such folder" / "one.lock").take()


def test_a_closure_with_another_value_is_another_kernel(filled: Path) -> None:
    other = run(filled, 3.0)
    assert other["last"] == 30.0
    assert other["compiles"] == 2  # its probe and its sweep


def test_a_damaged_cache_is_no_worse_than_none(filled: Path) -> None:
    damaged = list(filled.glob("*.nb?"))
    assert damaged
    for file in damaged:
        file.write_bytes(b"not machine code")
    assert run(filled, 2.0)["last"] == 20.0


def _digest_of(**changes: object) -> str:
    scope: dict[str, object] = {"k": 1, "math": math, **changes}
    exec("def f(x):\n    return x * k + math.pi", scope)
    return cache.digest(scope["f"])


def test_the_digest_follows_globals() -> None:
    assert _digest_of() == _digest_of()
    assert _digest_of() != _digest_of(k=2)
    assert _digest_of(k=2) != _digest_of(k=2.0)


def test_the_digest_follows_called_functions() -> None:
    def make(inner):  # type: ignore[no-untyped-def]
        return lambda x: inner(x)

    assert cache.digest(make(lambda x: x + 1)) == cache.digest(make(lambda x: x + 1))
    assert cache.digest(make(lambda x: x + 1)) != cache.digest(make(lambda x: x + 2))


def test_the_digest_follows_defaults_and_nested_code() -> None:
    assert cache.digest(lambda x, y=1: x + y) != cache.digest(lambda x, y=2: x + y)
    assert cache.digest(lambda x: (lambda z: z + 1)(x)) != cache.digest(lambda x: (lambda z: z + 2)(x))


def test_what_cannot_be_digested_is_not_guessed() -> None:
    thing = object()
    with pytest.raises(cache.CannotDigest):
        cache.digest(lambda x: (x, thing))


@pytest.mark.parametrize(
    ("identity", "lift", "combine", "fields"),
    [
        (0, None, lambda a, b: a + b, ("float64",)),
        ((0, 0), lambda x: (1, x), lambda a, b: (a[0] + b[0], a[1] + b[1]), ("int64", "float64")),
        (0, lambda x: 1, lambda a, b: (a + b) / 1, ("float64",)),
        (False, lambda x: x > 0, lambda a, b: a or b, ("bool",)),
    ],
)
def test_field_types_are_asked_of_numba(identity, lift, combine, fields) -> None:  # type: ignore[no-untyped-def]
    monoid = sw.Monoid(identity=identity, lift=lift, combine=combine, name="m")
    assert compiled_ops(monoid, ("float64",)).fields == fields


@pytest.mark.parametrize(
    ("monoid", "why"),
    [
        (sw.Monoid(identity=None, combine=lambda a, b: b, name="m"), "not a number"),
        (sw.Monoid(identity=(), combine=lambda a, b: b, name="m"), "not a number"),
        (sw.Monoid(identity=2**70, combine=lambda a, b: b, name="m"), "int64"),
        (sw.Monoid(identity=0, combine=max, name="m"), "plain Python function"),
        (sw.Monoid(identity=0.0, combine=lambda a, b: {a: b}, name="m"), "Numba"),
        (sw.Monoid(identity=0.0, lift=lambda x: (x, x), combine=lambda a, b: a, name="m"), "fields"),
    ],
)
def test_object_mode_says_why(monoid: sw.Monoid, why: str) -> None:
    with pytest.raises(CannotCompile, match=why):
        compiled_ops(monoid, ("float64",))


def test_the_digest_follows_values_taken_from_modules() -> None:
    import types as python_types

    def with_scale(scale: object) -> str:
        settings = python_types.ModuleType("settings")
        settings.scale = scale  # type: ignore[attr-defined]
        scope: dict[str, object] = {"settings": settings}
        exec("def f(x):\n    return x * settings.scale", scope)
        return cache.digest(scope["f"])

    assert with_scale(2) == with_scale(2)
    assert with_scale(2) != with_scale(500)
    with pytest.raises(cache.CannotDigest):
        with_scale(object())


def twice(x: float) -> float:
    return half(x) * 4.0


def half(x: float) -> float:
    return x / 2.0


def test_helpers_of_any_depth_compile() -> None:
    monoid = sw.Monoid(identity=0.0, lift=lambda x: twice(x), combine=lambda a, b: a + b, name="m")
    assert compiled_ops(monoid, ("float64",)).fields == ("float64",)
    assert sw.slide([1.0, 2.0], sw.aggregate(monoid), sw.trailing(2)) == [2.0, 6.0]


def test_why_not_is_found_once() -> None:
    monoid = sw.Monoid(identity=0.0, combine=lambda a, b: {a: b}, name="m")
    reasons = []
    for _ in range(2):
        with pytest.raises(CannotCompile) as caught:
            compiled_ops(monoid, ("float64",))
        reasons.append(str(caught.value))
    assert reasons[0] == reasons[1]


def test_an_inverse_compiles_with_the_rest() -> None:
    ops = compiled_ops(
        sw.Monoid(identity=0, combine=lambda a, b: a + b, inverse=lambda a, b: a - b, name="m"), ("int64",)
    )
    assert ops.inverse is not None
    assert ops.called("inverse")(5, 3) == 2
    with pytest.raises(TypeError, match="is for kernels"):
        ops.inverse(5, 3)


def test_functions_alike_are_one_kernel() -> None:
    def adding(number: float) -> Any:
        return kernel(lambda x: x + number)

    assert adding(1.0) is adding(1.0)
    assert adding(1.0) is not adding(2.0)


def test_constants_share_a_body(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(cache, "usable_folder", lambda: tmp_path)  # a kernel found on disk needs no body
    add = inlined(lambda x, number: x + number)
    assert kernel(lambda x: add(x, 1) + add(x, 2))(0.5) == 4.0
    assert len(add.overloads) == 1


def test_nulls_of_any_origin_have_one_type() -> None:
    mine, given = np.array([True, False]), np.array([True, False])
    given.flags.writeable = False
    assert len({typeof(validity(valid)) for valid in (None, mine, given, np.array([True] * 4)[::2])}) == 1
    assert mine.flags.writeable
