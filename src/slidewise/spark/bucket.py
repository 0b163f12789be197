"""A bucket of keys in a stream: its windows in this worker's memory, its rows in Spark's state.

    batch: rows ──► late ones out ──► a page in state ──► pending ──► answers up to the watermark

State is the truth; memory is a cache of it that is checked against state's token and caught up from the pages it has
not seen. A worker that dies loses nothing, and a worker that gets a bucket for the first time builds it from its pages.
"""

from __future__ import annotations

import itertools
from collections import OrderedDict
from dataclasses import dataclass

import pyarrow as pa

from slidewise.engine.changes import INSERTED, OP, VERSION, changelog, ended, provisional
from slidewise.engine.keyed import BEGINNING, KeyedWindows, Ledger
from slidewise.engine.plan import Plan
from slidewise.errors import LateEventError
from slidewise.spark.pack import from_packet, to_packet
from slidewise.spark.pages import LEDGER, Page, PageStore, Record

CACHED = 256
"""Buckets that a worker keeps in memory; the ones used last stay."""

SMALL_PAGE = 64 * 1024
MANY_PAGES = 64
FEW_ROWS = 65_536
FEW_KEYS = 1_024

_cache: OrderedDict[tuple[str, ...], tuple[str, KeyedWindows]] = OrderedDict()


@dataclass(frozen=True)
class Manner:
    """How a stream treats its rows; see `slidewise.slide`.

    `late` is "drop", "column" or "error", `emit` "event", "window", "update" or "change"; a key that is silent for
    longer than `idle`, in units of the order, begins anew.
    """

    late: str = "drop"
    emit: str = "event"
    idle: int | None = None

    @property
    def at_once(self) -> bool:
        """True if answers go out before they are final, as a changelog."""
        return self.emit in ("update", "change")


@dataclass(frozen=True)
class Emitted:
    """What one call gave: rows with answers, late rows if they are wanted, and figures for the progress."""

    final: pa.Table | None
    late: pa.Table | None
    rows: int
    late_rows: int
    late_ever: int
    waiting: int
    keys: int
    bytes: int
    watermark: int


