"""A job dies at every step, files are lost or changed: the next slide gives the right answer, and nothing is leaked.

before nodes ─► (workers write) ─► after nodes ─► before manifest ─► after manifest ─► collecting ...
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from slidewise import incremental as inc
from slidewise.errors import StoreCorrupt
from slidewise.incremental import memo
from slidewise.incremental.files import NODES
from slidewise.incremental.manifest import FILE, load
from tests.catalogue import rare
from tests.incremental.windows import IN_ARROW, assert_answers, assert_nothing_leaked, frame, split

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

STEPS = ("before nodes", "after nodes", "before manifest", "after manifest", "collecting")


class Crash(BaseException):
    """As good as a kill: nothing after it runs but the release of the lock, which a dead process has lost too."""


@contextlib.contextmanager
def dying_at(step: str) -> Iterator[None]:
    def die(reached: str) -> None:
        if reached == step:
            raise Crash

    memo.hook = die
    try:
        with pytest.raises(Crash):
            yield
    finally:
        memo.hook = None


def opened(spark: SparkSession, places: list[Path], window: inc.Splits | None = None) -> inc.Job:
    return inc.Job(spark, state=[str(place) for place in places], query=IN_ARROW, window=window or inc.splits(4))


@pytest.fixture
def places(tmp_path: Path) -> list[Path]:
    return [tmp_path / "a", tmp_path / "b"]


@pytest.mark.parametrize("step", ["after nodes", *map(rare, ("before nodes", *STEPS[2:]))])
def test_death_at_every_step(spark: SparkSession, places: list[Path], step: str) -> None:
    opened(spark, places).advance({f"s{k}": frame(spark, k) for k in range(4)})
    if step == "collecting":  # the first slide leaves nothing to collect
        opened(spark, places).advance({"s4": frame(spark, 4)})
    number = 4 + (step == "collecting")
    with dying_at(step):
        opened(spark, places).advance({f"s{number}": frame(spark, number)})
    done = STEPS.index(step) >= STEPS.index("after manifest")
    job = opened(spark, places)
    assert (f"s{number}" in job.splits()) == done
    (places[0] / NODES / "0123.half.parquet.x.part").write_bytes(b"half")  # what a killed worker leaves
    (places[1] / NODES / "0123.orphan.parquet").write_bytes(b"whole")
    number += done
    made = job.advance({f"s{number}": frame(spark, number)})
    assert job.report().swept >= 2
    assert_answers(made, IN_ARROW, range(number - 3, number + 1))
    assert_nothing_leaked(places)


@pytest.mark.slow
def test_death_while_sweeping_and_ahead(spark: SparkSession, places: list[Path]) -> None:
    opened(spark, places).advance({f"s{k}": frame(spark, k) for k in range(4)})
    for step in ("before manifest", "after manifest"):
        with dying_at(step):
            opened(spark, places).prepare()
    (places[1] / NODES / "0123.orphan.parquet").write_bytes(b"whole")
    with dying_at("sweeping"):
        opened(spark, places).advance({"s4": frame(spark, 4)})
    made = opened(spark, places).advance({"s4": frame(spark, 4)})
    assert_answers(made, IN_ARROW, range(1, 5))
    assert_nothing_leaked(places)


def files_of(place: Path) -> list[Path]:
    return sorted((place / NODES).iterdir())


def test_one_replica_is_lost_and_nothing_is_made_again(spark: SparkSession, places: list[Path]) -> None:
    window = inc.splits(variable=True)
    job = opened(spark, places, window)
    job.advance({f"s{k}": frame(spark, k) for k in range(4)})
    for path in [*files_of(places[0]), places[0] / FILE]:
        path.unlink()
    assert_answers(job.result(), IN_ARROW, range(4))
    made = opened(spark, places, window).advance({"s4": frame(spark, 4)}, 1)
    assert_answers(made, IN_ARROW, range(1, 5))
    report = opened(spark, places, window).report()
    assert report.recomputed == ()
    assert (report.built, report.combines) == (3, 2)  # as without the loss


def test_a_flipped_byte_is_found_and_mended(spark: SparkSession, places: list[Path]) -> None:
    window = inc.splits(variable=True)
    job = opened(spark, places, window)
    job.advance({f"s{k}": frame(spark, k) for k in range(4)})
    whole = {path.name: path.read_bytes() for path in files_of(places[0])}
    for path in files_of(places[0]):
        flip(path)
    made = job.advance({"s4": frame(spark, 4)}, 1)
    assert_answers(made, IN_ARROW, range(1, 5))
    assert job.report().recomputed == ()
    mended = [path for path in files_of(places[0]) if whole.get(path.name) == path.read_bytes()]
    assert mended, "what was read from the other replica is written back"


def flip(path: Path) -> None:
    blob = bytearray(path.read_bytes())
    blob[len(blob) // 2] ^= 1
    path.write_bytes(bytes(blob))


@pytest.mark.parametrize("how", ["flipped", rare("lost")])
def test_a_node_that_is_gone_everywhere_is_the_only_one_made_again(
    spark: SparkSession, places: list[Path], how: str
) -> None:
    window = inc.splits(variable=True)
    job = opened(spark, places, window)
    job.advance({f"s{k}": frame(spark, k) for k in range(8)})
    manifest = load(tuple(map(str, places)))
    assert manifest is not None
    inner = next(
        name
        for name, node in manifest.nodes.items()
        if node.children == (manifest.splits[2].node, manifest.splits[3].node)
    )
    for part in manifest.nodes[inner].parts:
        for place in places:
            if how == "lost":
                (place / NODES / part.file).unlink()
            else:
                flip(place / NODES / part.file)
    made = job.advance({"s8": frame(spark, 8)}, 1)
    assert_answers(made, IN_ARROW, range(1, 9))
    assert job.report().recomputed == (inner,)
    assert_nothing_leaked(places)


@pytest.mark.slow
def test_a_lost_split_is_read_again_or_told(spark: SparkSession, tmp_path: Path) -> None:
    window = inc.splits(variable=True)
    for name, as_path in (("path", True), ("frame", False)):
        places = [tmp_path / name]
        given = {}
        for k in range(2):
            pq.write_table(split(k), tmp_path / f"{k}.parquet")
            given[f"s{k}"] = str(tmp_path / f"{k}.parquet") if as_path else frame(spark, k)
        job = opened(spark, places, window)
        job.advance(given)
        manifest = load((str(places[0]),))
        assert manifest is not None
        for part in manifest.nodes[manifest.splits[1].node].parts:
            (places[0] / NODES / part.file).unlink()
        if as_path:
            assert_answers(job.advance({"s2": frame(spark, 2)}, 1), IN_ARROW, [1, 2])
            assert job.report().recomputed == (manifest.splits[1].node,)
        else:
            with pytest.raises(StoreCorrupt, match="the table of split 's1' is lost in every replica"):
                job.advance({"s2": frame(spark, 2)}, 1)


def test_manifests(spark: SparkSession, places: list[Path]) -> None:
    """The newest that is whole counts; if all are damaged, that is told."""
    job = opened(spark, places)
    job.advance({"s0": frame(spark, 0)})
    flip(places[0] / FILE)
    assert job.splits() == ["s0"]
    flip(places[1] / FILE)
    with pytest.raises(StoreCorrupt, match=r"no manifest can be read.*does not have its checksum"):
        job.splits()


@pytest.mark.slow
def test_collection_keeps_what_the_last_windows_need(spark: SparkSession, tmp_path: Path) -> None:
    counts = {}
    for name, gc in (("one", 1), ("three", 3), ("policy", lambda node: node.rows >= 0)):
        job = inc.Job(spark, state=str(tmp_path / name), query=IN_ARROW, window=inc.splits(2), gc=gc)  # type: ignore[arg-type]
        for k in range(3):
            job.advance({f"s{k}": frame(spark, k)})
        counts[name] = job.report().state_nodes
        assert_nothing_leaked([tmp_path / name])
    assert counts["one"] == counts["policy"] < counts["three"]
