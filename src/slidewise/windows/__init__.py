"""Which events an answer covers: windows as values, durations, and the bounds they become."""

from slidewise.windows.make import around, between, expanding, session, trailing, tumbling
from slidewise.windows.window import Window

__all__ = ["Window", "around", "between", "expanding", "session", "trailing", "tumbling"]
