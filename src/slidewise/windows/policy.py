"""Windows that data ends: `evict_while`, where a policy of the user's says what leaves, and `adwin`.

evict_while(lambda total, old: total.s - old.s >= 10, uses={"s": sum()})    the fewest newest events that sum to 10
──3──4──1──5──2──►
     old └──┬──┘
  leaves    stays            old is a prefix of the window, total all of it, each as the aggregates in `uses` see it

A policy is asked after every event, and the longest prefix for which it holds leaves. It should be *monotone*: where it
holds for a prefix, it holds for every shorter one. Then O(log n) prefixes are looked at (swag/mta.py).
"""

from __future__ import annotations

import inspect
import keyword
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from slidewise.errors import ArgumentError, bad, shown, whole
from slidewise.monoids.aggregate import Aggregate
from slidewise.windows.window import Window

PolicyFunction = Callable[[Any, Any], bool]


@dataclass(frozen=True)
class Policy:
    """A function of (total, old), and by name the aggregates that it sees of both."""

    function: PolicyFunction
    uses: tuple[tuple[str, Aggregate], ...]

    def __repr__(self) -> str:
        name = getattr(self.function, "__name__", type(self.function).__name__)
        inside = ", ".join(f"{name!r}: {aggregate!r}" for name, aggregate in self.uses)
        return f"{name}, uses={{{inside}}}"


class DataWindow(Window):
    """A window whose older end the data decides, event by event."""


@dataclass(frozen=True, kw_only=True, repr=False)
class EvictWhile(DataWindow):
    """What no policy has evicted; see `evict_while`."""

    policies: tuple[Policy, ...]
    check: bool = False

    def __or__(self, other: object) -> EvictWhile:
        """Evict what either evicts.

        >>> import slidewise as sw
        >>> few = sw.evict_while(lambda total, old: total.n - old.n >= 3, uses={"n": sw.count()})
        >>> since_peak = sw.evict_while(lambda total, old: old.peak < total.peak, uses={"peak": sw.max()})
        >>> sw.slide([5, 1, 1, 1, 2], sw.count(), few | since_peak)
        [1, 2, 3, 3, 1]
        """
        if not isinstance(other, EvictWhile):
            return NotImplemented
        if self.include_current != other.include_current:
            raise ArgumentError(f"{self!r} | {other!r}: expected include_current to be the same in both")
        return replace(
            self,
            policies=(*self.policies, *other.policies),
            min_rows=max(self.min_rows, other.min_rows),
            check=self.check or other.check,
        )

    def to_dict(self) -> dict[str, Any]:
        """The window as plain values; a policy is code, so it stands there by its name and uses only."""
        return {
            "window": type(self).__name__,
            "policies": [repr(policy) for policy in self.policies],
            "include_current": self.include_current,
            "min_rows": self.min_rows,
        }

    def __repr__(self) -> str:
        last = self._options()
        written = [f"evict_while({', '.join([repr(policy), *last])})" for policy in self.policies]
        return " | ".join(written)


@dataclass(frozen=True, kw_only=True, repr=False)
class Adwin(DataWindow):
    """What the newest events have in common; see `adwin`."""

    delta: float
    column: str | None = None

    def __repr__(self) -> str:
        column = [] if self.column is None else [f"column={self.column!r}"]
        return f"adwin({', '.join([repr(self.delta), *column, *self._options()])})"


