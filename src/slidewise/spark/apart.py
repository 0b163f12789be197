"""One order in many tasks: rows without a key, or of a key with more rows than a task should have, run as ranges.

    rows ──► a number of their range each, and copies for ranges that need them too (ranges.py)
         ──repartitionById──► ──sort──► ──mapInArrow, a range as a key──► answers that a range does not own are dropped

For `expanding` a job before folds each range to one partial; every range then begins with those before it. Keys that
are not split keep their one task: their rows have the number of a hash.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql import types as T

from slidewise.engine.plan import END, Plan
from slidewise.errors import ArgumentError
from slidewise.frames.kind import Frame
from slidewise.spark import ranges
from slidewise.spark.grid import number_of, place
from slidewise.spark.partition import HALO, RANGE, Begin, folder, mapper, refuse_changed
from slidewise.spark.ranges import Ranges, cut, parallelism, quoted
from slidewise.spark.recipe import Recipe
from slidewise.spark.schema import result_schema
from slidewise.windows.window import Expanding, Session

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

PLAIN = T.BooleanType | T.IntegralType | T.StringType | T.BinaryType | T.DateType | T.DecimalType
"""Types of keys that can be split: their values can be named in a condition, exactly."""


@dataclass(frozen=True)
class Split:
    """Rows that are cut: those of one key, or all; the numbers of their ranges begin with `first`."""

    key: tuple[Any, ...]
    ranges: Ranges
    first: int


def splits_of(df: DataFrame, recipe: Recipe, plan: Plan, threads: int | None, tie: Column) -> list[Split]:
    """What is to be cut, found by small jobs; `threads` says into how many ranges at most, None: as there are cores.

    Without keys all rows are; with keys, where `threads` is given, those that have more rows than one of so many parts.
    """
    tasks = threads or parallelism(df)
    found: list[Split] = []
    first = 0
    for key, share in _heavy(df, plan, tasks) if plan.by else [((), 1.0)]:
        some = df.where(_is(plan, key)) if key else df
        made = cut(some, recipe, plan, max(2, round(tasks * share)), tie)
        if made is not None:
            found.append(Split(key, made, first))
            first += len(made)
    return found


def slide_apart(df: DataFrame, recipe: Recipe, plan: Plan, splits: list[Split], tie: Column) -> DataFrame:
    """The plan over rows that are cut, and the others."""
    for name in df.columns:
        if name in (RANGE, HALO):
            raise ArgumentError(f"data: has a column named {name!r}, which ranges use; expected another name")
    by_range = _with_ranges(recipe, plan)
    begins = _begins(df, by_range, plan, splits, tie)
    own, first, last = (_numbers(df, plan, splits, which) for which in ("starts", "on", "back"))
    copies = df.withColumn(RANGE, F.explode(F.sequence(first, last)))
    if plan.per_event:
        copies = copies.withColumn(HALO, F.col(RANGE) != own)
    arranged = _arranged(copies, plan, splits, tie)
    run = mapper(by_range.packed(), False, begins, _ranges(splits), _counted(splits))
    answered = arranged.mapInArrow(run, result_schema(copies, by_range.plan()))
    if plan.per_event:
        answered = answered.where(~F.col(HALO))
    elif not isinstance(plan.windows[0], Session | Frame):  # which are never cut
        answered = answered.where(F.col(RANGE) == _owner(answered, plan, splits))
    return answered.drop(RANGE, HALO)


# ---- which key ------------------------------------------------------------------------------------------------------
def _heavy(df: DataFrame, plan: Plan, tasks: int) -> list[tuple[tuple[Any, ...], float]]:
    """The keys that have at least one of `tasks` equal parts of all rows, and their share; one job counts them."""
    if not all(isinstance(df.schema[name].dataType, PLAIN) for name in plan.by):
        return []
    keys = [quoted(name) for name in plan.by]
    named = [key.alias(f"k{number}") for number, key in enumerate(keys)]
    counted = df.groupBy(*named).agg(F.count(F.lit(1)).alias("rows"))
    many = F.when(F.col("rows") >= ranges.WORTH, F.struct("rows", *(f"k{number}" for number in range(len(keys)))))
    (row,) = counted.agg(F.sum("rows").alias("all"), F.collect_list(many).alias("many")).collect()
    found = sorted(row["many"], key=lambda one: -one[0])
    return [(tuple(one[1:]), one[0] / row["all"]) for one in found if one[0] * tasks >= row["all"]]


def _is(plan: Plan, key: Sequence[Any]) -> Column:
    tests = [quoted(name).eqNullSafe(F.lit(value)) for name, value in zip(plan.by, key, strict=True)]
    return reduce(lambda a, b: a & b, tests)


# ---- which range ----------------------------------------------------------------------------------------------------
def _numbers(df: DataFrame, plan: Plan, splits: list[Split], which: str) -> Column:
    """A row's range: its own by `starts`, the first that needs it by `on`, the last by `back`."""
    number = number_of(df, plan.order[0])
    assert number is not None
    found = _rest(df, plan, splits)
    for split in splits:
        mine = F.lit(split.first) + place(number, getattr(split.ranges, which))
        found = F.when(_is(plan, split.key), mine).otherwise(found) if split.key else mine
    return found.cast("int")


