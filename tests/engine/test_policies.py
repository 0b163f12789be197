"""Slide policies on every container, in pieces, event by event: the windows that asking about every prefix gives."""

from __future__ import annotations

import itertools
import math
import random
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import slidewise as sw
from slidewise.engine.answers import answers_to_arrow
from slidewise.engine.carry import Carry
from slidewise.engine.plan import make_plan
from slidewise.engine.policies import PIECE, Enforcer
from slidewise.engine.runs import Runs
from slidewise.errors import ArgumentError
from tests.containers import TABLES, Container
from tests.policies import (
    AGGREGATES,
    POLICIES,
    SECOND,
    SIZES,
    Policy,
    Slowly,
    expected,
    joined,
    on_objects,
    rows_of,
    table,
)
from tests.same import assert_same

ROWS = st.tuples(
    st.sampled_from(["a", "b", None]),
    st.integers(0, 30),
    st.sampled_from([None, math.nan, -2.0, 0.0, 1.0, 1.0, 5.0, math.inf]),
    st.sampled_from([None, 0, 1, 2, 3, 11]),
    st.sampled_from([None, "", "a", "bc"]),
    st.sampled_from([None, True, False]),
)
TABLE = st.lists(ROWS, max_size=40).map(table)
SLOW = {"size in the data", "since the peak"}
"""Compiled in the slow run only: machine code of a policy takes seconds the first time."""


def answered(made: Any, container: Container, suffix: str = "") -> dict[str, list[Any]]:
    found = container.extract(made)
    return {name: found[f"{name}{suffix}"].values for name in ("count", "first")}


def arrow(columns: Any, window: Any, **options: Any) -> dict[str, list[Any]]:
    container = TABLES["arrow"]
    return answered(sw.slide(container.build(columns), AGGREGATES, window, order="t", **options), container)


# ---- the windows ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in POLICIES]
)
@settings(max_examples=30)
@given(columns=TABLE, keyed=st.booleans(), current=st.booleans(), min_rows=st.integers(0, 3))
def test_the_longest_prefix_leaves(name: str, columns: Any, keyed: bool, current: bool, min_rows: int) -> None:
    policy, by = POLICIES[name], ["k"] if keyed else []
    made = arrow(columns, policy.window(include_current=current, min_rows=min_rows), by=by or None)
    assert_same(made, expected(columns, [policy], by, current, min_rows))


@pytest.mark.parametrize("name", POLICIES)
def test_at_the_speed_it_should(name: str) -> None:
    container, columns = TABLES["arrow"], table([("a", 0, 1.0, 1, "a", True)])
    data = container.build(columns)
    plan = make_plan(dict(zip(data.schema.names, data.schema.types, strict=True)), AGGREGATES, POLICIES[name].window())
    why = Enforcer(plan, plan.windows[0]).why
    assert (why == "") == POLICIES[name].compiles, why


@settings(max_examples=60)
@given(
    columns=TABLE,
    names=st.lists(st.sampled_from(sorted(POLICIES)), min_size=1, max_size=3),
    keyed=st.booleans(),
    current=st.booleans(),
    container=st.sampled_from(list(TABLES.values())),
)
def test_several_policies_on_any_table(
    columns: Any, names: list[str], keyed: bool, current: bool, container: Container
) -> None:
    """Joined by |, beside another window, on any container: whichever evicts more."""
    policies, by = [on_objects(POLICIES[name]) for name in names], ["k"] if keyed else []
    windows = {"p": joined(policies, include_current=current), "r": sw.trailing(2)}
    made = sw.slide(container.build(columns), AGGREGATES, windows, by=by or None, order="t")
    assert isinstance(made, container.kind)
    assert_same(answered(made, container, "_p"), expected(container.seen(columns), policies, by, current))


