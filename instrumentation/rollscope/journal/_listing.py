"""The segment numbers of a log folder, listed again only when the folder changed."""

from __future__ import annotations

import bisect
import os
import time
from pathlib import Path
from typing import Final

from ._format import LANES, parse_name

_SETTLED: Final = 50_000_000
"""ns after a change during which the folder's time stamp cannot tell a second change from the first."""


class Listing:
    """Sorted numbers per lane."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._seen = -1
        self._segments: list[list[int]] = [[] for _ in range(LANES)]
        self._asides: list[list[int]] = [[] for _ in range(LANES)]

    def refresh(self) -> None:
        """List the folder if it may have changed."""
        try:
            changed = os.stat(self._folder).st_mtime_ns
            if changed == self._seen:
                return
            now = time.time_ns()
            names = os.listdir(self._folder)
        except FileNotFoundError:
            names, changed, now = [], -1, 0
        self._seen = changed if now - changed > _SETTLED else -1
        self._sort(names)

    def _sort(self, names: list[str]) -> None:
        segments: list[list[int]] = [[] for _ in range(LANES)]
        asides: list[list[int]] = [[] for _ in range(LANES)]
        for parsed in filter(None, map(parse_name, names)):
            kind, lane, number = parsed
            if lane < LANES:
                (segments if kind == "p" else asides)[lane].append(number)
        self._segments = [sorted(numbers) for numbers in segments]
        self._asides = [sorted(numbers) for numbers in asides]

    def first(self, lane: int, at_least: int) -> int | None:
        """Return the lowest number from `at_least` on."""
        numbers = self._segments[lane]
        place = bisect.bisect_left(numbers, at_least)
        return numbers[place] if place < len(numbers) else None

    def after(self, lane: int, number: int) -> bool:
        """Return whether a segment behind `number` exists."""
        self.refresh()
        return self.first(lane, number + 1) is not None

    def numbers(self, lane: int) -> list[int]:
        """Return all segments of `lane`."""
        return list(self._segments[lane])

    def asides(self, lane: int, after: int = 0) -> list[int]:
        """Single-record files of `lane` behind `after`."""
        numbers = self._asides[lane]
        return numbers[bisect.bisect_right(numbers, after) :]

    def forget(self, lane: int, number: int) -> None:
        """Drop a segment that turned out to be gone."""
        self._seen = -1
        if number in self._segments[lane]:
            self._segments[lane].remove(number)
