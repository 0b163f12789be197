"""Seeded streams and windows for live windows in stores: every kind of window, values of every kind."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import slidewise as sw

SECOND = 10**9


def _shifts(total: Any, old: Any) -> bool:
    return bool(total.n - old.n >= 1700)


def _heavy(total: Any, old: Any) -> bool:
    return bool(total.weight - old.weight >= 300.0)


WINDOWS: dict[str, sw.Window] = {
    "rows": sw.trailing(1700),
    "few rows": sw.trailing(10),
    "rows before": sw.trailing(1600, include_current=False, min_rows=20),
    "time": sw.trailing("30 min"),
    "coarse time": sw.trailing("30 min", coarse="1 min"),
    "time before": sw.trailing("20 min", include_current=False, min_rows=3),
    "order": sw.trailing(1500, along="order"),
    "coarse order": sw.trailing(900.5, along="order", coarse=7.5),
    "expanding": sw.expanding(),
    "expanding before": sw.expanding(include_current=False, min_rows=2),
    "session": sw.session("40 s"),
    "policy": sw.evict_while(_shifts, uses={"n": sw.count()}),
    "policy of values": sw.evict_while(_heavy, uses={"weight": sw.sum()}),
    "adwin": sw.adwin(delta=0.01),
}


class Run:
    """The first and the last value of a stretch, as a partial of a class of its own; it does not commute."""

    def __init__(self, first: Any, last: Any, count: int) -> None:
        self.first, self.last, self.count = first, last, count

    def __add__(self, newer: Run) -> Run:
        if not self.count or not newer.count:
            return newer if newer.count else self
        return Run(self.first, newer.last, self.count + newer.count)

    def encode(self) -> bytes:
        return repr((self.first, self.last, self.count)).encode()

    @staticmethod
    def decode(stored: bytes) -> Run:
        import ast

        return Run(*ast.literal_eval(stored.decode()))


ENDS = sw.aggregate(  # partials are plain tuples
    sw.Monoid(
        identity=(None, None),
        lift=lambda x: (x, x),
        combine=lambda a, b: b if a[0] is None else a if b[0] is None else (a[0], b[1]),
        name="ends",
    )
)
RUN = sw.aggregate(
    sw.Monoid(
        identity=Run(None, None, 0),
        lift=lambda x: Run(x, x, 1),
        combine=lambda a, b: a + b,
        lower=lambda run: (run.first, run.last, run.count),
        codec=(Run.encode, Run.decode),
        name="run",
    )
)
LONGEST = sw.aggregate(  # the newest of the longest; its codec stores the identity in no byte at all
    sw.Monoid(
        identity="",
        combine=lambda a, b: b if len(b) >= len(a) else a,
        lift=lambda x: str(x)[-2:],
        codec=(str.encode, bytes.decode),
        name="longest",
    )
)


def close_to(one: Any, other: Any) -> bool:
    """The same value; floats may have been added in another order."""
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12)
    return type(one) is type(other) and bool(one == other)


@dataclass(frozen=True)
class Stream:
    """Values with times that never fall: mostly a second or none apart, now and then a long gap."""

    values: list[Any]
    times: list[int]
    places: list[float]

    def time(self, window: sw.Window, k: int) -> Any:
        """What event k is given as its time, by a window of this kind."""
        if window.axis == "rows":
            return None
        return self.times[k] if window.by_time else self.places[k]


def stream(kind: str, n: int, seed: int = 1, nulls: float = 0.02) -> Stream:
    draw = random.Random(seed)
    at, values, times = 0, [], []
    for k in range(n):
        at += draw.choice([0, 1, 1, 1, 1, 2])
        if draw.random() < 0.001:
            at += draw.choice([50, 500, 1500, 5000])
        level = 0.5 if (k // 1500) % 2 else 0.2
        value = draw.random() * level
        values.append(None if draw.random() < nulls else KINDS[kind](value))
        times.append(at * SECOND)
    return Stream(values, times, [time / SECOND for time in times])


KINDS: dict[str, Any] = {
    "float": lambda x: x,
    "int": lambda x: int(x * 10**6),
    "big int": lambda x: int(x * 10**6) * 10**30,
    "bool": lambda x: x > 0.2,
    "string": lambda x: f"{x:.3f}",
    "decimal": lambda x: Decimal(f"{x:.9f}"),
}
