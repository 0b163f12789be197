"""The naive oracle: every window's rows are listed, every aggregate is folded over them afresh. O(n · w), no library.

    Columns ── keys ──► groups of row numbers, in order ── window ──► lists of row numbers ── aggregate ──► Answer

Sums are exact (fractions), so an answer is the correctly rounded one and a deviation is always the library's.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Any

from tests import definitions
from tests.golden import MONOIDS, Aggregate, Column, Columns, Window, is_per_event

_MICROSECONDS = {
    "ms": 1_000,
    "s": 1_000_000,
    "min": 60_000_000,
    "h": 3_600_000_000,
    "d": 86_400_000_000,
    "day": 86_400_000_000,
}

Rows = list[int]


@dataclass(frozen=True)
class Answer:
    """Result columns, and for each the Σ|x| its floats may be measured by (None: exact)."""

    columns: Columns
    scales: dict[str, list[float | None]]


def microseconds(duration: str) -> int:
    """
    >>> microseconds("5 min")
    300000000
    """
    number, unit = duration.split(" ")
    return int(number) * _MICROSECONDS[unit]


def slide(
    columns: Columns,
    aggregates: list[Aggregate],
    windows: dict[str, Window],
    by: list[str] | None = None,
    order: list[str] | None = None,
) -> Answer:
    """What `sw.slide` must answer on a table: the result columns only."""
    groups = _groups(columns, by or [], order or [])
    if all(is_per_event(window) for window in windows.values()):
        return _per_event(columns, aggregates, windows, groups, (order or [None])[0])
    each = [
        _per_window(columns, aggregates, window, groups, by or [], (order or [None])[0]) for window in windows.values()
    ]
    return each[0] if len(each) == 1 else _joined(dict(zip(windows, each, strict=True)), by or [])


def _groups(columns: Columns, by: list[str], order: list[str]) -> dict[tuple[Any, ...], Rows]:
    groups: dict[tuple[Any, ...], Rows] = {}
    for row in range(len(next(iter(columns.values())))):
        groups.setdefault(tuple(columns[name].values[row] for name in by), []).append(row)
    for rows in groups.values():
        rows.sort(key=lambda row: tuple(columns[name].values[row] for name in order))  # stable: arrival breaks ties
    return groups


def _per_event(
    columns: Columns,
    aggregates: list[Aggregate],
    windows: dict[str, Window],
    groups: dict[tuple[Any, ...], Rows],
    time: str | None,
) -> Answer:
    size = len(next(iter(columns.values())))
    results: Columns = {}
    scales: dict[str, list[float | None]] = {}
    for suffix, window in windows.items():
        inside: list[Rows] = [[] for _ in range(size)]
        for rows in groups.values():
            for position, row in enumerate(rows):
                inside[row] = _event_rows(columns, window, rows, position, columns[time].values if time else [])
        for aggregate in aggregates:
            name = aggregate.name(suffix)
            answers = [_answer(columns, aggregate, rows, window.get("min_rows", 0), time) for rows in inside]
            results[name] = Column(result_type(columns, aggregate, time), [value for value, _ in answers])
            scales[name] = [scale for _, scale in answers]
    return Answer(results, scales)


def length(value: Any) -> Any:
    """A duration in microseconds; a number as it is."""
    return microseconds(value) if isinstance(value, str) else value


def _counts_rows(window: Window, value: Any) -> bool:
    return isinstance(value, int) and window.get("along") != "order" and "session" not in window


def _event_rows(columns: Columns, window: Window, rows: Rows, position: int, times: list[Any]) -> Rows:
    """The rows of a per-event window, by the definition of its kind."""
    if "expanding" in window:
        return _expanding_rows(window, rows, position, times)
    if "around" in window:
        return _around_rows(window, rows, position, times)
    if "between" in window:
        lo, hi = (columns[name].values[rows[position]] for name in window["between"])
        return [] if lo is None or hi is None else [row for row in rows if lo <= times[row] <= hi]
    return _trailing_rows(window, rows, position, times)


def _expanding_rows(window: Window, rows: Rows, position: int, times: list[Any]) -> Rows:
    current = window.get("include_current", True)
    if window.get("ties") == "together":
        now = times[rows[position]]
        return [row for row in rows if times[row] < now or (current and times[row] == now)]
    return rows[: position + 1 if current else position]


def _around_rows(window: Window, rows: Rows, position: int, times: list[Any]) -> Rows:
    before, after = map(length, window["around"])
    if _counts_rows(window, window["around"][0]):
        return rows[max(0, position - before) : position + after + 1]
    now, together = times[rows[position]], window.get("ties") == "together"

    def inside(place: int) -> bool:
        t = times[rows[place]]
        if t == now:  # with 0 on its side, an equal row is inside only if ties are together
            return place == position or together or bool(before if place < position else after)
        return now - before < t < now or now < t <= now + after

    return [row for place, row in enumerate(rows) if inside(place)]


def _trailing_rows(window: Window, rows: Rows, position: int, times: list[Any]) -> Rows:
    reach, current = length(window["trailing"]), window.get("include_current", True)
    if _counts_rows(window, window["trailing"]):
        end = position + 1 if current else position
        return rows[max(0, end - reach) : end]
    now, coarse = times[rows[position]], length(window.get("coarse", 0))

    def recent(row: int) -> bool:
        if coarse:
            return times[row] >= (now - reach) // coarse * coarse
        return now - reach < times[row] or times[row] == now  # a float may be too large to see the difference

    if window.get("ties") == "together":
        inside = [row for row in rows if times[row] <= now and recent(row)]
        return inside if current else [row for row in inside if times[row] < now]
    return [row for row in rows[: position + 1 if current else position] if recent(row)]


def _per_window(
    columns: Columns,
    aggregates: list[Aggregate],
    window: Window,
    groups: dict[tuple[Any, ...], Rows],
    by: list[str],
    time: str | None,
) -> Answer:
    names = [*by, "window_start", "window_end", *(aggregate.name() for aggregate in aggregates)]
    found: list[list[Any]] = []
    found_scales: list[list[float | None]] = []
    for key in sorted(groups, key=key_rank):
        for start, end, rows in _windows(window, groups[key], columns[time].values if time else []):
            answers = [_answer(columns, aggregate, rows, window.get("min_rows", 0), time) for aggregate in aggregates]
            found.append([*key, start, end, *(value for value, _ in answers)])
            found_scales.append([None] * (len(by) + 2) + [scale for _, scale in answers])
    extent = window.get("trailing", window.get("tumbling", window.get("session")))
    bound = "int64" if _counts_rows(window, extent) else columns[str(time)].type
    types = [*(columns[name].type for name in by), bound, bound]
    types += [result_type(columns, aggregate, time) for aggregate in aggregates]
    return Answer(
        {name: Column(types[i], [row[i] for row in found]) for i, name in enumerate(names)},
        {name: [row[i] for row in found_scales] for i, name in enumerate(names)},
    )


def _joined(each: dict[str, Answer], by: list[str]) -> Answer:
    """A row wherever one of several windows ends, null for those that do not: an outer join on key and end."""
    keys = [*by, "window_end"]
    places = {
        label: {
            tuple(answer.columns[name].values[row] for name in keys): row
            for row in range(len(answer.columns["window_end"]))
        }
        for label, answer in each.items()
    }
    ends = sorted({key for found in places.values() for key in found}, key=key_rank)
    first = next(iter(each.values()))
    columns = {name: Column(first.columns[name].type, [end[k] for end in ends]) for k, name in enumerate(keys)}
    scales: dict[str, list[float | None]] = {name: [None] * len(ends) for name in keys}
    for label, answer in each.items():
        for name in (name for name in answer.columns if name not in (*keys, "window_start")):
            rows = [places[label].get(end) for end in ends]
            values, mine = answer.columns[name].values, answer.scales[name]
            kind = answer.columns[name].type
            columns[f"{name}_{label}"] = Column(kind, [None if row is None else values[row] for row in rows])
            scales[f"{name}_{label}"] = [None if row is None else mine[row] for row in rows]
    return Answer(columns, scales)


def key_rank(key: tuple[Any, ...]) -> tuple[Any, ...]:
    """Sorts keys with null first."""
    return tuple((part is not None, part if part is not None else 0) for part in key)


def _windows(window: Window, rows: Rows, times: list[Any]) -> Iterator[tuple[Any, Any, Rows]]:
    if "session" in window:
        yield from _sessions(length(window["session"]), rows, times)
        return
    extent = window.get("trailing", window.get("tumbling"))
    if _counts_rows(window, extent):
        step = window.get("every", extent)
        for end in range(step, len(rows) + 1, step):
            start = max(0, end - extent)
            yield start, end, rows[start:end]
        return
    size, step = length(extent), length(window.get("every", extent))
    many = round(size / step)

    def end(number: int) -> Any:  # a window of whole steps ends where another starts, whatever floats round
        return (number + many) * step if many * step == size else number * step + size

    numbers = set()
    for row in rows:
        number = int(times[row] // step) + 2  # a quotient of floats may be one too small
        while end(number) > times[row]:
            number -= 1
            if number * step <= times[row] < end(number):
                numbers.add(number)
    for number in sorted(numbers):
        start = number * step
        yield start, end(number), [row for row in rows if start <= times[row] < end(number)]


def _sessions(gap: Any, rows: Rows, times: list[Any]) -> Iterator[tuple[Any, Any, Rows]]:
    open_: Rows = []
    for row in rows:
        if open_ and times[row] != times[open_[-1]] and times[row] - times[open_[-1]] > gap:
            yield times[open_[0]], times[open_[-1]] + gap, open_
            open_ = []
        open_ = [*open_, row]
    if open_:
        yield times[open_[0]], times[open_[-1]] + gap, open_


# --- aggregates: what they mean is in tests/definitions.py -----------------------------------------------------------

_POSITION = "#position"
_BY_POSITION, _IN_TIME = {"argmin", "argmax"}, {"longest_increasing_run", "time_weighted_mean"}


def _inputs(aggregate: Aggregate, time: str | None) -> list[str]:
    """The columns it looks at: those it names, and what they imply."""
    columns, options = list(aggregate.columns), dict(aggregate.options)
    if len(columns) == 1 and aggregate.function in _BY_POSITION:
        return [_POSITION, *columns]
    timed = aggregate.function in _IN_TIME or isinstance(options.get("half_life"), str)
    return [*columns, time or _POSITION] if len(columns) == 1 and timed else columns


def result_type(columns: Columns, aggregate: Aggregate, time: str | None = None) -> str:
    """As `definitions.result_type` says; a user's monoid by its name."""
    if aggregate.function.startswith("user:"):
        own = {"concat": "string", "queue": "string", "affine": "int64"}
        return own.get(aggregate.function.removeprefix("user:"), "float64")
    types = ["int64" if name == _POSITION else columns[name].type for name in _inputs(aggregate, time)]
    return definitions.result_type(aggregate.function, types, dict(aggregate.options))


