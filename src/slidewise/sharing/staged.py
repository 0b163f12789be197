"""Factor windows at work: stages one after the other, each fed the results of a span before it as partials.

    events ──► stage 0 ──► results of 1 h every 1 h, at the positions where they begin ──► stage 1 ──► 24 h, 7 d

A stage is a `SpanWindows`; what it is fed is lifted already. To the outside all of it is one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from slidewise.kernels.ops import Ops
from slidewise.sharing.factor import FactorPlan
from slidewise.sharing.flatfit import FlatFIT
from slidewise.sharing.plan import Span
from slidewise.sharing.spans import AT_ONCE, Found, SpanWindows


class StagedSpans:
    """The spans of a factor plan; answers as `SpanWindows` of the whole plan gives them."""

    def __init__(self, plan: FactorPlan, ops: Ops) -> None:
        self.plan = plan
        self.ops = ops
        fed = fed_partials(ops)
        self._stages = []
        for stage in plan.stages:
            shared, mine = plan.stage_plan(stage), fed if stage.source else ops
            final = FlatFIT(mine, min(shared.size, AT_ONCE))
            self._stages.append(SpanWindows(shared, mine, final, counted=stage.source is None))

    @property
    def seen(self) -> int:
        """Rows so far, where they are counted."""
        return self._stages[0].seen

    def rows(self, inputs: tuple[Any, ...], valid: Any, rows: int) -> Found:
        """The next rows of a stream that counts them, and all that is due after the last of them."""
        return self._through(self._stages[0].rows(inputs, valid, rows), self.seen)

    def at(self, inputs: tuple[Any, ...], valid: Any, x: Any, now: int) -> Found:
        """Events at these positions, and all that is due by `now`."""
        return self._through(self._stages[0].at(inputs, valid, x, now), now)

    def _through(self, found: Found, now: int) -> Found:
        """The first stage's results through all others; those that were asked for."""
        results: dict[Span, tuple[tuple[Any, ...], Any, Any]] = {}
        for number, (stage, windows) in enumerate(zip(self.plan.stages, self._stages, strict=True)):
            if number and stage.source is not None:
                partials, ok, ends = results[stage.source]
                found = windows.at(partials, None if ok.all() else ok, ends - stage.source.length, now)
            each = found.by_span(len(windows.plan.spans))
            results |= {span: found.of(mine) for span, mine in zip(windows.plan.spans, each, strict=True)}
        asked = [results[span] for span in self.plan.plan.spans]
        spans = np.repeat(np.arange(len(asked)), [len(ends) for _, _, ends in asked])
        columns = zip(*(partials for partials, _, _ in asked), strict=True)
        partials = tuple(_joined(list(parts)) for parts in columns)
        return Found(spans, np.concatenate([ends for *_, ends in asked]), partials,
                     np.concatenate([ok for _, ok, _ in asked]))  # fmt: skip


def fed_partials(ops: Ops) -> Ops:
    """The same functions for inputs that are lifted already; made once."""
    fed: Ops = ops.built("fed partials", lambda: replace(ops, lift_at=ops.load, _built={}))
    return fed


def _joined(parts: list[Any]) -> Any:
    return np.concatenate(parts) if not isinstance(parts[0], list) else [value for part in parts for value in part]
