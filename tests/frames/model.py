"""A buffer beside the oracle: every operation on both, and what they must agree on."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import slidewise as sw
from slidewise.frames.kind import Frame
from slidewise.frames.live import FrameChange
from tests.frames import oracle
from tests.frames.oracle import Cut, Event
from tests.same import same

BUFFERS: dict[str, dict[str, Any]] = {
    "tree": {"buffer": "tree"},
    "multi": {"buffer": "multi"},
    "eager": {"buffer": "single", "order": "eager"},
    "lazy": {"buffer": "single", "order": "lazy"},
}


def whole_numbers(draw: random.Random) -> Any:
    return draw.choice([None, -3, -2, -1, 0, 0, 1, 1, 2, 2, 3, 4, 7])


def quarters(draw: random.Random) -> Any:
    return None if draw.random() < 0.1 else draw.randrange(-8, 16) / 4


def any_floats(draw: random.Random) -> Any:
    if draw.random() < 0.15:
        return draw.choice([None, math.nan, math.inf, -math.inf, -0.0, 0.0, 1e300, -1e300])
    return draw.uniform(-2.0, 4.0)


def big_numbers(draw: random.Random) -> Any:
    return draw.choice([2**62 - 1, -(2**62), 2**53, 2**53 + 1, 1, 0, -1, 5, None])


def words(draw: random.Random) -> Any:
    return draw.choice(["a", "b", "ä", "日本", "🙂", "", None])


def changes_of_initial() -> Frame:
    """A custom kind over strings: a frame lasts while the first letter does not fall; a word without one opens none."""
    return sw.frames.custom(
        open=lambda last, x: x != "",
        update=lambda last, x: x[:1],
        close=lambda last, x: x[:1] < last,
        state="",
    )


def _initials() -> oracle.Rule:
    return oracle.Rule(lambda values, x, t, last: x[:1] >= values[-1][:1], lambda x: x != "", whole=False)


@dataclass
class Case:
    """A kind, its definition, and values to try it on."""

    kind: Callable[..., Frame]
    rule: oracle.Rule
    values: Callable[[random.Random], Any]
    value_kind: str | None = None


def _sums(of: Any = oracle.summed, **more: Any) -> oracle.Rule:
    limit = more.pop("limit", 3)
    return oracle.total(of, limit, **more)


F = sw.frames
CASES: dict[str, Case] = {
    "threshold": Case(lambda **m: F.threshold(at_least=1, **m), oracle.threshold(at_least=1), whole_numbers),
    "threshold below": Case(lambda **m: F.threshold(below=0.5, **m), oracle.threshold(below=0.5), any_floats),
    "boundary": Case(lambda **m: F.boundary([-1, 1, 3], **m), oracle.boundary([-1, 1, 3]), any_floats),
    "delta": Case(lambda **m: F.delta(2, **m), oracle.delta(2), whole_numbers),
    "delta floats": Case(lambda **m: F.delta(1.5, **m), oracle.delta(1.5), any_floats),
    "delta range": Case(lambda **m: F.delta(3, anchor="range", **m), oracle.delta(3, "range"), whole_numbers),
    "delta range floats": Case(lambda **m: F.delta(2.5, anchor="range", **m), oracle.delta(2.5, "range"), any_floats),
    "delta big": Case(lambda **m: F.delta(3, **m), oracle.delta(3), big_numbers),
    "sum": Case(lambda **m: F.aggregate(sw.sum(), 3, **m), _sums(), whole_numbers),
    "sum include": Case(
        lambda **m: F.aggregate(sw.sum(), 3, crossing="include", **m), _sums(include=True), whole_numbers
    ),
    "sum reaching": Case(lambda **m: F.aggregate(sw.sum(), 3, strict=False, **m), _sums(strict=False), whole_numbers),
    "sum quarters": Case(lambda **m: F.aggregate(sw.sum(), 3, **m), _sums(), quarters, "float"),
    "sum floats": Case(
        lambda **m: F.aggregate(sw.sum(), 6, **m),
        oracle.total(lambda v: oracle.summed([0.0, *v]), 6),
        any_floats,
        "float",
    ),
    "sum of many": Case(lambda **m: F.aggregate(sw.sum(), 40, **m), _sums(limit=40), whole_numbers),
    "max": Case(lambda **m: F.aggregate(sw.max(), 2, **m), oracle.total(max, 2), whole_numbers),
    "count": Case(lambda **m: F.aggregate(sw.count(), 3, **m), oracle.total(len, 3, nulls=True), words),
    "mean": Case(lambda **m: F.aggregate(sw.mean(), 1, **m), oracle.total(lambda v: sum(v) / len(v), 1), whole_numbers),
    "session": Case(lambda **m: F.session(3, **m), oracle.session(3), whole_numbers),
    "custom": Case(lambda **m: changes_of_initial() if not m else _limited(m), _initials(), words),
}


def _limited(limits: dict[str, Any]) -> Frame:
    return F.custom(lambda last, x: x != "", lambda last, x: x[:1], lambda last, x: x[:1] < last, "", **limits)


def replayed(rows: dict[Any, Any], changes: list[FrameChange]) -> None:
    """Apply changelog entries to a reader's table, which they must fit."""
    for change in changes:
        said = (change.start, change.end, change.count, change.closed, change.fragment, change.results)
        if change.op in ("-U", "-D"):
            version, told = rows.pop(change.key)
            assert version == change.version
            assert same(told, said), f"{change} withdraws {told}"
        else:
            assert change.key not in rows, f"{change} is there already"
            rows[change.key] = (change.version, said)


