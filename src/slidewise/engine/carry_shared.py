"""Outputs that several windows share, where rows come in pieces: the partials that live on between calls.

lanes (engine/carry.py)  what each window is asked ──► one loop over the rows for all of them ──► answers
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from slidewise.engine.answers import Answers, apart
from slidewise.engine.columns import Column
from slidewise.engine.composite import Bounds, Together, cuts_of, room_for_steps, run_hops
from slidewise.engine.plan import Plan
from slidewise.engine.runs import Asked, Runs
from slidewise.engine.shared import Room, Shared, room_for, run_shared
from slidewise.sharing.events import banks_of, places_for
from slidewise.sharing.hops import hop_banks
from slidewise.swag.bank import Bank
from slidewise.windows.window import Window


class HasAsked(Protocol):
    """A window's lane."""

    window: Window
    asked: Asked


class _Banked:
    """Two banks with a slot per key: partials of rows, and of slices."""

    shared: Shared
    banks: tuple[Bank, Bank]

    @property
    def all_banks(self) -> list[Bank]:
        """Everything that has a slot per key."""
        return list(self.banks)

    def add_slot(self) -> None:
        for bank in self.all_banks:
            bank.add()

    def copy(self, sources: Any, targets: Any) -> None:
        """Have slots hold what others hold."""
        for bank in self.all_banks:
            for source, target in zip(sources.tolist(), targets.tolist(), strict=True):
                bank.copy(source, target)

    def _apart(self, room: Room) -> list[Answers]:
        """The answers of each output out of those of the products."""
        members = [output for several in self.shared.members for output in several]
        return apart(members, list(zip(self.shared.joints, self.shared.members, strict=True)), room.answers)


class SharedLanes(_Banked):
    """Outputs of several windows that share their slices (engine/shared.py); their lanes keep the bounds."""

    def __init__(self, shared: Shared, lanes: Sequence[HasAsked]) -> None:
        self.shared = shared
        self.lanes = [lane for window in shared.windows for lane in lanes if lane.window is window]
        self.banks = banks_of(shared.ops)

    def events(self, columns: dict[str, Column], runs: Runs, answer: bool) -> list[Answers]:
        """The answers of all windows for the rows that their lanes were just asked for."""
        asked = [lane.asked for lane in self.lanes]
        one, keep, many = asked[0], np.minimum.reduce([mine.keep for mine in asked]), len(asked[0].lo)
        lo = np.concatenate([mine.lo for mine in asked])
        room = room_for(self.shared, many, one.wanted)
        run = np.repeat(np.arange(len(runs)), one.end - one.begin)
        need = one.end - keep
        oldest = np.minimum.reduce([mine.lo for mine in asked])
        np.maximum.at(need, run, (one.begin - one.first)[run] + np.arange(many) + 1 - oldest)
        for bank, places in zip(self.banks, places_for(need), strict=True):
            bank.compact()
            bank.reserve_all(runs.slots, places)
        fresh = np.asarray(runs.fresh, dtype=np.int64)
        table = np.stack([runs.slots, fresh, one.begin, one.begin, one.end, keep, one.first - one.begin], axis=1)
        run_shared(self.shared, self.banks, columns, table, lo, many, room.outs, room.ok, answer=answer)
        return self._apart(room)


class SharedHops(_Banked):
    """Outputs of several windows with a step that a shared plan answers (engine/composite.py)."""

    def __init__(self, plan: Plan, shared: Shared) -> None:
        self.shared = shared
        self.banks = hop_banks(shared.ops)
        self.cuts = cuts_of(plan, shared)
        self.mine = [number for number, window in enumerate(plan.windows) if any(window is w for w in shared.windows)]

    def steps(
        self,
        columns: dict[str, Column],
        times: Any,
        runs: Runs,
        found: list[Bounds],
        rows: Together,
        keep: Any,
        answer: bool,
    ) -> list[Answers]:
        """The answers of its windows that are due, among the rows of all."""
        room, none = room_for_steps(self.shared, self.mine, found, rows), np.zeros(len(runs), dtype=np.int64)
        fresh = np.asarray(runs.fresh, dtype=np.int64)
        table = np.stack([runs.slots, fresh, runs.starts[:-1], runs.starts[1:], none, none, keep], axis=1)
        given = (self.shared, self.banks, self.cuts, columns, times, table, self.mine, found, rows, room)
        run_hops(*given, answer=answer)
        return self._apart(room)
