"""Rows without a key on Spark: ranges of the order with halos answer as one task does, and both cores work."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import slidewise as sw
from slidewise.engine.plan import Plan
from slidewise.spark import apart, batch, ranges, spark_types
from slidewise.spark.recipe import Recipe
from tests.catalogue import rare

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

ROWS = 3_000
AGGREGATES = [sw.max("x"), sw.count("x")]


@pytest.fixture(scope="module")
def table() -> pa.Table:
    """Times and numbers with ties, a stretch of equal ones, gaps; values with nulls. Rows in no order."""
    draw = random.Random(7)
    times = sorted(draw.choice([0, 1, 1, 2, 40]) for _ in range(ROWS))
    steps = [sum(times[: k + 1]) for k in range(0, ROWS, 100)]
    order = [steps[k // 100] + times[k] * (k % 100) // 50 for k in range(ROWS)]
    draw.shuffle(order)
    values = [None if draw.random() < 0.1 else draw.randint(-50, 50) for _ in range(ROWS)]
    return pa.table(
        {
            "id": pa.array(range(ROWS), pa.int64()),
            "n": pa.array(order, pa.int64()),
            "f": pa.array([float(v) / 2 for v in order], pa.float64()),
            "t": pa.array([v * 1_000_000 for v in order], pa.timestamp("us", "UTC")),
            "d": pa.array([v // 50 for v in order], pa.date32()),
            "x": pa.array(values, pa.int64()),
        }
    )


@pytest.fixture
def huge(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any number of rows is worth several tasks."""
    monkeypatch.setattr(ranges, "WORTH", 0)


@pytest.fixture
def df(spark: SparkSession, table: pa.Table, huge: None) -> DataFrame:
    return spark.createDataFrame(table)


CASES: list[tuple[str, Any]] = [
    ("n", sw.trailing(50)),
    ("n", sw.trailing(1, include_current=False)),
    ("n", sw.trailing(20, along="order")),
    ("f", sw.trailing(7.5)),
    ("t", sw.trailing("20 s", ties="together")),
    ("t", sw.trailing("90 s", coarse="30 s", min_rows=5)),
    ("d", sw.trailing("1 d")),
    ("t", {"rows": sw.trailing(10), "time": sw.trailing("15 s")}),
    ("n", sw.around(5, 9)),
    ("t", sw.around("20 s", "5 s")),
    ("f", {"past": sw.trailing(3), "both": sw.around(2.5, 7.5, ties="together")}),
    ("n", sw.expanding()),
    ("t", sw.expanding(include_current=False, min_rows=700)),
    ("f", sw.expanding(ties="together")),
    ("t", {"all": sw.expanding(), "rows": sw.trailing(30), "time": sw.trailing("10 s")}),
    ("t", sw.tumbling("7 s")),
    ("t", sw.trailing("20 s", min_rows=2).every("3 s")),
    ("f", sw.trailing(4.0).every(1.5)),
    ("d", sw.tumbling("2 d")),
    ("n", sw.trailing(7).every(3)),
    ("n", sw.tumbling(10)),
    ("t", {"short": sw.tumbling("2 s"), "several": sw.trailing("20 s").every("3 s")}),
    ("n", {"a": sw.trailing(7).every(3), "b": sw.tumbling(10)}),
    ("n", sw.session(1)),
    ("t", sw.session("1 s", min_rows=2)),
    ("f", sw.session(0.5)),
]


OFTEN = (
    "trailing(50)",
    "time",
    "around('20 s'",
    "trailing(4.0).every",
    "tumbling(10)",
    "several",
    "session(1)",
    "'all'",
)
"""Of these the normal run has one each."""


@pytest.mark.parametrize(
    ("order", "window"),
    [
        pytest.param(order, window, marks=[] if any(part in str(window) for part in OFTEN) else pytest.mark.slow)
        for order, window in CASES
    ],
    ids=str,
)
def test_ranges_answer_as_one_task_does(df: DataFrame, order: str, window: Any) -> None:
    made = cut(df, recipe_of(df, order, window), 4)
    assert made is not None, "one range only: nothing is shown"
    assert all(back is None or back <= start for start, back in zip(made.starts, made.back, strict=True))
    many = sw.slide(df, AGGREGATES, window, order=order, threads=4)
    one = sw.slide(df, AGGREGATES, window, order=order, threads=1)
    assert many.columns == one.columns
    key = "id" if "id" in one.columns else "window_end"
    assert many.orderBy(key).toArrow().equals(one.orderBy(key).toArrow())


