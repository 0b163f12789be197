"""Every built-in under every algorithm, on every container and every kind of column it takes, found in the registries:
a new one is tested from then on.

The oracle is the monoid itself, folded over each window's rows (tests/fold.py). Kinds and values are those of the
container's own columns: pandas has floats where integers are null.
"""

from __future__ import annotations

import datetime as dt
import math
import os
import random
import uuid
from collections.abc import Callable, Iterable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import slidewise as sw
from slidewise.engine.columns import kind_of
from slidewise.errors import ArgumentError
from slidewise.monoids import BUILTINS
from slidewise.monoids.aggregate import POSITION, Aggregate
from slidewise.monoids.kinds import Kind
from slidewise.swag import ALGORITHMS
from tests.catalogue import CORE, ON_SPARK, VARIANTS, family_of, in_normal_run, rare, serves, takes
from tests.fold import Fold, assert_answers, machine, plain

EPOCH = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
WINDOWS = {"3r": sw.trailing(3), "4s": sw.trailing("4 s"), "70r": sw.trailing(70)}
ROWS = 200


def make_table(rows: int = ROWS, seed: int = 5) -> pa.Table:
    """Each kind of column, with nulls; one key has most rows, so that its windows fill several blocks."""
    draw = random.Random(seed)

    def some(make: Callable[[], Any], kind: pa.DataType) -> pa.Array:
        return pa.array([None if draw.random() < 0.3 else make() for _ in range(rows)], kind)

    return pa.table(
        {
            "key": [draw.choices(["a", "b", "ü"], [8, 1, 1])[0] for _ in range(rows)],
            "ts": pa.array([EPOCH + dt.timedelta(seconds=i) for i in range(rows)], pa.timestamp("us", tz="UTC")),
            "whole": some(lambda: draw.randint(-50, 50), pa.int64()),
            "real": some(lambda: draw.uniform(-9, 9), pa.float64()),
            "truth": some(lambda: draw.random() < 0.8, pa.bool_()),
            "moment": some(lambda: EPOCH + dt.timedelta(seconds=draw.randint(-9, 9)), pa.timestamp("us", tz="UTC")),
            "day": some(lambda: dt.date(2026, 1, draw.randint(1, 9)), pa.date32()),
            "money": some(lambda: Decimal(draw.randint(-999, 999)).scaleb(-2), pa.decimal128(12, 2)),
            "text": some(lambda: draw.choice(["", "x", "yy", "ß"]), pa.string()),
            "raw": some(lambda: draw.choice([b"", b"x", b"\xff"]), pa.binary()),
        }
    )


TABLE = make_table()
COLUMNS = TABLE.column_names[2:]
SECOND = ["real", "whole", "text"]
BESIDE = {"covariance": ["real"], "correlation": ["real"], "argmin": SECOND, "argmax": SECOND}


MACHINE = ["real", "whole", "truth", "moment", "day"]
"""Columns that enter a kernel as numbers: each setting and dtype of a built-in is machine code of its own."""


def bound(name: str) -> dict[str, Aggregate]:
    """A built-in with every setting on every column, whether it takes it or not; two-column ones also with one."""
    found = {}
    for label, one in VARIANTS[name].items():
        pairs: list[tuple[str, ...]] = [(column,) for column in COLUMNS] if 1 in family_of(one).columns else []
        if takes(one) == 2:
            pairs += [(column, second) for column in COLUMNS for second in BESIDE.get(name, ["ts"])]
        if 0 in family_of(one).columns:
            pairs.append(())
        for columns in pairs:
            alias = ":".join([label, *columns])
            found[alias] = replace(one, columns=columns).alias(alias)
    return found


def taken(one: Aggregate, table: pa.Table) -> bool:
    """Whether the aggregate takes columns of these types."""
    try:
        Fold(one, table, "ts")
    except ArgumentError:
        return False
    return True


