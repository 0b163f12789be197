"""The demo: a factory's sensors through Spark Structured Streaming, live in the terminal, then as a picture.

::

    datasets.factory ──► stream.py: Spark, one call of slide ──► view.py: the terminal
                                        │                   └──► picture.py: one HTML page; png.py: an image
                                        └── equal to the same call on the Arrow table? the last thing it says

Importing this package does not import pyspark; :func:`run` does.
"""

from __future__ import annotations

import inspect
import tempfile
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from rich.console import Console

from slidewise import datasets
from slidewise.demo import picture, png, view
from slidewise.errors import SlidewiseError

__all__ = ["DemoResult", "run"]

_BATCHES = 12


@dataclass(frozen=True)
class DemoResult:
    """What a run of the demo did.

    Attributes
    ----------
    events, late
        Events fed to the stream, and how many of them arrived after their event time.
    results
        Rows that came out: the events up to the last watermark.
    batches
        Micro-batches that Spark ran.
    seconds
        Wall time of the whole run.
    differences
        Columns in which the stream and the batch call differ; empty if all is well.
    picture, png
        The page, and the same as an image if matplotlib is installed.
    """

    events: int
    late: int
    results: int
    batches: int
    seconds: float
    differences: tuple[str, ...]
    picture: Path
    png: Path | None

    @property
    def same(self) -> bool:
        """Whether the stream gave exactly what the batch call gives."""
        return not self.differences


def run(
    *, seconds: int = 60, machines: int = 3, seed: int = 7, out: Path = Path("out"), live: bool | None = None
) -> DemoResult:
    """Run the demo and write ``demo.html`` into the folder ``out``, and ``demo.png`` if matplotlib is installed.

    Parameters
    ----------
    seconds, machines, seed
        The stream: see :func:`slidewise.datasets.factory`.
    out
        Folder for the picture and Spark's log; made if missing.
    live
        Redraw a board in place instead of printing a line per micro-batch. By default, if the output is a terminal.

    Raises
    ------
    SlidewiseError
        If PySpark or Java is not installed, or Spark does not start.
    """
    try:
        from slidewise.demo import session, stream
    except ModuleNotFoundError as missing:
        if missing.name != "pyspark":
            raise
        raise SlidewiseError("the demo needs PySpark: pip install 'slidewise[spark]'") from missing

    session.require_java()
    console = Console(highlight=False)
    started = time.monotonic()
    events = datasets.factory(machines, seconds, seed=seed, max_delay=stream.LATENESS)
    late = pc.sum(pc.not_equal(events["ts"], events["arrived"])).as_py() or 0
    out.mkdir(parents=True, exist_ok=True)
    console.print(f"{events.num_rows:,} events of {machines} machines, {late:,} of them late.")
    console.print("Compiling the aggregates and starting Spark ...", style="dim")

    board = view.Board(stream.WINDOWS, "power_a", events.num_rows)
    parts: list[pa.Table] = []
    with ThreadPoolExecutor(1) as beside, tempfile.TemporaryDirectory(prefix="slidewise-demo-") as scratch:
        batch_call = beside.submit(stream.query, events)  # while Spark starts, compiles what its workers will load
        with session.session(Path(scratch), out / "spark.log") as spark:
            expected = batch_call.result()
            source = stream.write_files(events, Path(scratch, "events"), _BATCHES)
            with view.shown(board, console, console.is_terminal if live is None else live) as tell:
                for batch in stream.batches(spark, source, Path(scratch, "checkpoint")):
                    board.add(batch)
                    parts.append(batch.rows)
                    tell()
    results = pa.concat_tables(parts)

    expected = expected.filter(pc.less_equal(expected["ts"], pa.scalar(stream.watermark(events))))
    differences = tuple(stream.differences(results, expected))
    page = _write(results, board, len(parts), late, differences, textwrap.dedent(inspect.getsource(stream.query)), out)
    image = page.with_suffix(".png") if png.available() else None
    if image:
        png.write(results, image)

    if differences:
        console.print(f"[bold red]The stream and the batch call differ:[/] {'; '.join(differences)}")
    else:
        console.print(f"[green]The stream gave what the batch call gives[/], in all {results.num_rows:,} rows.")
    console.print(f"Picture: {page}", soft_wrap=True)
    return DemoResult(
        events=events.num_rows,
        late=late,
        results=results.num_rows,
        batches=len(parts),
        seconds=time.monotonic() - started,
        differences=differences,
        picture=page,
        png=image,
    )


def _write(
    results: pa.Table, board: view.Board, batches: int, late: int, differences: tuple[str, ...], code: str, out: Path
) -> Path:
    answers = sum(name.endswith(tuple(f"_{window}" for window in board.windows)) for name in results.column_names)
    facts = {
        "events in": f"{board.read:,}",
        "rows out": f"{results.num_rows:,}",
        "answers per row": f"{answers}",
        "micro-batches": f"{batches}",
        "late events": f"{late:,}",
        "same as in batch": "no" if differences else "yes",
    }
    page = out / "demo.html"
    page.write_text(picture.render(results, facts=facts, code=code), encoding="utf-8")
    return page
