"""Kinds of columns, as a monoid sees them: enough to choose one, and no more.

`int`, `bool` and `temporal` reach a kernel as int64, `float` as float64; `decimal`, `string`, `object` (bytes, anything
else that can be compared) and `unordered` (lists, structs, maps, a mixture) as Python objects.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Literal

Kind = Literal["int", "float", "bool", "temporal", "decimal", "string", "unordered", "object"]

NUMBERS: frozenset[Kind] = frozenset({"int", "float", "bool"})
"""Kinds one can do arithmetic on in a kernel."""

COMPILED: frozenset[Kind] = frozenset({"int", "float", "bool", "temporal"})
"""Kinds whose values are machine numbers."""

ACCEPTS: dict[Kind, tuple[Kind, ...]] = {
    "int": ("int", "bool"),
    "bool": ("int", "bool"),
    "float": ("float", "int", "bool"),
    "decimal": ("decimal", "int", "bool"),
    "string": ("string",),
    "object": ("int", "float", "bool", "decimal", "string", "object"),
}
"""Kind of what is fed value by value -> the kinds of values it goes on taking."""


def kind_of_value(value: Any) -> Kind:
    """The kind of a window or buffer whose first value is this one.

    >>> kind_of_value(1), kind_of_value(2**70), kind_of_value(1.5)
    ('int', 'object', 'float')
    """
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        return "int"
    named: tuple[tuple[type, Kind], ...] = ((float, "float"), (Decimal, "decimal"), (str, "string"))
    return next((kind for held, kind in named if isinstance(value, held)), "object")
