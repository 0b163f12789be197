"""The image is written where matplotlib is installed."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from slidewise.demo import png

pytest.importorskip("matplotlib")


@pytest.mark.parametrize("rows", [500, 1, 0])
def test_it_writes_an_image(results: pa.Table, tmp_path: Path, rows: int) -> None:
    assert png.available()
    path = tmp_path / "demo.png"
    png.write(results.slice(0, rows), path)
    assert path.read_bytes().startswith(b"\x89PNG")
