"""The peers on arrays: one table, which the tests use to check answers and the benchmark to compare speeds.

prepare(values) ──► whatever the library likes best, outside the timed call
run(prepared, statistic, w) ──► one answer per row, over the last w rows, fewer at the start
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

import slidewise as sw

Floats = npt.NDArray[np.float64]

STATISTICS = ("sum", "mean", "stddev", "max", "min", "median")


@dataclass(frozen=True)
class Peer:
    """A library that slides.

    Attributes
    ----------
    drifts
        Statistics that it keeps by adding and subtracting, so that rounding errors pile up along the array.
    most_rows
        Rows beyond which it takes too long to wait for, by statistic; "" is for the others.
    """

    name: str
    prepare: Callable[[Floats], Any]
    run: Callable[[Any, str, int], Any]
    statistics: tuple[str, ...] = STATISTICS
    drifts: frozenset[str] = frozenset()
    most_rows: Mapping[str, int] = field(default_factory=dict)

    def rows(self, statistic: str, rows: int) -> int:
        """How many rows it is given."""
        return min(rows, self.most_rows.get(statistic, self.most_rows.get("", rows)))


def own_max() -> sw.Aggregate:
    """A maximum as a user would write it."""
    return sw.aggregate(
        sw.Monoid(identity=float("-inf"), combine=lambda a, b: a if a > b else b, name="own_max", selective=True)
    )


def _slidewise(threads: int | None) -> Callable[[Any, str, int], Any]:
    return lambda values, statistic, w: sw.slide(values, getattr(sw, statistic)(), sw.trailing(w), threads=threads)


def _own(threads: int | None) -> Callable[[Any, str, int], Any]:
    aggregate = own_max()
    return lambda values, statistic, w: sw.slide(values, aggregate, sw.trailing(w), threads=threads)


def _pandas_prepare(values: Floats) -> Any:
    import pandas as pd

    return pd.Series(values)


def _pandas(series: Any, statistic: str, w: int) -> Any:
    return getattr(series.rolling(w, min_periods=1), {"stddev": "std"}.get(statistic, statistic))()


def _polars_prepare(values: Floats) -> Any:
    import polars as pl

    return pl.Series(values)


def _polars(series: Any, statistic: str, w: int) -> Any:
    name = {"stddev": "std"}.get(statistic, statistic)
    return getattr(series, f"rolling_{name}")(window_size=w, min_samples=1)


def _bottleneck(values: Floats, statistic: str, w: int) -> Any:
    import bottleneck as bn

    w = min(w, len(values))  # it refuses a window longer than the array
    if statistic == "stddev":
        return bn.move_std(values, w, min_count=1, ddof=1)
    return getattr(bn, f"move_{statistic}")(values, w, min_count=1)


def _numbagg(values: Floats, statistic: str, w: int) -> Any:
    import numbagg

    name = {"stddev": "std"}.get(statistic, statistic)
    return getattr(numbagg, f"move_{name}")(values, window=min(w, len(values)), min_count=1)


def _duckdb_prepare(values: Floats) -> Any:
    import duckdb
    import pyarrow as pa

    connection = duckdb.connect()
    rows = pa.table({"i": np.arange(len(values)), "v": values})
    connection.register("rows", rows)
    connection.execute("create table t as select * from rows")
    connection.unregister("rows")
    return connection


def _duckdb(connection: Any, statistic: str, w: int) -> Any:
    name = {"stddev": "stddev_samp", "mean": "avg"}.get(statistic, statistic)
    frame = f"over (order by i rows between {w - 1} preceding and current row)"
    return connection.execute(f"select {name}(v) {frame} as a from t").fetchnumpy()["a"]


def _as_is(values: Floats) -> Floats:
    return values


DRIFT = frozenset({"sum", "mean", "stddev"})

US, ALL_CORES, OWN = "slidewise", "slidewise, all cores", "slidewise, own max"

PEERS = (
    Peer(US, _as_is, _slidewise(1)),
    Peer(ALL_CORES, _as_is, _slidewise(None)),
    Peer(OWN, _as_is, _own(1), statistics=("max",)),
    Peer("pandas", _pandas_prepare, _pandas, most_rows={"median": 2_000_000}),
    Peer("Polars", _polars_prepare, _polars, most_rows={"median": 2_000_000}),
    Peer("bottleneck", _as_is, _bottleneck, drifts=DRIFT, most_rows={"median": 2_000_000}),
    Peer("numbagg", _as_is, _numbagg, statistics=("sum", "mean", "stddev"), drifts=DRIFT),
    Peer("DuckDB", _duckdb_prepare, _duckdb, most_rows={"": 2_000_000, "median": 200_000}),
)


def largest_error(answers: Any, values: Floats, statistic: str, w: int, places: npt.NDArray[np.int64]) -> float:
    """The largest relative error at some places, against the definition applied to each window by itself."""
    got = np.asarray(np.ma.filled(np.ma.asarray(answers), np.nan), dtype=np.float64)
    if got.shape != values.shape:
        return float("inf")
    worst = 0.0
    for place in places.tolist():
        expected = _definition(values[max(0, place - w + 1) : place + 1], statistic)
        if np.isnan(expected):  # no deviation of one value; 0 is taken as well
            worst = max(worst, 0.0 if np.isnan(got[place]) else abs(got[place]))
        else:
            error = abs(got[place] - expected) / max(1.0, abs(expected))
            worst = max(worst, float("inf") if np.isnan(error) else float(error))
    return worst


def _definition(window: Floats, statistic: str) -> float:
    if statistic == "stddev":
        return float(np.std(window, ddof=1)) if len(window) > 1 else float("nan")
    return float(getattr(np, statistic)(window))


def places_to_check(rows: int, w: int, count: int, seed: int) -> npt.NDArray[np.int64]:
    """The first rows, those around the first full window, the last ones, and some between."""
    edges = np.array([0, 1, 2, w - 2, w - 1, w, w + 1, rows - 2, rows - 1])
    some = np.random.default_rng(seed).integers(0, rows, count)
    return np.unique(np.concatenate([edges[(edges >= 0) & (edges < rows)], some]))
