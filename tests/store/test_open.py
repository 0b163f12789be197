"""Opening: URLs, missing extras, what is imported when; and what `slidewise store inspect` tells."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from slidewise import cli
from slidewise import store as stores
from slidewise.errors import ArgumentError, StoreError
from slidewise.store import keys, meta, pages
from slidewise.store.url import parse, without_secret


@pytest.mark.parametrize(
    ("url", "message"),
    [
        (None, "a store's URL"),
        ("", "schemes"),
        ("/var/windows", "schemes"),
        ("http://host", "schemes"),
        ("disk:", "a path behind disk:"),
        ("disk:/x?durability=maybe", "durability='maybe': expected 'strict' or 'relaxed'"),
        ("disk:/x?colour=red", "option 'colour': expected one of 'durability'"),
        ("redis:localhost", "expected redis://host:port"),
        ("redis://host:port/0", "expected host:port"),
        ("redis://host:99999/0", "expected host:port"),
        ("redis://host:1/zero", "redis://host:port/number"),
        ("redis://a:1,b:2/0", "redis://host:port/number"),
        ("redis+cluster://a:1/3", "database 0 only"),
        ("redis://host:1/0?ca=x", "is for rediss://"),
        ("redis://host:1/0?patience=long", "a number of seconds"),
        ("rediss://host:1/0?ca=/no/such/file", "a file that can be read"),
    ],
)
def test_a_bad_url(url: str, message: str) -> None:
    pytest.importorskip("redis")
    with pytest.raises(ArgumentError, match=message) as caught:
        stores.open(url)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "redis://:hunter2@host:x/0",
        "redis://:hun/ter2@host:x/0",
        "redis://hunter2:hunter2@host:1/no",
        "redis://:hunter2@host:1/0?colour=red",
        "redis+cluster://:hunter2@host:x",
        "rediz://:hunter2@host",
        "redis://:hunter2#@host:0/0",
    ],
)
def test_no_message_shows_a_password(url: str) -> None:
    pytest.importorskip("redis")
    with pytest.raises(ArgumentError) as caught:
        stores.open(url)
    assert "hun" not in str(caught.value)
    assert "hun" not in without_secret(url)
    assert caught.value.__cause__ is None
    if url.startswith("redis:"):
        assert "hun" not in repr(parse(url))


def test_a_backend_is_imported_when_it_is_opened() -> None:
    program = (
        "import sys, slidewise as sw; sw.store.open('memory:');"
        "assert not {'lmdb', 'redis', 'numpy', 'numba'} & set(sys.modules), sys.modules.keys()"
    )
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2] / "src")}
    subprocess.run([sys.executable, "-c", program], check=True, env=env)


@pytest.mark.parametrize(("url", "extra", "modules"), [("disk:x", "disk", ["lmdb"]), ("redis://x", "redis", ["redis"])])
def test_a_missing_extra(url: str, extra: str, modules: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("disk", "lmdb_file", "redis", "redis_link"):
        monkeypatch.delitem(sys.modules, f"slidewise.store.{name}", raising=False)
    for name in modules:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(StoreError, match=rf"pip install 'slidewise\[{extra}\]'$"):
        stores.open(url)


def test_memory_is_shared_by_name() -> None:
    with stores.open("memory:shared") as one:
        one.put_many({b"w/a/1": b"x"})
    with (
        stores.open("memory:shared", create=False) as again,
        stores.open("memory:") as own,
        stores.open("memory:") as two,
    ):
        assert again.get_many([b"w/a/1"]) == [b"x"]
        own.put_many({b"w/a/1": b"y"})
        assert two.get_many([b"w/a/1"]) == [None]


# ---- slidewise store inspect ----------------------------------------------------------------------------------------
HEADER = {
    "window": "trailing(1000)",
    "aggregate": "max",
    "elements": 15360,
    "generation": 4,
    "levels": [[0, 10], [0, 5]],
    "updated": "2026-11-16T02:00:00+00:00",
}


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli.app, ["store", "inspect", *arguments])


def write_two(url: str) -> None:
    with stores.open(url) as store:
        items = {keys.page("line [1]", level, k): pages.seal(bytes(100), "n") for level in (0, 1) for k in range(10)}
        store.put_many({**items, keys.meta("line [1]"): meta.pack(HEADER, b"tails")})
        store.put_many({keys.meta("damaged"): b"no page"})


def test_inspect(lasting_url: str) -> None:
    write_two(lasting_url)
    with stores.open(lasting_url) as store:
        claim = store.claim(keys.prefix("line [1]"))
        result = run(lasting_url)
        assert result.exit_code == 0
        (row,) = [line.split() for line in result.stdout.splitlines() if line.startswith("  line [1]")]
        for cell in ("trailing(1000)", "max", "15,360", "4", "20", str(claim.holder.pid), HEADER["updated"]):
            assert cell in row
        (bad,) = [line for line in result.stdout.splitlines() if line.startswith("  damaged")]
        assert "is damaged" in bad


def test_inspect_as_json(lasting_url: str) -> None:
    write_two(lasting_url)
    told = json.loads(run(lasting_url, "--json").stdout)
    assert told["url"] == lasting_url.partition("?")[0]
    assert told["format"] == 1
    damaged, line = told["windows"]
    assert (damaged["name"], damaged["format"]) == ("damaged", None)
    assert line["meta"] == HEADER
    assert (line["name"], line["pages"], line["format"], line["writer"]) == ("line [1]", 20, 1, None)
    assert line["levels"] == {"0": 10, "1": 10}
    assert line["bytes"] > 20 * 100


@pytest.mark.parametrize("url", ["disk:/no/such/store", "redis://:hunter2@127.0.0.1:1/0", "ftp://x", "memory:nobody"])
def test_inspect_of_nothing_is_one_line(url: str) -> None:
    result = run(url)
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert line.startswith("slidewise: ")
    assert "hunter2" not in line
    assert not Path("/no").exists()


def test_help_of_the_group_has_an_example() -> None:
    result = CliRunner().invoke(cli.app, ["store", "--help"])
    assert "Example: slidewise store inspect" in result.stdout