@dataclass
class Model:
    """A buffer, its oracle, and a reader of its changelog."""

    case: Case
    options: dict[str, Any]
    limits: dict[str, Any] = field(default_factory=dict)
    report: str = "on_update"
    aggregates: Any = None

    def __post_init__(self) -> None:
        of = [sw.count(), sw.aggregate(JOINED).alias("joined")] if self.aggregates is None else self.aggregates
        self.buffer = sw.frames.Buffer(
            self.case.kind(**self.limits),
            report=self.report,  # type: ignore[arg-type]
            aggregates=of,
            value_kind=self.case.value_kind,
            **self.options,
        )
        self.events: dict[tuple[Any, int], Any] = {}
        self.rows: dict[Any, Any] = {}
        self.seq = 0

    # ---- operations ----
    def push(self, value: Any, time: Any) -> list[FrameChange]:
        late = self.buffer.late_count
        changes = self.buffer.push(value, time)
        if self.buffer.late_count == late:
            self.events[time, self.seq] = value
        self.seq += 1
        return self.read(changes)

    def extend(self, values: list[Any], times: list[Any]) -> list[FrameChange]:
        kept = len(self.buffer.late)
        changes = self.buffer.extend(values, times)
        late = {(one.time, one.seq) for one in self.buffer.late[kept:]}
        for value, time in zip(values, times, strict=True):
            if (time, self.seq) not in late:
                self.events[time, self.seq] = value
            self.seq += 1
        return self.read(changes)

    def remove(self, key: tuple[Any, int]) -> list[FrameChange]:
        late = self.buffer.late_count
        changes = self.buffer.remove(*key)
        if self.buffer.late_count == late:
            del self.events[key]
        return self.read(changes)

    def correct(self, key: tuple[Any, int], value: Any) -> list[FrameChange]:
        late = self.buffer.late_count
        changes = self.buffer.correct(*key, value)
        if self.buffer.late_count == late:
            self.events[key] = value
        return self.read(changes)

    def advance(self, mark: Any) -> list[FrameChange]:
        return self.read(self.buffer.advance(mark))

    def read(self, changes: list[FrameChange]) -> list[FrameChange]:
        replayed(self.rows, changes)
        return changes

    # ---- agreement ----
    def expected(self) -> list[Cut]:
        events: list[Event] = [(*key, value) for key, value in self.events.items()]
        most = {name: self.limits[name] for name in ("max_count", "max_duration") if name in self.limits}
        return [one for one in oracle.cut(self.case.rule, events, **most) if self._long(one)]

    def _long(self, one: Cut) -> bool:
        if len(one.events) < self.limits.get("min_count", 0):
            return False
        least = self.limits.get("min_duration")
        return least is None or one.events[-1][0] - one.events[0][0] >= least

    def agree(self) -> None:
        """The buffer holds the newest of the oracle's frames, and its reader knows all of them."""
        self.buffer.check()
        expected = self.expected()
        frontier = self.buffer.frontier
        mine = [(*row[:4], row.closed, row.fragment) for row in self.buffer.frames()]
        kept = [one.said for one in expected if frontier is None or one.events[-1][:2] > frontier]
        assert mine == kept
        self.read(self.buffer.report())
        told = expected if self.report == "on_update" else [one for one in expected if one.closed]
        wanted = {one.key: (*one.said[1:], results_of(one)) for one in told}
        found = {key: row for key, (_, row) in self.rows.items()}
        if self.aggregates is None:
            assert same(dict(sorted(found.items())), dict(sorted(wanted.items())))
        else:
            assert {key: row[:5] for key, row in found.items()} == {key: row[:5] for key, row in wanted.items()}


JOINED = sw.Monoid(identity="", lift=lambda x: f"{x};", combine=lambda a, b: a + b, name="joined", result="string")
"""Not commutative, so that order shows."""


def results_of(one: Cut) -> dict[str, Any]:
    joined = "".join(f"{value};" for _, _, value in one.events if value is not None)
    return {"count": len(one.events), "joined": joined if any(e[2] is not None for e in one.events) else None}


def random_run(model: Model, draw: random.Random, steps: int, *, latest: int = 12, agree_every: int = 1) -> None:
    """Random operations; times repeat, and come up to `latest` late."""
    now = 0
    for step in range(steps):
        action = draw.random()
        now += draw.choice([0, 0, 1, 1, 2, 5])
        late = now - draw.randrange(latest) if draw.random() < 0.4 else now
        keys = list(model.events)
        if action < 0.7 or not keys:
            model.push(model.case.values(draw), late)
        elif action < 0.8:
            times = [now - draw.randrange(latest) for _ in range(draw.randrange(6))]
            model.extend([model.case.values(draw) for _ in times], times)
        elif action < 0.9:
            model.remove(draw.choice(keys[-30:]))
        else:
            model.correct(draw.choice(keys[-30:]), model.case.values(draw))
        if step % agree_every == 0:
            model.agree()
    model.agree()
