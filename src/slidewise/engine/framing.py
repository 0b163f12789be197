"""Frames over columns: where the fold of a kind (frames/fold.py) cuts, over whole columns or in pieces.

    the columns that cut ──► fold, with a state per slot ──► first and last row of each frame ──► answers

The state of a slot is what is known of the frame that is open: a few numbers, whatever it holds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from slidewise.engine.answers import Rows
from slidewise.engine.columns import Column, as_objects, dtype_of, frozen, kind_of
from slidewise.engine.order import forever
from slidewise.engine.plan import Plan
from slidewise.frames.code import boundary_code, custom_code, delta_code, silence_code, threshold_code, total_code
from slidewise.frames.fold import COUNT, FOLLOWING, FRAGMENT, INSIDE, REGISTERS, VALUED, FoldCode, fold_of
from slidewise.frames.kind import Boundary, Custom, Delta, Frame, Silence, Threshold, Total
from slidewise.kernels.spans import validity
from slidewise.monoids.codec import codec_of, decode_plain, encode_plain


class Framer:
    """The frames of one window of a plan, with room for the state of many slots."""

    def __init__(self, plan: Plan, window: Frame) -> None:
        self.plan = plan
        self.window = window
        self.uses = plan.uses_of(window)
        self.floats = plan.unit == "float"
        self.dtype = np.float64 if self.floats else np.int64
        self.code = code_of(plan, window)
        self.kernel = fold_of(self.code, floats=self.floats)
        self.regs = np.zeros((0, REGISTERS), dtype=np.int64)
        self.marks = np.zeros((0, 2), dtype=self.dtype)
        """The first time of the open frame, and the time of the newest row."""
        self.cols = self._room(0)

    @property
    def why(self) -> str:
        """Why the fold runs on Python objects; empty if it is machine code."""
        return self.code.why

    @property
    def codec(self) -> tuple[Callable[[Any], bytes], Callable[[bytes], Any]]:
        """How a state of Python objects becomes bytes and is read again."""
        return codec_of(self.uses[0].ops.monoid) if isinstance(self.window, Total) else (encode_plain, decode_plain)

    # ---- slots ----
    def grow(self, slots: int) -> None:
        """Have room for so many slots."""
        have = len(self.regs)
        if slots <= have:
            return
        more = max(slots - have, have, 8)
        self.regs = np.concatenate([self.regs, np.zeros((more, REGISTERS), dtype=np.int64)])
        self.marks = np.concatenate([self.marks, np.zeros((more, 2), dtype=self.dtype)])
        if self.code.compiled:
            self.cols = tuple(np.concatenate([a, b]) for a, b in zip(self.cols, self._room(more), strict=True))
        else:
            self.cols[0].extend(self._room(more)[0])

    def copy(self, sources: Any, targets: Any) -> None:
        """Have slots hold what others hold."""
        self.regs[targets], self.marks[targets] = self.regs[sources], self.marks[sources]
        for column in self.cols:
            if self.code.compiled:
                column[targets] = column[sources]
                continue
            for source, target in zip(sources.tolist(), targets.tolist(), strict=True):
                column[target] = column[source]

    def rows(self, slots: Any) -> Any:
        """How many rows the open frame of each slot has; 0 if none is open."""
        return np.where(self.regs[slots, INSIDE] > 0, self.regs[slots, COUNT], 0)

    def is_initial(self, slots: Any) -> Any:
        """Which slots are as if no row had come, and would be so again if only their last rows had.

        That is true of a threshold: whether a frame is open is known from the last row alone.
        """
        if not isinstance(self.window, Threshold) or self.window.fragments:
            return np.zeros(len(slots), dtype=np.bool_)
        return self.regs[slots, INSIDE] == 0

    def state(self, slot: int) -> bytes:
        """Where the fold of a slot stands, for another process to go on; compiled folds only."""
        own = [column[slot].item() for column in self.cols]
        return encode_plain((self.regs[slot].tolist(), self.marks[slot].tolist(), own))

    def begin(self, slot: int, stored: bytes) -> None:
        """Have a slot go on where another process stood."""
        self.regs[slot], self.marks[slot], own = decode_plain(stored)
        for column, value in zip(self.cols, own, strict=True):
            column[slot] = value

    def agree(self, one: int, other: int) -> bool:
        """True if two slots that were given the same row last will cut alike from here on; compiled folds only."""
        compared = [INSIDE, VALUED, FOLLOWING]
        compared += [COUNT, FRAGMENT] if self.window.fragments and self.regs[one, INSIDE] else []
        alike = (self.regs[one, compared] == self.regs[other, compared]).all()
        if self.window.max_duration is not None and self.regs[one, INSIDE]:
            alike &= self.marks[one, 0] == self.marks[other, 0]
        return bool(alike) and all(column[one].tobytes() == column[other].tobytes() for column in self.cols)

    def _room(self, length: int) -> tuple[Any, ...]:
        if not self.code.compiled:
            return ([None] * length,)
        return tuple(np.zeros(length, dtype=name) for name in self.code.fields)

    # ---- frames ----
    def begins(self, columns: dict[str, Column], times: Any, runs: Any) -> tuple[Any, Any]:
        """Of a single run: which of its rows begin frames, reported or not, and which fragments these are."""
        slot = int(runs[0, 0])
        _, lo, _, _, numbers = self._cut(columns, times, runs, np.zeros(1), forever(self.plan))
        open_ = bool(self.regs[slot, INSIDE])
        begun = [int(runs[0, 3] - self.regs[slot, COUNT])] if open_ else []
        number = [int(self.regs[slot, FRAGMENT])] if open_ else []
        first = np.concatenate([lo, np.array(begun, dtype=np.int64)])
        fragments = np.concatenate([numbers, np.array(number, dtype=np.int64)])
        return first[first >= 0], fragments[first >= 0]

    def frames(self, columns: dict[str, Column], times: Any, runs: Any, upto: Any, ever: Any) -> tuple[Any, ...]:
        """The frames that end in these runs: ``rows, lo, hi, counts``; `upto` and `ever` as `build_fold` takes them.

        `runs` is a table of (slot, fresh, first row, last row); `times` may be None if the order is rows.
        """
        rows, lo, hi, counts, _ = self._cut(columns, times, runs, upto, ever)
        return self._reported(rows, lo, hi, counts)

    def _cut(self, columns: dict[str, Column], times: Any, runs: Any, upto: Any, ever: Any) -> tuple[Any, ...]:
        """All frames that end in these runs, with their fragments."""
        length = int(runs[:, 3].max(initial=0))
        if times is None:
            times = self._numbers(runs, length)
        inputs, valid = self._inputs(columns)
        has_nulls, valid = valid is not None, validity(valid)
        room = length + len(runs)
        lo, hi = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64)
        starts, ends = np.empty(room, dtype=self.dtype), np.empty(room, dtype=self.dtype)
        fragments, counts = np.empty(room, dtype=np.int64), np.zeros(len(runs), dtype=np.int64)
        cut = np.zeros(len(runs), dtype=np.bool_)
        quiet = self.plan.amount(self.window, self.window.gap) if isinstance(self.window, Silence) else -1
        quiet, ever = self.dtype(quiet), self.dtype(ever)
        upto = np.asarray(upto, dtype=self.dtype)
        if not self.code.compiled:
            valid = valid.tolist()
        given = (inputs, valid, has_nulls, frozen(times), runs, upto, ever, quiet, self.regs, self.marks, self.cols)
        found = (lo, hi, starts, ends, fragments, counts, cut)
        n = self.kernel(*given, self.code.params, self._most(), *found)
        run = np.repeat(np.arange(len(runs)), counts)
        closed = np.ones(n, dtype=np.bool_)
        closed[np.cumsum(counts)[cut] - 1] = False
        rows = Rows(run, starts[:n], ends[:n], fragments[:n] if self.window.fragments else None, closed)
        return rows, lo[:n], hi[:n], counts, fragments[:n]

    def _reported(self, rows: Rows, lo: Any, hi: Any, counts: Any) -> tuple[Any, ...]:
        """Without the frames that are too short to be reported."""
        window = self.window
        if not window.min_count and window.min_duration is None:
            return rows, lo, hi, counts
        long = hi - lo >= window.min_count
        if window.min_duration is not None:
            long &= rows.ends >= rows.starts + self.plan.amount(window, window.min_duration)  # a difference may not fit
        kept = rows.take(long)
        return kept, lo[long], hi[long], np.bincount(kept.run, minlength=len(counts)).astype(np.int64)

    def _most(self) -> tuple[int, bool, Any]:
        window = self.window
        longest = 0 if window.max_duration is None else self.plan.amount(window, window.max_duration)
        return window.max_count or 0, window.max_duration is not None, self.dtype(longest)

    def _numbers(self, runs: Any, length: int) -> Any:
        """Row numbers of each key in place of times."""
        times = np.arange(length, dtype=np.int64)
        for slot, fresh, first, last in runs.tolist():
            times[first:last] += (0 if fresh else int(self.marks[slot, 1]) + 1) - first
        return times

    def _inputs(self, columns: dict[str, Column]) -> tuple[tuple[Any, ...], Any]:
        """The columns that cut, and which rows have a value in all of them; None if all have."""
        values: list[Any] = []
        valid = None
        for output in self.uses:
            chosen = [columns[name] for name in output.inputs]
            if output.mask is not None:
                mask = columns[output.mask].values
                valid = mask if valid is None else valid & mask
            for column, arrow in zip(chosen, output.types, strict=True):
                if column.valid is not None:
                    valid = column.valid if valid is None else valid & column.valid
                values.append(column.values if self.code.compiled else as_objects(column, arrow).values)
        return tuple(values), valid


def code_of(plan: Plan, window: Frame) -> FoldCode:
    """The functions of a kind for the types of its columns."""
    uses = plan.uses_of(window)
    dtypes = tuple(dtype_of(kind_of(arrow)) for output in uses for arrow in output.types)
    if isinstance(window, Threshold):
        return threshold_code(window, dtypes[0])
    if isinstance(window, Boundary):
        return boundary_code(window, dtypes[0])
    if isinstance(window, Delta):
        return delta_code(window, dtypes[0])
    if isinstance(window, Total):
        return total_code(window, uses[0].ops, len(uses[0].inputs))
    if isinstance(window, Silence):
        return silence_code(plan.amount(window, window.gap), floats=plan.unit == "float")
    assert isinstance(window, Custom)
    return custom_code(window, dtypes)
