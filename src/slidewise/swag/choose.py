"""The ladder: which algorithm serves a window, rung by rung, with the reason for each.

`algorithm=` takes a rung by name.

| rung              | taken when                                      | because                                     |
| ----------------- | ----------------------------------------------- | ------------------------------------------- |
| asked for         | `algorithm=` names one                          | the user knows; refused if it cannot serve  |
| aggregation tree  | bounds may move backwards (`between`)           | O(log n) ⊕ for any bounds; sweeps if they rise |
| `whole_tally`     | as `running`, and the aggregate has a tally     | one tally, added to in place                |
| ranked            | an exact quantile, whole columns of numbers     | ranks by sorting, a window is a set of bits |
| distinct          | how many distinct, whole columns of numbers     | rows linked by value, nothing to count      |
| `running_tally`   | the aggregate has a tally that can take out     | O(1) per event, exact, no partial per row   |
| `block_tallies`   | the aggregate has a tally                       | big partials: one per block, not per row    |
| `running`         | only all of it leaves (`expanding`, `session`)  | one partial, one ⊕ per element              |
| blocked           | a fixed number of rows, whole columns, compiled | no bounds to read, two scans side by side   |
| `subtract_on_evict` | an inverse, and partials of integers only     | 1 ⊕, 1 inverse at every step, nothing drifts |
| `two_stacks_lite` | otherwise                                       | ≤ 3 ⊕ per element on average, n + 1 partials |

Measured: subtraction took 3 to 12% less time than `two_stacks_lite` in machine code and 20 to 40% less on objects. Not
on the ladder: `monotonic_deque`, which asks for no ⊕ at a query, but took 2 to 4 times as long in machine code on
values in random order (how many candidates a value ends cannot be predicted), and no less on objects; `daba_lite` and
`daba`, which take 1.5 to 2 times as long on average and are for those who count the slowest step; `recalculate`, which
wins in windows of a few elements only, even where partials grow with the window as Collect's do: a concatenation in
CPython copies memory, and n − 1 calls of ⊕ cost more than two or three large copies.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from slidewise.errors import ArgumentError, listed
from slidewise.monoids.monoid import Monoid
from slidewise.swag.amta import Amta
from slidewise.swag.b_int import BInt
from slidewise.swag.block_tallies import BlockTallies
from slidewise.swag.daba import Daba
from slidewise.swag.daba_lite import DabaLite
from slidewise.swag.flatfit import FlatFIT
from slidewise.swag.foa import Foa
from slidewise.swag.ioa import Ioa
from slidewise.swag.log_mta import LogMta
from slidewise.swag.monotonic_deque import MonotonicDeque
from slidewise.swag.reactive import Reactive
from slidewise.swag.recalculate import Recalculate
from slidewise.swag.running import Running
from slidewise.swag.running_tally import RunningTally
from slidewise.swag.structure import Structure
from slidewise.swag.subtract_on_evict import SubtractOnEvict
from slidewise.swag.two_stacks import TwoStacks
from slidewise.swag.two_stacks_lite import TwoStacksLite
from slidewise.swag.whole_tally import WholeTally

ALGORITHMS: dict[str, type[Structure]] = {
    "recalculate": Recalculate,
    "subtract_on_evict": SubtractOnEvict,
    "two_stacks": TwoStacks,
    "two_stacks_lite": TwoStacksLite,
    "monotonic_deque": MonotonicDeque,
    "daba": Daba,
    "daba_lite": DabaLite,
    "foa": Foa,
    "ioa": Ioa,
    "flatfit": FlatFIT,
    "reactive": Reactive,
    "b_int": BInt,
    "log_mta": LogMta,
    "amta": Amta,
}
"""Name -> class; a new algorithm is one file and one line here."""


@dataclass(frozen=True)
class Choice:
    """A rung of the ladder: the algorithm, whether the blocked kernel or the tree runs in its place, and why."""

    structure: type[Structure]
    blocked: bool
    reason: str
    tree: bool = False
    numbers: Literal["ranked", "distinct"] | None = None
    """The kernel that takes whole columns of numbers in the algorithm's place."""
    asked: bool = False
    """True if the user named the algorithm."""


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
    whole_only: bool = False,
    any_bounds: bool = False,
    exact: bool = False,
    numbers: bool = False,
) -> Choice:
    """Walk down the ladder; raises `ArgumentError` for an unknown name or an algorithm that cannot serve.

    `fixed_rows`: the window is a number of rows over whole columns. `whole_only`: it only ever loses all it holds.
    `any_bounds`: it may move backwards. `exact`: every number in a partial is an integer, so that what is subtracted is
    gone to the last bit. `numbers`: whole columns of machine numbers will be swept.

    >>> import slidewise as sw
    >>> choose(sw.Monoid(identity=0, combine=lambda a, b: a + b)).reason
    'amortized O(1) for any monoid, with the fewest partials'
    """
    if algorithm != "auto":
        check_name(algorithm)
        if any_bounds:
            raise ArgumentError(
                f"algorithm={algorithm!r}: keeps a window that moves forward, and bounds of columns need not; "
                "expected 'auto'"
            )
        structure = ALGORITHMS[algorithm]
        structure.refuse(monoid)
        return Choice(structure, blocked=False, reason=f"asked for by algorithm={algorithm!r}", asked=True)
    if any_bounds:
        reason = "O(log n) for bounds in any order; swept by two_stacks_lite where they only rise"
        return Choice(TwoStacksLite, blocked=False, reason=reason, tree=True)
    whole = WholeTally if whole_only else RunningTally
    if numbers and monoid.tally is not None and monoid.tally.quantile is not None:
        reason = "an exact quantile of whole columns: ranks by sorting, each window a set of ranks"
        return Choice(whole, blocked=False, numbers="ranked", reason=reason)
    if numbers and monoid.tally is not None and monoid.tally.distinct:
        reason = "distinct values of whole columns: each row knows the next of its value"
        return Choice(whole, blocked=False, numbers="distinct", reason=reason)
    if whole_only and monoid.tally is not None:
        return Choice(WholeTally, blocked=False, reason="nothing leaves it by itself, so one tally is enough")
    if monoid.tally is not None and monoid.tally.remove is not None:
        return Choice(RunningTally, blocked=False, reason="values are added and taken out again in one tally")
    if monoid.tally is not None:
        return Choice(BlockTallies, blocked=False, reason="big partials: one tally per block, raw values inside")
    if whole_only:
        return Choice(Running, blocked=False, reason="nothing leaves it by itself, so one partial is enough")
    if fixed_rows and compiled:
        return Choice(TwoStacksLite, blocked=True, reason="a fixed number of rows over whole columns, by blocked scans")
    if exact and monoid.inverse is not None:
        return Choice(SubtractOnEvict, blocked=False, reason="integers are subtracted exactly, in O(1) at every step")
    return Choice(TwoStacksLite, blocked=False, reason="amortized O(1) for any monoid, with the fewest partials")
