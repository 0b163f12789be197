"""The page is whole by itself: well-formed, no scripts, nothing fetched, one panel per machine with every series."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from slidewise import datasets
from slidewise.demo import machines, picture

FACTS = {"events in": "500", "same as in batch": "yes"}
CODE = "sw.slide(events, [sw.max('a')], sw.trailing(3))  # 1 < 2 & 3"


@pytest.fixture(scope="module")
def html(results: pa.Table) -> str:
    return picture.render(results, facts=FACTS, code=CODE)


@pytest.fixture(scope="module")
def page(html: str) -> ET.Element:
    return ET.fromstring(html)


def panel(page: ET.Element, name: str) -> ET.Element:
    return next(section for section in page.iter("section") if section.findtext("h2") == name)


def paths(svg: ET.Element, style: str) -> list[str]:
    return [path.get("d", "") for path in svg.iter("path") if path.get("class") == style]


def test_it_is_well_formed_and_needs_nothing(page: ET.Element, html: str) -> None:
    assert page.tag == "html"
    assert not list(page.iter("script"))
    assert not list(page.iter("link"))
    assert not re.search(r"https?:|@import|src=|javascript:", html)
    assert not re.search(r"\$\w|nan|inf\b", html)


def test_light_and_dark(html: str) -> None:
    assert "prefers-color-scheme: dark" in html
    assert "color-scheme: light dark" in html


def test_a_panel_per_machine_in_order(page: ET.Element) -> None:
    assert [section.findtext("h2") for section in page.iter("section")] == ["press-1", "mill-2"]


@pytest.mark.parametrize("name", ["press-1", "mill-2"])
@pytest.mark.parametrize("style", ["reading", "band", "mean", "max", "jump", "late"])
def test_every_series_is_drawn(page: ET.Element, name: str, style: str) -> None:
    (data,) = paths(panel(page, name), style)
    assert data.startswith("M")


def test_faults_and_quiet_periods_show(page: ET.Element) -> None:
    def episodes(name: str) -> set[str]:
        return {group.get("class", "") for group in panel(page, name).iter("g")}

    assert episodes("press-1") == {"episode surge"}
    assert episodes("mill-2") == {"episode quiet"}
    assert "off" in [text.text for text in panel(page, "mill-2").iter("text")]


def test_lines_break_where_the_machine_was_off(page: ET.Element) -> None:
    assert paths(panel(page, "press-1"), "mean")[0].count("M") == 1
    assert paths(panel(page, "mill-2"), "mean")[0].count("M") == 2


def test_everything_drawn_is_inside_the_panel(page: ET.Element) -> None:
    for svg in page.iter("svg"):
        if svg.get("role") != "img":
            continue
        for style in ("reading", "band", "mean", "max", "jump"):
            numbers = [float(n) for n in re.findall(r"-?\d+\.\d+", "".join(paths(svg, style)))]
            assert all(0 <= across <= picture.WIDTH for across in numbers[::2])
            assert all(0 <= down <= picture.HEIGHT for down in numbers[1::2])


def test_facts_and_code_are_escaped(page: ET.Element) -> None:
    assert page.findtext(".//pre") == CODE
    assert [dd.text for dd in page.iter("dd")] == list(FACTS.values())


def test_the_picture_does_not_depend_on_row_order(results: pa.Table, html: str) -> None:
    turned = results.take(pa.array(range(results.num_rows - 1, -1, -1)))
    assert picture.render(turned, facts=FACTS, code=CODE) == html


def test_many_rows_do_not_make_a_big_page(results: pa.Table) -> None:
    machine = results.filter(pc.equal(results["machine"], "press-1"))
    dense = pa.concat_tables(
        machine.set_column(0, "ts", pc.add(machine["ts"], pa.scalar(i * 900, pa.duration("us")))) for i in range(100)
    )
    assert len(picture.render(dense, facts={}, code="")) < 250_000


def test_unknown_readings_are_left_out(results: pa.Table) -> None:
    at = results.column_names.index("power_a")
    unknown = results.set_column(at, "power_a", pa.nulls(results.num_rows, pa.float64()))
    page = ET.fromstring(picture.render(unknown, facts={}, code=""))
    assert not paths(panel(page, "press-1"), "reading")
    assert paths(panel(page, "press-1"), "mean")


def test_no_rows_no_panels(results: pa.Table) -> None:
    page = ET.fromstring(picture.render(results.slice(0, 0), facts={}, code=""))
    assert not list(page.iter("section"))


def test_one_row(results: pa.Table) -> None:
    assert ET.fromstring(picture.render(results.slice(0, 1), facts={}, code="")).tag == "html"


def test_machines_sort_by_number() -> None:
    names = ["press-10", "mill-2", "oven-3", "press-1"]
    assert sorted(names, key=machines.by_number) == ["press-1", "mill-2", "oven-3", "press-10"]


def test_each_fault_has_a_colour(html: str) -> None:
    for name in datasets.FAULTS[1:]:
        assert f".{name} {{" in html
