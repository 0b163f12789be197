"""Trees over a ring: how FlatFAT and B-Int number the nodes of a window's ring, and what their ranges share.

    heap number            1                  the root covers the whole ring
                       2       3
                     4   5   6   7
                    8 9 ...       15          leaves N .. 2N - 1: the ring's places, N = MASK + 1

Elements lie in the ring as in every window, inner nodes 1 .. N - 1 in the scratch plane behind it. Node h is at
``BASE + ((h + N) & (2N - 1))``: one formula for both. O(1), no pointers. Invariant: children of h are 2h and 2h + 1.
"""

from __future__ import annotations

from typing import Any

from slidewise.kernels.jit import Jit
from slidewise.kernels.ops import Ops, once
from slidewise.kernels.registers import BASE, MASK


@once
def cover_of(ops: Ops, jit: Jit) -> Any:
    """The fewest nodes whose elements are exactly positions ``[first, last)``, combined in order: ≤ 2 log₂ n ⊕.

    Nodes are found by position, not by place, so a range that runs over the ring's end is no special case: at level l
    the node over positions ``[q << l, (q + 1) << l)`` is number ``(N >> l) + (q & ((N >> l) - 1))``.
    """
    combine, load, identity = ops.combine, ops.load, ops.identity

    def cover(cols: Any, R: Any, first: int, last: int) -> Any:
        base, size = R[BASE], R[MASK] + 1
        wrap = 2 * size - 1
        older, newer = identity, identity
        width = size
        while first < last:
            if first & 1:
                older = combine(older, load(cols, base + ((width + (first & (width - 1)) + size) & wrap)))
                first += 1
            if last & 1:
                last -= 1
                newer = combine(load(cols, base + ((width + (last & (width - 1)) + size) & wrap)), newer)
            first >>= 1
            last >>= 1
            width >>= 1
        return combine(older, newer)

    return jit(cover)


def node(size: int, level: int, q: int) -> int:
    """Where the node over positions ``[q << level, (q + 1) << level)`` lies behind BASE, in a ring of `size`."""
    width = size >> level
    return (width + (q & (width - 1)) + size) & (2 * size - 1)


@once
def finish_of(ops: Ops, jit: Jit) -> Any:
    """`finish(cols, R, level, q)`: compute a node from its two halves; 1 ⊕."""
    combine, load, store = ops.combine, ops.load, ops.store
    at = jit(node)

    def finish(cols: Any, R: Any, level: int, q: int) -> None:
        base, size = R[BASE], R[MASK] + 1
        left = load(cols, base + at(size, level - 1, 2 * q))
        right = load(cols, base + at(size, level - 1, 2 * q + 1))
        store(cols, base + at(size, level, q), combine(left, right))

    return jit(finish)
