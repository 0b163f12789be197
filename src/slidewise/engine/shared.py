"""Windows of one call that share their slices: each row lifted once for all of them (sharing/events.py).

    {"1m": ..., "1h": ..., "7d": ...} x [mean, max, stddev]  ──►  one loop over the rows, 9 answers each

Windows are shared if they look back along the order from every event, and do not tie rows together; outputs of them if
they compile, read the same columns and the user did not name their algorithm. Measured (bench/sharing.py): from two
windows on it takes about half of what sweeping each takes. A fixed number of rows stays with the blocked kernel, which
has neither bounds to read nor windows to move; tallies, policies and windows that look ahead keep loops of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from slidewise.engine.answers import Answers, inputs_of, parts_of
from slidewise.engine.arrange import Arranged
from slidewise.engine.columns import Column
from slidewise.engine.joint import products
from slidewise.engine.output import Output
from slidewise.engine.plan import Plan
from slidewise.engine.sweep_rows import CHUNK
from slidewise.engine.whole import reached, runs_within
from slidewise.kernels.ops import Ops
from slidewise.kernels.spans import validity
from slidewise.sharing.events import SLICE, build_events
from slidewise.sharing.flatfit import FlatFIT
from slidewise.swag.subtract_on_evict import SubtractOnEvict
from slidewise.swag.two_stacks_lite import TwoStacksLite
from slidewise.windows import bounds
from slidewise.windows.window import Trailing, Window

FEWEST = 2
"""So many windows are worth sharing."""

SMALLEST = 2**16
"""The fewest rows of a chunk, but for the last."""


@dataclass(frozen=True)
class Shared:
    """Outputs of several windows that one loop answers: per window one joint output, and those it stands for."""

    joints: tuple[Output, ...]
    members: tuple[tuple[Output, ...], ...]

    @property
    def ops(self) -> Ops:
        """The functions of all of them, of one product."""
        return self.joints[0].ops

    @property
    def windows(self) -> tuple[Window, ...]:
        """Its windows, in the plan's order."""
        return tuple(joint.window for joint in self.joints)


def shared_work(plan: Plan) -> tuple[list[Shared], list[Output]]:
    """What is to be answered together over whole columns, and the outputs that are left."""
    groups: dict[Any, dict[int, list[Output]]] = {}
    for output in plan.outputs:
        if _serves(output):
            key = (output.window.include_current, output.inputs, output.mask)
            groups.setdefault(key, {}).setdefault(id(output.window), []).append(output)
    found = [one for windows in groups.values() if len(windows) >= FEWEST for one in _joined(list(windows.values()))]
    taken = {id(output) for one in found for members in one.members for output in members}
    return found, [output for output in plan.outputs if id(output) not in taken]


def _serves(output: Output) -> bool:
    window, choice, ops = output.window, output.choice, output.ops
    if not isinstance(window, Trailing) or window.axis == "rows":
        return False
    plain = window.per_event and window.ties == "apart" and window.coarse is None
    swept = choice.structure in (TwoStacksLite, SubtractOnEvict) and not (choice.blocked or choice.tree or choice.asked)
    return plain and swept and ops.compiled and ops.tally is None


def _joined(windows: list[list[Output]]) -> list[Shared]:
    """Each window's outputs joined, the same way for all: they differ in nothing but the window."""
    if len({tuple(id(output.ops) for output in outputs) for outputs in windows}) > 1:
        return []
    per_window = []
    for outputs in windows:
        alike = [replace(output, choice=replace(output.choice, structure=TwoStacksLite)) for output in outputs]
        own = {id(copy): output for copy, output in zip(alike, outputs, strict=True)}
        per_window.append([(joint, tuple(own[id(one)] for one in members)) for joint, members in products(alike)])
    return [
        Shared(tuple(joint for joint, _ in several), tuple(members for _, members in several))
        for several in zip(*per_window, strict=True)
    ]


@dataclass(frozen=True)
class Room:
    """The answers of all windows of a `Shared`, one after the other in the same arrays, and as each window's own."""

    outs: tuple[Any, ...]
    ok: Any
    answers: list[Answers]


def room_for(shared: Shared, length: int) -> Room:
    """Room for an answer per row and window."""
    many = len(shared.joints)
    outs, ok = shared.ops.outputs(many * length), np.ones(many * length, dtype=np.bool_)
    answers = []
    for k, joint in enumerate(shared.joints):
        mine = slice(k * length, (k + 1) * length)
        answers.append(Answers(joint, tuple(out[mine] for out in outs), ok[mine]))
    return Room(outs, ok, answers)


def shared_jobs(
    plan: Plan,
    shared: Shared,
    room: Room,
    columns: dict[str, Column],
    arranged: Arranged,
    chunks: Callable[[Window, int], Iterable[tuple[int, int]]],
) -> list[Callable[[], None]]:
    """A job for each chunk, cut as the longest window has it, with as many answers as chunks of one window have.

    The loops are built here, so that threads find them built.
    """
    events_of(shared.ops)
    bounds.trailing_bounds()
    longest = max(shared.windows, key=lambda window: plan.extent(window))
    cuts = chunks(longest, max(CHUNK // len(shared.windows), SMALLEST))
    return [partial(_run, plan, shared, room, columns, arranged, *chunk) for chunk in cuts]


def events_of(ops: Ops) -> Callable[..., Any]:
    """The loop of one product; built once."""
    loop: Callable[..., Any] = ops.built("events", lambda: build_events(ops, FlatFIT(ops, 1).steps()))
    return loop


def _run(
    plan: Plan, shared: Shared, room: Room, columns: dict[str, Column], arranged: Arranged, first: int, last: int
) -> None:
    """Rows `[first, last)` of all windows: their bounds, then one loop."""
    windows, ops, times = shared.windows, shared.ops, arranged.times
    before = np.array([plan.extent(window) for window in windows], dtype=times.dtype)
    runs = runs_within(arranged, first, last)[:, :3]
    base = int(runs[0, 0])
    if base < first:
        base = reached(times, base, first, before.max(), 0)
    runs = np.maximum(runs - base, 0)
    rows = last - base
    lo = np.empty(len(windows) * rows, dtype=np.int64)
    longest = bounds.trailing_bounds()(times[base:last], runs, before, rows, lo)
    size = SLICE
    while size < longest + SLICE:
        size *= 2
    final = FlatFIT(ops, size // SLICE)
    scratch = (ops.columns(size), ops.columns(SLICE), ops.columns(SLICE), np.zeros(SLICE, dtype=np.int64))
    values, valid = inputs_of(shared.joints[0], parts_of(shared.joints[0], columns, base, last))
    least = np.array([window.min_rows for window in windows], dtype=np.int64)
    skip = 0 if windows[0].include_current else 1
    outs, ok, apart = tuple(out[base:] for out in room.outs), room.ok[base:], int(arranged.starts[-1])
    events_of(ops)(final.cols, final.R, *scratch, values, validity(valid), valid is not None, runs, skip, lo, rows,
                   least, apart, outs, ok)  # fmt: skip
