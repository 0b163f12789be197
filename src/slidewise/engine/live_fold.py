"""The frames of a window that is fed event by event: where it is cut.

An event that closes the open frame empties the window before it goes in; one that is in no frame does not go in at all.
"""

from __future__ import annotations

from datetime import date
from typing import Any

import numpy as np

from slidewise.engine.fed import Fed
from slidewise.errors import ArgumentError, SnapshotError, shown
from slidewise.frames.code import object_code
from slidewise.frames.fold import ENDS, ENDS_WITH, FoldCode, build_step
from slidewise.frames.kind import Custom, Frame, Total
from slidewise.kernels.ops import Ops, object_ops
from slidewise.monoids.codec import codec_of, decode_plain, encode_plain
from slidewise.monoids.kinds import ACCEPTS, Kind
from slidewise.monoids.monoid import Monoid
from slidewise.windows.window import Axis


def refuse_columns(window: Frame) -> None:
    """Raise `ArgumentError` for a frame of columns: a live window is fed values."""
    if any(column is not None for column in window.reads):
        raise ArgumentError(f"window={window!r}: names a column, and a live window is fed values; leave it out")


def axis_of(window: Frame, time: object) -> Axis:
    """What the frames of a window go along, as its first event's time tells."""
    if window.axis != "any":
        return window.axis
    if time is None:
        return "rows"
    return "time" if isinstance(time, (date, np.datetime64)) or hasattr(time, "to_datetime64") else "order"


class LiveFold:
    """The fold of one live window; O(1) per event."""

    def __init__(self, window: Frame, kind: Kind | None) -> None:
        refuse_columns(window)
        self.window = window
        self.fed = Fed(window.aggregate, "aggregate") if isinstance(window, Total) else None
        self.full = False
        """The newest event closed its own frame, so the next one finds the window empty."""
        self.state: tuple[Any, ...] = ()
        self._monoid: Monoid | None = None
        self.start(kind)

    def start(self, kind: Kind | None) -> None:
        """Make the fold for values of this kind (None: not known yet); all events so far were null."""
        self._code = object_code(self.window, self._total(kind))
        self._step = build_step(self._code, floats=isinstance(self._longest, float))
        if not self.state:
            self.state = (False, False, 0, 0, 0, 0, self._code.initial)
        elif self.fed is not None:  # of nulls the aggregate has nothing; other kinds know no more than they did
            self.state = (*self.state[:-1], self._code.initial)

    @property
    def code(self) -> FoldCode:
        """The functions of the kind."""
        return self._code

    def written(self) -> str:
        """Where the fold stands, as text; a state of the user's must be plain data, a partial have a codec."""
        *rest, own = self.state
        try:
            return encode_plain((tuple(rest), self._codec[0](own), self.full)).decode()
        except SnapshotError as error:
            if self.fed is not None:
                raise
            raise SnapshotError(f"the state of {self.window!r} cannot be stored: {error}") from error

    def read(self, stored: str) -> None:
        """Go on where `written` was taken."""
        rest, own, self.full = decode_plain(stored.encode())
        self.state = (*rest, self._codec[1](own))

    @property
    def _codec(self) -> Any:
        return (encode_plain, decode_plain) if self._monoid is None else codec_of(self._monoid)

    def take(self, value: Any, position: int, now: Any) -> tuple[bool, bool]:
        """Whether this event ends what the window holds, and whether it is in a frame itself."""
        window, when = self.window, position if now is None else now
        ok = value is not None or not window.reads
        inputs: tuple[list[Any], ...] = ([value],)
        if self.fed is not None:
            ok = self.fed.counts(value)
            inputs = tuple([part] for part in self.fed.taken(value, position, now)) if ok else inputs
        most = (window.max_count or 0, window.max_duration is not None, self._longest)
        try:
            self.state, action = self._step(self.state, self._code.params, most, inputs, 0, when, ok)
        except TypeError as error:
            if isinstance(window, Custom):
                raise
            if isinstance(window, Total):
                raise ArgumentError(
                    f"window={window!r}: its aggregate answers no number; expected one that does"
                ) from error
            raise ArgumentError(f"value={shown(value)}: {window!r} is cut by numbers; expected one") from error
        ends, self.full = bool(action & ENDS) or self.full, bool(action & ENDS_WITH)
        return ends, bool(self.state[0]) or self.full

    @property
    def _longest(self) -> Any:
        return 0 if self.window.max_duration is None else self.window.max_duration

    def _total(self, kind: Kind | None) -> Ops | None:
        """The functions of the limited aggregate; until its kind is known, those of any kind that it takes."""
        if self.fed is None:
            return None
        found = self.fed.monoids([kind] if kind is not None else ACCEPTS)
        monoid = next(found, None)
        if monoid is None:
            monoid = self.fed.monoid(kind or "float")  # which says what it takes
        self._monoid = monoid
        return object_ops(monoid, len(self.fed.inputs))
