"""The changelog: what a reader was told of frames, and what has to be said so that it is right again.

    nothing told, a row now     +I           a row told, none now      -D
    another row told            -U, +U       the same row told         nothing

Replaying it, deletes and inserts by key, gives the frames of a fold over all accepted events. O(1) per frame that
changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from slidewise.frames.cutter import alike
from slidewise.frames.live import FrameChange, FrameRow, Key, Op


class Changelog:
    """What was told, by the keys of frames that may still change."""

    def __init__(self) -> None:
        self._told: dict[Key, tuple[int, FrameRow | None]] = {}

    def __len__(self) -> int:
        return len(self._told)

    def tell(self, key: Key, row: FrameRow | None) -> Iterator[FrameChange]:
        """What to say of a frame that is now `row`, or is not there."""
        version, told = self._told.get(key, (0, None))
        if told is None and row is None:
            return
        if told is not None and row is not None and alike(tuple(told), tuple(row)):
            return
        if told is not None:
            yield _change("-D" if row is None else "-U", version, told)
        if row is not None:
            version += 1
            yield _change("+I" if told is None else "+U", version, row)
        self._told[key] = (version, row)

    def forget(self, keys: Iterable[Key], frontier: Key) -> None:
        """These frames are evicted: they cannot change any more, nor can rows that were withdrawn before them."""
        for key in keys:
            self._told.pop(key, None)
        withdrawn = [key for key, (_, row) in self._told.items() if row is None and key <= frontier]
        for key in withdrawn:
            del self._told[key]


def _change(op: Op, version: int, row: FrameRow) -> FrameChange:
    return FrameChange(op, row.key, version, row.start, row.end, row.count, row.results, row.closed, row.fragment)
