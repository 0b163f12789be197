"""A contraction tree as a picture: what the last slide used again, built, and what is void.

level 2  ├───────●───────┤
level 1  ├───○───┤├───●──┤       ● built   ○ reused   · void   ◇ folded ahead
splits   ○   ○    ○    ●  ·
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

SIGNS = {"built": "●", "reused": "○", "void": "·", "ahead": "◇"}
COLOURS = {"built": "#d9730d", "reused": "#4a7ba6", "void": "#d0d0d0", "ahead": "#7a5ea8"}
MOST_WIDE = 160


@dataclass(frozen=True)
class Drawn:
    """A place of the tree with what became of it: "built", "reused", "void" or "ahead"."""

    level: int
    first: int
    last: int
    fate: str
    said: str = ""
    """What is known of it, for whoever points at it."""


def as_text(places: Sequence[Drawn], names: Sequence[str], title: str) -> str:
    """The tree in characters; a place of a leaf is 1 to 4 of them."""
    if not places:
        return f"{title}\n(no splits)"
    leaves = max(place.last for place in places)
    cell = max(1, min(4, MOST_WIDE // leaves))
    lines = [title]
    rows = sorted({(place.level, place.fate == "ahead") for place in places}, reverse=True)
    for level, ahead in rows:
        line = [" "] * (leaves * cell)
        for place in places:
            if (place.level, place.fate == "ahead") == (level, ahead):
                _span(line, place.first * cell, place.last * cell, SIGNS[place.fate])
        label = "ahead" if ahead else "splits" if level == 0 else f"level {level}"
        lines.append(f"{label:9}{''.join(line).rstrip()}")
    lines.append("         " + "   ".join(f"{sign} {fate}" for fate, sign in SIGNS.items()))
    if names:
        lines.append(f"         {names[0]} to {names[-1]}" if len(names) > 1 else f"         {names[0]}")
    return "\n".join(lines)


def _span(line: list[str], first: int, last: int, sign: str) -> None:
    if last - first >= 5:
        line[first:last] = "├" + "─" * (last - first - 2) + "┤"
    line[(first + last - 1) // 2] = sign


def as_svg(places: Sequence[Drawn], names: Sequence[str], title: str) -> str:
    """The tree as a drawing; point at a node to read what it is."""
    leaves = max((place.last for place in places), default=1)
    top = max((place.level for place in places), default=0) + 1
    step = max(8, min(44, 1100 // leaves))
    width, height = leaves * step + 40, top * 64 + 90
    spots = {id(place): _spot(place, step, top) for place in places}
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="11">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        f'<text x="20" y="18" font-size="13">{escape(title)}</text>',
    ]
    for place in places:
        x, y = spots[id(place)]
        for child in _children(place, places):
            a, b = spots[id(child)]
            parts.append(f'<line x1="{x:.1f}" y1="{y}" x2="{a:.1f}" y2="{b}" stroke="#b8b8b8"/>')
    radius = max(3.0, min(10.0, step / 3))
    for place in places:
        x, y = spots[id(place)]
        hollow = ' fill-opacity="0.25"' if place.fate == "void" else ""
        told = f"<title>{escape(place.said or place.fate)}</title>"
        parts.append(
            f'<circle cx="{x:.1f}" cy="{y}" r="{radius:.1f}" fill="{COLOURS[place.fate]}"{hollow}>{told}</circle>'
        )
    for k, (fate, colour) in enumerate(COLOURS.items()):
        parts.append(f'<circle cx="{26 + 90 * k}" cy="{height - 14}" r="5" fill="{colour}"/>')
        parts.append(f'<text x="{36 + 90 * k}" y="{height - 10}">{fate}</text>')
    if names:
        said = names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"
        parts.append(f'<text x="20" y="{height - 32}">{escape(said)}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def _spot(place: Drawn, step: int, top: int) -> tuple[float, int]:
    shift = step * 0.7 if place.fate == "ahead" else 0.0
    return 20 + (place.first + place.last) / 2 * step + shift, 40 + (top - 1 - place.level) * 64


def _children(place: Drawn, places: Sequence[Drawn]) -> list[Drawn]:
    """The places right below: inside its span, and inside no other that is."""
    if place.level == 0 or place.fate == "ahead":
        return []
    inside = [
        one
        for one in places
        if one.level < place.level and one.fate != "ahead" and place.first <= one.first and one.last <= place.last
    ]
    return [
        one
        for one in inside
        if not any(
            other is not one and other.level > one.level and other.first <= one.first and one.last <= other.last
            for other in inside
        )
    ]


def fates(rows: Mapping[str, int], built: set[str], node: str) -> tuple[str, str]:
    """What became of a node, and what is known of it."""
    fate = "built" if node in built else "reused"
    return fate, f"{fate}: {node}, {rows.get(node, 0):,} keys"
