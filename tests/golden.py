"""The golden cases, read from golden.json (format: golden_format.md) into plain values.

    "t timestamp": [0, 1.5]  ->  Column("timestamp", [0, 1_500_000])     times are whole microseconds from here on
    "v float64": [1, "NaN"]  ->  Column("float64", [1.0, nan])
    "m decimal(5,2)": ["1.5"] -> Column("decimal(5,2)", [Decimal("1.50")])
    ["max", ["v"], {}]       ->  Aggregate("max", ("v",), None)
    ["top_k", ["v"], {"k": 2, "where": [["s", "==", "x"]]}]  ->  Aggregate(..., options=..., where=...)
    {"trailing": 3}          ->  {"": {"trailing": 3}}                   one window is a map with an empty name

Nothing here knows the library, except `aggregate` and `window`, which write a case down as a call.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from decimal import Context, Decimal
from pathlib import Path
from typing import Any

Value = Any
Window = dict[str, Any]


@dataclass(frozen=True)
class Column:
    type: str
    values: list[Value]

    def __len__(self) -> int:
        return len(self.values)


Columns = dict[str, Column]


@dataclass(frozen=True)
class Aggregate:
    """One aggregate as the case names it: function, columns, alias, options and the tests of its filter."""

    function: str
    columns: tuple[str, ...] = ()
    alias: str | None = None
    options: tuple[tuple[str, Any], ...] = ()
    where: tuple[tuple[Any, ...], ...] = ()

    @property
    def used(self) -> tuple[str, ...]:
        """The columns it looks at, those of its filter too."""
        return tuple(dict.fromkeys([*self.columns, *(test[0] for test in self.where)]))

    def name(self, window: str = "") -> str:
        """The result column's name: `max_power`, `count`, `max_power_5m`; an alias wins.

        >>> Aggregate("max", ("power",)).name(), Aggregate("max", ("power",)).name("5m"), Aggregate("count").name()
        ('max_power', 'max_power_5m', 'count')
        """
        base = self.alias or "_".join((self.function.removeprefix("user:"), *self.columns))
        return f"{base}_{window}" if window else base


@dataclass(frozen=True)
class Case:
    name: str
    says: str
    columns: Columns
    aggregates: list[Aggregate]
    windows: dict[str, Window]
    by: list[str] = field(default_factory=list)
    order: list[str] = field(default_factory=list)
    expected: Columns = field(default_factory=dict)
    raises: str | None = None
    apart: str | None = None

    @property
    def rows(self) -> int:
        return len(next(iter(self.columns.values())))

    @property
    def per_event(self) -> bool:
        return all(is_per_event(window) for window in self.windows.values())


KINDS = ("trailing", "tumbling", "expanding", "session", "around", "between")
"""Each window names its kind by one of these."""


def is_per_event(window: Window) -> bool:
    return "every" not in window and "tumbling" not in window and "session" not in window


# --- the users' monoids of the cases: plain functions, so that Spark's workers can import them -----------------------


def _concat(older: str, newer: str) -> str:
    return older + newer


def _without(whole: str, older: str) -> str:
    return whole[len(older) :]


def _affine_lift(p: int, q: int) -> tuple[int, int]:
    return (p, q)


def _affine_combine(older: tuple[int, int], newer: tuple[int, int]) -> tuple[int, int]:
    return (older[0] * newer[0], older[1] * newer[0] + newer[1])


def _affine_lower(partial: tuple[int, int]) -> int:
    return partial[0] + partial[1]


def _weighted_lift(x: float, y: float) -> tuple[float, float]:
    return (x * y, y)


def _weighted_combine(older: tuple[float, float], newer: tuple[float, float]) -> tuple[float, float]:
    return (older[0] + newer[0], older[1] + newer[1])


def _weighted_lower(partial: tuple[float, float]) -> float:
    return partial[0] / partial[1]


#: name -> the arguments of sw.Monoid. `affine` composes x -> p·x + q, oldest first, and applies it to 1. `queue` is
#: `concat` with an inverse: not commutative, so it matters that the oldest is taken off at the front.
MONOIDS: dict[str, dict[str, Any]] = {
    "concat": {"identity": "", "combine": _concat, "result": "string"},
    "queue": {"identity": "", "combine": _concat, "inverse": _without, "result": "string"},
    "affine": {"identity": (1, 0), "lift": _affine_lift, "combine": _affine_combine, "lower": _affine_lower},
    "weighted": {
        "identity": (0.0, 0.0),
        "lift": _weighted_lift,
        "combine": _weighted_combine,
        "lower": _weighted_lower,
        "commutative": True,
    },
}


# --- reading ---------------------------------------------------------------------------------------------------------


def _decode(kind: str, value: Value) -> Value:
    if value is None:
        return None
    if kind.startswith("float"):
        return float(value)
    if kind in ("timestamp", "duration"):
        return round(value * 1_000_000)
    if kind.startswith("decimal"):
        return Decimal(value).quantize(Decimal(1).scaleb(-int(kind[:-1].split(",")[1])), context=Context(prec=38))
    if kind == "binary":
        return bytes.fromhex(value)
    if kind.startswith("list<"):
        return [_decode(kind[5:-1], part) for part in value]
    if kind.startswith("struct<"):
        return {name: _decode(part, value[name]) for name, part in fields(kind)}
    return value


def fields(kind: str) -> list[tuple[str, str]]:
    """
    >>> fields("struct<value:decimal(5,2),count:int64>")
    [('value', 'decimal(5,2)'), ('count', 'int64')]
    """
    return [(name, part) for name, part in re.findall(r"(\w+):(\w+(?:\([^)]*\))?)", kind)]


def _aggregate(function: str, columns: list[str], given: dict[str, Any]) -> Aggregate:
    options = {name: value for name, value in given.items() if name not in ("alias", "where")}
    tests = tuple((column, test, *map(_tested, value)) for column, test, *value in given.get("where", []))
    return Aggregate(function, tuple(columns), given.get("alias"), tuple(options.items()), tests)


def _tested(value: Any) -> Any:
    """A value to compare with: JSON has no NaN, and a tuple can be hashed."""
    if isinstance(value, list):
        return tuple(map(_tested, value))
    return float(value) if value in ("NaN", "inf", "-inf") else value


def _columns(raw: dict[str, list[Value]]) -> Columns:
    pairs = ((key.split(" "), values) for key, values in raw.items())
    return {name: Column(kind, [_decode(kind, value) for value in values]) for (name, kind), values in pairs}


def _case(raw: dict[str, Any]) -> Case:
    one = any(kind in raw["window"] for kind in KINDS)
    return Case(
        name=raw["name"],
        says=raw["says"],
        columns=_columns(raw["columns"]),
        aggregates=[_aggregate(*one) for one in raw["aggregates"]],
        windows={"": raw["window"]} if one else raw["window"],
        by=raw.get("by", []),
        order=raw.get("order", []),
        expected=_columns(raw.get("expected", {})),
        raises=raw.get("raises"),
        apart=raw.get("apart"),
    )


CASES: list[Case] = [_case(raw) for raw in json.loads((Path(__file__).parent / "golden.json").read_text("utf-8"))]


# --- which cases can run on Spark ------------------------------------------------------------------------------------


def spark_reason(case: Case) -> str | None:
    """Why a case has no one right answer on Spark, or None.

    >>> [spark_reason(case) is None for case in CASES if case.name in ("ties_apart", "ties_together")]
    [False, True]
    """
    if case.apart:
        return case.apart
    if not case.order:
        return "order is required on Spark"
    if any(spec.function in ("argmin", "argmax") and len(spec.columns) == 1 for spec in case.aggregates):
        return "rows have no position on Spark"
    seen = {tuple(case.columns[name].values[row] for name in case.by + case.order) for row in range(case.rows)}
    insensitive = all(_ties_do_not_matter(window) for window in case.windows.values())
    if len(seen) < case.rows and not insensitive:
        return "arrival does not survive a shuffle"
    return None


def _ties_do_not_matter(window: Window) -> bool:
    counts_rows = isinstance(window.get("every", window.get("tumbling")), int) and "along" not in window
    return window.get("ties") == "together" or "between" in window or (not is_per_event(window) and not counts_rows)


# --- writing a case down as a call -----------------------------------------------------------------------------------


def aggregate(spec: Aggregate, *, bound: bool = True) -> Any:
    """The library's aggregate; `bound=False` for plain sequences."""
    import slidewise as sw

    columns = spec.columns if bound else ()
    if spec.function.startswith("user:"):
        name = spec.function.removeprefix("user:")
        built = sw.aggregate(sw.Monoid(name=name, **MONOIDS[name]), *columns)
    else:
        built = getattr(sw, spec.function)(*columns, **dict(spec.options))
    for column, *test in spec.where:
        built = built.where(column, *test) if bound else built.where(*test)
    return built.alias(spec.alias) if spec.alias else built


def window(spec: Window) -> Any:
    """The library's window."""
    import slidewise as sw

    (kind,) = [kind for kind in KINDS if kind in spec]
    options = {name: value for name, value in spec.items() if name not in (kind, "every")}
    lengths = spec[kind] if isinstance(spec[kind], list) else [] if kind == "expanding" else [spec[kind]]
    built = getattr(sw, kind)(*lengths, **options)
    return built.every(spec["every"]) if "every" in spec else built


def windows(specs: dict[str, Window]) -> Any:
    """One window, or the dict of windows."""
    if list(specs) == [""]:
        return window(specs[""])
    return {name: window(spec) for name, spec in specs.items()}


def aggregates(specs: list[Aggregate], *, bound: bool = True) -> Any:
    """One aggregate, or the list of aggregates."""
    built = [aggregate(spec, bound=bound) for spec in specs]
    return built[0] if len(built) == 1 else built