def chosen(name: str, table: pa.Table, algorithm: str = "auto", *, few: bool | None = None) -> dict[str, Aggregate]:
    """What this algorithm can do with these columns.

    By the ladder the first setting runs on all of them, further settings on one that compiles and on all that do not.
    `few`, and by an algorithm's name unless said otherwise: the first setting, on as many.
    """
    few = algorithm != "auto" if few is None else few
    first = next(iter(VARIANTS[name]))
    served = {
        alias: one
        for alias, one in bound(name).items()
        if taken(one, table) and serves(algorithm, Fold(one, table, "ts").monoid)
    }
    firsts = [one.columns[0] for one in served.values() if one.columns]
    left_out = [column for column in MACHINE if column in firsts][1:]

    def runs(alias: str, one: Aggregate) -> bool:
        is_first, is_kept = alias.split(":")[0] == first, not set(one.columns[:1]) & set(left_out)
        return is_first and is_kept and not set(one.columns[1:]) & set(MACHINE[1:]) if few else is_first or is_kept

    return {alias: one for alias, one in served.items() if runs(alias, one)}


def inside(table: pa.Table, window: str, row: int) -> list[int]:
    """The rows of a row's window, by the words of the semantics; rows are in order of time, one a second."""
    keys = table["key"].to_pylist()
    mine = [i for i in range(row + 1) if keys[i] == keys[row]]
    return [i for i in mine if i > row - 4] if window == "4s" else mine[-int(window[:-1]) :]


ASKED = {"3r": list(range(ROWS)), "4s": list(range(ROWS)), "70r": list(range(0, ROWS, 13))}
"""A fold over a long window costs its length: it is asked for at some rows only."""

INSIDE = {(window, row): inside(TABLE, window, row) for window, rows in ASKED.items() for row in rows}


def check(table: pa.Table, out: pa.Table, aggregates: dict[str, Aggregate], *, nan_is_null: bool = False) -> None:
    """`out` is in order of time."""
    assert out["ts"].cast(pa.timestamp("us", tz="UTC")).equals(table["ts"].cast(pa.timestamp("us", tz="UTC")))
    for alias, one in aggregates.items():
        fold = Fold(one, table, "ts")
        for window, rows in ASKED.items():
            answers = machine(out[f"{alias}_{window}"])
            wanted = [fold(INSIDE[window, row]) for row in rows]
            assert_answers([answers[row] for row in rows], wanted, f"{one} {window}", nan_is_null=nan_is_null)


def _masked(table: pa.Table) -> pd.DataFrame:
    masked = {pa.int64(): pd.Int64Dtype(), pa.float64(): pd.Float64Dtype(), pa.bool_(): pd.BooleanDtype()}
    return table.to_pandas(types_mapper=masked.get)


def _from_pandas(frame: pd.DataFrame) -> pa.Table:
    """A column without a value has no type of its own in pandas."""
    return pa.Table.from_pandas(frame, preserve_index=False)


Build, Read = Callable[[pa.Table], Any], Callable[[Any], pa.Table]
TABLES: dict[str, tuple[Build, Read]] = {
    "arrow": (lambda table: table, lambda out: out),
    "pandas": (lambda table: table.to_pandas(), _from_pandas),
    "pandas_masked": (_masked, _from_pandas),
    "pandas_arrow": (lambda table: table.to_pandas(types_mapper=pd.ArrowDtype), _from_pandas),
    "polars": (pl.from_arrow, lambda out: out.to_arrow()),
    "polars_lazy": (lambda table: pl.from_arrow(table).lazy(), lambda out: out.collect().to_arrow()),
}
DATA = {name: (data := build(TABLE), read(data)) for name, (build, read) in TABLES.items()}


each_builtin = pytest.mark.parametrize("name", BUILTINS)
few_or_all = pytest.mark.parametrize("few", [True, pytest.param(False, marks=pytest.mark.slow)], ids=["few", "all"])
"""The normal run has each built-in with its first setting; the slow one all of them, on all columns that they take."""


def test_every_kind_is_here() -> None:
    """The laws say which kinds a built-in takes; no kind but "unordered" is missing here, where all of them run."""
    assert {kind_of(TABLE[column].type) for column in COLUMNS} == set(get_args(Kind)) - {"unordered"}
    assert all(any(taken(one, TABLE) for one in bound(name).values()) for name in BUILTINS)


@few_or_all
@each_builtin
@pytest.mark.parametrize("container", TABLES)
def test_tables(container: str, name: str, few: bool) -> None:
    """By the algorithm that the ladder chooses."""
    data, table = DATA[container]
    aggregates = chosen(name, table, few=few)
    assert aggregates
    assert few or {alias.split(":")[0] for alias in aggregates} == set(VARIANTS[name])
    out = TABLES[container][1](sw.slide(data, list(aggregates.values()), WINDOWS, by="key", order="ts"))
    check(table, out, aggregates, nan_is_null=container.startswith("pandas"))


