"""The keys of a stream: which slot of the windows each has, how many rows it has had, and when its newest came."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from slidewise.engine.carry import Carry
from slidewise.engine.plan import Plan

BEGINNING = -(2**62)
"""A time before all time."""


class Keys:
    """Key -> slot; `seen` and `newest` are by slot."""

    def __init__(self, plan: Plan, carry: Carry) -> None:
        self._plan = plan
        self._carry = carry
        kinds = [plan.types[name] for name in plan.by]
        self._floats = any(kind is None or pa.types.is_floating(kind) for kind in kinds)
        self._slots: dict[tuple[Any, ...], int] = {}
        self._keys: dict[int, tuple[Any, ...]] = {}
        self.seen = np.zeros(8, dtype=np.int64)
        """Rows that are in the windows, since the key's windows began."""
        self.newest = np.full(8, BEGINNING, dtype=np.int64)

    def __len__(self) -> int:
        return len(self._slots)

    @property
    def slots(self) -> Any:
        """The slots in use."""
        return np.fromiter(self._slots.values(), dtype=np.int64, count=len(self._slots))

    def find(self, columns: Sequence[list[Any]], length: int) -> Any:
        """The slot of each key, given as columns of values; -1 for a key without one."""
        return np.array([self._slots.get(key, -1) for key in self._keys_of(columns, length)], dtype=np.int64)

    def place(self, columns: Sequence[list[Any]], length: int) -> tuple[Any, Any]:
        """The slot of each key, and which of them are new."""
        keys = self._keys_of(columns, length)
        slots, fresh = np.zeros(length, dtype=np.int64), np.zeros(length, dtype=np.bool_)
        for k, key in enumerate(keys):
            slot = self._slots.get(key)
            if slot is None:
                slot = self._carry.add_slot()
                self._slots[key], self._keys[slot], fresh[k] = slot, key, True
                while slot >= len(self.seen):
                    self.seen = np.concatenate([self.seen, np.zeros_like(self.seen)])
                    self.newest = np.concatenate([self.newest, np.full_like(self.newest, BEGINNING)])
                self.seen[slot], self.newest[slot] = 0, BEGINNING
            slots[k] = slot
        return slots, fresh

    def _keys_of(self, columns: Sequence[list[Any]], length: int) -> list[tuple[Any, ...]]:
        if not columns:
            return [()] * length
        keys = list(zip(*columns, strict=True))
        return [key_of(key) for key in keys] if self._floats else keys

    def forget(self, slots: Any) -> None:
        """These keys have no windows any more; their slots may serve others."""
        for slot in slots.tolist():
            del self._slots[self._keys.pop(slot)]
            self._carry.release(slot)

    def columns(self, slots: Any) -> dict[str, pa.Array]:
        """The keys of these slots, column by column."""
        keys = [values_of(self._keys[slot]) for slot in slots.tolist()]
        types = self._plan.types
        return {name: pa.array([key[k] for key in keys], type=types[name]) for k, name in enumerate(self._plan.by)}


def key_of(values: Iterable[Any]) -> tuple[Any, ...]:
    """A key that can be compared and looked up: NaN equals itself, zero has no sign."""
    return tuple(_key_part(value) if isinstance(value, float) else value for value in values)


def _key_part(value: float) -> Any:
    return ("nan",) if math.isnan(value) else value + 0.0


def values_of(key: tuple[Any, ...]) -> tuple[Any, ...]:
    """The values of a key."""
    return tuple(math.nan if part == ("nan",) else part for part in key)
