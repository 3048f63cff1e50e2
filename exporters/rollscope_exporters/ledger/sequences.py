"""Which numbers of a producer have been received: exact, and small as long as few are missing.

A bitmap per page of 4096 numbers; a full page is a mark, and full pages from the start on are one number. A producer whose
records come in three lanes leaves many holes for a while, so single ranges would be rewritten as a whole again and again; here a
commit writes the half kilobyte of each page it touched.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

PAGE = 4096
_FULL = b""


class SequenceSet:
    """A set of numbers from 1 on that knows which of its pages changed."""

    __slots__ = ("_counts", "_dirty", "_pages", "count", "first", "highest")

    def __init__(self) -> None:
        self.count = 0
        self.highest = 0
        self.first = 0
        """Every page before this one is full."""
        self._pages: dict[int, bytearray] = {}
        self._counts: dict[int, int] = {}
        self._dirty: set[int] = set()

    def add(self, number: int) -> bool:
        """Add `number`; False when it was there. Raises `ValueError` below 1."""
        page, bit = divmod(number, PAGE)
        bits = self._pages.get(page)
        if bits is None:
            bits = self._open(number, page)
        mask = 1 << (bit & 7)
        if not bits or bits[bit >> 3] & mask:
            return False
        bits[bit >> 3] |= mask
        self.count += 1
        if number > self.highest:
            self.highest = number
        self._dirty.add(page)
        self._counts[page] += 1
        if self._counts[page] == PAGE:
            self._fill(page)
        return True

    def _open(self, number: int, page: int) -> bytearray:
        if number < 1:
            raise ValueError(f"sequence numbers start at 1, not {number}")
        if page < self.first:
            return bytearray(_FULL)
        bits = self._pages[page] = bytearray(PAGE // 8)
        bits[0] = 0 if page else 1  # there is no number 0; its bit is taken
        self._counts[page] = 0 if page else 1
        return bits

    def _fill(self, page: int) -> None:
        self._pages[page] = bytearray(_FULL)
        while (bits := self._pages.get(self.first)) is not None and not bits:
            del self._pages[self.first], self._counts[self.first]
            self.first += 1

    def missing(self, upto: int, limit: int = 10) -> list[tuple[int, int]]:
        """Return the first `limit` ranges (both ends included) of numbers from 1 to `upto` that are not there."""
        found: list[tuple[int, int]] = []
        for start, end in self._holes(upto):
            if found and found[-1][1] == start - 1:
                found[-1] = found[-1][0], end
            elif len(found) == limit:
                break
            else:
                found.append((start, end))
        return found

    def lacking(self, upto: int) -> int:
        """Return how many numbers from 1 to `upto` are not there."""
        return sum(end - start + 1 for start, end in self._holes(upto))

    def _holes(self, upto: int) -> Iterator[tuple[int, int]]:
        expected = self.first * PAGE
        for page in sorted(self._pages):
            start, bits = page * PAGE, self._pages[page]
            if start > upto:
                break
            if start > max(expected, 1):
                yield max(expected, 1), start - 1
            expected = start + PAGE
            if bits:
                for bit in range(min(PAGE, upto - start + 1)):
                    if not bits[bit >> 3] & 1 << (bit & 7):
                        yield start + bit, start + bit
        if max(expected, 1) <= upto:
            yield max(expected, 1), upto

    def save(self, db: sqlite3.Connection, producer: str) -> None:
        """Write the pages changed since the last time."""
        rows = [(producer, page, bytes(self._pages[page])) for page in self._dirty if page >= self.first]
        db.executemany("INSERT OR REPLACE INTO pages (producer, page, bits) VALUES (?, ?, ?)", rows)
        if any(page < self.first for page in self._dirty):
            db.execute("DELETE FROM pages WHERE producer = ? AND page < ?", (producer, self.first))
        self._dirty.clear()

    @classmethod
    def load(cls, db: sqlite3.Connection, producer: str, *, first: int, count: int, highest: int) -> SequenceSet:
        """Read what `save` wrote; `first`, `count` and `highest` are kept by the caller."""
        found = cls()
        found.first, found.count, found.highest = first, count, highest
        for page, bits in db.execute("SELECT page, bits FROM pages WHERE producer = ?", (producer,)):
            found._pages[page] = bytearray(bits)
            found._counts[page] = sum(bin(byte).count("1") for byte in bits) if bits else PAGE
        return found
