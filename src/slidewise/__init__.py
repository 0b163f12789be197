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
    "adwin": "slidewise.windows.policy",
    "aggregate": "slidewise.monoids.aggregate",
    "all": "slidewise.monoids.catalogue",
    "any": "slidewise.monoids.catalogue",
    "approx_distinct": "slidewise.monoids.catalogue",
    "argmax": "slidewise.monoids.catalogue",
    "argmin": "slidewise.monoids.catalogue",
    "around": "slidewise.windows.make",
    "between": "slidewise.windows.make",
    "bloom": "slidewise.monoids.catalogue",
    "collect": "slidewise.monoids.catalogue",
    "collect_distinct": "slidewise.monoids.catalogue",
    "concat": "slidewise.monoids.catalogue",
    "correlation": "slidewise.monoids.catalogue",
    "count": "slidewise.monoids.catalogue",
    "count_distinct": "slidewise.monoids.catalogue",
    "count_of_max": "slidewise.monoids.catalogue",
    "count_of_min": "slidewise.monoids.catalogue",
    "covariance": "slidewise.monoids.catalogue",
    "evict_while": "slidewise.windows.policy",
    "ewm": "slidewise.monoids.catalogue",
    "expanding": "slidewise.windows.make",
    "explain": "slidewise.verbs",
    "first": "slidewise.monoids.catalogue",
    "first_n": "slidewise.monoids.catalogue",
    "geomean": "slidewise.monoids.catalogue",
    "kurt": "slidewise.monoids.catalogue",
    "last": "slidewise.monoids.catalogue",
    "last_n": "slidewise.monoids.catalogue",
    "longest_increasing_run": "slidewise.monoids.catalogue",
    "max": "slidewise.monoids.catalogue",
    "mean": "slidewise.monoids.catalogue",
    "median": "slidewise.monoids.catalogue",
    "min": "slidewise.monoids.catalogue",
    "most_frequent": "slidewise.monoids.catalogue",
    "product": "slidewise.monoids.catalogue",
    "quantile": "slidewise.monoids.catalogue",
    "schema": "slidewise.verbs",
    "session": "slidewise.windows.make",
    "skew": "slidewise.monoids.catalogue",
    "slide": "slidewise.verbs",
    "spread": "slidewise.monoids.catalogue",
    "stddev": "slidewise.monoids.catalogue",
    "sum": "slidewise.monoids.catalogue",
    "time_weighted_mean": "slidewise.monoids.catalogue",
    "top_k": "slidewise.monoids.catalogue",
    "trailing": "slidewise.windows.make",
    "tumbling": "slidewise.windows.make",
    "var": "slidewise.monoids.catalogue",
}
_MODULES = (
    "contraction",
    "datasets",
    "errors",
    "frames",
    "incremental",
    "monoids",
    "sharing",
    "spark",
    "store",
    "swag",
    "windows",
)

__all__ = [
    "Aggregate",
    "LiveWindow",
    "Monoid",
    "Window",
    "adwin",
    "aggregate",
    "all",
    "any",
    "approx_distinct",
    "argmax",
    "argmin",
    "around",
    "between",
    "bloom",
    "collect",
    "collect_distinct",
    "concat",
    "contraction",
    "correlation",
    "count",
    "count_distinct",
    "count_of_max",
    "count_of_min",
    "covariance",
    "datasets",
    "errors",
    "evict_while",
    "ewm",
    "expanding",
    "explain",
    "first",
    "first_n",
    "frames",
    "geomean",
    "incremental",
    "kurt",
    "last",
    "last_n",
    "longest_increasing_run",
    "max",
    "mean",
    "median",
    "min",
    "monoids",
    "most_frequent",
    "product",
    "quantile",
    "schema",
    "session",
    "sharing",
    "skew",
    "slide",
    "spark",
    "spread",
    "stddev",
    "store",
    "sum",
    "swag",
    "time_weighted_mean",
    "top_k",
    "trailing",
    "tumbling",
    "var",
    "windows",
]

if TYPE_CHECKING:
    from slidewise import (
        contraction,
        datasets,
        errors,
        frames,
        incremental,
        monoids,
        sharing,
        spark,
        store,
        swag,
        windows,
    )
    from slidewise.engine.live import LiveWindow
    from slidewise.monoids.aggregate import Aggregate, aggregate
    from slidewise.monoids.catalogue import (
        all,
        any,
        approx_distinct,
        argmax,
        argmin,
        bloom,
        collect,
        collect_distinct,
        concat,
        correlation,
        count,
        count_distinct,
        count_of_max,
        count_of_min,
        covariance,
        ewm,
        first,
        first_n,
        geomean,
        kurt,
        last,
        last_n,
        longest_increasing_run,
        max,
        mean,
        median,
        min,
        most_frequent,
        product,
        quantile,
        skew,
        spread,
        stddev,
        sum,
        time_weighted_mean,
        top_k,
        var,
    )
    from slidewise.monoids.monoid import Monoid
    from slidewise.verbs import explain, schema, slide
    from slidewise.windows.make import around, between, expanding, session, trailing, tumbling
    from slidewise.windows.policy import adwin, evict_while
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