@pytest.mark.parametrize(
    "window", [sw.trailing(40), rare(sw.expanding()), sw.tumbling("5 s"), rare(sw.session("2 s"))], ids=str
)
def test_a_key_with_most_rows_is_cut_too(spark: SparkSession, table: pa.Table, window: Any, huge: None) -> None:
    draw = random.Random(3)
    names = [draw.choice(["ä", "ä", "ä", None, None, *"bcdefg"]) for _ in range(ROWS)]
    df = spark.createDataFrame(table.append_column("k", pa.array(names)).append_column("j", pa.array([1] * ROWS)))
    assert [split.key for split in splits_of(df, recipe_of(df, "t", window, by=["k", "j"]), 5)] == [("ä", 1)]
    many = sw.slide(df, AGGREGATES, window, by=["k", "j"], order="t", threads=5)
    one = sw.slide(df, AGGREGATES, window, by=["k", "j"], order="t")
    assert many.columns == one.columns
    keys = ["id"] if "id" in one.columns else ["k", "window_end"]
    assert many.orderBy(*keys).toArrow().equals(one.orderBy(*keys).toArrow())
    assert "more than one in 5 of all rows" in sw.explain(df, AGGREGATES, window, by=["k", "j"], order="t", threads=5)


def test_answers_of_others_are_not_computed(spark: SparkSession, huge: None) -> None:
    """In a range's halo windows are cut short: here their sums would not fit, nor their quotients be defined."""
    values = [(-1, 1, 1)[n % 3] * 2**62 for n in range(600)]
    table = pa.table({"n": range(600), "x": values, "y": [float(n % 3) for n in range(600)]})
    share = sw.Monoid(identity=0.0, combine=lambda a, b: a + b, lower=lambda p: 1.0 / p, name="share")
    aggregates = [sw.sum("x"), sw.aggregate(share, "y")]
    df = spark.createDataFrame(table)
    made = sw.slide(df, aggregates, sw.trailing(3, min_rows=3), order="n", threads=4)
    wanted = sw.slide(table, aggregates, sw.trailing(3, min_rows=3), order="n")
    assert made.orderBy("n").toArrow().column("share_y").equals(wanted["share_y"])
    assert made.orderBy("n").toArrow().column("sum_x").equals(wanted["sum_x"])


def test_windows_of_others_are_not_computed(spark: SparkSession, huge: None) -> None:
    """Nor are those with a step that end in another range."""
    table = pa.table({"n": range(600), "y": [float(n % 3 == 0) for n in range(600)]})
    share = sw.Monoid(identity=0.0, combine=lambda a, b: a + b, lower=lambda p: 1.0 / p, name="share")
    df = spark.createDataFrame(table)
    for window in (sw.trailing(3).every(3), sw.tumbling(3, along="order")):
        made = sw.slide(df, sw.aggregate(share, "y"), window, order="n", threads=4)
        wanted = sw.slide(table, sw.aggregate(share, "y"), window, order="n")
        assert made.orderBy("window_end").toArrow().column("share_y").equals(wanted["share_y"])


@pytest.mark.parametrize(
    "window", [sw.around(4, 3), rare(sw.trailing(9, min_rows=2)), rare(sw.trailing(5).every(2))], ids=str
)
def test_places_at_the_ends_of_numbers(spark: SparkSession, window: Any, huge: None) -> None:
    draw = random.Random(1)
    whole = [draw.choice([2**63 - 1, -(2**63), draw.randrange(-(2**63), 2**63)]) for _ in range(400)]
    real = [draw.choice([float("inf"), float("-inf"), draw.uniform(-9, 9)]) for _ in range(400)]
    table = pa.table({"id": range(400), "n": whole, "f": real, "x": [draw.randint(-9, 9) for _ in range(400)]})
    df = spark.createDataFrame(table)
    for order in ("n", "f"):
        many = sw.slide(df, AGGREGATES, window, order=[order, "id"], threads=4)
        one = sw.slide(df, AGGREGATES, window, order=[order, "id"], threads=1)
        assert cut(df, recipe_of(df, order, window), 4) is not None
        key = "id" if "id" in one.columns else "window_end"
        assert many.orderBy(key).toArrow().equals(one.orderBy(key).toArrow())


