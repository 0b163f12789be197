"""``python -m bench``: run, print, store; see --help."""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path

from rich.console import Console

from bench.measure import RESULTS, ROOT
from bench.report import show

NAMES = (
    "arrays",
    "keyed",
    "structures",
    "stores",
    "mta",
    "frames",
    "frames_buffers",
    "sharing",
    "spark_batch",
    "spark_streaming",
    "slider",
    "slider_cases",
    "slider_cluster",
)


def main() -> int:
    """Exit code 1 if a contestant of ours was wrong; a missed bar is told, and no failure."""
    parser = argparse.ArgumentParser(prog="python -m bench", description="Slidewise against its peers and floors.")
    parser.add_argument("name", nargs="?", default="all", choices=[*NAMES, "all"])
    parser.add_argument("--quick", action="store_true", help="a tenth of the data, fewer cases and runs")
    parser.add_argument("--json", type=Path, metavar="PATH", help="where to store one benchmark's results")
    asked = parser.parse_args()
    names = NAMES if asked.name == "all" else (asked.name,)
    if asked.json is not None and len(names) > 1:
        parser.error("--json takes the results of one benchmark: name it")
    console, progress = Console(), Console(stderr=True, style="dim", highlight=False)
    wrong = False
    for name in names:
        report = importlib.import_module(f"bench.{name}").run(asked.quick, lambda text: progress.print(text))
        path = asked.json or RESULTS / f"{name}{'-quick' if asked.quick else ''}.json"
        report.write(path)
        show(report, console)
        shown = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
        console.print(f"stored in {shown}\n", soft_wrap=True, highlight=False)
        wrong |= any(timing.wrong for timing in report.timings if timing.who.startswith("slidewise"))
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
