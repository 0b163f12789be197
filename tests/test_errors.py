"""The table of bad calls: each fails before any work starts, with one message that names the argument, the value and
what is allowed.

A row is (id, call, fragments). Every fragment must be in the message; of a tuple of fragments, one.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import slidewise as sw
from slidewise.errors import ArgumentError

Fragment = str | tuple[str, ...]

TABLE = pa.table(
    {
        "k": ["a", "b", "a"],
        "t": pa.array([0, 1, 2], pa.timestamp("us", tz="UTC")),
        "late": pa.array([0, None, 2], pa.timestamp("us", tz="UTC")),
        "i": [1, 2, 3],
        "v": [1.0, 2.0, 3.0],
        "s": ["x", "y", "z"],
        "tags": [["x"], [], ["y"]],
        "b": pa.array([True, False, None]),
        "gap": pa.array([1, 2, 3], pa.duration("us")),
        "max_v": [0, 0, 0],
    }
)
NANS = pa.table(
    {
        "v": [1.0, 2.0],
        "w": [1.0, float("nan")],
        "far": [1.0, 1e300],
        "inf": [1.0, float("inf")],
        "end": [0, 2**63 - 1],
        "tiny": pa.array([0, 127], pa.int8()),
        "huge": pa.array([0, 2**64 - 1], pa.uint64()),
        "s": pa.array([0, 1], pa.timestamp("s")),
        "t": pa.array([0, 1], pa.timestamp("us", tz="UTC")),
    }
)
POSITIVE = ("positive", "at least 1", "≥ 1", ">= 1", "1 or more", "greater than 0", "more than 0", "> 0")
UNITS = ("min", "seconds", " s", "h")


def slide(aggregates: Any = None, window: Any = None, data: Any = TABLE, **options: Any) -> Any:
    return sw.slide(
        data,
        sw.sum("v") if aggregates is None else aggregates,
        sw.trailing(2) if window is None else window,
        **options,
    )


def _live_expanding() -> sw.LiveWindow:
    live = sw.LiveWindow(sw.sum(), sw.expanding())
    live.extend([1, 2])
    return live


# --- on any machine --------------------------------------------------------------------------------------------------

BAD: list[tuple[str, Callable[[], Any], list[Fragment]]] = [
    # columns
    ("unknown_column", lambda: slide(sw.sum("wolt")), ["wolt", ("column", "columns"), "v"]),
    ("unknown_column_in_a_list", lambda: slide([sw.sum("v"), sw.max("wolt")]), ["wolt", "v"]),
    ("unknown_by", lambda: slide(by="key"), ["by", "'key'", "k"]),
    ("unknown_by_among_several", lambda: slide(by=["k", "key"]), ["by", "'key'", "k"]),
    ("unknown_order", lambda: slide(order="time"), ["order", "'time'", "t"]),
    ("by_twice", lambda: slide(by=["k", "k"]), ["by", "k", ("twice", "once", "duplicate", "repeat", "more than once")]),
    ("by_not_a_name", lambda: slide(by=3), ["by", "3", ("name", "column", "str")]),
    ("order_not_a_name", lambda: slide(order=3.5), ["order", "3.5", ("name", "column", "str")]),
    (
        "name_taken_by_a_column",
        lambda: slide(sw.max("v")),
        ["max_v", ("already", "exists", "collision", "collides", "taken"), "alias"],
    ),
    (
        "name_taken_by_a_result",
        lambda: slide([sw.sum("v"), sw.sum("v")]),
        ["sum_v", ("twice", "already", "collision", "collides", "taken", "both"), "alias"],
    ),
    ("alias_taken", lambda: slide([sw.sum("v"), sw.mean("v").alias("sum_v")]), ["sum_v", "alias"]),
    (
        "alias_takes_an_input_column",
        lambda: slide(sw.sum("v").alias("k")),
        ["'k'", ("already", "exists", "collision", "collides", "taken")],
    ),
    (
        "result_named_window_start",
        lambda: slide(sw.sum("v").alias("window_start"), sw.tumbling("1 s"), order="t"),
        ["window_start"],
    ),
    # durations
    ("unknown_unit", lambda: sw.trailing("5 parsecs"), ["5 parsecs", UNITS]),
    ("unit_only", lambda: sw.trailing("min"), ["'min'", UNITS]),
    ("no_unit", lambda: sw.trailing("5"), ["'5'", UNITS]),
    ("empty_duration", lambda: sw.trailing(""), ["''", UNITS]),
    ("words", lambda: sw.trailing("five minutes"), ["five minutes", UNITS]),
    ("negative_duration", lambda: sw.trailing("-5 min"), ["-5 min", POSITIVE]),
    ("zero_duration", lambda: sw.trailing("0 s"), ["0 s", POSITIVE]),
    (
        "month",
        lambda: sw.trailing("1 month"),
        ["1 month", ("day", "24 h"), ("length", "long", "calendar", "vary", "varies", "fixed")],
    ),
    (
        "years",
        lambda: sw.tumbling("2 years"),
        ["2 years", ("day", "24 h"), ("length", "long", "calendar", "vary", "varies", "fixed")],
    ),
    ("tumbling_zero", lambda: sw.tumbling("0 s"), ["0 s", POSITIVE]),
    ("tumbling_bad", lambda: sw.tumbling("soon"), ["soon", UNITS]),
    ("every_bad", lambda: sw.trailing("1 h").every("soon"), ["soon", UNITS]),
    ("every_zero", lambda: sw.trailing("1 h").every("0 s"), ["0 s", POSITIVE]),
    ("every_negative_rows", lambda: sw.trailing(5).every(-2), ["-2", POSITIVE]),
    ("every_zero_rows", lambda: sw.trailing(5).every(0), ["0", POSITIVE]),
    (
        "every_rows_of_a_time_window",
        lambda: sw.trailing("1 h").every(5),
        [("every", "step"), "5", ("duration", "time")],
    ),
    ("every_time_of_a_row_window", lambda: sw.trailing(5).every("1 min"), [("every", "step"), "1 min", "row"]),
    # windows
    ("zero_rows", lambda: sw.trailing(0), ["0", POSITIVE]),
    ("negative_rows", lambda: sw.trailing(-1), ["-1", POSITIVE]),
    ("half_rows", lambda: sw.trailing(1.5, along="rows"), ["1.5", ("int", "whole", "integer"), "rows"]),
    ("text_of_rows", lambda: sw.trailing([3]), ["[3]", "integer", "5 min", "order"]),
    ("true_rows", lambda: sw.trailing(True), ["True"]),
    ("no_rows", lambda: sw.trailing(None), ["None"]),
    ("negative_min_rows", lambda: sw.trailing(5, min_rows=-1), ["min_rows", "-1"]),
    ("half_min_rows", lambda: sw.trailing(5, min_rows=1.5), ["min_rows", "1.5", ("int", "whole")]),
    ("min_rows_beyond_the_window", lambda: sw.trailing(5, min_rows=6), ["min_rows", "6", "5"]),
    ("unknown_ties", lambda: sw.trailing("1 h", ties="loose"), ["ties", "loose", "together"]),
    # windows along the order
    ("unknown_along", lambda: sw.trailing(5, along="time"), ["along", "'time'", "rows", "order"]),
    ("duration_along_rows", lambda: sw.trailing("5 min", along="rows"), ["along", "5 min", "rows"]),
    ("zero_along", lambda: sw.trailing(0, along="order"), ["0", POSITIVE]),
    ("zero_float", lambda: sw.trailing(0.0), ["0.0", POSITIVE]),
    ("negative_float", lambda: sw.trailing(-1.5), ["-1.5", POSITIVE]),
    ("endless_float", lambda: sw.trailing(float("inf")), ["inf", "finite"]),
    ("nan_float", lambda: sw.tumbling(float("nan")), ["nan", "finite"]),
    ("every_time_along_numbers", lambda: sw.trailing(2.5).every("1 min"), ["every", "1 min", "number"]),
    ("every_zero_along", lambda: sw.trailing(2.5).every(0), ["every", "0", POSITIVE]),
    ("along_without_order", lambda: slide(window=sw.trailing(2.5)), ["order=None", "trailing(2.5)"]),
    ("along_text", lambda: slide(window=sw.trailing(2.5), order="s"), ["order", "'s'", "string", "integer or float"]),
    ("along_times", lambda: slide(window=sw.trailing(3, along="order"), order="t"), ["'t'", "timestamp", "5 min"]),
    ("time_along_numbers", lambda: slide(window=sw.around("1 s", "1 s"), order="v"), ["'v'", "double", "timestamp"]),
    ("half_along_integers", lambda: slide(window=sw.trailing(2.5), order="i"), ["'i'", "int64", "2.5", "whole"]),
    (
        "time_and_number",
        lambda: slide(window={"a": sw.trailing("1 s"), "b": sw.trailing(2.5)}, order="t"),
        ["'t'", "2.5"],
    ),
    ("nan_in_order", lambda: slide(window=sw.trailing(2.5), data=NANS, order="w"), ["order", "'w'", "NaN"]),
    ("order_near_the_end", lambda: slide(window=sw.session(5), data=NANS, order="end"), ["'end'", "int64", "5"]),
    ("far_from_0", lambda: slide(window=sw.tumbling(1.0), data=NANS, order="far"), ["'far'", "tumbling(1.0)"]),
    ("infinite_steps", lambda: slide(window=sw.tumbling(1.0), data=NANS, order="inf"), ["'inf'", "tumbling(1.0)"]),
    ("narrow_order", lambda: slide(window=sw.tumbling(99, along="order"), data=NANS, order="tiny"), ["'tiny'", "int8"]),
    ("unsigned_order", lambda: slide(window=sw.session(5), data=NANS, order="huge"), ["'huge'", "uint64", "int64"]),
    # expanding, session, around, between, coarse
    ("expanding_extent", lambda: sw.expanding(min_rows=-1), ["min_rows", "-1"]),
    ("expanding_current", lambda: sw.expanding(include_current="no"), ["include_current", "'no'", "True"]),
    ("expanding_ties", lambda: sw.expanding(ties="maybe"), ["ties", "maybe", "together"]),
    ("expanding_every", lambda: sw.expanding().every("1 h"), ["every", "1 h", "expanding()"]),
    ("expanding_ties_without_order", lambda: slide(window=sw.expanding(ties="together")), ["order=None", "together"]),
    ("expanding_ties_of_text", lambda: slide(window=sw.expanding(ties="together"), order="s"), ["'s'", "string"]),
    ("session_zero", lambda: sw.session("0 s"), ["0 s", POSITIVE]),
    ("session_zero_number", lambda: sw.session(0), ["0", POSITIVE]),
    ("session_nothing", lambda: sw.session(None), ["None", "number", "5 min"]),
    ("session_months", lambda: sw.session("1 month"), ["1 month", "fixed length"]),
    ("session_every", lambda: sw.session("1 h").every("1 h"), ["every", "session('1 h')"]),
    ("session_without_order", lambda: slide(window=sw.session("1 h")), ["order=None", "session('1 h')"]),
    (
        "session_among_several",
        lambda: slide(window={"a": sw.expanding(), "b": sw.session("1 h")}, order="t"),
        ["window", "session", "one window"],
    ),
    (
        "session_of_a_coarse_order",
        lambda: slide(window=sw.session("1 ms"), data=NANS, order="s"),
        ["'s'", "coarse", "1 ms"],
    ),
    ("around_negative", lambda: sw.around(-1, 2), ["before", "-1"]),
    ("around_nothing", lambda: sw.around(0, 0), ["around(0, 0)", "more than 0"]),
    ("around_two_sorts", lambda: sw.around(3, "5 min"), ["around(3, '5 min')", "durations"]),
    ("around_rows_and_number", lambda: sw.around(3, 2.5), ["around(3, 2.5)", "along the order"]),
    ("around_ties_of_rows", lambda: sw.around(3, 3, ties="together"), ["ties", "rows"]),
    ("around_min_rows", lambda: sw.around(1, 1, min_rows=4), ["min_rows", "4", "3"]),
    ("around_every", lambda: sw.around(3, 3).every(3), ["every", "around(3, 3)"]),
    ("between_no_name", lambda: sw.between(3, "hi"), ["lo", "3", "column"]),
    ("between_empty_name", lambda: sw.between("lo", ""), ["hi", "''", "column"]),
    ("between_without_order", lambda: slide(window=sw.between("i", "i")), ["order=None", "between"]),
    ("between_unknown", lambda: slide(window=sw.between("i", "wolt"), order="i"), ["hi", "wolt", "column"]),
    ("between_text", lambda: slide(window=sw.between("s", "i"), order="i"), ["lo", "'s'", "string", "numbers"]),
    ("between_times_and_numbers", lambda: slide(window=sw.between("t", "i"), order="t"), ["hi", "'i'", "int64"]),
    (
        "between_zones",
        lambda: slide(window=sw.between("t", "s"), data=NANS, order="s"),
        ["lo", "'t'", "UTC", "zone"],
    ),
    ("between_on_a_list", lambda: sw.slide([1], sw.sum(), sw.between("a", "b"), order=[1]), ["between", "table"]),
    (
        "between_algorithm",
        lambda: slide(window=sw.between("i", "i"), order="i", algorithm="two_stacks_lite"),
        ["algorithm", "two_stacks_lite", "auto"],
    ),
    ("coarse_rows", lambda: sw.trailing(5, coarse=1), ["coarse", "1", "rows"]),
    ("coarse_beyond", lambda: sw.trailing("1 min", coarse="1 h"), ["coarse", "1 h", "1 min"]),
    ("coarse_number_of_time", lambda: sw.trailing("1 h", coarse=5), ["coarse", "5", "duration"]),
    ("coarse_time_of_number", lambda: sw.trailing(2.5, coarse="1 min"), ["coarse", "1 min", "number"]),
    ("coarse_every", lambda: sw.trailing("1 h", coarse="1 min").every("1 h"), ["every", "coarse"]),
    # durations of others
    ("numpy_month", lambda: sw.trailing(np.timedelta64(1, "M")), ["1", "duration"]),
    ("numpy_nat", lambda: sw.trailing(np.timedelta64("NaT")), ["NaT", "duration"]),
    ("numpy_no_unit", lambda: sw.trailing(np.timedelta64(5)), ["5", "duration"]),
    ("pandas_negative", lambda: sw.trailing(pd.Timedelta("-1s")), ["-1", POSITIVE]),
    # live windows
    ("live_around", lambda: sw.LiveWindow(sw.sum(), sw.around(3, 3)), ["window", "around(3, 3)", "ahead"]),
    ("live_between", lambda: sw.LiveWindow(sw.sum(), sw.between("a", "b")), ["window", "between", "ahead"]),
    ("live_ties", lambda: sw.LiveWindow(sw.sum(), sw.expanding(ties="together")), ["window", "ties='apart'"]),
    ("live_tumbling", lambda: sw.LiveWindow(sw.sum(), sw.tumbling("1 s")), ["window", "tumbling", "per-event"]),
    ("live_evict_a_part", lambda: _live_expanding().evict(), ["n=1", "two_stacks_lite"]),
    ("live_nan_place", lambda: sw.LiveWindow(sw.sum(), sw.trailing(2.5)).push(1, np.nan), ["time=nan", "number"]),
    ("live_time_as_place", lambda: sw.LiveWindow(sw.sum(), sw.session(2)).push(1, dt.date.today()), ["time", "number"]),
    ("not_a_window", lambda: slide(window=5), ["window", "5", "trailing"]),
    ("duration_as_window", lambda: slide(window="5 min"), ["window", "5 min", "trailing"]),
    ("not_a_window_in_a_dict", lambda: slide(window={"a": sw.trailing(2), "b": 7}), ["window", "7", "trailing"]),
    ("no_windows", lambda: slide(window={}), ["window", ("empty", "at least one", "one or more", "none")]),
    ("window_name_not_text", lambda: slide(window={5: sw.trailing(5)}), ["window", "5", ("name", "str", "text")]),
    (
        "per_event_and_per_window",
        lambda: slide(window={"a": sw.trailing("1 h"), "b": sw.tumbling("1 h")}, order="t"),
        ["window", ("every", "per event", "per window", "one row per", "shape")],
    ),
    # order
    ("time_window_without_order", lambda: slide(window=sw.trailing("5 min")), ["order", ("time", "duration")]),
    ("tumbling_without_order", lambda: slide(window=sw.tumbling("5 min")), ["order"]),
    ("null_in_order", lambda: slide(order="late"), ["order", "late", "null"]),
    (
        "null_in_order_of_a_time_window",
        lambda: slide(window=sw.trailing("5 min"), order="late"),
        ["order", "late", "null"],
    ),
    (
        "text_as_time",
        lambda: slide(window=sw.trailing("5 min"), order="s"),
        ["order", "'s'", ("timestamp", "time"), ("string", "str", "text")],
    ),
    (
        "float_as_time",
        lambda: slide(window=sw.tumbling("5 min"), order="v"),
        ["order", "'v'", ("timestamp", "time"), ("double", "float")],
    ),
    ("nested_order", lambda: slide(order="tags"), ["order", "tags", "list"]),
    (
        "order_is_a_name_for_a_list",
        lambda: sw.slide([1, 2], sw.sum(), sw.trailing(2), order="t"),
        ["order", "'t'", ("array", "sequence", "list", "values")],
    ),
    ("order_too_short", lambda: sw.slide([1, 2, 3], sw.sum(), sw.trailing(2), order=[1, 2]), ["order", "2", "3"]),
    (
        "order_too_long",
        lambda: sw.slide(np.arange(2), sw.sum(), sw.trailing(2), order=np.arange(3)),
        ["order", "2", "3"],
    ),
    ("null_in_order_of_a_list", lambda: sw.slide([1, 2], sw.sum(), sw.trailing(2), order=[1, None]), ["order", "null"]),
    ("time_window_on_a_list_without_order", lambda: sw.slide([1, 2], sw.sum(), sw.trailing("1 h")), ["order"]),
    (
        "time_window_on_a_list_of_text",
        lambda: sw.slide([1, 2], sw.sum(), sw.trailing("1 h"), order=["a", "b"]),
        ["order", ("timestamp", "time")],
    ),
    (
        "nat_in_order",
        lambda: sw.slide(np.arange(2), sw.sum(), sw.trailing("1 h"), order=np.array([0, "NaT"], "datetime64[us]")),
        ["order", ("null", "NaT")],
    ),
    # aggregates
    ("no_aggregates", lambda: slide([]), ["aggregates", ("empty", "at least one", "one or more", "none")]),
    ("not_an_aggregate", lambda: slide("max"), ["aggregates", "max", ("sw.max", "aggregate")]),
    ("not_an_aggregate_in_a_list", lambda: slide([sw.sum("v"), 5]), ["aggregates", "5"]),
    ("the_function_itself", lambda: slide(sw.max), ["aggregates", ("sw.max(", "call", "aggregate")]),
    ("a_bare_monoid", lambda: slide(sw.Monoid(identity=0, combine=max, name="m")), ["aggregates", "sw.aggregate"]),
    ("unbound_on_a_table", lambda: slide(sw.sum()), ["sum", "column"]),
    ("bound_on_a_list", lambda: sw.slide([1, 2], sw.sum("v"), sw.trailing(2)), ["sum", "'v'", ("column", "table")]),
    (
        "bound_on_an_array",
        lambda: sw.slide(np.arange(3), sw.sum("v"), sw.trailing(2)),
        ["sum", "'v'", ("column", "table")],
    ),
    ("by_on_a_list", lambda: sw.slide([1, 2], sw.sum(), sw.trailing(2), by="k"), ["by", "'k'"]),
    ("sum_of_text", lambda: slide(sw.sum("s")), ["sum", "'s'", "string", ("number", "numeric", "int")]),
    ("mean_of_text", lambda: slide(sw.mean("s")), ["mean", "'s'", "string"]),
    ("stddev_of_a_list_column", lambda: slide(sw.stddev("tags")), ["stddev", "tags", "list"]),
    ("sum_of_times", lambda: slide(sw.sum("t")), ["sum", "'t'", ("timestamp", "temporal")]),
    (
        "sum_of_a_list_of_text",
        lambda: sw.slide(["a", "b"], sw.sum(), sw.trailing(2)),
        ["sum", ("string", "str", "text")],
    ),
    (
        "sum_of_a_mixed_list",
        lambda: sw.slide([1, "b"], sw.sum(), sw.trailing(2)),
        ["data", ("mixed", "type", "convert", "string", "str")],
    ),
    ("column_not_a_name", lambda: sw.sum(5), ["5", ("name", "column", "str")]),
    ("alias_not_a_name", lambda: sw.sum("v").alias(5), ["alias", "5", ("name", "str")]),
    ("alias_empty", lambda: sw.sum("v").alias(""), ["alias", "''"]),
    # options of aggregates
    ("top_k_of_none", lambda: sw.top_k("v", 0), ["k=0", "1 to 1024"]),
    ("top_k_of_a_half", lambda: sw.top_k("v", k=1.5), ["k=1.5", "integer"]),
    ("top_k_of_many", lambda: sw.top_k("v", 5000), ["k=5000", "1024"]),
    ("top_k_column", lambda: sw.top_k(3, 4), ["column=3", "name"]),
    ("first_n_negative", lambda: sw.first_n("v", -1), ["n=-1", "1 to 1024"]),
    ("last_n_true", lambda: sw.last_n("v", True), ["n=True", "integer"]),
    ("most_frequent_k", lambda: sw.most_frequent("v", "many"), ["k='many'", "integer"]),
    ("most_frequent_counts", lambda: sw.most_frequent("v", counts=1), ["counts=1", "True or False"]),
    ("quantile_in_percent", lambda: sw.quantile("v", 99), ["q=99", "0 to 1"]),
    ("quantile_nan", lambda: sw.quantile("v", float("nan")), ["q=nan", "0 to 1"]),
    ("quantile_text", lambda: sw.quantile("v", "half"), ["q='half'", "0 to 1"]),
    ("quantile_twice", lambda: sw.quantile(0.5, 0.5), ["column=0.5", "name"]),
    ("quantile_error", lambda: sw.quantile("v", error=0), ["error=0", "0.001 to 0.5"]),
    ("quantile_exact", lambda: sw.quantile("v", exact="yes"), ["exact='yes'", "True or False"]),
    ("quantile_range", lambda: sw.quantile("v", smallest=5, largest=1), ["smallest=5", "largest=1"]),
    ("quantile_range_text", lambda: sw.quantile("v", smallest="a"), ["smallest='a'", "largest"]),
    ("approx_distinct_error", lambda: sw.approx_distinct("v", error=1), ["error=1", "0.0041 to 0.26"]),
    ("bloom_capacity", lambda: sw.bloom("v", capacity=0), ["capacity=0", "integer"]),
    ("bloom_error", lambda: sw.bloom("v", error="1%"), ["error='1%'", "0.5"]),
    ("not_a_bloom", lambda: sw.monoids.might_contain("abc", 1), ["seen='abc'", "bloom"]),
    ("ewm_of_nothing", lambda: sw.ewm("v"), ["ewm", "alpha", "span", "half_life"]),
    ("ewm_of_two", lambda: sw.ewm("v", alpha=0.5, span=3), ["alpha and span", "one of"]),
    ("ewm_alpha", lambda: sw.ewm("v", alpha=2), ["alpha=2", "at most 1"]),
    ("ewm_alpha_zero", lambda: sw.ewm("v", alpha=0), ["alpha=0", "above 0"]),
    ("ewm_alpha_true", lambda: sw.ewm("v", alpha=True), ["alpha=True", "number"]),
    ("ewm_span", lambda: sw.ewm("v", span=0.5), ["span=0.5", "at least 1"]),
    ("ewm_half_life", lambda: sw.ewm("v", half_life=-1), ["half_life=-1", "above 0", "duration"]),
    ("ewm_half_life_soon", lambda: sw.ewm("v", half_life="soon"), ["half_life='soon'", UNITS]),
    ("ewm_half_life_months", lambda: sw.ewm("v", half_life="1 month"), ["half_life='1 month'", "fixed"]),
    ("ewm_time_by_rows", lambda: sw.ewm("v", "t", alpha=0.5), ["time='t'", "half_life"]),
    ("skew_bias", lambda: sw.skew("v", bias="no"), ["bias='no'", "True or False"]),
    ("kurt_bias", lambda: sw.kurt("v", bias=None), ["bias=None", "True or False"]),
    ("concat_sep", lambda: sw.concat("s", sep=5), ["sep=5", "string"]),
    # kinds and numbers of columns
    ("covariance_of_one", lambda: sw.covariance("v"), ["covariance", "'v'", "2"]),
    ("covariance_unbound", lambda: slide(sw.covariance()), ["covariance", "column"]),
    ("covariance_of_a_list", lambda: sw.slide([1.0], sw.covariance(), sw.trailing(2)), ["covariance", "2 columns"]),
    ("covariance_of_text", lambda: slide(sw.covariance("v", "s")), ["covariance", "string", "numbers"]),
    ("correlation_of_times", lambda: slide(sw.correlation("t", "v")), ["correlation", "timestamp", "numbers"]),
    ("argmax_by_lists", lambda: slide(sw.argmax("v", "tags")), ["argmax", "list", "order"]),
    ("argmin_by_nothing", lambda: slide(sw.argmin("v", "wolt")), ["argmin", "'wolt'", "'v'"]),
    ("max_of_lists", lambda: slide(sw.max("tags").alias("m")), ["max", "tags", "order"]),
    ("top_k_of_lists", lambda: slide(sw.top_k("tags")), ["top_k", "tags", "order"]),
    ("count_distinct_of_lists", lambda: slide(sw.count_distinct("tags")), ["count_distinct", "tags", "order"]),
    ("all_of_numbers", lambda: slide(sw.all("v")), ["all", "'v'", "double", "booleans"]),
    ("any_of_text", lambda: slide(sw.any("s")), ["any", "'s'", "booleans"]),
    ("concat_of_numbers", lambda: slide(sw.concat("v")), ["concat", "'v'", "strings"]),
    ("concat_of_bytes", lambda: sw.slide([b"a"], sw.concat(), sw.trailing(2)), ["concat", "binary", "strings"]),
    ("median_of_times", lambda: slide(sw.median("t")), ["median", "'t'", "numbers"]),
    ("quantile_of_text", lambda: slide(sw.quantile("s")), ["quantile", "'s'", "numbers"]),
    ("geomean_of_text", lambda: slide(sw.geomean("s")), ["geomean", "'s'", "numbers"]),
    ("spread_of_text", lambda: slide(sw.spread("s")), ["spread", "'s'", "numbers", "times"]),
    (
        "time_weighted_by_text",
        lambda: slide(sw.time_weighted_mean("v", "s")),
        ["time_weighted", "string", "times"],
    ),
    ("run_of_text", lambda: slide(sw.longest_increasing_run("s")), ["longest_increasing_run", "'s'", "times"]),
    # filters
    ("where_nothing", lambda: sw.sum("v").where(), ["where()", "column", "test", "value"]),
    ("where_no_test", lambda: sw.sum("v").where("s"), ["where('s')", "'=='", "'is null'"]),
    ("where_no_value", lambda: sw.sum("v").where("s", "=="), ["where('s', '==')", "value"]),
    ("where_one_equals_sign", lambda: sw.sum("v").where("s", "=", 1), ["where('s', '=', 1)", "'=='"]),
    ("where_like", lambda: sw.sum("v").where("s", "like", "x%"), ["'like'", "'not in'"]),
    ("where_equals_null", lambda: sw.sum("v").where("s", "==", None), ["None", "is null"]),
    ("where_null_with_a_value", lambda: sw.sum("v").where("s", "is null", True), ["where('s', 'is null', True)"]),
    ("where_two_values", lambda: sw.sum("v").where("s", "==", 1, 2), ["where('s', '==', 1, 2)"]),
    ("where_in_text", lambda: sw.sum("v").where("s", "in", "xyz"), ["'in'", "'xyz'", "list"]),
    ("where_in_nulls", lambda: sw.sum("v").where("s", "in", [None]), ["'in'", "[None]", "plain"]),
    ("where_equals_a_list", lambda: sw.sum("v").where("s", "==", ["x"]), ["'=='", "['x']", "plain"]),
    ("where_a_function", lambda: sw.sum("v").where(lambda v: v > 1), ["where(", "column", "test"]),
    ("where_unknown_column", lambda: slide(sw.sum("v").where("wolt", "==", 1)), ["'wolt'", "'v'"]),
    ("where_text_above_a_number", lambda: slide(sw.sum("v").where("s", ">", 1)), ["'s'", "string", "'>', 1"]),
    ("where_number_is_text", lambda: slide(sw.sum("v").where("v", "==", "x")), ["'v'", "double", "'x'"]),
    ("where_time_is_a_number", lambda: slide(sw.sum("v").where("t", ">", 5)), ["'t'", "timestamp", "5"]),
    ("where_lists", lambda: slide(sw.sum("v").where("tags", "==", "x")), ["'tags'", "list"]),
    ("where_on_a_list", lambda: sw.slide([1], sw.sum().where("x", ">", 1), sw.trailing(2)), ["'x'", "no columns"]),
    ("where_count_of_rows", lambda: slide(sw.count().where(">", 1)), ["count", "names no column"]),
    ("where_list_of_numbers", lambda: sw.slide([1], sw.sum().where(">", "a"), sw.trailing(2)), ["int64", "'a'"]),
    # options
    ("unknown_algorithm", lambda: slide(algorithm="quick"), ["algorithm", "quick", "two_stacks_lite", "recalculate"]),
    ("zero_threads", lambda: slide(threads=0), ["threads", "0", POSITIVE]),
    ("negative_threads", lambda: slide(threads=-2), ["threads", "-2", POSITIVE]),
    ("half_threads", lambda: slide(threads=1.5), ["threads", "1.5", ("int", "whole")]),
    ("lateness_on_a_batch", lambda: slide(lateness="10 s", order="t"), ["lateness", "10 s", "stream"]),
    ("emit_on_a_batch", lambda: slide(emit="event", order="t"), ["emit", "event", "stream"]),
    ("late_on_a_batch", lambda: slide(late="drop", order="t"), ["late", "drop", "stream"]),
    ("idle_on_a_batch", lambda: slide(idle="7 d", order="t"), ["idle", "7 d", "stream"]),
    ("initial_on_a_batch", lambda: slide(initial=TABLE, order="t"), ["initial", "stream"]),
    ("bad_presorted", lambda: slide(presorted="yes"), ["presorted", "yes", ("True", "bool")]),
    # data
    ("unknown_container", lambda: sw.slide({1, 2}, sw.sum(), sw.trailing(2)), ["data", "set", "list"]),
    ("a_number", lambda: sw.slide(5, sw.sum(), sw.trailing(2)), ["data", "int", "list"]),
    ("none", lambda: sw.slide(None, sw.sum(), sw.trailing(2)), ["data", "None", "list"]),
    ("text", lambda: sw.slide("abc", sw.max(), sw.trailing(2)), ["data", "str", "list"]),
    (
        "two_dimensions",
        lambda: sw.slide(np.ones((2, 2)), sw.sum(), sw.trailing(2)),
        ["data", ("2", "two"), ("1-D", "one dimension", "one-dimensional", "1 dimension", "expected 1")],
    ),
    ("no_dimension", lambda: sw.slide(np.float64(3), sw.sum(), sw.trailing(2)), ["data", "list"]),
    ("complex_array", lambda: sw.slide(np.array([1j]), sw.sum(), sw.trailing(2)), ["complex"]),
    (
        "pandas_columns_of_one_name",
        lambda: sw.slide(pd.DataFrame([[1, 2]], columns=["v", "v"]), sw.sum("v"), sw.trailing(2)),
        ["'v'"],
    ),
    ("pandas_unknown_column", lambda: sw.slide(TABLE.to_pandas(), sw.sum("wolt"), sw.trailing(2)), ["wolt", "v"]),
    (
        "polars_unknown_column",
        lambda: sw.slide(pl.from_arrow(TABLE.select(["v"])), sw.sum("wolt"), sw.trailing(2)),
        ["wolt", "v"],
    ),
    # monoids
    ("monoid_without_a_name", lambda: sw.Monoid(identity=0, combine=max, name=""), ["name", "''"]),
    (
        "combine_not_a_function",
        lambda: sw.Monoid(identity=0, combine="max", name="m"),
        ["combine", "max", ("function", "callable")],
    ),
    (
        "lift_not_a_function",
        lambda: sw.Monoid(identity=0, lift=5, combine=max, name="m"),
        ["lift", "5", ("function", "callable")],
    ),
    (
        "unknown_result",
        lambda: slide(sw.aggregate(sw.Monoid(identity=0.0, combine=lambda a, b: a + b, name="m", result="wolt"), "v")),
        ["result", "wolt"],
    ),
    ("aggregate_of_no_monoid", lambda: sw.aggregate(max, "v"), ["monoid", (".Monoid", "a Monoid")]),
]


@pytest.mark.parametrize(("call", "fragments"), [pytest.param(call, parts, id=name) for name, call, parts in BAD])
def test_bad_call(call: Callable[[], Any], fragments: list[Fragment]) -> None:
    with pytest.raises(ArgumentError) as caught:
        call()
    _check_message(str(caught.value), fragments)


def _check_message(message: str, fragments: list[Fragment]) -> None:
    assert "\n" not in message.strip(), f"one message, one line: {message}"
    for fragment in fragments:
        choices = (fragment,) if isinstance(fragment, str) else fragment
        assert any(choice.lower() in message.lower() for choice in choices), f"none of {choices} in: {message}"


def test_a_duration_beyond_all_times() -> None:
    """A clear error or a right answer, never a wrapped-around integer."""
    try:
        result = slide(window=sw.trailing("999999999999 d"), order="t")
    except ArgumentError as error:
        _check_message(str(error), ["999999999999 d"])
    else:
        assert result["sum_v"].to_pylist() == [1.0, 3.0, 6.0]


def test_an_argument_error_is_a_value_error() -> None:
    assert issubclass(ArgumentError, ValueError)


def test_names_are_unique() -> None:
    assert len({name for name, _, _ in BAD}) == len(BAD)


# --- on Spark: the same messages, at the call and not when the job runs ----------------------------------------------


def _frame(spark: Any) -> Any:
    return spark.createDataFrame(TABLE.drop_columns(["gap"]))


SPARK_BAD: list[tuple[str, Callable[[Any], Any], list[Fragment]]] = [
    ("unknown_column", lambda df: slide(sw.sum("wolt"), data=df, order="t"), ["wolt", "v"]),
    ("unknown_by", lambda df: slide(data=df, by="key", order="t"), ["by", "'key'", "k"]),
    ("order_missing", lambda df: slide(data=df, by="k"), ["order", "Spark"]),
    ("unbound", lambda df: slide(sw.sum(), data=df, order="t"), ["sum", "column"]),
    ("sum_of_text", lambda df: slide(sw.sum("s"), data=df, order="t"), ["sum", "'s'", "string"]),
    (
        "text_as_time",
        lambda df: slide(window=sw.trailing("5 min"), data=df, order="s"),
        ["order", "'s'", ("timestamp", "time")],
    ),
    ("name_taken", lambda df: slide(sw.max("v"), data=df, order="t"), ["max_v", "alias"]),
    ("lateness_on_a_batch", lambda df: slide(data=df, order="t", lateness="10 s"), ["lateness", "10 s", "stream"]),
    ("emit_on_a_batch", lambda df: slide(data=df, order="t", emit="event"), ["emit", "event", "stream"]),
    ("unknown_algorithm", lambda df: slide(data=df, order="t", algorithm="quick"), ["algorithm", "quick"]),
]


@pytest.mark.spark
@pytest.mark.parametrize(("call", "fragments"), [pytest.param(call, parts, id=name) for name, call, parts in SPARK_BAD])
def test_bad_call_on_spark(
    call: Callable[[Any], Any], fragments: list[Fragment], request: pytest.FixtureRequest
) -> None:
    frame = _frame(request.getfixturevalue("spark"))
    with pytest.raises(ArgumentError) as caught:
        call(frame)
    _check_message(str(caught.value), fragments)


@pytest.mark.spark
def test_null_in_order_on_spark(request: pytest.FixtureRequest) -> None:
    """Only the running job can see it, but it says the same."""
    frame = slide(data=_frame(request.getfixturevalue("spark")), by="k", order="late")
    with pytest.raises(Exception, match=r"(?is)order.*late.*null|order.*null.*late"):
        frame.collect()


@pytest.mark.spark
def test_interval_columns_on_spark(request: pytest.FixtureRequest) -> None:
    frame = request.getfixturevalue("spark").createDataFrame(
        [("a", dt.datetime(2024, 1, 1), dt.timedelta(seconds=5))], "k string, t timestamp, gap interval day to second"
    )
    with pytest.raises(ArgumentError) as caught:
        slide(sw.max("gap"), data=frame, by="k", order="t")
    _check_message(str(caught.value), ["gap", "interval"])


STREAM_BAD: list[tuple[str, Callable[[Any], Any], list[Fragment]]] = [
    ("unknown_column", lambda df: slide(sw.sum("wolt"), data=df, by="k", order="t"), ["wolt", "v"]),
    ("order_missing", lambda df: slide(data=df, by="k"), ["order"]),
    (
        "order_not_a_time",
        lambda df: slide(data=df, by="k", order="i", lateness="1 s"),
        ["order", "'i'", ("timestamp", "time")],
    ),
    (
        "bad_late",
        lambda df: slide(data=df, by="k", order="t", lateness="1 s", late="forgive"),
        ["late", "forgive", "drop", "column", "error"],
    ),
    (
        "bad_emit",
        lambda df: slide(data=df, by="k", order="t", lateness="1 s", emit="sometimes"),
        ["emit", "sometimes", "event"],
    ),
    ("bad_lateness", lambda df: slide(data=df, by="k", order="t", lateness="soon"), ["lateness", "soon"]),
    ("negative_lateness", lambda df: slide(data=df, by="k", order="t", lateness="-1 s"), ["lateness", "-1 s"]),
    ("lateness_in_months", lambda df: slide(data=df, by="k", order="t", lateness="1 month"), ["lateness", "1 month"]),
    ("bad_idle", lambda df: slide(data=df, by="k", order="t", lateness="1 s", idle="soon"), ["idle", "soon"]),
    ("between", lambda df: slide(window=sw.between("t", "t"), data=df, order="t"), ["window", "between", "stream"]),
    (
        "median_of_everything",
        lambda df: slide(sw.median("v"), sw.expanding(), data=df, order="t"),
        ["median('v')", "expanding", "bounded", "quantile"],
    ),
    (
        "every_row_of_everything",
        lambda df: slide(window=sw.expanding(), data=df, order="t", algorithm="daba"),
        ["algorithm", "daba", "expanding", "auto"],
    ),
    (
        "change_of_windows",
        lambda df: slide(window=sw.tumbling("1 s"), data=df, order="t", emit="change"),
        ["emit", "change", "window", "update"],
    ),
    (
        "late_column_of_windows",
        lambda df: slide(window=sw.tumbling("1 s"), data=df, order="t", late="column"),
        ["late", "column", "tumbling"],
    ),
    (
        "op_is_there",
        lambda df: slide(data=df.withColumnRenamed("s", "op"), order="t", emit="update"),
        ["emit", "update", "'op'"],
    ),
    (
        "idle_beside_a_changelog_of_rows",
        lambda df: slide(window=sw.tumbling(3), data=df, order="t", emit="update", idle="1 h"),
        ["idle", "1 h", "tumbling(3)", "window"],
    ),
    (
        "initial_beside_a_changelog_of_windows",
        lambda df: slide(window=sw.tumbling("1 s"), data=df, order="t", emit="update", initial=df),
        ["initial", "update", "tumbling('1 s')", "window"],
    ),
    ("initial_of_what", lambda df: slide(data=df, order="t", initial=3), ["initial", "int", "batch DataFrame"]),
    ("initial_streams", lambda df: slide(data=df, order="t", initial=df), ["initial", "batch DataFrame"]),
    (
        "initial_without_a_column",
        lambda df: slide(data=df, order="t", initial=df.sparkSession.range(1).selectExpr("cast(id as double) v")),
        ["initial", "'t'", "v"],
    ),
    (
        "initial_of_another_type",
        lambda df: slide(data=df, order="t", initial=df.sparkSession.sql("select 1 v, now() t")),
        ["initial", "'v'", "int", "double"],
    ),
]


@pytest.mark.spark
@pytest.mark.parametrize(
    ("call", "fragments"), [pytest.param(call, parts, id=name) for name, call, parts in STREAM_BAD]
)
def test_bad_call_on_a_stream(
    call: Callable[[Any], Any], fragments: list[Fragment], request: pytest.FixtureRequest, tmp_path: Any
) -> None:
    spark = request.getfixturevalue("spark")
    stream = spark.readStream.schema("k string, t timestamp, i bigint, v double, s string").parquet(str(tmp_path))
    with pytest.raises(ArgumentError) as caught:
        call(stream)
    _check_message(str(caught.value), fragments)
