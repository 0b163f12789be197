"""The command line: what it prints, its exit codes, and that a mistake is told in one line."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import slidewise
from slidewise import cli, demo
from slidewise.swag import ALGORITHMS


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli.app, arguments)


def one_line(result: Result) -> str:
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert line.startswith("slidewise: ")
    return line


@dataclasses.dataclass
class Told:
    """Stands in for the demo: remembers how it was called, and answers as told."""

    differences: tuple[str, ...] = ()
    called: dict[str, object] = dataclasses.field(default_factory=dict)

    def __call__(self, **arguments: object) -> demo.DemoResult:
        self.called = arguments
        return demo.DemoResult(1, 0, 1, 1, 0.1, self.differences, Path("demo.html"), None)


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Told:
    told = Told()
    monkeypatch.setattr(demo, "run", told)
    return told


def test_version() -> None:
    assert run("--version").stdout == f"slidewise {slidewise.__version__}\n"


@pytest.mark.parametrize("command", [(), ("demo",), ("algorithms",), ("store", "inspect"), ("bench",)])
def test_help_has_an_example(command: tuple[str, ...]) -> None:
    result = run(*command, "--help")
    assert result.exit_code == 0
    assert "Example: slidewise" in result.stdout


def test_no_command_gives_the_help() -> None:
    result = run()
    assert "algorithms" in result.stdout + result.stderr


def test_the_command_line_imports_nothing_heavy() -> None:
    code = "import sys, slidewise.cli; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    assert not {"numba", "pyspark", "pandas", "polars", "matplotlib", "lmdb", "redis"}.intersection(loaded)


def test_algorithms_are_the_registry_s() -> None:
    result = run("algorithms")
    assert result.exit_code == 0
    for name, structure in ALGORITHMS.items():
        (row,) = [line for line in result.stdout.splitlines() if line.split()[:1] == [name]]
        assert structure.card.space in row


def test_the_readme_has_todays_table() -> None:
    readme = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
    written = readme.partition("<!-- algorithms: slidewise algorithms --markdown -->\n")[2].partition("\n<!-- /alg")[0]
    assert written == run("algorithms", "--markdown").stdout.strip()


def test_algorithms_as_json_have_every_field() -> None:
    cards = json.loads(run("algorithms", "--json").stdout)
    assert cards == [dataclasses.asdict(structure.card) for structure in ALGORITHMS.values()]


def test_demo_passes_its_options_on(told: Told, tmp_path: Path) -> None:
    result = run("demo", "--seconds", "5", "--machines", "2", "--seed", "1", "--out", str(tmp_path), "--plain")
    assert result.exit_code == 0
    assert told.called == {"seconds": 5, "machines": 2, "seed": 1, "out": tmp_path, "live": False}


def test_demo_decides_by_the_terminal_unless_told(told: Told, tmp_path: Path) -> None:
    assert run("demo", "--out", str(tmp_path)).exit_code == 0
    assert told.called["live"] is None


def test_demo_fails_where_stream_and_batch_differ(told: Told, tmp_path: Path) -> None:
    told.differences = ("max_power_a_1s",)
    assert run("demo", "--out", str(tmp_path)).exit_code == 1


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--seconds", "0", "seconds=0"),
        ("--machines", "0", "machines=0"),
        ("--seed", "-1", "seed=-1"),
    ],
)
def test_an_argument_out_of_range(option: str, value: str, message: str, tmp_path: Path) -> None:
    pytest.importorskip("pyspark")
    assert message in one_line(run("demo", "--out", str(tmp_path), option, value))


def test_an_argument_of_the_wrong_type() -> None:
    result = run("demo", "--seconds", "many")
    assert result.exit_code == 2
    assert "Traceback" not in result.stderr


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert "--out" in one_line(run("demo", "--out", str(tmp_path / "file" / "out")))


def test_no_pyspark(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("session", "stream"):
        monkeypatch.delitem(sys.modules, f"slidewise.demo.{name}", raising=False)
        monkeypatch.delattr(demo, name, raising=False)
    monkeypatch.setitem(sys.modules, "pyspark", None)
    assert "pip install 'slidewise[spark]'" in one_line(run("demo", "--out", str(tmp_path)))


def test_no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("pyspark")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert "needs Java 17 or newer" in one_line(run("demo", "--out", str(tmp_path)))
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "none on PATH" in one_line(run("demo", "--out", str(tmp_path)))


def test_a_java_that_does_not_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    context = pytest.importorskip("pyspark").SparkContext
    monkeypatch.setattr(context, "_gateway", None)
    monkeypatch.setattr(pytest.importorskip("pyspark.sql").SparkSession, "getActiveSession", lambda: None)
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\nexit 1\n")
    java.chmod(0o700)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert "spark.log" in one_line(run("demo", "--seconds", "1", "--out", str(tmp_path / "out")))


def test_bench_needs_a_checkout(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(slidewise, "__file__", str(tmp_path / "lib" / "slidewise" / "__init__.py"))
    assert "checkout" in one_line(run("bench"))


def test_bench_passes_its_arguments_on(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[list[str]] = []

    def fake(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        started.append(command)
        return subprocess.CompletedProcess(command, 3)

    monkeypatch.setattr(subprocess, "run", fake)
    assert run("bench", "arrays", "--quick").exit_code == 3
    assert started == [[sys.executable, "-m", "bench", "arrays", "--quick"]]


def test_workers_get_this_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    monkeypatch.setattr(sys, "argv", ["slidewise", "--version"])
    with pytest.raises(SystemExit):
        cli.main()
    assert cli.os.environ["PYSPARK_PYTHON"] == sys.executable
