"""A tally: a partial too big to make anew for every combine, changed in place by the structure that owns it.

    add(S, x)        S ⊕ lift(x), in place
    remove(S, x)     takes the oldest value out again; None if that cannot be done (a maximum)
    merge(S, T)      S ⊕ T, in place; S is the older
    lower(S)         the answer

Sketches, histograms, the k largest, counts by value. The functions are written once: in object mode S is whatever
`new()` returns, in compiled mode an array of `size` numbers, all zero at first. The structures that own tallies keep
one per window (swag/running_tally.py) or one per block of rows (swag/block_tallies.py), and the raw values beside.

A tally is for the built-ins: `monoid_of` makes the pure monoid that the laws and every other algorithm work with.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from slidewise.monoids.monoid import Monoid


@dataclass(frozen=True, kw_only=True, eq=False)
class Tally:
    """The in-place functions of a monoid; see the module.

    Parameters
    ----------
    new
        An empty S for object mode; None: a list of `size` zeros.
    size, dtype
        Of the array in compiled mode; a size of 0 keeps it in object mode.
    answer
        What `lower` gives in compiled mode: "int64" or "float64"; or "list": ``lower(S, out)`` writes up to `most`
        numbers of `dtype` to `out` and returns how many; or "bytes": S itself, of `size` bytes.
    most
        The longest list.
    quantile
        Set if the answer is this exact quantile: over whole columns a kernel of its own serves (kernels/ranked.py).
    distinct
        True if the answer is how many distinct values there are; likewise (kernels/distinct.py).
    """

    add: Callable[..., None]
    merge: Callable[[Any, Any], None]
    lower: Callable[..., Any]
    remove: Callable[..., None] | None = None
    new: Callable[[], Any] | None = None
    size: int = 0
    dtype: str = "int64"
    answer: str = "int64"
    most: int = 0
    quantile: float | None = None
    distinct: bool = False

    def empty(self) -> Any:
        """An empty S for object mode."""
        return [0] * self.size if self.new is None else self.new()

    def lowered(self, state: Any) -> Any:
        """The answer as a Python value."""
        if self.answer == "list":
            out = [0] * self.most
            return out[: self.lower(state, out)]
        return bytes(state) if self.answer == "bytes" else self.lower(state)


def monoid_of(tally: Tally, **parts: Any) -> Monoid:
    """The pure monoid of a tally: partials are states that nobody changes; each combine copies one, O(size)."""

    def lift(*values: Any) -> Any:
        state = tally.empty()
        tally.add(state, *values)
        return state

    def combine(older: Any, newer: Any) -> Any:
        state = copy.copy(older)
        tally.merge(state, newer)
        return state

    return Monoid(identity=tally.empty(), lift=lift, combine=combine, lower=tally.lowered, tally=tally, **parts)
