"""The chain of segments of one priority, as its writer sees it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final

from ._format import HEADER_SIZE, aligned
from ._segment import Segment, capacity_for

RETRY_AFTER: Final = 0.25
"""Seconds during which a lane that was refused space does not ask again."""


class Full:
    """Stands for the segment that a lane does not have: nothing fits."""

    at = 0
    room = -1
    full = -1
    bytes = memoryview(bytearray())
    words = memoryview(bytearray()).cast("Q")


class Lane:
    """Segment numbers, the spare and the refusals of one priority. Whoever changes it holds `rolling`."""

    def __init__(self, lane: int, usual: int, least: int, meta: bytes, number: int) -> None:
        self.lane = lane
        self.number = number
        self.spare: Segment | None = None
        self.retired: list[Segment] = []
        self.rolling = threading.RLock()
        self.busy = False
        self.refused_until = 0.0
        self.refused_why = ""
        self._usual = usual
        self._least = min(least, usual)
        self._meta_overhead = aligned(HEADER_SIZE + len(meta))

    def capacity(self, size: int) -> int:
        """Return bytes of a segment in which a record of `size` bytes fits."""
        return capacity_for(size, self._usual, self._meta_overhead)

    def least(self, size: int) -> int:
        """Return bytes of a segment made where there is little room, in which a record of `size` bytes fits."""
        return capacity_for(size, self._least, self._meta_overhead)

    def refusal(self) -> str:
        """Return why this lane gets no space now; empty when it may ask."""
        return self.refused_why if time.monotonic() < self.refused_until else ""

    def refuse(self, why: str) -> str:
        """Remember for a while that there is no space, and why; returns the reason."""
        self.refused_why = why
        self.refused_until = time.monotonic() + RETRY_AFTER
        return why

    def close_retired(self, cut: Callable[[Segment], None]) -> None:
        """Cut and release finished segments."""
        while self.retired:
            segment = self.retired.pop()
            cut(segment)
            segment.release()

    def drop_spare(self) -> bool:
        """Remove the successor that was prepared and never used; whether there was one."""
        spare, self.spare = self.spare, None
        if spare is None:
            return False
        spare.release()
        try:
            spare.path.unlink()
        except OSError:
            return False
        return True

    def abandon(self) -> list[Segment]:
        """Replace the lock, which a thread that did not survive the fork may hold, and give away the segments."""
        self.rolling = threading.RLock()
        self.busy = False
        segments = [*self.retired, *([self.spare] if self.spare else [])]
        self.retired, self.spare = [], None
        return segments
