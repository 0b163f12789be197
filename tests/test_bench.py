"""The benchmarks' own parts: peers agree with the definition, reports say who wins, results come with their machine."""

from __future__ import annotations

import importlib
import io
import json
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console

import slidewise as sw
from bench import peers, sharing, sharing_sets, slider_apps, slider_studies, stores, structures
from bench.arrays import TOLERANCE, workload
from bench.measure import Bar, Report, Timing, timed
from bench.report import show
from bench.spark import boxed, flatness, worst
from slidewise.monoids import laws
from slidewise.sharing import FINALS, Query, SharedPlan
from slidewise.store import Store
from slidewise.swag.two_stacks_lite import TwoStacksLite
from tests.catalogue import rare

LIBRARIES = {"pandas": "pandas", "Polars": "polars", "bottleneck": "bottleneck", "DuckDB": "duckdb"}
CASE = {"statistic": "max", "window": 16}


@pytest.mark.parametrize("w", [1, 2, 16, 999, 1000, 5000])
@pytest.mark.parametrize("statistic", peers.STATISTICS)
@pytest.mark.parametrize("peer", peers.PEERS, ids=lambda peer: peer.name)
def test_every_peer_gives_what_the_definition_gives(peer: peers.Peer, statistic: str, w: int) -> None:
    pytest.importorskip(LIBRARIES.get(peer.name, "numpy"))
    if statistic not in peer.statistics:
        return
    values = workload(1000)
    answers = peer.run(peer.prepare(values), statistic, w)
    assert peers.largest_error(answers, values, statistic, w, np.arange(1000)) <= TOLERANCE


def test_a_wrong_answer_is_found() -> None:
    values = workload(100)
    answers = np.maximum.accumulate(values)
    assert peers.largest_error(answers, values, "max", 10, np.arange(100)) > TOLERANCE
    assert peers.largest_error(answers[1:], values, "max", 10, np.arange(99)) == float("inf")
    assert peers.largest_error(np.full(100, np.nan), values, "max", 10, np.arange(100)) == float("inf")


@pytest.mark.parametrize("name", [name if name in ("sum", "max") else rare(name) for name in structures.SUBJECTS])
def test_the_structures_aggregates_keep_their_laws(name: str) -> None:
    subject = structures.SUBJECTS[name]
    laws.check(subject.monoid, [1.5, 2.0, 2.0, 7.25])
    window = structures.window_of("two_stacks_lite", subject)
    assert window is not None
    assert window._ops.compiled == subject.compiles


@pytest.mark.parametrize("algorithm", ["daba", "recalculate", "foa", "subtract_on_evict"])
def test_a_structure_is_checked_and_timed(algorithm: str) -> None:
    timing = structures.throughput(algorithm, structures.SUBJECTS["max"], 8, 200, 2)
    if algorithm == "subtract_on_evict":
        assert timing is None  # max has no inverse
    else:
        assert timing is not None
        assert not timing.wrong
        assert len(timing.seconds) == 2


def test_a_structure_that_errs_is_not_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    summing = structures.Subject("sum", structures.SUBJECTS["sum"].monoid, compiles=False)
    monkeypatch.setattr(TwoStacksLite, "_answers", lambda self, outs, ok: [0.0] * len(ok))
    timing = structures.throughput("two_stacks_lite", summing, 8, 200, 2)
    assert timing is not None
    assert timing.wrong
    assert not timing.seconds


def test_break_even_is_where_a_structure_stays_ahead() -> None:
    assert structures.break_even("subtract_on_evict", structures.SUBJECTS["max"], [4]) == "refused"
    assert structures.break_even("ioa", structures.SUBJECTS["sum"], [1, 2]) == "never"  # objects against machine code
    assert structures.break_even("two_stacks_lite", structures.SUBJECTS["sum"], [512]) == "512"


def test_latencies_are_of_single_rounds() -> None:
    window = structures.window_of("two_stacks_lite", structures.SUBJECTS["sum"])
    assert window is not None
    one, least = structures.latencies(window, 256, 600, 3)
    assert len(one) == len(least) == 600
    assert (least <= one).all()
    assert len(window) == 256


def test_all_ranges_are_answered() -> None:
    timing = structures.multi_query("flatfit", 16, 64, 1)
    assert timing.rows == 64
    assert timing.nanoseconds is not None


