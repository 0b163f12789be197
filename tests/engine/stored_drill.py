"""A window in a store, fed by a process that is to be killed: what it has flushed, it says on standard output.

It goes on where the store has it, so that the same command can be killed again and again.

    python -m tests.engine.stored_drill URL WINDOW EVERY
"""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

import slidewise as sw
from tests.engine.streams import WINDOWS, Stream, stream

EVENTS = 9_000
AGGREGATE = sw.sum()


@cache
def events() -> Stream:
    return stream("float", EVENTS, seed=11)


@cache
def uninterrupted(name: str) -> list[tuple[Any, int]]:
    """The answer after each event, and how many it covers, of a run that nobody kills."""
    window, found = WINDOWS[name], []
    live = sw.LiveWindow(AGGREGATE, window, store="memory:")
    for k, value in enumerate(events().values):
        found.append((live.push(value, events().time(window, k)), len(live)))
    return found


def opened(url: str, name: str) -> sw.LiveWindow:
    """The window of the store, or a new one."""
    try:
        return sw.LiveWindow.restore(url, window=WINDOWS[name])
    except sw.errors.StoreLocked:
        raise
    except sw.errors.StoreError:
        return sw.LiveWindow(AGGREGATE, WINDOWS[name], store=url)


def feed(live: sw.LiveWindow, last: int) -> None:
    """Push the events that are still to come, up to, without, number `last`."""
    for k in range(live.events, last):
        live.push(events().values[k], events().time(live.window, k))


def checked(live: sw.LiveWindow, name: str, more: int) -> None:
    """The window is as an uninterrupted run was after as many events, and goes on in the same way, to the bit."""
    expected = uninterrupted(name)
    if live.events:
        assert (live.query(), len(live)) == expected[live.events - 1], live.events
    for k in range(live.events, min(live.events + more, EVENTS)):
        answer = live.push(events().values[k], events().time(live.window, k))
        assert (answer, len(live)) == expected[k], k


def main(url: str, name: str, every: int) -> None:
    """Feed and flush, and say how far."""
    live = opened(url, name)
    sys.stdout.write(f"{live.events}\n")
    sys.stdout.flush()
    for last in range(live.events // every * every + every, 10**9, every):
        if last > EVENTS:
            break
        feed(live, last)
        live.flush()
        sys.stdout.write(f"{last}\n")
        sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
