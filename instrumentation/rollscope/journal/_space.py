"""One byte limit for a log, shared by three priorities."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from ..interruption import pass_on
from ._acked import read_acked
from ._format import HEADER_SIZE, Position, parse_name, unpack_header
from ._scan import records

if TYPE_CHECKING:
    from ._segment import Segment

SHARE: Final = (1.0, 0.9, 0.7)
"""Part of the limit that each lane may fill: tokens stop first, run records last."""


class Victim(NamedTuple):
    """A segment that may be pushed out."""

    path: Path
    lane: int
    number: int
    size: int

    def unsent(self) -> int:
        """Return how many records are lost with it: those that no reader has acknowledged by now."""
        acked = read_acked(self.path.parent).get(self.lane)
        sent = acked.position if acked else Position(0, 0)
        if sent.number > self.number:
            return 0
        try:
            data = self.path.read_bytes()
        except OSError as error:
            pass_on(error)
            return 0
        header = unpack_header(data)
        start = max(sent.offset if sent.number == self.number else 0, header.first if header else HEADER_SIZE)
        return len(records(data[start:], start, len(data)).records)

    def remove(self) -> None:
        """Delete the file."""
        try:
            self.path.unlink()
        except OSError as error:
            pass_on(error)


class Space:
    """Counts what a log takes on disk. The listing is repeated only when the running sum says that there is no room:
    in between, readers delete what they acknowledged."""

    def __init__(self, folder: Path, limit: int) -> None:
        """Raises `OSError` when `folder` cannot be listed."""
        self.limit = limit
        self._folder = folder
        self._on_disk = _size_of(folder)
        self._reserved = 0
        """Bytes of files that are being made. A listing may show them or not: they count twice for that moment, never not at all."""
        self._lock = threading.RLock()

    @contextlib.contextmanager
    def being_made(self, lane: int, size: int) -> Iterator[bool]:
        """Reserve `size` bytes for what `lane` makes in the block; False when its share is full. An exception gives them back."""
        reserved = 0
        try:
            if self._has_room(lane, size):
                reserved = size
            yield bool(reserved)
        except BaseException:
            with self._lock:
                self._reserved -= reserved
            raise
        with self._lock:
            self._reserved -= reserved
            self._on_disk += reserved

    def _has_room(self, lane: int, size: int) -> bool:
        most = self.limit * SHARE[lane] - size
        with self._lock:
            if self._on_disk + self._reserved > most:
                try:
                    self._on_disk = _size_of(self._folder)
                except OSError as error:  # no descriptor is left, or the folder is gone: what was known holds
                    pass_on(error)
                if self._on_disk + self._reserved > most:
                    return False
            self._reserved += size
            return True

    def abandon(self) -> None:
        """Replace the lock, which a thread that did not survive the fork may hold."""
        self._lock = threading.RLock()

    def cut(self, segment: Segment) -> None:
        """Give back what a finished segment did not need.

        Nobody lists the folder meanwhile, or it would be given back twice; so whoever needs room waits, for milliseconds where the file
        system does (`Segment.shrink`).
        """
        with self._lock:
            unused = segment.capacity - segment.shrink()
            self._on_disk -= unused

    def victims(self) -> list[Victim]:
        """Return segments that run records may push out: oldest tokens first, then oldest spans."""
        try:
            found = [(parsed, *file) for file in _files(self._folder) if (parsed := parse_name(file[0])) and parsed[0] == "p"]
        except OSError as error:
            pass_on(error)
            return []
        return [
            Victim(self._folder / name, lane, number, size)
            for lane in (2, 1)
            for (_, _, number), name, size in sorted(item for item in found if item[0][1] == lane)
        ]


def _size_of(folder: Path) -> int:
    return sum(size for _, size in _files(folder))


def _files(folder: Path) -> Iterator[tuple[str, int]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            with contextlib.suppress(FileNotFoundError):
                yield entry.name, entry.stat().st_size
