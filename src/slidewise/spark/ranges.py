"""Where rows of one order are cut into ranges that run side by side, and which rows a range needs beside its own.

    order   ──────────── range 0 ───────────┤──────────── range 1 ───────────┤
                                    [ back ─]─ on ]                            rows that both ranges get

| window                    | a range needs                                                              |
| ------------------------- | -------------------------------------------------------------------------- |
| `trailing`, `around`      | the rows that its windows reach, back and on                               |
| `.every`, `tumbling`      | the rows of the windows that end in it; other ranges answer the others     |
| `session`, frames         | nothing: they are cut where one ends and another begins                    |
| `expanding`               | one partial of all rows before it                                          |

Cuts lie on lines of a grid (grid.py). Rows of equal order stay together. Fewer ranges are made where the rows that they
share would be many.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.errors import PySparkException
from pyspark.sql import Window as SparkWindow
from pyspark.sql import functions as F
from pyspark.sql import types as T

from slidewise.engine.plan import Plan
from slidewise.frames.kind import Frame
from slidewise.spark.frame_cuts import NUMBER, can_cut_frames, starts_of
from slidewise.spark.grid import ABOVE, Bound, Grid, grid_of, number_of, place
from slidewise.spark.recipe import Recipe
from slidewise.swag.running import Running
from slidewise.windows.window import Around, Expanding, Session, Trailing, Window

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

WORTH = 100_000
"""Rows below which one task is as good."""

CORES = 4
"""Cores from which on rows without a key are spread unasked: one task's JVM and Python keep two busy by themselves."""

NEAR = 8
"""Cells in which a session may begin for a range to start with it."""


@dataclass(frozen=True)
class Ranges:
    """Ranges 0, 1, ... of an order: range r ends where r + 1 starts."""

    starts: list[Bound]
    """Where each range but the first starts."""
    back: list[Bound]
    """Where the rows begin that each of those needs."""
    on: list[Bound]
    """Where the rows end that each range but the last needs."""
    seen: list[int]
    """How many rows lie before those that each range needs, where rows are numbered."""
    numbered: list[int]
    """How many rows lie before each range but the first, where rows are numbered."""
    rows: list[int] | None = None
    """How many rows each range has of its own (with a step of rows: needs), where answers depend on it."""

    def __len__(self) -> int:
        return len(self.starts) + 1


def can_cut(df: DataFrame, plan: Plan) -> bool:
    """True if a range can answer for itself, along an order that can be measured."""
    number = number_of(df, plan.order[0])
    if number is None or not all(_can_cut(plan, window) for window in plan.windows):
        return False
    # Bounds of such windows are compared with those of ranges, so they must be exact.
    return plan.per_event or not isinstance(df.schema[plan.order[0]].dataType, T.FloatType | T.DecimalType)


def _can_cut(plan: Plan, window: Window) -> bool:
    if isinstance(window, Expanding):
        return all(output.ops.compiled and output.choice.structure is Running for output in plan.of(window))
    if isinstance(window, Frame):
        return can_cut_frames(plan, window)
    return isinstance(window, Trailing | Around | Session)


def parallelism(df: DataFrame) -> int:
    """How many tasks can run at a time; on Connect, where nobody tells, as many as a shuffle makes, at most 32."""
    try:
        return int(df.sparkSession.sparkContext.defaultParallelism)
    except PySparkException:
        return min(32, int(df.sparkSession.conf.get("spark.sql.shuffle.partitions") or 1))


def cut(df: DataFrame, recipe: Recipe, plan: Plan, tasks: int, tie: Column) -> Ranges | None:
    """At most so many ranges of about equal size; None if one is enough. `tie` orders rows of equal order."""
    if tasks < 2:
        return None
    grid = grid_of(df, plan.order[0], floats=plan.unit == "float")
    if grid.rows < WORTH:
        return None
    while tasks > 1:
        cells = grid.starts(tasks)
        if isinstance(plan.windows[0], Frame):
            found = _at_frames(df, recipe, plan, grid, cells, tie)
        elif isinstance(plan.windows[0], Session):
            found = _at_gaps(df, plan, grid, cells)
        else:
            found = _on_lines(plan, grid, cells)
        if isinstance(plan.windows[0], Frame):
            return found if found.starts else None
        if found.starts and 3 * _shared(grid, found) <= grid.rows:
            return found
        tasks //= 2
    return None


def _on_lines(plan: Plan, grid: Grid, cells: list[int]) -> Ranges:
    """Ranges that start with these cells."""
    back = [_back(plan, grid, cell) for cell in cells]
    on = [_on(plan, grid, cell) for cell in cells]
    seen = [0, *(grid.before[grid.cell(bound)] for bound in back)]
    numbered = [grid.before[cell] for cell in cells]
    rows = None
    if any(window.axis == "rows" for window in plan.windows):  # windows by time are right whatever was counted
        begins = [0, *numbered] if plan.per_event else seen
        rows = [end - begin for begin, end in zip(begins, [*numbered, grid.rows], strict=True)]
    return Ranges([grid.line(cell) for cell in cells], back, on, seen, numbered, rows)


