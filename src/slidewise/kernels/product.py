"""Several monoids over the same values as one: their partials side by side, every value loaded and lifted once.

    partial   (fields of the first part ..., fields of the second ..., ...)
    outs      (answers of the first output ..., their validity, answers of the second ..., their validity, ...)

Outputs whose partials are the same, or held by another's, share a part. To a sweep it is one monoid; `vacant` answers
for a window without values, which some outputs have an answer for (a count) and others not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from slidewise.kernels.jit import inlined, kernel
from slidewise.kernels.ops import Ops, load_of, store_of, write
from slidewise.monoids.monoid import Monoid
from slidewise.monoids.sharing import Project


class ProductOps(Ops):
    """The functions of a product; `members` are the ops of its outputs."""

    members: tuple[Ops, ...]

    def outputs(self, length: int) -> tuple[Any, ...]:
        """Room for `length` answers of every output, each with its validity."""
        return tuple(
            array for member in self.members for array in (*member.outputs(length), np.ones(length, dtype=np.bool_))
        )

    def split(self, outs: tuple[Any, ...], ok: Any) -> list[tuple[tuple[Any, ...], Any]]:
        """The answers and validity of each output."""
        found, at, whole = [], 0, bool(ok.all())
        for member in self.members:
            width = len(member.answers)
            found.append((outs[at : at + width], outs[at + width] if whole else outs[at + width] & ok))
            at += width + 1
        return found


def product_ops(monoid: Monoid, parts: Sequence[Ops], members: Sequence[tuple[Ops, int, Project | None]]) -> ProductOps:
    """The product of compiled parts; each member is an output's ops, the part it reads, and how."""
    fields = tuple(name for part in parts for name in part.fields)
    spans, at = [], 0
    for part in parts:
        spans.append(_span(at, part))
        at += len(part.fields)
    names: dict[str, Any] = {}
    for k, part in enumerate(parts):
        names |= {f"lift{k}": part.lift_at, f"combine{k}": part.combine}
        if part.inverse is not None:
            names[f"inverse{k}"] = part.inverse
    lifted = [f"p{k} = lift{k}(inputs, i)" for k in range(len(parts))]
    combined = [f"p{k} = combine{k}({spans[k].format(p='a')}, {spans[k].format(p='b')})" for k in range(len(parts))]
    flat = "return (" + ", ".join(_each(k, part) for k, part in enumerate(parts)) + ",)"
    answers, vacant, at = [], [], 0
    for m, (member, place, project) in enumerate(members):
        width = len(member.answers)
        mine = "(" + ", ".join(f"outs[{at + k}]" for k in range(width)) + ",)"
        ok = f"outs[{at + width}]"
        partial = spans[place].format(p="p")
        names |= {f"answer{m}": member.answer, f"identity{m}": member.identity}
        if project is not None:
            names[f"project{m}"] = inlined(project)
            partial = f"project{m}({partial})"
        answers.append(f"answer{m}(cols, {mine}, {ok}, j, {partial})")
        empty = f"answer{m}(cols, {mine}, {ok}, j, identity{m})" if member.monoid.answers_empty else f"{ok}[j] = False"
        vacant.append(empty)
        at += width + 1
    ops = ProductOps(
        monoid=monoid,
        jit=inlined,
        kernel=kernel,
        identity=tuple(value for part in parts for value in _values(part)),
        lift_at=inlined(_lines("lift_at(inputs, i)", [*lifted, flat], names)),
        combine=inlined(_lines("combine(a, b)", [*combined, flat], names)),
        load=inlined(load_of(fields, packed=True)),
        store=inlined(store_of(len(fields), packed=True)),
        answer=inlined(_lines("answer(cols, outs, ok, j, p)", answers, names)),
        vacant=inlined(_lines("vacant(cols, outs, ok, j)", vacant, names)),
        inverse=_inverse(parts, spans, flat, names),
        fields=fields,
        answers=tuple(name for member, _, _ in members for name in (*member.answers, "bool")),
    )
    object.__setattr__(ops, "members", tuple(member for member, _, _ in members))
    return ops


def _inverse(parts: Sequence[Ops], spans: list[str], flat: str, names: dict[str, Any]) -> Any:
    """What is left of each part when the older goes; None unless every part has an inverse."""
    if any(part.inverse is None for part in parts):
        return None
    left = [f"p{k} = inverse{k}({spans[k].format(p='whole')}, {spans[k].format(p='older')})" for k in range(len(parts))]
    return inlined(_lines("inverse(whole, older)", [*left, flat], names))


def _span(at: int, part: Ops) -> str:
    """A part of the partial {p}, as that part's own functions take it."""
    if not isinstance(part.identity, tuple):
        return f"{{p}}[{at}]"
    return "(" + ", ".join(f"{{p}}[{at + k}]" for k in range(len(part.fields))) + ",)"


def _each(k: int, part: Ops) -> str:
    if not isinstance(part.identity, tuple):
        return f"p{k}"
    return ", ".join(f"p{k}[{field}]" for field in range(len(part.fields)))


def _values(part: Ops) -> tuple[Any, ...]:
    return part.identity if isinstance(part.identity, tuple) else (part.identity,)


def _lines(head: str, lines: list[str], names: dict[str, Any]) -> Any:
    return write(head, "\n    ".join(lines), names)
