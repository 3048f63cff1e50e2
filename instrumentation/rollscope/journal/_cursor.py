"""Reads one lane of a log, while it is written and whatever happened to it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from ._format import HEADER_SIZE, PAGE, RECORD_SIZE, Position, aside_name, read_header, segment_name, unpack_header
from ._log import Log
from ._scan import Found, is_zero, next_record, records

CHUNK = 256 << 10


class Entry(NamedTuple):
    """One record."""

    sequence: int
    """Its number in the log, from 1."""
    payload: bytes
    end: Position
    """The place behind it: acknowledging it acknowledges this record and all before it."""


class Cursor:
    """A place in one lane that moves on. It holds at most one open file."""

    def __init__(self, log: Log, lane: int, position: Position) -> None:
        self._fd = -1
        self.lane = lane
        self._log = log
        self._number, self._offset, self._aside = position
        self._capacity = -1
        self._sequence = 0
        self._searching = False

    @property
    def sequence(self) -> int:
        """The highest sequence read."""
        return self._sequence

    @property
    def position(self) -> Position:
        """Where the next read begins."""
        return Position(self._number, self._offset, self._aside)

    def read(self, max_bytes: int) -> list[Entry]:
        """Return up to `max_bytes` of payload, at least one record if there is one; moves on."""
        entries: list[Entry] = []
        left = max_bytes
        self._leave_removed()
        while left > 0 and (self._fd >= 0 or self._open()):
            found = self._next(min(left, CHUNK))
            for sequence, payload, end in found.records:
                entries.append(Entry(sequence, payload, Position(self._number, end, self._aside)))
                left -= len(payload)
            self._offset = found.offset
            if found.records:
                self._sequence = max(self._sequence, *[record[0] for record in found.records])
                self._searching = False
            if found.stop == "budget":
                break
            if not (found.stop == "short" and found.records) and not self._pass(found):
                break
        self._read_asides(entries, max_bytes)
        return entries

    def skip_end(self, position: Position) -> Position:
        """Return the beginning of the next segment, when nothing can follow `position` in its own; else `position`."""
        if position[:2] != (self._number, self._offset):
            return position
        while self._fd >= 0 and (found := self._next(1)).stop in ("end", "zero", "short") and not found.records and self._pass(found):
            pass
        return Position(self._number, self._offset, position.aside)

    def close(self) -> None:
        """Close the file, if one is open."""
        if self._fd >= 0:
            os.close(self._fd)
        self._fd = -1

    def __del__(self) -> None:
        self.close()

    def _open(self) -> bool:
        """Open the segment at the position, or the first one behind it; False when there is none yet."""
        listing = self._log.listing
        listing.refresh()
        number = listing.first(self.lane, self._number)
        if number is None:
            return False
        if number > self._number:
            self._log.count_removed(self.lane, self._number, number)
            self._number, self._offset = number, 0
        try:
            self._fd = os.open(self._log.folder / segment_name(self.lane, number), os.O_RDONLY)
        except FileNotFoundError:
            listing.forget(self.lane, number)
            return self._open()
        self._searching = False
        return self._read_header()

    def _read_header(self) -> bool:
        if self._take_header():
            return True
        if self._log.alive() and not self._log.listing.after(self.lane, self._number):
            self.close()  # its writer may be just making it
            return False
        # It was being made when it was looked at, if there is a header now that its writer has gone on, or died.
        if self._take_header():
            return True
        if not is_zero(os.pread(self._fd, os.fstat(self._fd).st_size, 0)):  # else killed while making it
            self._log.damaged["header"] += 1
        self._capacity = -1
        if self._offset == 0:
            self._offset, self._searching = HEADER_SIZE, True
        return True

    def _take_header(self) -> bool:
        header = read_header(self._fd)
        if header is None:
            return False
        self._capacity = header.capacity
        self._offset = max(self._offset, header.first)
        return True

    def _next(self, budget: int) -> Found:
        data = os.pread(self._fd, budget + RECORD_SIZE, self._offset)
        found = records(data, self._offset, budget)
        if found.stop == "short" and not found.records and found.offset + found.need <= os.fstat(self._fd).st_size:
            data = os.pread(self._fd, found.need, self._offset)
            found = records(data, self._offset, budget)
        return found

    def _pass(self, found: Found) -> bool:
        """Get over the place at which `records` stopped; False when it is the end for now."""
        if found.stop == "end":
            return self._advance()
        alive = self._log.alive()
        size = os.fstat(self._fd).st_size
        cut = self._finished(size) or (found.stop != "zero" and self._is_left())
        if (found.stop == "zero" or found.offset >= size) and alive and not cut and self._capacity >= 0:
            return False
        # Nobody writes here any more, or it is damaged. What was written before we knew is read first.
        rest = os.pread(self._fd, max(0, size - found.offset), found.offset)
        again = records(rest, found.offset, 1)
        if again.records or again.stop == "end":
            return True
        followed = cut or self._log.listing.after(self.lane, self._number)
        if not cut and is_zero(rest):
            return followed and self._advance()
        # Its own bytes cannot be the record that follows damage.
        onward = next_record(rest[8:], found.offset + 8, self._sequence)
        if onward is None and alive and not cut:
            return False
        self._count_damage("torn" if onward is None else "checksum")
        self._offset = size if onward is None else onward
        return onward is not None or (followed and self._advance())

    def _finished(self, size: int) -> bool:
        """Return whether the writer has left this segment: it makes whole pages, cuts what it finishes or not, and prepares one ahead."""
        as_made = size == self._capacity if self._capacity >= 0 else size % PAGE == 0
        return not as_made or self._log.listing.after(self.lane, self._number + 1)

    def _is_left(self) -> bool:
        """Return whether the next segment holds anything: where the end mark is damaged, that tells that the writer has moved on."""
        try:
            fd = os.open(self._log.folder / segment_name(self.lane, self._number + 1), os.O_RDONLY)
        except FileNotFoundError:
            return False
        try:
            header = read_header(fd)
            return header is not None and not is_zero(os.pread(fd, RECORD_SIZE, header.first))
        finally:
            os.close(fd)

    def _advance(self) -> bool:
        self.close()
        self._number, self._offset = self._number + 1, 0
        return True

    def _leave_removed(self) -> None:
        if self._fd >= 0 and os.fstat(self._fd).st_nlink == 0:
            self._log.count_removed(self.lane, self._number, self._number + 1)
            self._advance()

    def _count_damage(self, reason: str) -> None:
        if not self._searching:
            self._log.damaged[reason] += 1
        self._searching = False

    def _read_asides(self, entries: list[Entry], max_bytes: int) -> None:
        left = max_bytes
        self._log.listing.refresh()
        for number in self._log.listing.asides(self.lane, self._aside):
            alive = self._log.alive()
            found = _read_aside(self._log.folder / aside_name(self.lane, number))
            if found is None and alive:
                break
            if left <= 0:
                break
            self._aside = number
            if found is None:
                self._log.damaged["torn"] += 1
                continue
            entries.append(Entry(found[0], found[1], self.position))
            left -= len(found[1])


def _read_aside(path: Path) -> tuple[int, bytes] | None:
    """Sequence and payload; None when the file is not whole."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    header = unpack_header(data)
    if header is None:
        return None
    found = records(data[header.first :], header.first, len(data))
    return found.records[0][:2] if found.records else None
