"""A report on the screen: a table of all contestants with ratios, then which peers win and which bars are missed."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.table import Table

from bench.measure import Case, Report, Timing, words

FLOOR = "floor"
"""Contestants whose names start so are floors: nobody is expected to be faster."""

FEW_BARS = 12
"""So many bars are all shown; of more, those that are missed."""


def show(report: Report, console: Console) -> None:
    """Print everything."""
    contestants = list(dict.fromkeys(timing.who for timing in report.timings))
    size = "quick, " if report.quick else ""
    table = Table(box=box.SIMPLE_HEAD, title=f"{report.name} ({size}{report.unit}; × is time through {report.us}'s)")
    table.add_column("case", no_wrap=True)
    for who in contestants:
        table.add_column(who, justify="right")
    for case in report.cases():
        table.add_row(words(case), *(_cell(report, case, who) for who in contestants))
    if not console.is_terminal:
        console.width = max(console.width, 60 + 22 * len(contestants))
    console.print(table)
    for title, (headings, *rows) in report.tables.items():
        more = Table(box=box.SIMPLE_HEAD, title=title)
        for k, heading in enumerate(headings):
            more.add_column(heading, justify="left" if k == 0 else "right", no_wrap=True)
        for row in rows:
            more.add_row(*row)
        console.print(more)
    for line in _remarks(report):
        console.print(line, soft_wrap=True)


def _cell(report: Report, case: Case, who: str) -> str:
    timing = report.find(case, who)
    if timing is None:
        return "-"
    if timing.wrong:
        return "[red]wrong[/]"
    ratio = report.ratio(case, who, report.us)
    times = "" if ratio is None or who == report.us else f" [{'red' if _wins(who, ratio) else 'dim'}]{ratio:.2f}×[/]"
    return f"{_amount(timing, report.unit)}{'*' if timing.note else ''}{times}"


def _amount(timing: Timing, unit: str) -> str:
    if timing.nanoseconds is None:
        return "-"
    return f"{timing.nanoseconds:,.2f}" if unit == "ns per row" else f"{1e6 / timing.nanoseconds:,.1f}"


def _wins(who: str, ratio: float) -> bool:
    return ratio < 1.0 and not who.startswith((FLOOR, "slidewise"))


def _remarks(report: Report) -> list[str]:
    lines = []
    for timing in report.timings:
        ratio = report.ratio(timing.case, timing.who, report.us)
        if timing.wrong:
            lines.append(f"[red]wrong[/]     {words(timing.case)}: {timing.who}: {timing.wrong}; not timed")
        elif ratio is not None and _wins(timing.who, ratio):
            lines.append(
                f"[red]peer wins[/] {words(timing.case)}: {timing.who} takes {ratio:.2f} of {report.us}'s time"
            )
    lines += _drifts(report)
    lines += [f"*         {note}" for note in dict.fromkeys(t.note for t in report.timings if t.note)]
    few = len(report.bars) <= FEW_BARS
    for bar in report.bars:
        if few or not bar.met:
            sign, verdict = "≤" if bar.at_most else "≥", "[green]met[/]      " if bar.met else "[red]missed[/]   "
            lines.append(f"{verdict} {bar.what}: {bar.measured:,.2f}, bar {sign} {bar.limit:,g}")
    lines.append(f"[green]met[/]       {sum(bar.met for bar in report.bars)} of {len(report.bars)} bars")
    return lines


def _drifts(report: Report) -> list[str]:
    """Errors that piled up along the data, beside ours."""
    lines = []
    for timing in report.timings:
        ours = report.find(timing.case, report.us)
        if timing.error is None or ours is None or ours.error is None or timing.wrong:
            continue
        if timing.error > 100 * max(ours.error, 1e-16):
            lines.append(
                f"drift     {words(timing.case)}: {timing.who}'s largest relative error {timing.error:.0e}, "
                f"{report.us}'s {ours.error:.0e}"
            )
    return lines
