"""What a plan's slices hold: one partial for all of its queries, from which each reads its own.

    sum, mean, count over one stream  ──►  the partial (sum, count), lifted once per event

Monoids whose partials are equal, or held by another's (monoids/sharing.py), share a part; different ones lie side by
side in a product. At the speed of machine code that is a flat tuple of all fields, for objects a tuple of partials.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from slidewise.errors import ArgumentError
from slidewise.kernels.jit import inlined
from slidewise.kernels.ops import CannotCompile, Ops, compiled_ops, object_ops
from slidewise.kernels.product import product_ops
from slidewise.monoids.monoid import Monoid
from slidewise.monoids.sharing import Project, shared_parts


class Parts:
    """The product of the monoids of some queries; `ops` are its functions, `types` None means objects.

    >>> from slidewise.monoids.catalogue.counts import COUNT_VALUES
    >>> from slidewise.monoids.catalogue.sums import MEAN_FLOAT, SUM_FLOAT
    >>> parts = Parts([SUM_FLOAT, MEAN_FLOAT, COUNT_VALUES], None)
    >>> parts.kept, parts.ops.lift_at(([2.5],), 0)
    ([Monoid('mean')], (2.5, 1))
    """

    def __init__(self, monoids: Sequence[Monoid], types: tuple[str, ...] | None) -> None:
        self.monoids = list(monoids)
        self.kept, self.found = shared_parts(self.monoids)
        self.types = types
        if types is None:
            self._each: list[Ops] = []
            monoid = self.kept[0] if len(self.kept) == 1 else _product(self.kept)
            self.ops = object_ops(monoid, 1)
            return
        self._each = [_compiled(monoid, types) for monoid in self.monoids]
        parts = [_compiled(monoid, types) for monoid in self.kept]
        self._spans = [sum(len(part.fields) for part in parts[:k]) for k in range(len(parts) + 1)]
        self._parts = parts
        if len(parts) == 1:
            self.ops = parts[0]
        else:
            members = [(parts[k], k, None) for k in range(len(parts))]
            key = ("product", *(id(part) for part in parts))
            self.ops = parts[0].built(key, lambda: product_ops(_product(self.kept), parts, members))

    def answers(self, query: int, partials: tuple[Any, ...], ok: Any) -> tuple[tuple[Any, ...], Any]:
        """One query's answers of these partials, and which of them are not null; `ok` says which hold a value."""
        place, _ = self.found[query]
        if self.types is not None:
            return self.read(query, partials[self._spans[place] : self._spans[place + 1]], ok)
        alone = len(self.kept) == 1
        return self.read(query, partials if alone else ([p[place] for p in partials[0]],), ok)

    def read(self, query: int, part: tuple[Any, ...], ok: Any) -> tuple[tuple[Any, ...], Any]:
        """As `answers`, of the part that this query reads."""
        monoid, (place, project) = self.monoids[query], self.found[query]
        count = len(ok)
        ok = np.ones(count, dtype=np.bool_) if monoid.answers_empty else np.array(ok, dtype=np.bool_)
        if self.types is None:
            mine = part[0] if project is None else [project(p) for p in part[0]]
            values = [monoid.lowered(p) if good else None for p, good in zip(mine, ok, strict=True)]
            return (values,), ok & np.array([value is not None for value in values], dtype=np.bool_)
        holder, member = self._parts[place], self._each[query]
        outs = member.outputs(count)
        kernel = member.built(("read", holder, project), lambda: _build_read(holder, member, project))
        kernel(part, outs, ok)
        return outs, ok


def _compiled(monoid: Monoid, types: tuple[str, ...]) -> Ops:
    try:
        return compiled_ops(monoid, types)
    except CannotCompile as error:
        raise ArgumentError(f"types={types!r}: {monoid!r} does not compile ({error}); expected None") from error


def _build_read(part: Ops, member: Ops, project: Project | None) -> Any:
    """Kernel: read off each partial what a member's own would be, and lower it."""
    load, answer = part.load, member.answer
    look = inlined(project if project is not None else _itself)

    def read(partials: Any, outs: Any, ok: Any) -> None:
        for j in range(len(ok)):
            if ok[j]:
                answer(partials, outs, ok, j, look(load(partials, j)))

    return member.kernel(read)


def _itself(p: Any) -> Any:
    return p


def _product(kept: list[Monoid]) -> Monoid:
    """Partials side by side, in order."""

    def lift(x: Any) -> Any:
        return tuple([monoid.lifted(x) for monoid in kept])

    def combine(a: Any, b: Any) -> Any:
        return tuple([monoid.combine(p, q) for monoid, p, q in zip(kept, a, b, strict=True)])

    return Monoid(
        identity=tuple(monoid.identity for monoid in kept),
        lift=lift,
        combine=combine,
        commutative=all(monoid.commutative for monoid in kept),
        name="+".join(monoid.name for monoid in kept),
    )
