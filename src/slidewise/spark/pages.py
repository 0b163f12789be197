"""A bucket's state as Spark stores it: a log of pages of rows, and one small record about them.

    record   {format, watermark, next page, pages: [(id, rows, bytes, token)], ledger: (...), token, alarm, ...}
    page k   the rows that came in one batch, as an Arrow-IPC stream; or, after compaction, the rows that still matter
    ledger   what windows had come to, key by key, when it was written (engine/memory.py), where rows do not say it

Rows are only appended, so a worker that holds the windows as of an older token catches up by reading the pages written
since, and a worker that holds nothing builds them from the ledger and all pages. A page goes when none of its rows
matters any more; pages that are mostly dead, or many and small, are rewritten as one. Nothing here is ever unpickled.

Format 2 added `ledger_at`, `seeds`, `from_time` and `commits`, and ledgers that say more than row numbers; format 1 is
read as it was meant.
"""

from __future__ import annotations

import json
import secrets
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

from slidewise.errors import SnapshotError

FORMAT = 2

LEDGER = -1
"""The id of the page that holds the ledger."""


@dataclass
class Page:
    """One page: its id, how many rows and bytes it has, and the token of the commit that wrote it."""

    id: int
    rows: int
    bytes: int
    token: str


@dataclass
class Record:
    """What a bucket's state says about itself; everything else is in the pages.

    `ledger_at` is the watermark as of which the ledger was written (None: that of the record, as in format 1). `seeds`
    are the pages of history, which is not answered; windows that end by `from_time` are history as well. `commits`
    numbers the calls.
    """

    watermark: int
    next_id: int = 0
    pages: list[Page] = field(default_factory=list)
    token: str = ""
    tokens: list[str] = field(default_factory=list)
    alarm: int | None = None
    late: int = 0
    ledger: Page | None = None
    ledger_at: int | None = None
    seeds: list[int] = field(default_factory=list)
    from_time: int | None = None
    commits: int = 0

    def encode(self) -> bytes:
        """As bytes, with the format's number."""
        return json.dumps({"slidewise": "bucket", "format": FORMAT, **asdict(self)}, separators=(",", ":")).encode()

    @classmethod
    def decode(cls, stored: bytes) -> Record:
        """What `encode` stored; raises `SnapshotError` for anything else."""
        try:
            found: dict[str, Any] = json.loads(stored)
            if found.pop("slidewise") != "bucket":
                raise KeyError("slidewise")
            version = found.pop("format")
            if version > FORMAT:
                raise SnapshotError(f"state of format {version}; this version of slidewise reads up to {FORMAT}")
            found["pages"] = [Page(**page) for page in found["pages"]]
            found["ledger"] = Page(**found["ledger"]) if found.get("ledger") else None
            return cls(**found)
        except (ValueError, KeyError, TypeError) as error:
            raise SnapshotError(f"the bucket's record is damaged: {error}") from error

    def new_token(self) -> str:
        """Begin the next commit; the last few tokens are remembered for workers that catch up."""
        self.token = secrets.token_hex(8)
        self.tokens = [*self.tokens[-63:], self.token]
        return self.token

    def since(self, token: str) -> list[Page] | None:
        """The pages written after a commit; None if that commit is not in this state's history."""
        if token not in self.tokens:
            return None
        newer = set(self.tokens[self.tokens.index(token) + 1 :])
        return [page for page in self.pages if page.token in newer]

    def only_since(self, token: str) -> None:
        """Workers that have not seen this commit cannot catch up any more: they build anew."""
        if token in self.tokens:
            self.tokens = self.tokens[self.tokens.index(token) :]

    @property
    def bytes(self) -> int:
        """The size of all pages of rows."""
        return sum(page.bytes for page in self.pages)


class PageStore(Protocol):
    """Where a bucket keeps its record and pages; Spark's state handle in a query, a dict in tests."""

    def read_record(self) -> bytes | None:
        """The stored record, None at first."""

    def write_record(self, record: bytes) -> None:
        """Replace the record."""

    def read_page(self, page: int) -> bytes:
        """One page."""

    def write_page(self, page: int, stored: bytes) -> None:
        """Add a page, or replace it."""

    def remove_page(self, page: int) -> None:
        """Drop a page."""
