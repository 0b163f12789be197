"""A monoid: what to compute, as `lift`, `combine`, `lower` and an identity.

    x ──lift──► partial ─┐
                         ├─combine(older, newer)─► partial ──lower──► answer
    y ──lift──► partial ─┘

`combine` must be associative and `identity` neutral; nothing else is assumed, order is always kept. A partial that is a
number or a flat tuple of numbers compiles to machine code; any other Python object runs as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from slidewise.errors import bad, whole

UNNAMED = "<as combine is called>"
"""Stands for a name that was not given."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Monoid:
    """An aggregate's mathematics, written once and run everywhere.

    Parameters
    ----------
    identity
        The neutral partial: ``combine(identity, p) == p == combine(p, identity)``.
    combine
        ``combine(older, newer)`` gives a new partial; associative; need not be commutative.
    lift
        Makes a partial of the value (of as many values as columns are bound). ``None``: the value is the partial.
    lower
        Makes the answer of a partial; may return ``None`` for null. ``None``: the partial is the answer.
    inverse
        ``inverse(whole, older)`` gives ``rest`` where ``whole == combine(older, rest)``: it removes the oldest.
    commutative, selective
        Promises: order does not matter; ``combine`` returns one of its arguments.
    name
        Names the result column, and the monoid in stored state; by default as `combine` is called, else ``"custom"``.
    result
        The answer's type as an Arrow type name (``"float64"``, ``"string"``), where it cannot be inferred;
        ``"same"`` is the type of the first column.
    codec
        How an object partial is stored: a pair ``(encode, decode)`` between partials and bytes. Not needed for
        numbers, strings, bytes, None and lists, tuples, dicts of them. Pickle is never used.
    version
        Raise it when the meaning of stored partials changes.
    answers_empty
        True if ``lower(identity)`` is the answer of a window without values, as 0 is for a count; else it is null.

    Notes
    -----
    In machine code an integer field of a partial is an int64 and wraps around beyond it, as in NumPy. Where that can
    happen, make the field a float (``0.0`` in the identity) or keep two of them, as the built-in `sum` does.

    Examples
    --------
    >>> import slidewise as sw
    >>> span = sw.Monoid(
    ...     identity=(float("inf"), float("-inf")),
    ...     lift=lambda x: (x, x),
    ...     combine=lambda a, b: (min(a[0], b[0]), max(a[1], b[1])),
    ...     lower=lambda p: p[1] - p[0],
    ...     name="span",
    ... )
    >>> sw.slide([3.0, 1.0, 4.0, 1.0], sw.aggregate(span), sw.trailing(2))
    [0.0, 2.0, 3.0, 3.0]
    """

    identity: Any
    combine: Callable[[Any, Any], Any]
    lift: Callable[..., Any] | None = None
    lower: Callable[[Any], Any] | None = None
    inverse: Callable[[Any, Any], Any] | None = None
    commutative: bool = False
    selective: bool = False
    name: str = UNNAMED
    result: str | None = None
    codec: tuple[Callable[[Any], bytes], Callable[[bytes], Any]] | None = None
    version: int = 1
    answers_empty: bool = False

    def __post_init__(self) -> None:
        if not callable(self.combine):
            raise bad("combine", self.combine, "a function of (older, newer) partials")
        for field in ("lift", "lower", "inverse"):
            function = getattr(self, field)
            if function is not None and not callable(function):
                raise bad(field, function, "a function or None")
        if not isinstance(self.name, str) or not self.name:
            raise bad("name", self.name, "a non-empty string")
        if self.name == UNNAMED:
            written = getattr(self.combine, "__name__", "")
            object.__setattr__(self, "name", written if written.isidentifier() else "custom")
        if self.result is not None and not isinstance(self.result, str):
            raise bad("result", self.result, "the name of an Arrow type such as 'float64', 'same', or None")
        object.__setattr__(self, "version", whole("version", self.version, least=1))
        if self.codec is not None and not (
            isinstance(self.codec, tuple) and len(self.codec) == 2 and all(callable(part) for part in self.codec)
        ):
            raise bad("codec", self.codec, "a pair of functions (encode, decode), or None")

    def lifted(self, *values: Any) -> Any:
        """The partial of one value; O(1)."""
        return values[0] if self.lift is None else self.lift(*values)

    def lowered(self, partial: Any) -> Any:
        """The answer of a partial; O(1)."""
        return partial if self.lower is None else self.lower(partial)

    def fold(self, values: Any) -> Any:
        """The answer over all of `values`, oldest first; n combines.

        >>> import slidewise as sw
        >>> sw.Monoid(identity="", combine=lambda a, b: a + b, name="concat").fold(["a", "b"])
        'ab'
        """
        partial = self.identity
        for value in values:
            partial = self.combine(partial, self.lifted(value))
        return self.lowered(partial)

    def __repr__(self) -> str:
        return f"Monoid({self.name!r})"
