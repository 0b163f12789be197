"""What frames read of the data: the columns that cut, and the order that they go along."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pyarrow as pa

from slidewise.engine.columns import kind_of
from slidewise.engine.enter import Derived
from slidewise.engine.output import VALUE, Data, Output, make_output
from slidewise.errors import ArgumentError, listed
from slidewise.frames.kind import Custom, Frame, Total
from slidewise.kernels.ops import object_ops
from slidewise.monoids.monoid import Monoid
from slidewise.swag.choose import ALGORITHMS, Choice
from slidewise.windows.window import Axis

NUMBERS = ("int", "float", "bool", "decimal")

VALUE_ITSELF = Monoid(identity=None, combine=lambda older, newer: newer, name="value")
"""Stands for a column that is read and not aggregated."""


def along_order(frame: Frame, order: Sequence[str], types: Mapping[str, pa.DataType | None]) -> Frame:
    """The frame, along times or numbers where the order is such; else along rows."""
    if frame.axis != "any":
        return frame
    axis: Axis = "rows"
    arrow = types[order[0]] if order else None
    if arrow is not None and (pa.types.is_timestamp(arrow) or pa.types.is_date(arrow)):
        axis = "time"
    elif arrow is not None and (pa.types.is_integer(arrow) or pa.types.is_floating(arrow) or pa.types.is_null(arrow)):
        axis = "order"
    return replace(frame, axis=axis)


def read_by(frame: Frame, data: Data) -> tuple[list[Output], list[Derived]]:
    """The columns that cut, as outputs that nobody sees, and what must be derived for them."""
    if isinstance(frame, Total):
        output, made = make_output("total", frame.aggregate, frame, data, "amta")
        if output.arrow is not None and kind_of(output.arrow) not in NUMBERS:
            raise ArgumentError(f"window={frame!r}: its aggregate answers {output.arrow}; expected a number")
        return [output], made
    return [_reading(frame, column, data) for column in frame.reads], []


def _reading(frame: Frame, column: str | None, data: Data) -> Output:
    types = data.types
    if data.plain and column is not None:
        raise ArgumentError(f"window={frame!r}: a plain sequence has no columns; expected the column to be left out")
    if not data.plain and column is None:
        raise ArgumentError(f"window={frame!r}: names no column; on a table it needs one of {listed(types)}")
    name = VALUE if column is None else column
    if name not in types:
        raise ArgumentError(f"window={frame!r}: no column {name!r}; there are {listed(types)}")
    arrow = types[name]
    if not isinstance(frame, Custom) and kind_of(arrow, data.objects[0]) not in NUMBERS:
        held = data.objects[1] if arrow is None else str(arrow)
        where = "the data" if data.plain else f"column {name!r}"
        raise ArgumentError(f"window={frame!r}: {where} is of type {held}; expected numbers")
    return Output(
        name=name,
        window=frame,
        columns=(name,),
        inputs=(name,),
        types=(arrow,),
        ops=object_ops(VALUE_ITSELF, 1),
        choice=Choice(ALGORITHMS["amta"], False, "read, not aggregated"),
        arrow=arrow,
    )