@each_builtin
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("container", ["arrow", "pandas"])
def test_tables_by_each_algorithm(container: str, algorithm: str, name: str) -> None:
    data, table = DATA[container]
    aggregates = chosen(name, table, algorithm)
    if aggregates:
        many = list(aggregates.values())
        out = TABLES[container][1](sw.slide(data, many, WINDOWS, by="key", order="ts", algorithm=algorithm))
        check(table, out, aggregates, nan_is_null=container == "pandas")


@each_builtin
@pytest.mark.parametrize("algorithm", ["auto", *ALGORITHMS])
def test_what_is_not_served_is_refused(algorithm: str, name: str) -> None:
    """By name, before any work: kinds a built-in does not take, monoids an algorithm does not serve."""
    for one in bound(name).values():
        if not taken(one, TABLE) or not serves(algorithm, Fold(one, TABLE, "ts").monoid):
            with pytest.raises(ArgumentError, match=f"{name}|{algorithm}"):
                sw.slide(TABLE, one, sw.trailing(3), by="key", order="ts", algorithm=algorithm)


@few_or_all
@each_builtin
def test_the_schema_is_what_comes(name: str, few: bool) -> None:
    aggregates = list(chosen(name, TABLE, few=few).values())
    for window in (sw.trailing(3), sw.trailing("4 s"), sw.tumbling("5 s"), sw.trailing(3).every(2)):
        schema = sw.schema(TABLE, aggregates, window, by="key", order="ts")
        for table in (TABLE, TABLE.slice(0, 0)):
            assert sw.slide(table, aggregates, window, by="key", order="ts").schema == schema


NULLS = TABLE.select(["key", "ts"]).slice(0, 5)
for _name in COLUMNS:
    NULLS = NULLS.append_column(_name, pa.nulls(5, TABLE[_name].type))


@few_or_all
@each_builtin
@pytest.mark.parametrize("container", TABLES)
def test_no_rows_and_no_values(container: str, name: str, few: bool) -> None:
    """Columns of nulls only have no type of their own in pandas; whatever they are taken for, there is no value."""
    build, read = TABLES[container]
    aggregates = chosen(name, TABLE, few=few)
    for table in (TABLE.slice(0, 0), NULLS):
        out = read(sw.slide(build(table), list(aggregates.values()), WINDOWS, by="key", order="ts"))
        assert len(out) == len(table)
        for alias, one in aggregates.items():
            none = 0 if Fold(one, TABLE, "ts").monoid.answers_empty else None
            answers = out[f"{alias}_3r"].to_pylist()
            assert answers == [none] * len(table) if one.columns else all(answers)


# --- plain sequences and live windows --------------------------------------------------------------------------------

SEQUENCES: dict[str, list[Any]] = {
    "int": [3, -1, 4, 4, -5, 9, 2, 6, -(2**40)],
    "float": [3.5, -1.0, math.nan, math.inf, 2.0, 7.0, -math.inf, 0.0, 1.0],
    "bool": [True, True, False, True, False, False],
    "temporal": [EPOCH + dt.timedelta(seconds=seconds) for seconds in (5, 3, 9, 9, 1, 4)],
    "decimal": [Decimal("1.50"), Decimal("-0.25"), Decimal("99.00"), Decimal("0.00"), Decimal("99.00")],
    "string": ["b", "", "a", "ä", "b", "a"],
    "object": [b"b", b"", b"\xff", b"a", b"b"],
}


def _as_machine(answers: list[Any], kind: pa.DataType) -> list[Any]:
    return machine(pa.array([_as_struct(answer, kind) for answer in answers], kind))


def _as_struct(answer: Any, kind: pa.DataType) -> Any:
    """A struct comes as a tuple on a list."""
    if pa.types.is_struct(kind) and isinstance(answer, tuple):
        return dict(zip([field.name for field in kind], answer, strict=True))
    return answer


