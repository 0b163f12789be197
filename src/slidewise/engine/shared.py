"""Windows of one call that share their slices: each row lifted once for all of them (sharing/events.py).

    {"1m": ..., "1h": ..., "7d": ...} x [mean, max, stddev]  ──►  one loop over the rows, 9 answers each

Windows are shared if they look back along the order from every event, and do not tie rows together; outputs of them if
they compile, read the same columns and the user did not name their algorithm. Measured: with two to six windows this
takes 0.5 to 0.8 of the time of sweeping each. A fixed number of rows stays with the blocked kernel, which has neither
bounds to read nor windows to move, and took 0.3 to 0.6 of the time; tallies, policies and windows that look ahead keep
loops of their own. Over whole columns `shared_jobs` runs it, where rows come in pieces engine/carry.py does.

Windows with a step share by a `SharedPlan`, of rows as well as along integers and times (engine/composite.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from slidewise.engine.answers import Answers, inputs_of
from slidewise.engine.arrange import Arranged
from slidewise.engine.columns import Column
from slidewise.engine.joint import products
from slidewise.engine.output import Output
from slidewise.engine.plan import Plan
from slidewise.engine.sweep_rows import CHUNK
from slidewise.engine.whole import reached, runs_within
from slidewise.kernels.ops import Ops
from slidewise.kernels.spans import validity
from slidewise.sharing.events import SLICE, banks_of, build_events, places_for
from slidewise.swag.bank import Bank
from slidewise.swag.structure import NEVER
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
        if _serves(output, plan.unit):
            key = (output.window.include_current, output.inputs, output.mask)
            groups.setdefault(key, {}).setdefault(id(output.window), []).append(output)
    found = [one for windows in groups.values() if len(windows) >= FEWEST for one in _joined(list(windows.values()))]
    taken = {id(output) for one in found for members in one.members for output in members}
    return found, [output for output in plan.outputs if id(output) not in taken]


def _serves(output: Output, unit: str | None) -> bool:
    window, choice, ops = output.window, output.choice, output.ops
    if not isinstance(window, Trailing) or (window.axis == "rows" if window.per_event else unit == "float"):
        return False
    plain = window.ties == "apart" and window.coarse is None
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
    """The answers of all windows of a `Shared`, each window's in arrays of its own."""

    outs: tuple[tuple[Any, ...], ...]
    ok: tuple[Any, ...]
    joints: tuple[Output, ...]

    @property
    def answers(self) -> list[Answers]:
        """As those of each window's joint output."""
        return [Answers(*one) for one in zip(self.joints, self.outs, self.ok, strict=True)]


def room_for(shared: Shared, length: int, wanted: Any = None) -> Room:
    """Room for an answer per row and window; `wanted` says which are, None: all."""
    outs = tuple(shared.ops.outputs(length) for _ in shared.joints)
    ok = tuple(np.ones(length, dtype=np.bool_) if wanted is None else np.array(wanted) for _ in shared.joints)
    return Room(outs, ok, shared.joints)


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
    loop: Callable[..., Any] = ops.built("events", lambda: build_events(ops))
    return loop


def _run(
    plan: Plan, shared: Shared, room: Room, columns: dict[str, Column], arranged: Arranged, first: int, last: int
) -> None:
    """Rows `[first, last)` of all windows: their bounds, then one loop."""
    windows, times = shared.windows, arranged.times
    before = np.array([plan.extent(window) for window in windows], dtype=times.dtype)
    runs = runs_within(arranged, first, last)[:, :3]
    base = int(runs[0, 0])
    if base < first:
        base = reached(times, base, first, before.max(), 0)
    runs = np.maximum(runs - base, 0)
    lo = np.empty(len(windows) * (last - base), dtype=np.int64)
    longest = bounds.trailing_bounds()(times[base:last], runs, before, last - base, lo)
    banks = banks_of(shared.ops)
    for bank, places in zip(banks, places_for(longest), strict=True):
        bank.add(places)
    zeros = np.zeros(len(runs), dtype=np.int64)
    table = np.stack([zeros, zeros + 1, runs[:, 0], runs[:, 1], runs[:, 2], runs[:, 2], zeros], axis=1)
    parts = {name: columns[name].part(base, last) for name in shared.joints[0].needs}
    outs = tuple(tuple(out[base:] for out in mine) for mine in room.outs)
    run_shared(shared, banks, parts, table, lo, last - base, outs, tuple(ok[base:] for ok in room.ok))


def run_shared(
    shared: Shared,
    banks: tuple[Bank, Bank],
    columns: dict[str, Column],
    table: Any,
    lo: Any,
    stride: int,
    outs: tuple[tuple[Any, ...], ...],
    ok: tuple[Any, ...],
    *,
    answer: bool = True,
) -> None:
    """The loop over these runs (sharing/events.py); `answer` False moves the windows and lowers nothing."""
    ops, (rows, slices) = shared.ops, banks
    values, valid = inputs_of(shared.joints[0], columns)
    least = np.array([window.min_rows if answer else NEVER for window in shared.windows], dtype=np.int64)
    skip = 0 if shared.windows[0].include_current else 1
    scratch = (ops.columns(SLICE), np.zeros(SLICE, dtype=np.int64))
    given = (values, validity(valid), valid is not None, table, skip, lo, stride, least, outs, ok)
    events_of(ops)(rows.cols, rows.regs, slices.cols, slices.regs, *scratch, *given)
