"""Slidewise: sliding-window aggregation for Python and PySpark.

Write an aggregate once (`lift`, `combine`, `lower`), run it at a constant number of combines per event over any
window, on lists, NumPy, Arrow, pandas, Polars, Spark DataFrames and Structured Streaming.

>>> import slidewise as sw
>>> sw.slide([3, 1, 4, 1, 5], sw.max(), sw.trailing(3))
[3, 3, 4, 4, 5]

Names are loaded when first used: importing the package imports neither Numba nor pandas, Polars or PySpark.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {
    "Aggregate": "slidewise.monoids.aggregate",
    "LiveWindow": "slidewise.engine.live",
    "Monoid": "slidewise.monoids.monoid",
    "Window": "slidewise.windows.window",
    "aggregate": "slidewise.monoids.aggregate",
    "around": "slidewise.windows.make",
    "between": "slidewise.windows.make",
    "count": "slidewise.monoids.catalogue",
    "expanding": "slidewise.windows.make",
    "explain": "slidewise.verbs",
    "max": "slidewise.monoids.catalogue",
    "mean": "slidewise.monoids.catalogue",
    "min": "slidewise.monoids.catalogue",
    "schema": "slidewise.verbs",
    "session": "slidewise.windows.make",
    "slide": "slidewise.verbs",
    "stddev": "slidewise.monoids.catalogue",
    "sum": "slidewise.monoids.catalogue",
    "trailing": "slidewise.windows.make",
    "tumbling": "slidewise.windows.make",
    "var": "slidewise.monoids.catalogue",
}
_MODULES = ("datasets", "errors", "monoids", "spark", "swag", "windows")

__all__ = [
    "Aggregate",
    "LiveWindow",
    "Monoid",
    "Window",
    "aggregate",
    "around",
    "between",
    "count",
    "datasets",
    "errors",
    "expanding",
    "explain",
    "max",
    "mean",
    "min",
    "monoids",
    "schema",
    "session",
    "slide",
    "spark",
    "stddev",
    "sum",
    "swag",
    "trailing",
    "tumbling",
    "var",
    "windows",
]

if TYPE_CHECKING:
    from slidewise import datasets, errors, monoids, spark, swag, windows
    from slidewise.engine.live import LiveWindow
    from slidewise.monoids.aggregate import Aggregate, aggregate
    from slidewise.monoids.catalogue import count, max, mean, min, stddev, sum, var
    from slidewise.monoids.monoid import Monoid
    from slidewise.verbs import explain, schema, slide
    from slidewise.windows.make import around, between, expanding, session, trailing, tumbling
    from slidewise.windows.window import Window


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        found = getattr(importlib.import_module(_HOMES[name]), name)
    elif name in _MODULES:
        found = importlib.import_module(f"slidewise.{name}")
    else:
        raise AttributeError(f"module 'slidewise' has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES, *_MODULES})
