"""A buffer as lines of text: the cells of figure 4 of the frames report.

    t  1  2 | 2.5  3  4 | 5  6  7 | 8  9        times
       1  2 |   2  0  1 | 1  2  0 | 2  1        values
       w1   | w2        | w3      | w4 ..       frames; one that is open goes on

Events that are in no frame stand between bars with nothing below. O(n).
"""

from __future__ import annotations

from slidewise.frames.lane import Lane
from slidewise.frames.live import Event


def drawn(lane: Lane) -> str:
    """Three lines."""
    groups: list[tuple[str, list[Event]]] = []
    frames = iter([frame for frame in lane.all_frames() if frame.last is not None])
    frame = next(frames, None)
    number = 0
    inside = False
    for event in lane.listed():
        if frame is not None and (frame.first is event or (frame.first is None and not groups)):
            number += 1
            groups.append((f"w{number}" + ("" if frame.closed else " .."), []))
            inside = True
        elif not inside and not (groups and groups[-1][0] == ""):
            groups.append(("", []))
        groups[-1][1].append(event)
        if frame is not None and frame.last is event:
            frame, inside = next(frames, None), False
    columns = [_cells(name, events) for name, events in groups]
    lines = zip(*columns, strict=True)
    return "\n".join(f"{mark}  {' | '.join(line)}".rstrip() for mark, line in zip("t  ", lines, strict=False))


def _cells(name: str, events: list[Event]) -> tuple[str, str, str]:
    times = [str(event.time) for event in events]
    values = ["∅" if event.value is None else str(event.value) for event in events]
    widths = [max(len(time), len(value)) for time, value in zip(times, values, strict=True)]
    above = "  ".join(time.rjust(width) for time, width in zip(times, widths, strict=True))
    below = "  ".join(value.rjust(width) for value, width in zip(values, widths, strict=True))
    width = max(len(above), len(name))
    return above.ljust(width), below.ljust(width), name.ljust(width)
