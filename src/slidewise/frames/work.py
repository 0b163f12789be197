"""Counted work: what a buffer has done, so that its costs can be told without a clock."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass
class Work:
    """Counters that only grow, until `reset`. All O(1).

    >>> import slidewise as sw
    >>> buffer = sw.frames.Buffer(sw.frames.threshold(at_least=5))
    >>> for time, value in enumerate([7, 8, 2, 9]):
    ...     changes = buffer.push(value, time)
    >>> buffer.work.events, buffer.work.splits
    (4, 2)
    """

    events: int = 0
    """Events folded, walked over or looked at."""
    frames: int = 0
    """Frames walked over or looked at."""
    nodes: int = 0
    """Nodes of trees looked at."""
    comparisons: int = 0
    """Times compared while an event's place is found or a buffer sorted; in a tree, by node."""
    shifts: int = 0
    """Cells moved."""
    splits: int = 0
    """Frames that began where none did."""
    merges: int = 0
    """Frames that begin no more."""
    realigned: int = 0
    """Repairs that ended where the old run and the new one agree."""
    ran_out: int = 0
    """Repairs, and events at the end, after which there was nothing more to fold."""

    def reset(self) -> None:
        """All counters at 0."""
        for one in fields(self):
            setattr(self, one.name, 0)

    @property
    def total(self) -> int:
        """Everything that takes time: events, frames, nodes, comparisons, shifts."""
        return self.events + self.frames + self.nodes + self.comparisons + self.shifts
