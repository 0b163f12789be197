"""A stream in figures: rows per second, late rows, keys and state, and how far the watermark is behind.

query.lastProgress ──figures──► Figures ──monitor──► a table in the terminal that refreshes with every batch
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from slidewise.errors import ArgumentError, bad

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

OBSERVED = "slidewise"
"""Under this name `query.lastProgress["observedMetrics"]` has the figures of the last batch."""


@dataclass(frozen=True)
class Figures:
    """One micro-batch of a `slide` query.

    Attributes
    ----------
    batch, rows_in, rows_out
        The batch's number, the rows it took, and the rows with answers that it gave.
    rows_per_second
        Rows taken through the time the batch took.
    late_rows, late_rows_ever
        Rows that came after their answer was final: in this batch, and since the query first started.
    rows_waiting, keys, state_bytes
        What the state holds now: rows without a final answer, keys with windows, bytes of pages.
    watermark
        Answers up to here are final; None before the first.
    behind_newest, behind_clock
        Seconds from the watermark to the newest event of the batch, and to the time of the batch; None if not known.
    """

    batch: int
    rows_in: int
    rows_out: int
    rows_per_second: float
    late_rows: int
    late_rows_ever: int
    rows_waiting: int
    keys: int
    state_bytes: int
    watermark: str | None
    behind_newest: float | None
    behind_clock: float | None

    def to_dict(self) -> dict[str, Any]:
        """As plain values, e.g. for JSON."""
        return asdict(self)


def figures(query: Any) -> Figures | None:
    """The figures of a streaming query's last batch with rows; None before the first. O(1).

    Raises `ArgumentError` for a query without `slide` in it.

    >>> from types import SimpleNamespace  # stands for a query that has just started
    >>> figures(SimpleNamespace(name="readings", recentProgress=[])) is None
    True
    """
    progress = _progress(query)
    known = _known(progress)
    if known:
        return known[-1]
    if any(report["numInputRows"] for report in progress):
        raise ArgumentError(f"query={getattr(query, 'name', None) or query!r}: has no slidewise.slide in it")
    return None


def figures_of(report: Mapping[str, Any]) -> Figures:
    """The figures in one progress report that has them."""
    seen = _observed(report)
    times = report["eventTime"] or {}
    watermark = times.get("watermark")
    watermark = None if watermark is None or watermark.startswith("1970-01-01T00:00:00") else watermark
    seconds = report["durationMs"].get("triggerExecution", 0) / 1000
    rows = int(seen.get("rows_in") or 0)
    return Figures(
        batch=int(report["batchId"]),
        rows_in=rows,
        rows_out=int(seen.get("rows_out") or 0),
        rows_per_second=rows / seconds if seconds else 0.0,
        late_rows=int(seen.get("late_rows") or 0),
        late_rows_ever=int(seen.get("late_rows_ever") or 0),
        rows_waiting=int(seen.get("rows_waiting") or 0),
        keys=int(seen.get("keys") or 0),
        state_bytes=int(seen.get("state_bytes") or 0),
        watermark=watermark,
        behind_newest=_seconds_between(watermark, times.get("max")),
        behind_clock=_seconds_between(watermark, report["timestamp"]),
    )


def monitor(
    query: Any, *, every: float = 0.5, seconds: float | None = None, rows: int = 10, console: Console | None = None
) -> None:
    """Show a streaming query's last batches in the terminal, until it ends, `seconds` have passed, or Ctrl-C.

    A table that refreshes; where the output is not a terminal, a line per batch. The query is not touched: stopping to
    look does not stop it.

    Parameters
    ----------
    query
        What ``writeStream.start()`` returned, of a stream with `slidewise.slide` in it.
    every
        Seconds between looks.
    seconds
        How long to look; None: as long as the query runs.
    rows
        How many batches to show.
    console
        Where to; None: standard output.

    O(batches that Spark remembers) per look, by default 100.

    >>> from types import SimpleNamespace  # stands for a query that has ended
    >>> monitor(SimpleNamespace(name="readings", recentProgress=[], isActive=False))
    """
    from rich.console import Console as RichConsole
    from rich.live import Live

    for name, value in (("every", every), ("rows", rows), ("seconds", 1 if seconds is None else seconds)):
        if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
            raise bad(name, value, "a number above 0")
    _progress(query)
    screen = RichConsole(file=sys.stdout) if console is None else console
    ends = None if seconds is None else time.monotonic() + seconds
    try:
        if not screen.is_terminal:
            _lines(query, screen, every, ends)
            return
        with Live(table_of([], query), console=screen, refresh_per_second=4) as live:
            for _ in _looks(query, every, ends):
                live.update(table_of(_known(_progress(query))[-rows:], query))
    except KeyboardInterrupt:
        return


def table_of(shown: list[Figures], query: Any) -> Table:
    """The table that `monitor` shows."""
    from rich.table import Table

    name = getattr(query, "name", None) or str(getattr(query, "id", ""))
    table = Table(title=f"slidewise · {name}", title_justify="left", box=None, pad_edge=False)
    for heading in (
        "batch",
        "rows in",
        "rows/s",
        "rows out",
        "late",
        "late ever",
        "waiting",
        "keys",
        "state",
        "behind",
    ):
        table.add_column(heading, justify="right")
    for one in shown:
        table.add_row(*_cells(one))
    if shown and shown[-1].watermark is not None:
        table.caption = f"final up to {shown[-1].watermark}; behind: from there to the newest event"
        table.caption_justify = "left"
    return table


def _cells(one: Figures) -> list[str]:
    counts = (one.rows_out, one.late_rows, one.late_rows_ever, one.rows_waiting, one.keys)
    behind = "-" if one.behind_newest is None else f"{one.behind_newest:,.1f} s"
    rates = [str(one.batch), f"{one.rows_in:,}", f"{one.rows_per_second:,.0f}"]
    return [*rates, *(f"{count:,}" for count in counts), _size(one.state_bytes), behind]


def _size(count: int) -> str:
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{count / size:,.1f} {unit}"
    return f"{count} B"


def _lines(query: Any, screen: Console, every: float, ends: float | None) -> None:
    shown = -1
    for _ in _looks(query, every, ends):
        for one in _known(_progress(query)):
            if one.batch > shown:
                shown = one.batch
                said = {name: value for name, value in one.to_dict().items() if value is not None}
                screen.print("  ".join(f"{name}={value}" for name, value in said.items()), soft_wrap=True)


def _looks(query: Any, every: float, ends: float | None) -> Any:
    """One pass per look; a last one when it is over."""
    while query.isActive and (ends is None or time.monotonic() < ends):
        yield
        time.sleep(every)
    yield


def _known(progress: list[Any]) -> list[Figures]:
    """The batches that say something: those with rows, in which every bucket reports; others if there are none."""
    reports = [report for report in progress if _observed(report)]
    full = [report for report in reports if report["numInputRows"]]
    return [figures_of(report) for report in full or reports]


def _progress(query: Any) -> list[Any]:
    try:
        return list(query.recentProgress)
    except AttributeError as error:
        raise bad("query", query, "a streaming query, as writeStream.start() returns it") from error


def _observed(report: Any) -> dict[str, Any]:
    """What `slide` observed in a batch; empty if it has nothing to say of it."""
    found = (report["observedMetrics"] or {}).get(OBSERVED)
    if found is None:
        return {}
    values: dict[str, Any] = found.asDict() if hasattr(found, "asDict") else dict(found)
    if set(values) == {"values", "schema"}:  # a client of Spark Connect is given these apart
        names = [field["name"] for field in values["schema"]["fields"]]
        values = dict(zip(names, values["values"], strict=True))
    return values if values.get("rows_in") is not None else {}


def _seconds_between(first: str | None, second: str | None) -> float | None:
    if first is None or second is None:
        return None
    return (_moment(second) - _moment(first)).total_seconds()


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00")).astimezone(UTC)