def test_names_that_ranges_use(spark: SparkSession, huge: None) -> None:
    df = spark.range(500).selectExpr("id n", "id __slidewise_halo")
    with pytest.raises(sw.errors.ArgumentError, match="__slidewise_halo"):
        sw.slide(df, sw.count(), sw.trailing(3), order="n", threads=4)


def test_no_key_is_large_enough(df: DataFrame) -> None:
    assert splits_of(df, recipe_of(df, "t", sw.trailing(5), by="id"), 4) == []


@pytest.mark.parametrize(
    "window", [sw.trailing(50), rare(sw.expanding()), rare(sw.trailing("20 s").every("1 s"))], ids=str
)
def test_every_core_has_rows_of_its_own(df: DataFrame, window: Any) -> None:
    from pyspark.sql import functions as F

    many = sw.slide(df, sw.max("x"), window, order="t", threads=2)
    rows = [row[1] for row in many.groupBy(F.spark_partition_id()).count().collect()]
    assert len(rows) == 2
    assert min(rows) > sum(rows) / 10


def test_two_cores_are_kept_busy_by_one_task(df: DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_of(df, "t", sw.trailing(5))
    assert not batch.may_cut(df, plan, None)
    assert batch.may_cut(df, plan, 2)
    assert not batch.may_cut(df, plan, 1)
    monkeypatch.setattr(batch, "CORES", 2)
    assert batch.may_cut(df, plan, None)
    assert not batch.may_cut(df, plan_of(df, "t", sw.trailing(5), by="id"), None)


def test_a_long_halo_means_fewer_ranges(df: DataFrame) -> None:
    assert cut(df, recipe_of(df, "n", sw.trailing(ROWS)), 4) is None


def test_few_rows_stay_in_one_task(df: DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranges, "WORTH", ROWS + 1)
    assert cut(df, recipe_of(df, "n", sw.trailing(5)), 4) is None


def test_one_session_stays_in_one_task(df: DataFrame) -> None:
    assert cut(df, recipe_of(df, "t", sw.session("10 d")), 4) is None


def test_windows_that_cannot_be_cut(df: DataFrame) -> None:
    policy = sw.evict_while(lambda total, old: total.n - old.n >= 5, uses={"n": sw.count()})
    for window in (sw.between("n", "id"), policy):
        assert not ranges.can_cut(df, plan_of(df, "n", window))
    assert not ranges.can_cut(df, plan_of(df, "n", sw.expanding(), aggregates=[sw.collect("x")]))


def test_explain_says_so(df: DataFrame) -> None:
    assert "cut into ranges" in sw.explain(df, sw.max("x"), sw.trailing(5), order="n", threads=4)
    assert "one task" in sw.explain(df, sw.max("x"), sw.trailing(5), order="n", threads=1)


def recipe_of(df: DataFrame, order: str, window: Any, by: Any = None, aggregates: Any = AGGREGATES) -> Recipe:
    return Recipe(spark_types(df), aggregates, window, by, order, "auto")


def plan_of(*call: Any, **options: Any) -> Plan:
    return recipe_of(*call, **options).plan()


def cut(df: DataFrame, recipe: Recipe, tasks: int) -> ranges.Ranges | None:
    return ranges.cut(df, recipe, recipe.plan(), tasks, batch.tie_of(df))


def splits_of(df: DataFrame, recipe: Recipe, tasks: int) -> list[apart.Split]:
    return apart.splits_of(df, recipe, recipe.plan(), tasks, batch.tie_of(df))


@pytest.mark.parametrize(
    "window", [sw.trailing(50), sw.expanding(), sw.trailing(9).every(4), sw.session("3 s")], ids=str
)
def test_data_that_changes_between_counting_and_reading_is_refused(df: DataFrame, window: Any) -> None:
    """A filter that lets other rows through each time it runs."""
    from pyspark.sql import functions as F

    @F.udf("boolean")
    def sometimes(number: int) -> bool:
        return random.SystemRandom().random() < 0.5  # workers that were forked alike draw alike from `random`

    changing = df.where(sometimes.asNondeterministic()("id"))
    with pytest.raises(
        Exception, match=r"data: a range of it had [\d,]+ rows when it was cut and [\d,]+ when it was read"
    ):
        sw.slide(changing, AGGREGATES, window, order="t", threads=3).collect()


def test_windows_by_time_do_not_care_what_was_counted(df: DataFrame) -> None:
    (split,) = splits_of(df, recipe_of(df, "t", sw.trailing("9 s")), 3)
    assert split.ranges.rows is None
