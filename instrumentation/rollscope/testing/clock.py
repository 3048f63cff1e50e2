"""A clock that moves when the test says so."""

from __future__ import annotations

from ..recorder.protocols import Clock

__all__ = ["ManualClock"]


class ManualClock:
    """Both readings of `Clock`, moved by hand. Times in ns."""

    def __init__(self, start: int = 1_700_000_000_000_000_000) -> None:
        self.wall = start
        self.tick = 0

    def advance(self, seconds: float) -> None:
        """Let time pass: both readings move."""
        step = round(seconds * 1e9)
        self.wall += step
        self.tick += step

    def set_wall(self, time: int) -> None:
        """Set the wall clock alone, as a time server does."""
        self.wall = time

    def as_clock(self) -> Clock:
        """Return what a recorder takes."""
        return Clock(lambda: self.wall, lambda: self.tick)
