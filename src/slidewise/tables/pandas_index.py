"""The index of a pandas frame or Series as columns: levels by name, and a DatetimeIndex as the order of time windows.

A column wins over a level of the same name. An index without a name goes by `UNNAMED`. O(1): nothing is read here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from slidewise.windows.window import Window

UNNAMED = "<index>"


def level(index: Any, name: str) -> Any:
    """The level of an index that has this name, or None."""
    if name == UNNAMED:
        return index
    return index.get_level_values(name) if name in list(index.names) else None


def order_in(index: Any, window: object) -> str | None:
    """What a DatetimeIndex goes by, if one of the windows needs times; else None."""
    import pandas as pd

    if not isinstance(index, pd.DatetimeIndex):
        return None
    windows = list(window.values()) if isinstance(window, Mapping) else [window]
    if not any(isinstance(one, Window) and one.axis in ("time", "any") for one in windows):
        return None
    return index.name if isinstance(index.name, str) and index.name else UNNAMED