class Bucket:
    """One bucket during one call of the stateful operator."""

    def __init__(self, plan: Plan, store: PageStore, name: tuple[str, ...], manner: Manner) -> None:
        self.plan = plan
        self.store = store
        self.name = name
        self.manner = manner
        stored = store.read_record()
        self.record = Record(watermark=BEGINNING) if stored is None else Record.decode(stored)
        self.windows = self._windows()

    def seed(self, history: pa.Table, from_time: int) -> None:
        """Take rows that came before the stream: they are in its windows, and are not answered."""
        token = self._begin()
        self.record.from_time = max(from_time, BEGINNING if self.record.from_time is None else self.record.from_time)
        self._write(history, token, seeded=True)
        self.windows = self._rebuilt()
        self.store.write_record(self.record.encode())
        _remember(self.name, token, self.windows)

    def process(self, table: pa.Table | None, watermark: int) -> Emitted:
        """Take this batch's rows, then answer all that is final at this watermark, then commit."""
        token, late = self._begin(), None
        if table is not None and table.num_rows:
            table, late = self._split_late(table)
        rows = 0 if table is None else table.num_rows
        late_rows = 0 if late is None else late.num_rows
        changed = self._take(table, token) if table is not None and rows else None
        final = self.windows.advance(watermark, answer=not self.manner.at_once or self.windows.frames)
        self.record.watermark = self.windows.watermark
        self.record.late += late_rows
        self._forget(token)
        self.store.write_record(self.record.encode())
        _remember(self.name, token, self.windows)
        return Emitted(
            final=self._changes(changed, final) if self.manner.at_once else final,
            late=late if self.manner.late == "column" else None,
            rows=rows + late_rows,
            late_rows=late_rows,
            late_ever=self.record.late,
            waiting=0 if self.windows.pending is None else self.windows.pending.num_rows,
            keys=self.windows.keys_alive,
            bytes=self.record.bytes + self._ledger_bytes(),
            watermark=self.windows.watermark,
        )

    def _changes(self, changed: pa.Table | None, final: pa.Table | None) -> pa.Table | None:
        """The changes that rows made, then those that a silence did."""
        parts = [part for part in (changed, ended(self.windows, final, self.record.commits)) if part is not None]
        return pa.concat_tables([part.select(parts[-1].column_names) for part in parts]) if parts else None

    def _begin(self) -> str:
        self.record.commits += 1
        return self.record.new_token()

    def _take(self, table: pa.Table, token: str) -> pa.Table | None:
        """Rows into state and windows; the changes that they make, if these are wanted."""
        if not self.manner.at_once:
            self._append(table, token)
            return None
        changed_only = self.manner.emit == "change"
        before = provisional(self.windows, table, changed_only=changed_only)
        self._append(table, token)
        after = provisional(self.windows, table, changed_only=changed_only)
        return changelog(before, after, self.record.commits)

    # ---- memory and state ----
    def _windows(self) -> KeyedWindows:
        """The windows as of the record: from the cache, caught up, or built from all pages."""
        cached = _cache.pop(self.name, None)  # taken out: a call that fails half way leaves nothing wrong behind
        if cached is not None:
            token, windows = cached
            newer = self.record.since(token)
            if newer is not None:
                tables = {page.id: self._read(page) for page in newer}
                if not any(windows.must_reorder(windows.times(table)) for table in tables.values()):
                    return self._caught_up(windows, tables)
        return self._rebuilt()

    def _rebuilt(self) -> KeyedWindows:
        windows = self._empty()
        ledger = None
        if self.record.ledger is not None:
            at = self.record.watermark if self.record.ledger_at is None else self.record.ledger_at
            ledger = Ledger(self._read(self.record.ledger), at)
        return self._caught_up(windows, {page.id: self._read(page) for page in self.record.pages}, ledger)

    def _empty(self) -> KeyedWindows:
        history = BEGINNING if self.record.from_time is None else self.record.from_time
        hold = 1 if self.manner.emit == "change" else 0
        return KeyedWindows(self.plan, idle=self.manner.idle, hold=hold, from_time=history)

    def _caught_up(
        self, windows: KeyedWindows, tables: dict[int, pa.Table], ledger: Ledger | None = None
    ) -> KeyedWindows:
        """Take the rows of these pages as of the record's watermark; what is answered on the way went out long ago."""
        for page, table in tables.items():
            windows.insert(table, page, seeded=page in self.record.seeds)
        if ledger is not None:
            windows.resume(ledger)
        windows.advance(self.record.watermark, answer=False)
        for gone in windows.origins.numbers - {page.id for page in self.record.pages}:
            windows.origins.drop(gone)
        return windows

    def _read(self, page: Page) -> pa.Table:
        return from_packet(self.store.read_page(page.id))

    # ---- rows in ----
    def _split_late(self, table: pa.Table) -> tuple[pa.Table, pa.Table | None]:
        late = self.windows.is_late(table)
        if not late.any():
            return table, None
        if self.manner.late == "error":
            first = table.filter(pa.array(late)).column(self.plan.order[0])[0].as_py()
            raise LateEventError(
                f"{int(late.sum())} event(s) came after their answers, the first at {self.plan.order[0]}={first}; "
                'give slide a lateness= to wait longer, or late="drop" or "column"'
            )
        return table.filter(pa.array(~late)), table.filter(pa.array(late))

    def _append(self, table: pa.Table, token: str) -> None:
        page = self._write(table, token)
        if self.windows.must_reorder(self.windows.times(table)):
            self.windows = self._rebuilt()
        else:
            self.windows.insert(table, page.id)

    def _write(self, table: pa.Table, token: str, *, seeded: bool = False) -> Page:
        stored = to_packet(table)
        page = Page(self.record.next_id, table.num_rows, len(stored), token)
        self.record.next_id += 1
        self.record.pages.append(page)
        if seeded:
            self.record.seeds.append(page.id)
        self.store.write_page(page.id, stored)
        return page

    # ---- rows out ----
    def _forget(self, token: str) -> None:
        """Drop dead pages, oldest first; rewrite all as one where they are mostly dead, or many and small."""
        dead = list(itertools.takewhile(lambda page: self.windows.is_dead(page.id), self.record.pages))
        enough = sum(page.bytes for page in dead) > self._ledger_bytes()  # so that ledgers cost no more than rows do
        if enough or self._mostly_forgotten():
            for page in dead:
                self._remove(page)
            self._write_ledger(token)
        pages, live = self.record.pages, self.windows.live_count()
        few = max([FEW_ROWS, *(4 * page.rows for page in pages[-1:])])  # what came last will go by itself
        mostly_dead = live is not None and sum(page.rows for page in pages) > 4 * live + few
        many_small = len(pages) > MANY_PAGES and self.record.bytes < len(pages) * SMALL_PAGE
        if mostly_dead or many_small:
            self._compact(token)

    def _mostly_forgotten(self) -> bool:
        """True if most keys of the ledger have no windows any more."""
        alive, ledger = self.windows.keys_alive, self.record.ledger
        return ledger is not None and (not alive or ledger.rows > 2 * alive + FEW_KEYS)

    def _compact(self, token: str) -> None:
        parts: dict[bool, list[pa.Table]] = {True: [], False: []}
        for page in list(self.record.pages):
            table = self._read(page)
            live = self.windows.live_rows(page.id, table)
            parts[page.id in self.record.seeds].append(table.filter(pa.array(live)))
            self._remove(page)
        self._write_ledger(token)
        for seeded, tables in parts.items():
            table = pa.concat_tables(tables).combine_chunks() if tables else None
            if table is not None and table.num_rows:
                self._write(table, token, seeded=seeded)
        self.record.only_since(token)  # the new page holds rows that other workers have: they must build anew
        self.windows = self._rebuilt()

    def _remove(self, page: Page) -> None:
        self.store.remove_page(page.id)
        self.record.pages.remove(page)
        self.record.seeds = [seed for seed in self.record.seeds if seed != page.id]
        self.windows.origins.drop(page.id)
        if self.windows.keeps_ledger:
            self.record.only_since(page.token)  # a worker that has not seen the page cannot count its rows

    def _write_ledger(self, token: str) -> None:
        """As of the watermark that the windows are at."""
        ledger = self.windows.ledger()
        if ledger is not None and (ledger.num_rows or self.record.pages):
            stored = to_packet(ledger)
            self.record.ledger = Page(LEDGER, ledger.num_rows, len(stored), token)
            self.record.ledger_at = self.windows.watermark
            self.store.write_page(LEDGER, stored)
        elif self.record.ledger is not None:
            self.record.ledger = self.record.ledger_at = None
            self.store.remove_page(LEDGER)

    def _ledger_bytes(self) -> int:
        return 0 if self.record.ledger is None else self.record.ledger.bytes


def _remember(name: tuple[str, ...], token: str, windows: KeyedWindows) -> None:
    _cache[name] = (token, windows)
    while len(_cache) > CACHED:
        _cache.popitem(last=False)


def forget_all() -> None:
    """Empty this process's cache; state is not touched."""
    _cache.clear()


def answered_rows(emitted: Emitted, plan: Plan, names: list[str], late_column: str | None) -> pa.Table | None:
    """The rows to send out: final ones, and late ones, flagged and without answers, if a column is wanted."""
    parts = []
    for rows, is_late in ((emitted.final, False), (emitted.late, True)):
        if rows is None or not rows.num_rows:
            continue
        if is_late:
            for field in plan.schema():
                rows = rows.append_column(field.name, pa.nulls(rows.num_rows, field.type))
            if OP in names:
                rows = rows.append_column(OP, pa.array([INSERTED] * rows.num_rows, type=pa.string()))
                rows = rows.append_column(VERSION, pa.nulls(rows.num_rows, pa.int64()))
        if late_column is not None:
            rows = rows.append_column(late_column, pa.array([is_late] * rows.num_rows))
        parts.append(rows.select(names))
    return pa.concat_tables(parts) if parts else None
