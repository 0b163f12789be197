"""The command line: ``slidewise demo``, ``advance``, ``algorithms``, ``store inspect``, ``bench``.

A mistake of the user's is one line on standard error and exit code 2, never a traceback. Every command imports what it
needs when it runs, so ``slidewise --version`` costs nothing.
"""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from typer.core import TyperGroup

import slidewise
from slidewise.errors import SlidewiseError

__all__ = ["app", "main"]


class _OneLine(TyperGroup):
    """Commands whose mistakes are told in one line."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except SlidewiseError as mistake:
            Console(stderr=True, soft_wrap=True, highlight=False, markup=False).print(f"slidewise: {mistake}")
            raise typer.Exit(2) from mistake


app = typer.Typer(cls=_OneLine, no_args_is_help=True, add_completion=False, rich_markup_mode="rich")


def main() -> None:
    """The console script."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # Spark's workers would otherwise take python3 from PATH
    try:
        app()
    except KeyboardInterrupt:
        sys.exit(130)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"slidewise {slidewise.__version__}")
        raise typer.Exit


@app.callback(epilog="Example: [bold]slidewise demo --seconds 30[/]")
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    """Sliding-window aggregation for Python and PySpark."""


@app.command(epilog="Example: [bold]slidewise demo --seconds 30 --machines 2 --out /tmp/demo --plain[/]")
def demo(
    seconds: Annotated[int, typer.Option(help="Length of the stream, in event time.")] = 60,
    machines: Annotated[int, typer.Option(help="How many machines report, 100 times a second each.")] = 3,
    seed: Annotated[int, typer.Option(help="The same seed gives the same events.")] = 7,
    out: Annotated[Path, typer.Option(help="Folder for the picture and Spark's log; made if missing.")] = Path("out"),
    plain: Annotated[bool, typer.Option("--plain", help="A line per micro-batch instead of a live board.")] = False,
) -> None:
    """A factory's sensors through Spark Structured Streaming: live in the terminal, then as a picture.

    Exit code 1 if the stream's answers differ from those of the same call on a table.
    """
    from slidewise.demo import run

    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as failure:
        raise SlidewiseError(f"--out {out}: {failure.strerror}") from failure
    done = run(seconds=seconds, machines=machines, seed=seed, out=out, live=False if plain else None)
    if not done.same:
        raise typer.Exit(1)


@app.command(epilog="Example: [bold]slidewise algorithms --json | jq '.[].name'[/]")
def algorithms(
    as_json: Annotated[bool, typer.Option("--json", help="The cards as JSON, every field.")] = False,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="The table as the README has it.")] = False,
) -> None:
    """The window algorithms, with what each costs; their names go into [bold]algorithm=[/] of slide."""
    from slidewise.swag import ALGORITHMS
    from slidewise.swag.card import COLUMNS, markdown

    cards = [structure.card for structure in ALGORITHMS.values()]
    if as_json:
        typer.echo(json.dumps([dataclasses.asdict(card) for card in cards], indent=2, ensure_ascii=False))
        return
    if as_markdown:
        typer.echo(markdown(cards))
        return
    console = Console()
    if not console.is_terminal:
        console.width = 180
    table = Table(box=box.SIMPLE_HEAD, title="⊕ per step: insert, evict, query; n elements in the window")
    for column, heading in COLUMNS.items():
        table.add_column(heading, no_wrap=column == "name")
    for card in cards:
        table.add_row(*(str(getattr(card, column)) for column in COLUMNS))
    console.print(table)


store_app = typer.Typer(no_args_is_help=True, rich_markup_mode="rich")
app.add_typer(
    store_app,
    name="store",
    help="Windows whose state lives in a store.",
    epilog="Example: [bold]slidewise store inspect disk:windows[/]",
)


@store_app.callback()
def store_options() -> None:
    """Windows whose state lives in a store."""


