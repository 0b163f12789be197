"""What the demo shows while it runs: a board redrawn in place, or plain lines where there is no terminal.

::

    batch ──► Board.add ──► board ──► screen(board) ──► Rich draws it four times a second
                                 └──► line(board)   ──► one line per batch

The board keeps a bounded trail per machine and the newest row, never the whole stream.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

import pyarrow.compute as pc
from rich import box
from rich.columns import Columns
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from slidewise.datasets import FAULTS
from slidewise.demo.machines import by_number

if TYPE_CHECKING:
    from slidewise.demo.stream import Batch

_BARS: Final = "▁▂▃▄▅▆▇█"
_TRAIL: Final = 2000  # readings kept per machine for the sparkline: 20 s at 100 Hz
_WIDTH: Final = 48
_TINTS: Final = {"none": "green", "surge": "red", "dropout": "yellow", "stuck": "magenta"}
_COLUMNS: Final = ("mean", "stddev", "max", "jump")


@dataclass
class Board:
    """The state of the screen.

    Parameters
    ----------
    windows
        Names of the windows, as they end the result columns, with what to call them on the screen.
    reading
        The column drawn as a sparkline and aggregated.
    total
        Events the stream will carry, for the progress in percent.
    """

    windows: Mapping[str, str]
    reading: str
    total: int
    batch: int = -1
    read: int = 0
    written: int = 0
    seconds: float = 0.0
    watermark: datetime | None = None
    started: float = field(default_factory=time.monotonic)
    trails: dict[str, list[float | None]] = field(default_factory=dict)
    newest: dict[str, dict[str, object]] = field(default_factory=dict)

    def add(self, batch: Batch) -> None:
        """Take in one micro-batch; O(rows of the batch)."""
        self.batch = batch.number
        self.seconds = batch.seconds
        self.read += batch.read
        self.written += batch.rows.num_rows
        self.watermark = batch.watermark or self.watermark
        for name in pc.unique(batch.rows["machine"]).to_pylist():
            rows = batch.rows.filter(pc.equal(batch.rows["machine"], name)).sort_by("ts")
            trail = self.trails.get(name, []) + rows[self.reading].to_pylist()
            self.trails[name] = trail[-_TRAIL:]
            self.newest[name] = rows.slice(rows.num_rows - 1).to_pylist()[0]


def sparkline(values: list[float | None], width: int) -> str:
    """Readings as bars from zero to the highest, each bar the mean of an equal share; a blank where nothing is known.

    >>> sparkline([0.0, 1.0, 2.0, 3.0, None, 7.0], width=6)
    '▁▂▃▄ █'
    >>> sparkline([], width=3)
    '   '
    """
    bars: list[float | None] = []
    for i in range(width):
        share = values[i * len(values) // width : (i + 1) * len(values) // width]
        known = [value for value in share if value is not None]
        bars.append(sum(known) / len(known) if known else None)
    top = max((bar for bar in bars if bar is not None), default=0.0) or 1.0
    return "".join(
        " " if bar is None else _BARS[min(len(_BARS) - 1, max(0, round(bar / top * (len(_BARS) - 1))))] for bar in bars
    )


def screen(board: Board) -> RenderableType:
    """The whole board."""
    if board.batch < 0:
        waited = time.monotonic() - board.started
        return Panel(Text(f"Starting the stream, {waited:.0f} s ...", style="dim"), box=box.ROUNDED)
    machines = [_machine(name, board) for name in sorted(board.newest, key=by_number)]
    return Group(_head(board), Columns(machines, equal=True, expand=False))


def line(board: Board) -> str:
    """One micro-batch in one line."""
    return (
        f"batch {board.batch:>3}  {board.read:>8,} in  {board.written:>8,} out  {board.seconds:>6.1f} s  "
        f"watermark {_clock(board.watermark)}"
    )


@contextmanager
def shown(board: Board, console: Console, live: bool) -> Iterator[Callable[[], None]]:
    """Keep the board on the screen while the block runs, or print a line each time the given function is called."""
    if not live:
        yield lambda: console.print(line(board), highlight=False, soft_wrap=True)
        return
    with Live(get_renderable=lambda: screen(board), console=console, refresh_per_second=4) as display:
        yield display.refresh


def _head(board: Board) -> Text:
    share = board.read / board.total if board.total else 1.0
    filled = round(share * 24)
    return Text.assemble(
        ("━" * filled, "bold cyan"),
        ("━" * (24 - filled), "bright_black"),
        (f" {share:4.0%}", "bold"),
        ("   batch ", "dim"),
        f"{board.batch}",
        (" took ", "dim"),
        (f"{board.seconds:.1f} s", "bold cyan"),
        ("   in ", "dim"),
        f"{board.read:,}",
        ("   out ", "dim"),
        f"{board.written:,}",
        ("   watermark ", "dim"),
        _clock(board.watermark),
    )


def _machine(name: str, board: Board) -> RenderableType:
    row = board.newest[name]
    code = row["fault"]
    fault = FAULTS[code] if isinstance(code, int) else "none"
    tint = _TINTS[fault]
    table = Table(box=None, padding=(0, 1), header_style="dim")
    table.add_column("window")
    for column in (*_COLUMNS, "events"):
        table.add_column(column.replace("_", " "), justify="right", min_width=6)
    for window, label in board.windows.items():
        numbers = [_number(row.get(f"{column}_{board.reading}_{window}")) for column in _COLUMNS]
        table.add_row(label, *numbers, _number(row.get(f"count_{window}"), "{:,.0f}"))
    ts = row["ts"]
    return Panel(
        Group(Text(sparkline(board.trails[name], _WIDTH), style=tint), table),
        title=f"[bold]{name}[/] [{tint}]{'' if fault == 'none' else fault}[/]",
        subtitle=f"[dim]{_clock(ts if isinstance(ts, datetime) else None)}",
        title_align="left",
        subtitle_align="right",
        box=box.ROUNDED,
        expand=False,
    )


def _number(value: object, form: str = "{:.2f}") -> str:
    return form.format(value) if isinstance(value, int | float) else "-"


def _clock(at: datetime | None) -> str:
    return at.astimezone(UTC).strftime("%H:%M:%S.%f")[:-5] if at else "-"
