"""The ladder: which rung is taken, what it says, and that live windows and whole columns agree on every algorithm."""

from __future__ import annotations

import datetime as dt
import json
import math
import random
import subprocess
import sys
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

import slidewise as sw
from slidewise.errors import ArgumentError
from slidewise.monoids import BUILTINS
from slidewise.monoids.aggregate import Aggregate
from slidewise.monoids.catalogue import sums
from slidewise.monoids.laws import same
from slidewise.swag import ALGORITHMS, choose
from tests.catalogue import in_normal_run

CONCAT = sw.Monoid(identity="", combine=lambda a, b: a + b, name="concat", result="string")
WORDS = ["a", "b", None, "cc", "", "d"] * 5
INTS: list[Any] = [3, -1, None, 2**40, 0, 7, None, None, None, -(2**40), 5, 5] * 5
FLOATS: list[Any] = [3.5, -1.0, None, math.nan, math.inf, 2.0, -math.inf, 0.1, None, None, None, 7.25] * 5


def rung(aggregate: Aggregate, *values: Any, **options: Any) -> str:
    live = sw.LiveWindow(aggregate, sw.trailing(3), **options)
    live.extend(values)
    assert live.choice is not None
    assert live.explain().startswith(f"trailing(3) by {live.choice.structure.card.name}: {live.choice.reason}")
    assert live.choice.structure.card.space in live.explain()
    return live.choice.structure.card.name


class TestLadder:
    def test_integers_are_subtracted(self) -> None:
        assert (
            rung(sw.sum(), 1)
            == rung(sw.mean(), 1)
            == rung(sw.count(), 1)
            == rung(sw.sum(), True)
            == "subtract_on_evict"
        )

    def test_nothing_else_is(self) -> None:
        for aggregate, value in (
            (sw.sum(), 1.5),
            (sw.mean(), 1.5),
            (sw.max(), 1),
            (sw.var(), 1),
            (sw.sum(), Decimal(1)),
        ):
            assert rung(aggregate, value) == "two_stacks_lite"

    def test_a_users_inverse_may_be_of_anything(self) -> None:
        mine = sw.Monoid(identity=0, combine=lambda a, b: a + b, inverse=lambda a, b: a - b, name="mine")
        assert rung(sw.aggregate(mine), 0.5) == "two_stacks_lite"  # floats would drift
        assert rung(sw.aggregate(mine), 0.5, algorithm="subtract_on_evict") == "subtract_on_evict"

    def test_but_in_machine_code_its_types_are_known(self) -> None:
        mine = sw.Monoid(identity=0, combine=lambda a, b: a + b, inverse=lambda a, b: a - b, name="mine")
        times = {"order": [dt.datetime(2026, 1, 1, 0, 0, s) for s in range(3)]}
        said = sw.explain(np.array([1, 2, 3]), sw.aggregate(mine), sw.trailing("2 s"), **times)
        assert "subtract_on_evict: integers are subtracted exactly" in said
        said = sw.explain(np.array([1.0, 2.0, 3.0]), sw.aggregate(mine), sw.trailing("2 s"), **times)
        assert "two_stacks_lite" in said

    def test_every_rung_gives_its_reason(self) -> None:
        reasons = [
            choose(sums.SUM_INT, fixed_rows=True, compiled=True).reason,
            choose(sums.SUM_INT, exact=True).reason,
            choose(sums.SUM_FLOAT).reason,
            choose(sums.SUM_FLOAT, algorithm="daba").reason,
        ]
        assert len(set(reasons)) == 4
        assert all(reasons)

    @pytest.mark.parametrize("algorithm", ["subtract_on_evict", "monotonic_deque"])
    def test_refusals_come_before_any_work(self, algorithm: str) -> None:
        for call in (
            lambda: sw.slide([1.5], sw.var(), sw.trailing(2), algorithm=algorithm),
            lambda: sw.LiveWindow(sw.var(), sw.trailing(2), algorithm, kind="float"),
        ):
            with pytest.raises(ArgumentError, match=f"algorithm='{algorithm}'.*expected a Monoid"):
                call()


