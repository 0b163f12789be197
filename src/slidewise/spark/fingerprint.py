"""A query's fingerprint, so written that Spark itself refuses a checkpoint of another query.

Spark does not notice a renamed state variable or field; it starts empty. But it compares the *types* of a state's
fields with the checkpoint's, on the driver, before the first batch, and prints both sides' field names if they differ.
So the types here spell a hash of the query, and the names spell the query itself.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from typing import Any

from pyspark.sql.types import DataType, DoubleType, IntegerType, LongType, StringType, StructField, StructType

from slidewise.engine.plan import Plan
from slidewise.engine.reach import is_folded
from slidewise.frames.kind import Frame, Total
from slidewise.monoids.monoid import Monoid
from slidewise.windows.window import Session

STATE = "fingerprint"
ALPHABET: tuple[DataType, ...] = (IntegerType(), LongType(), DoubleType(), StringType())
FIELDS = 24


def describe(plan: Plan, **settings: Any) -> list[str]:
    """What the state depends on, one phrase each: keys, order, every result, and settings such as the buckets."""
    phrases = [f"by {_typed(plan, plan.by) or 'nothing'}", f"order {_typed(plan, plan.order)}"]
    for output in plan.outputs:
        monoid: Monoid = output.ops.monoid
        inputs = ", ".join(f"{name}: {arrow}" for name, arrow in zip(output.inputs, output.types, strict=True))
        where = "".join(f" where {one!r}" for one in output.filtered)
        options = "".join(f" {name}={value!r}" for name, value in output.options)
        phrases.append(
            f"{output.name} = {monoid.name} v{monoid.version} ({inputs}){options}{where} over {output.window!r}"
        )
    if any(isinstance(window, Session) and not is_folded(plan, window) for window in plan.windows):
        phrases.append("sessions as rows")  # and not as totals, by the aggregate or the algorithm
    if any(isinstance(window, Frame) and not is_folded(plan, window) for window in plan.windows):
        phrases.append("frames as rows")
    limited = [output.ops.monoid for output in plan.uses if isinstance(output.window, Total)]
    phrases += [f"limit on {monoid.name} v{monoid.version}" for monoid in limited]
    phrases += [f"{name} {value}" for name, value in settings.items()]
    phrases.append(f"columns {_typed(plan, stored_columns(plan))}")
    return phrases


def stored_columns(plan: Plan) -> tuple[str, ...]:
    """The columns that rows in state have: all if they come out again, else those that windows need."""
    if plan.per_event:
        return tuple(plan.types)
    return tuple(dict.fromkeys((*plan.by, *plan.order, *plan.columns)))


def _typed(plan: Plan, names: Iterable[str]) -> str:
    return ", ".join(f"{name}: {plan.types[name]}" for name in names)


def digest(phrases: list[str]) -> str:
    """A hash of the description."""
    return hashlib.sha256("\n".join(phrases).encode()).hexdigest()


def fingerprint_schema(phrases: list[str]) -> StructType:
    """The schema of a state that only an equal query can open."""
    number = int(digest(phrases), 16)
    fields = []
    for k in range(FIELDS):
        said = phrases[k] if k < len(phrases) else ""
        name = re.sub(r"[^A-Za-z0-9]+", "_", f"q{k}_{said}").strip("_")[:160]  # Avro's alphabet
        fields.append(StructField(name, ALPHABET[(number >> (2 * k)) & 3], True))
    return StructType(fields)
