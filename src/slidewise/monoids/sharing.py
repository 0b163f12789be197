"""Which monoid's partial holds another's: asked for together, only the larger one is kept, and the other read off it.

A mean of floats keeps (sum, count), so it answers `sum` and `count` as well. What must be equal is the partial, bit for
bit: a mean is not read off a variance, whose running mean is another number (and NaN beside an infinity).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from slidewise.monoids.catalogue.counts import COUNT_VALUES
from slidewise.monoids.catalogue.moments import COVARIANCE_MONOID, STDDEV_MONOID, VAR_MONOID
from slidewise.monoids.catalogue.sums import GEOMEAN_MONOID, MEAN_FLOAT, MEAN_INT, SUM_FLOAT, SUM_INT
from slidewise.monoids.monoid import Monoid

Project = Callable[[Any], Any]


def _first(p: Any) -> Any:
    return p[0]


def _second(p: Any) -> Any:
    return p[1]


def _third(p: Any) -> Any:
    return p[2]


def _pair(p: Any) -> Any:
    return (p[0], p[1])


def _whole(p: Any) -> Any:
    return int(p[0])


HELD: dict[Monoid, dict[Monoid, Project]] = {
    SUM_FLOAT: {MEAN_FLOAT: _first},
    SUM_INT: {MEAN_INT: _pair},
    COUNT_VALUES: {
        MEAN_INT: _third,
        MEAN_FLOAT: _second,
        GEOMEAN_MONOID: _second,
        VAR_MONOID: _whole,
        STDDEV_MONOID: _whole,
        COVARIANCE_MONOID: _whole,
    },
}
"""Monoid -> the monoids whose partials hold its own, and how it is read off them."""


def same_partial(a: Monoid, b: Monoid) -> bool:
    """True if two monoids differ in `lower` only, as var and stddev do."""
    return a is b or (a.lift is b.lift and a.combine is b.combine and repr(a.identity) == repr(b.identity))


def shared_parts(monoids: list[Monoid]) -> tuple[list[Monoid], list[tuple[int, Project | None]]]:
    """The monoids whose partials must be kept, and for each one asked for: which of them, and how it is read off.

    >>> import slidewise as sw
    >>> from slidewise.monoids.catalogue.sums import MEAN_FLOAT, SUM_FLOAT
    >>> kept, found = shared_parts([SUM_FLOAT, MEAN_FLOAT, COUNT_VALUES])
    >>> kept, [place for place, _ in found]
    ([Monoid('mean')], [0, 0, 0])
    """
    kept: list[Monoid] = []
    for monoid in monoids:
        held = any(other in HELD.get(monoid, {}) for other in monoids)
        if not held and not any(same_partial(monoid, one) for one in kept):
            kept.append(monoid)
    found: list[tuple[int, Project | None]] = []
    for monoid in monoids:
        place = next((k for k, one in enumerate(kept) if same_partial(monoid, one)), None)
        if place is not None:
            found.append((place, None))
            continue
        holders = HELD[monoid]
        place = next(k for k, one in enumerate(kept) if any(same_partial(one, holder) for holder in holders))
        project = next(how for holder, how in holders.items() if same_partial(kept[place], holder))
        found.append((place, project))
    return kept, found