@few_or_all
@pytest.mark.parametrize(
    ("one", "algorithm"),
    [
        pytest.param(one, algorithm, id=f"{label}-{algorithm}", marks=pytest.mark.slow if number else ())
        for algorithm in ("auto", *ALGORITHMS)
        for variants in VARIANTS.values()
        for number, (label, one) in enumerate(list(variants.items())[: None if algorithm == "auto" else 1])
    ],
)
def test_sequences_and_live_windows(one: Aggregate, algorithm: str, few: bool) -> None:
    """The normal run has one kind of values that compiles, and all that do not; of some built-ins all."""
    if takes(one) == 2 and 1 not in family_of(one).columns:
        with pytest.raises(ArgumentError, match="2 columns"):
            sw.slide([1.0, 2.0], one, sw.trailing(3), algorithm=algorithm)
        return
    ran = False
    compiling = [kind for kind in ("float", "int", "bool", "temporal") if taken_of(one, SEQUENCES[kind]) is not None]
    few = few and (algorithm != "auto" or family_of(one).name not in CORE)
    for kind, values in SEQUENCES.items():
        if few and kind in compiling[1:]:
            continue
        with_nulls = [*values[:3], None, *values[3:]]
        _check_list(one, with_nulls, algorithm)
        ran |= _check_list(one, values, algorithm)
        if kind in ("int", "float", "bool") and taken_of(one, values) is not None:
            _check_numpy(one, values, algorithm)
    assert ran or algorithm != "auto"


def taken_of(one: Aggregate, values: list[Any]) -> Fold | None:
    table = pa.table({"data": values})
    try:
        return Fold(replace(one, columns=() if 0 in family_of(one).columns else ("data",)), table)
    except ArgumentError:
        return None


def _wanted(fold: Fold, size: int) -> list[Any]:
    return [fold(range(max(0, row - 2), row + 1)) for row in range(size)]


def _check_list(one: Aggregate, values: list[Any], algorithm: str) -> bool:
    """A list, a live window, a pandas and a Polars Series; False if these values are refused."""
    fold = taken_of(one, values)
    if fold is None or not serves(algorithm, fold.monoid):
        with pytest.raises(ArgumentError):
            sw.slide(values, one, sw.trailing(3), algorithm=algorithm)
        return False
    wanted = _wanted(fold, len(values))
    kind = sw.schema(values, one, sw.trailing(3)).field(0).type
    listed = sw.slide(values, one, sw.trailing(3), algorithm=algorithm)
    assert_answers(_as_machine(listed, kind), wanted, f"{one} of {values}")
    series = sw.slide(pl.Series(values), one, sw.trailing(3), algorithm=algorithm)
    assert_answers(machine(series.to_arrow()), wanted, f"Polars {one}")
    arrow_backed = pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([values])))
    framed = sw.slide(arrow_backed, one, sw.trailing(3), algorithm=algorithm)
    assert_answers(machine(pa.array(framed.array)), wanted, f"pandas {one}")
    live = _live(one, values, algorithm)
    if live is not None and pa.types.is_decimal(kind):  # of no type, so a live mean is not rounded
        assert_answers(listed, live, f"live {one}")
    elif live is not None:
        assert_answers(_as_machine(live, kind), wanted, f"live {one}")
    return True


def _live(one: Aggregate, values: list[Any], algorithm: str) -> list[Any] | None:
    """A live window has Python objects in place of times, so it does no arithmetic on them: then None."""
    try:
        return sw.LiveWindow(one, sw.trailing(3), algorithm).extend(values)
    except ArgumentError:
        assert any(isinstance(value, dt.datetime) for value in values)
        return None


def _check_numpy(one: Aggregate, values: list[Any], algorithm: str) -> None:
    fold = taken_of(one, values)
    assert fold is not None
    if serves(algorithm, fold.monoid):
        kind = sw.schema(np.array(values), one, sw.trailing(3)).field(0).type
        array = sw.slide(np.array(values), one, sw.trailing(3), algorithm=algorithm)
        assert isinstance(array, np.ndarray)
        numbers = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)
        assert (array.dtype == object) == (not numbers), "numbers are numbers, whatever made them"
        assert_answers(
            [plain(answer) for answer in array.tolist()], _wanted(fold, len(values)), f"NumPy {one}", nan_is_null=True
        )


# --- Spark -----------------------------------------------------------------------------------------------------------


