"""A card: what a reader must know of an algorithm before choosing it, as the papers' tables have it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Card:
    """One row of the table that `slidewise algorithms` prints and the README shows."""

    name: str
    full_name: str
    paper: str
    ordering: str
    needs: str
    amortized: str
    worst: str
    bulk_evict: str
    space: str
    local_size: str
    custom_policy: str
    external_store: bool
    compiles: bool = True
