"""What a slide did, in figures."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Report:
    """Of the last `advance` or `prepare`; print it, or read its fields.

    Attributes
    ----------
    step
        "advance" or "prepare".
    added, dropped
        Names of splits.
    reused, built, void
        Nodes of the tree as it is now: there before, made now, places without a partial.
    recomputed
        Nodes that were lost in every replica and were made again.
    combines
        Tables combined, in the foreground for an advance, ahead for a prepare.
    key_combines
        Partials combined: over all those tables, the keys that were in two of them.
    rows_read, rows_hot, rows_written, bytes_written
        Keys read from kept nodes, how many of those came from memory, and keys written (bytes: of one replica).
    state_nodes, state_bytes
        What the state holds now (bytes: of one replica).
    seconds
        By step: check, run (the Spark job), commit, collect; warm: reading into memory, for a prepare.
    cold
        True if this `Job` had done nothing before, so nothing was in a cache.
    swept
        Files of killed jobs that were deleted.
    """

    step: str
    generation: int
    window: str
    engine: str
    splits: int
    added: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    reused: int = 0
    built: int = 0
    void: int = 0
    recomputed: tuple[str, ...] = ()
    combines: int = 0
    key_combines: int = 0
    rows_read: int = 0
    rows_hot: int = 0
    rows_written: int = 0
    bytes_written: int = 0
    state_nodes: int = 0
    state_bytes: int = 0
    seconds: dict[str, float] = field(default_factory=dict)
    cold: bool = False
    swept: int = 0

    @classmethod
    def of(cls, stored: dict[str, Any]) -> Report:
        """A report as the manifest keeps it."""
        return cls(**{**stored, **{name: tuple(stored[name]) for name in ("added", "dropped", "recomputed")}})

    def __str__(self) -> str:
        took = sum(self.seconds.values())
        steps = ", ".join(f"{name} {seconds:.2f}" for name, seconds in self.seconds.items())
        lines = [
            f"{self.step} {self.generation}: {self.window}, {self.splits} splits, through {self.engine}",
            f"  splits    {_named('added', self.added)}; {_named('dropped', self.dropped)}",
            f"  nodes     {self.reused} reused, {self.built} built, {self.void} void"
            + (f", {len(self.recomputed)} lost and made again" if self.recomputed else ""),
            f"  work      {self.combines} combines of tables, {self.key_combines:,} of partials",
            f"  rows      {self.rows_read:,} read ({self.rows_hot:,} from memory), {self.rows_written:,} written "
            f"({self.bytes_written:,} bytes)",
            f"  state     {self.state_nodes} nodes, {self.state_bytes:,} bytes in each replica",
            f"  time      {took:.2f} s ({steps})" + (", a cold start" if self.cold else ""),
        ]
        if self.swept:
            lines.append(f"  swept     {self.swept} files that a killed job had left")
        return "\n".join(lines)


def _named(what: str, names: tuple[str, ...]) -> str:
    if not names:
        return f"none {what}"
    shown = ", ".join(names) if len(names) <= 4 else f"{names[0]} to {names[-1]} ({len(names)})"
    return f"{what} {shown}"
