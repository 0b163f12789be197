"""``python -m bench.plot``: the stored results as pictures, one PNG per benchmark in docs/pictures; runs nothing."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from bench.measure import RESULTS, ROOT
from bench.plot_sharing import draw_sharing

PICTURES = ROOT / "docs" / "pictures"
PANELS = {
    "arrays": ("statistic",),
    "structures": ("aggregate",),
    "spark_batch": ("aggregate", "keys"),
    "spark_streaming": ("keys",),
}
"""Which fields of a case make a panel; the window is the axis."""

OWN = ("sharing",)
"""Benchmarks with a picture of their own kind."""

FLOOR_STYLE = {"color": "#98a1ad", "linestyle": ":", "linewidth": 1.5}
US_STYLE = {"color": "#1f5fd0", "linewidth": 2.4, "marker": "o", "markersize": 4}
SHADES = ("#c2410c", "#0f766e", "#a21caf", "#b7791f", "#7c3aed", "#475569", "#be123c")


def main() -> int:
    """Draw what there is; exit code 1 if there is nothing."""
    found = [path for name in (*PANELS, *OWN) if (path := RESULTS / f"{name}.json").is_file()]
    if not found:
        print("no results to draw: run python -m bench first (results of --quick are not drawn)", file=sys.stderr)
        return 1
    PICTURES.mkdir(parents=True, exist_ok=True)
    for path in found:
        target = PICTURES / f"{path.stem}.png"
        one = draw_sharing if path.stem in OWN else draw
        one(json.loads(path.read_text(encoding="utf-8")), target)
        print(target.relative_to(ROOT))
    return 0


def draw(results: dict[str, Any], target: Path) -> None:
    """One panel per group of cases, one line per contestant, both axes in powers."""
    from matplotlib.figure import Figure

    per_row = results["unit"] == "ns per row"
    timings = [timing for timing in results["timings"] if timing["ns_per_row"]]
    panels = list(dict.fromkeys(_panel(results["name"], timing) for timing in timings))
    shades = _shades(results)
    figure = Figure(figsize=(4.2 * len(panels), 4.0), dpi=120, layout="constrained")
    first = None
    for number, panel in enumerate(panels, start=1):
        axes = figure.add_subplot(1, len(panels), number, sharey=first)
        first = first or axes
        inside = [timing for timing in timings if _panel(results["name"], timing) == panel]
        ticks = list(dict.fromkeys(str(timing["case"]["window"]) for timing in inside))
        for who, style in shades.items():
            mine = [timing for timing in inside if timing["who"] == who]
            heights = [timing["ns_per_row"] if per_row else 1e9 / timing["ns_per_row"] for timing in mine]
            axes.plot([ticks.index(str(timing["case"]["window"])) for timing in mine], heights, label=who, **style)
        axes.set_xticks(range(len(ticks)), [f"{int(tick):,}" if tick.isdigit() else tick for tick in ticks], fontsize=8)
        axes.set_yscale("log")
        axes.set_title(panel, fontsize=10)
        axes.set_xlabel("window")
        axes.grid(axis="y", color="#e6e4de", linewidth=0.8)
        axes.spines[["top", "right"]].set_visible(False)
        if number == 1:
            axes.set_ylabel("ns per row (lower is better)" if per_row else "rows/s (higher is better)")
    handles, labels = first.get_legend_handles_labels() if first is not None else ([], [])
    figure.legend(handles, labels, loc="outside lower center", ncols=min(4, len(labels)), frameon=False, fontsize=8)
    machine = results["machine"]
    figure.suptitle(f"{results['name']}: {machine['processor']}, {machine['cores']} cores", fontsize=11)
    figure.savefig(target)


def _panel(name: str, timing: dict[str, Any]) -> str:
    values = [timing["case"][field] for field in PANELS[name]]
    return ", ".join(f"{value:,} keys" if isinstance(value, int) else value for value in values)


def _shades(results: dict[str, Any]) -> dict[str, dict[str, Any]]:
    styles: dict[str, dict[str, Any]] = {}
    others = iter(SHADES * 3)
    for timing in results["timings"]:
        who = timing["who"]
        if who not in styles:
            plain = {"color": "", "linewidth": 1.4, "marker": "o", "markersize": 3}
            styles[who] = US_STYLE if who == results["us"] else FLOOR_STYLE if who.startswith("floor") else plain
            if styles[who] is plain:
                plain["color"] = next(others)
    return styles


if __name__ == "__main__":
    sys.exit(main())
