"""Timings, bars and the report they make up; as JSON with the commit and the machine.

A floor is the least that any solution of this shape must pay (copying the array, shuffling the rows), a peer is another
library that solves the same task, a bar is what the project promises.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import statistics
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results"
LIBRARIES = (
    "slidewise",
    "numpy",
    "numba",
    "pyarrow",
    "pandas",
    "polars",
    "bottleneck",
    "numbagg",
    "duckdb",
    "lmdb",
    "rocksdict",
    "redis",
    "pyspark",
)

PATIENCE = 15.0
"""Seconds that the timed calls of one contestant on one case may take."""

Case = Mapping[str, str | int]


@dataclass(frozen=True)
class Timing:
    """One contestant on one case.

    Attributes
    ----------
    rows
        Rows per timed call.
    seconds
        Wall time of each timed call; empty if the contestant was wrong or left out.
    wrong
        How its results differ from the reference; a wrong contestant is not timed.
    error
        Largest relative error seen in the check, where there is one.
    note
        What a reader must know of this number, e.g. that it is extrapolated.
    """

    case: Case
    who: str
    rows: int
    seconds: tuple[float, ...] = ()
    wrong: str = ""
    error: float | None = None
    note: str = ""

    @property
    def nanoseconds(self) -> float | None:
        """Median time per row."""
        return statistics.median(self.seconds) / self.rows * 1e9 if self.seconds else None


@dataclass(frozen=True)
class Bar:
    """A promise and what was measured."""

    what: str
    measured: float
    limit: float
    at_most: bool = True

    @property
    def met(self) -> bool:
        return self.measured <= self.limit if self.at_most else self.measured >= self.limit


@dataclass
class Report:
    """All of one benchmark."""

    name: str
    quick: bool
    unit: str
    us: str
    timings: list[Timing] = field(default_factory=list)
    bars: list[Bar] = field(default_factory=list)
    tables: dict[str, list[list[str]]] = field(default_factory=dict)
    """Whatever is not a time per row, by title: rows of cells, headings first."""

    def cases(self) -> list[Case]:
        """Each case once, in order."""
        return list({tuple(timing.case.items()): timing.case for timing in self.timings}.values())

    def find(self, case: Case, who: str) -> Timing | None:
        return next((t for t in self.timings if t.case == case and t.who == who), None)

    def ratio(self, case: Case, who: str, to: str) -> float | None:
        """How many times the time of `to` the contestant `who` takes; None unless both were timed."""
        one, other = self.find(case, who), self.find(case, to)
        if one is None or other is None or one.nanoseconds is None or other.nanoseconds is None:
            return None
        return one.nanoseconds / other.nanoseconds

    def flat(self, who: str, over: str, limit: float) -> None:
        """A bar for each group of cases that differ in one field only: slowest through fastest."""
        groups: dict[tuple[tuple[str, str | int], ...], list[float]] = {}
        for timing in self.timings:
            if timing.who == who and timing.nanoseconds is not None and over in timing.case:
                rest = tuple((key, value) for key, value in timing.case.items() if key != over)
                groups.setdefault(rest, []).append(timing.nanoseconds)
        for rest, times in groups.items():
            what = f"{words(dict(rest))}: {who} is flat in the {over}, slowest through fastest"
            self.bars.append(Bar(what, max(times) / min(times), limit))

    def write(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        content = {
            "name": self.name,
            "quick": self.quick,
            "unit": self.unit,
            "us": self.us,
            "when": datetime.now(UTC).isoformat(timespec="seconds"),
            "commit": commit(),
            "machine": machine(),
            "timings": [asdict(timing) | {"ns_per_row": timing.nanoseconds} for timing in self.timings],
            "tables": self.tables,
            "bars": [asdict(bar) | {"met": bar.met} for bar in self.bars],
        }
        path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def words(case: Case) -> str:
    """A case in words."""
    return ", ".join(f"{key} {value:,}" if isinstance(value, int) else f"{value}" for key, value in case.items())


def timed(call: Callable[[], Any], times: int) -> tuple[float, ...]:
    """Wall time of each of so many calls, after one that is not counted; what a call returns is dropped outside.

    A call of more than a few seconds is timed fewer times, at least once.
    """
    start = time.perf_counter()
    call()
    first = time.perf_counter() - start
    taken = []
    for _ in range(times if first * times < PATIENCE else max(1, int(PATIENCE / first))):
        start = time.perf_counter()
        result = call()
        taken.append(time.perf_counter() - start)
        del result
    return tuple(taken)


def commit() -> str:
    """The commit of the checkout, with a plus if tracked files differ from it."""

    def git(*arguments: str) -> str:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
        return done.stdout.strip()

    changed = git("status", "--porcelain", "--untracked-files=no")
    return git("rev-parse", "--short=12", "HEAD") + ("+" if changed else "")


def machine() -> dict[str, Any]:
    """What the numbers depend on besides the code."""
    versions = {}
    for name in LIBRARIES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return {
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "system": platform.system(),
        "python": platform.python_version(),
        "load_1min": round(os.getloadavg()[0], 2),
        "versions": versions,
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(": ")[2] for line in lines if line.startswith("model name")), platform.machine())
