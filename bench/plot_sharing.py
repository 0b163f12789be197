"""Figures 13 to 16 of 002 as one picture: throughput of one query and of all ranges, their ratio, and memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

STYLES: dict[str, dict[str, Any]] = {
    "slidewise flatfit": {"color": "#1f5fd0", "linewidth": 2.4, "marker": "o", "markersize": 4},
    "slidewise flatfat": {"color": "#c2410c", "linewidth": 1.4, "marker": "o", "markersize": 3},
    "slidewise b_int": {"color": "#0f766e", "linewidth": 1.4, "marker": "o", "markersize": 3},
    "naive": {"color": "#98a1ad", "linestyle": ":", "linewidth": 1.5},
}


def draw_sharing(results: dict[str, Any], target: Path) -> None:
    """Four panels side by side."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(16.0, 4.0), dpi=120, layout="constrained")
    panels = figure.subplots(1, 4)
    for axes, number in zip(panels[:2], (13, 14), strict=True):
        _throughput(axes, results, f"002 figure {number}")
    _ratio(panels[2], *_table(results, "figure 15"))
    _memory(panels[3], *_table(results, "figure 16"))
    for axes in panels:
        axes.set_axisbelow(True)
        axes.grid(axis="y", color="#e6e4de", linewidth=0.8)
        axes.spines[["top", "right"]].set_visible(False)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False, fontsize=8)
    machine = results["machine"]
    figure.suptitle(f"{results['name']}: {machine['processor']}, {machine['cores']} cores", fontsize=11)
    figure.savefig(target)


def _throughput(axes: Any, results: dict[str, Any], figure: str) -> None:
    """Rows per second over the window, both axes in powers."""
    mine = [t for t in results["timings"] if str(t["case"].get("queries", "")).startswith(figure) and t["ns_per_row"]]
    for who, style in STYLES.items():
        points = [(t["case"]["window"], 1e9 / t["ns_per_row"]) for t in mine if t["who"] == who]
        axes.plot([x for x, _ in points], [y for _, y in points], label=who, **style)
    axes.set_title(mine[0]["case"]["queries"] if mine else f"{figure}: not measured", fontsize=10)
    if not mine:
        return
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlabel("window, in partials")
    axes.set_ylabel("rows/s (higher is better)")


def _ratio(axes: Any, title: str, rows: list[list[str]]) -> None:
    for column, style in ((1, "o--"), (2, "o-")):
        points = [(int(row[0].replace(",", "")), float(row[column])) for row in rows[1:] if row[column] != "-"]
        name = rows[0][column]
        axes.plot([x for x, _ in points], [y for _, y in points], style, color="#1f5fd0", markersize=3, label=name)
    axes.axhline(1.0, color="#98a1ad", linewidth=1.0)
    axes.set_xscale("log", base=2)
    axes.set_title(title, fontsize=10)
    axes.set_xlabel("window, in partials")
    axes.legend(frameon=False, fontsize=8)


def _memory(axes: Any, title: str, rows: list[list[str]]) -> None:
    for number, row in enumerate(rows[1:]):
        style = STYLES.get(f"slidewise {row[0]}", STYLES["naive"])
        places = [k + 0.2 * number for k in range(len(row) - 1)]
        axes.bar(places, [float(cell) for cell in row[1:]], width=0.18, color=style["color"], label=row[0])
    axes.set_xticks([k + 0.3 for k in range(len(rows[0]) - 1)], rows[0][1:], fontsize=8)
    axes.set_title(title, fontsize=10)
    axes.set_xlabel("window, in partials")


def _table(results: dict[str, Any], figure: str) -> tuple[str, list[list[str]]]:
    """The table of a figure, with its title."""
    return next((title, rows) for title, rows in results["tables"].items() if figure in title)