def _on_spark(
    algorithm: str, few: bool | None = None, names: Iterable[str] = tuple(BUILTINS)
) -> list[dict[str, Aggregate]]:
    """In parts, since a query of hundreds of Python results takes Spark long to plan."""
    found = [
        (alias, one)
        for name in sorted(names)
        for alias, one in chosen(name, TABLE, algorithm, few=few).items()
        if POSITION not in one.inputs
    ]
    return [dict(found[k : k + 80]) for k in range(0, len(found), 80)]


def _in_time(out: pa.Table) -> pa.Table:
    return out.sort_by("ts")


@pytest.mark.spark
@pytest.mark.parametrize("algorithm", ["auto", *ALGORITHMS])
def test_spark_batch(spark: Any, algorithm: str) -> None:
    """Those of the normal run, with their first setting."""
    _check_on_spark(spark, algorithm, ON_SPARK if algorithm == "auto" else in_normal_run(algorithm), few=True)


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["auto", *ALGORITHMS])
def test_spark_batch_of_every_built_in(spark: Any, algorithm: str) -> None:
    _check_on_spark(spark, algorithm, BUILTINS)


def _check_on_spark(spark: Any, algorithm: str, names: Iterable[str], few: bool | None = None) -> None:
    frame = spark.createDataFrame(TABLE)
    for aggregates in _on_spark(algorithm, few, names):
        out = sw.slide(frame, list(aggregates.values()), WINDOWS, by="key", order="ts", algorithm=algorithm)
        check(TABLE, _in_time(out.toArrow()), aggregates)


@pytest.mark.spark
def test_spark_rows_have_no_position(spark: Any) -> None:
    frame = spark.createDataFrame(TABLE)
    for one in (sw.argmin("whole"), sw.argmax("real")):
        with pytest.raises(ArgumentError, match="no position"):
            sw.slide(frame, one, sw.trailing(3), by="key", order="ts")


@pytest.mark.spark
@pytest.mark.timeout(600)
@pytest.mark.parametrize("names", [ON_SPARK, rare(frozenset(BUILTINS))], ids=["some", "all"])
def test_spark_stream(spark: Any, tmp_path: Path, names: frozenset[str]) -> None:
    """A query costs seconds: one setting of each built-in, by the ladder's choice."""
    parts = _on_spark("auto", few=True, names=names)
    for number, aggregates in enumerate(parts):
        out = _streamed(spark, tmp_path / f"{number}", list(aggregates.values()), "auto")
        check(TABLE, out, aggregates)


@pytest.mark.spark
def test_spark_stream_by_name(spark: Any, tmp_path: Path) -> None:
    """One named algorithm, on objects, with what it serves of numbers and of texts."""
    named = _on_spark("foa", few=True)
    aggregates = {
        alias: one for part in named for alias, one in part.items() if one.columns[:1] in (("real",), ("text",))
    }
    check(TABLE, _streamed(spark, tmp_path, list(aggregates.values()), "foa"), aggregates)


def _streamed(spark: Any, place: Path, aggregates: list[Aggregate], algorithm: str) -> pa.Table:
    """Two micro-batches with rows and one without, by a sentinel far ahead."""
    (place / "in").mkdir(parents=True)
    pq.write_table(TABLE.slice(0, 90), place / "in" / "0.parquet")
    last = pa.Table.from_pylist([{"key": "z", "ts": EPOCH + dt.timedelta(days=1)}], schema=TABLE.schema)
    pq.write_table(pa.concat_tables([TABLE.slice(90), last]), place / "in" / "1.parquet")
    for number in range(2):
        os.utime(place / "in" / f"{number}.parquet", (1_000_000_000 + number,) * 2)  # Spark reads the oldest first
    stream = spark.readStream.schema(spark.createDataFrame(TABLE).schema).option("maxFilesPerTrigger", 1)
    events = stream.parquet(str(place / "in"))
    out = sw.slide(events, aggregates, WINDOWS, by="key", order="ts", lateness="1 h", algorithm=algorithm)
    name = f"enumerated_{uuid.uuid4().hex}"
    query = (
        out.writeStream.format("memory")
        .queryName(name)
        .option("checkpointLocation", str(place / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    rows = spark.table(name).toArrow()
    return _in_time(rows.filter(pc.not_equal(rows["key"], "z")))
