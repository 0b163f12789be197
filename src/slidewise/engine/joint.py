"""Outputs that share their work: those of one window over the same values run as one, over a product of monoids.

    sum("x"), mean("x"), count("x")  ──►  one output of the partial (sum, count), three answers per row

Only compiled monoids are joined: there a value loaded and a window moved are worth saving (measured: 1.2 to 2 times as
fast where windows are swept). What each output keeps for itself is its `lower` and, unless another holds it, its
partial. The blocked kernel has no window to move, so there outputs are joined only if they share a partial.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from slidewise.engine.output import Output
from slidewise.errors import ArgumentError
from slidewise.kernels.ops import Ops
from slidewise.kernels.product import ProductOps, product_ops
from slidewise.monoids.monoid import Monoid
from slidewise.monoids.sharing import shared_parts
from slidewise.swag.structure import Structure

MOST_FIELDS = 8
"""Wider partials no longer fit a processor's registers: they are left apart."""


def joined(outputs: Sequence[Output]) -> list[tuple[Output, tuple[Output, ...]]]:
    """The outputs as they are to be run, each with the outputs it answers."""
    groups: dict[Any, list[Output]] = {}
    for output in outputs:
        choice = output.choice
        alone = not output.ops.compiled or output.ops.tally is not None
        key = id(output) if alone else (id(output.window), output.inputs, output.mask, choice.structure, choice.blocked)
        groups.setdefault(key, []).append(output)
    return [one for group in groups.values() for one in products(group)]


def products(group: list[Output]) -> list[tuple[Output, tuple[Output, ...]]]:
    """Outputs over the same values as few products, each with the outputs it answers; apart where that is no gain."""
    if len(group) == 1:
        return [(group[0], (group[0],))]
    kept, found = shared_parts([output.ops.monoid for output in group])
    ops_of = {id(output.ops.monoid): output.ops for output in group}
    parts = [ops_of[id(monoid)] for monoid in kept]
    name = "+".join(output.name for output in group)
    monoid = _monoid(kept, name)
    if (group[0].choice.blocked and len(parts) == len(group)) or not _serves(group[0].choice.structure, monoid):
        return [(output, (output,)) for output in group]
    bins = _bins([len(part.fields) for part in parts])
    if bins[-1]:
        several = [
            [output for output, (at, _) in zip(group, found, strict=True) if bins[at] == k] for k in range(bins[-1] + 1)
        ]
        return [one for some in several for one in products(some)]
    members = [(output.ops, place, project) for output, (place, project) in zip(group, found, strict=True)]
    key = ("product", *(id(output.ops) for output in group))
    ops: Ops = group[0].ops.built(key, lambda: product_ops(monoid, parts, members))
    return [(replace(group[0], name=name, ops=ops), tuple(group))]


def _bins(widths: list[int]) -> list[int]:
    """Which product each part goes to, so that none has more than `MOST_FIELDS`, unless one part alone has.

    Outputs go where the part is that they read, so no partial is kept twice.

    >>> _bins([3, 4, 2, 9, 1])
    [0, 0, 1, 2, 3]
    """
    found: list[int] = []
    width = 0
    for fields in widths:
        full = width > 0 and width + fields > MOST_FIELDS
        found.append((found[-1] if found else 0) + full)
        width = fields if full else width + fields
    return found


def _monoid(kept: list[Monoid], name: str) -> Monoid:
    """What the product goes by; its functions are those of the ops."""
    inverse = _never if all(monoid.inverse is not None for monoid in kept) else None
    commutative = all(monoid.commutative for monoid in kept)
    identity = tuple(monoid.identity for monoid in kept)
    return Monoid(identity=identity, combine=_never, inverse=inverse, commutative=commutative, name=name)


def _serves(structure: type[Structure], monoid: Monoid) -> bool:
    """True unless the algorithm needs what a product does not have, e.g. that it selects."""
    try:
        structure.refuse(monoid)
    except ArgumentError:
        return False
    return True


def _never(a: Any, b: Any) -> Any:
    raise TypeError("a product is combined by its ops")


def members_of(output: Output, outs: tuple[Any, ...], ok: Any) -> list[tuple[tuple[Any, ...], Any]]:
    """The answers and validity of each output that this one answers."""
    return output.ops.split(outs, ok) if isinstance(output.ops, ProductOps) else [(outs, ok)]
