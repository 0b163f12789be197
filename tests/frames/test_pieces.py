"""Frames of rows that come in pieces are those of all rows at once, whatever the cuts and the sort of answer."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slidewise.frames.kind import Frame
from tests.engine.test_carry import check, series
from tests.frames.kinds import kinds


@pytest.mark.parametrize("kind", kinds(), ids=str)
@settings(max_examples=12)
@given(rows=series(), data=st.data())
def test_pieces_of_frames(kind: Frame, rows: dict[str, pa.Table], data: st.DataObject) -> None:
    check(rows, kind, "auto", data)


@pytest.mark.parametrize("algorithm", ["two_stacks_lite", "daba", "amta", "recalculate"])
@settings(max_examples=6)
@given(rows=series(), data=st.data())
def test_pieces_by_other_algorithms(algorithm: str, rows: dict[str, pa.Table], data: st.DataObject) -> Any:
    check(rows, kinds()[6], algorithm, data)
