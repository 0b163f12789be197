"""The documents name what there is."""

from __future__ import annotations

import re
from pathlib import Path

from slidewise.monoids import BUILTINS

ROOT = Path(__file__).resolve().parent.parent


def rows(page: str) -> list[list[str]]:
    """The cells of a page's tables."""
    lines = (ROOT / page).read_text(encoding="utf-8").splitlines()
    return [re.split(r"(?<!\\)\|", line)[1:-1] for line in lines if line.startswith("| `")]


def test_every_aggregate_has_a_row_with_its_nature() -> None:
    said: dict[str, set[str]] = {}
    for cells in rows("docs/aggregates.md"):
        for name in re.findall(r"`(\w+)\(", cells[0]):
            said.setdefault(name, set()).add(cells[3].split(":")[0].strip())
    assert set(said) == set(BUILTINS)
    for name, family in BUILTINS.items():
        assert family.nature in said[name], name
