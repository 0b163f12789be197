"""What every built-in means, written down naively and exactly: a second opinion on the catalogue, from scratch.

    answer, scale = define("var", [(1.5,), (None,), (4.0,)], {})

Rows are tuples of the columns that the aggregate looks at, oldest first, with nulls. Sums are fractions, so that an
answer is the correctly rounded one. `scale` is what a computed float may be off by, in units of 1e-12; None: not at
all. A sketch is off by its own error. `bloom` has no one answer and is tested by what it promises.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any

Row = tuple[Any, ...]
Answer = tuple[Any, float | None]
Options = dict[str, Any]


def define(function: str, rows: list[Row], options: Options) -> Answer:
    """The answer over these rows, and how exact it must be."""
    if function in PAIRS:
        return PAIRS[function](rows, options)
    values = [value for (value,) in rows if value is not None]
    if function in ("count", "count_distinct", "approx_distinct"):
        return (len(values) if function == "count" else len(_distinct(values))), None
    return VALUES[function](values, options) if values else (None, None)


def rank(value: Any) -> tuple[bool, Any]:
    """Sorts values; NaN is larger than any number."""
    nan = isinstance(value, float) and math.isnan(value)
    return nan, 0 if nan else value


def passes(value: Any, test: str, other: Any = None) -> bool:
    """Whether a value passes one test of a `where`; a null passes `is null` only."""
    if test in ("is null", "is not null"):
        return (value is None) == (test == "is null")
    if value is None:
        return False
    if test in ("in", "not in"):
        return any(rank(value) == rank(one) for one in other) == (test == "in")
    a, b = rank(value), rank(other)
    return {"==": a == b, "!=": a != b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[test]


# --- numbers ---------------------------------------------------------------------------------------------------------


def _size(values: list[Any]) -> float:
    return float(sum(abs(Fraction(x)) for x in values if math.isfinite(x)))


def _infinite(values: list[Any]) -> float | None:
    """The sum where NaN or an infinity decides it."""
    infinite = {x for x in values if isinstance(x, float) and math.isinf(x)}
    if any(math.isnan(x) for x in values) or len(infinite) == 2:
        return math.nan
    return infinite.pop() if infinite else None


def _sum(values: list[Any], options: Options) -> Answer:
    if all(isinstance(x, int) for x in values):
        total = sum(values)
        if not -(2**63) <= total < 2**63:
            raise OverflowError(total)
        return total, None
    if isinstance(values[0], Decimal):
        return sum(map(Fraction, values)), None
    decided = _infinite(values)
    return (float(sum(map(Fraction, values))), _size(values)) if decided is None else (decided, None)


def _mean(values: list[Any], options: Options) -> Answer:
    if isinstance(values[0], Decimal):
        return sum(map(Fraction, values)) / len(values), None
    decided = _infinite(values)
    return (float(sum(map(Fraction, values)) / len(values)), _size(values)) if decided is None else (decided, None)


def _product(values: list[Any], options: Options) -> Answer:
    if any(math.isnan(x) for x in values):
        return math.nan, None
    if any(math.isinf(x) for x in values):
        if 0 in values:
            return math.nan, None
        return math.copysign(math.inf, math.prod(math.copysign(1, x) for x in values)), None
    exact = float(math.prod(map(Fraction, values)))
    return exact, abs(exact)


def _geomean(values: list[Any], options: Options) -> Answer:
    if any(math.isnan(x) or x < 0 for x in values) or (0 in values and math.inf in values):
        return math.nan, None
    if 0 in values or math.inf in values:
        return (0.0 if 0 in values else math.inf), None
    found = math.exp(math.fsum(map(math.log, values)) / len(values))
    return found, found


def _powers(values: list[Any], power: int) -> Fraction:
    """Σ (x − mean)^power."""
    mean = sum(map(Fraction, values)) / len(values)
    return Fraction(sum((Fraction(x) - mean) ** power for x in values))


def _var(values: list[Any], options: Options) -> Answer:
    if len(values) < 2:
        return None, None
    if _infinite(values) is not None:
        return math.nan, None
    return float(_powers(values, 2) / (len(values) - 1)), float(sum(Fraction(x) ** 2 for x in values))


def _stddev(values: list[Any], options: Options) -> Answer:
    var, _ = _var(values, options)
    return (None, None) if var is None else (math.sqrt(var), _size(values))


def _shape(power: int, least: int) -> Callable[[list[Any], Options], Answer]:
    """Skewness (the third power) and kurtosis (the fourth); measured by how far apart the values are."""

    def found(values: list[Any], options: Options) -> Answer:
        n, bias = len(values), options.get("bias", False)
        if n < (1 if bias else least):
            return None, None
        if _infinite(values) is not None:
            return math.nan, None
        second = _powers(values, 2)
        if second == 0:
            return None, None
        far = max(abs(Fraction(x)) for x in values) ** 2 / second * n  # few digits are left where all are nearly equal
        if power == 3:
            shape = math.sqrt(n) * float(_powers(values, 3)) / float(second) ** 1.5
            return (shape if bias else shape * math.sqrt(n * (n - 1)) / (n - 2)), 1e3 * float(far)
        ratio = float(n * _powers(values, 4) / second**2)
        excess = ratio - 3 if bias else (n - 1) / ((n - 2) * (n - 3)) * ((n + 1) * ratio - 3 * (n - 1))
        return excess, 1e3 * float(far) ** 2

    return found


# --- order -----------------------------------------------------------------------------------------------------------


def _spread(values: list[Any], options: Options) -> Answer:
    low, high = min(values, key=rank), max(values, key=rank)
    if isinstance(low, float):
        return high - low, None
    apart = Fraction(high) - Fraction(low)
    if isinstance(low, Decimal):
        return apart, None
    if apart >= 2**63:
        raise OverflowError(apart)
    return int(apart), None


def _equal(best: Callable[..., Any]) -> Callable[[list[Any], Options], Answer]:
    return lambda values, options: (sum(rank(x) == rank(best(values, key=rank)) for x in values), None)


def _distinct(values: list[Any]) -> list[Any]:
    found: list[Any] = []
    for value in values:
        if rank(value) not in map(rank, found):
            found.append(value)
    return found


def _most_frequent(values: list[Any], options: Options) -> Answer:
    counted = [(value, sum(rank(value) == rank(x) for x in values)) for value in _distinct(values)]
    ranked = sorted(counted, key=lambda pair: (-pair[1], rank(pair[0])))[: options.get("k", 5)]
    if options.get("counts"):
        return [{"value": value, "count": n} for value, n in ranked], None
    return [value for value, _ in ranked], None


def _exact_quantile(values: list[Any], q: float) -> Answer:
    ordered = sorted((float(x) for x in values), key=rank)
    place = Fraction(q * (len(ordered) - 1))  # a float, as in NumPy: 0.3 of ten gaps is the third
    low, high = ordered[math.floor(place)], ordered[math.ceil(place)]
    share = place - math.floor(place)
    if share == 0 or low == high:
        return low, None
    decided = _infinite([low, high])
    if decided is not None:
        return decided, None
    return float(Fraction(low) * (1 - share) + Fraction(high) * share), abs(low) + abs(high)


def _quantile(values: list[Any], options: Options) -> Answer:
    """By default the value at the rank, give or take its relative error."""
    q = options.get("q", 0.5)
    if options.get("exact"):
        return _exact_quantile(values, q)
    found = sorted((float(x) for x in values), key=rank)[int(q * (len(values) - 1))]
    smallest, largest = options.get("smallest", 1e-9), options.get("largest", 1e9)
    if not math.isfinite(found) or abs(found) < smallest:
        return (found if not math.isfinite(found) else 0.0), None
    found = math.copysign(min(abs(found), largest), found)
    return found, abs(found) * options.get("error", 0.01) / 1e-12 * (1 + 1e-9)


# --- two columns -----------------------------------------------------------------------------------------------------


def _both(rows: list[Row]) -> list[Row]:
    return [row for row in rows if None not in row]


def _where(best: Callable[..., Any]) -> Callable[[list[Row], Options], Answer]:
    """The value may be null, the column to go by may not; min and max of Python keep the first of equals."""

    def found(rows: list[Row], options: Options) -> Answer:
        with_by = [row for row in rows if row[1] is not None]
        return (best(with_by, key=lambda row: rank(row[1]))[0] if with_by else None), None

    return found


def _comoment(rows: list[Row]) -> Fraction:
    n = len(rows)
    mean_x, mean_y = (sum(Fraction(row[k]) for row in rows) / n for k in (0, 1))
    return Fraction(sum((Fraction(x) - mean_x) * (Fraction(y) - mean_y) for x, y in rows))


def _covariance(rows: list[Row], options: Options) -> Answer:
    rows = _both(rows)
    if len(rows) < 2:
        return None, None
    if any(not math.isfinite(part) for row in rows for part in row):
        return math.nan, None
    scale = sum(Fraction(x) ** 2 + Fraction(y) ** 2 for x, y in rows)
    return float(_comoment(rows) / (len(rows) - 1)), float(scale)


def _correlation(rows: list[Row], options: Options) -> Answer:
    rows = _both(rows)
    covariance, _ = _covariance(rows, options)
    if covariance is None or math.isnan(covariance):
        return covariance, None
    apart = [_powers([row[k] for row in rows], 2) for k in (0, 1)]
    if 0 in apart:
        return None, None
    far = max(max(Fraction(row[k]) ** 2 for row in rows) / apart[k] for k in (0, 1)) * len(rows)
    return float(_comoment(rows)) / math.sqrt(apart[0]) / math.sqrt(apart[1]), 1e3 * float(far)


def _run(rows: list[Row], options: Options) -> Answer:
    """Every stretch of rising values; the longest, the oldest of equals."""
    rows = _both(rows)
    best: list[Row] = []
    for start in range(len(rows)):
        end = start + 1
        while end < len(rows) and rank(rows[end - 1][0]) < rank(rows[end][0]):
            end += 1
        best = rows[start:end] if end - start > len(best) else best
    if not best:
        return None, None
    start_time, end_time = best[0][1], best[-1][1]
    return {"start": start_time, "end": end_time, "interval": end_time - start_time, "count": len(best)}, None


def _time_weighted_mean(rows: list[Row], options: Options) -> Answer:
    rows = _both(rows)
    if not rows:
        return None, None
    whole = rows[-1][1] - rows[0][1]
    if whole == 0:
        return float(rows[-1][0]), None
    held = [(x, Fraction(after[1] - t) / whole) for (x, t), after in pairwise(rows) if after[1] > t]
    decided = _infinite([x for x, _ in held])
    if decided is not None:
        return decided, None
    return float(sum(Fraction(x) * share for x, share in held)), _size([x for x, _ in rows])


def _faded(values: list[Any], weights: list[float]) -> Answer:
    decided = _infinite(values)
    if decided is not None:
        return decided, None
    exact = [Fraction(weight) for weight in weights]
    found = sum(Fraction(x) * weight for x, weight in zip(values, exact, strict=True)) / sum(exact)
    return float(found), 10 * _size(values)


def _ewm(rows: list[Row], options: Options) -> Answer:
    rows = [row for row in rows if row[0] is not None]
    if not rows:
        return None, None
    values = [row[0] for row in rows]
    half_life = options.get("half_life")
    if isinstance(half_life, str):
        number, unit = half_life.split(" ")
        nanos = float(number) * {"s": 1e6, "ms": 1e3, "min": 60e6}[unit]
        return _faded(values, [2.0 ** (-(rows[-1][1] - time) / nanos) for _, time in rows])
    alpha = options.get("alpha", 0.5)
    if "span" in options:
        alpha = 2 / (options["span"] + 1)
    if half_life is not None:
        alpha = 1 - 0.5 ** (1 / half_life)
    weights = [(1 - alpha) ** (len(values) - 1 - k) for k in range(len(values))]
    if 0.0 in weights and not all(math.isfinite(x) for x in values[:-1]):
        return math.nan, None  # nothing times infinity
    return _faded(values, weights)


# --- the tables ------------------------------------------------------------------------------------------------------

VALUES: dict[str, Callable[[list[Any], Options], Answer]] = {
    "sum": _sum,
    "product": _product,
    "mean": _mean,
    "var": _var,
    "stddev": _stddev,
    "skew": _shape(3, 3),
    "kurt": _shape(4, 4),
    "geomean": _geomean,
    "min": lambda values, options: (min(values, key=rank), None),
    "max": lambda values, options: (max(values, key=rank), None),
    "count_of_min": _equal(min),
    "count_of_max": _equal(max),
    "spread": _spread,
    "first": lambda values, options: (values[0], None),
    "last": lambda values, options: (values[-1], None),
    "first_n": lambda values, options: (values[: options.get("n", 5)], None),
    "last_n": lambda values, options: (values[-options.get("n", 5) :], None),
    "collect": lambda values, options: (values, None),
    "collect_distinct": lambda values, options: (_distinct(values), None),
    "top_k": lambda values, options: (sorted(values, key=rank, reverse=True)[: options.get("k", 5)], None),
    "most_frequent": _most_frequent,
    "quantile": _quantile,
    "median": lambda values, options: _exact_quantile(values, 0.5),
    "all": lambda values, options: (all(values), None),
    "any": lambda values, options: (any(values), None),
    "concat": lambda values, options: (options.get("sep", "").join(values), None),
}
PAIRS: dict[str, Callable[[list[Row], Options], Answer]] = {
    "argmin": _where(min),
    "argmax": _where(max),
    "covariance": _covariance,
    "correlation": _correlation,
    "longest_increasing_run": _run,
    "time_weighted_mean": _time_weighted_mean,
    "ewm": _ewm,
}
COUNTS = {"count", "count_distinct", "approx_distinct"}
DEFINED = set(VALUES) | set(PAIRS) | COUNTS


# --- types -----------------------------------------------------------------------------------------------------------


def result_type(function: str, types: list[str], options: Options) -> str:
    """The type of an answer over columns of these types."""
    first = types[0] if types else ""
    if function in COUNTS or function in ("count_of_min", "count_of_max"):
        return "int64"
    if function in ("min", "max", "first", "last", "argmin", "argmax"):
        return first
    if function in ("first_n", "last_n", "collect", "collect_distinct", "top_k"):
        return f"list<{first}>"
    if function == "most_frequent":
        return f"list<struct<value:{first},count:int64>>" if options.get("counts") else f"list<{first}>"
    if function in ("all", "any"):
        return "bool"
    if function == "concat":
        return "string"
    if function == "spread":
        return _difference(first)
    if function == "longest_increasing_run":
        return f"struct<start:{types[1]},end:{types[1]},interval:{_difference(types[1])},count:int64>"
    if function in ("sum", "mean") and first.startswith("decimal"):
        precision, scale = digits(first)
        if function == "sum":
            return f"decimal({min(38, precision + 10)},{scale})"
        return f"decimal({min(38, precision + 4)},{min(38, scale + 4)})"
    return "int64" if function == "sum" and first in ("int64", "int32", "bool") else "float64"


def digits(kind: str) -> tuple[int, int]:
    """
    >>> digits("decimal(38,2)")
    (38, 2)
    """
    precision, scale = kind.removeprefix("decimal(").removesuffix(")").split(",")
    return int(precision), int(scale)


def _difference(kind: str) -> str:
    if kind == "timestamp":
        return "duration"
    if kind.startswith("decimal"):
        precision, scale = digits(kind)
        return f"decimal({min(38, precision + 1)},{scale})"
    return "int64" if kind in ("int32", "bool") else kind


def rounded(exact: Fraction, kind: str) -> Decimal:
    """A decimal of this type, half up; `OverflowError` if it does not fit."""
    precision, scale = digits(kind)
    whole, rest = divmod(abs(exact) * 10**scale, 1)
    whole += rest >= Fraction(1, 2)
    if whole >= 10**precision:
        raise OverflowError(exact)
    sign = int(exact < 0 and whole > 0)
    return Decimal((sign, tuple(map(int, str(int(whole)))), -scale))