def _rest(df: DataFrame, plan: Plan, splits: list[Split]) -> Column:
    """The number of a key that is not cut: one after those of all ranges."""
    if not plan.by:
        return F.lit(0)
    many = int(df.sparkSession.conf.get("spark.sql.shuffle.partitions") or 1)
    return F.lit(_ranges(splits)) + F.pmod(F.hash(*(quoted(name) for name in plan.by)), F.lit(many))


def _ranges(splits: list[Split]) -> int:
    return sum(len(split.ranges) for split in splits)


def _counted(splits: list[Split]) -> dict[int, int]:
    """How many rows each range must have."""
    return {split.first + number: rows for split in splits for number, rows in enumerate(split.ranges.rows or ())}


def _arranged(copies: DataFrame, plan: Plan, splits: list[Split], tie: Column) -> DataFrame:
    """A task for each range, and for each number of the keys that are not cut; sorted as the partitions take them."""
    keys, order = ([quoted(name) for name in names] for names in (plan.by, plan.order))
    tasks = _ranges(splits)
    if plan.by:
        tasks += int(copies.sparkSession.conf.get("spark.sql.shuffle.partitions") or 1)
    return copies.repartitionById(tasks, F.col(RANGE)).sortWithinPartitions(*keys, RANGE, *order, tie)


def _owner(answered: DataFrame, plan: Plan, splits: list[Split]) -> Column:
    """The range in which a window ends: it has seen all of its rows."""
    end = number_of(answered, END)
    assert end is not None
    found: Column = F.col(RANGE)
    for split in splits:
        mine = F.lit(split.first) + place(end, _edges(plan, split.ranges), strict=True)
        found = F.when(F.col(RANGE).between(split.first, split.first + len(split.ranges) - 1), mine).otherwise(found)
    return found


def _with_ranges(recipe: Recipe, plan: Plan) -> Recipe:
    """The same call with the range as a key."""
    types = {**recipe.types, RANGE: pa.int32(), **({HALO: pa.bool_()} if plan.per_event else {})}
    return Recipe(types, recipe.aggregates, recipe.window, [*plan.by, RANGE], recipe.order, recipe.algorithm)


# ---- what a range begins with ---------------------------------------------------------------------------------------
def _begins(df: DataFrame, by_range: Recipe, plan: Plan, splits: list[Split], tie: Column) -> dict[int, Begin]:
    """For windows that count rows from the first, hold all of them, or are answered by the range they end in."""
    if not plan.per_event and not isinstance(plan.windows[0], Session | Frame):
        return {split.first + k: begin for split in splits for k, begin in enumerate(_of_steps(plan, split.ranges))}
    if not any(isinstance(window, Expanding) for window in plan.windows):
        return {}
    chosen = [_is(plan, split.key) for split in splits if split.key]
    some = df.where(reduce(lambda a, b: a | b, chosen)) if chosen else df
    marked = some.withColumn(RANGE, _numbers(df, plan, splits, "back"))
    if plan.per_event:
        marked = marked.withColumn(HALO, F.lit(False))
    folded = _arranged(marked, plan, splits, tie).mapInArrow(
        folder(by_range.packed()), f"{RANGE} int, seen bigint, totals binary"
    )
    parts = {number: (seen, bytes(totals)) for number, seen, totals in folded.collect()}
    for split in splits:
        folds = [parts.get(split.first + k, (0, b""))[0] for k in range(len(split.ranges))]
        refuse_changed([sum(split.ranges.rows or ())], [sum(folds)])
    found: dict[int, Begin] = {}
    for split in splits:
        seen = 0
        before: list[bytes] = []
        for number in range(split.first, split.first + len(split.ranges)):
            if seen:
                found[number] = Begin(seen, tuple(before))
            rows, totals = parts.get(number, (0, b""))
            seen += rows
            before += [totals] if rows else []
    return found


def _of_steps(plan: Plan, made: Ranges) -> list[Begin]:
    edges: list[Any] = [None, *_edges(plan, made), None]
    seen = made.seen if plan.windows[0].rows is not None else [0] * len(made)
    return [Begin(before, ends=ends) for before, ends in zip(seen, pairwise(edges), strict=True)]


def _edges(plan: Plan, made: Ranges) -> list[Any]:
    """Where ranges meet, as the ends of windows are measured: by row numbers, or along the order."""
    return list(made.numbered if plan.windows[0].rows is not None else made.starts)
