"""A bank's rings: however they are moved, one by one or many at once, what lives in them goes along."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import slidewise as sw
from slidewise.kernels.registers import BASE, HEAD, MASK, TAIL
from slidewise.swag import bank as bank_module
from slidewise.swag.bank import Bank
from slidewise.swag.choose import ALGORITHMS
from slidewise.swag.structure import sweep_of
from slidewise.swag.whole_tally import WholeTally

PLANES, EXTRA = 2, 1


def make(slots: int, lengths: list[int], head: int) -> Bank:
    """Rings full of numbers that say where they belong: plane, slot, position."""
    made = Bank(lambda n: (np.zeros(n, dtype=np.int64),), compiled=True, extra=EXTRA, planes=PLANES)
    for slot in range(slots):
        made.add()
        made.reserve(slot, lengths[slot])
        made.regs[slot, HEAD], made.regs[slot, TAIL] = head * slot, head * slot + lengths[slot]
        for at, number in zip(made.places(slot), expected(slot, lengths[slot], head), strict=True):
            made.cols[0][at] = number
    return made


def expected(slot: int, length: int, head: int) -> list[int]:
    positions = range(head * slot, head * slot + length)
    planes = [10**6 * (plane + 1) + 1000 * slot + p for plane in range(PLANES) for p in positions]
    return [*planes, -slot - 1]


def check(made: Bank, lengths: list[int], head: int) -> None:
    taken: set[int] = set()
    for slot, length in enumerate(lengths):
        places = made.places(slot)
        assert made.cols[0][places].tolist() == expected(slot, length, head)
        first = int(made.regs[slot, BASE]) - EXTRA
        region = set(range(first, first + EXTRA + PLANES * (int(made.regs[slot, MASK]) + 1)))
        assert set(places) <= region
        assert not region & taken, "slots do not share places"
        taken |= region
    assert max(taken, default=0) < made.used <= len(made.cols[0])


@pytest.mark.parametrize("many", [1, 10**9], ids=["at once", "one by one"])
@given(lengths=st.lists(st.integers(0, 9), min_size=1, max_size=6), more=st.data(), head=st.integers(0, 9))
def test_rings_move_with_what_they_hold(many: int, lengths: list[int], more: st.DataObject, head: int) -> None:
    before, bank_module.MANY = bank_module.MANY, many
    sparse, bank_module.SPARSE = bank_module.SPARSE, 8
    try:
        made = make(len(lengths), lengths, head)
        slots = np.array(more.draw(st.lists(st.integers(0, len(lengths) - 1), max_size=8)), dtype=np.int64)
        wanted = np.array([more.draw(st.integers(0, 40)) for _ in slots], dtype=np.int64)
        made.reserve_all(slots, wanted)
        check(made, lengths, head)
        for slot, capacity in zip(slots.tolist(), wanted.tolist(), strict=True):
            assert made.regs[slot, MASK] + 1 >= capacity
        made.compact()
        check(made, lengths, head)
        target = made.add()
        made.copy(0, target)
        assert made.cols[0][made.places(target)].tolist() == expected(0, lengths[0], head)
        check(made, lengths, head)
    finally:
        bank_module.MANY, bank_module.SPARSE = before, sparse


@pytest.mark.parametrize("name", [*ALGORITHMS, "running_tally", "block_tallies", "whole_tally"])
def test_a_copy_answers_as_its_source_and_goes_its_own_way(name: str) -> None:
    """On objects: every algorithm's registers, planes, links and cells."""
    from slidewise.swag.block_tallies import BlockTallies
    from slidewise.swag.running_tally import RunningTally

    tallied = {"running_tally": RunningTally, "block_tallies": BlockTallies, "whole_tally": WholeTally}
    structure = {**ALGORITHMS, **tallied}[name]
    monoid = sw.Monoid(identity=0, combine=max if name == "monotonic_deque" else operator.add, name="m", inverse=None)
    if name == "subtract_on_evict":
        monoid = sw.Monoid(identity=0, combine=operator.add, inverse=operator.sub, name="m")
    if name == "monotonic_deque":
        monoid = sw.Monoid(identity=-(10**9), combine=max, name="m", selective=True)
    if name in tallied:
        monoid = sw.collect("x").monoid(("int",), "x")
    ops = structure.ops(monoid, None, 1)
    made = structure.bank(ops)
    made.add()

    def feed(slot: int, values: list[int], keep: int, fresh: bool) -> list[Any]:
        made.reserve(slot, 60)
        length = 0 if fresh else made.length(slot)
        lo = [max(i + 1 - keep, -length) for i in range(len(values))]
        outs, ok = ops.outputs(len(values)), np.ones(len(values), dtype=np.bool_)
        runs = [[slot, int(fresh), 0, len(values), 0, len(values), lo[-1]]]
        hi = [i + 1 for i in range(len(values))]
        sweep_of(structure, ops)(made.cols, made.regs, (values,), [], False, lo, hi, runs, 0, outs, ok)
        return list(outs[0])

    keep = 100 if name == "whole_tally" else 7
    feed(0, list(range(20)), keep, True)
    made.add()
    made.copy(0, 1)
    first, second = feed(1, [5, 3, 40], keep, False), feed(0, [5, 3, 40], keep, False)
    assert first == second
    feed(1, [1] * 9, keep, False)
    again = feed(0, [2], keep, False)
    made.copy(0, 1)
    assert feed(1, [9], keep, False) == feed(0, [9], keep, False)
    assert again != first
