"""The panels as a PNG, for places that show no HTML; needs matplotlib, which is optional."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from slidewise.demo.machines import Machine, split

__all__ = ["available", "write"]

_Floats = npt.NDArray[np.float64]

_TINTS: Final = {"surge": "#dc2626", "dropout": "#b7791f", "stuck": "#7c3aed", "off": "#667080"}


def available() -> bool:
    """Whether matplotlib is installed."""
    return importlib.util.find_spec("matplotlib") is not None


def write(results: pa.Table, path: Path, field: str = "power_a") -> None:
    """Draw readings, mean ± one standard deviation and maximum over 5 s, one panel per machine."""
    from matplotlib.figure import Figure  # slow to import, and only here

    machines = list(split(results))
    end = max((float(machine.at[-1]) for machine in machines), default=0.0) or 1.0
    figure = Figure(figsize=(11, 2.6 * max(1, len(machines))), dpi=120, layout="constrained")
    for number, machine in enumerate(machines, start=1):
        axes = figure.add_subplot(len(machines), 1, number)
        at, lines = _broken(machine, field)
        reading, mean, spread, top = lines
        axes.plot(at, reading, color="#8d97a5", linewidth=0.6, label="power, phase A")
        axes.fill_between(
            at,
            np.maximum(mean - spread, 0.0),
            mean + spread,
            color="#1f5fd0",
            alpha=0.16,
            linewidth=0,
            label="± sd, 5 s",
        )
        axes.plot(at, mean, color="#1f5fd0", linewidth=1.6, label="mean, 5 s")
        axes.plot(at, top, color="#c2410c", linewidth=1.2, label="maximum, 5 s")
        for lo, hi, kind in [*machine.faults, *((lo, hi, "off") for lo, hi in machine.quiet)]:
            axes.axvspan(lo, hi, color=_TINTS[kind], alpha=0.1, linewidth=0)
            axes.annotate(
                kind,
                ((lo + hi) / 2, 1.0),
                xycoords=("data", "axes fraction"),
                xytext=(0, 4),
                textcoords="offset points",
                ha="center",
                fontsize=8,
                color=_TINTS[kind],
            )
        axes.set_title(machine.name, loc="left", fontsize=11, fontweight="bold")
        axes.set_ylabel("kW")
        axes.set_ylim(bottom=0)
        axes.set_xlim(0.0, end)
        axes.spines[["top", "right"]].set_visible(False)
        if number == 1:
            axes.legend(loc="lower right", fontsize=8, ncols=4, frameon=False, bbox_to_anchor=(1.0, 1.08))
        if number == len(machines):
            axes.set_xlabel("seconds")
    figure.savefig(path)


def _broken(machine: Machine, field: str) -> tuple[_Floats, list[_Floats]]:
    """Times and columns with an unknown value in each quiet period, where a line then breaks."""
    columns = [field, f"mean_{field}_5s", f"stddev_{field}_5s", f"max_{field}_5s"]
    at = np.insert(machine.at, machine.cuts, machine.at[machine.cuts])
    return at, [np.insert(machine.column(name), machine.cuts, np.nan) for name in columns]
