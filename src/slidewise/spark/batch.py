"""A batch DataFrame: one shuffle, one sort, one pass over Arrow batches with the window carried across them.

    (rows) ──repartition(keys)──► ──sortWithinPartitions(keys, order, hash)──► ──mapInArrow──► (rows + results)

Memory is the window plus one Arrow batch, whatever the size of a key; a window that looks ahead holds as many rows as
it looks ahead, and `between`, which may look anywhere, the rows of a key. Rows of equal keys and order are taken in the
order of a hash of the row, so that a run can be repeated. The pass itself is partition.py; without keys, or where a key
may be spread over several tasks, the order is cut into ranges first (apart.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F

from slidewise.engine.plan import Plan
from slidewise.spark.apart import slide_apart, splits_of
from slidewise.spark.partition import mapper
from slidewise.spark.ranges import CORES, can_cut, parallelism
from slidewise.spark.recipe import Recipe

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def slide_batch(
    df: DataFrame, recipe: Recipe, plan: Plan, out_schema: Any, presorted: bool, threads: int | None = None
) -> DataFrame:
    """The plan over a batch DataFrame."""
    if presorted:
        return df.mapInArrow(mapper(recipe.packed(), presorted), out_schema)
    keys = [F.col(_quoted(name)) for name in plan.by]
    order = [F.col(_quoted(name)) for name in plan.order]
    if may_cut(df, plan, threads):
        splits = splits_of(df, recipe, plan, threads, tie_of(df))
        if splits:
            return slide_apart(df, recipe, plan, splits, tie_of(df))
    moved = df.repartition(*keys) if keys else df.repartition(1)
    moved = moved.sortWithinPartitions(*keys, *order, tie_of(df))
    return moved.mapInArrow(mapper(recipe.packed(), presorted), out_schema)


def may_cut(df: DataFrame, plan: Plan, threads: int | None) -> bool:
    """True if rows without a key on enough cores, or where `threads` asks for it those of one key, may be spread."""
    if threads is None:
        return not plan.by and parallelism(df) >= CORES and can_cut(df, plan)
    return threads > 1 and can_cut(df, plan)


def tie_of(df: DataFrame) -> Any:
    """A hash of the row, to order rows of equal keys and order the same way in every run."""
    plain = [f.name for f in df.schema.fields if "map<" not in f.dataType.simpleString()]
    return F.xxhash64(*[F.col(_quoted(name)) for name in plain])


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