def _answer(
    columns: Columns, aggregate: Aggregate, rows: Rows, min_rows: int, time: str | None
) -> tuple[Any, float | None]:
    if len(rows) < min_rows:
        return None, None
    kept = [row for row in rows if all(_passes(columns, row, *test) for test in aggregate.where)]
    if not aggregate.columns:
        return len(kept), None
    if aggregate.function.startswith("user:"):
        tuples = [tuple(columns[name].values[row] for name in aggregate.columns) for row in kept]
        return _fold(aggregate.function.removeprefix("user:"), [parts for parts in tuples if None not in parts])
    names = _inputs(aggregate, time)
    tuples = [tuple(row if name == _POSITION else columns[name].values[row] for name in names) for row in kept]
    answer, scale = definitions.define(aggregate.function, tuples, dict(aggregate.options))
    if isinstance(answer, Fraction):
        answer = definitions.rounded(answer, result_type(columns, aggregate, time))
    return answer, scale


def _passes(columns: Columns, row: int, column: str, test: str, value: Any = None) -> bool:
    return definitions.passes(columns[column].values[row], test, value)


def _fold(name: str, values: list[tuple[Any, ...]]) -> tuple[Any, float | None]:
    if not values:
        return None, None
    monoid = MONOIDS[name]
    lift, lower = monoid.get("lift", lambda value: value), monoid.get("lower", lambda partial: partial)
    answer = lower(reduce(monoid["combine"], (lift(*parts) for parts in values), monoid["identity"]))
    return answer, math.fsum(abs(x) for x, _ in values) if name == "weighted" else None
