"""Windows in a store when something is in the way: one clear error each, nothing lost, the same call again works."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import slidewise as sw
from slidewise import store as stores
from slidewise.engine.store_pages import MOST_WAITING
from slidewise.errors import (
    ArgumentError,
    SnapshotError,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreLocked,
    StoreUnreachable,
)
from slidewise.monoids.codec import decode_plain, encode_plain
from slidewise.store import Claim, Store, keys, meta, pages
from slidewise.store.memory import MemoryStore
from tests.engine.streams import ENDS, WINDOWS, close_to, stream

pytestmark = pytest.mark.usefixtures("small_rings")
ROOT = Path(__file__).resolve().parents[2]


class Moody(MemoryStore):
    """A store that fails when it is told to."""

    def __init__(self) -> None:
        super().__init__(uuid.uuid4().hex)
        self.full = self.gone = False
        self.fail_reads_in: int | None = None
        self.puts = 0

    def _put(self, items: Mapping[bytes, bytes], delete: Sequence[bytes], claim: Claim | None, durable: bool) -> None:
        if self.full:
            raise StoreFull(f"{self.url}: the disk or a quota is full")
        self.puts += 1
        super()._put(items, delete, claim, durable)

    def _get(self, keys: Sequence[bytes]) -> list[bytes | None]:
        if self.fail_reads_in is not None:
            self.fail_reads_in -= 1
            if self.fail_reads_in < 0:
                self.fail_reads_in = None
                raise StoreUnreachable(f"{self.url}: no answer")
        if self.gone:
            raise StoreUnreachable(f"{self.url}: no answer")
        return super()._get(keys)


# ---- the background -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["rows", "time before", "policy of values"])
def test_an_error_of_the_background_reaches_the_next_call_and_loses_nothing(name: str) -> None:
    window, events, store = WINDOWS[name], stream("float", 5000), Moody()
    near = sw.LiveWindow(sw.sum(), window)
    live = sw.LiveWindow(sw.sum(), window, store=store)
    errors = 0
    for k, value in enumerate(events.values):
        store.full = 1000 <= k < 4000
        at = events.time(window, k)
        while True:
            before = live.events, len(live)
            try:
                answer = live.push(value, at)
            except StoreFull:
                errors += 1
                assert (live.events, len(live)) == before  # the event is not in: push it again
            else:
                break
        assert close_to(answer, near.push(value, at)), k
        if k == 3500:
            with pytest.raises(StoreFull):
                live.flush()
            with pytest.raises(StoreFull):
                live.flush()
    assert errors >= 3
    live.flush()
    live.close()
    with sw.LiveWindow.restore(store, window=window) as live:
        assert live.query() == answer
        assert live.events == 5000
        live.check()


@pytest.mark.parametrize(
    "name",
    ["rows", "time", "policy of values", *(pytest.param(one, marks=pytest.mark.slow) for one in ("adwin", "session"))],
)
def test_an_error_in_the_middle_of_a_step_takes_it_back(name: str) -> None:
    """Reads fail now and then, at any point of a step: in the answer's, the times' or the policy's pages."""
    window, events, store = WINDOWS[name], stream("float", 5000, seed=3), Moody()
    near = sw.LiveWindow(sw.sum(), window, "amta")
    live = sw.LiveWindow(sw.sum(), window, store=store)
    errors = 0
    for k, value in enumerate(events.values):
        at = events.time(window, k)
        if k % 5 == 0:
            store.fail_reads_in = k // 5 % 3
        for _ in range(4):
            before = live.events, len(live)
            try:
                answer = live.push(value, at)
            except StoreUnreachable:
                errors += 1
                assert (live.events, len(live)) == before
            else:
                break
        assert close_to(answer, near.push(value, at)), k
        assert len(live) == len(near)
        if k == 2500:
            store.fail_reads_in = None
            live.close()
            live = sw.LiveWindow.restore(store, window=window)
    store.fail_reads_in = None
    live.check()
    assert errors >= (1 if name != "session" else 0)
    live.close()


def test_an_eviction_that_cannot_read_evicts_nothing() -> None:
    store = Moody()
    live = sw.LiveWindow(sw.sum(), sw.trailing(10**6), store=store)
    for _ in range(20_000):
        live.insert(1.0)
    live.flush()
    live.close()
    live = sw.LiveWindow.restore(store)
    store.gone = True
    for _ in range(3):
        with pytest.raises(StoreUnreachable):
            live.evict_many(5000)
        assert len(live) == 20_000
    store.gone = False
    live.evict_many(5000)
    assert live.query() == 15_000
    live.close()


