"""What a live window is kept by, once it is known what its values are: the algorithm, and at which speed it runs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa

from slidewise.engine.columns import dtype_of
from slidewise.engine.fed import Fed
from slidewise.engine.output import make_ops
from slidewise.engine.slices import Slices
from slidewise.engine.stored import StoredState
from slidewise.errors import ArgumentError
from slidewise.frames.kind import Frame
from slidewise.monoids.kinds import ACCEPTS, Kind
from slidewise.monoids.monoid import Monoid
from slidewise.swag.choose import Choice, choose
from slidewise.windows.window import Expanding, Session, Window


def in_memory(
    fed: Fed, monoid: Monoid, window: Window, algorithm: str, kind: Kind, *, sliced: bool
) -> tuple[Choice, Any]:
    """The rung of the ladder, and an empty window of it: of events, or of slices of them."""
    # A tally alone cannot be read back from a snapshot; with one, the window keeps its events.
    whole_only = isinstance(window, Expanding | Session | Frame) and monoid.tally is None
    choice = choose(monoid, algorithm=algorithm, whole_only=whole_only, exact=_exact(fed, monoid, kind))
    if sliced:
        return choice, Slices(choice.structure, monoid)
    types = _tally_types(monoid, fed.kinds(kind)) if choice.structure.tallies else None
    return choice, choice.structure(monoid, types=types, arity=len(fed.inputs) or 1)


def in_store(fed: Fed, monoid: Monoid, stored: StoredState, kind: Kind) -> tuple[Choice, Any]:
    """Amortized MTA, of which only the ends of each level are here; raw numbers in its pages where they compile."""
    choice = replace(choose(monoid, algorithm="amta"), reason="it keeps its events in a store")
    types: tuple[str, ...] | None = None
    if kind == "float" and not fed.own and not fed.counts_rows and len(fed.inputs) == 1:
        types = ("float64",) if make_ops(monoid, [pa.float64()]).compiled else None
    return choice, stored.structure(monoid, types, len(fed.inputs) or 1)


def refuse_at_once(fed: Fed, algorithm: str, kind: Kind | None) -> None:
    """Raise if the algorithm that was asked for can serve no value whatever its kind."""
    refusals: list[ArgumentError] = []
    for monoid in fed.monoids(ACCEPTS if kind is None else (kind,)):
        try:
            choose(monoid, algorithm=algorithm)
        except ArgumentError as error:
            refusals.append(error)
        else:
            return
    if refusals:
        raise refusals[0]


def _exact(fed: Fed, monoid: Monoid, kind: Kind) -> bool:
    """True if partials are of integers: a built-in with integers in its identity, and no decimals lifted to it."""
    parts = monoid.identity if isinstance(monoid.identity, tuple) else (monoid.identity,)
    return not fed.own and kind != "decimal" and all(isinstance(part, int) for part in parts)


def _tally_types(monoid: Monoid, kinds: tuple[Kind, ...]) -> tuple[str, ...] | None:
    """The dtypes of a tally worth its machine code, a large one of numbers; None for object mode."""
    dtypes = tuple(dtype_of(kind) for kind in kinds)
    if monoid.tally is None or monoid.tally.size < 256 or None in dtypes:
        return None
    return tuple(dtype for dtype in dtypes if dtype is not None)
