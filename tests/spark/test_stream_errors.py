"""What a stream refuses: at the call, naming the argument, its value and what is allowed; nothing is started."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import slidewise as sw
from slidewise.errors import ArgumentError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

EVENTS = "k string, t timestamp, x long, v double, s string"
STEPS = sw.trailing("5 s").every("1 s")

Frames = dict[str, Any]
Call = Callable[[Frames], Any]


def slide(aggregates: Any = None, window: Any = None, **more: Any) -> Call:
    """A call of `slide` on the stream; options that are functions are given the frames."""

    def call(frames: Frames) -> Any:
        options = {name: value(frames) if callable(value) else value for name, value in more.items()}
        data = options.pop("data", frames["stream"])
        made = sw.count() if aggregates is None else aggregates
        over = sw.trailing(3) if window is None else window
        return sw.slide(data, made, over, **{"by": "k", "order": "t", "lateness": "1 s", **options})

    return call


def renamed(*names: str) -> Callable[[Frames], DataFrame]:
    return lambda frames: frames["stream"].withColumnsRenamed(dict(zip(("x", "v"), names, strict=False)))


BAD: dict[str, tuple[Call, str]] = {
    "emit: no such": (slide(emit="sometimes"), "emit='sometimes': expected None or one of 'event', 'update', 'change'"),
    "emit: of another type": (slide(emit=True), "emit=True: expected None or one of 'event', 'update', 'change'"),
    "emit: a list": (slide(emit=["update"]), "emit=['update']: expected None or one of"),
    "emit: window for events": (slide(emit="window"), "emit='window': expected None or one of 'event'"),
    "emit: event for steps": (slide(window=STEPS, emit="event"), "emit='event': expected None or one of 'window'"),
    "emit: change for steps": (
        slide(window=STEPS, emit="change"),
        "emit='change': expected None or one of 'window', 'update' for trailing('5 s').every('1 s')",
    ),
    "emit: change for sessions": (
        slide(window=sw.session("1 s"), emit="change"),
        "emit='change': expected None or one of 'window', 'update' for session('1 s')",
    ),
    "emit: op is taken": (
        slide(data=renamed("op"), emit="update"),
        "emit='update': adds a column 'op', and there is one; expected another name for it",
    ),
    "emit: version is taken": (slide(data=renamed("version"), emit="change"), "emit='change': adds a column 'version'"),
    "emit: an answer is named op": (slide(sw.sum("x").alias("op"), emit="update"), "emit='update': adds a column 'op'"),
    "emit: a key is named op": (
        slide(data=renamed("op"), by="op", window=STEPS, emit="update"),
        "emit='update': adds a column 'op'",
    ),
    "late: no such": (slide(late="forgive"), "late='forgive': expected 'drop', 'column' or 'error'"),
    "late: of another type": (slide(late=1), "late=1: expected 'drop', 'column' or 'error'"),
    "late: a list": (slide(late=["drop"]), "late=['drop']: expected 'drop', 'column' or 'error'"),
    "late: column for steps": (
        slide(window=STEPS, late="column"),
        "late='column': expected a window with an answer per event, not trailing('5 s').every('1 s')",
    ),
    "late: late is taken": (slide(data=renamed("late"), late="column"), "late='column': adds a column 'late'"),
    "late: an answer is named late": (
        slide(sw.sum("x").alias("late"), late="column"),
        "late='column': adds a column 'late', and there is one; expected another name for it",
    ),
    "idle: no duration": (slide(idle="soon"), "idle='soon': expected"),
    "idle: nothing": (slide(idle="0 s"), "idle='0 s': expected"),
    "idle: negative": (slide(idle="-7 d"), "idle='-7 d': expected"),
    "idle: months": (slide(idle="1 month"), "idle='1 month': "),
    "idle: a number": (slide(idle=7), "idle=7: expected"),
    "idle: truth": (slide(idle=True), "idle=True: expected"),
    "lateness: truth": (slide(lateness=True), "lateness=True: expected"),
    "initial: a table": (slide(initial=pa.table({"k": ["a"]})), "initial=Table: expected a batch DataFrame"),
    "initial: a string": (slide(initial="history"), "initial=str: expected a batch DataFrame"),
    "initial: a stream": (
        slide(initial=lambda frames: frames["stream"]),
        "initial=DataFrame: expected a batch DataFrame with the stream's columns",
    ),
    "initial: no key": (
        slide(sw.sum("x"), initial=lambda frames: frames["batch"].drop("k")),
        "initial: has no column 'k', which the windows need; there are 't', 'x', 'v', 's'",
    ),
    "initial: no order": (slide(initial=lambda frames: frames["batch"].drop("t")), "initial: has no column 't'"),
    "initial: no value": (
        slide(sw.sum("x"), initial=lambda frames: frames["batch"].drop("x")),
        "initial: has no column 'x'",
    ),
    "initial: no column of a filter": (
        slide(sw.sum("x").where("v", ">", 1), initial=lambda frames: frames["batch"].drop("v")),
        "initial: has no column 'v'",
    ),
    "initial: no column of a policy": (
        slide(
            window=sw.evict_while(lambda total, old: old.m < total.m, {"m": sw.max("v")}),
            initial=lambda frames: frames["batch"].drop("v"),
        ),
        "initial: has no column 'v'",
    ),
    "initial: another type": (
        slide(sw.sum("x"), initial=lambda frames: frames["batch"].withColumn("x", frames["batch"].x.cast("int"))),
        "initial: column 'x' is of type int; expected bigint, as in the stream",
    ),
    "initial: another kind of time": (
        slide(initial=lambda frames: frames["batch"].withColumn("t", frames["batch"].t.cast("timestamp_ntz"))),
        "initial: column 't' is of type timestamp_ntz; expected timestamp, as in the stream",
    ),
    "window: between": (
        slide(window=sw.between("t", "t")),
        "window=between('t', 't'): may look anywhere, so a stream would have to keep every row; expected trailing or "
        "around, or a batch",
    ),
    "window: between among others": (
        slide(window={"a": sw.trailing(3), "b": sw.between("t", "t")}),
        "window=between('t', 't'): may look anywhere",
    ),
    "expanding: every algorithm but the folds": (
        slide(sw.sum("x"), sw.expanding(), algorithm="two_stacks"),
        "algorithm='two_stacks': keeps every row of expanding(), and a stream's state must be bounded; expected 'auto'",
    ),
    "presorted": (slide(presorted=True), "presorted=True: is for batches; a stream is ordered by its watermark"),
}
HOLISTIC = {
    "collect": sw.collect("x"),
    "collect_distinct": sw.collect_distinct("x"),
    "count_distinct": sw.count_distinct("x"),
    "median": sw.median("v"),
    "concat": sw.concat("s"),
    "most_frequent": sw.most_frequent("s"),
}
BAD |= {
    f"expanding: {name}": (
        slide([sw.count(), one], {"all": sw.expanding(), "few": sw.trailing(2)}),
        f"aggregates={one!r}: over expanding() it keeps every value, and a stream's state must be bounded; expected ",
    )
    for name, one in HOLISTIC.items()
}
BAD["expanding: exact quantile"] = (
    slide(sw.quantile("v", 0.5, exact=True), sw.expanding()),
    "over expanding() it keeps every value, and a stream's state must be bounded; expected ",
)


@pytest.fixture(scope="module")
def frames(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Frames:
    place: Path = tmp_path_factory.mktemp("nothing")
    batch = spark.createDataFrame([], EVENTS)
    return {"stream": spark.readStream.schema(EVENTS).parquet(str(place)), "batch": batch}


@pytest.mark.parametrize("name", BAD)
def test_a_wrong_call_says_what_is_wrong(frames: Frames, name: str) -> None:
    call, said = BAD[name]
    with pytest.raises(ArgumentError, match=re.escape(said)):
        call(frames)


GOOD: dict[str, Call] = {
    "holistic over windows that end": slide(list(HOLISTIC.values()), sw.trailing("5 s")),
    "history with more columns, in another order": slide(
        sw.sum("x"), initial=lambda frames: frames["batch"].selectExpr("1 more", "x", "t", "k")
    ),
    "op, version and late where nothing adds them": slide(data=renamed("op", "late")),
    "sketches over expanding": slide([sw.approx_distinct("s"), sw.quantile("v", 0.5)], sw.expanding()),
    "idle as a timedelta": slide(idle=timedelta(days=7)),
}


@pytest.mark.parametrize("name", GOOD)
def test_a_right_call_is_taken(frames: Frames, name: str) -> None:
    """So that the refusals are no wider than they should be."""
    assert GOOD[name](frames).isStreaming
