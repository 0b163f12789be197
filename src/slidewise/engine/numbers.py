"""Aggregates whose answers over whole columns of numbers come from a kernel of their own, in place of a tally.

The ladder says which (`Choice.numbers`). Carried windows and `LiveWindow` keep the tally; the answers are the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from slidewise.engine.output import Output
from slidewise.kernels.distinct import distinct_kernels, slide_distinct
from slidewise.kernels.ranked import ranked_kernels, slide_ranked
from slidewise.kernels.spans import Span


def build_numbers(output: Output) -> None:
    """Build the output's kernels, so that threads find them built."""
    ranked_kernels() if output.choice.numbers == "ranked" else distinct_kernels()


def outputs_of(output: Output, length: int) -> tuple[Any, ...]:
    """Room for `length` answers, whoever computes them."""
    if output.choice.numbers is None:
        return output.ops.outputs(length)
    return (np.zeros(length, dtype=np.float64 if output.choice.numbers == "ranked" else np.int64),)


def answer_numbers(
    output: Output, inputs: tuple[tuple[Any, ...], Any], spans: list[Span], outs: tuple[Any, ...], ok: Any
) -> None:
    """Answer these spans: `inputs` are the columns' numbers and the validity of rows, None if all are valid."""
    ((values,), valid), (out,), min_rows = inputs, outs, output.window.min_rows
    tally = output.ops.monoid.tally
    if tally is not None and tally.quantile is not None:
        slide_ranked(tally.quantile, values, valid, spans, min_rows, out, ok)
    else:
        slide_distinct(values, valid, spans, min_rows, out, ok)
