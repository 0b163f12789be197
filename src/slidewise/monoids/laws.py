"""The laws a monoid must keep, as one public check: a new monoid's test is one line.

Checked over all triples of the samples' partials: O(s³) combines for s samples, so a handful of samples is enough.
"""

from __future__ import annotations

import inspect
import itertools
import math
from collections import deque
from collections.abc import Iterable
from typing import Any

from slidewise.errors import LawError
from slidewise.monoids.monoid import Monoid

TOLERANCE = 1e-9
"""Floats may differ by this much, relative to the largest number in the samples' partials."""


def check(monoid: Monoid, samples: Iterable[Any], *, tolerance: float = TOLERANCE) -> None:
    """Raise `LawError` unless `monoid` keeps its laws on `samples`; a sample of a lift of several columns, or
    of none, is a tuple.

    The laws: identity on both sides, associativity, and where they are promised `commutative`, `selective` and
    `inverse`; partials are not changed in place. What an infinity or NaN has swallowed no inverse need bring back.

    >>> import slidewise as sw
    >>> sw.monoids.laws.check(sw.Monoid(identity=0, combine=lambda a, b: a + b, name="add"), [1, 5, -3])
    >>> sw.monoids.laws.check(sw.Monoid(identity=0, combine=max, name="max from 0"), [1, -3])
    Traceback (most recent call last):
      ...
    slidewise.errors.LawError: max from 0: identity on the left: combine(0, -3) gave 0, expected -3
    """
    one_value = _takes_one_value(monoid.lift)
    partials = [monoid.lifted(sample) if one_value else monoid.lifted(*sample) for sample in samples]
    partials.append(monoid.identity)
    scale = max((abs(n) for p in partials for n in _numbers(p) if math.isfinite(n)), default=1.0)

    def expect(law: str, shown: str, got: Any, expected: Any) -> None:
        if not same(got, expected, tolerance * max(scale, 1.0)):
            raise LawError(f"{monoid.name}: {law}: {shown} gave {got!r}, expected {expected!r}")

    def unchanged() -> None:
        if repr(partials) != before:
            raise LawError(f"{monoid.name}: immutable: combine or inverse changed a partial in place")

    combine, one = monoid.combine, monoid.identity
    before = repr(partials)
    for a in partials:
        left, right = combine(one, a), combine(a, one)
        unchanged()
        expect("identity on the left", f"combine({one!r}, {a!r})", left, a)
        expect("identity on the right", f"combine({a!r}, {one!r})", right, a)
    for a, b in itertools.product(partials, repeat=2):
        whole = combine(a, b)
        if monoid.commutative:
            expect("commutative", f"combine({b!r}, {a!r})", combine(b, a), whole)
        if monoid.selective and not (same(whole, a, 0.0) or same(whole, b, 0.0)):
            raise LawError(f"{monoid.name}: selective: combine({a!r}, {b!r}) gave {whole!r}, which is neither")
        if monoid.inverse is not None and finite(whole):
            rest = monoid.inverse(whole, a)
            expect("inverse", f"inverse({whole!r}, {a!r})", rest, b)
    for a, b, c in itertools.product(partials, repeat=3):
        left, right = combine(combine(a, b), c), combine(a, combine(b, c))
        expect("associative", f"combine({a!r}, combine({b!r}, {c!r}))", right, left)
    unchanged()


def same(a: Any, b: Any, slack: float) -> bool:
    """Equal, with NaN equal to NaN and floats within `slack`; tuples, lists and deques by element."""
    if isinstance(a, (tuple, list, deque)) and isinstance(b, (tuple, list, deque)):
        return len(a) == len(b) and all(same(x, y, slack) for x, y in zip(a, b, strict=True))
    if isinstance(a, float) or isinstance(b, float):
        if a is None or b is None:
            return a is b
        if math.isnan(a) or math.isnan(b):
            return math.isnan(a) and math.isnan(b)
        return bool(a == b) or abs(a - b) <= slack
    return bool(a == b)


def _numbers(partial: Any) -> Iterable[float]:
    if isinstance(partial, (tuple, list)):
        for part in partial:
            yield from _numbers(part)
    elif isinstance(partial, (int, float)):
        yield min(float(abs(partial)), 1e300)


def _takes_one_value(lift: Any) -> bool:
    """False for a lift of several columns or of none; one that takes any number is handed one."""
    code = getattr(lift, "__code__", None)
    return code is None or code.co_argcount == 1 or bool(code.co_flags & inspect.CO_VARARGS)


def finite(partial: Any) -> bool:
    """True if no number in a partial is infinite or NaN."""
    if isinstance(partial, (tuple, list)):
        return all(map(finite, partial))
    return not isinstance(partial, float) or math.isfinite(partial)
