"""The ladder: which algorithm serves a window, rung by rung, with the reason for each.

`algorithm=` takes a rung by name. Naive comes last and is never taken unasked.

| rung              | taken when                                      | because                                     |
| ----------------- | ----------------------------------------------- | ------------------------------------------- |
| asked for         | `algorithm=` names one                          | the user knows; refused if it cannot serve  |
| ranked            | an exact quantile, whole columns of numbers     | ranks by sorting, a window is a set of bits |
| distinct          | how many distinct, whole columns of numbers     | rows linked by value, nothing to count      |
| `running_tally`   | the aggregate has a tally that can take out     | O(1) per event, exact, no partial per row   |
| `block_tallies`   | the aggregate has a tally                       | big partials: one per block, not per row    |
| blocked           | a fixed number of rows, whole columns, compiled | no bounds to read, two scans side by side   |
| `two_stacks_lite` | otherwise                                       | ≤ 3 ⊕ per element on average, n + 1 partials |
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from slidewise.errors import ArgumentError, listed
from slidewise.monoids.monoid import Monoid
from slidewise.swag.block_tallies import BlockTallies
from slidewise.swag.recalculate import Recalculate
from slidewise.swag.running_tally import RunningTally
from slidewise.swag.structure import Structure
from slidewise.swag.two_stacks_lite import TwoStacksLite

ALGORITHMS: dict[str, type[Structure]] = {
    "recalculate": Recalculate,
    "two_stacks_lite": TwoStacksLite,
}
"""Name -> class; a new algorithm is one file and one line here."""


@dataclass(frozen=True)
class Choice:
    """A rung of the ladder: the algorithm, whether the blocked kernel runs in its place, and why."""

    structure: type[Structure]
    blocked: bool
    reason: str
    numbers: Literal["ranked", "distinct"] | None = None
    """The kernel that takes whole columns of numbers in the algorithm's place."""


def check_name(algorithm: object) -> None:
    """Raise `ArgumentError` unless this is "auto" or the name of an algorithm."""
    if not isinstance(algorithm, str) or algorithm not in ("auto", *ALGORITHMS):
        raise ArgumentError(f"algorithm={algorithm!r}: expected 'auto' or one of {listed(ALGORITHMS)}")


def choose(
    monoid: Monoid,
    *,
    algorithm: str = "auto",
    fixed_rows: bool = False,
    compiled: bool = False,
    numbers: bool = False,
) -> Choice:
    """Walk down the ladder; raises `ArgumentError` for an unknown name or an algorithm that cannot serve.

    `numbers`: whole columns of machine numbers will be swept. `fixed_rows`: and each window is as many rows of them.

    >>> import slidewise as sw
    >>> choose(sw.Monoid(identity=0, combine=lambda a, b: a + b)).reason
    'amortized O(1) for any monoid, with the fewest partials'
    """
    if algorithm != "auto":
        check_name(algorithm)
        structure = ALGORITHMS[algorithm]
        structure.refuse(monoid)
        return Choice(structure, blocked=False, reason=f"asked for by algorithm={algorithm!r}")
    if numbers and monoid.tally is not None and monoid.tally.quantile is not None:
        reason = "an exact quantile of whole columns: ranks by sorting, each window a set of ranks"
        return Choice(RunningTally, blocked=False, numbers="ranked", reason=reason)
    if numbers and monoid.tally is not None and monoid.tally.distinct:
        reason = "distinct values of whole columns: each row knows the next of its value"
        return Choice(RunningTally, blocked=False, numbers="distinct", reason=reason)
    if monoid.tally is not None and monoid.tally.remove is not None:
        return Choice(RunningTally, blocked=False, reason="values are added and taken out again in one tally")
    if monoid.tally is not None:
        return Choice(BlockTallies, blocked=False, reason="big partials: one tally per block, raw values inside")
    if fixed_rows and compiled:
        return Choice(TwoStacksLite, blocked=True, reason="a fixed number of rows over whole columns, by blocked scans")
    return Choice(TwoStacksLite, blocked=False, reason="amortized O(1) for any monoid, with the fewest partials")