def test_workloads_are_frozen() -> None:
    assert np.array_equal(workload(1000), workload(1000))
    assert workload(3).tolist() == pytest.approx(workload(1000)[:3].tolist())


def test_the_places_to_check_are_inside() -> None:
    for rows, w in [(1, 1), (5, 100), (100, 5)]:
        places = peers.places_to_check(rows, w, 10, seed=1)
        assert places.min() >= 0
        assert places.max() < rows


def report() -> Report:
    made = Report("arrays", True, "ns per row", "us")
    made.timings = [
        Timing(CASE, "us", 1000, (0.002, 0.001, 0.003)),
        Timing(CASE, "fast", 1000, (0.001,)),
        Timing(CASE, "liar", 1000, wrong="answers differ"),
        Timing(CASE, "floor: copy", 1000, (0.0001,), note="a floor"),
    ]
    made.bars = [Bar("kept", 1.0, 1.5), Bar("broken", 10.0, 50.0, at_most=False)]
    return made


def test_ratios_are_of_medians() -> None:
    assert report().ratio(CASE, "fast", "us") == pytest.approx(0.5)
    assert report().ratio(CASE, "liar", "us") is None


def test_the_screen_says_who_wins_who_is_wrong_and_what_is_missed() -> None:
    console = Console(file=io.StringIO(), width=200)
    show(report(), console)
    assert isinstance(console.file, io.StringIO)
    said = console.file.getvalue()
    assert "peer wins" in said
    assert "liar: answers differ; not timed" in said
    assert "missed    broken: 10.00, bar ≥ 50" in said
    assert "met       kept: 1.00, bar ≤ 1.5" in said
    assert "1 of 2 bars" in said
    assert "floor: copy takes" not in said


def test_results_are_stored_with_commit_and_machine(tmp_path: Path) -> None:
    report().write(tmp_path / "deep" / "arrays.json")
    stored = json.loads((tmp_path / "deep" / "arrays.json").read_text(encoding="utf-8"))
    assert {"commit", "machine", "when", "quick", "timings", "bars"} <= set(stored)
    assert stored["machine"]["cores"] >= 1
    assert stored["timings"][0]["ns_per_row"] == pytest.approx(2000.0)


def test_results_can_be_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    plot = importlib.import_module("bench.plot")
    report().write(tmp_path / "arrays.json")
    plot.draw(json.loads((tmp_path / "arrays.json").read_text(encoding="utf-8")), tmp_path / "arrays.png")
    assert (tmp_path / "arrays.png").read_bytes().startswith(b"\x89PNG")


def test_flat_compares_windows_within_a_group() -> None:
    made = Report("arrays", True, "ns per row", "us")
    for statistic, w, taken in [("max", 1, 1.0), ("max", 2, 1.2), ("sum", 1, 5.0)]:
        made.timings.append(Timing({"statistic": statistic, "window": w}, "us", 1, (taken,)))
    made.flat("us", "window", 1.5)
    assert [round(bar.measured, 3) for bar in made.bars] == [1.2, 1.0]


def test_a_time_box_holds_but_for_the_first_call() -> None:
    assert len(boxed(lambda: None, 10.0, most=3)) == 3
    assert len(boxed(lambda: time.sleep(0.02), 0.01)) == 1


def test_the_worst_case_makes_the_bar() -> None:
    found = {"a": 3.0, "b": 1.0, "c": None}
    (least,) = worst("times as fast", found, 2.0, at_most=False)
    assert (least.what, least.measured, least.met) == ("times as fast; worst: b", 1.0, False)
    (most,) = worst("time through the floor's", found, 2.0, at_most=True)
    assert (most.what, most.measured, most.met) == ("time through the floor's; worst: a", 3.0, False)
    assert worst("nothing", {"c": None}, 2.0, at_most=True) == []


def test_flatness_is_of_groups_with_more_than_one_window() -> None:
    made = Report("spark_batch", True, "thousand rows/s", "us")
    for keys, w, taken in [(4, 1, 1.0), (4, 2, 1.2), (5, 1, 5.0)]:
        made.timings.append(Timing({"keys": keys, "window": w}, "us", 1, (taken,)))
    assert flatness(made, "us") == {"keys 4": pytest.approx(1.2)}


def test_one_call_is_not_counted() -> None:
    calls: list[int] = []
    assert len(timed(lambda: calls.append(1), 3)) == 3
    assert len(calls) == 4


