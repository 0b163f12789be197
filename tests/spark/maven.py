"""Jars from Maven, by the Ivy that pyspark brings.

    artifacts ──► what they need, by their POMs ──► the user's cache directory / slidewise / maven ──► paths of jars

The repository is that of MAVEN_REPO_URL, else Ivy's own, which is Maven Central. Ivy checks what it downloads against
the checksums beside it. What is in the cache is not asked for again: jars had once are there without a network.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path
from xml.etree import ElementTree as ET

PATIENCE = 240
SECONDS_TO_CONNECT, SECONDS_TO_READ = 10, 60


class Unavailable(Exception):
    """Maven, or what is wanted of it, is not to be had."""


def java() -> str:
    home = os.environ.get("JAVA_HOME")
    return str(Path(home) / "bin" / "java") if home else "java"


def fetch(*artifacts: str, instead: Iterable[str] = ()) -> list[str]:
    """The jars of these artifacts and of all they need, each `organisation:name:version`.

    `instead` has versions to take of what they need, whatever their POMs ask for.
    """
    import pyspark

    (ivy,) = (Path(pyspark.__file__).parent / "jars").glob("ivy-*.jar")
    cache = _cache()
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        _write(place / "settings.xml", _settings())
        _write(place / "ivy.xml", _module(artifacts, instead))
        limits = {"Connect": SECONDS_TO_CONNECT, "Read": SECONDS_TO_READ}
        command = [java(), *(f"-Dsun.net.client.default{k}Timeout={v}000" for k, v in limits.items())]
        command += ["-cp", str(ivy), "org.apache.ivy.Main", "-cache", str(cache), "-settings", "settings.xml"]
        command += ["-ivy", "ivy.xml", "-cachepath", "jars"]
        try:
            done = subprocess.run(command, cwd=place, capture_output=True, text=True, timeout=PATIENCE, check=False)
        except subprocess.TimeoutExpired:
            raise Unavailable(f"Maven did not answer within {PATIENCE} s: {', '.join(artifacts)}") from None
        if wrong := re.search(r"invalid (sha1|md5): .*", done.stdout):
            raise ValueError(f"a download is not what its checksum says: {wrong[0]}")
        if done.returncode:
            raise Unavailable(f"not to be had from Maven: {_missing(done.stdout) or done.stderr[-500:]}")
        return (place / "jars").read_text().strip().split(os.pathsep)


def _cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "slidewise" / "maven"


def _missing(report: str) -> str:
    """What Ivy says it did not find, or could not download."""
    return ", ".join(dict.fromkeys(re.findall(r"^\s*:: (\S+[;!]\S+: .+|\S+[;!]\S+)$", report, re.MULTILINE)))


def _settings() -> ET.Element:
    root = ET.Element("ivysettings")
    ET.SubElement(root, "settings", defaultResolver="maven")
    address = os.environ.get("MAVEN_REPO_URL")
    resolver = {"name": "maven", "m2compatible": "true"} | ({"root": address} if address else {})
    ET.SubElement(ET.SubElement(root, "resolvers"), "ibiblio", resolver)
    return root


def _module(artifacts: Iterable[str], instead: Iterable[str]) -> ET.Element:
    root = ET.Element("ivy-module", version="2.0")
    ET.SubElement(root, "info", organisation="slidewise", module="tests")
    ET.SubElement(ET.SubElement(root, "configurations"), "conf", name="default")
    needs = ET.SubElement(root, "dependencies")
    for artifact in artifacts:
        org, name, rev = artifact.split(":")
        ET.SubElement(needs, "dependency", org=org, name=name, rev=rev, conf="default->default")
    for artifact in instead:
        org, name, rev = artifact.split(":")
        ET.SubElement(needs, "override", org=org, module=name, rev=rev)
    return root


def _write(path: Path, root: ET.Element) -> None:
    ET.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)
