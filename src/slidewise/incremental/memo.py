"""The memo layer on the driver: where a state lies, who writes it, which nodes are whole, and what is swept.

a/manifest.json   a/nodes/NODE.TOKEN.parquet   a/writer/...       the first replica, with the writer's lock
b/manifest.json   b/nodes/NODE.TOKEN.parquet                      the second
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlparse

from slidewise.errors import StoreError, StoreLocked, bad
from slidewise.incremental import manifest as manifests
from slidewise.incremental.files import NODES, Part
from slidewise.incremental.manifest import Manifest, Node
from slidewise.store.claims import FileClaims

WRITER = b"writer"


hook: Callable[[str], None] | None = None
"""What drills set to be told of each step."""


def reached(step: str) -> None:
    """Called at each step that a crash may come between."""
    if hook is not None:
        hook(step)


class Memo:
    """A state in one or more folders, which all workers see under the same path."""

    def __init__(self, places: tuple[str, ...]) -> None:
        self.places = places
        self._claims = FileClaims(Path(places[0]) / "writer", places[0])

    @contextmanager
    def writing(self) -> Iterator[None]:
        """The right to be the one writer; raises `StoreLocked` naming the other."""
        try:
            for place in self.places:
                (Path(place) / NODES).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"state={place!r}: cannot be written: {error.strerror}") from error
        try:
            self._claims.take(WRITER)
        except StoreLocked as error:
            raise StoreLocked(f"state={self.places[0]!r}: another job is writing it: {error}") from error
        try:
            yield
        finally:
            self._claims.drop(WRITER)

    def load(self) -> Manifest | None:
        """The newest manifest that is whole."""
        return manifests.load(self.places)

    def commit(self, manifest: Manifest) -> None:
        """From here on this manifest counts."""
        reached("before manifest")
        manifests.save(manifest, self.places)
        reached("after manifest")

    def is_whole(self, node: Node) -> bool:
        """True if every file of a node is in some replica, in its full length; a look at the names only."""
        return all(any(self._there(place, part) for place in self.places) for part in node.parts)

    def _there(self, place: str, part: Part) -> bool:
        try:
            return (Path(place) / NODES / part.file).stat().st_size == part.bytes
        except OSError:
            return False

    def sweep(self, manifest: Manifest | None) -> int:
        """Delete the files that no manifest names: what a killed job left behind. How many there were."""
        named = set() if manifest is None else {part.file for node in manifest.nodes.values() for part in node.parts}
        swept = 0
        for place in self.places:
            for path in (Path(place) / NODES).iterdir():
                if path.name not in named:
                    path.unlink(missing_ok=True)
                    swept += 1
                    reached("sweeping")
        return swept

    def delete(self, nodes: Iterable[Node]) -> None:
        """Delete the files of nodes that the manifest has forgotten."""
        for node in nodes:
            for part in node.parts:
                for place in self.places:
                    (Path(place) / NODES / part.file).unlink(missing_ok=True)
                reached("collecting")


def places_of(state: object) -> tuple[str, ...]:
    """The folders of a state: one path, or a list of them; local or `file:` ones.

    >>> places_of(["/data/a", "file:///data/b"])
    ('/data/a', '/data/b')
    """
    given = [state] if isinstance(state, (str, Path)) else state
    if not isinstance(given, (list, tuple)) or not given or not all(isinstance(one, (str, Path)) for one in given):
        raise bad("state", state, "a path, or a list of paths: one for each replica")
    found = []
    for one in given:
        url = urlparse(str(one))
        if url.scheme not in ("", "file"):
            raise bad("state", str(one), "a path, or a file: URI, that the driver and all workers see")
        path = url.path if url.scheme == "file" else str(one)
        if not path:
            raise bad("state", str(one), "a path that is not empty")
        found.append(str(Path(path).absolute()))
    if len(set(found)) != len(found):
        raise bad("state", state, "a different path for each replica")
    return tuple(found)


def collected(
    manifest: Manifest, living: set[str], keep: int, policy: Callable[[Node], bool] | None
) -> tuple[list[list[str]], list[str]]:
    """The nodes of the last windows, and those that can go: needed by none of them, or unwanted by the user's policy.

    What the window of now needs is never given away.
    """
    windows = [sorted(living), *manifest.living][:keep]
    reachable = {node for window in windows for node in window}
    gone = [
        name
        for name, node in manifest.nodes.items()
        if name not in living and (name not in reachable or (policy is not None and policy(node)))
    ]
    return windows, gone
