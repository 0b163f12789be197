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
        self._told: dict[Key, tuple[int, FrameRow]] = {}
        self._withdrawn: dict[Key, int] = {}
        """The versions of rows that are no more: another row may come with the same key."""
        self._many = 64

    def __len__(self) -> int:
        return len(self._told) + len(self._withdrawn)

    def tell(self, key: Key, row: FrameRow | None) -> Iterator[FrameChange]:
        """What to say of a frame that is now `row`, or is not there."""
        told: FrameRow | None
        version, told = self._told.pop(key, (0, None))
        if told is not None and row is not None and alike(tuple(told), tuple(row)):
            self._told[key] = (version, told)
            return
        if told is not None:
            yield _change("-D" if row is None else "-U", version, told)
        if row is not None:
            version = 1 + self._withdrawn.pop(key, version)
            self._told[key] = (version, row)
            yield _change("+I" if told is None else "+U", version, row)
        elif told is not None:
            self._withdrawn[key] = version

    def forget(self, keys: Iterable[Key], frontier: Key) -> None:
        """These frames are evicted: they cannot change any more, nor come back what was withdrawn before `frontier`."""
        for key in keys:
            self._told.pop(key, None)
        if len(self._withdrawn) > self._many:  # now and then: O(1) per row that was withdrawn
            self._withdrawn = {key: version for key, version in self._withdrawn.items() if key > frontier}
            self._many = 64 + 2 * len(self._withdrawn)


def _change(op: Op, version: int, row: FrameRow) -> FrameChange:
    return FrameChange(op, row.key, version, row.start, row.end, row.count, row.results, row.closed, row.fragment)
