"""The benchmark of frames: what peers count and sum is what frames are."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from bench import frames


@pytest.mark.parametrize("name", frames.KINDS)
def test_peers_give_the_same_frames(name: str) -> None:
    columns = frames.workload(2_000)
    counts, sums = frames._slide(pa.table(columns), name)
    assert len(counts) > 20
    others = []
    if name in ("threshold", "boundary", "session"):
        others = [frames._pandas(pd.DataFrame(columns), name), frames._polars(pl.DataFrame(columns), name)]
    else:
        few = tuple(columns[one].tolist() for one in ("x", "n", "t"))
        others = [frames._loop(few, name)]
    for theirs, also in others:
        assert np.array_equal(theirs, counts)
        assert np.array_equal(also, sums)
