"""The options of a stream, checked before anything starts: what a stream cannot do is refused by name.

`emit`   "event": each row once, when final (the default); "window": the same for windows with a step and sessions;
         "update": each row at once, corrected when others come; "change": those that differ from the row before
`late`   what comes after its answer is final: "drop" it (and count it), send it out in a "column", or stop with "error"
`idle`   after how long a silence a key begins anew and its state goes
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql.types import StructType, TimestampType

from slidewise.duration import nanoseconds
from slidewise.engine.changes import OP, VERSION
from slidewise.engine.keyed import HIDDEN
from slidewise.engine.plan import CLOSED, Plan
from slidewise.engine.reach import refuse_unbounded
from slidewise.errors import ArgumentError, bad, listed
from slidewise.frames.kind import Frame
from slidewise.spark.bucket import Manner
from slidewise.spark.pack import HISTORY, NUMBER

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

LATE = "late"
"""The column that flags late rows under `late="column"`."""


@dataclass(frozen=True)
class Options:
    """What was asked of a stream."""

    manner: Manner
    lateness: Any
    late_column: str | None
    frames: bool
    """True if rows are frames, which a changelog says to be closed or open."""

    @property
    def watermark_delay(self) -> str:
        """The lateness as Spark's interval."""
        nanos = 0 if self.lateness is None else nanoseconds(self.lateness, "lateness", or_zero=True)
        return f"{-(-nanos // 1_000_000)} milliseconds"


def checked(
    df: DataFrame,
    plan: Plan,
    aggregates: Any,
    schema: StructType,
    *,
    presorted: bool,
    lateness: Any,
    emit: Any,
    late: Any,
    idle: Any,
    initial: Any,
) -> Options:
    """The options, or an `ArgumentError` that says what is wrong with them."""
    if presorted:
        raise ArgumentError("presorted=True: is for batches; a stream is ordered by its watermark")
    _check_names(df, plan)
    refuse_unbounded(plan, aggregates)
    if lateness is not None:
        nanoseconds(lateness, "lateness", or_zero=True)
    how = _emit(plan, emit)
    if how in ("update", "change"):
        closed = (CLOSED,) if isinstance(plan.windows[0], Frame) else ()
        _refuse_taken(schema, f"emit={how!r}", (OP, VERSION, *closed))
    if how == "update" and not plan.per_event:
        _refuse_beside_update(plan, idle, initial)
    treated = _late(plan, schema, lateness, late)
    if initial is not None:
        check_history(df, plan, initial)
    manner = Manner(treated, how, None if idle is None else plan_units(plan, nanoseconds(idle, "idle")))
    frames = isinstance(plan.windows[0], Frame)
    return Options(manner, lateness, LATE if treated == "column" else None, frames)


def plan_units(plan: Plan, nanos: int) -> int:
    """A length of time in units of the order, never rounded to nothing."""
    return max(1, nanos // 1000) if plan.unit is None else max(1, plan.in_units(nanos))


def _check_names(df: DataFrame, plan: Plan) -> None:
    for name in df.columns:
        if name in (*HIDDEN, NUMBER, HISTORY):
            raise ArgumentError(f"data: has a column named {name!r}, which a stream uses itself; expected another name")
    order = plan.order[0]
    kind = df.schema[order].dataType
    if not isinstance(kind, TimestampType):  # Spark has no watermark on timestamp_ntz
        raise ArgumentError(
            f"order={order!r}: is of type {kind.simpleString()}; a stream is ordered by event time; "
            "expected a timestamp column (cast it)"
        )


def _emit(plan: Plan, emit: Any) -> str:
    final = "event" if plan.per_event else "window"
    allowed = (final, "update", *(("change",) if plan.per_event else ()))
    if emit not in (None, *allowed):
        raise ArgumentError(f"emit={emit!r}: expected None or one of {listed(allowed)} for {plan.windows[0]!r}")
    return final if emit is None else str(emit)


def _refuse_beside_update(plan: Plan, idle: Any, initial: Any) -> None:
    """Windows that a changelog could not tell apart, or would withdraw without having sent them."""
    window = plan.windows[0]
    if idle is not None and not window.by_time:
        raise ArgumentError(
            f"idle={idle!r}: numbers the rows of a key anew, so a changelog of {window!r} could not tell its windows "
            'apart; expected idle=None, or emit="window"'
        )
    if initial is not None and window.by_time:
        raise ArgumentError(
            f'initial=...: windows that history began would be corrected without having been sent, with emit="update" '
            f'and {window!r}; expected initial=None, or emit="window"'
        )


def _late(plan: Plan, schema: StructType, lateness: Any, late: Any) -> str:
    if late is None:
        late = "error" if lateness is None else "drop"
    if late not in ("drop", "column", "error"):
        raise bad("late", late, "'drop', 'column' or 'error'")
    if late == "column" and not plan.per_event:
        raise ArgumentError(f"late='column': expected a window with an answer per event, not {plan.windows[0]!r}")
    if late == "column":
        _refuse_taken(schema, "late='column'", (LATE,))
    return str(late)


def _refuse_taken(schema: StructType, asked: str, names: tuple[str, ...]) -> None:
    for name in names:
        if name in schema.names:
            raise ArgumentError(f"{asked}: adds a column {name!r}, and there is one; expected another name for it")


def check_history(df: DataFrame, plan: Plan, initial: Any) -> None:
    """Raise `ArgumentError` unless `initial` is a batch with the columns that windows need, of the stream's types."""
    if not hasattr(initial, "isStreaming") or initial.isStreaming:
        raise ArgumentError(f"initial={type(initial).__name__}: expected a batch DataFrame with the stream's columns")
    theirs = {field.name: field.dataType for field in initial.schema.fields}
    for name in dict.fromkeys((*plan.by, *plan.order, *plan.columns)):
        if name not in theirs:
            raise ArgumentError(f"initial: has no column {name!r}, which the windows need; there are {listed(theirs)}")
        if theirs[name] != df.schema[name].dataType:
            raise ArgumentError(
                f"initial: column {name!r} is of type {theirs[name].simpleString()}; "
                f"expected {df.schema[name].dataType.simpleString()}, as in the stream"
            )
