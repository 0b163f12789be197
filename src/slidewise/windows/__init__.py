"""Which events an answer covers: windows as values, durations, and the bounds they become."""

from slidewise.windows.window import Window, trailing, tumbling

__all__ = ["Window", "trailing", "tumbling"]
