"""The embedded store: full disks, damaged files, maps that grow, forks."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from slidewise import store as stores
from slidewise.errors import StoreCorrupt, StoreError, StoreFull
from slidewise.store import Store, keys

lmdb = pytest.importorskip("lmdb")

from slidewise.store import lmdb_file  # noqa: E402

PAGE = bytes(range(256)) * 64


def batch(k: int) -> dict[bytes, bytes]:
    return {keys.page("w", 0, 2 * k): PAGE, keys.page("w", 0, 2 * k + 1): PAGE, keys.meta("w"): b"%d" % k}


def fill(store: Store) -> int:
    """Write batches until the disk is full; how many were acknowledged."""
    written = []
    with pytest.raises(StoreFull, match=f"{store.url}: the disk or a quota is full"):  # noqa: PT012
        for k in range(1000):
            store.put_many(batch(k))
            written.append(k)
    return len(written)


def holds(store: Store, batches: int) -> None:
    assert store.get_many([keys.meta("w")]) == [b"%d" % (batches - 1)]
    wanted = [(keys.page("w", 0, k), PAGE) for k in range(2 * batches)]
    assert list(store.scan(*keys.page_range("w", 0))) == wanted


def test_a_full_disk_loses_nothing(small_disk: Path) -> None:
    url = f"disk:{small_disk}/store"
    with stores.open(url) as store:
        batches = fill(store)
        assert batches > 10
        holds(store, batches)
    with stores.open(url) as store:  # again, from the file
        holds(store, batches)
        with pytest.raises(StoreFull):
            store.put_many({keys.page("w", 1, k): PAGE for k in range(100)})
        holds(store, batches)
        subprocess.run(["mount", "-o", "remount,size=8m", str(small_disk)], check=True)
        store.put_many(batch(batches))
        holds(store, batches + 1)


def test_a_full_disk_from_the_start(small_disk: Path) -> None:
    (small_disk / "big").write_bytes(bytes(2 * 2**20))
    with pytest.raises(StoreFull, match=f"disk:{small_disk}/store"):
        stores.open(f"disk:{small_disk}/store")


def test_a_limit_on_file_sizes(tmp_path: Path) -> None:
    """The same without root: the process may not make a file larger than 1 MB."""
    program = (
        "import resource, sys; from tests.store.test_disk import *;"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (2**20, 2**20));"
        "store = stores.open(sys.argv[1]); n = fill(store); holds(store, n); sys.stdout.write(str(n))"
    )
    root = Path(__file__).resolve().parents[2]
    env = {**os.environ, "PYTHONPATH": f"{root / 'src'}{os.pathsep}{root}"}
    command = [sys.executable, "-c", program, f"disk:{tmp_path}/store"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=root, env=env)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 10
    with stores.open(f"disk:{tmp_path}/store") as store:
        holds(store, int(done.stdout))


def test_the_map_grows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lmdb_file, "MAP_BYTES", 2**17)
    with stores.open(f"disk:{tmp_path}/store") as store:
        for k in range(150):
            store.put_many(batch(k))
        scan = store.scan(*keys.page_range("w", 0))
        for k in range(150, 200):
            next(scan)  # one under way is no obstacle
            store.put_many(batch(k))
        holds(store, 200)


def test_the_map_grows_under_readers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lmdb_file, "MAP_BYTES", 2**17)
    with stores.open(f"disk:{tmp_path}/store?durability=relaxed") as store, ThreadPoolExecutor(3) as pool:
        store.put_many(batch(0))
        stop = threading.Event()

        def read() -> int:
            rounds = 0
            while not stop.is_set():
                assert store.get_many([keys.page("w", 0, 0)]) == [PAGE]
                rounds += 1
                time.sleep(0.0005)  # or the writer hardly ever gets the interpreter
            return rounds

        readers = [pool.submit(read) for _ in range(3)]
        try:
            for k in range(1, 150):
                store.put_many(batch(k))
        finally:
            stop.set()
        assert all(reader.result(10) > 5 for reader in readers)
        holds(store, 150)


def test_another_process_grows_the_map(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lmdb_file, "MAP_BYTES", 2**17)
    url = f"disk:{tmp_path}/store"
    program = (
        "import sys; from slidewise import store as stores; from slidewise.store import keys;"
        "stores.open(sys.argv[1]).put_many({keys.page('w', 0, k): bytes(range(256)) * 64 for k in range(400)})"
    )
    with stores.open(url) as store:
        store.put_many({keys.meta("w"): b"199"})
        env = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2] / "src")}
        subprocess.run([sys.executable, "-c", program, url], check=True, env=env)
        holds(store, 200)
        store.put_many({keys.meta("w"): b"200"})


def test_two_stores_on_one_path_are_one(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    with stores.open(f"disk:{tmp_path}/store") as one, stores.open(f"lmdb:{tmp_path}/link/store") as other:
        one.put_many({b"w/a/1": b"x"})
        assert other.get_many([b"w/a/1"]) == [b"x"]
        one.close()
        assert other.get_many([b"w/a/1"]) == [b"x"]


def test_a_holder_that_is_gone_is_not_told(tmp_path: Path) -> None:
    """Also one whose process we cannot look for, as in another container: the lock says it."""
    program = (
        "import dataclasses, os, sys; from slidewise import store as stores; from slidewise.store import Holder;"
        "me = Holder.me(); Holder.me = lambda: dataclasses.replace(me, place='another container');"
        "store = stores.open(sys.argv[1]); store.claim(b'w/w/'); sys.stdout.write('claimed'); sys.stdout.flush();"
        "sys.stdin.read(); os._exit(9)"
    )
    url = f"disk:{tmp_path}/store"
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2] / "src")}
    command = [sys.executable, "-c", program, url]
    with stores.open(url) as store:
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env) as process:
            assert process.stdout is not None
            assert process.stdout.read(7) == b"claimed"
            holder = store.holder(b"w/w/")
            assert holder is not None
            assert holder.pid == process.pid
        assert store.holder(b"w/w/") is None
        store.claim(b"w/w/")


def test_a_forked_child_is_told_to_open_its_own(tmp_path: Path) -> None:
    with stores.open(f"disk:{tmp_path}/store") as store:
        child = os.fork()
        if not child:
            told = 1
            try:
                store.get_many([b"w/a/1"])
            except StoreError as error:
                told = 0 if "forked" in str(error) else 2
            store.close()
            os._exit(told)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        store.put_many({b"w/a/1": b"still ours"})


def test_a_file_that_is_no_store(tmp_path: Path) -> None:
    (tmp_path / "data.mdb").write_bytes(b"not a store" * 1000)
    with pytest.raises(StoreCorrupt, match="is damaged, or no store"):
        stores.open(f"disk:{tmp_path}")


def test_a_file_cut_short(tmp_path: Path) -> None:
    with stores.open(f"disk:{tmp_path}/store") as store:
        store.put_many({keys.page("w", 0, k): PAGE for k in range(20)})
    file = tmp_path / "store" / "data.mdb"
    os.truncate(file, file.stat().st_size // 2)
    with pytest.raises(StoreCorrupt, match=r"is damaged: data\.mdb has"):
        stores.open(f"disk:{tmp_path}/store")


def test_a_store_of_a_newer_version(tmp_path: Path) -> None:
    stores.open(f"disk:{tmp_path}/store").close()
    with lmdb.open(str(tmp_path / "store"), max_dbs=2) as env, env.begin(write=True) as txn:
        txn.put(b"format", b"2", db=env.open_db(b"about", txn=txn))
    for _ in range(2):
        with pytest.raises(StoreCorrupt, match="is of format 2; this version of slidewise reads up to 1"):
            stores.open(f"disk:{tmp_path}/store")


def test_a_folder_with_other_things(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(StoreError, match="other things in it"):
        stores.open(f"disk:{tmp_path}")


def test_a_file_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match=f"disk:{tmp_path}/file"):
        stores.open(f"disk:{tmp_path}/file")
    with pytest.raises(StoreError, match=f"disk:{tmp_path}/file/store"):
        stores.open(f"disk:{tmp_path}/file/store")


def test_without_durability(tmp_path: Path) -> None:
    with stores.open(f"disk:{tmp_path}/store?durability=relaxed") as store:
        store.put_many({b"w/a/1": b"x"})
        store.sync()
        with pytest.raises(StoreError, match="without durability"):
            stores.open(f"disk:{tmp_path}/store")
    with stores.open(f"disk:{tmp_path}/store") as store:
        assert store.get_many([b"w/a/1"]) == [b"x"]
