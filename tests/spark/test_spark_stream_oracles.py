"""Spark's own streaming aggregation as an outside oracle, with the same watermark over the same files.

groupBy(key, window(t, range, step))  =  trailing(range).every(step)       every built-in that Spark can say
groupBy(key, session_window(t, gap))  =  session(gap)                      rows within the lateness
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import slidewise as sw
from slidewise.monoids import BUILTINS
from tests.spark.replay import SECOND, assert_answers
from tests.spark.test_stream import FAR, Files, arrivals, random_rows, run, sentinel, written

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

pytestmark = pytest.mark.spark

MORE = ["*", "n * 7919 % 1009 w", "n % 7 + x / 10 y", "1 + x / 20 p", "x > 0 b"]
"""Further columns: numbers that are all different, a second and a positive measure, truth values."""


def values(column: str) -> str:
    """The values of a window in order of time, as Spark collects them; null if there are none."""
    found = f"sort_array(collect_list(struct(t, {column})) filter (where {column} is not null))"
    return f"if(count({column}) = 0, null, transform({found}, row -> row.{column}))"


X, P, S = values("x"), values("p"), values("s")
COUNTED = f"transform(array_distinct({X}), v -> struct(-size(filter({X}, e -> e = v)) as less, v))"
THEIRS: dict[str, tuple[sw.Aggregate, str]] = {
    "count": (sw.count("x"), "count(x)"),
    "sum": (sw.sum("x"), "sum(x)"),
    "product": (sw.product("p"), f"aggregate({P}, 1D, (a, e) -> a * e)"),
    "mean": (sw.mean("x"), "avg(x)"),
    "var": (sw.var("x"), "var_samp(x)"),
    "stddev": (sw.stddev("x"), "stddev_samp(x)"),
    "skew": (sw.skew("x", bias=True), "skewness(x)"),
    "kurt": (sw.kurt("x", bias=True), "kurtosis(x)"),
    "geomean": (sw.geomean("p"), "exp(avg(ln(p)))"),
    "min": (sw.min("v"), "min(v)"),
    "max": (sw.max("v"), "max(v)"),
    "argmin": (sw.argmin("x", "w"), "min_by(x, w)"),
    "argmax": (sw.argmax("x", "w"), "max_by(x, w)"),
    "count_of_min": (sw.count_of_min("x"), f"cast(size(filter({X}, e -> e = array_min({X}))) as long)"),
    "count_of_max": (sw.count_of_max("x"), f"cast(size(filter({X}, e -> e = array_max({X}))) as long)"),
    "spread": (sw.spread("x"), "max(x) - min(x)"),
    "first": (sw.first("x"), "min_by(x, t) filter (where x is not null)"),
    "last": (sw.last("x"), "max_by(x, t) filter (where x is not null)"),
    "first_n": (sw.first_n("x", 3), f"slice({X}, 1, 3)"),
    "last_n": (sw.last_n("x", 3), f"reverse(slice(reverse({X}), 1, 3))"),
    "collect": (sw.collect("x"), X),
    "collect_distinct": (sw.collect_distinct("x"), f"array_distinct({X})"),
    "count_distinct": (sw.count_distinct("x"), f"cast(coalesce(size(array_distinct({X})), 0) as long)"),
    "top_k": (sw.top_k("x", 3), f"slice(sort_array({X}, false), 1, 3)"),
    "most_frequent": (sw.most_frequent("x", 2), f"transform(slice(array_sort({COUNTED}), 1, 2), one -> one.v)"),
    "quantile": (sw.quantile("x", 0.3, exact=True), "percentile(x, 0.3)"),
    "median": (sw.median("x"), "percentile(x, 0.5)"),
    "covariance": (sw.covariance("x", "y"), "covar_samp(x, y)"),
    "correlation": (sw.correlation("x", "y"), "corr(x, y)"),
    "all": (sw.all("b"), "bool_and(b)"),
    "any": (sw.any("b"), "bool_or(b)"),
    "concat": (sw.concat("s"), f"array_join({S}, '')"),
}
NOT_SPARKS = {"bloom", "approx_distinct", "longest_increasing_run", "time_weighted_mean", "ewm"}
"""Built-ins that Spark has no word for, or sketches otherwise."""


def test_every_builtin_is_here() -> None:
    assert THEIRS.keys() | NOT_SPARKS == BUILTINS.keys()


def some_files(place: Path, size: int, seed: int) -> Files:
    """Rows at times of their own, out of order within 4.5 s, in three batches, and one that ends all windows."""
    files = Files(place / "in")
    rows = [{**row, "t": row["t"] + row["n"] % 2 * SECOND // 4} for row in random_rows(size, seed)]
    files.add(arrivals(rows, 4.5, seed), parts=3)
    files.add([sentinel(FAR)])
    return files


def both(spark: SparkSession, place: Path, files: Files, aggregates: dict[str, Any], window: Any, w: Column) -> int:
    """Run ours and theirs; the same rows. Returns how many."""
    from pyspark.sql import functions as F

    mine = [one.alias(name) for name, (one, _) in aggregates.items()]

    def stream() -> DataFrame:
        return files.stream(spark).selectExpr(*MORE)

    run(sw.slide(stream(), mine, window, by="k", order="t", lateness="5 s"), place / "ours")
    said = [F.expr(sql).alias(name) for name, (_, sql) in aggregates.items()]
    grouped = stream().withWatermark("t", "5 seconds").groupBy("k", w.alias("w")).agg(*said)
    own = grouped.selectExpr("k", "w.start window_start", "w.end window_end", *(f"`{name}`" for name in aggregates))
    run(own, place / "theirs")
    theirs = written(spark, place / "theirs")
    assert_answers([written(spark, place / "ours")], theirs, ["k", "window_start", "window_end", *aggregates])
    return int(theirs.num_rows)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_windows_with_a_step(spark: SparkSession, tmp_path: Path) -> None:
    from pyspark.sql import functions as F

    window = F.window("t", "6 seconds", "4 seconds")
    found = both(spark, tmp_path, some_files(tmp_path, 300, 41), THEIRS, sw.trailing("6 s").every("4 s"), window)
    assert found > 60


@pytest.mark.slow
def test_sessions(spark: SparkSession, tmp_path: Path) -> None:
    """A gap of one second exactly still joins."""
    from pyspark.sql import functions as F

    few = {name: THEIRS[name] for name in ("count", "sum", "max", "first", "concat")}
    window = F.session_window("t", "1 second")
    assert both(spark, tmp_path, some_files(tmp_path, 200, 42), few, sw.session("1 s"), window) > 40
