"""The mark of answers that are kept: a digest of all that lowered them."""

from __future__ import annotations

import hashlib

import slidewise
from slidewise.engine.partials import described
from slidewise.incremental.query import Bound, Query
from slidewise.kernels.cache import CannotDigest, digest
from slidewise.monoids.aggregate import Family


def mark_of(query: Query, bound: Bound) -> str | None:
    """A digest of all that answers are made by; None if that cannot be told, so that answers cannot be kept."""
    state = hashlib.sha256(slidewise.__version__.encode())
    for aggregate, output in zip(query.aggregates, bound.outputs, strict=True):
        state.update(f"{described(output)} {output.arrow};".encode())
        lower = output.ops.monoid.lower
        if isinstance(aggregate.source, Family) or lower is None:
            continue  # ours: known by name and version
        try:
            state.update(digest(lower).encode())
        except CannotDigest:
            return None
    return state.hexdigest()[:16]
