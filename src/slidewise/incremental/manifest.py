"""The manifest: the one file that says what a job's state is; replaced as a whole.

    window, splits, tree        which splits are in, and where in the tree
    nodes                       the master index: node -> level of children, files, checksums, sizes
    living                      the nodes that the last few windows need, newest first

Its first line is the checksum of the rest. A slide is committed by the rename that puts it in its place in the first
replica; the others follow, and the newest that is whole counts.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from slidewise.errors import StoreCorrupt
from slidewise.incremental.files import Part, checksum_of, put

FILE = "manifest.json"
FORMAT = 1


@dataclass
class Node:
    """A node that is kept: what it is made of, and its files."""

    parts: list[Part]
    children: tuple[str, ...] = ()

    @property
    def rows(self) -> int:
        """Rows in all of its files."""
        return sum(part.rows for part in self.parts)

    @property
    def bytes(self) -> int:
        """Bytes in one replica."""
        return sum(part.bytes for part in self.parts)


@dataclass
class Split:
    """A split: its leaf, when it came, how many keys it has, where it can be read again, the ends of its order."""

    name: str
    node: str
    added: str
    keys: int = 0
    source: dict[str, str] | None = None
    low: str | None = None
    high: str | None = None


@dataclass
class Manifest:
    """All that is known of a state."""

    query: list[str]
    window: str
    types: dict[str, str]
    generation: int = 0
    number: int = 0
    """Splits that were ever added."""
    splits: list[Split] = field(default_factory=list)
    gone: dict[str, str] = field(default_factory=dict)
    """Splits that have left, and when they came."""
    tree: dict[str, Any] = field(default_factory=dict)
    root: str | None = None
    nodes: dict[str, Node] = field(default_factory=dict)
    living: list[list[str]] = field(default_factory=list)
    last: dict[str, Any] = field(default_factory=dict)
    """The report of the last slide."""

    def pack(self) -> bytes:
        """As bytes, checksum first."""
        body = json.dumps({"format": FORMAT, **asdict(self)}, separators=(",", ":"), ensure_ascii=False).encode()
        return checksum_of(body).encode() + b"\n" + body

    @classmethod
    def unpack(cls, blob: bytes, where: str) -> Manifest:
        """What `pack` gave; raises `StoreCorrupt` if it is damaged or of a newer format."""
        said, _, body = blob.partition(b"\n")
        if checksum_of(body).encode() != said:
            raise StoreCorrupt(f"{where}: does not have its checksum")
        content = json.loads(body)
        if content.pop("format") != FORMAT:
            raise StoreCorrupt(f"{where}: is of another format; this version reads format {FORMAT}")
        content["splits"] = [Split(**split) for split in content["splits"]]
        content["nodes"] = {
            name: Node([Part(**part) for part in node["parts"]], tuple(node["children"]))
            for name, node in content["nodes"].items()
        }
        return cls(**content)


def load(places: tuple[str, ...]) -> Manifest | None:
    """The newest manifest that is whole; None if there is none at all; raises if all there are are damaged."""
    found: list[Manifest] = []
    problems = []
    for place in places:
        path = Path(place) / FILE
        try:
            found.append(Manifest.unpack(path.read_bytes(), str(path)))
        except FileNotFoundError:
            continue
        except (OSError, ValueError, KeyError, TypeError, StoreCorrupt) as error:
            problems.append(f"{error}")
    if found:
        return max(found, key=lambda one: one.generation)
    if problems:
        raise StoreCorrupt(f"state: no manifest can be read: {'; '.join(problems)}")
    return None


def save(manifest: Manifest, places: tuple[str, ...]) -> None:
    """To every replica, the first of which commits it."""
    blob = manifest.pack()
    for place in places:
        put(Path(place) / FILE, blob)