def _back(plan: Plan, grid: Grid, cell: int) -> Bound:
    """Where the rows must begin that a range needs which starts with this cell."""
    start = grid.lines[cell - 1]
    found: list[Any] = [start]
    if any(window.axis != "rows" for window in plan.windows):
        found.append(_within(start, start - _reach(plan)))
    for window in plan.windows:
        rows = 0
        if isinstance(window, Trailing) and window.rows is not None:
            rows = window.rows + (0 if window.include_current else 1)
        elif isinstance(window, Around) and window.axis == "rows":
            rows = int(window.before)
        if rows:
            found.append(grid.line(grid.back(cell, rows)))
    known = [bound for bound in found if bound is not None]
    return min(known) if len(known) == len(found) else None


def _on(plan: Plan, grid: Grid, cell: int) -> Bound:
    """Where the rows may end that a range needs which ends before this cell."""
    start = grid.lines[cell - 1]
    found: list[int | float] = [start]
    for window in plan.windows:
        if isinstance(window, Around) and window.axis == "rows":
            line = grid.on(cell, int(window.after))
            if line == len(grid.before) - 1:
                return ABOVE
            found.append(grid.lines[line - 1])
        elif isinstance(window, Around):
            found.append(_within(start, start + _reach(plan) + 1))
    return max(found)


def _reach(plan: Plan) -> int | float:
    reach: int | float = plan.reach * (2 if plan.unit == "float" else 1)  # floats are rounded where they are divided
    return reach


def _within(start: int | float, bound: int | float) -> int | float:
    """A bound that Spark can hold: integers end."""
    return bound if isinstance(start, float) else max(-(2**63), min(bound, 2**63 - 1))


def _at_gaps(df: DataFrame, plan: Plan, grid: Grid, cells: list[int]) -> Ranges:
    """Ranges that start with the first session that begins in these cells or soon after; a small job finds them."""
    number, gap = number_of(df, plan.order[0]), plan.extent(plan.windows[0])
    assert number is not None
    last = len(grid.lines)
    near = {cell + k: cell for cell in reversed(cells) for k in range(NEAR) if cell + k <= last}
    ordered = df.select(number.alias("t")).withColumn("cell", place(F.col("t"), grid.lines))
    before = F.lag("t").over(SparkWindow.partitionBy("cell").orderBy("t"))
    apart = F.coalesce(F.try_subtract("t", "before") > F.lit(gap), F.col("before").isNotNull())
    begins = ordered.where(F.col("cell").isin(sorted(near))).withColumn("before", before).where(apart)
    found: dict[int, Any] = {}
    for cell, begin in sorted(begins.groupBy("cell").agg(F.min("t")).collect()):
        found.setdefault(near[cell], begin)
    return _apart(ordered, sorted(found.values()))


def _apart(ordered: DataFrame, places: Sequence[Bound]) -> Ranges:
    """Ranges that need no rows but their own; `ordered` has the order as a number, t."""
    starts = list(places)
    rows = [0] * (len(starts) + 1)
    for range_, count in ordered.groupBy(place(F.col("t"), starts)).count().collect() if starts else ():
        rows[range_] = count
    return Ranges(starts, list(starts), list(starts), [0] * (len(starts) + 1), [0] * len(starts), rows)


def _at_frames(df: DataFrame, recipe: Recipe, plan: Plan, grid: Grid, cells: list[int], tie: Column) -> Ranges:
    """Ranges that begin with a frame, near where these cells begin (frame_cuts.py)."""
    number, order = number_of(df, plan.order[0]), [quoted(name) for name in plan.order]
    assert number is not None
    lines = [grid.line(cell) for cell in cells]
    ranged = df.withColumn(NUMBER, place(number, lines).cast("int"))
    ranged = ranged.repartitionById(len(lines) + 1, F.col(NUMBER)).sortWithinPartitions(NUMBER, *order, tie)
    starts = starts_of(ranged, recipe, plan, len(lines) + 1)
    return _apart(df.select(number.alias("t")), sorted(set(starts)))


def _shared(grid: Grid, found: Ranges) -> int:
    """About how many rows run more than once."""
    back = sum(
        grid.before[grid.cell(start)] - grid.before[grid.cell(bound)]
        for start, bound in zip(found.starts, found.back, strict=True)
    )
    on = sum(
        grid.before[grid.cell(bound)] - grid.before[grid.cell(start)]
        for start, bound in zip(found.starts, found.on, strict=True)
    )
    return back + on


def quoted(name: str) -> Column:
    """A column by its name, whatever is in it."""
    return F.col("`" + name.replace("`", "``") + "`")
