"""The package as a file that Spark ships to its workers."""

from __future__ import annotations

import zipfile
from pathlib import Path

SOURCES = Path(__file__).resolve().parents[1] / "src"


def shipped_to(path: Path) -> Path:
    """A zip of all sources at `path`."""
    with zipfile.ZipFile(path, "w") as package:
        for source in SOURCES.rglob("slidewise/**/*"):
            if source.is_file() and "__pycache__" not in source.parts:
                package.write(source, source.relative_to(SOURCES))
    return path
