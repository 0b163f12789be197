"""What "equal" means, said once: `assert_same`.

Bit-equal for exact types (integers, strings, times, and floats that were selected, not computed); computed floats
within 1e-12 · Σ|x| over the window; NaN equals NaN; null equals only null. 0.0 equals -0.0. Lists and structs are the
same if their parts are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

TOLERANCE = 1e-12

Scale = float | Sequence[float | None] | None


def same(actual: Any, expected: Any, scale: float | None = None) -> bool:
    """Whether one value is the same as another.

    >>> same(1, 1), same(1, 1.0), same(None, math.nan), same(math.nan, math.nan), same(0.1 + 0.2, 0.3, scale=0.3)
    (True, False, False, True, True)
    """
    if actual is None or expected is None:
        return actual is expected
    if type(actual) is not type(expected):
        return False
    if isinstance(expected, (list, tuple)):
        return len(actual) == len(expected) and all(map(same, actual, expected, [scale] * len(expected)))
    if isinstance(expected, dict):
        return list(actual) == list(expected) and same([*actual.values()], [*expected.values()], scale)
    if not isinstance(expected, float):
        return bool(actual == expected)
    if math.isnan(expected) or math.isnan(actual):
        return math.isnan(expected) and math.isnan(actual)
    if actual == expected:
        return True
    return scale is not None and math.isfinite(expected) and abs(actual - expected) <= TOLERANCE * scale


def assert_same(
    actual: Sequence[Any] | Mapping[str, Sequence[Any]],
    expected: Sequence[Any] | Mapping[str, Sequence[Any]],
    *,
    scale: Scale | Mapping[str, Scale] = None,
) -> None:
    """Asserts that two sequences, or two tables as dicts of columns, are the same.

    `scale` is Σ|x| over the window: one number, one per row, or for tables a dict of either; without it floats must be
    bit-equal.

    >>> assert_same([1, None], [1, None])
    >>> assert_same({"x": [0.1 + 0.2]}, {"x": [0.3]}, scale={"x": [0.3]})
    >>> assert_same([1.0], [None])
    Traceback (most recent call last):
    AssertionError: row 0: got 1.0, expected None
    """
    if isinstance(expected, Mapping):
        assert isinstance(actual, Mapping), f"got {type(actual).__name__}, expected columns {list(expected)}"
        assert set(actual) == set(expected), f"got columns {sorted(actual)}, expected {sorted(expected)}"
        for name, values in expected.items():
            one = scale.get(name) if isinstance(scale, Mapping) else scale
            _assert_column(actual[name], values, one, f"column {name!r}, ")
    else:
        assert not isinstance(actual, Mapping), f"got columns {list(actual)}, expected a sequence"
        assert not isinstance(scale, Mapping), "a dict of scales belongs to a dict of columns"
        _assert_column(actual, expected, scale, "")


def _assert_column(actual: Sequence[Any], expected: Sequence[Any], scale: Scale, where: str) -> None:
    assert len(actual) == len(expected), f"{where}got {len(actual)} rows, expected {len(expected)}: {list(actual)!r}"
    for row, (got, want) in enumerate(zip(actual, expected, strict=True)):
        one = scale[row] if isinstance(scale, Sequence) else scale
        if not same(got, want, one):
            allowed = f" ± {TOLERANCE * one:g}" if one is not None else ""
            raise AssertionError(f"{where}row {row}: got {got!r}, expected {want!r}{allowed}")
