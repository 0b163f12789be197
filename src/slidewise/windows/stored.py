"""Windows as plain values and back: `Window.to_dict` writes them, `from_dict` makes them again."""

from __future__ import annotations

from typing import Any

from slidewise.windows.policy import Adwin, EvictWhile
from slidewise.windows.window import Around, Between, Expanding, Session, Trailing, Window

KINDS: tuple[type[Window], ...] = (Trailing, Expanding, Session, Around, Between, Adwin)


def from_dict(stored: dict[str, Any]) -> Window:
    """The window that `Window.to_dict` wrote down.

    >>> import slidewise as sw
    >>> from_dict(sw.trailing("1 h").to_dict())
    trailing('1 h')
    """
    given = dict(stored)
    kinds = {kind.__name__: kind for kind in KINDS}
    return kinds[given.pop("window")](**given)


def is_code(stored: dict[str, Any]) -> bool:
    """True for a window that holds a function, which cannot be made again from what is stored."""
    return bool(stored.get("window") == EvictWhile.__name__)
