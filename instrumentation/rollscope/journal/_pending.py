"""How much of a log was written and not yet acknowledged."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from ._format import END_LENGTH, Position, aside_name, read_header, segment_name
from ._listing import Listing
from ._scan import walk


class Pending:
    """Remembers how far it walked, so that a growing segment is walked once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._walked: dict[tuple[int, int], int] = {}

    def of_lane(self, lane: int, settled: Position, listing: Listing) -> int:
        """Return bytes of records behind `settled`."""
        total = 0
        numbers = [number for number in listing.numbers(lane) if number >= settled.number]
        for number in numbers:
            with contextlib.suppress(FileNotFoundError):
                total += self._of_segment(lane, number, settled.offset if number == settled.number else 0)
        for number in listing.asides(lane, settled.aside):
            with contextlib.suppress(FileNotFoundError):
                total += os.stat(self._folder / aside_name(lane, number)).st_size
        self._walked = {key: end for key, end in self._walked.items() if key[0] != lane or key[1] in numbers}
        return total

    def _of_segment(self, lane: int, number: int, settled: int) -> int:
        fd = os.open(self._folder / segment_name(lane, number), os.O_RDONLY)
        try:
            header = read_header(fd)
            size = os.fstat(fd).st_size
            start = max(settled, header.first if header else 0)
            if header and size != header.capacity and _ends(fd, size):
                return max(0, size - 8 - start)
            walked = max(start, self._walked.get((lane, number), 0))
            end = self._walked[lane, number] = walk(os.pread(fd, max(0, size - walked), walked), walked)
            return max(0, end - start)
        finally:
            os.close(fd)


def _ends(fd: int, size: int) -> bool:
    return os.pread(fd, 4, size - 8) == END_LENGTH.to_bytes(4, "little")
