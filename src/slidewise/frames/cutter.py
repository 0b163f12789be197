"""A kind of frame, folded one event at a time: the step of frames/fold.py, and when two states are as good as equal.

Two runs agree for ever once they agree in what decides what follows: whether a frame is open and has a value, the next
fragment, and the kind's own state; how many events are in it only if there is a `max_count`, when it began only if
there is a `max_duration`. O(1).
"""

from __future__ import annotations

import math
from typing import Any

from slidewise.errors import ArgumentError
from slidewise.frames.code import object_code, silence_code
from slidewise.frames.fold import FoldCode, build_step
from slidewise.frames.kind import Frame, Silence, Total
from slidewise.frames.live import Event, State
from slidewise.frames.work import Work
from slidewise.kernels.ops import Ops


class Cutter:
    """The fold of one kind; `total` are the functions of an aggregate with a limit, `floats` says that times are."""

    def __init__(self, kind: Frame, work: Work, total: Ops | None = None, *, floats: bool = False) -> None:
        self.kind = kind
        self.work = work
        self.floats = floats
        if isinstance(kind, Silence):
            self.code: FoldCode = silence_code(kind.gap, floats=floats, compiled=False)
        else:
            self.code = object_code(kind, total)
        self.most = (kind.max_count or 0, kind.max_duration is not None, kind.max_duration or 0)
        self.initial: State = self.fresh(0)
        self._step = build_step(self.code, floats=floats)

    def fresh(self, following: int) -> State:
        """The state before an event that opens a frame which is fragment number `following`."""
        return (False, False, 0, 0, 0, following, self.code.initial)

    def step(self, state: State, event: Event) -> tuple[State, int]:
        """The state after the event, and what it did: ENDS, OPENS, ENDS_WITH."""
        self.work.events += 1
        given = (state, self.code.params, self.most, event.inputs, 0, event.key[0], event.ok)
        if not isinstance(self.kind, Total):
            return self._step(*given)  # type: ignore[no-any-return]
        try:
            return self._step(*given)  # type: ignore[no-any-return]
        except TypeError as error:
            raise ArgumentError(
                f"kind={self.kind!r}: its aggregate answers no number; expected one that does"
            ) from error

    def beyond(self, t: Any, begun: Any) -> bool:
        """True if an event at `t` would make a frame too long."""
        return bool(t - begun > self.most[2] if self.floats else t > begun + self.most[2])

    def same(self, a: State, b: State) -> bool:
        """True if two runs that are in these states after the same event agree from there on."""
        if a[0] != b[0] or a[1] != b[1] or a[5] != b[5]:
            return False
        if a[0] and self.most[0] and (a[2] != b[2] or a[4] != b[4]):
            return False
        if a[0] and self.most[1] and (a[3] != b[3] or a[4] != b[4]):
            return False
        return alike(a[6], b[6])


def alike(a: Any, b: Any) -> bool:
    """Equal to the bit: NaN equals NaN, 0.0 is not -0.0, 1 is not 1.0.

    >>> alike((1, math.nan), (1, math.nan)), alike(0.0, -0.0), alike(1, 1.0)
    (True, False, False)
    """
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, float):
        return (a == b and math.copysign(1.0, a) == math.copysign(1.0, b)) or (a != a and b != b)
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(map(alike, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(alike(a[name], b[name]) for name in a)
    try:
        return bool(a == b)
    except Exception:  # a user's state that cannot be compared is never equal: the repair goes on to the end
        return False
