"""Frames: windows that the data cuts, and their repair when events come late."""

from slidewise.frames.buffer import Buffer
from slidewise.frames.make import aggregate, boundary, custom, delta, session, threshold

__all__ = ["Buffer", "aggregate", "boundary", "custom", "delta", "session", "threshold"]
