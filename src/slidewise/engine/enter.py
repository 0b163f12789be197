"""Columns on their way in: those of the data as the kernels take them, and what is derived from them once per call.

"x"            the column itself
"#position"    the row's number in the data
"#hash x"      a 63-bit hash of its value
"#float x"     its decimal as a float
"#bare x"      its value in rows where it may be null, with "#there x": whether there is one
"#where ..."   which rows pass a filter
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from slidewise.engine.columns import Column, frozen, kind_of, to_column
from slidewise.engine.filters import passes
from slidewise.monoids.aggregate import POSITION
from slidewise.monoids.condition import Condition
from slidewise.monoids.hashing import hash_numbers, hash_value
from slidewise.monoids.kinds import COMPILED

Source = Callable[[str], Any]
"""Gives a column by name: an Arrow one, or a `Column` of Python objects of no Arrow type."""


@dataclass(frozen=True)
class Derived:
    """A column made of others: how, and of which."""

    name: str
    how: str
    bases: tuple[str, ...] = ()
    conditions: tuple[Condition, ...] = ()


def derived_position() -> Derived:
    """The row's number in the data."""
    return Derived(POSITION, "position")


def derived(how: str, base: str) -> Derived:
    """A column made of one other, or of the row's position."""
    return Derived(f"#{how} {base}", how, () if base == POSITION else (base,))


def derived_mask(conditions: tuple[Condition, ...]) -> Derived:
    """Which rows pass these conditions; their columns are named."""
    bases = tuple(dict.fromkeys(one.column for one in conditions if one.column is not None))
    return Derived(f"#where {conditions!r}", "where", bases, conditions)


def enter(
    names: Sequence[str], made: Mapping[str, Derived], source: Source, length: int, rows: Any = None
) -> dict[str, Column]:
    """The named columns, each once, in the order that `rows` says (None: as they are)."""
    read: dict[str, Column] = {}

    def base(name: str) -> Column:
        if name not in read:
            column = source(name)
            read[name] = column if isinstance(column, Column) else to_column(column, name)
        return read[name]

    found = {}
    for name in dict.fromkeys(names):
        column = _derive(made[name], source, base, length) if name in made else base(name)
        found[name] = column.take(rows)
    return found


def _derive(one: Derived, source: Source, base: Callable[[str], Column], length: int) -> Column:
    if one.how == "position":
        return Column(frozen(np.arange(length, dtype=np.int64)))
    if one.how == "where":
        kept = np.ones(length, dtype=np.bool_)
        for condition in one.conditions:
            assert condition.column is not None
            kept &= passes(source(condition.column), condition)
        return Column(kept)
    if not one.bases:  # a position is always there
        return Column(frozen(np.ones(length, dtype=np.int64)))
    (name,) = one.bases
    if one.how == "hash":
        return _hashed(source(name), base(name))
    column = base(name)
    if one.how == "float":
        floats = [0.0 if value is None else float(value) for value in column.values]
        return Column(frozen(np.array(floats, dtype=np.float64)), column.valid)
    if one.how == "bare":
        return Column(column.values)
    there = np.ones(length, dtype=np.int64) if column.valid is None else column.valid.astype(np.int64)
    return Column(frozen(there))


def _hashed(given: Any, column: Column) -> Column:
    """Numbers by a few array passes, anything else by one hash per distinct value."""
    if isinstance(given, Column):
        each = [0 if value is None else hash_value(value) for value in column.values]
        return Column(frozen(np.array(each, dtype=np.int64)), column.valid)
    arrow = given.type.value_type if pa.types.is_dictionary(given.type) else given.type
    if kind_of(arrow) in COMPILED:
        values = column.values
        if pa.types.is_timestamp(arrow) or pa.types.is_duration(arrow):
            values = values * {"s": 1_000_000, "ms": 1_000}.get(arrow.unit, 1)
        return Column(frozen(hash_numbers(values)), column.valid)
    hashes_of: dict[Any, int] = {}
    hashes = np.zeros(len(column.values), dtype=np.int64)
    for row, value in enumerate(column.values):
        if value is None:
            continue
        key = value if isinstance(value, (str, bytes)) else repr(value)
        if key not in hashes_of:
            hashes_of[key] = hash_value(value)
        hashes[row] = hashes_of[key]
    return Column(frozen(hashes), column.valid)
