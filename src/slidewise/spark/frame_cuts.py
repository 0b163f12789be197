"""Where the frames of one long order may be cut into ranges: at rows that begin a frame whatever came before the range.

    nominal cuts   ──────── range 0 ───────┤──────── range 1 ───────┤──────── range 2 ──────
    1. speculate   each range is folded as if nothing came before it; its last state is what the next begins with
    2. verify      each range is folded again from there, until both runs agree; where does a frame of it begin?
    cuts           ─────────────────────────┤f────────────────────────┤f────────────────────

A speculation that a verified range does not bear out ends the cutting: what follows stays in one range. Kinds whose
closes depend on no more than the row before (threshold, boundary and session, where nothing is closed by force) need no
first step. Then each range begins with a frame, so that nothing has to be handed on from one to the next. Two small
states per range reach the driver.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from slidewise.engine.framing import Framer
from slidewise.engine.order import order_values
from slidewise.engine.plan import Plan
from slidewise.frames.kind import Boundary, Custom, Frame, Silence, Threshold
from slidewise.spark.pack import refuse_nulls
from slidewise.spark.recipe import Recipe, plan_from

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

NUMBER = "__slidewise_range"
FOUND = f"{NUMBER} int, start binary, state binary"
TRUE, GUESSED = 0, 1
"""Slots: the run from what came before, and the run from nothing."""


def can_cut_frames(plan: Plan, window: Frame) -> bool:
    """True if a range can begin with a frame, and states can travel."""
    carries = isinstance(window, Custom) and window.carries
    return window.axis != "rows" and not carries and Framer(plan, window).code.compiled


def starts_of(ranged: DataFrame, recipe: Recipe, plan: Plan, ranges: int) -> list[int | float]:
    """Where ranges may begin; rows have the number of their nominal range, sorted within it. Two jobs at most."""
    (window,) = plan.windows
    assert isinstance(window, Frame)
    before: dict[int, bytes] = {}
    if window.fragments or not isinstance(window, Threshold | Boundary | Silence):
        guessed = ranged.mapInArrow(_speculator(recipe.packed()), FOUND).collect()
        before = {row[0] + 1: bytes(row["state"]) for row in guessed}
    verified = ranged.mapInArrow(_verifier(recipe.packed(), before), FOUND).collect()
    found = {row[0]: row for row in verified}
    starts: list[int | float] = []
    for number in range(1, ranges):
        if before and not _borne_out(found.get(number - 1), before.get(number)):
            break
        if number in found and found[number]["start"] is not None:
            starts.append(_unpacked(bytes(found[number]["start"]), floats=plan.unit == "float"))
    return starts


def _borne_out(verified: Any, guessed: bytes | None) -> bool:
    """True if a verified range ended as it was speculated."""
    if verified is None or guessed is None:
        return False
    return verified["state"] is None or bytes(verified["state"]) == guessed


Runner = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def _speculator(packed: bytes) -> Runner:
    """Fold each range from nothing; its last state."""

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        plan = plan_from(packed)
        framer, number = _framer(plan), None
        for batch in batches:
            if batch.num_rows:
                number, fresh = batch.column(NUMBER)[0].as_py(), number is None
                _feed(plan, framer, batch, [GUESSED], fresh)
        if number is not None:
            yield _found(number, None, framer.state(GUESSED))

    return run


def _verifier(packed: bytes, before: dict[int, bytes]) -> Runner:
    """Fold each range from the state before it until it agrees with the run from nothing; where its frames begin."""

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        plan = plan_from(packed)
        framer, number, start, agreed, newest, first = _framer(plan), None, None, False, None, True
        for batch in batches:
            if not batch.num_rows:
                continue
            fresh = number is None
            number = batch.column(NUMBER)[0].as_py()
            known = number in before
            if fresh and known:
                framer.begin(TRUE, before[number])
            times = order_values(plan, batch.column(plan.order[0]))
            found = _feed(plan, framer, batch, [TRUE, GUESSED], fresh, known)
            if start is None:
                start, first = _first_start(found, times, newest, first and not known)
            newest = times[-1]
            agreed = framer.agree(TRUE, GUESSED)
            if start is not None and agreed:
                break
        if number is not None:
            yield _found(number, start, None if agreed else framer.state(TRUE))

    return run


def _framer(plan: Plan) -> Framer:
    (window,) = plan.windows
    assert isinstance(window, Frame)
    framer = Framer(plan, window)
    framer.grow(2)
    return framer


def _feed(
    plan: Plan, framer: Framer, batch: pa.RecordBatch, slots: list[int], fresh: bool, known: bool = False
) -> tuple[Any, Any]:
    """Put rows into slots; of the first, the rows that begin frames, and which fragments these are."""
    refuse_nulls(batch, plan.order)
    times = order_values(plan, batch.column(plan.order[0]))
    columns = plan.enter(batch.column, batch.num_rows)
    begins: tuple[Any, Any] = (np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))
    for slot in slots:
        anew = fresh and not (slot == TRUE and known)
        runs = np.array([[slot, anew, 0, batch.num_rows]], dtype=np.int64)
        found = framer.begins(columns, times, runs)
        begins = found if slot == slots[0] else begins
    return begins


def _first_start(begins: tuple[Any, Any], times: Any, newest: Any, skip: bool) -> tuple[Any, bool]:
    """The time of the first frame that begins anew, after rows of another time; without a state the first is unsure."""
    rows, fragments = begins
    for row, fragment in zip(rows.tolist(), fragments.tolist(), strict=True):
        if skip:
            skip = False
            continue
        before = times[row - 1] if row else newest
        if fragment == 0 and before is not None and before < times[row]:
            return times[row], skip
    return None, skip


def _found(number: int, start: Any, state: bytes | None) -> pa.RecordBatch:
    stored = None if start is None else np.asarray(start).tobytes()
    columns = [pa.array([number], pa.int32()), pa.array([stored], pa.binary()), pa.array([state], pa.binary())]
    return pa.RecordBatch.from_arrays(columns, [NUMBER, "start", "state"])


def _unpacked(stored: bytes, *, floats: bool) -> int | float:
    found: int | float = np.frombuffer(stored, dtype=np.float64 if floats else np.int64)[0].item()
    return found
