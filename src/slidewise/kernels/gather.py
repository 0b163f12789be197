"""Answers back in the order of the rows: ``out[i] = values[places[i]]``.

Places are 32 bits wide where there are fewer rows: half of what is read is places. Measured with six windows of six
aggregates over a million rows: the whole call takes 0.78 to 0.85 of its time with NumPy's `take`.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from slidewise.kernels.jit import kernel

MANY = 2**16
"""Fewer rows are not worth a kernel."""


@functools.cache
def gather() -> Any:
    """Kernel: the values at these places, all of which must be inside; O(n)."""

    def gather(values: Any, places: Any, out: Any) -> None:
        for i in range(len(places)):
            out[i] = values[places[i]]

    return kernel(gather)


def backwards(rows: Any) -> Any:
    """Where each row went, of where each came from.

    >>> backwards(np.array([2, 0, 1])).tolist()
    [1, 2, 0]
    """
    narrow = np.uint32 if len(rows) < 2**32 else np.int64
    places = np.empty(len(rows), dtype=narrow)
    places[rows] = np.arange(len(rows), dtype=narrow)
    return places


def taken(values: Any, places: Any, spare: Any = None) -> Any:
    """The values at these places, written to `spare` if that fits; every place must be inside.

    >>> taken(np.array([1.5, 2.5, 3.5]), np.array([2, 0])).tolist()
    [3.5, 1.5]
    """
    fits = isinstance(spare, np.ndarray) and spare.dtype == values.dtype and spare.shape == values.shape
    out = spare if fits and len(places) == len(values) else None
    if len(places) < MANY or values.ndim != 1:
        return np.take(values, places, axis=0, mode="clip", out=out)  # not to look is twice as fast
    out = np.empty(len(places), dtype=values.dtype) if out is None else out
    gather()(np.ascontiguousarray(values), places, out)
    return out
