"""Live windows in a store answer as those in memory do: every kind of window, of value, of store, across restores."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

import slidewise as sw
from slidewise import store as stores
from slidewise.engine.stored import StoredState
from slidewise.engine.times import FarTimes
from slidewise.errors import ArgumentError
from slidewise.store import keys
from slidewise.store.inspect import inspect
from slidewise.swag.paged_amta import PAGE, PagedAmta
from tests.catalogue import rare
from tests.engine.streams import ENDS, KINDS, LONGEST, RUN, WINDOWS, Stream, close_to, stream
from tests.store.servers import Cluster

pytestmark = pytest.mark.usefixtures("small_rings")
EVENTS = 2400


def slow(name: str) -> object:
    """A case for the slow run only."""
    return pytest.param(name, marks=pytest.mark.slow)


def memory() -> str:
    return f"memory:{uuid.uuid4().hex}"


def structure_of(live: sw.LiveWindow) -> PagedAmta:
    structure = live._structure
    assert isinstance(structure, PagedAmta)
    return structure


def alike(
    aggregate: sw.Aggregate, window: sw.Window, events: Stream, url: str, restores: tuple[int, ...] = ()
) -> sw.LiveWindow:
    """Push all events into a window in a store and into one in memory, coming back to the store now and then."""
    near = sw.LiveWindow(aggregate, window)
    live = sw.LiveWindow(aggregate, window, store=url)
    for k, value in enumerate(events.values):
        if k in restores:
            live.close()
            live = sw.LiveWindow.restore(url, aggregate, window)
            assert live.events == k
        time = events.time(window, k)
        got, expected = live.push(value, time), near.push(value, time)
        assert close_to(got, expected), (k, got, expected)
        assert len(live) == len(near), k
    return live


@pytest.mark.parametrize("name", WINDOWS)
def test_every_window(name: str) -> None:
    live = alike(sw.sum(), WINDOWS[name], stream("float", EVENTS), memory(), restores=(1, 700, 2201))
    live.close()


@pytest.mark.parametrize("name", ["rows", slow("time"), "policy", slow("session")])
def test_every_window_of_objects(name: str) -> None:
    alike(ENDS, WINDOWS[name], stream("string", EVENTS), memory(), restores=(513, 2400)).close()


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_value(kind: str) -> None:
    aggregate = sw.max() if kind not in ("bool", "big int") else ENDS
    alike(aggregate, WINDOWS["rows"], stream(kind, EVENTS), memory(), restores=(2222,)).close()


@pytest.mark.parametrize("aggregate", [ENDS, RUN, LONGEST], ids=lambda one: one.source.name)
def test_own_aggregates(aggregate: sw.Aggregate) -> None:
    alike(aggregate, WINDOWS["rows"], stream("int", EVENTS, nulls=0.3), memory(), restores=(100, 2222)).close()


BIG = pytest.mark.slow  # partials of thousands of numbers each


@pytest.mark.parametrize(
    "aggregate",
    [sw.count(), sw.argmax(), sw.median(), sw.count_distinct(), sw.last_n(3), sw.sum().where(">", 0.1),
     sw.time_weighted_mean(), sw.concat(), rare(sw.stddev()), pytest.param(sw.approx_distinct(), marks=BIG),
     pytest.param(sw.quantile(0.9), marks=BIG), pytest.param(sw.collect_distinct(), marks=BIG)],
    ids=lambda one: one.source.name,
)  # fmt: skip
def test_aggregates_of_every_sort(aggregate: sw.Aggregate) -> None:
    kind = "string" if aggregate.source.name == "concat" else "float"
    window = sw.trailing("2 min") if aggregate.source.name == "time_weighted_mean" else sw.trailing(600)
    alike(aggregate, window, stream(kind, 1300), memory(), restores=(600, 1200)).close()


def test_every_store(url: str) -> None:
    alike(sw.max(), WINDOWS["time"], stream("float", EVENTS), url, restores=(1000, 2500)).close()


@pytest.mark.slow
def test_a_cluster(tmp_path: Path) -> None:
    pytest.importorskip("redis")
    cluster = Cluster(tmp_path)
    try:
        for name in ("time", "policy"):
            url = f"{cluster.url}?prefix={name}"
            alike(sw.sum(), WINDOWS[name], stream("float", EVENTS), url, restores=(1000, 2500)).close()
    finally:
        cluster.kill()


def test_a_process_that_forgets_to_close_ends(url: str) -> None:
    if url.startswith("memory:"):
        pytest.skip("a store of this process alone")
    program = (
        "import sys, slidewise as sw; live = sw.LiveWindow(sw.sum(), sw.trailing(5000), store=sys.argv[1]);"
        "live.extend([1.0] * 3000); live.flush(); live.extend([1.0] * 3000)"
    )
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2] / "src")}
    done = subprocess.run([sys.executable, "-c", program, url], check=False, env=env, capture_output=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, b"")
    with sw.LiveWindow.restore(url) as live:
        assert (live.query(), live.events) == (3000.0, 3000)


def test_a_policy_whose_uses_have_a_codec() -> None:
    window = sw.evict_while(lambda total, old: total.run[2] - old.run[2] >= 1700, uses={"run": RUN})
    alike(RUN, window, stream("int", 2600), memory(), restores=(2222,)).close()


def test_inserts_and_evictions_by_hand() -> None:
    near, url = sw.LiveWindow(ENDS, sw.trailing(10)), memory()
    live = sw.LiveWindow(ENDS, sw.trailing(10), store=url)
    for k in range(5000):
        live.insert(k)
        near.insert(k)
    for n in (1, 700, 0, 2000, 1):
        live.evict_many(n)
        near.evict_many(n)
        assert live.query() == near.query()
    live.evict()
    near.evict()
    live.check()
    assert (live.query(), len(live), live.events) == (near.query(), len(near), 5000)
    with pytest.raises(IndexError, match="evict_many"):
        live.evict_many(5000)
    assert live.push(1) == near.push(1)
    live.close()


# ---- restoring ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["rows before", "time", "policy", slow("adwin"), slow("session")])
def test_what_was_not_flushed_is_gone_and_nothing_else(name: str) -> None:
    """Answers as at the last flush, with pages in the store that are newer; then the same events come again."""
    window, url, events = WINDOWS[name], memory(), stream("float", 5000)
    live, near = sw.LiveWindow(sw.sum(), window, store=url), sw.LiveWindow(sw.sum(), window)
    for k in range(3000):
        live.push(events.values[k], events.time(window, k))
        near.push(events.values[k], events.time(window, k))
    live.flush()
    answer, size = live.query(), len(live)
    for k in range(3000, 4500):  # other events than those that come after the restore
        live.push(-1.0, events.time(window, k))
    live.close(flush=False)
    live = sw.LiveWindow.restore(url, window=window if name == "policy" else None)
    assert (live.query(), len(live), live.events) == (answer, size, 3000)
    for k in range(3000, 5000):
        time = events.time(window, k)
        assert close_to(live.push(events.values[k], time), near.push(events.values[k], time)), k
    live.check()
    live.close()


def test_restored_by_a_store_and_by_its_url(url: str) -> None:
    with stores.open(url) as store:
        with sw.LiveWindow(sw.sum(), sw.trailing(3), store=store) as live:
            live.extend([1, 2, 3])
        with sw.LiveWindow.restore(store) as live:
            assert live.push(4) == 9
        assert store.get_many([keys.meta("live")])[0]  # a store that was handed in stays open
    if not url.startswith("memory:"):
        with sw.LiveWindow.restore(url) as live:
            assert live.push(5) == 12


def test_nothing_but_nulls_yet() -> None:
    for window in (WINDOWS["rows"], WINDOWS["time"], WINDOWS["policy"]):
        url = memory()
        alike(sw.sum(), window, Stream([None] * 600 + [1, 2], list(range(602)), []), url, restores=(300, 600)).close()


def test_a_window_without_events() -> None:
    url = memory()
    sw.LiveWindow(sw.max(), sw.trailing("5 s"), store=url).close()
    with sw.LiveWindow.restore(url) as live:
        assert (len(live), live.query(), live.events) == (0, None, 0)
        assert live.push(1.5, 0) == 1.5


def test_several_windows_in_one_store(url: str) -> None:
    with stores.open(url) as store:
        names = ["a", "b/c", "ä b", "live"]
        windows = {name: sw.LiveWindow(sw.sum(), sw.trailing(700 + k), store=store, name=name)
                   for k, name in enumerate(names)}  # fmt: skip
        for live in windows.values():
            live.extend(range(3000))
            live.close()
        assert [one.name for one in inspect(store)] == sorted(names, key=lambda name: keys.prefix(name))
        for k, name in enumerate(names):
            with sw.LiveWindow.restore(store, name=name) as live:
                assert live.push(0) == sum(range(3000 - 699 - k, 3000))


def test_flush_says_what_inspect_shows(url: str) -> None:
    live = sw.LiveWindow(sw.max(), sw.trailing("1 h"), store=url, name="power")
    live.extend([float(k % 100) for k in range(3000)], range(0, 3000 * 10**9, 10**9))
    live.flush()
    live.flush()
    with stores.open(url, durable=False) as store:
        (one,) = inspect(store)
        assert one.name == "power"
        assert one.problem == ""
        assert one.writer is not None
        assert one.meta["elements"] == 3000
        assert one.meta["generation"] == 2
        assert one.meta["window"] == repr(sw.trailing("1 h"))
        assert one.meta["aggregate"] == repr(sw.max())
        assert one.meta["updated"].endswith("+00:00")
        found = {level: pages for level, pages in enumerate(one.meta["levels"]) if pages[1] > pages[0]}
        assert {level: last - first for level, (first, last) in found.items()} == one.levels
        assert one.levels[0] == one.levels[64] == 3000 // PAGE
    live.close()


def test_the_command_line_shows_it(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from slidewise.cli import app

    pytest.importorskip("lmdb")
    url = f"disk:{tmp_path}/store"
    with sw.LiveWindow(sw.max(), sw.trailing(1000), store=url, name="power") as live:
        live.extend([float(k) for k in range(1500)])
    shown = json.loads(CliRunner().invoke(app, ["store", "inspect", url, "--json"]).stdout)
    (one,) = shown["windows"]
    assert one["name"] == "power"
    assert one["meta"]["elements"] == 1000


def test_a_snapshot_is_small_and_is_what_is_in_the_store() -> None:
    url = memory()
    with sw.LiveWindow(sw.sum(), sw.trailing(10**6), store=url) as live:
        live.extend([0.5] * 3000)
        blob = live.snapshot()
        live.extend([0.5] * 5000)
        last = live.snapshot()
        assert len(last) < 2 * len(blob) + 1000
        with stores.open(url) as store:
            assert store.get_many([keys.meta("live")]) == [last]
        with pytest.raises(sw.errors.SnapshotError):
            sw.LiveWindow.restore(blob)
    near = sw.LiveWindow(sw.sum(), sw.trailing(2))
    near.flush()  # nothing to do
    near.close()
    assert near.push(1) == 1


def test_explain_says_where_it_is() -> None:
    with sw.LiveWindow(sw.max(), sw.trailing(5), store=memory(), kind="float") as live:
        assert "by amta: it keeps its events in a store" in live.explain()


def test_numbers_are_stored_raw_and_other_values_by_their_codec() -> None:
    for kind, expected in (("float", "numbers"), ("int", "objects"), ("string", "objects")):
        url = memory()
        with sw.LiveWindow(sw.max(), sw.trailing(3000), store=url) as live:
            live.extend([KINDS[kind](k / 1000) for k in range(1000)])
            live.flush()
            with stores.open(url) as store:
                (page,) = store.get_many([keys.page("live", 0, 0)])
                assert page is not None
                assert page[8:16].rstrip(b"\0").decode() == expected


# ---- pages ----------------------------------------------------------------------------------------------------------
def pages_in(url: str) -> dict[int, int]:
    with stores.open(url) as store:
        return next((one.levels for one in inspect(store)), {})


def fits(live: sw.LiveWindow, url: str) -> None:
    """The store has the pages that the window reaches into, and no other."""
    needed: dict[int, int] = {}
    stored = live._stored
    assert isinstance(stored, StoredState)
    for level, structure in stored._structures.items():
        head, tail = structure.register(2), structure.register(3)
        for k in range(64):
            nodes = ((tail + 1) >> k) - 1
            count = max(0, nodes // PAGE - (head >> k) // PAGE)
            if count and (head >> k) < nodes:
                needed[level + k] = count
    found = pages_in(url)
    for level, count in found.items():
        assert count <= needed.get(level, 0), level
    for level, count in needed.items():
        assert found.get(level, 0) == count, level


@pytest.mark.parametrize("name", [slow("rows"), "time", slow("policy")])
def test_the_store_holds_what_the_window_needs(name: str) -> None:
    window, url, events, most = WINDOWS[name], memory(), stream("float", 7500), 0
    live = sw.LiveWindow(sw.sum(), window, store=url)
    for k, value in enumerate(events.values):
        live.push(value, events.time(window, k))
        if k % 1000 == 999:
            live.flush()
            assert live._stored is not None
            live._stored.finish()
            fits(live, url)
            most = max(most, sum(pages_in(url).values()))
        if k % 2500 == 2499:
            live.close(flush=k % 5000 == 4999)
            live = sw.LiveWindow.restore(url, window=window)
            for again in range(live.events, k + 1):
                live.push(events.values[again], events.time(window, again))
    live.close()
    assert most >= 4


def test_pages_of_a_killed_run_are_swept(url: str) -> None:
    """Pages that were written after the last flush, of levels that the meta record does not know too."""
    live = sw.LiveWindow(sw.sum(), sw.trailing(10**6), store=url)
    live.extend([1.0] * 700)
    live.flush()
    before = pages_in(url)
    for _ in range(8):
        live.extend([1.0] * 1000)
    assert live._stored is not None
    live._stored._writer.idle()
    assert sum(pages_in(url).values()) > sum(before.values()) + 15
    live.close(flush=False)
    live = sw.LiveWindow.restore(url)
    assert pages_in(url) == before
    assert live.query() == 700
    live.close()


def test_pages_of_a_run_killed_before_its_first_flush_are_swept(url: str) -> None:
    live = sw.LiveWindow(sw.sum(), sw.trailing(10**6), store=url)
    live.extend([1.0] * 3000)
    assert live._stored is not None
    live._stored._writer.idle()
    live.close(flush=False)
    assert pages_in(url)
    live = sw.LiveWindow(sw.sum(), sw.trailing(10), store=url)
    assert not pages_in(url)
    live.close()


# ---- page visits ----------------------------------------------------------------------------------------------------
def test_eviction_by_time_looks_at_few_pages() -> None:
    live = sw.LiveWindow(sw.max(), sw.trailing("1000000 s"), store=memory())
    n = 30_000
    for k in range(n):
        live.insert(float(k), k * 10**9)
    times = live._times
    assert isinstance(times, FarTimes)
    structures = [structure_of(live), times._structure]
    before = [one.reads for one in structures]
    assert live.push(1.0, (10**6 + 22_678) * 10**9) == float(n - 1)
    assert len(live) == n - 22_678
    levels = math.ceil(math.log2(n))
    for one, reads in zip(structures, before, strict=True):
        assert one.reads - reads <= 3 * levels
    reads = [one.reads for one in structures]
    for k in range(1000):
        live.push(1.0, (10**6 + 22_679 + k) * 10**9)
    for one, already in zip(structures, reads, strict=True):
        assert one.reads - already <= 2 * 1000 // PAGE + 2 * levels
    live.close()


def test_bulk_evictions_look_at_few_pages() -> None:
    live = sw.LiveWindow(sw.max(), sw.trailing(10**6), store=memory())
    for k in range(30_000):
        live.insert(float(-k))
    structure = structure_of(live)
    for gone in (10_000, 1, 7_000, 12_000):
        reads = structure.reads
        live.evict_many(gone)
        live.query()
        assert structure.reads - reads <= 2 * 16
    live.close()


def test_times_that_do_not_fit() -> None:
    import datetime as dt

    live = sw.LiveWindow(sw.max(), sw.trailing("1 d"), store=memory())
    with pytest.raises(ArgumentError, match=r"time=.*3000.*: expected a time from 1677 to 2262"):
        live.push(1.0, dt.datetime(3000, 1, 1))
    assert live.push(1.0, dt.datetime(2200, 1, 1)) == 1.0
    live.close()


@pytest.mark.parametrize("place", [math.inf, -math.inf, 2**70, -(2.0**63), 10**300])
def test_places_of_any_size(place: float) -> None:
    window = sw.trailing(5, along="order")
    near, live = sw.LiveWindow(sw.count(), window), sw.LiveWindow(sw.count(), window, store=memory())
    for at in sorted([place, -(2.0**64), -(2**63), 0, 3, 6, 2**71]):
        assert live.push(1, at) == near.push(1, at)
    live.close()
