"""The generated stream is what its docstring says: rates, gaps, faults, late events, and the same bytes every time."""

from __future__ import annotations

import hashlib
import subprocess
import sys

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from slidewise import datasets
from slidewise.errors import ArgumentError

SLOT = 20.0


def micros(events: pa.Table, column: str) -> npt.NDArray[np.int64]:
    return events[column].cast(pa.int64()).to_numpy()


def digest(events: pa.Table) -> str:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, events.schema) as writer:
        writer.write_table(events)
    return hashlib.sha256(sink.getvalue()).hexdigest()


def of(events: pa.Table, machine: str) -> pa.Table:
    return events.filter(pc.equal(events["machine"], machine)).sort_by("ts")


def test_same_seed_same_bytes_in_another_process() -> None:
    here = digest(datasets.factory(machines=2, seconds=25, seed=3))
    code = (
        "import hashlib, pyarrow as pa\n"
        "from slidewise import datasets\n"
        "t = datasets.factory(machines=2, seconds=25, seed=3)\n"
        "s = pa.BufferOutputStream()\n"
        "w = pa.ipc.new_stream(s, t.schema); w.write_table(t); w.close()\n"
        "print(hashlib.sha256(s.getvalue()).hexdigest())"
    )
    there = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    assert here == there


def test_another_seed_another_stream() -> None:
    assert digest(datasets.factory(seconds=5, seed=1)) != digest(datasets.factory(seconds=5, seed=2))


def test_a_machine_does_not_depend_on_the_others() -> None:
    alone = of(datasets.factory(machines=1, seconds=30), "press-1")
    among = of(datasets.factory(machines=5, seconds=30), "press-1")
    assert alone.equals(among)


def test_schema_and_names() -> None:
    events = datasets.factory(machines=5, seconds=2)
    assert events.schema.equals(datasets.SCHEMA)
    assert set(events["machine"].to_pylist()) == {"press-1", "mill-2", "oven-3", "pump-4", "press-5"}
    assert set(events["valves"].to_pylist()) <= set(range(16))
    for column in ("ts", "arrived", "machine", "valves", "dosing", "fault"):
        assert events[column].null_count == 0, column


@pytest.mark.parametrize("rate", [10, 100, 1000, 2.5])
def test_rate_and_jitter(rate: float) -> None:
    ts = micros(of(datasets.factory(machines=1, seconds=40, rate=rate), "press-1"), "ts") - datasets.START
    period = 1e6 / rate
    tick = ts // period
    assert (np.diff(ts) > 0).all()
    assert len(np.unique(tick)) == len(ts), "one event per tick"
    assert ((ts - tick * period) <= 0.4 * period + 1).all()
    assert ts.min() >= 0
    assert ts.max() < 40e6


def test_a_quiet_machine_is_a_gap_not_nulls() -> None:
    #  mill-2 starts its turns with "quiet":   |~~~~~      ~~~~~|
    ts = micros(of(datasets.factory(machines=2, seconds=SLOT), "mill-2"), "ts")
    gaps = np.diff(ts)
    assert (gaps > 1e6).sum() == 1
    assert 0.15 * SLOT <= gaps.max() / 1e6 <= 0.35 * SLOT + 0.02
    assert gaps.max() > 50 * np.median(gaps)


def test_rows_arrive_in_order_and_late_ones_within_the_delay() -> None:
    events = datasets.factory(machines=3, seconds=120, late_share=0.05, max_delay="750 ms")
    arrived, delay = micros(events, "arrived"), micros(events, "arrived") - micros(events, "ts")
    assert (np.diff(arrived) >= 0).all()
    assert delay.min() == 0
    assert delay.max() < 750_000
    assert (delay > 0).mean() == pytest.approx(0.05, abs=0.01)


def test_a_watermark_of_the_delay_loses_nothing() -> None:
    ts = micros(datasets.factory(seconds=60, late_share=0.3, max_delay="2 s"), "ts")
    newest_before = np.maximum.accumulate(ts)
    assert (ts > newest_before - 2_000_000).all()
    assert (ts < newest_before).any(), "some really are out of order"


def test_no_late_events_means_event_time_order() -> None:
    events = datasets.factory(seconds=10, late_share=0)
    assert events["ts"].equals(events["arrived"])
    assert (np.diff(micros(events, "ts")) >= 0).all()


def test_nulls() -> None:
    events = datasets.factory(machines=2, seconds=100, null_share=0.01)
    for column in ("power_a", "power_b", "power_c"):
        assert events[column].null_count / events.num_rows == pytest.approx(0.01, abs=0.004)
    assert datasets.factory(seconds=5, null_share=0)["power_a"].null_count == 0
    assert datasets.factory(seconds=5, null_share=1)["power_a"].null_count == datasets.factory(seconds=5).num_rows


def test_every_kind_of_fault_shows_in_the_readings() -> None:
    events = of(datasets.factory(machines=1, seconds=4 * SLOT, null_share=0), "press-1")
    fault, power = events["fault"].to_numpy(), events["power_a"].to_numpy()
    assert set(np.unique(fault)) == {0, 1, 2, 3}
    by_name = {name: power[fault == code] for code, name in enumerate(datasets.FAULTS)}
    assert by_name["surge"].max() > 1.2 * by_name["none"].max()
    assert by_name["dropout"].max() < 0.2 < by_name["none"].min()
    assert len(np.unique(by_name["stuck"])) == 1
    for name in ("surge", "dropout", "stuck"):
        share = len(by_name[name]) / 100
        assert 0.15 * SLOT - 0.05 <= share <= 0.35 * SLOT + 0.05, name


def test_machines_start_with_different_episodes() -> None:
    events = datasets.factory(machines=4, seconds=SLOT)
    kinds = [set(of(events, m)["fault"].to_pylist()) - {0} for m in ("press-1", "mill-2", "oven-3", "pump-4")]
    assert kinds == [{1}, set(), {3}, {2}]


@pytest.mark.parametrize("seconds", [0.004, 0.5, 1, 19.9])
def test_short_streams(seconds: float) -> None:
    events = datasets.factory(machines=2, seconds=seconds)
    assert events.num_rows <= 2 * seconds * 100
    assert events.schema.equals(datasets.SCHEMA)


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("machines", 0),
        ("machines", -1),
        ("machines", 2.0),
        ("machines", True),
        ("seconds", 0),
        ("seconds", float("nan")),
        ("seconds", float("inf")),
        ("seconds", "60"),
        ("rate", 0),
        ("rate", 100_001),
        ("rate", None),
        ("seed", -1),
        ("seed", "x"),
        ("late_share", -0.1),
        ("late_share", 1.1),
        ("late_share", float("nan")),
        ("null_share", 2),
        ("max_delay", "2 parsecs"),
        ("max_delay", "0 s"),
        ("max_delay", "-1 s"),
        ("max_delay", 2),
        ("max_delay", "99999999999 min"),
    ],
)
def test_bad_arguments_are_named(argument: str, value: object) -> None:
    with pytest.raises(ArgumentError) as caught:
        datasets.factory(**{argument: value})  # type: ignore[arg-type]
    message = str(caught.value)
    assert argument in message
    assert repr(value) in message
    assert "\n" not in message


def test_too_many_rows_are_refused_before_memory_is() -> None:
    with pytest.raises(ArgumentError, match=r"at most 1,000,000,000 rows"):
        datasets.factory(machines=1000, seconds=1e9)
