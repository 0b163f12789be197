"""A group of numbers that do not commute, for all tests that run compiled by every algorithm.

They share it because each pair of algorithm and monoid is machine code of its own.
"""

from __future__ import annotations

from typing import Any

import slidewise as sw

PRIME = 1009


def _compose(f: Any, g: Any) -> Any:
    return ((f[0] * g[0]) % PRIME, (g[0] * f[1] + g[1]) % PRIME)


def _undo(whole: Any, older: Any) -> Any:
    a, power, one_through = older[0], PRIME - 2, 1  # by Fermat's little theorem
    while power:
        if power & 1:
            one_through = (one_through * a) % PRIME
        a = (a * a) % PRIME
        power >>= 1
    slope = (whole[0] * one_through) % PRIME
    return (slope, (whole[1] - slope * older[1]) % PRIME)


AFFINE = sw.Monoid(  # x -> a·x + b, composed
    identity=(1, 0),
    lift=lambda x: (x % 5 + 1, x % 7),
    combine=_compose,
    inverse=_undo,
    lower=lambda f: f[0] * 10_000 + f[1],
    name="affine",
)
