"""Kinds of columns, as a monoid sees them: enough to choose one, and no more.

`int`, `bool` and `temporal` reach a kernel as int64, `float` as float64; `decimal`, `string`, `object` (bytes, anything
else that can be compared) and `unordered` (lists, structs, maps, a mixture) as Python objects.
"""

from __future__ import annotations

from typing import Literal

Kind = Literal["int", "float", "bool", "temporal", "decimal", "string", "unordered", "object"]

NUMBERS: frozenset[Kind] = frozenset({"int", "float", "bool"})
"""Kinds one can do arithmetic on in a kernel."""

COMPILED: frozenset[Kind] = frozenset({"int", "float", "bool", "temporal"})
"""Kinds whose values are machine numbers."""
