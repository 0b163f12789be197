"""A stretch of rows, swept over bounds that rise within each run."""

from __future__ import annotations

from typing import Any

import numpy as np

from slidewise.engine.answers import Answers, inputs_of, parts_of, sweep
from slidewise.engine.arrange import Arranged
from slidewise.engine.columns import Column
from slidewise.engine.whole import runs_within

CHUNK = 2**20
"""Rows of a chunk."""


def sweep_rows(
    answers: list[Answers],
    columns: dict[str, Column],
    arranged: Arranged,
    lo: Any,
    hi: Any,
    first: int,
    last: int,
) -> None:
    """Answers for rows `[first, last)` over these bounds, which rise within each run."""
    asked = runs_within(arranged, first, last)[:, 1:3] - first
    base, end = int(lo.min()), int(hi.max())
    end = max(base, end)
    lo -= base
    hi -= base
    begin, zeros = lo[asked[:, 0]], np.zeros(len(asked), dtype=np.int64)
    runs = np.stack([zeros, zeros + 1, begin, begin, asked[:, 0], asked[:, 1], begin], axis=1)
    capacity = int((hi - lo).max())
    for answer in answers:
        inputs = inputs_of(answer.output, parts_of(answer.output, columns, base, end))
        outs, ok = tuple(out[first:last] for out in answer.outs), answer.ok[first:last]
        sweep(answer.output, None, capacity, inputs, lo, hi, runs, outs, ok)
        if not answer.output.ops.compiled:  # part of a list is a copy
            answer.outs[0][first:last] = outs[0]
