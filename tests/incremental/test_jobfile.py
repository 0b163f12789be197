"""Jobs as files: what they make, what is refused by name, and the command that runs one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import slidewise as sw
from slidewise import cli
from slidewise import incremental as inc
from slidewise.errors import ArgumentError
from slidewise.incremental.jobfile import JobFile, read_job
from tests.incremental.windows import TEXTS, assert_answers, split

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FILE = """
state = ["{place}/a", "{place}/b"]
window = 2
[query]
group_by = "k"
order = "t"
[[query.aggregates]]
name = "sum"
columns = "n"
where = [["x", "is not null"]]
alias = "some"
[[query.aggregates]]
monoid = "tests.incremental.windows:TEXTS"
columns = ["s"]
[output]
path = "{place}/answers"
"""
QUERY = inc.group_by("k", order="t").aggregate(
    sw.sum("n").where("x", "is not null").alias("some"), sw.aggregate(TEXTS, "s")
)


def written(place: Path, text: str = FILE) -> Path:
    (place / "job.toml").write_text(text.format(place=place), encoding="utf-8")
    return place / "job.toml"


def test_a_file_says_what_a_call_says(tmp_path: Path) -> None:
    file = read_job(written(tmp_path, FILE.replace("window = 2", "window = 2\npartitions = 3")))
    assert (file.query, file.window, file.partitions) == (QUERY, inc.splits(2), 3)
    assert file.state == [f"{tmp_path}/a", f"{tmp_path}/b"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("window = 2", "window = 2.5", "window=2.5: expected a number of splits, 'append' or 'variable'"),
        ("window = 2", "", "has no 'window'"),
        ("window = 2", "windows = 2", "'windows' is not known; expected 'state'"),
        ("window = 2", "window =", "is not TOML"),
        ('name = "sum"', 'name = "total"', "name='total': expected one of 'count'"),
        ('name = "sum"', "", "expected a table with either 'name', a built-in, or 'monoid'"),
        (":TEXTS", ":NOBODY", "monoid='tests.incremental.windows:NOBODY': cannot be imported"),
        (":TEXTS", ":split", "expected the name of a slidewise.Monoid"),
        ("path = ", "paths = ", "output: 'paths' is not known"),
    ],
)
def test_what_is_wrong_in_a_file_is_named(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        read_job(written(tmp_path, FILE.replace(old, new)))


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match=r"nothing.toml: No such file"):
        read_job(tmp_path / "nothing.toml")


@pytest.mark.spark
def test_the_command(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(JobFile, "session", lambda self: spark)
    job = str(written(tmp_path))
    for number in range(2):
        pq.write_table(split(number), tmp_path / f"{number}.parquet")

    def run(*more: str) -> str:
        result = CliRunner().invoke(cli.app, ["advance", job, *more])
        assert result.exit_code == 0, (result.stderr, result.exception)
        return result.stdout

    both = [f"--add=s{number}={tmp_path}/{number}.parquet" for number in range(2)]
    said = run(*both, f"--svg={tmp_path}/tree.svg")
    assert "advance 1: 2 splits, rotating tree, 2 splits, through Arrow" in said
    assert (tmp_path / "tree.svg").exists()
    assert_answers(spark.read.parquet(f"{tmp_path}/answers"), QUERY, [0, 1])
    assert "prepare 2" in run(*both, "--if-new", "--prepare")
    result = CliRunner().invoke(cli.app, ["advance", job, *both])
    assert result.exit_code == 2
    assert result.stderr.startswith("slidewise: add='s0': a split of that name was added at")
    result = CliRunner().invoke(cli.app, ["advance", job, "--add", "s2"])
    assert result.stderr == "slidewise: --add s2: expected NAME=PATH\n"
