"""Long windows in leaps answer as the blocked kernel does, whatever the sizes of windows, blocks and runs."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import slidewise as sw
from slidewise.engine import batch
from slidewise.kernels import leaps
from slidewise.monoids.laws import same
from tests.catalogue import rare

#: Not commutative: the text of the values as a number in base 3, modulo a prime.
DIGITS = sw.Monoid(
    identity=(1, 0),
    lift=lambda x: (3, int(x)),
    combine=lambda a, b: ((a[0] * b[0]) % 1000003, (a[1] * b[0] + b[1]) % 1000003),
    name="digits",
)
FEW = [sw.aggregate(DIGITS), sw.max()]
ALL = [*FEW, sw.sum(), sw.count_of_max(), sw.count()]


@pytest.mark.parametrize("aggregates", [FEW, rare(ALL)], ids=["few", "all"])
@settings(deadline=None, max_examples=60)
@given(
    values=st.lists(st.none() | st.integers(-9, 9), max_size=120),
    width=st.integers(12, 90),
    least=st.integers(2, 5),
    more=st.integers(0, 6),
    current=st.booleans(),
    min_rows=st.integers(0, 3),
    keys=st.integers(1, 3),
)
def test_leaps_are_blocks(
    aggregates: list[sw.Aggregate],
    values: list[Any],
    width: int,
    least: int,
    more: int,
    current: bool,
    min_rows: int,
    keys: int,
) -> None:
    window = sw.trailing(width, include_current=current, min_rows=min_rows)
    by = sorted(k % keys for k in range(len(values))) or None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(leaps, "SMALLEST", least)
        patch.setattr(leaps, "LARGEST", least + more)
        for aggregate in aggregates:
            patch.setattr(batch, "LONG", 10**9)
            wanted = sw.slide(values, aggregate, window, by=by)
            patch.setattr(batch, "LONG", 1)
            assert same(sw.slide(values, aggregate, window, by=by), wanted, 0.0), aggregate


def test_a_block_leaves_few_rows_over() -> None:
    for width in (2**19 + 1, 2**20, 10**6, 12_345_678):
        block = leaps.leap_of(width)
        assert leaps.SMALLEST <= block <= leaps.LARGEST
        assert (width - 1) % block <= 4
