"""One byte limit for a log, shared by three priorities."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from ._acked import read_acked
from ._format import HEADER_SIZE, Position, parse_name, unpack_header
from ._scan import records

SHARE: Final = (1.0, 0.9, 0.7)
"""Part of the limit that each lane may fill: tokens stop first, run records last."""


class Victim(NamedTuple):
    """A segment that may be pushed out."""

    path: Path
    lane: int
    sent: int
    """Offset up to which a reader has acknowledged it."""

    def remove(self) -> int:
        """Delete the file; returns how many records are lost with it."""
        lost = 0
        with contextlib.suppress(OSError):
            data = self.path.read_bytes()
            header = unpack_header(data)
            start = max(self.sent, header.first if header else HEADER_SIZE)
            lost = len(records(data[start:], start, len(data)).records)
            self.path.unlink()
        return lost


class Space:
    """Counts what a log takes on disk. The listing is repeated only when the running sum says that there is no room:
    in between, readers delete what they acknowledged."""

    def __init__(self, folder: Path, limit: int) -> None:
        self.limit = limit
        self._folder = folder
        self._used = 0
        self._lock = threading.RLock()
        self.recount()

    def recount(self) -> None:
        """List the folder anew."""
        with self._lock:
            self._used = sum(size for _, size in _files(self._folder))

    def take(self, lane: int, size: int) -> bool:
        """Reserve `size` bytes for `lane`; False when its share is full."""
        allowed = self.limit * SHARE[lane]
        with self._lock:
            if self._used + size > allowed:
                self.recount()
                if self._used + size > allowed:
                    return False
            self._used += size
            return True

    def give_back(self, size: int) -> None:
        """Return bytes that were reserved and are not on disk."""
        with self._lock:
            self._used -= size

    def victims(self) -> Iterator[Victim]:
        """Yield segments that run records may push out: oldest tokens first, then oldest spans."""
        acked = read_acked(self._folder)
        names = [(parsed, name) for name, _ in _files(self._folder) if (parsed := parse_name(name)) and parsed[0] == "p"]
        for lane in (2, 1):
            for (_, _, number), name in sorted(item for item in names if item[0][1] == lane):
                sent = acked[lane].position if lane in acked else Position(0, 0)
                yield Victim(self._folder / name, lane, sent.offset if sent.number == number else 0)


def _files(folder: Path) -> Iterator[tuple[str, int]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            with contextlib.suppress(FileNotFoundError):
                yield entry.name, entry.stat().st_size