def serves(algorithm: str, monoid: sw.Monoid) -> bool:
    try:
        ALGORITHMS[algorithm].refuse(monoid)
    except ArgumentError:
        return False
    return True


few_or_all = pytest.mark.parametrize("few", [True, pytest.param(False, marks=pytest.mark.slow)], ids=["few", "all"])


def streams(algorithm: str, few: bool) -> list[tuple[str, Aggregate, list[Any]]]:
    """Some built-ins and a monoid of words, where the algorithm serves, with values; tests/engine runs all of them."""
    found = []
    often = in_normal_run(algorithm) & {"sum", "max"} if few else {"sum", "max", "last"}
    each = (("int", INTS, {"sum"} & often), ("float", FLOATS, {"max", "last"} & often))
    for kind, values, names in each:  # a pair of kind and name is machine code of its own
        for name in names:
            family = BUILTINS[name]
            monoid = family.choose((kind,))
            if monoid is not None and serves(algorithm, monoid):
                found.append((f"{name} of {kind}s", Aggregate(family), values))
    if serves(algorithm, CONCAT):
        found.append(("concat", sw.aggregate(CONCAT), WORDS))
    return found


@few_or_all
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_live_windows_and_columns_agree(algorithm: str, few: bool) -> None:
    start = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    draw = random.Random(11)
    for name, aggregate, values in streams(algorithm, few):
        times, now = [], start
        for _ in values:
            now += dt.timedelta(seconds=draw.choice([0, 1, 1, 2, 30]))
            times.append(now)
        for window in (sw.trailing(4), sw.trailing("5 s"), sw.trailing(3, include_current=False, min_rows=2)):
            timed = {"order": times} if window.by_time else {}
            whole = sw.slide(values, aggregate, window, algorithm=algorithm, **timed)
            live = sw.LiveWindow(aggregate, window, algorithm)
            pushed = live.extend(values, times if window.by_time else None)
            live.check()
            for row, (one, other) in enumerate(zip(whole, pushed, strict=True)):
                slack = 1e-9 * abs(one) if isinstance(one, float) and math.isfinite(one) else 0.0
                assert same(one, other, slack), (name, window, row, one, other)


@few_or_all
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_snapshot_goes_on_exactly(algorithm: str, few: bool) -> None:
    for name, aggregate, values in streams(algorithm, few):
        live = sw.LiveWindow(aggregate, sw.trailing(7), algorithm)
        for at, value in enumerate(values):
            if at % 5 == 0:
                again = sw.LiveWindow.restore(live.snapshot(), aggregate)
                again.check()
                assert again.algorithm == algorithm
                live_on, again_on = live.snapshot(), again.snapshot()
                assert live_on == again_on, (name, at)
                live = again
            live.push(value)
        straight = sw.LiveWindow(aggregate, sw.trailing(7), algorithm).extend(values)
        assert repr(live.query()) == repr(straight[-1]), name


ELSEWHERE = """
import json, sys
import slidewise as sw
done = {}
for name, (blob, values) in json.load(sys.stdin).items():
    done[name] = sw.LiveWindow.restore(bytes.fromhex(blob)).extend(values)
print(json.dumps(done))
"""


def test_another_process_goes_on_exactly() -> None:
    values = [random.Random(2).randint(-99, 99) for _ in range(120)]
    snapshots, expected = {}, {}
    for algorithm in ALGORITHMS:
        for aggregate in (sw.sum(), sw.max(), sw.mean()):
            if not serves(algorithm, aggregate.monoid(("int",))):
                continue
            live = sw.LiveWindow(aggregate, sw.trailing(17), algorithm)
            live.extend(values[:60])
            name = f"{algorithm} {aggregate.name}"
            snapshots[name] = (live.snapshot().hex(), values[60:])
            expected[name] = live.extend(values[60:])
    out = subprocess.run(
        [sys.executable, "-c", ELSEWHERE], input=json.dumps(snapshots), capture_output=True, text=True, check=True
    )
    assert json.loads(out.stdout) == expected
    assert {name.split()[0] for name in expected} == set(ALGORITHMS)
