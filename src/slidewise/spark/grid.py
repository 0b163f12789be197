"""How the rows of a DataFrame lie along their order: lines that part them about evenly, and how many lie in each cell.

    lines        l0      l1      l2            quantiles, approximate
    cells    0   |   1   |   2   |   3         rows of cell k are at or after line k - 1 and before line k
    before   0   n0    n0+n1   ...             rows before each cell, exact

Two small jobs; no row leaves its executor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Literal

from pyspark.sql import functions as F
from pyspark.sql import types as T

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

LINES = 63

ABOVE: Literal["above"] = "above"
"""After all rows, those at infinity and NaN too."""

Bound = int | float | Literal["above"] | None
"""A place along the order, in its unit; None: before all rows."""


@dataclass(frozen=True)
class Grid:
    """Lines along an order, and the rows before each cell; the last number is all rows."""

    lines: list[Any]
    before: list[int]

    @property
    def rows(self) -> int:
        """All of them."""
        return self.before[-1]

    def starts(self, parts: int) -> list[int]:
        """The cells at which parts of about equal size begin, all but the first."""
        found: list[int] = []
        for k in range(1, parts):
            cell = next(c for c in range(len(self.before)) if self.before[c] >= k * self.rows / parts)
            if 0 < cell < len(self.before) - 1 and (not found or cell > found[-1]):
                found.append(cell)
        return found

    def line(self, cell: int) -> Bound:
        """Where a cell begins."""
        return None if cell == 0 else self.lines[cell - 1]

    def back(self, cell: int, rows: int) -> int:
        """The last cell that has so many rows between its beginning and this one's; the first if none has."""
        return max((k for k in range(cell + 1) if self.before[cell] - self.before[k] >= rows), default=0)

    def on(self, cell: int, rows: int) -> int:
        """The first cell that has so many rows between this one's beginning and its own; one past the last if none."""
        last = len(self.before) - 1
        return min((k for k in range(cell, last) if self.before[k] - self.before[cell] >= rows), default=last)

    def cell(self, bound: Bound) -> int:
        """The cell that a place lies in; one past the last if it is after all rows."""
        if bound is None or bound == ABOVE:
            return 0 if bound is None else len(self.before) - 1
        return sum(line <= bound for line in self.lines)


def grid_of(df: DataFrame, order: str, *, floats: bool) -> Grid:
    """The grid of a DataFrame along a column that `number_of` knows."""
    number = number_of(df, order)
    assert number is not None
    ordered = df.select(number.alias("t"))
    exact = float if floats or isinstance(ordered.schema[0].dataType, T.DoubleType) else _long
    shares = [k / (LINES + 1) for k in range(1, LINES + 1)]
    found = ordered.select(F.col("t").cast("double")).approxQuantile("t", shares, 0.01)
    lines = sorted({exact(line) for line in found})
    counts = [0] * (len(lines) + 1)
    for cell, count in ordered.groupBy(place(F.col("t"), lines).alias("cell")).count().collect():
        counts[cell] += count
    return Grid(lines, [0, *accumulate(counts)])


def _long(line: float) -> int:
    """A quantile is a double, and the largest double that stands for a long may be one more than any."""
    return max(-(2**63), min(int(line), 2**63 - 1))


def place(number: Column, bounds: Sequence[Bound], *, strict: bool = False) -> Column:
    """How many of these bounds, which rise, are at or before a number, or `strict`ly before: a CASE of CASEs."""
    if not bounds:
        return F.lit(0)

    def among(first: int, last: int) -> Column:
        if first == last:
            return F.lit(first)
        middle = (first + last) // 2
        bound = bounds[middle]
        if bound is None or bound == ABOVE:
            return among(first, middle) if bound == ABOVE else among(middle + 1, last)
        below = number <= F.lit(bound) if strict else number < F.lit(bound)
        return F.when(below, among(first, middle)).otherwise(among(middle + 1, last))

    return among(0, len(bounds))


def number_of(df: DataFrame, name: str) -> Column | None:
    """A column as a number in the unit of windows along it; None if it is none."""
    quoted = "`" + name.replace("`", "``") + "`"
    kind, column = df.schema[name].dataType, F.col(quoted)
    if isinstance(kind, T.TimestampType):
        return F.unix_micros(column)
    if isinstance(kind, T.TimestampNTZType):
        return F.expr(f"timestampdiff(MICROSECOND, TIMESTAMP_NTZ'1970-01-01 00:00:00', {quoted})")
    if isinstance(kind, T.DateType):
        return F.unix_date(column).cast("long") * F.lit(86_400_000_000)
    if isinstance(kind, T.IntegralType):
        return column.cast("long")
    if isinstance(kind, (T.FloatType, T.DoubleType, T.DecimalType)):
        return column.cast("double")
    return None
