"""Fixtures of the Spark tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from slidewise.spark import bucket
from slidewise.spark.bucket import forget_all


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """So few pages, rows and keys that compaction is common."""
    monkeypatch.setattr(bucket, "MANY_PAGES", 2)
    monkeypatch.setattr(bucket, "FEW_ROWS", 6)
    monkeypatch.setattr(bucket, "FEW_KEYS", 1)
    forget_all()
    yield
    forget_all()