@store_app.command(epilog="Example: [bold]slidewise store inspect redis://localhost:6379/0 --json[/]")
def inspect(
    url: Annotated[str, typer.Argument(help="The store: disk:PATH, redis://host:port/db, redis+cluster://...")],
    as_json: Annotated[bool, typer.Option("--json", help="Everything known of each window, as JSON.")] = False,
) -> None:
    """The windows in a store: how big they are, their pages and generation, and who writes them.

    Only reads, and disturbs no writer. [bold]SLIDEWISE_REDIS_PASSWORD[/] keeps the password out of the URL.
    """
    from slidewise.store import open as open_store
    from slidewise.store.base import FORMAT
    from slidewise.store.inspect import inspect as windows_in

    with open_store(url, create=False, durable=False) as store:
        found = windows_in(store)
        if as_json:
            windows = [dataclasses.asdict(window) for window in found]
            typer.echo(
                json.dumps({"url": store.url, "format": FORMAT, "windows": windows}, indent=2, ensure_ascii=False)
            )
            return
        table = Table(box=box.SIMPLE_HEAD, title=f"{store.url}, format {FORMAT}")
    for heading in (
        "window",
        "of",
        "aggregate",
        "elements",
        "generation",
        "levels",
        "pages",
        "bytes",
        "updated",
        "writer",
    ):
        table.add_column(heading, justify="right" if heading in ("elements", "pages", "bytes") else "left")
    for window in found:
        said = {name: str(window.meta.get(name, "-")) for name in ("window", "aggregate", "generation", "updated")}
        elements = window.meta.get("elements")
        table.add_row(
            escape(window.name),
            escape(said["window"]),
            escape(said["aggregate"]),
            f"{elements:,}" if isinstance(elements, int) else "-",
            said["generation"],
            str(len(window.levels)),
            f"{window.pages:,}",
            f"{window.bytes:,}",
            said["updated"],
            escape(window.problem or str(window.writer or "-")),
        )
    console = Console()
    if not console.is_terminal:
        console.width = 200
    console.print(table)


@app.command(epilog="Example: [bold]slidewise advance job.toml --add 2026-11-15=/data/2026-11-15.parquet[/]")
def advance(
    job: Annotated[Path, typer.Argument(help="The job file (TOML): state, window, query; see docs/incremental.md.")],
    add: Annotated[
        list[str] | None, typer.Option(help="A split to add, as NAME=PATH; more than once for more.")
    ] = None,
    drop: Annotated[int | None, typer.Option(help="How many of the oldest splits leave a variable window.")] = None,
    prepare: Annotated[bool, typer.Option("--prepare", help="Work ahead for the next slide afterwards.")] = False,
    if_new: Annotated[
        bool, typer.Option("--if-new", help="Splits that were added before are left out, so that a rerun is no error.")
    ] = False,
    svg: Annotated[Path | None, typer.Option(help="Draw the tree into this file.")] = None,
) -> None:
    """Move the window of an incremental job: only what is new is read. Writes the answers and prints a report.

    Killed at any moment, the same command gives the right answer; with [bold]--if-new[/] also if it had been done.
    """
    from slidewise.incremental.jobfile import read_job

    file = read_job(job)
    given = {}
    for one in add or []:
        name, sign, path = one.partition("=")
        if not name or not sign or not path:
            raise SlidewiseError(f"--add {one}: expected NAME=PATH")
        if name in given:
            raise SlidewiseError(f"--add {one}: the name {name!r} is given twice")
        given[name] = path
    work = file.job(file.session())
    if if_new:
        given = {name: path for name, path in given.items() if not work.seen(name)}
    done = not given and drop is None and if_new
    file.write(work.result() if done else work.advance(given, drop))
    if prepare:
        typer.echo(str(work.report()))
        work.prepare()
    typer.echo(str(work.report()))
    typer.echo(work.draw())
    if svg is not None:
        work.draw(svg)


@app.command(
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
    epilog="Example: [bold]slidewise bench arrays --quick[/]",
)
def bench(context: typer.Context) -> None:
    """The benchmarks, from a checkout of the repository: arrays, spark_batch, spark_streaming, slider or all.

    Arguments go to [bold]python -m bench[/].
    """
    root = Path(slidewise.__file__).resolve().parents[2]
    if not (root / "bench" / "__main__.py").is_file():
        raise SlidewiseError("bench: the benchmarks are not part of the installed package; run it in a checkout")
    raise typer.Exit(subprocess.run([sys.executable, "-m", "bench", *context.args], cwd=root, check=False).returncode)
