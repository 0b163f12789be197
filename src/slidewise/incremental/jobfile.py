"""A job as a file, for a nightly cron: the state, the query, the window, how splits are read and answers written.

    state = ["/data/state-a", "/data/state-b"]
    window = 90                                     # splits; or "append", or "variable"
    [query]
    group_by = ["user"]
    [[query.aggregates]]
    name = "sum"                                    # a built-in, or monoid = "package.module:NAME"
    columns = ["bytes"]
    [read]
    format = "parquet"
    [output]
    path = "/data/answers"
    [spark]
    "spark.master" = "local[*]"

Nothing in it is evaluated; a monoid is imported by name. Whatever is not known is refused by name.
"""

from __future__ import annotations

import importlib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slidewise.errors import ArgumentError, bad, listed
from slidewise.incremental.query import Query, group_by
from slidewise.incremental.window import Splits, splits
from slidewise.monoids import BUILTINS, catalogue
from slidewise.monoids.aggregate import Aggregate, aggregate
from slidewise.monoids.monoid import Monoid

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from slidewise.incremental.job import Job

TOP = ("state", "window", "bucket", "tree", "seed", "split_rows", "partitions", "query", "read", "output", "spark")
AGGREGATE = ("name", "monoid", "columns", "alias", "options", "where")


@dataclass(frozen=True)
class JobFile:
    """A job file, read and checked."""

    state: list[str]
    query: Query
    window: Splits
    split_rows: int | None
    partitions: int | None
    read: Mapping[str, Any]
    output: Mapping[str, str]
    spark: Mapping[str, str]

    def session(self) -> SparkSession:
        """The Spark session that the file asks for."""
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.appName("slidewise advance")
        for name, value in self.spark.items():
            builder = builder.config(name, value)
        return builder.getOrCreate()

    def job(self, spark: SparkSession) -> Job:
        """The job."""
        from slidewise.incremental.job import Job

        return Job(
            spark,
            state=self.state,
            query=self.query,
            window=self.window,
            split_rows=self.split_rows,
            partitions=self.partitions,
            cache=False,  # a process of its own for every slide
            **self.read,
        )

    def write(self, answers: DataFrame) -> None:
        """Write the answers where the file says; nowhere if it does not."""
        if self.output:
            writer = answers.write.format(self.output.get("format", "parquet"))
            writer.mode(self.output.get("mode", "overwrite")).save(self.output["path"])


def read_job(path: Path) -> JobFile:
    """The job of a file, or an error that names what is wrong in it."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ArgumentError(f"{path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ArgumentError(f"{path}: is not TOML: {error}") from error
    _known(content, TOP, str(path))
    for needed in ("state", "window", "query"):
        if needed not in content:
            raise ArgumentError(f"{path}: has no {needed!r}; expected {listed(('state', 'window', 'query'))}")
    state = content["state"]
    reading = _table(content, "read", ("format", "options", "schema"))
    output = _table(content, "output", ("path", "format", "mode"))
    if output and "path" not in output:
        raise ArgumentError(f"{path}: output has no 'path'")
    return JobFile(
        [state] if isinstance(state, str) else state,
        _query(content["query"]),
        _window(content),
        content.get("split_rows"),
        content.get("partitions"),
        reading,
        output,
        {name: str(value) for name, value in _table(content, "spark", None).items()},
    )


def _known(given: Mapping[str, Any], allowed: tuple[str, ...], where: str) -> None:
    for name in given:
        if name not in allowed:
            raise ArgumentError(f"{where}: {name!r} is not known; expected {listed(allowed)}")


def _table(content: Mapping[str, Any], name: str, allowed: tuple[str, ...] | None) -> dict[str, Any]:
    found = content.get(name, {})
    if not isinstance(found, dict):
        raise bad(name, found, f"a table [{name}]")
    if allowed is not None:
        _known(found, allowed, name)
    return found


def _window(content: Mapping[str, Any]) -> Splits:
    given = content["window"]
    options = {name: content[name] for name in ("bucket", "tree", "seed") if name in content}
    if given == "append":
        return splits(**options)
    if given == "variable":
        return splits(variable=True, **options)
    if isinstance(given, bool) or not isinstance(given, int):
        raise bad("window", given, "a number of splits, 'append' or 'variable'")
    return splits(given, **options)


def _query(content: Any) -> Query:
    if not isinstance(content, dict):
        raise bad("query", content, "a table [query]")
    _known(content, ("group_by", "order", "aggregates"), "query")
    keys = content.get("group_by", [])
    aggregates = content.get("aggregates", [])
    if not isinstance(aggregates, list) or not aggregates:
        raise bad("aggregates", aggregates, "at least one table [[query.aggregates]]")
    keys = [keys] if isinstance(keys, str) else keys
    return group_by(*keys, order=content.get("order")).aggregate(*map(_aggregate, aggregates))


def _aggregate(given: Any) -> Aggregate:
    if not isinstance(given, dict) or ("name" in given) == ("monoid" in given):
        raise bad("aggregates", given, "a table with either 'name', a built-in, or 'monoid', as package.module:NAME")
    _known(given, AGGREGATE, "aggregates")
    columns = given.get("columns", [])
    columns = [columns] if isinstance(columns, str) else columns
    if "monoid" in given:
        made = aggregate(_monoid(given["monoid"]), *columns)
    elif given["name"] in BUILTINS:
        made = getattr(catalogue, given["name"])(*columns, **given.get("options", {}))
    else:
        raise bad("name", given["name"], f"one of {listed(BUILTINS, limit=60)}")
    for test in given.get("where", []):
        made = made.where(*test)
    return made.alias(given["alias"]) if "alias" in given else made


def _monoid(name: str) -> Monoid:
    module, _, attribute = name.partition(":")
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise ArgumentError(f"monoid={name!r}: cannot be imported ({error}); expected package.module:NAME") from error
    if not isinstance(found, Monoid):
        raise bad("monoid", name, "the name of a slidewise.Monoid")
    return found
