"""Stores under a window's access pattern: which embedded store, and what Redis costs beside it.

    open       an empty store, with the import of its library, and a full one
    flush      1, 8 or 64 pages and a snapshot of 2 KB, atomically and durably; ns per page
    fill       all pages of a window of 2^25 doubles with its tree, 512 MB, in flushes of 2 MB
    read       23 random pages, a bulk eviction's branch: from memory, and pushed out of the page cache before
    slide      64 new pages, and the 64 oldest deleted as a range: two batches
    drop       half of all pages deleted as one range
    memory     private memory (RssAnon) that the process gained by filling and reading; the file's size

Pages are sealed (checksum) noise of 4 KB and 8 KB (512 nodes of 8 and 16 bytes), 64 KB and 256 KB. Each contestant and
size runs in a process of its own. The floor appends the same bytes to a file and waits for the disk.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import random
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bench.arrays import SEED
from bench.measure import Bar, Report, Timing
from slidewise import store as stores
from slidewise.store import keys
from slidewise.store.pages import seal, unseal

US, PEER, REDIS, FLOOR = "slidewise disk (LMDB)", "RocksDB", "slidewise redis", "floor: append, fdatasync"
PAGE_BYTES = (4096, 8192, 65536, 262144)
WINDOW_BYTES = 2**25 * 8 * 2
BRANCH = 23
SNAPSHOT = bytes(2048)
FLUSH_BYTES = 2 * 2**20
MOST_GROWTH_MB = 64.0
"""Private memory that a window of 2^25 doubles may add (the spec's bound, of which the store is only a part)."""

READ_LIMIT_MS = {US: 1.0, REDIS: 5.0}
"""What a bulk eviction may take; the branch's pages, read warm, must fit in it."""


class WrongPageError(Exception):
    """A contestant returned what was not written."""


class Append:
    """The floor: what is written goes to the end of a file."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND)

    def put_many(self, items: dict[bytes, bytes]) -> None:
        os.writev(self._file, list(items.values()))
        os.fdatasync(self._file)

    def close(self) -> None:
        os.close(self._file)


def opened(who: str, place: str) -> Any:
    """A contestant's store: `place` is a folder, for Redis the server's URL."""
    if who == PEER:
        from bench.rocks import Rocks

        return Rocks(f"{place}/store")
    if who == FLOOR:
        return Append(f"{place}/store")
    return stores.open(place if who == REDIS else f"disk:{place}/store")


@dataclass
class Pages:
    """The pages of a window, made when they are asked for: noise, each different."""

    size: int

    def __post_init__(self) -> None:
        noise = np.random.default_rng(SEED).bytes(2 * 2**20 + self.size)
        self._noise = memoryview(noise)

    def batch(self, first: int, count: int) -> dict[bytes, bytes]:
        made = {keys.page("bench", 0, k): seal(self.payload(k), "nodes") for k in range(first, first + count)}
        return {**made, keys.meta("bench"): SNAPSHOT}

    def payload(self, number: int) -> memoryview:
        at = number * 8 % (2 * 2**20)
        return self._noise[at : at + self.size]


# ---- one contestant, one size, one process --------------------------------------------------------------------------
def measure(
    who: str, size: int, window_bytes: int, place: str
) -> tuple[dict[str, tuple[int, list[float]]], dict[str, float]]:
    """Timings by name: pages per call, seconds of each call; and figures by name."""
    pages, timings, figures = Pages(size), {}, {}
    before = _private_mb()
    spent, store = _timed(lambda: opened(who, place))
    timings["open, empty"] = 1, [spent]
    for count in (1, 8, 64):
        timings[f"flush of {count}"] = count, _flushes(store, pages, range(2**40, 2**40 + 20 * count, count), count)
    if who == FLOOR:
        store.close()
        return timings, figures
    store.delete_range(*keys.page_range("bench", 0, 2**40))
    total, per = window_bytes // size, max(1, FLUSH_BYTES // size)
    taken = _flushes(store, pages, range(0, total, per), per)
    timings["fill"] = total, [sum(taken)]
    figures["fill, MB/s"] = total * size / 2**20 / sum(taken)
    draw = random.Random(SEED)

    def branch() -> list[int]:
        return [draw.randrange(total) for _ in range(min(BRANCH, total))]

    numbers = branch()
    for number, blob in zip(numbers, store.get_many([keys.page("bench", 0, k) for k in numbers]), strict=True):
        if blob is None or unseal(blob, keys.page("bench", 0, number), "nodes", who) != pages.payload(number):
            raise WrongPageError(f"page {number} came back as another")
    timings["read, warm"] = BRANCH, [_read(store, branch()) for _ in range(100)]
    figures["private memory, MB"] = _private_mb() - before
    if who != REDIS:
        figures["file, MB"] = _size_mb(place)
    store.close()
    if who != REDIS:
        _forget(place)
    spent, store = _timed(lambda: opened(who, place))
    timings["open, full"] = 1, [spent]
    if who != REDIS:
        timings["read, cold"] = BRANCH, [_read(store, branch()) for _ in range(20)]
    taken = _flushes(store, pages, range(total, total + 20 * 64, 64), 64)
    for k in range(20):
        gone = keys.page_range("bench", 0, 64 * k, 64 * (k + 1))
        taken[k] += _timed(lambda gone=gone: store.delete_range(*gone))[0]  # type: ignore[misc]
    timings["slide by 64"] = 64, taken
    half = total // 2
    timings["drop half"] = half, [_timed(lambda: store.delete_range(*keys.page_range("bench", 0, 0, half)))[0]]
    store.close()
    return timings, figures


def _flushes(store: Any, pages: Pages, starts: range, count: int) -> list[float]:
    """Seconds of each flush of so many pages; making them is not counted."""
    taken = []
    for first in starts:
        batch = pages.batch(first, count)
        taken.append(_timed(lambda batch=batch: store.put_many(batch))[0])  # type: ignore[misc]
    return taken


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def _read(store: Any, numbers: list[int]) -> float:
    asked = [keys.page("bench", 0, k) for k in numbers]
    return _timed(lambda: store.get_many(asked))[0]


def _private_mb() -> float:
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) / 1024
    return float("nan")


def _files(place: str) -> Iterator[Path]:
    return (path for path in Path(place).rglob("*") if path.is_file())


def _size_mb(place: str) -> float:
    return sum(path.stat().st_blocks * 512 for path in _files(place)) / 2**20


def _forget(place: str) -> None:
    """Push the files out of the page cache, as far as the system follows the advice."""
    os.sync()
    for path in _files(place):
        file = os.open(path, os.O_RDONLY)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(file)


# ---- everything -----------------------------------------------------------------------------------------------------
def run(quick: bool, say: Callable[[str], None]) -> Report:
    """Every contestant on every size of page; `quick` takes a window of 2^20 doubles and two sizes."""
    report = Report("stores", quick, "ns per row", US)
    window = WINDOW_BYTES // 32 if quick else WINDOW_BYTES
    figures: dict[tuple[str, int], dict[str, float]] = {}
    for size in PAGE_BYTES[::2] if quick else PAGE_BYTES:
        for who in (US, PEER, REDIS, FLOOR):
            if who == REDIS and shutil.which("redis-server") is None:
                say("redis-server is not installed: left out")
                continue
            say(f"{who}, pages of {size:,} bytes")
            try:
                timings, figures[who, size] = _in_a_process(who, size, window)
            except WrongPageError as wrong:
                report.timings.append(Timing({"work": "fill", "page": size}, who, window // size, wrong=str(wrong)))
                continue
            for name, (rows, seconds) in timings.items():
                report.timings.append(Timing({"work": name, "page": size}, who, rows, tuple(seconds)))
    _tables(report, figures)
    return report


def _in_a_process(who: str, size: int, window: int) -> Any:
    """Of its own, so that memory is this contestant's; a folder on the disk of the checkout, not on a tmpfs."""
    context = multiprocessing.get_context("spawn")
    with (
        tempfile.TemporaryDirectory(prefix="slidewise-stores-", dir=Path.cwd()) as folder,
        contextlib.ExitStack() as stack,
    ):
        place = stack.enter_context(server(folder)) if who == REDIS else folder
        with ProcessPoolExecutor(1, context) as pool:
            timings, figures = pool.submit(measure, who, size, window, place).result()
        if who == REDIS:
            figures["file, MB"] = _size_mb(folder)
        return timings, figures


@contextlib.contextmanager
def server(folder: str) -> Iterator[str]:
    """A durable Redis server of our own on loopback."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--dir", folder, "--save", ""]
    command += ["--appendonly", "yes", "--appendfsync", "always"]
    with Path(folder, "log").open("wb") as log, subprocess.Popen(command, stdout=log, stderr=log) as server:
        try:
            for _ in range(200):
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                    break
                time.sleep(0.05)
            yield f"redis://127.0.0.1:{port}/0"
        finally:
            server.kill()


def _tables(report: Report, figures: dict[tuple[str, int], dict[str, float]]) -> None:
    rows = [["store", "page, bytes", "fill, MB/s", "private memory, MB", "file, MB"]]
    for (who, size), found in figures.items():
        if not found:
            continue
        memory, file = found["private memory, MB"], found["file, MB"]
        rows.append([who, f"{size:,}", f"{found['fill, MB/s']:,.0f}", f"{memory:,.1f}", f"{file:,.0f}"])
        if who == US:
            what = f"pages of {size:,} bytes: private memory gained by filling and reading, MB"
            report.bars.append(Bar(what, memory, MOST_GROWTH_MB))
        warm = report.find({"work": "read, warm", "page": size}, who)
        if who in READ_LIMIT_MS and warm is not None and warm.nanoseconds is not None:
            what = f"pages of {size:,} bytes: {who}, {BRANCH} random pages, warm, ms"
            report.bars.append(Bar(what, warm.nanoseconds * BRANCH / 1e6, READ_LIMIT_MS[who]))
    report.tables[f"a window's pages, all of them ({'quick' if report.quick else '2^25 doubles with their tree'})"] = (
        rows
    )
