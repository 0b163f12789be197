"""The five applications of the Slider paper, on generated data: what a split is, the map, the query.

    K-Means  one pass over points of a 50-dimensional unit cube, fixed centroids     few keys, heavy map
    KNN      the nearest points of some query points                                few keys, heavy map
    HCT      a histogram of words in Zipf text                                      many keys, light map
    Matrix   how often words follow one another                                     many keys, light map
    subStr   substrings of four letters                                             many keys, light map

A map is ordinary Spark code that the user has already; the query is over its rows. All seeds are fixed.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import slidewise as sw
from slidewise import incremental as inc

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

DIMENSIONS = 50
CENTROIDS, QUERIES, NEAREST = 160, 160, 10
CHUNK = 256
"""Points whose distances are held at once."""


@dataclass(frozen=True)
class App:
    """An application: `rows` of a split in the full benchmark; `write(path, number, rows)` makes one."""

    name: str
    rows: int
    write: Callable[[Path, int, int], None]
    mapped: Callable[[Any], Any]
    query: inc.Query
    heavy: bool = False


# ---- points ---------------------------------------------------------------------------------------------------------
def _points(path: Path, number: int, rows: int) -> None:
    values = np.random.default_rng(number).random(rows * DIMENSIONS)
    ids = pa.array(np.arange(rows) + number * rows)
    points = pa.FixedSizeListArray.from_arrays(pa.array(values), DIMENSIONS).cast(pa.list_(pa.float64()))
    pq.write_table(pa.table({"id": ids, "point": points}), path, row_group_size=max(1, rows // 4))


def _fixed(count: int, seed: int) -> Any:
    return np.random.default_rng(seed).random((count, DIMENSIONS))


def _distances(batch: pa.RecordBatch, to: Any) -> Iterator[tuple[Any, Any, Any]]:
    """Chunks of (ids, points, squared distances)."""
    points = batch.column("point").values.to_numpy().reshape(-1, DIMENSIONS)
    ids = batch.column("id").to_numpy()
    for first in range(0, len(points), CHUNK):
        some = points[first : first + CHUNK]
        yield ids[first : first + CHUNK], some, ((some[:, None, :] - to[None]) ** 2).sum(axis=2)


def _assign(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """One row per centroid and batch: how many points are nearest to it, and their sum."""
    centroids = _fixed(CENTROIDS, 1)
    for batch in batches:
        sums, counts = np.zeros_like(centroids), np.zeros(CENTROIDS, dtype=np.int64)
        for _, points, distances in _distances(batch, centroids):
            nearest = distances.argmin(axis=1)
            np.add.at(sums, nearest, points)
            np.add.at(counts, nearest, 1)
        used = np.nonzero(counts)[0]
        yield pa.RecordBatch.from_pydict(
            {"centroid": pa.array(used), "n": pa.array(counts[used]), "total": pa.array(list(sums[used]))}
        )


def _neighbours(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """One row per query point and batch: the nearest points in it."""
    queries = _fixed(QUERIES, 2)
    for batch in batches:
        found = [(ids, distances) for ids, _, distances in _distances(batch, queries)]
        ids, distances = np.concatenate([one for one, _ in found]), np.concatenate([one for _, one in found])
        best = np.argpartition(distances, min(NEAREST, len(ids) - 1), axis=0)[:NEAREST]
        yield pa.RecordBatch.from_pydict(
            {
                "q": pa.array(np.arange(QUERIES)),
                "d": pa.array([distances[best[:, q], q] for q in range(QUERIES)]),
                "id": pa.array([ids[best[:, q]] for q in range(QUERIES)]),
            }
        )


def _add_totals(a: Any, b: Any) -> Any:
    return (a[0] + b[0], tuple(map(float.__add__, a[1], b[1]))) if a[1] and b[1] else (a if a[1] else b)


def _nearest(a: Any, b: Any) -> Any:
    return tuple(sorted((*a, *b))[:NEAREST])


CENTROID = sw.Monoid(
    identity=(0, ()),
    lift=lambda n, total: (n, tuple(total)),
    combine=_add_totals,
    lower=lambda p: struct.pack(f"{len(p[1])}d", *(value / p[0] for value in p[1])),
    commutative=True,
    name="centroid",
    result="binary",
)
NEIGHBOURS = sw.Monoid(
    identity=(),
    lift=lambda d, ids: tuple(sorted(zip(d, ids, strict=True))[:NEAREST]),
    combine=_nearest,
    lower=lambda p: sum(d for d, _ in p) / len(p),
    commutative=True,
    name="neighbours",
    result="float64",
)


# ---- text -----------------------------------------------------------------------------------------------------------
def _vocabulary(size: int) -> Any:
    source = np.random.default_rng(7)
    letters = np.array(list("etaoinshrdlucmfwypvbgkjqxz"))
    weights = 1 / np.arange(1, 27)
    return np.array(
        ["".join(source.choice(letters, source.integers(3, 9), p=weights / weights.sum())) for _ in range(size)]
    )


def _text(words: int, length: int = 40) -> Callable[[Path, int, int], None]:
    """Lines of so many words, drawn by Zipf's law."""

    def write(path: Path, number: int, rows: int) -> None:
        vocabulary = _vocabulary(words)
        weights = 1 / np.arange(1, words + 1)
        drawn = np.random.default_rng(number).choice(words, rows * length, p=weights / weights.sum())
        flat = pa.array(vocabulary).take(pa.array(drawn))
        lines = pc.binary_join(pa.ListArray.from_arrays(np.arange(0, rows * length + 1, length), flat), " ")
        pq.write_table(pa.table({"text": lines}), path, row_group_size=max(1, rows // 4))

    return write


def _words(df: DataFrame) -> DataFrame:
    return df.selectExpr("explode(split(text, ' ')) as word")


def _pairs(df: DataFrame) -> DataFrame:
    pairs = "explode(transform(sequence(0, size(w) - 2), i -> concat(w[i], ' ', w[i + 1]))) as pair"
    return df.selectExpr("split(text, ' ') as w").selectExpr(pairs)


def _substrings(df: DataFrame) -> DataFrame:
    return df.selectExpr("explode(transform(sequence(1, length(text) - 3), i -> substring(text, i, 4))) as piece")


def _counted(key: str) -> inc.Query:
    return inc.group_by(key).aggregate(sw.count())


APPS = (
    App(
        "K-Means",
        18_000,
        _points,
        lambda df: df.mapInArrow(_assign, "centroid long, n long, total array<double>"),
        inc.group_by("centroid").aggregate(sw.aggregate(CENTROID, "n", "total")),
        heavy=True,
    ),
    App(
        "KNN",
        18_000,
        _points,
        lambda df: df.mapInArrow(_neighbours, "q long, d array<double>, id array<long>"),
        inc.group_by("q").aggregate(sw.aggregate(NEIGHBOURS, "d", "id")),
        heavy=True,
    ),
    App("HCT", 120_000, _text(20_000), _words, _counted("word")),
    App("Matrix", 35_000, _text(300), _pairs, _counted("pair")),
    App("subStr", 5_000, _text(5_000), _substrings, _counted("piece")),
)