def evict_while(
    policy: PolicyFunction,
    uses: Mapping[str, Aggregate],
    *,
    include_current: bool = True,
    min_rows: int = 0,
    check: bool = False,
) -> EvictWhile:
    """A slide policy: after each event the longest prefix of the window leaves for which ``policy(total, old)`` holds.

    `total` is the window with the new event in it, `old` a prefix of it, the candidate to leave; both have an attribute
    per name in `uses`, the answer of that aggregate. Policies are joined by ``|``. Amortized O(1) combines per event,
    O(log n) at worst, however many leave. Compiled where the policy compiles and its aggregates do.

    Parameters
    ----------
    policy
        A function of (total, old), true where at least this prefix leaves. It must be monotone: true for every prefix
        shorter than one for which it is true. If it is not, which prefix leaves depends on how the search went.
    uses
        Name -> aggregate, bound to columns on a table (``sw.sum("price")``), unbound for plain values. Times are
        nanoseconds since the epoch; null is NaN. Prefixes without any value of an aggregate are never asked about:
        they leave with the next event that has one.
    include_current
        False: the window as it was before this event, for features without leakage.
    min_rows
        Answer null for a window of fewer rows.
    check
        True: ask about every prefix, and raise `ArgumentError` where the policy is not monotone. O(n) per event, for
        trying a policy out.

    >>> import slidewise as sw
    >>> few = sw.evict_while(lambda total, old: total.n - old.n >= 2, uses={"n": sw.count()})
    >>> sw.slide([1, 2, 3, 4], sw.sum(), few)
    [1, 3, 5, 7]
    >>> at_most_10 = sw.evict_while(
    ...     lambda total, old: total.s - old.s + old.last > 10, uses={"s": sw.sum(), "last": sw.last()}
    ... )
    >>> sw.slide([2, 2, 3, 3, 4], sw.collect(), at_most_10)[-1]
    [3, 3, 4]
    """
    if not callable(policy):
        raise bad("policy", policy, "a function of (total, old)")
    try:
        inspect.signature(policy).bind(None, None)
    except TypeError as error:
        raise ArgumentError(f"policy={shown(policy)}: does not take (total, old): {error}") from error
    except ValueError:  # a built-in without a signature
        pass
    if not isinstance(uses, Mapping) or not uses:
        raise bad("uses", uses, 'names and aggregates, e.g. {"n": sw.count()}')
    for name, aggregate in uses.items():
        if not isinstance(name, str) or not name.isidentifier() or name.startswith("_") or keyword.iskeyword(name):
            raise bad("uses", name, "names that can follow a dot, e.g. 'n' for total.n")
        if not isinstance(aggregate, Aggregate):
            raise ArgumentError(f"uses[{name!r}]={shown(aggregate)}: expected an aggregate such as sw.sum('x')")
    if not isinstance(include_current, bool):
        raise bad("include_current", include_current, "True or False")
    if not isinstance(check, bool):
        raise bad("check", check, "True or False")
    return EvictWhile(
        policies=(Policy(policy, tuple(uses.items())),),
        include_current=include_current,
        min_rows=whole("min_rows", min_rows, least=0),
        check=check,
    )


def adwin(delta: float = 0.002, *, column: str | None = None, min_rows: int = 0) -> Adwin:
    """Adaptive windowing: older events leave as soon as their mean differs from that of the newer ones.

    After each event the window is cut in two at each of the tree's O(log n) places, the longest older part first; if
    the means of both parts are further apart than chance allows at confidence `delta`, the older part leaves, and the
    rest is cut again. Made for values between 0 and 1; larger ranges cut sooner. O(log n) per event.

    After Bifet and Gavaldà, "Learning from time-changing data with adaptive windowing" (2007): parts of n₀ and n₁
    values differ if ``|μ₀ - μ₁| > sqrt(2/m · σ² · ln(2/δ')) + 2/(3m) · ln(2/δ')`` with ``1/m = 1/n₀ + 1/n₁``,
    ``δ' = δ / ln(n)`` and σ² the variance of the whole window.

    Parameters
    ----------
    delta
        The chance of cutting where nothing changed; smaller means fewer cuts and later ones.
    column
        The column whose mean is watched; by default the only one that the aggregates name.
    min_rows
        Answer null for a window of fewer rows.

    >>> import slidewise as sw
    >>> before_and_after = [0.0] * 200 + [1.0] * 60
    >>> sw.slide(before_and_after, sw.count(), sw.adwin(0.002))[199::20]
    [200, 20, 40, 60]
    """
    if isinstance(delta, bool) or not isinstance(delta, (int, float)) or not 0 < delta < 1 or math.isnan(delta):
        raise bad("delta", delta, "a number between 0 and 1")
    if column is not None and (not isinstance(column, str) or not column):
        raise bad("column", column, "the name of a column, or None")
    return Adwin(delta=float(delta), column=column, min_rows=whole("min_rows", min_rows, least=0))
