"""Live buffers of frames: the complexity claims of 004 as curves, in time and in counted work.

    operations    add, scope, repair, content, evict; by events (in frames of 16) and by frames (of 4,096 events)
    ripples       a late event that moves all frames after it
    streams       ns per event, by how many events are late and by how much

Single buffers fold everything at scope, so their repair is their scope; multi walks its frames; the tree is flat or
logarithmic in all of it. Work is what `buffer.work` counts: events, frames, nodes, comparisons, shifts.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import slidewise as sw
from bench.arrays import SEED
from bench.measure import Bar, Case, Report, Timing
from slidewise.frames import Buffer

US = "slidewise tree"
BUFFERS: dict[str, dict[str, Any]] = {
    US: {"buffer": "tree"},
    "slidewise multi": {"buffer": "multi"},
    "slidewise single in_order": {"buffer": "single", "order": "in_order"},
    "slidewise single eager": {"buffer": "single", "order": "eager"},
    "slidewise single lazy": {"buffer": "single", "order": "lazy"},
}
OPERATIONS = ("add", "scope", "repair", "content", "evict")
NEVER = 10**12
"""A tick that does not come by itself."""

Sample = tuple[float, int]
"""Seconds and counted work of one call."""


def frame_of(i: int, size: int) -> float:
    """A value that puts event i into a frame of `size`: levels far apart, so that frames are cut there and nowhere."""
    return float(i // size % 2 * 100)


def filled(who: str, events: int, size: int) -> Buffer:
    """A buffer of so many events in frames of `size`, with nothing to be reported."""
    buffer = Buffer(sw.frames.delta(10.0), tick=NEVER, evict=(2, 1), **BUFFERS[who])
    buffer.extend([frame_of(i, size) for i in range(events)], range(0, 2 * events, 2))
    buffer.report()
    return buffer


def sampled(buffer: Buffer, call: Callable[[], Any]) -> Sample:
    """One call."""
    before = buffer.work.total
    start = time.perf_counter()
    call()
    return time.perf_counter() - start, buffer.work.total - before


def operations(who: str, events: int, size: int, times: int) -> dict[str, list[Sample]]:
    """What each operation costs, `times` times over, with late events anywhere (at the end for in_order)."""
    draw = random.Random(SEED)
    buffer = filled(who, events, size)
    found: dict[str, list[Sample]] = {name: [] for name in OPERATIONS}
    single, in_order = "single" in who, "in_order" in who
    for k in range(times):
        late = 2 * events + k if in_order else 2 * draw.randrange(events // 4, events) + 1
        value = frame_of(min(late // 2, events - 1), size)
        if not single:
            found["scope"].append(sampled(buffer, lambda: buffer.scope(late)))  # noqa: B023
        found["add"].append(sampled(buffer, lambda: buffer.add(value, late)))  # noqa: B023
        settle = sampled(buffer, lambda: buffer.scope(late))  # noqa: B023
        found["scope" if single else "repair"].append(settle)
        interval = buffer.scope(late)
        assert interval is not None
        found["content"].append(sampled(buffer, lambda: buffer.content(interval)))  # noqa: B023
        buffer.report()
    for _ in range(min(times, events // size // 4)):
        found["evict"].append(sampled(buffer, buffer.evict))
    return {name: samples for name, samples in found.items() if samples}


def curves(report: Report, over: str, cases: list[tuple[int, int]], times: int, say: Callable[[str], None]) -> None:
    """Time and work of each operation over (events, size of a frame); `over` names what changes."""
    named = [events if over == "events" else events // size for events, size in cases]
    rows = [["operation", "buffer", *(f"{number:,}" for number in named)]]
    work: dict[tuple[str, str], list[float]] = {}
    for who in BUFFERS:
        for number, (events, size) in zip(named, cases, strict=True):
            say(f"operations: {who}, {events:,} events in {events // size:,} frames")
            for name, samples in operations(who, events, size, times).items():
                case: Case = {"operation": name, over: number}
                taken = statistics.median(seconds for seconds, _ in samples)
                report.timings.append(Timing(case, who, 1, (taken,)))
                work.setdefault((name, who), []).append(statistics.mean(done for _, done in samples))
    for name, who in ((name, who) for name in OPERATIONS for who in BUFFERS if (name, who) in work):
        rows += [[name, who.removeprefix("slidewise "), *(f"{one:,.1f}" for one in work[name, who])]]
    report.tables[f"counted work of one call, by {over}"] = rows
    grown = max(named) / min(named)
    for name in ("scope", "evict") if over == "events" else ("scope",):
        ours, lists = work[name, US], work[name, "slidewise multi"]
        what = f"{name} by {over}, {min(named):,} to {max(named):,}: work of"
        report.bars.append(Bar(f"{what} the tree, last through first", ours[-1] / ours[0], 4.0))
        if name == "scope":
            least = grown / 6
            report.bars.append(Bar(f"{what} multi, last through first", lists[-1] / lists[0], least, at_most=False))
    if over == "events":
        for who in ("slidewise single eager", "slidewise single lazy"):
            scopes = work["scope", who]
            what = f"scope by {over}: work of {who}, last through first"
            report.bars.append(Bar(what, scopes[-1] / scopes[0], grown / 2, at_most=False))


# ---- ripples ---------------------------------------------------------------------------------------------------------
def ripples(report: Report, events: int, sizes: tuple[int, ...], say: Callable[[str], None]) -> None:
    """A late event that moves every later frame, a sum with a limit: folded event by event, or leapt over."""
    rows = [["frames of", "tree: events", "nodes", "ms", "multi: events", "ms"]]
    for size in sizes:
        say(f"ripples: {events:,} events in frames of {size:,}")
        row = [f"{size:,}"]
        for who in (US, "slidewise multi"):
            buffer = Buffer(sw.frames.aggregate(sw.sum(), limit=size), tick=NEVER, **BUFFERS[who])
            buffer.extend([1] * events, range(0, 2 * events, 2))
            for late in (1, 3):  # the first one has summaries made
                buffer.add(1, late)
                buffer.work.reset()
                seconds, _ = sampled(buffer, lambda: buffer.scope(0))  # noqa: B023
            row.append(f"{buffer.work.events:,}")
            row += [f"{buffer.work.nodes:,}"] if who == US else []
            row.append(f"{seconds * 1e3:,.2f}")
        rows.append(row)
    report.tables[f"a late event that moves all of {events:,} events to the right, by size of frames"] = rows


# ---- streams --------------------------------------------------------------------------------------------------------
def stream(events: int, share: float, lateness: int) -> Iterator[tuple[int, int]]:
    """Values and times; a share of the events comes up to `lateness` events late."""
    draw = random.Random(SEED)
    for i in range(events):
        late = draw.randrange(1, lateness + 1) if draw.random() < share else 0
        yield draw.randrange(6), max(0, i - late)


def pushed(who: str, events: int, share: float, lateness: int) -> tuple[float, int, list[Any]]:
    """Push a stream, with eviction of the oldest half now and then: seconds, work, and the frames at the end."""
    fed = list(stream(events, share, lateness))
    buffer = Buffer(sw.frames.aggregate(sw.sum(), limit=30), evict=(40, 20), **BUFFERS[who])
    start = time.perf_counter()
    for value, at in fed:
        buffer.push(value, at)
    taken = time.perf_counter() - start
    return taken, buffer.work.total, [frame[:4] for frame in buffer.frames()]


def streams(report: Report, events: int, say: Callable[[str], None]) -> None:
    """Every buffer over streams that are more and more out of order."""
    rows = [["buffer", "late", "by up to", "work per event"]]
    for share in (0.0, 0.01, 0.1, 0.5):
        for lateness in (10, 300) if share else (0,):
            say(f"streams: {share:.0%} late by up to {lateness}")
            right = pushed(US, events, share, lateness)[2]
            for who in BUFFERS:
                if share and "in_order" in who:
                    continue
                taken, work, frames = pushed(who, events, share, lateness)
                wrong = "" if frames == right else "frames differ from the tree's"
                case: Case = {"late": f"push, {share:.0%} late", "by up to": lateness}
                report.timings.append(Timing(case, who, events, () if wrong else (taken,), wrong=wrong))
                name = who.removeprefix("slidewise ")
                rows.append([name, f"{share:.0%}", f"{lateness:,}", f"{work / events:,.1f}"])
    report.tables["counted work per event of a stream"] = rows


def add_to(report: Report, quick: bool, say: Callable[[str], None]) -> None:
    """All of it, as a part of a report."""
    exponents = (8, 11) if quick else (8, 10, 12, 14)
    times = 8 if quick else 16
    curves(report, "events", [(2**k, 16) for k in exponents], times, say)
    curves(report, "frames", [(4096, 2**k) for k in ((10, 4) if quick else (10, 7, 4, 1))], times, say)
    ripples(report, 2**12 if quick else 2**14, (16, 1024) if quick else (16, 128, 1024, 8192), say)
    streams(report, 400 if quick else 1500, say)


def run(quick: bool, say: Callable[[str], None]) -> Report:
    """All of it."""
    report = Report("frames_buffers", quick, "ns per row", US)
    add_to(report, quick, say)
    return report