def test_compiled_together() -> None:
    """A prefix of nulls has no peak, and is still more than three rows."""
    few, peak = POLICIES["few"], POLICIES["since the peak"]
    draw = random.Random(3)
    columns = table([("a", i, draw.choice([None, 1.0, 2.0, 3.0]), 1, "", True) for i in range(60)])
    nulls = table([("a", i, None, 1, "", True) for i in range(9)])
    for one in (columns, nulls):
        assert_same(arrow(one, joined([few, peak])), expected(one, [few, peak], []))
    assert arrow(nulls, joined([few, peak]))["count"] == [1, 2, 3, 3, 3, 3, 3, 3, 3]


@pytest.mark.parametrize("container", ["list", "numpy", "pandas", "polars"])
def test_plain_sequences(container: str) -> None:
    values = [3.0, 4.0, 1.0, 5.0, 2.0, 6.0]
    build = {"list": list, "numpy": np.array, "pandas": pd.Series, "polars": pl.Series}[container]
    window = sw.evict_while(lambda total, old: total.n - old.n >= 3, uses={"n": sw.count()})
    made = sw.slide(build(values), sw.sum(), window)
    assert type(made) is type(build(values))
    assert list(made) == [3.0, 7.0, 8.0, 10.0, 8.0, 13.0]


# ---- in pieces and event by event -----------------------------------------------------------------------------------
def in_pieces(columns: Any, window: Any, cuts: list[int]) -> dict[str, list[Any]]:
    """The rows of one key in order, cut anywhere, through one carry."""
    data = TABLES["arrow"].build(columns)
    plan = make_plan(
        dict(zip(data.schema.names, data.schema.types, strict=True)), AGGREGATES, window, order="t", whole=False
    )
    carry = Carry(plan)
    slot = carry.add_slot()
    made: list[list[Any]] = [[], []]
    edges = [0, *sorted(cuts), data.num_rows]
    for first, last in itertools.pairwise(edges):
        part = data.slice(first, last - first).combine_chunks()
        times = np.array(part.column("t").cast(pa.int64()).to_pylist(), dtype=np.int64)
        times.flags.writeable = False
        runs = Runs(np.array([slot]), np.array([first == 0 and not made[0]]), np.array([0, last - first]))
        for kept, answers in zip(made, carry.events(plan.enter(part.column, last - first), times, runs), strict=True):
            kept.extend(answers_to_arrow(answers).to_pylist())
    return {"count": made[0], "first": made[1]}


@pytest.mark.parametrize("name", ["sum at most 10", "text"])
@settings(max_examples=30)
@given(
    rows=st.lists(ROWS, min_size=1, max_size=40), cuts=st.lists(st.integers(1, 39), max_size=5), current=st.booleans()
)
def test_cuts_do_not_matter(name: str, rows: Any, cuts: list[int], current: bool) -> None:
    columns = table([("a", t, *rest) for t, (_, _, *rest) in enumerate(rows)])
    made = in_pieces(columns, POLICIES[name].window(include_current=current), [c for c in cuts if c < len(rows)])
    assert_same(made, expected(columns, [POLICIES[name]], [], current))


@settings(max_examples=40)
@given(
    values=st.lists(st.sampled_from([None, 0, 1, 2, 3, 11]), max_size=40),
    name=st.sampled_from(["few", "sum at most 10", "both"]),
    current=st.booleans(),
    cut=st.integers(0, 40),
)
def test_event_by_event(values: list[Any], name: str, current: bool, cut: int) -> None:
    """As over a whole column; a snapshot somewhere in the middle changes nothing."""
    few = sw.evict_while(lambda total, old: total.n - old.n >= 3, uses={"n": sw.count()}, include_current=current)
    ten = sw.evict_while(
        lambda total, old: total.s - old.s + old.last > 10,
        uses={"s": sw.sum(), "last": sw.last()},
        include_current=current,
    )
    window = {"few": few, "sum at most 10": ten, "both": few | ten}[name]
    policies = {"few": ["few"], "sum at most 10": ["sum at most 10"], "both": ["few", "sum at most 10"]}[name]
    columns = table([("a", t, None, w, None, None) for t, w in enumerate(values)])
    wanted = expected(columns, [POLICIES[one] for one in policies], [], current)["count"]
    live = sw.LiveWindow(sw.max(), window)
    sizes = []
    for number, value in enumerate(values):
        if number == cut:
            live = sw.LiveWindow.restore(live.snapshot(), window=window)
        answer = live.push(value)
        sizes.append(len(live))
        live.check()
        held = [x for x in values[number + current - len(live) : number + current] if x is not None]
        assert answer == (max(held) if held else None)
    assert sizes == wanted