def test_a_window_that_cannot_be_flushed_stays_open() -> None:
    store = Moody()
    live = sw.LiveWindow(sw.sum(), sw.trailing(10), store=store)
    live.extend([1, 2, 3])
    store.full = True
    with pytest.raises(StoreFull):
        live.close()
    with pytest.raises(StoreFull):
        live.__exit__(None)
    assert live.query() == 6
    store.full = False
    assert live.push(4) == 10
    live.close()
    with sw.LiveWindow.restore(store) as live:
        assert live.query() == 10


def test_a_block_that_raises_leaves_the_last_flush() -> None:
    url = f"memory:{uuid.uuid4().hex}"
    with pytest.raises(ZeroDivisionError), sw.LiveWindow(sw.sum(), sw.trailing(10), store=url) as live:  # noqa: PT012
        live.push(1)
        live.flush()
        live.push(2)
        raise ZeroDivisionError
    with sw.LiveWindow.restore(url) as live:
        assert (live.query(), live.events) == (1, 1)


def test_too_many_pages_wait() -> None:
    """What waits is bounded: the window waits for a slow store, and is not faster than it."""

    class Slow(Moody):
        most = 0

        def _put(self, items: Any, delete: Any, claim: Any, durable: bool) -> None:
            self.most = max(self.most, len(items))
            time.sleep(0.05)
            super()._put(items, delete, claim, durable)

    store = Slow()
    live = sw.LiveWindow(sw.sum(), sw.trailing(10**7), store=store, kind="float")
    live._structure.extend_arrays(np.ones(600_000))
    live.close()
    assert 64 < store.most <= MOST_WAITING + 40  # and the meta record, and what came while it was full


# ---- writers and names ----------------------------------------------------------------------------------------------
def test_a_second_writer_in_this_process(url: str) -> None:
    with sw.LiveWindow(sw.sum(), sw.trailing(3), store=url, name="power") as live:
        live.push(1)
        live.flush()
        held = rf"window 'power' is held by process {os.getpid()} on "
        with pytest.raises(StoreLocked, match=held):
            sw.LiveWindow.restore(url, name="power")
        with pytest.raises(StoreLocked, match=held):
            sw.LiveWindow(sw.sum(), sw.trailing(3), store=url, name="power")
        with sw.LiveWindow(sw.sum(), sw.trailing(3), store=url, name="other") as other:
            other.push(5)
        assert live.push(2) == 3


def child(program: str, *arguments: str) -> subprocess.Popen[str]:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env, cwd=ROOT)


def test_a_second_writer_in_another_process(url: str) -> None:
    if url.startswith("memory:"):
        pytest.skip("a store of this process alone")
    program = (
        "import sys, slidewise as sw;"
        "live = sw.LiveWindow(sw.sum(), sw.trailing(3), store=sys.argv[1]); live.push(1); live.flush();"
        "sys.stdout.write('ready\\n'); sys.stdout.flush(); sys.stdin.read()"
    )
    with child(program, url) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        assert process.stdout.readline() == "ready\n"
        for call in (
            lambda: sw.LiveWindow.restore(url),
            lambda: sw.LiveWindow(sw.sum(), sw.trailing(3), store=url),
        ):
            with pytest.raises(StoreLocked, match=rf"window 'live' is held by process {process.pid} on \S+ since 20"):
                call()
        process.stdin.close()
        process.wait()
    with sw.LiveWindow.restore(url) as live:
        assert live.push(2) == 3


def test_a_forked_child_is_told(tmp_path: Path) -> None:
    pytest.importorskip("lmdb")
    with sw.LiveWindow(sw.sum(), sw.trailing(3), store=f"disk:{tmp_path}/store") as live:
        live.push(1)
        pid = os.fork()
        if not pid:
            told = 0
            for call in (lambda: live.push(2), live.query, live.flush, live.snapshot, lambda: live.evict_many(1)):
                try:
                    call()
                except StoreError as error:
                    told += "forked" in str(error)
            live.close(flush=False)
            os._exit(told)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 5
        assert live.push(3) == 4


def test_a_closed_window() -> None:
    live = sw.LiveWindow(sw.sum(), sw.trailing(3), store="memory:")
    live.push(1)
    live.close()
    live.close()
    for call in (lambda: live.push(1), lambda: live.insert(1), live.query, live.flush, live.snapshot, live.evict):
        with pytest.raises(StoreError, match="window 'live' in memory:: the window is closed"):
            call()


def fresh(**settings: Any) -> tuple[str, Callable[[], sw.LiveWindow]]:
    """A URL with a window in it."""
    url = f"memory:{uuid.uuid4().hex}"
    settings = {"aggregate": sw.max(), "window": sw.trailing(1000), **settings}
    with sw.LiveWindow(settings["aggregate"], settings["window"], store=url) as live:
        for k in range(1500):
            live.push(float(k), k if settings["window"].axis != "rows" else None)
    return url, lambda: sw.LiveWindow.restore(url, settings["aggregate"], settings["window"])


