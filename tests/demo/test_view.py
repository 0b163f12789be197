"""The board renders without a terminal, as a board and as plain lines."""

from __future__ import annotations

import io

import pyarrow as pa
import pytest
from rich.console import Console

from slidewise.demo import view

stream = pytest.importorskip("slidewise.demo.stream", reason="needs PySpark")


def text_of(renderable: object, width: int = 130) -> str:
    console = Console(file=io.StringIO(), width=width, force_terminal=False)
    console.print(renderable)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.fixture
def board(results: pa.Table) -> view.Board:
    board = view.Board({"1s": "1 s", "5s": "5 s", "500r": "500 rows"}, "power_a", total=results.num_rows)
    for number in range(4):
        rows = results.slice(number * 50, 50)
        board.add(stream.Batch(number, rows, rows.num_rows, 1.26, rows["ts"][-1].as_py()))
    return board


def test_before_the_first_batch() -> None:
    assert "Starting" in text_of(view.screen(view.Board({}, "power_a", total=10)))


def test_the_board_shows_machines_windows_and_progress(board: view.Board) -> None:
    text = text_of(view.screen(board))
    for expected in ("press-1", "mill-2", "500 rows", "stddev", "jump", "batch 3", "1.3 s", "watermark"):
        assert expected in text
    assert any(bar in text for bar in "▁▂▃▄▅▆▇█")


@pytest.mark.parametrize("width", [40, 80, 200])
def test_any_width(board: view.Board, width: int) -> None:
    assert max(len(line) for line in text_of(view.screen(board), width).splitlines()) <= width


def test_totals_add_up(board: view.Board) -> None:
    assert (board.batch, board.read, board.written) == (3, 200, 200)
    assert "200 in" in view.line(board)


def test_a_batch_without_rows(board: view.Board, results: pa.Table) -> None:
    before = dict(board.newest)
    board.add(stream.Batch(4, results.slice(0, 0), 0, 0.0, None))
    assert board.newest == before
    assert board.watermark is not None


def test_trails_are_bounded(results: pa.Table) -> None:
    board = view.Board({}, "power_a", total=0)
    for number in range(30):
        board.add(stream.Batch(number, results, results.num_rows, 1.0, None))
    assert all(len(trail) <= 2000 for trail in board.trails.values())


def test_plain_lines(board: view.Board) -> None:
    console = Console(file=io.StringIO(), width=60, force_terminal=False)
    with view.shown(board, console, live=False) as tell:
        tell()
        tell()
    assert isinstance(console.file, io.StringIO)
    assert len(console.file.getvalue().splitlines()) == 2


def test_live_draws_in_place(board: view.Board) -> None:
    console = Console(file=io.StringIO(), width=120, height=60, force_terminal=True)
    with view.shown(board, console, live=True) as tell:
        tell()
    assert isinstance(console.file, io.StringIO)
    assert "press-1" in console.file.getvalue()
    assert "\x1b[" in console.file.getvalue()


def test_sparkline() -> None:
    assert view.sparkline([1.0] * 100, 5) == "█████"
    assert view.sparkline([0.0, 0.0], 2) == "▁▁"
    assert view.sparkline([None] * 4, 4) == "    "
    assert len(view.sparkline([1.0, 2.0], 10)) == 10