def test_a_store_is_checked_and_timed(tmp_path: Path) -> None:
    pytest.importorskip("lmdb")
    timings, figures = stores.measure(stores.US, 4096, 2**20, str(tmp_path))
    assert {"open, empty", "flush of 64", "fill", "read, warm", "read, cold", "slide by 64", "drop half"} <= set(
        timings
    )
    assert timings["fill"][0] == 256
    assert all(seconds and min(seconds) > 0 for _, seconds in timings.values())
    assert figures["file, MB"] > 1


def test_a_store_that_errs_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("lmdb")
    right = Store.get_many
    monkeypatch.setattr(Store, "get_many", lambda self, keys: right(self, keys)[::-1])
    with pytest.raises(stores.WrongPageError, match="came back as another"):
        stores.measure(stores.US, 4096, 2**18, str(tmp_path))


@pytest.mark.slow
def test_shared_plans_are_timed_and_weighed() -> None:
    plan = SharedPlan([Query(sharing.MAX, count) for count in (1, 2, 3)])
    for final in FINALS:
        sharing.loop_of(final, plan, workload(20))()
    rows = sharing.memory_table((8, 9))
    assert [row[0] for row in rows] == ["final aggregator", *FINALS, "naive"]
    assert rows[1][1:] == ["16.0", "16.0"]  # FlatFIT: a double and a pointer, and no power of two
    apart = [sharing_table(window) for window in sharing_sets.windows().values()]
    assert sharing_sets.differ(sharing_table(), apart) == ""
    assert "differs" in sharing_sets.differ(sharing_table(), apart[::-1])


def sharing_table(window: object = None) -> pa.Table:
    table = sharing_sets.events(300, 3)
    return sw.slide(table, sharing_sets.aggregates(), window or sharing_sets.windows(), by="key", order="ts")


@pytest.mark.slow
def test_the_figures_of_shared_plans_are_measured_said_and_drawn(tmp_path: Path) -> None:
    """Everything but the stream, small: peers and the naive loop are checked, and a peer that wins is said."""
    found = Report("sharing", True, "ns per row", sharing.US)
    for size in (4, 1000):
        sharing._one_query(found, size, 2000, 1)
        sharing._all_ranges(found, size, 1)
    sharing._ratios(found)
    found.tables[sharing.FIGURE_16] = sharing.memory_table((8, 9))
    sharing_sets.realistic(found, 2000, 10, 1)
    sharing_sets.dashboard(found, 5000, 10, 1)
    assert [timing.wrong for timing in found.timings if timing.wrong] == []
    assert {"naive", sharing_sets.POLARS} <= {timing.who for timing in found.timings}
    found.timings = [
        Timing(t.case, t.who, t.rows, (1e-9,)) if t.who == "naive" and t.case["window"] == 4 else t
        for t in found.timings
    ]
    console = Console(file=io.StringIO(), width=400)
    show(found, console)
    assert "peer wins 002 figure 13, one query, window 4: naive takes" in console.file.getvalue()  # type: ignore[attr-defined]
    pytest.importorskip("matplotlib")
    plot = importlib.import_module("bench.plot_sharing")
    found.write(tmp_path / "sharing.json")
    plot.draw_sharing(json.loads((tmp_path / "sharing.json").read_text(encoding="utf-8")), tmp_path / "sharing.png")
    assert (tmp_path / "sharing.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("app", slider_apps.APPS, ids=lambda app: app.name)
def test_the_splits_of_slider_are_frozen(app: slider_apps.App, tmp_path: Path) -> None:
    for name in ("one", "again"):
        app.write(tmp_path / name, 3, 40)
    assert pq.read_table(tmp_path / "one").equals(pq.read_table(tmp_path / "again"))
    assert pq.read_table(tmp_path / "one").num_rows == 40


def test_the_monoids_of_slider_keep_their_laws() -> None:
    laws.check(slider_studies.PROPAGATION, [(1, 5), (2, 3), (1, 2)])
    laws.check(slider_apps.NEIGHBOURS, [((0.5, 0.25), (1, 2)), ((0.125,), (3,)), ((0.75,), (4,))])
    laws.check(slider_apps.CENTROID, [(1, (0.5, 1.0)), (2, (0.25, 0.5)), (1, (2.0, 4.0))])
