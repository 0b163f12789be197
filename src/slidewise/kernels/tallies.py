"""Tallies in kernels: the in-place functions of a monoid at one of the two speeds.

    cells            the last column: an array with a tally per row, or a list of states
    reset(cells, c)  cell c is empty again
    add(S, p)        p is a row's raw values and whether there are any: the "partial" that a ring keeps
    remove(S, p), merge(S, T)

To a sweep these are ops like any other: `lift_at` gives the raw values, `identity` stands for a null, `query` gives the
number of a cell (kernels cannot return arrays), `answer` lowers it. Only the two structures that own cells can be built
of them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from slidewise.kernels.jit import inlined, kernel, plain, with_helpers
from slidewise.kernels.ops import AT, CannotCompile, Ops, cast_of, load_of, nothing, store_of, write
from slidewise.monoids.monoid import Monoid
from slidewise.monoids.tally import Tally


@dataclass(frozen=True)
class TallyOps:
    """The functions over cells, and the room they take."""

    tally: Tally
    reset: Callable[..., Any]
    add: Callable[..., Any]
    merge: Callable[..., Any]
    remove: Callable[..., Any] | None

    def cells(self, count: int, *, machine: bool) -> Any:
        """Room for as many tallies."""
        if not machine:
            return [self.tally.empty() for _ in range(count)]
        return np.zeros((count, self.tally.size), dtype=self.tally.dtype)


def object_tally_ops(monoid: Monoid, arity: int, why: str = "") -> Ops:
    """Object mode: any Python state."""
    tally = _tally(monoid)
    names = {"add": tally.add, "remove": tally.remove, "new": tally.empty}

    def answer(cols: Any, outs: Any, ok: Any, j: int, cell: int) -> None:
        value = tally.lowered(cols[-1][cell])
        if value is None:
            ok[j] = False
        else:
            outs[0][j] = value

    values = ", ".join(f"inputs[{k}][i]" for k in range(arity))
    raw = ", ".join(f"p[{k}]" for k in range(arity))
    return Ops(
        monoid=monoid,
        jit=plain,
        kernel=plain,
        identity=(*(None,) * arity, False),
        lift_at=write("lift_at(inputs, i)", f"return ({values}, True)"),
        combine=monoid.combine,
        load=write("load(cols, i)", "return cols[0][i]"),
        store=write("store(cols, i, p)", "cols[0][i] = p"),
        answer=answer,
        vacant=nothing,
        why=why,
        tally=TallyOps(
            tally=tally,
            reset=write("reset(cells, c)", "cells[c] = new()", names),
            add=write("add_raw(S, p)", f"add(S, {raw})", names),
            merge=tally.merge,
            remove=write("remove_raw(S, p)", f"remove(S, {raw})", names) if tally.remove is not None else None,
        ),
    )


def compiled_tally_ops(monoid: Monoid, inputs: tuple[str, ...]) -> Ops:
    """Machine code for inputs of these dtypes; raises `CannotCompile` with the reason."""
    made = _made(monoid, inputs)
    if isinstance(made, str):
        raise CannotCompile(made)
    return made


@functools.lru_cache(maxsize=256)
def _made(monoid: Monoid, inputs: tuple[str, ...]) -> Ops | str:
    tally = _tally(monoid)
    if not tally.size:
        return "its partial is a collection of Python objects"
    fields = (*inputs, "bool")
    raw = ", ".join(f"p[{k}]" for k in range(len(inputs)))
    values = ", ".join(f"inputs[{k}][at(i)]" for k in range(len(inputs)))
    functions: dict[str, Any] = {
        "add": inlined(with_helpers(tally.add)),
        "merge": inlined(with_helpers(tally.merge)),
        "lower": inlined(with_helpers(tally.lower)),
    }
    if tally.remove is not None:
        functions["remove"] = inlined(with_helpers(tally.remove))
    cast = inlined(cast_of(fields, packed=True))
    lift_raw = inlined(write("lift_at(inputs, i)", f"return ({values}, True)", AT))

    def lift_at(cols: Any, i: int) -> Any:
        return cast(lift_raw(cols, i))

    size = tally.size

    def reset(cells: Any, c: int) -> None:
        for k in range(size):
            cells[c, k] = 0

    removed = write("remove_raw(S, p)", f"remove(S, {raw})", functions) if tally.remove is not None else None
    return Ops(
        monoid=monoid,
        jit=inlined,
        kernel=kernel,
        identity=(*(0 if name == "int64" else 0.0 for name in inputs), False),
        lift_at=inlined(lift_at),
        combine=monoid.combine,
        load=inlined(load_of(fields, packed=True)),
        store=inlined(store_of(len(fields), packed=True)),
        answer=inlined(_answer(tally, functions["lower"])),
        vacant=inlined(nothing),
        fields=fields,
        answers=(tally.answer,) if tally.answer in ("int64", "float64") else (tally.answer, tally.dtype),
        tally=TallyOps(
            tally=tally,
            reset=inlined(reset),
            add=inlined(write("add_raw(S, p)", f"add(S, {raw})", functions)),
            merge=functions["merge"],
            remove=inlined(removed) if removed is not None else None,
        ),
    )


def _tally(monoid: Monoid) -> Tally:
    if monoid.tally is None:
        raise CannotCompile(f"{monoid!r} has no tally")
    return monoid.tally


def _answer(tally: Tally, lower: Any) -> Callable[..., None]:
    if tally.answer == "list":

        def answer(cols: Any, outs: Any, ok: Any, j: int, cell: int) -> None:
            outs[1][j] = lower(cols[-1][cell], outs[0][j])

    elif tally.answer == "bytes":
        size = tally.size

        def answer(cols: Any, outs: Any, ok: Any, j: int, cell: int) -> None:
            for k in range(size):
                outs[0][j, k] = cols[-1][cell, k]

    else:

        def answer(cols: Any, outs: Any, ok: Any, j: int, cell: int) -> None:
            value = lower(cols[-1][cell])
            if value is None:
                ok[j] = False
            else:
                outs[0][j] = value

    return answer
