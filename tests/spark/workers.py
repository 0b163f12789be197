"""Workers that take turns at a bucket's state, as Spark's do: each has a cache of its own, often out of date.

worker 0   ─batch─────────crash──batch──►
worker 1   ───────batch─────────────────►      state is one; a call that crashes leaves it as it was
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from slidewise.engine.memory import SEEN
from slidewise.engine.plan import Plan
from slidewise.engine.reach import reach_of
from slidewise.spark import bucket as bucket_module
from slidewise.spark.bucket import Bucket, Emitted, Manner, forget_all
from slidewise.spark.pack import from_packet
from slidewise.spark.pages import LEDGER, Record
from tests.spark.replay import FAR, Batch, MemoryStore


class Workers:
    """Two workers that take turns at one bucket, and die at times."""

    def __init__(self, plan: Plan, late: str = "drop", **manner: Any) -> None:
        self.plan = plan
        self.manner = Manner(late, **manner)
        self.store = MemoryStore()
        self.caches: list[Any] = [OrderedDict(), OrderedDict()]
        self.seeded = False

    def seed(self, history: pa.Table, from_time: int) -> None:
        bucket_module._cache = self.caches[0]
        self.seeded = True
        Bucket(self.plan, self.store, ("q",), self.manner).seed(history, from_time)

    def run(self, table: pa.Table | None, watermark: int, worker: int = 0, dies: bool = False) -> Emitted:
        bucket_module._cache = self.caches[worker]
        if dies:
            before = self.store.copy()
            Bucket(self.plan, self.store, ("q",), self.manner).process(table, watermark)
            self.store = before
            if worker == 1:
                forget_all()
        return Bucket(self.plan, self.store, ("q",), self.manner).process(table, watermark)

    @property
    def record(self) -> Record:
        assert self.store.record is not None
        return Record.decode(self.store.record)

    def check_state(self) -> None:
        """The record and the pages tell the same."""
        pages = [*self.record.pages, *([self.record.ledger] if self.record.ledger else [])]
        assert {page.id for page in pages} == set(self.store.pages)
        assert all(len(self.store.pages[page.id]) == page.bytes for page in pages)

    def counted(self) -> int:
        """Rows that the ledger counts, and those in pages that came after it."""
        record = self.record
        pages = [from_packet(self.store.pages[page.id]) for page in record.pages]
        if record.ledger is None:
            return sum(page.num_rows for page in pages)
        assert record.ledger_at is not None
        later = [sum(t > record.ledger_at for t in page.column("t").cast(pa.int64()).to_pylist()) for page in pages]
        return sum(from_packet(self.store.pages[LEDGER]).column(SEEN).to_pylist()) + sum(later)


TURNS = st.tuples(st.integers(0, 1), st.booleans(), st.booleans())


def replay(
    plan: Plan, stream: list[Batch], data: st.DataObject, workers: Workers | None = None, late: str = "drop"
) -> tuple[Workers, list[Emitted]]:
    """Run a stream, and its end, by either worker, with crashes and cold caches."""
    workers = Workers(plan, late) if workers is None else workers
    emitted = []
    for batch in [*stream, Batch([], FAR)]:
        worker, dies, forgets = data.draw(TURNS)
        if forgets:
            workers.caches[worker].clear()
        emitted.append(workers.run(batch.table if batch.rows else None, batch.watermark, worker, dies))
        workers.check_state()
        if reach_of(plan).numbers and workers.manner.idle is None and not workers.seeded:
            taken = sum(one.rows - one.late_rows for one in emitted)
            assert workers.counted() == taken
    return workers, emitted
