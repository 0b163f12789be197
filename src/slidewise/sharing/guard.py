"""What becomes of shared windows when a user's function raises: nothing half-done is ever used.

    lift raises       nothing was taken: the windows are as they were (Python objects)
    combine raises    slices may be half-done: the windows refuse every further call, and say why
    lower raises      the events are in, their answers are lost

A copy of the windows to go back to would cost O(window) per event, so there is none.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from slidewise.errors import LateEventError, SlidewiseError


class Guard:
    """Remembers what broke the windows; O(1).

    >>> guard = Guard()
    >>> try:
    ...     with guard.changes(): 1 / 0
    ... except ZeroDivisionError: pass
    >>> with guard.changes(): pass
    Traceback (most recent call last):
    slidewise.errors.SlidewiseError: these windows are of no more use: a user's function raised ZeroDivisionError: ...
    """

    def __init__(self) -> None:
        self._broken = ""

    @contextmanager
    def changes(self) -> Iterator[None]:
        """Where state changes: an exception on the way breaks the windows; `LateEventError` comes before anything."""
        if self._broken:
            raise SlidewiseError(
                f"these windows are of no more use: a user's function raised {self._broken}; expected new windows"
            )
        try:
            yield
        except LateEventError:
            raise
        except BaseException as error:
            self._broken = f"{type(error).__name__}: {error}"
            raise
