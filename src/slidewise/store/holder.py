"""Who holds a window: a process, told apart from a later one that got its number, and whether it still lives.

A process is a host, a boot of that host, a namespace of process numbers, a number and a time of birth. Of a process in
our own namespace the system says whether it lives; of any other nothing can be said but that its lease runs out.
"""

from __future__ import annotations

import json
import os
import socket
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path


@dataclass(frozen=True)
class Holder:
    """A process that writes a window, and since when (ISO 8601, UTC)."""

    host: str
    pid: int
    since: str
    place: str = ""
    born: str = ""

    @classmethod
    def me(cls) -> Holder:
        """This process, from now on."""
        pid = os.getpid()
        now = datetime.now(UTC).isoformat(timespec="seconds")
        return cls(socket.gethostname(), pid, now, _place(), _birth(pid))

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host} since {self.since}"

    def is_dead(self) -> bool:
        """True only if it certainly is: it was in our namespace, and is not there any more."""
        return bool(self.place) and self.place == _place() and _birth(self.pid) != self.born

    def is_here(self) -> bool:
        """Can this process see whether that one lives?"""
        return bool(self.place) and self.place == _place()

    def encode(self) -> bytes:
        """As JSON."""
        return json.dumps(asdict(self), separators=(",", ":")).encode()

    @classmethod
    def decode(cls, stored: bytes) -> Holder:
        """What `encode` stored; for anything else, a holder of whom nothing is known."""
        try:
            return cls(**json.loads(stored))
        except (ValueError, TypeError):
            return cls("an unknown host", 0, "an unknown time")


def _place() -> str:
    """This boot and namespace of process numbers; empty where the system does not tell (no /proc)."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return ""


def _birth(pid: int) -> str:
    """When a process was born, in clock ticks; empty if there is none of that number, or only its remains."""
    try:
        # The name, in parentheses, may contain anything: fields are counted from behind it.
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] in "ZX" else fields[19]
