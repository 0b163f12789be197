"""Keys: the mean and the maximum over the last w rows of each key, one key and 100,000, rows arranged by key or mixed.

Peers: pandas `groupby().rolling()`, Polars `rolling_*().over()`, each as its users would call it. Floor: a copy of the
columns in the order of a sort by key.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

import slidewise as sw
from bench.measure import Bar, Case, Report, Timing, timed, words

SEED = 20260101
WINDOWS = (16, 1024)
STATISTICS = ("mean", "max")
US, FLOOR = "slidewise", "floor: sort by key and copy"
TOLERANCE = 1e-9
MOST_ROWS = 2_000_000


def workload(rows: int, keys: int, mixed: bool) -> dict[str, Any]:
    """A key at random and a reading per row; rows of a key together unless `mixed`."""
    draw = np.random.default_rng(SEED)
    key = draw.integers(0, keys, rows)
    return {"key": key if mixed else np.sort(key), "x": draw.normal(100.0, 10.0, rows)}


def _arrow(columns: dict[str, Any]) -> Any:
    import pyarrow as pa

    return pa.table(columns)


def _pandas(columns: dict[str, Any]) -> Any:
    import pandas as pd

    return pd.DataFrame(columns)


def _polars(columns: dict[str, Any]) -> Any:
    import polars as pl

    return pl.DataFrame(columns).with_row_index("row").with_columns(pl.col("row").cast(pl.Int64)).sort("key", "row")


def _slide(table: Any, statistic: str, w: int, threads: int | None) -> Any:
    return sw.slide(table, getattr(sw, statistic)("x"), sw.trailing(w), by="key", threads=threads)[f"{statistic}_x"]


def _pandas_rolling(frame: Any, statistic: str, w: int) -> Any:
    rolled = getattr(frame.groupby("key")["x"].rolling(w, min_periods=1), statistic)()
    return rolled.droplevel(0).sort_index()


def _polars_rolling(frame: Any, statistic: str, w: int) -> Any:
    import polars as pl

    expression = getattr(pl.col("x"), f"rolling_{statistic}")(window_size=w, min_samples=1).over("key")
    return frame.with_columns(answer=expression).sort("row")["answer"]


def _sorted_copy(columns: dict[str, Any]) -> Any:
    places = np.argsort(columns["key"], kind="stable")
    return columns["key"][places], columns["x"][places]


CONTESTANTS: dict[str, tuple[Callable[[dict[str, Any]], Any], Callable[[Any, str, int], Any]]] = {
    US: (_arrow, lambda data, statistic, w: _slide(data, statistic, w, 1)),
    "slidewise, all cores": (_arrow, lambda data, statistic, w: _slide(data, statistic, w, None)),
    "pandas": (_pandas, _pandas_rolling),
    "Polars": (_polars, _polars_rolling),
}


def run(quick: bool, say: Callable[[str], None]) -> Report:
    """Check and time every contestant on every case."""
    rows, times = (200_000, 3) if quick else (MOST_ROWS, 5)
    report = Report("keyed", quick, "ns per row", US)
    for keys, mixed in ((1, False), (100_000, False), (100_000, True)):
        columns = workload(rows, keys, mixed)
        prepared = {name: prepare(columns) for name, (prepare, _) in CONTESTANTS.items()}
        for statistic, w in itertools.product(STATISTICS, WINDOWS):
            case: Case = {"statistic": statistic, "window": w, "keys": keys, "rows": "mixed" if mixed else "by key"}
            say(words(case))
            truth = np.asarray(_slide(prepared[US], statistic, w, 1))
            for name, (_, call) in CONTESTANTS.items():
                report.timings.append(_timing(name, call, prepared[name], case, truth, times))
            report.timings.append(Timing(case, FLOOR, rows, timed(lambda c=columns: _sorted_copy(c), times)))
    _bars(report)
    return report


def _timing(name: str, call: Callable[[Any, str, int], Any], data: Any, case: Case, truth: Any, times: int) -> Timing:
    statistic, w = str(case["statistic"]), int(case["window"])
    error = float(np.max(np.abs(np.asarray(call(data, statistic, w)) - truth) / 100.0))
    if not error <= TOLERANCE:
        return Timing(case, name, len(truth), wrong=f"differs by {error:.1e} from {US}", error=error)
    return Timing(case, name, len(truth), timed(lambda: call(data, statistic, w), times), error=error)


def _bars(report: Report) -> None:
    report.flat(US, "keys", 2.0)
    report.bars = [bar for bar in report.bars if "mixed" not in bar.what]  # one case, which could not miss it
    for case in report.cases():
        for name in ("pandas", "Polars"):
            ratio = report.ratio(case, US, name)
            if ratio is not None:
                report.bars.append(Bar(f"{words(case)}: time through {name}'s", ratio, 1.0))