def test_a_restored_policy_must_be_handed_in_and_the_same() -> None:
    few = sw.evict_while(lambda total, old: total.n - old.n >= 3, uses={"n": sw.count()})
    other = sw.evict_while(lambda total, old: total.s - old.s >= 3, uses={"s": sw.sum()})
    live = sw.LiveWindow(sw.sum(), few)
    live.extend([1, 2, 3, 4])
    with pytest.raises(ArgumentError, match="window=None: the snapshot is of a slide policy, which is code"):
        sw.LiveWindow.restore(live.snapshot())
    with pytest.raises(sw.errors.SnapshotError, match="snapshot of another window"):
        sw.LiveWindow.restore(live.snapshot(), window=other)
    again = sw.LiveWindow.restore(live.snapshot(), window=few)
    assert [again.push(5), live.push(5)] == [12, 12]
    adwin = sw.LiveWindow(sw.count(), sw.adwin(0.01))
    adwin.extend([0.0, 1.0, 0.0])
    assert sw.LiveWindow.restore(adwin.snapshot()).push(1.0) == adwin.push(1.0) == 4


def test_a_value_that_the_policy_cannot_take_leaves_nothing_behind() -> None:
    live = sw.LiveWindow(sw.max(), sw.evict_while(lambda total, old: total.s - old.s > 3, uses={"s": sw.sum()}))
    for _ in range(2):
        with pytest.raises(ArgumentError, match=r"sum\(\): data is of type str"):
            live.push("a")
    assert len(live) == 0
    assert live.extend([1, 2, 3]) == [1, 2, 3]
    assert len(live) == 2


# ---- long keys, many keys -------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["few", "of a dict"])
def test_a_key_of_more_rows_than_a_piece(name: str) -> None:
    rows = PIECE + 1000 if name == "of a dict" else 3 * PIECE + 17
    data = pa.table({"x": np.arange(rows)})
    made = sw.slide(data, [sw.count(), sw.first("x").alias("first")], POLICIES[name].window())
    at = np.arange(rows)
    assert np.array_equal(made.column("count").to_numpy(), np.minimum(at + 1, 3))
    assert np.array_equal(made.column("first").to_numpy(), np.maximum(at - 2, 0))


