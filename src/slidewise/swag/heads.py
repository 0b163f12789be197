"""The elements of a window whose structure keeps sums only, beside it: so that a slide policy can look at its head.

    structure   [ Σ..  Σ..  x ][ Σ ]        what answers
    heads       x  x  x  x  x  x  x         what leaves next, oldest first; None for a null

One more partial per element, O(1) per step. Asked for by ``cls(monoid, heads=True)``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any


class Heads:
    """Lifted elements, oldest first."""

    def __init__(self) -> None:
        self._held: deque[tuple[Any] | None] = deque()

    def __len__(self) -> int:
        return len(self._held)

    def append(self, partial: Any) -> None:
        """The newest element."""
        self._held.append((partial,))

    def append_null(self) -> None:
        """An element without a value."""
        self._held.append(None)

    def keep(self, n: int) -> None:
        """Drop all but the n newest."""
        while len(self._held) > n:
            self._held.popleft()

    def elements(self, identity: Any) -> Iterator[tuple[Any, bool]]:
        """Each element's partial, and whether it has a value, oldest first."""
        return ((identity, False) if one is None else (one[0], True) for one in self._held)

    def state(self) -> list[Any]:
        """What a snapshot of the window needs beside `Structure.state`: a list of the partial, or None, per element."""
        return [None if one is None else list(one) for one in self._held]

    def set_state(self, held: list[Any]) -> None:
        """Continue from what `state` returned."""
        self._held = deque(None if one is None else (one[0],) for one in held)
