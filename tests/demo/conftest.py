"""Results as the stream would give them, computed row by row from the definition."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from slidewise import datasets

WINDOWS = {"1s": 1_000_000, "5s": 5_000_000, "500r": 500}


@pytest.fixture(scope="session")
def results() -> pa.Table:
    """Two machines, 25 s at 10 Hz, with every column the demo reads."""
    events = datasets.factory(machines=2, seconds=25, rate=10, late_share=0.05)
    parts = []
    for name in ("press-1", "mill-2"):
        rows = events.filter(pc.equal(events["machine"], name)).sort_by("ts")
        ts, power = rows["ts"].cast(pa.int64()).to_numpy(), rows["power_a"].to_numpy()
        for window, size in WINDOWS.items():
            lo = np.searchsorted(ts, ts - size, "right") if window.endswith("s") else np.arange(len(ts)) - size + 1
            seen = [power[max(0, a) : b + 1] for b, a in enumerate(lo)]
            seen = [values[~np.isnan(values)] for values in seen]
            columns = {
                "mean_power_a": [float(v.mean()) if len(v) else None for v in seen],
                "stddev_power_a": [float(v.std(ddof=1)) if len(v) > 1 else None for v in seen],
                "max_power_a": [float(v.max()) if len(v) else None for v in seen],
                "jump_power_a": [float(np.abs(np.diff(v)).max(initial=0.0)) if len(v) else None for v in seen],
                "count": [b - max(0, int(a)) + 1 for b, a in enumerate(lo)],
            }
            for column, values in columns.items():
                rows = rows.append_column(f"{column}_{window}", pa.array(values))
        parts.append(rows)
    return pa.concat_tables(parts).sort_by("ts")
