"""A slide policy over rows: after each insert, the longest prefix for which it holds leaves. It gives bounds only.

    rows      i ──►   insert row i, find the prefix that leaves, evict it:  lo[i] = HEAD, hi[i] = i + 1

Rows of a run before those that are asked about go in unasked: the policy has seen them before.

What the answers are is then up to any algorithm over those bounds, which only rise. The policy's own aggregates are
kept by Amortized MTA: O(1) combines per row on average, O(log n) looks however much leaves. Runs are in the layout of
windows/bounds.py.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from slidewise.errors import ArgumentError
from slidewise.kernels.ops import Ops
from slidewise.kernels.registers import HEAD, LAST, TAIL
from slidewise.kernels.uses import LEAVES, STAYS, UsesOps
from slidewise.swag.amta import Amta
from slidewise.swag.mta import longest_of, value_of
from slidewise.windows.bounds import ANSWER_FROM, ANSWER_TO, FIRST, FRESH, SLOT


def build_enforce(uses: UsesOps, decide: Any, repeat: bool = False) -> Any:
    """The loop for one policy, at the speed of its ops; ``decide(cols, R)`` is the position of the first that stays.

    `repeat`: it is asked again of what stays, until nothing leaves.
    """
    ops, lift_row = uses.ops, uses.lift_row
    steps = Amta.steps(ops)
    clear, insert, evict_to = steps.clear, steps.insert, steps.evict_to
    assert evict_to is not None

    def enforce(cols: Any, regs: Any, inputs: Any, valids: Any, runs: Any, current: bool, lo: Any, hi: Any) -> None:
        for r in range(len(runs)):
            run = runs[r]
            R = regs[run[SLOT]]
            if run[FRESH]:
                R[HEAD] = 0
                R[TAIL] = 0
                R[LAST] = -1
                clear(cols, R)
            shift = R[TAIL] - run[FIRST]
            for row in range(run[FIRST], run[ANSWER_TO]):
                asked = row >= run[ANSWER_FROM]
                if asked and not current:
                    lo[row] = R[HEAD] - shift
                    hi[row] = row
                insert(cols, R, lift_row(inputs, valids, row))
                if not asked:
                    continue
                stays = decide(cols, R)
                while stays > R[HEAD]:
                    evict_to(cols, R, stays)
                    if repeat and stays < R[TAIL]:
                        stays = decide(cols, R)
                if current:
                    lo[row] = R[HEAD] - shift
                    hi[row] = row + 1

    return ops.kernel(enforce)


@dataclass(frozen=True)
class Access:
    """How a decision reads the window: its total, and its nodes (swag/mta.py)."""

    query: Any
    value: Any
    whole: Any
    ready: Any


def access_of(ops: Ops) -> Access:
    """Straight to the columns, at the speed of `ops`."""
    levels = Amta.levels_of(ops, ops.jit)
    return Access(Amta.steps(ops).query, value_of(ops, levels, ops.jit), levels.whole, levels.ready)


def by_policy(uses: UsesOps, access: Access) -> Any:
    """`decide` for a monotone policy: O(log n) looks."""
    ops, jit = uses.ops, uses.ops.jit
    query, ready = access.query, access.ready
    longest = None
    for holds in uses.holds:
        mine = longest_of(ops.combine, access.value, ops.identity, access.whole, holds, jit)
        longest = mine if longest is None else _longer_of(longest, mine, jit)
    assert longest is not None
    found = longest

    def decide(cols: Any, R: Any) -> int:
        ready(cols, R)
        return int(found(cols, R, query(cols, R)))

    return ops.jit(decide)


def _longer_of(one: Any, other: Any, jit: Any) -> Any:
    """The longer of the prefixes that two policies evict; each is searched for by itself, since a prefix may be
    without a value for the one and not for the other."""

    def longer(cols: Any, R: Any, total: Any) -> int:
        return int(max(one(cols, R, total), other(cols, R, total)))

    return jit(longer)


def by_every_prefix(uses: UsesOps, access: Access, shown: str) -> Any:
    """`decide` for trying a policy out: asks about every prefix, and raises where it is not monotone; O(n) looks."""
    query, value, combine = access.query, access.value, uses.ops.combine

    def decide(cols: Any, R: Any) -> int:
        total, head, tail = query(cols, R), R[HEAD], R[TAIL]
        prefixes, old = [], uses.ops.identity
        for position in range(head, tail):
            old = combine(old, value(cols, R, 0, position))
            prefixes.append(old)
        stays = head
        for holds in uses.holds:
            said = [holds(total, prefix) for prefix in prefixes]
            longest = max((k for k, one in enumerate(said, start=1) if one == LEAVES), default=0)
            if STAYS in said[:longest]:
                raise ArgumentError(
                    f"window={shown}: the policy is not monotone: with {tail - head} events in the window it holds for "
                    f"the oldest {longest}, and not for the oldest {said.index(STAYS) + 1}"
                )
            stays = max(stays, head + longest)
        return int(stays)

    return decide


def by_change(uses: UsesOps, access: Access, moments: Any, delta: float) -> Any:
    """`decide` of ADWIN: the longest older part whose mean differs from the rest's; O(log n) cuts.

    The cuts are where the window falls into whole nodes, the largest that fit, from the oldest on: close together near
    both ends. ``moments(partial)`` gives (count, mean, sum of squares about it).
    """
    query, value, whole, ready = access.query, access.value, access.whole, access.ready
    combine, identity, jit = uses.ops.combine, uses.ops.identity, uses.ops.jit
    differs = jit(_differs)

    def decide(cols: Any, R: Any) -> int:
        ready(cols, R)
        n, mean, squares = moments(query(cols, R))
        position, tail, level, stays = R[HEAD], R[TAIL], 0, R[HEAD]
        old = identity
        while n > 1 and position < tail:
            while not (position >> level) & 1 and whole(R, level + 1, position >> (level + 1)):
                level += 1
            while not whole(R, level, position >> level):
                level -= 1
            q = position >> level
            old = combine(old, value(cols, R, level, q))
            position = (q + 1) << level
            older, older_mean, _ = moments(old)
            if position < tail and 0 < older < n and differs(n, mean, squares, older, older_mean, delta):
                stays = position
        return int(stays)

    return jit(decide)


def _differs(n: float, mean: float, squares: float, older: float, older_mean: float, delta: float) -> bool:
    """Do the means of both parts lie further apart than chance allows?"""
    newer = n - older
    apart = abs(older_mean - mean) * n / newer  # of both means, without the newer one: nothing large is subtracted
    inverse = 1.0 / older + 1.0 / newer
    chance = math.log(2.0 * math.log(n) / delta)
    return apart > math.sqrt(2.0 * inverse * squares / n * chance) + 2.0 / 3.0 * inverse * chance