def test_names() -> None:
    url, _ = fresh()
    with pytest.raises(ArgumentError, match=r"name='live': window 'live' in memory:.* is there; LiveWindow.restore"):
        sw.LiveWindow(sw.max(), sw.trailing(3), store=url)
    with pytest.raises(StoreError, match=r"window 'other' in memory:.*: there is no such window"):
        sw.LiveWindow.restore(url, name="other")
    for name in ("", "x" * 500, 5, None):
        with pytest.raises(ArgumentError, match=r"name=.*expected a name of 1 to 400 bytes"):
            sw.LiveWindow(sw.max(), sw.trailing(3), store=url, name=name)  # type: ignore[arg-type]
        with pytest.raises(ArgumentError, match=r"name=.*expected a name of 1 to 400 bytes"):
            sw.LiveWindow.restore(url, name=name)  # type: ignore[arg-type]
    with pytest.raises(StoreError, match="there is no such store"):
        sw.LiveWindow.restore("memory:nothing of that name")
    sw.LiveWindow.restore(url).close()  # none of these has kept the claim


@pytest.mark.parametrize("store", [5, b"disk:x", Path("x"), object()])
def test_what_is_no_store(store: Any) -> None:
    with pytest.raises(ArgumentError, match=r"store=.*disk:PATH"):
        sw.LiveWindow(sw.max(), sw.trailing(3), store=store)


def test_an_algorithm_that_is_not_for_stores() -> None:
    with pytest.raises(ArgumentError, match="algorithm='daba': expected 'auto' or 'amta'"):
        sw.LiveWindow(sw.max(), sw.trailing(3), "daba", store="memory:")


def test_restored_as_something_else() -> None:
    url, again = fresh(aggregate=ENDS)
    wrong: list[tuple[type[Exception], str, Callable[[], Any]]] = [
        (ArgumentError, r"aggregate=None: window 'live' in memory:\S+ is of 'ends', a user's own",
         lambda: sw.LiveWindow.restore(url)),
        (SnapshotError, r"window 'live' in memory:\S+: snapshot of 'ends' version 1, a user's own; got 'min'",
         lambda: sw.LiveWindow.restore(url, sw.min())),
        (SnapshotError, r"window 'live' in memory:\S+: snapshot of another window",
         lambda: sw.LiveWindow.restore(url, ENDS, sw.trailing(7))),
        (SnapshotError, r"window 'live' in memory:\S+: its partials are \(NoneType, NoneType\), .* has int",
         lambda: sw.LiveWindow.restore(url, sw.aggregate(sw.Monoid(identity=0, combine=max, name="ends")))),
    ]  # fmt: skip
    for kind, message, call in wrong:
        with pytest.raises(kind, match=message):
            call()
    url_of_policy, _ = fresh(window=WINDOWS["policy"])
    with pytest.raises(ArgumentError, match=r"window=None: window 'live' in memory:\S+ is of a slide policy"):
        sw.LiveWindow.restore(url_of_policy)
    again().close()


def test_partials_that_cannot_be_stored() -> None:
    sets = sw.Monoid(identity=frozenset(), lift=lambda x: frozenset([x]), combine=frozenset.union, name="sets")
    store = stores.open("memory:")
    with pytest.raises(ArgumentError, match=r"aggregate=Monoid\('sets'\): cannot be kept in a store: .* frozenset"):
        sw.LiveWindow(sw.aggregate(sets), sw.trailing(3), store=store)
    codec = (lambda held: encode_plain(sorted(held)), lambda stored: frozenset(decode_plain(stored)))
    fine = sw.Monoid(identity=frozenset(), lift=sets.lift, combine=frozenset.union, codec=codec, name="sets")
    with sw.LiveWindow(sw.aggregate(fine), sw.trailing(2000), store=store) as live:  # the claim was given back
        for k in range(3000):
            live.insert(k % 5)
        assert live.query() == frozenset(range(5))


# ---- damage ---------------------------------------------------------------------------------------------------------
def damaged(url: str, key: bytes, change: Callable[[bytes], bytes | None]) -> None:
    with stores.open(url) as store:
        (blob,) = store.get_many([key])
        assert blob is not None
        mended = change(blob)
        store.put_many({} if mended is None else {key: mended}, delete=[key])


def flip(blob: bytes) -> bytes:
    return blob[:-1] + bytes([blob[-1] ^ 1])


def newer(blob: bytes) -> bytes:
    return blob[:4] + bytes([2]) + blob[5:]


