"""The verb: `slide` on every container; `schema` and `explain` say what it would do. Nothing is computed here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from slidewise.engine.explain import explain_plan
from slidewise.engine.plan import Plan, make_plan
from slidewise.errors import ArgumentError, bad, listed, shown, whole
from slidewise.monoids.aggregate import Aggregate
from slidewise.windows.window import Window

Aggregates = Aggregate | list[Aggregate] | tuple[Aggregate, ...]
Windows = Window | Mapping[str, Window]

STREAM_ONLY = ("lateness", "emit", "late", "idle", "initial")
OPTIONS = ("algorithm", "threads", "presorted", *STREAM_ONLY)

CONTAINERS = {
    ("builtins", "list"): "list",
    ("numpy", "ndarray"): "numpy",
    ("pandas", "Series"): "pandas",
    ("polars", "Series"): "polars",
    ("pandas", "DataFrame"): "frame",
    ("polars", "DataFrame"): "frame",
    ("polars", "LazyFrame"): "frame",
    ("pyarrow", "Table"): "frame",
    ("pyarrow", "RecordBatch"): "frame",
    ("pyspark", "DataFrame"): "spark",
}
"""Package and class -> adapter: known by name, so that none of them is imported to find out."""


def slide(
    data: Any,
    aggregates: Aggregates,
    window: Windows,
    *,
    by: Any = None,
    order: Any = None,
    algorithm: str = "auto",
    threads: int | None = None,
    lateness: Any = None,
    emit: str | None = None,
    late: str | None = None,
    idle: Any = None,
    initial: Any = None,
    presorted: bool = False,
) -> Any:
    """Aggregate over a sliding window, on any container, at a constant number of combines per event.

    Parameters
    ----------
    data
        A list, 1-D NumPy array, pandas or Polars Series; an Arrow, pandas or Polars table, eager or lazy; a Spark
        DataFrame, batch or streaming. The same kind comes back.
    aggregates
        One, or a list: ``sw.max("power")``, ``sw.aggregate(my_monoid, "price", "qty")``.
    window
        One, e.g. ``sw.trailing("5 min")``, or a dict of names to windows, all computed in one pass.
    by
        Key columns: each key has windows of its own.
    order
        The column (or columns) by which rows are ordered; needed for windows by time, and on Spark.
        For plain sequences an array. Without it rows are taken as they come. In pandas it may name a level of the
        index, and a DatetimeIndex serves for windows by time if nothing is named.
    algorithm
        ``"auto"``, or a name from `slidewise.swag.ALGORITHMS`.
    threads
        How many threads; None: all cores. Answers do not depend on it. On Spark: over how many tasks one key, or rows
        without a key, may be spread. None spreads rows without a key only, on four cores or more; 1 nothing.
    lateness, emit, late, idle, initial
        Streams only (docs/streams.md): how long to wait for events out of order; when rows come out, ``"event"`` or
        ``"window"`` once final, ``"update"`` or ``"change"`` at once, as a changelog; what becomes of late events,
        ``"drop"``, ``"column"`` or ``"error"``; after which silence a key begins anew; a batch DataFrame of the past.
    presorted
        Rows are together by key and in order already: checked, not sorted again.

    Returns
    -------
    The rows with result columns added, in their own order; with `.every`, `tumbling` or `session`, one row per window:
    keys, ``window_start``, ``window_end``, results; with several windows that have a step, one row wherever one of them
    ends: keys, ``window_end``, results, null where a window does not end or holds no event. A plain sequence gives a
    sequence, or a dict of them for several results.

    Examples
    --------
    >>> import slidewise as sw
    >>> sw.slide([3, 1, 4, 1, 5], sw.max(), sw.trailing(3))
    [3, 3, 4, 4, 5]
    >>> import pyarrow as pa
    >>> table = pa.table({"k": ["a", "b", "a"], "x": [1.0, 2.0, 4.0]})
    >>> sw.slide(table, [sw.sum("x"), sw.count()], sw.trailing(2), by="k").to_pydict()
    {'k': ['a', 'b', 'a'], 'x': [1.0, 2.0, 4.0], 'sum_x': [1.0, 2.0, 5.0], 'count': [1, 1, 2]}
    """
    options = {"lateness": lateness, "emit": emit, "late": late, "idle": idle, "initial": initial}
    kind = kind_of_data(data)
    threads = _check_options(threads, presorted)
    if kind == "spark":
        from slidewise.spark import slide_spark

        return slide_spark(
            data,
            aggregates,
            window,
            by=by,
            order=order,
            algorithm=algorithm,
            presorted=presorted,
            threads=threads,
            **options,
        )
    _refuse_stream_options(options)
    if kind == "frame":
        return _slide_frame(data, aggregates, window, by, order, algorithm, threads, presorted)
    return _slide_sequence(data, kind, aggregates, window, by, order, algorithm, threads, presorted)


def schema(
    data: Any, aggregates: Aggregates, window: Windows, *, by: Any = None, order: Any = None, **options: Any
) -> pa.Schema:
    """The columns that `slide` would return, with their Arrow types, without running it.

    >>> import slidewise as sw, pyarrow as pa
    >>> sw.schema(pa.table({"x": [1, 2]}), sw.mean("x"), sw.trailing(2))
    x: int64
    mean_x: double
    """
    plan, types = _plan_only(data, aggregates, window, by, order, options)
    if not types:  # a plain sequence: only answers come back
        return pa.schema(plan.schema()[0 if plan.per_event else len(plan.window_fields()) :])
    kept = {name: types[name] for name in types} if plan.per_event else {name: plan.types[name] for name in plan.by}
    return pa.schema([*(pa.field(name, arrow) for name, arrow in kept.items()), *plan.schema()])


def explain(
    data: Any, aggregates: Aggregates, window: Windows, *, by: Any = None, order: Any = None, **options: Any
) -> str:
    """What `slide` would do, in words: what is shuffled and sorted, which structure and kernel run, and why.

    >>> import slidewise as sw
    >>> print(sw.explain([1.0, 2.0], sw.max(), sw.trailing(2)))
    rows: taken as they come, one group
    max: trailing(2), compiled (partial: float64), blocked scans: a fixed number of rows over whole columns, ...
    """
    plan, _ = _plan_only(data, aggregates, window, by, order, options)
    if kind_of_data(data) == "spark":
        from slidewise.spark import explain_spark

        return explain_spark(data, plan, **options)
    return explain_plan(plan)


def kind_of_data(data: Any) -> str:
    """Which adapter serves: "list", "numpy", "pandas" or "polars" (a Series), "frame" or "spark"; subclasses too."""
    for base in type(data).__mro__:
        kind = CONTAINERS.get((base.__module__.partition(".")[0], base.__name__))
        if kind is not None and (kind != "spark" or hasattr(data, "isStreaming")):
            return kind
    if isinstance(data, tuple):
        raise bad("data", data, "a list; make one with list(data)")
    raise ArgumentError(
        f"data: got {type(data).__module__}.{type(data).__name__}; expected a list, a 1-D NumPy array, "
        "a pandas or Polars Series, an Arrow, pandas or Polars table, or a Spark DataFrame"
    )


def _slide_frame(
    data: Any, aggregates: Any, window: Any, by: Any, order: Any, algorithm: str, threads: int | None, presorted: bool
) -> Any:
    from slidewise.tables.frames import Frame
    from slidewise.tables.run import slide_events, slide_steps

    frame = Frame(data)
    order, types = frame.named(by, order, window)
    plan = make_plan(types, aggregates, window, by=by, order=order, algorithm=algorithm)
    if plan.per_event:
        return frame.with_results(slide_events(plan, frame.column, len(frame), threads, presorted))
    windows, results = slide_steps(plan, frame.column, len(frame), threads, presorted)
    return frame.from_windows(windows, results, plan.order)


def _slide_sequence(
    data: Any,
    kind: str,
    aggregates: Any,
    window: Any,
    by: Any,
    order: Any,
    algorithm: str,
    threads: int | None,
    presorted: bool,
) -> Any:
    from slidewise.tables.run import slide_events, slide_steps
    from slidewise.tables.sequences import Sequence

    sequence = Sequence(data, kind)
    plan = _sequence_plan(sequence, aggregates, window, by, order, algorithm)
    if plan.per_event:
        results = slide_events(plan, sequence.column, sequence.length, threads, presorted)
    else:
        _, results = slide_steps(plan, sequence.column, sequence.length, threads, presorted)
    if isinstance(aggregates, Aggregate) and isinstance(window, Window):
        return sequence.back(results[0], plan.per_event)
    return {result.name: sequence.back(result, plan.per_event) for result in results}


def _sequence_plan(sequence: Any, aggregates: Any, window: Any, by: Any, order: Any, algorithm: str) -> Plan:
    keys, orders = sequence.attach("by", by), sequence.attach("order", sequence.order(order, window))
    return make_plan(
        sequence.types,
        aggregates,
        window,
        by=keys,
        order=orders,
        algorithm=algorithm,
        plain=True,
        objects=sequence.objects,
    )


def _plan_only(
    data: Any, aggregates: Any, window: Any, by: Any, order: Any, options: dict[str, Any]
) -> tuple[Plan, Mapping[str, pa.DataType | None]]:
    for name in options:
        if name not in OPTIONS:
            raise ArgumentError(f"{name}={shown(options[name])}: no such argument; there are {listed(OPTIONS)}")
    algorithm = options.get("algorithm", "auto")
    kind = kind_of_data(data)
    _check_options(options.get("threads"), options.get("presorted", False))
    if kind != "spark":
        _refuse_stream_options({name: options.get(name) for name in STREAM_ONLY})
    else:
        from slidewise.spark import spark_types

        types: Mapping[str, pa.DataType | None] = spark_types(data)
        options = {"by": by, "order": order, "algorithm": algorithm, "whole": not data.isStreaming, "positions": False}
        return make_plan(types, aggregates, window, **options), types
    if kind == "frame":
        from slidewise.tables.frames import Frame

        frame = Frame(data)
        order, named = frame.named(by, order, window)
        return make_plan(named, aggregates, window, by=by, order=order, algorithm=algorithm), frame.types
    from slidewise.tables.sequences import Sequence

    return _sequence_plan(Sequence(data, kind), aggregates, window, by, order, algorithm), {}


def _check_options(threads: object, presorted: object) -> int | None:
    if not isinstance(presorted, bool):
        raise bad("presorted", presorted, "True or False")
    return None if threads is None else whole("threads", threads, 1, "an integer of at least 1, or None for all cores")


def _refuse_stream_options(options: dict[str, Any]) -> None:
    for name, value in options.items():
        if value is not None:
            raise ArgumentError(f"{name}={shown(value)}: is for streaming DataFrames only; expected None for this data")
