"""The picture of the demo: one HTML page with inline SVG, no scripts, nothing fetched.

::

    results ──► per machine: split at gaps ──► thin to one point per pixel ──► SVG paths ──► page

    panel   max 5 s      ───────────┐          faults   tinted, named at the top
            readings     ~~~~~~~~~~~│~~~       quiet    hatched: the machine was off
            mean ± sd    ═══════════╧═══       late     a rug of ticks under the plot
            jump 1 s     ▂▁▂▇▃▃▅▁▂▁▁▂▁▁▂       the user-defined aggregate, in its own strip

O(rows); the page holds at most a few points per pixel and series, whatever the number of rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from html import escape
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from slidewise.demo.machines import Machine, split
from slidewise.demo.page import LEGEND, PAGE

_Floats = npt.NDArray[np.float64]
_Scale = Callable[[_Floats], _Floats]

WIDTH: Final = 1120.0
HEIGHT: Final = 306.0
_LEFT, _RIGHT = 46.0, 1108.0
_TOP, _BOTTOM = 26.0, 204.0  # readings and windows
_STRIP_TOP, _STRIP_BOTTOM = 232.0, 272.0  # the user-defined aggregate
_RUG = 213.0  # late events


def render(results: pa.Table, *, facts: Mapping[str, str], code: str, field: str = "power_a") -> str:
    """The page, as text.

    Parameters
    ----------
    results
        What came out of the stream: ``ts``, ``arrived``, ``machine``, ``fault``, the field, and for it the columns
        ``mean_<field>_5s``, ``stddev_<field>_5s``, ``max_<field>_5s`` and ``jump_<field>_1s``. Any row order.
    facts
        What to print above the panels: a label and its value.
    code
        The query, printed below the panels.
    field
        The reading to draw.
    """
    machines = list(split(results))
    end = max((float(machine.at[-1]) for machine in machines), default=0.0) or 1.0
    return PAGE.substitute(
        facts="".join(
            f'<div class="fact"><dt>{escape(label)}</dt><dd>{escape(value)}</dd></div>'
            for label, value in facts.items()
        ),
        legend=LEGEND,
        panels="\n".join(_panel(machine, field, end) for machine in machines),
        code=escape(code.strip()),
    )


def _panel(machine: Machine, field: str, end: float) -> str:
    reading = machine.column(field)
    mean, spread, top = (machine.column(f"{name}_{field}_5s") for name in ("mean", "stddev", "max"))
    jump = machine.column(f"jump_{field}_1s")
    ceiling = _ceiling(np.concatenate([reading, top, mean + spread]))

    def x(at: _Floats) -> _Floats:
        return _LEFT + at / end * (_RIGHT - _LEFT)

    y = _scale(ceiling, _TOP, _BOTTOM)
    strip = _scale(_ceiling(np.sqrt(jump)), _STRIP_TOP, _STRIP_BOTTOM)
    at = x(machine.at)
    cuts = machine.cuts
    name = escape(machine.name)
    parts = [
        f'<section><h2>{name}</h2><p class="note">{escape(_note(machine))}</p>',
        f'<svg viewBox="0 0 {WIDTH:g} {HEIGHT:g}" role="img" aria-label="Readings and windows of {name}">',
        *_axes(x, y, ceiling, end),
        *_episodes(machine, x),
        _path("band", _area(at, y(np.maximum(mean - spread, 0.0)), y(mean + spread), cuts)),
        _path("reading", _envelope(at, y(reading), cuts)),
        _path("max", _line(at, y(top), cuts)),
        _path("mean", _line(at, y(mean), cuts)),
        _path("late", "".join(f"M{at:.1f} {_RUG - 4:g}v8" for at in x(machine.late))),
        _path("jump", _area(at, np.full_like(at, _STRIP_BOTTOM), strip(np.sqrt(jump)), cuts)),
        f'<text class="strip" x="{_LEFT + 4:g}" y="{_STRIP_TOP - 3:g}">largest jump, 1 s (square-root scale)</text>',
        "</svg></section>",
    ]
    return "\n".join(parts)


def _note(machine: Machine) -> str:
    seen = [f"{machine.rows.num_rows:,} events", f"{len(machine.late):,} late"]
    seen += [f"{kind} for {hi - lo:.1f} s" for lo, hi, kind in machine.faults]
    seen += [f"off for {hi - lo:.1f} s" for lo, hi in machine.quiet]
    return " · ".join(seen)


def _axes(x: _Scale, y: Callable[[_Floats], _Floats], ceiling: float, end: float) -> Iterator[str]:
    for value in np.arange(0.0, ceiling + 1e-9, _step(ceiling, 4)):
        height = y(np.array([value]))[0]
        yield f'<path class="grid" d="M{_LEFT:g} {height:.1f}H{_RIGHT:g}"/>'
        yield f'<text class="tick" text-anchor="end" x="{_LEFT - 8:g}" y="{height + 4:.1f}">{value:g}</text>'
    yield f'<text class="tick" text-anchor="end" x="{_LEFT - 8:g}" y="{_TOP - 10:g}">kW</text>'
    yield f'<path class="axis" d="M{_LEFT:g} {_STRIP_BOTTOM:g}H{_RIGHT:g}"/>'
    for value in np.arange(0.0, end + 1e-9, _step(end, 8)):
        across = x(np.array([value]))[0]
        yield f'<path class="axis" d="M{across:.1f} {_STRIP_BOTTOM:g}v5"/>'
        yield (
            f'<text class="tick" text-anchor="middle" x="{across:.1f}" y="{_STRIP_BOTTOM + 20:g}">{value:g} s</text>'
        )


def _episodes(machine: Machine, x: _Scale) -> Iterator[str]:
    shown = [(lo, hi, kind, kind) for lo, hi, kind in machine.faults]
    shown += [(lo, hi, "quiet", "off") for lo, hi in machine.quiet]
    for lo, hi, style, label in shown:
        left, right = x(np.array([lo, hi]))
        yield (
            f'<g class="episode {style}"><title>{label}: {lo:.1f} s to {hi:.1f} s</title>'
            f'<rect x="{left:.1f}" y="{_TOP:g}" width="{right - left:.1f}" height="{_STRIP_BOTTOM - _TOP:g}"/>'
            f'<text text-anchor="middle" x="{(left + right) / 2:.1f}" y="{_TOP - 8:g}">{label}</text></g>'
        )


def _path(style: str, data: str) -> str:
    return f'<path class="{style}" d="{data}"/>' if data else ""


def _scale(ceiling: float, top: float, bottom: float) -> _Scale:
    return lambda values: bottom - values / ceiling * (bottom - top)


def _step(size: float, parts: int) -> float:
    """A round distance between ticks: 1, 2 or 5 times a power of ten."""
    rough = size / parts
    power: float = 10.0 ** math.floor(math.log10(rough))
    return power * next(step for step in (1.0, 2.0, 5.0, 10.0) if step * power >= rough * 0.999)


def _ceiling(values: _Floats) -> float:
    known = values[np.isfinite(values)]
    return float(known.max()) * 1.04 if len(known) and known.max() > 0 else 1.0


def _pixels(at: _Floats, cuts: npt.NDArray[np.intp]) -> Iterator[tuple[slice, npt.NDArray[np.intp]]]:
    """Each unbroken run of events, with the position inside it where each pixel begins."""
    for lo, hi in zip([0, *cuts], [*cuts, len(at)], strict=True):
        if hi > lo:
            yield slice(lo, hi), np.flatnonzero(np.diff(np.floor(at[lo:hi]), prepend=-1.0))


def _known(at: _Floats, *rows: _Floats, cuts: npt.NDArray[np.intp]) -> tuple[list[_Floats], npt.NDArray[np.intp]]:
    """Drop events where a value is unknown, and move the cuts along."""
    keep = np.isfinite(np.stack(rows)).all(axis=0)
    return [at[keep], *(row[keep] for row in rows)], np.concatenate([[0], np.cumsum(keep)])[cuts]


def _line(at: _Floats, height: _Floats, cuts: npt.NDArray[np.intp]) -> str:
    (at, height), cuts = _known(at, height, cuts=cuts)
    return "".join(_polyline(at[run][first], height[run][first]) for run, first in _pixels(at, cuts))


def _envelope(at: _Floats, height: _Floats, cuts: npt.NDArray[np.intp]) -> str:
    """Lowest and highest point of each pixel, so that no spike is lost."""
    (at, height), cuts = _known(at, height, cuts=cuts)
    out = []
    for run, first in _pixels(at, cuts):
        low, high = np.minimum.reduceat(height[run], first), np.maximum.reduceat(height[run], first)
        out.append(_polyline(np.repeat(at[run][first], 2), np.stack([low, high], axis=1).ravel()))
    return "".join(out)


def _area(at: _Floats, low: _Floats, high: _Floats, cuts: npt.NDArray[np.intp]) -> str:
    (at, low, high), cuts = _known(at, low, high, cuts=cuts)
    out = []
    for run, first in _pixels(at, cuts):
        there, back = at[run][first], at[run][first][::-1]
        out.append(_polyline(np.r_[there, back], np.r_[high[run][first], low[run][first][::-1]]) + "Z")
    return "".join(out)


def _polyline(at: _Floats, height: _Floats) -> str:
    return "M" + "L".join(f"{a:.1f} {h:.1f}" for a, h in zip(at.tolist(), height.tolist(), strict=True))