PAGE_AT = keys.page("live", 0, 1)
META = keys.meta("live")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (flip, "level 0, page 1: is damaged: its checksum does not match"),
        (newer, "level 0, page 1: is of format 2; this version of slidewise reads up to 1"),
        (lambda blob: blob[:100], "level 0, page 1: is damaged"),
        (lambda blob: b"", "level 0, page 1: is damaged"),
        (lambda blob: None, "level 0, page 1: is missing"),
        (lambda blob: pages.seal(b"x" * 4096, "objects"), "level 0, page 1: holds 'objects'; expected 'numbers'"),
    ],
)
def test_a_damaged_page(change: Callable[[bytes], bytes | None], message: str) -> None:
    url, again = fresh()
    damaged(url, PAGE_AT, change)
    live = again()
    assert live.query() == 1499.0
    for _ in range(2):
        with pytest.raises(StoreCorrupt, match=rf"memory:\S+: window 'live', {message}"):
            live.evict_many(100)
        assert len(live) == 1000
    live.close(flush=False)


@pytest.mark.parametrize(
    ("change", "kind", "message"),
    [
        (flip, StoreCorrupt, "meta record: is damaged: its checksum"),
        (newer, StoreCorrupt, "meta record: is of format 2; this version of slidewise reads up to 1"),
        (lambda _: b"junk", StoreCorrupt, "meta record: is damaged: not a page"),
        (lambda _: meta.pack({"batch": 7}), SnapshotError, "is not a live window"),
        (lambda _: meta.pack({"batch": 7}, encode_plain([2, "what a newer one writes"])), SnapshotError,
         "is of format 2; this version of slidewise reads up to 1"),
        (lambda _: meta.pack({}, encode_plain([1, [], "{}"])), SnapshotError, "does not fit this version: 'aggregate'"),
        (lambda _: meta.pack({}, encode_plain([1, []])), SnapshotError, "is not a live window"),
        (lambda _: meta.pack({}, b"\xff"), SnapshotError, "is not a live window"),
    ],
)  # fmt: skip
def test_a_damaged_meta_record(change: Callable[[bytes], bytes], kind: type[Exception], message: str) -> None:
    url, again = fresh()
    kept: list[bytes] = []
    damaged(url, META, lambda blob: kept.append(blob) or change(blob))
    for _ in range(2):
        with pytest.raises(kind, match=message):
            again()
    damaged(url, META, lambda _: kept[0])
    with again() as live:  # nothing else was touched, and the claim was given back
        live.evict_many(999)
        assert live.query() == 1499.0


# ---- a full disk ----------------------------------------------------------------------------------------------------
def test_a_full_disk(small_disk: Path) -> None:
    pytest.importorskip("lmdb")
    url = f"disk:{small_disk}/store"
    live = sw.LiveWindow(sw.sum(), sw.trailing(10**9), store=url)
    live.push(1.0)
    live.flush()
    live.close()
    live = sw.LiveWindow.restore(url)
    with pytest.raises(StoreFull, match=f"{url}: the disk or a quota is full"):  # noqa: PT012
        for _ in range(10**6):
            live.insert(1.0)
    reached = live.events
    assert reached > 50_000
    with pytest.raises(StoreFull):
        live.flush()
    live.insert(1.0)
    assert live.query() == live.events == reached + 1
    subprocess.run(["mount", "-o", "remount,size=16m", str(small_disk)], check=True)
    live.flush()
    live.insert(1.0)
    live.close()
    with sw.LiveWindow.restore(url) as live:
        live.evict_many(reached // 2)
        assert live.query() == reached + 2 - reached // 2


def test_relaxed_stores_serve_too(tmp_path: Path) -> None:
    pytest.importorskip("lmdb")
    url = f"disk:{tmp_path}/store?durability=relaxed"
    with sw.LiveWindow(sw.sum(), sw.trailing(1000), store=url) as live:
        live.extend(range(3000))
    with sw.LiveWindow.restore(url) as live:
        assert live.query() == sum(range(2000, 3000))


def test_what_a_store_refuses_to_open(redis_server: Any) -> None:
    with pytest.raises(StoreError, match="there is no store"):
        sw.LiveWindow.restore(f"{redis_server.url}?prefix={uuid.uuid4().hex}")
    with pytest.raises(StoreUnreachable, match=r"127\.0\.0\.1:1/0"):
        sw.LiveWindow(sw.max(), sw.trailing(3), store="redis://127.0.0.1:1/0?patience=0.2")


def test_a_store_that_is_closed_under_a_window() -> None:
    store: Store = stores.open("memory:")
    live = sw.LiveWindow(sw.sum(), sw.trailing(10), store=store)
    live.push(1)
    store.close()
    with pytest.raises(StoreError, match="closed"):
        live.flush()
    live.close(flush=False)
