"""The multi buffer: two linked lists, split and merge. Algorithm 2 of the frames report, figure 3.

    frames    [w1]──────[w2]────[w3]
               │  ╲      │ ╲     │ ╲
    events     ▪──▪──▪──▪──▪──▪──▪──▪

scope O(w): along the frames, from the newest end. add O(1) once the place is known; within its frame that is found from
the frame's end backwards. A repair allocates a frame where the new run begins one (split) and frees one that begins no
more (merge); it ends when the runs agree, or when there is no next frame and the remainder stays open.

Scope saves a pointer to what it found: content and evict are then O(1), and O(w) without (`saving=False`).
"""

from __future__ import annotations

from slidewise.frames.lane import Lane
from slidewise.frames.links import Events, Frames
from slidewise.frames.live import Key, LiveFrame


class SavedFrames(Frames):
    """Frames with a pointer to the one that was found last."""

    saving = True
    saved: LiveFrame | None = None

    def floor(self, key: Key) -> LiveFrame | None:
        """O(1) if it is the one found last, else O(w)."""
        found = self.saved
        if self.saving and found is not None and found.key <= key and (found.next is None or found.next.key > key):
            self.work.frames += 1
            return found
        self.saved = super().floor(key)
        return self.saved

    def at(self, rank: int) -> LiveFrame:
        """O(rank): what is looked for so is among the oldest, to be evicted."""
        self.saved = super().at(rank)
        return self.saved

    def add(self, frame: LiveFrame, before: LiveFrame | None) -> None:
        super().add(frame, before)
        self.saved = frame

    def drop(self, frame: LiveFrame) -> None:
        super().drop(frame)
        if self.saved is frame:
            self.saved = frame.prev

    def cut(self, first: LiveFrame | None, number: int) -> None:
        super().cut(first, number)
        self.saved = None

    def clear(self) -> None:
        super().clear()
        self.saved = None


class Multi(Lane):
    """Events and frames as linked lists; see the module's notes."""

    frames: SavedFrames

    def lists(self) -> tuple[Events, Frames]:
        return Events(self.work), SavedFrames(self.work)