def test_many_keys() -> None:
    rows = 300_000
    data = pa.table({"k": np.arange(rows) % 100_000, "t": np.arange(rows)})
    made = sw.slide(data, sw.count(), POLICIES["few"].window(), by="k", order="t")
    assert np.array_equal(made.column("count").to_numpy(), np.arange(rows) // 100_000 + 1)


def test_memory_is_the_window_not_the_key() -> None:
    plan = make_plan({"x": pa.int64()}, sw.count(), POLICIES["few"].window())
    enforcer = Enforcer(plan, plan.windows[0])
    room = []
    for pieces in (1, 8):
        bank = enforcer.bank()
        bank.add()
        rows = pieces * PIECE
        lo, hi = np.zeros(rows, dtype=np.int64), np.zeros(rows, dtype=np.int64)
        enforcer.bounds(bank, {}, np.array([[0, 1, 0, 0, rows, rows]]), lo, hi)
        assert (hi - lo)[2:].tolist() == [3] * (rows - 2)
        room.append(len(bank.cols[0]))
    assert room[1] <= 2 * room[0]


# ---- what a policy sees ---------------------------------------------------------------------------------------------
def test_times_are_nanoseconds_on_every_container() -> None:
    """Three nanoseconds at 2023: exact, so no float was on the way."""
    nanos = [1_700_000_000_000_000_000 + step for step in (0, 1, 2, 3, 5, 9)]
    window = sw.evict_while(lambda total, old: total.t - old.t >= 3, uses={"t": sw.max("t")})
    wanted = [1, 2, 3, 3, 2, 1]
    stamps = pa.table({"t": pa.array(nanos, pa.timestamp("ns"))})
    for data in (stamps, pa.table({"t": nanos}), stamps.to_pandas(), pl.from_arrow(stamps)):
        made = sw.slide(data, sw.count(), window)
        assert list(made["count"] if not isinstance(made, pa.Table) else made["count"].to_pylist()) == wanted


@pytest.mark.parametrize("arrow_type", [pa.timestamp("us"), pa.timestamp("s"), pa.date32(), pa.time32("ms")], ids=str)
def test_units_of_time(arrow_type: Any) -> None:
    unit = {"timestamp[us]": 1_000, "timestamp[s]": SECOND, "date32[day]": 86_400 * SECOND, "time32[ms]": 10**6}
    storage = pa.int32() if arrow_type.bit_width == 32 else pa.int64()
    data = pa.table({"t": pa.array([10, 11, 12, 13, 15, 19], storage).cast(arrow_type)})
    for seen in ("max", "first_n", "spread"):
        aggregate = {"max": sw.max("t"), "first_n": sw.last_n("t", 1), "spread": sw.spread("t")}[seen]
        asked: list[Any] = []

        def policy(total: Any, old: Any, asked: list[Any] = asked) -> bool:
            asked.append(total.t)
            return False

        sw.slide(data, sw.count(), sw.evict_while(policy, uses={"t": aggregate}))
        last = {"max": 19, "first_n": [19], "spread": 9}[seen]
        scale = unit[str(arrow_type)]
        assert asked[-1] == ([last[0] * scale] if isinstance(last, list) else last * scale)


def test_times_too_far_for_nanoseconds_are_named() -> None:
    data = pa.table({"t": pa.array([10, 2_932_896], pa.int32()).cast(pa.date32())})
    window = sw.evict_while(lambda total, old: total.t - old.t >= 3, uses={"t": sw.max("t")})
    with pytest.raises(ArgumentError, match=r"window=evict_while.*column 't' has times that are too far.*1678 to 2261"):
        sw.slide(data, sw.count(), window)


def test_live_windows_see_nanoseconds_too() -> None:
    hour = sw.evict_while(Slowly(lambda total, old: total.t - old.t >= 3600 * SECOND), uses={"t": sw.max()})
    times = list(pd.date_range("2024-01-01", periods=6, freq="30min").to_pydatetime())
    assert sw.LiveWindow(sw.count(), hour).extend(times) == [1, 2, 2, 2, 2, 2]
    assert sw.slide(times, sw.count(), hour) == [1, 2, 2, 2, 2, 2]


@pytest.mark.slow
def test_names_of_uses_may_be_those_of_a_tuples_methods() -> None:
    window = sw.evict_while(
        lambda total, old: total.count - old.count >= 2, uses={"count": sw.count(), "index": sw.sum()}
    )
    assert sw.slide([1.0, 2.0, 3.0], sw.sum(), window) == [1.0, 3.0, 5.0]


@pytest.mark.slow
def test_the_same_code_over_other_uses_is_another_policy() -> None:
    def of(uses: dict[str, Any]) -> list[int]:
        return sw.slide([2] * 5, sw.count(), sw.evict_while(lambda total, old: total.a - old.a >= 4, uses=uses))

    assert of({"a": sw.count(), "b": sw.sum()}) == [1, 2, 3, 4, 4]
    assert of({"b": sw.count(), "a": sw.sum()}) == [1, 2, 2, 2, 2]


def test_nulls_alone_are_never_asked_about() -> None:
    asked = []

    def policy(total: Any, old: Any) -> bool:
        asked.append((total.s, old.s))
        return bool(total.s > 1)

    window = sw.evict_while(Slowly(policy), uses={"s": sw.sum("x")})
    data = pa.table({"x": pa.array([None, None, 1, None, 2], pa.int64())})
    assert sw.slide(data, sw.count(), window).column("count").to_pylist() == [1, 2, 3, 4, 0]
    assert {old for _, old in asked} == {1, 3}


def test_a_policy_that_is_not_monotone_is_found() -> None:
    """It holds for the oldest two, whose sum is even, and not for the oldest one."""
    even = sw.evict_while(lambda total, old: old.s % 2 == 0, uses={"s": sw.sum()}, check=True)
    with pytest.raises(
        ArgumentError,
        match=r"window=evict_while\(<lambda>, .*: the policy is not monotone: with 2 events in the window it holds for "
        r"the oldest 2, and not for the oldest 1$",
    ):
        sw.slide([1, 1, 1], sw.sum(), even)
    live = sw.LiveWindow(sw.sum(), even)
    live.push(1)
    with pytest.raises(ArgumentError, match="not monotone"):
        live.push(1)


@pytest.mark.parametrize("name", ["few", "sum at most 10"])
def test_checked_policies_give_the_same_windows(name: str) -> None:
    draw = random.Random(9)
    columns = table([("a", i, None, draw.choice([None, 0, 1, 2, 3, 4]), "", True) for i in range(50)])
    assert_same(arrow(columns, POLICIES[name].window(check=True)), arrow(columns, POLICIES[name].window()))


def test_what_a_policy_raises_is_raised() -> None:
    class Wrong(Exception):
        pass

    def policy(total: Any, old: Any) -> bool:
        raise Wrong

    with pytest.raises(Wrong):
        sw.slide([1.0], sw.sum(), sw.evict_while(Slowly(policy), uses={"n": sw.count()}))


@pytest.mark.parametrize("compiled", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_division_by_zero_is_raised_at_either_speed(compiled: bool) -> None:
    def policy(total: Any, old: Any) -> Any:
        return 1.0 / old.s > 1

    with pytest.raises(ZeroDivisionError):
        sw.slide([0.0], sw.sum(), sw.evict_while(policy if compiled else Slowly(policy), uses={"s": sw.sum()}))


def test_uses_are_checked_like_aggregates() -> None:
    data = pa.table({"x": [1.0], "s": ["a"]})
    for uses, said in [
        ({"n": sw.sum("y")}, r"sum\('y'\): no column 'y'"),
        ({"n": sw.sum("s")}, r"sum\('s'\)"),
        ({"n": sw.sum()}, "names no column"),
        ({"n": sw.sum("x").where("y", ">", 1)}, "no column 'y'"),
    ]:
        with pytest.raises(ArgumentError, match=said):
            sw.slide(data, sw.count(), sw.evict_while(lambda total, old: False, uses=uses))
    with pytest.raises(ArgumentError, match="a plain sequence has no columns"):
        sw.slide([1.0], sw.count(), sw.evict_while(lambda total, old: False, uses={"n": sw.sum("x")}))
    with pytest.raises(ArgumentError, match=r"uses\['n'\]=.*unbound"):
        sw.LiveWindow(sw.count(), sw.evict_while(lambda total, old: False, uses={"n": sw.sum("x")}))


# ---- the examples of the papers -------------------------------------------------------------------------------------
def test_the_last_hour_by_timestamp() -> None:
    """Listing 1."""
    window = sw.evict_while(Slowly(lambda total, old: total.t - old.t >= 3600 * SECOND), uses={"t": sw.max("t")})
    minutes = [0, 20, 59, 60, 61, 200, 259]
    data = pa.table({"t": pa.array([m * 60 for m in minutes], pa.timestamp("s"))})
    by_policy = sw.slide(data, sw.count(), window, order="t").column("count")
    assert by_policy == sw.slide(data, sw.count(), sw.trailing("1 h"), order="t").column("count")


def test_the_size_is_carried_in_the_data() -> None:
    """Listing 3, with the monoid of listing 2: the newest says how many there may be."""
    policy = Slowly(lambda total, old: total.p[0] - old.p[0] >= total.p[1])
    window = sw.evict_while(policy, uses={"p": sw.aggregate(SIZES)})
    assert sw.slide([3, 3, 3, 3, 5, 5, 1, 2], sw.count(), window) == [1, 2, 3, 3, 4, 5, 1, 2]


@pytest.mark.parametrize("compiled", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_older_than_the_longest_increasing_run(compiled: bool) -> None:
    draw = random.Random(12)
    values = [draw.randint(0, 9) for _ in range(200)]
    times = pa.array(np.arange(200) * 7, pa.timestamp("us"))

    def policy(total: Any, old: Any) -> Any:
        return old.t < total.run[0]

    uses = {"t": sw.max("t"), "run": sw.longest_increasing_run("x", "t")}
    window = sw.evict_while(policy if compiled else Slowly(policy), uses=uses)
    made = sw.slide(pa.table({"x": values, "t": times}), sw.count(), window, order="t").column("count").to_pylist()
    held: list[int] = []
    for row in range(200):
        held.append(row)
        runs = [(0, 0)]
        for k in range(1, len(held)):
            runs.append((runs[-1][0], k) if values[held[k]] > values[held[k - 1]] else (k, k))
        longest = max(end - start for start, end in runs)
        del held[: next(start for start, end in runs if end - start == longest)]
        assert made[row] == len(held)


def test_at_most_so_many_or_older_than_the_maximum() -> None:
    few = sw.evict_while(Slowly(lambda total, old: total.n - old.n >= 3), uses={"n": sw.count()})
    since_peak = sw.evict_while(Slowly(lambda total, old: old.peak < total.peak), uses={"peak": sw.max()})
    values = [5, 1, 1, 1, 2, 9, 9, 1]
    assert sw.slide(values, sw.collect(), few | since_peak)[3:] == [[1, 1, 1], [2], [9], [9, 9], [9, 9, 1]]


# ---- adwin ----------------------------------------------------------------------------------------------------------
def cuts_of(head: int, tail: int) -> list[int]:
    """Where a window of positions falls into whole nodes of the forest, the largest that fit, from the oldest on."""
    found, at = [], head
    while at < tail:
        level = 0
        while at % (2 << level) == 0 and (at >> (level + 1)) + 2 <= (tail + 1) >> (level + 1):
            level += 1
        at += 1 << level
        found.append(at)
    return found[:-1]


def adwin_sizes(values: list[float | None], delta: float) -> list[int]:
    """The documented formula, over the same cuts, with means and variances taken from the values themselves."""
    head, sizes = 0, []
    for tail in range(1, len(values) + 1):
        while True:
            inside = [x for x in values[head:tail] if x is not None]
            n = len(inside)
            stays = head
            for cut in cuts_of(head, tail) if n > 1 else []:
                older = [x for x in values[head:cut] if x is not None]
                newer = [x for x in values[cut:tail] if x is not None]
                if not older or not newer:
                    continue
                mean = sum(inside) / n
                variance = sum((x - mean) ** 2 for x in inside) / n
                over_m, chance = 1 / len(older) + 1 / len(newer), math.log(2 * math.log(n) / delta)
                apart = abs(sum(older) / len(older) - sum(newer) / len(newer))
                if apart > math.sqrt(2 * over_m * variance * chance) + 2 / 3 * over_m * chance:
                    stays = cut
            if stays == head:
                break
            head = stays
        sizes.append(tail - head)
    return sizes


@pytest.mark.parametrize("delta", [0.002, pytest.param(0.3, marks=pytest.mark.slow)])
def test_adwin_is_its_formula(delta: float) -> None:
    draw = random.Random(31)
    levels = [0.1] * 90 + [0.8] * 70 + [0.3] * 60
    values = [None if draw.random() < 0.05 else min(1.0, max(0.0, draw.gauss(level, 0.1))) for level in levels]
    wanted = adwin_sizes(values, delta)
    assert min(wanted[100:]) < 40
    data = pa.table({"x": pa.array(values, pa.float64()), "y": np.arange(220)})
    assert sw.slide(data, sw.count(), sw.adwin(delta, column="x")).column("count").to_pylist() == wanted
    live = sw.LiveWindow(sw.mean(), sw.adwin(delta))
    sizes = [len(live) for value in values if live.push(value) is not None or True]
    assert sizes == wanted


def test_adwin_finds_a_change_soon_and_sees_few_where_there_is_none() -> None:
    draw = np.random.default_rng(7)
    steady = draw.uniform(0, 1, 20_000)
    sizes = np.asarray(sw.slide(steady, sw.count(), sw.adwin(0.002)))
    assert (np.diff(sizes) < 1).sum() <= 20  # false alarms in 20,000 events
    change = np.concatenate([draw.binomial(1, 0.2, 2000), draw.binomial(1, 0.7, 500)]).astype(float)
    sizes = np.asarray(sw.slide(change, sw.count(), sw.adwin(0.002)))
    assert sizes[1999] > 1000
    delay = int(np.argmax(sizes[2000:] < 300))
    assert 0 < delay < 120
    assert sizes[-1] < 560


def test_adwin_far_from_zero() -> None:
    """A mean of 1e12 hides no change, and makes none."""
    draw = np.random.default_rng(7)
    values = np.concatenate([draw.uniform(0, 1, 1000), draw.uniform(0, 1, 1000) + 3.0])
    near = np.asarray(sw.slide(values, sw.count(), sw.adwin()))
    far = np.asarray(sw.slide(values + 1e9, sw.count(), sw.adwin()))
    assert np.array_equal(near, far)
    assert near[999] == 1000
    assert near[-1] <= 1001


def test_adwin_needs_a_column_where_there_are_several() -> None:
    data = pa.table({"x": [1.0], "y": [1.0]})
    with pytest.raises(ArgumentError, match=r"window=adwin\(0.002\): expected column=.*'x', 'y'"):
        sw.slide(data, [sw.sum("x"), sw.sum("y")], sw.adwin())
    with pytest.raises(ArgumentError, match="a plain sequence has no columns; expected column=None"):
        sw.slide([1.0], sw.sum(), sw.adwin(column="x"))
    with pytest.raises(ArgumentError, match=r"window=adwin\(0.002\): expected column=.*the aggregates name none"):
        sw.slide(data, sw.count(), sw.adwin())


# ---- in words -------------------------------------------------------------------------------------------------------
def test_a_plan_says_what_its_policy_does() -> None:
    data = pa.table({"x": [1.0]})
    said = sw.explain(data, sw.sum("x"), POLICIES["few"].window())
    assert "policy: evict_while(<lambda>, uses={'n': count()})" in said
    assert "compiled (partial: int64)" in said
    assert "amta finds the longest prefix" in said
    assert "answers are swept" in said
    said = sw.explain(data, sw.sum("x"), POLICIES["of a dict"].window())
    assert "object mode (Numba cannot compile the policy" in said
    assert "means of older and newer" in sw.explain(data, sw.sum("x"), sw.adwin())


def test_rows_of_the_oracle() -> None:
    """The oracle itself: [2, 2, 3, 3] + 4 leaves [3, 3, 4], [4, 6] + 6 leaves [6]."""
    ten: Policy = POLICIES["sum at most 10"]
    for values, kept in [([2, 2, 3, 3, 4], 3), ([4, 6, 6], 1)]:
        columns = table([("a", t, None, w, None, None) for t, w in enumerate(values)])
        assert len(rows_of(columns)) == len(values)
        assert expected(columns, [ten], [])["count"][-1] == kept
