"""How far a stream's windows reach: which rows must stay, which rows wait for others, what must be remembered.

    kept for later answers      the rows of the last `width` of time, the last `rows` of each key, a policy's window
    remembered without rows     an `expanding` total, an open `session` or frame, how many rows a key had (memory.py)
    waiting                     rows whose windows look ahead: by `ahead` in time, by `ahead_rows` of their key

Everything a `KeyedWindows` may forget, it forgets by these figures.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from slidewise.duration import in_words
from slidewise.engine.plan import Plan
from slidewise.errors import ArgumentError
from slidewise.frames.kind import Frame, Silence
from slidewise.monoids.aggregate import Aggregate, Family
from slidewise.swag.running import Running
from slidewise.swag.whole_tally import WholeTally
from slidewise.windows.policy import DataWindow
from slidewise.windows.window import Around, Between, Expanding, Session, Trailing, Window

FOLDS = (Running, WholeTally)
"""Structures that hold one total: it can be written down in place of the rows."""


@dataclass(frozen=True)
class Reach:
    """Of a plan; lengths of time in its units.

    Attributes
    ----------
    width
        A row this much older than the watermark is in no later window by time.
    rows
        So many of the newest rows of each key are in windows of rows that are yet to be answered.
    ahead, ahead_rows
        A row is answered once the watermark is so much further, and so many later rows of its key are there.
    steps
        The length of each window by time, and the distance to the next, if there is a row per window.
    row_steps
        The same of windows of rows; the distance is 1 for windows at every row.
    at_once
        True if a row goes into the windows as soon as the watermark reaches it.
    numbers
        True if answers say which row of its key they are at, so that rows are counted for ever.
    measured
        True if the data decides how many rows of a key are needed (a slide policy, a session or frame kept as rows).
    lasting
        True if some window of a key never empties by itself, or a row of it is held.
    """

    width: Any
    rows: int
    ahead: Any
    ahead_rows: int
    steps: tuple[tuple[Any, Any], ...]
    row_steps: tuple[tuple[int, int], ...]
    at_once: bool
    numbers: bool
    measured: bool
    lasting: bool

    @property
    def tracked(self) -> bool:
        """True if it must be known which row of its key each row is, so that it can be forgotten."""
        return self.measured or self.rows > 0 or self.ahead_rows > 0


def reach_of(plan: Plan, hold: int = 0) -> Reach:
    """The reach of a plan's windows; `hold` more rows of each key wait than must."""
    first = plan.windows[0]
    session = isinstance(first, Session | Frame)
    by_rows = [_rows(window) for window in plan.windows]
    around = [window for window in plan.windows if isinstance(window, Around)]
    kept = [window for window in plan.windows if isinstance(window, DataWindow) or _as_rows(plan, window)]
    ahead = max((plan.amount(one, one.after) for one in around if one.by_time), default=0)
    behind = max((_behind(plan, window) for window in plan.windows), default=0)
    return Reach(
        width=behind + ahead,
        rows=max(by_rows),
        ahead=ahead,
        ahead_rows=hold + max((int(one.after) for one in around if not one.by_time), default=0),
        steps=() if plan.per_event or session or not first.by_time else tuple(_steps(plan)),
        row_steps=tuple((n, int(w.step or 1)) for n, w in zip(by_rows, plan.windows, strict=True) if n),
        at_once=plan.per_event or session or not first.by_time,
        numbers=not plan.per_event and not first.by_time,
        measured=bool(kept),
        lasting=hold > 0
        or any(rows > 0 for rows in by_rows)
        or any(isinstance(window, Expanding | DataWindow) for window in plan.windows)
        or (isinstance(first, Frame) and not isinstance(first, Silence)),
    )


def explain_reach(plan: Plan) -> str:
    """What a stream keeps for these windows, in words."""
    reach, kept = reach_of(plan), []
    if reach.width and not (isinstance(plan.windows[0], Session | Frame) and not reach.measured):
        kept.append(f"the rows of the last {in_words(int(reach.width) * (1 if plan.unit == 'ns' else 1000))}")
    if reach.rows:
        kept.append(f"the last {reach.rows} rows of each key")
    if any(isinstance(window, DataWindow) for window in plan.windows):
        kept.append("the rows that slide policies have not evicted")
    if any(is_folded(plan, window) for window in plan.windows):
        kept.append("a total per key and aggregate")
    elif isinstance(plan.windows[0], Session | Frame):
        kept.append(f"the rows of open {'frames' if isinstance(plan.windows[0], Frame) else 'sessions'}")
    if reach.numbers:
        kept.append("a row number per key")
    waits = [f"{reach.ahead_rows} later rows of their key"] if reach.ahead_rows else []
    ends = "keys stay unless idle= is given" if reach.lasting else "keys go when their windows are empty"
    return "; ".join([f"state: {', '.join(kept)}", *(f"answers wait for {one}" for one in waits), ends])


def refuse_unbounded(plan: Plan, aggregates: Any) -> None:
    """Raise `ArgumentError` for a window that a stream cannot keep in bounds."""
    for window in plan.windows:
        if isinstance(window, Between):
            raise ArgumentError(
                f"window={window!r}: may look anywhere, so a stream would have to keep every row; expected trailing or "
                "around, or a batch"
            )
    if not any(isinstance(window, Expanding) for window in plan.windows):
        return
    listed = list(aggregates) if isinstance(aggregates, (list, tuple)) else [aggregates]
    for aggregate in listed:
        source = aggregate.source if isinstance(aggregate, Aggregate) else None
        if not isinstance(source, Family):
            continue
        exact = dict(aggregate.options).get("exact", False)
        if exact or source.nature == "holistic":
            raise ArgumentError(
                f"aggregates={aggregate!r}: over expanding() it keeps every value, and a stream's state must be "
                f"bounded; expected {source.instead or 'it without exact=True'}, or a window that ends"
            )
    for output in plan.outputs:
        if isinstance(output.window, Expanding) and output.choice.structure not in FOLDS:
            raise ArgumentError(
                f"algorithm={output.choice.structure.card.name!r}: keeps every row of expanding(), and a stream's "
                "state must be bounded; expected 'auto'"
            )


def is_folded(plan: Plan, window: Window) -> bool:
    """True if a window is one total, which can be remembered without its rows."""
    if isinstance(window, Expanding):
        return True
    return isinstance(window, Session | Frame) and not _as_rows(plan, window)


def _as_rows(plan: Plan, window: Window) -> bool:
    """True for a session or frame that is kept as rows: its totals have no bounded form."""
    whole = (output.choice.structure is Running for output in plan.of(window))
    return isinstance(window, Session | Frame) and not all(whole)


def _steps(plan: Plan) -> list[tuple[Any, Any]]:
    return [(plan.extent(window), plan.in_units(window.step or 0)) for window in plan.windows]


def _behind(plan: Plan, window: Window) -> Any:
    """How far a window by time reaches back from its row; a row that waits for others needs that still."""
    if not window.by_time or (isinstance(window, Frame) and not isinstance(window, Silence)):
        return 0
    if isinstance(window, Silence):
        return plan.amount(window, window.gap)
    if isinstance(window, Trailing):
        return plan.extent(window) + plan.amount(window, window.coarse or 0)
    if isinstance(window, Around):
        return plan.amount(window, window.before)
    return sum(plan.amount(window, length) for length in window.lengths)


def _rows(window: Window) -> int:
    if window.rows is not None:
        return window.rows + (0 if window.include_current else 1)
    return int(window.before) + 1 if isinstance(window, Around) and window.axis == "rows" else 0
