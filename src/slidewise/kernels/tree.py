"""The aggregation tree: answers over any bounds, in any order, from partials of stretches that double.

    node    1                 x0 ⊕ .. ⊕ x3
            2, 3         x0 ⊕ x1       x2 ⊕ x3
            4 .. 7      x0    x1      x2    x3         leaf of row i: node n + i

Built bottom up in n ⊕; a range climbs from its two ends to where they meet and takes at most two nodes per level:
O(log n) ⊕ per answer, nothing is ever subtracted. What is taken on the left side grows at its newer end, on the right
side at its older end, so order is kept for any n. 2n partials. Invariant: node k is node 2k ⊕ node 2k + 1; a node
whose rows are not side by side (where n is no power of two) is in no range.
"""

from __future__ import annotations

from typing import Any

from slidewise.kernels.ops import Ops


def build_grow(ops: Ops) -> Any:
    """Kernel: put rows `[first, last)` at the leaves and combine upwards; a null is the identity."""
    lift_at, combine, identity, load, store = ops.lift_at, ops.combine, ops.identity, ops.load, ops.store

    def grow(nodes: Any, inputs: Any, valid: Any, has_nulls: bool, first: int, last: int) -> None:
        size = last - first
        for i in range(size):
            if has_nulls and not valid[first + i]:
                store(nodes, size + i, identity)
            else:
                store(nodes, size + i, lift_at(inputs, first + i))
        for k in range(size - 1, 0, -1):
            store(nodes, k, combine(load(nodes, 2 * k), load(nodes, 2 * k + 1)))

    return ops.kernel(grow)


def build_ranges(ops: Ops) -> Any:
    """Kernel: answers `[begin, end)`, each over leaves `[lo, hi)` of a tree of `size` of them.

    `held[hi] - held[lo]` is how many values a range holds; without nulls, every row is one and `held` is not read.
    """
    combine, identity, load, answer, vacant = ops.combine, ops.identity, ops.load, ops.answer, ops.vacant
    answers_empty = ops.monoid.answers_empty

    def ranges(
        nodes: Any,
        size: int,
        lo: Any,
        hi: Any,
        begin: int,
        end: int,
        held: Any,
        has_nulls: bool,
        min_rows: int,
        outs: Any,
        ok: Any,
    ) -> None:
        for j in range(begin, end):
            rows = hi[j] - lo[j]
            values = rows
            if has_nulls:
                values = held[hi[j]] - held[lo[j]]
            if rows < min_rows:
                ok[j] = False
                continue
            if values == 0 and not answers_empty:
                vacant(nodes, outs, ok, j)
                continue
            older = identity
            newer = identity
            a = lo[j] + size
            b = hi[j] + size
            while a < b:
                if a & 1:
                    older = combine(older, load(nodes, a))
                    a += 1
                if b & 1:
                    b -= 1
                    newer = combine(load(nodes, b), newer)
                a >>= 1
                b >>= 1
            answer(nodes, outs, ok, j, combine(older, newer))

    return ops.kernel(ranges)
