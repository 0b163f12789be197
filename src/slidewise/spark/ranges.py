"""No key: the order is cut into ranges that run side by side, each with the rows before it that its windows reach.

    order   ──────────── range 0 ───────────┤──────────── range 1 ───────────┤
                                    [─ halo ─]                                  rows that both get; answered in range 0

Where to cut is decided by two small jobs when `slide` is called: quantiles of the order column make a grid, and the
rows of each of its cells are counted, exactly. A range's halo begins `reach` before it for windows along the order, and
for windows of rows at the last line of the grid that has enough rows before the range. Rows of equal order stay
together. Fewer ranges are made where halos would be long; `threads=1` keeps all rows in one task, without such jobs.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import functions as F
from pyspark.sql import types as T

from slidewise.engine.plan import Plan
from slidewise.spark.recipe import Recipe
from slidewise.windows.window import Trailing

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

RANGE, HALO = "__slidewise_range", "__slidewise_halo"
LINES = 63
"""Of the grid."""

WORTH = 100_000
"""Rows below which one task is as good."""

Bound = int | float | None
"""Where something begins, in units of the order; None: before all rows."""


def can_cut(df: DataFrame, plan: Plan) -> bool:
    """True if every window ends at its row and reaches a known way back, along an order that can be measured."""
    if plan.by or not all(isinstance(one, Trailing) and one.per_event for one in plan.windows):
        return False
    return _number(df, plan.order[0]) is not None


def cut(df: DataFrame, plan: Plan) -> tuple[list[Bound], list[Bound]]:
    """Where each range but the first begins, and where its halo does; none if one range is enough."""
    number = _number(df, plan.order[0])
    assert number is not None
    tasks = _parallelism(df)
    if tasks < 2:
        return [], []
    ordered = df.select(number.alias("t"))
    exact = float if plan.unit == "float" or isinstance(ordered.schema[0].dataType, T.DoubleType) else int
    found = ordered.select(F.col("t").cast("double")).approxQuantile(
        "t", [k / (LINES + 1) for k in range(1, LINES + 1)], 0.01
    )
    lines = sorted({exact(line) for line in found})
    cells = ordered.groupBy(_place(F.col("t"), lines).alias("cell")).count().collect()
    counts = [0] * (len(lines) + 1)
    for cell, count in cells:
        counts[cell] += count
    before = [0, *accumulate(counts)]  # before[k]: rows before cell k
    if before[-1] < WORTH:
        return [], []
    while tasks > 1:
        begins = _begins(before, tasks)
        starts = [lines[k - 1] for k in begins]
        halos = [_halo(plan, lines, before, k) for k in begins]
        shared = sum(before[k] - before[_cell(lines, halo)] for k, halo in zip(begins, halos, strict=True))
        if 3 * shared <= before[-1]:  # rows that run twice
            return list(starts), halos
        tasks //= 2
    return [], []


def exploded(df: DataFrame, plan: Plan, starts: Sequence[Bound], halos: Sequence[Bound]) -> DataFrame:
    """Each row once for its own range, and once for every later range whose halo it is in."""
    number = _number(df, plan.order[0])
    assert number is not None
    own, last = _place(number, starts), _place(number, halos)
    copies = df.withColumn(RANGE, F.explode(F.sequence(own, last)))
    return copies.withColumn(HALO, F.col(RANGE) != own)


def with_ranges(recipe: Recipe) -> Recipe:
    """The same call, by range: within a range it is the call on one key."""
    types = {**recipe.types, RANGE: pa.int32(), HALO: pa.bool_()}
    return Recipe(types, recipe.aggregates, recipe.window, RANGE, recipe.order, recipe.algorithm)


def _begins(before: list[int], tasks: int) -> list[int]:
    """The cells at which ranges of about equal size begin; each is after the first cell."""
    total = before[-1]
    begins: list[int] = []
    for k in range(1, tasks):
        cell = next(c for c in range(len(before)) if before[c] >= k * total / tasks)
        if 0 < cell < len(before) - 1 and (not begins or cell > begins[-1]):
            begins.append(cell)
    return begins


def _halo(plan: Plan, lines: list[Any], before: list[int], cell: int) -> Bound:
    """Where the halo of a range that begins with this cell must begin."""
    found: list[Bound] = [lines[cell - 1]]
    if any(window.axis != "rows" for window in plan.windows):
        reach = plan.reach * (2 if plan.unit == "float" else 1)  # floats are rounded where they are divided
        found.append(lines[cell - 1] - reach)
    for window in plan.windows:
        if window.rows is not None:
            need = window.rows + (0 if window.include_current else 1)
            enough = [k for k in range(cell + 1) if before[cell] - before[k] >= need]
            found.append(lines[enough[-1] - 1] if enough and enough[-1] > 0 else None)
    known = [bound for bound in found if bound is not None]
    return min(known) if len(known) == len(found) else None


def _cell(lines: list[Any], bound: Bound) -> int:
    """The cell that a bound lies in."""
    return 0 if bound is None else sum(line <= bound for line in lines)


def _place(number: Column, bounds: Sequence[Bound]) -> Column:
    """How many of these bounds, which rise, are at or before a number: by bisection, in a CASE of CASEs."""
    if not bounds:
        return F.lit(0)

    def among(first: int, last: int) -> Column:
        if first == last:
            return F.lit(first)
        middle = (first + last) // 2
        bound = bounds[middle]
        if bound is None:
            return among(middle + 1, last)
        return F.when(number < F.lit(bound), among(first, middle)).otherwise(among(middle + 1, last))

    return among(0, len(bounds))


def _number(df: DataFrame, name: str) -> Column | None:
    """The order column as a number in the unit of windows along it; None if it is none."""
    field, column = df.schema[name], F.col("`" + name.replace("`", "``") + "`")
    kind = field.dataType
    if isinstance(kind, T.TimestampType):
        return F.unix_micros(column)
    if isinstance(kind, T.TimestampNTZType):
        quoted = "`" + name.replace("`", "``") + "`"
        return F.expr(f"timestampdiff(MICROSECOND, TIMESTAMP_NTZ'1970-01-01 00:00:00', {quoted})")
    if isinstance(kind, T.DateType):
        return F.unix_date(column).cast("long") * F.lit(86_400_000_000)
    if isinstance(kind, T.IntegralType):
        return column.cast("long")
    if isinstance(kind, (T.FloatType, T.DoubleType, T.DecimalType)):
        return column.cast("double")
    return None


def _parallelism(df: DataFrame) -> int:
    """How many tasks can run at a time; on Connect, where nobody tells, as many as a shuffle makes, at most 32."""
    try:
        return int(df.sparkSession.sparkContext.defaultParallelism)
    except PySparkException:
        return min(32, int(df.sparkSession.conf.get("spark.sql.shuffle.partitions") or 1))
