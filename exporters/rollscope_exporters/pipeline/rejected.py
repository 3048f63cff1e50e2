"""What could not be read or translated: counted by reason, the latest ones kept to look at."""

from __future__ import annotations

import sqlite3
from collections import Counter

KEPT = 100
"""Entries kept; older ones are only counted."""
KEPT_BYTES = 1 << 20
"""Of each entry at most this much is kept."""


class Rejections:
    """Rejections of the commit under way."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._counts: Counter[str] = Counter({str(reason): int(n) for reason, n in db.execute("SELECT reason, records FROM rejections")})
        self._changed: set[str] = set()
        self._entries: list[tuple[int, str, str, str, bytes]] = []

    def count(self, reason: str, records: int = 1) -> None:
        """Count records that cannot be used."""
        self._counts[reason] += records
        self._changed.add(reason)

    def entry(self, now: int, name: str, signal: str, reason: str, detail: str, payload: bytes) -> None:
        """Set a whole inbox entry aside; `name` says which, `detail` is what the error said."""
        self.count(reason)
        self._entries.append((now, name, signal, f"{reason}: {detail}" if detail else reason, payload[:KEPT_BYTES]))

    def save(self, db: sqlite3.Connection) -> None:
        """Write what is new."""
        db.executemany("INSERT OR REPLACE INTO rejections VALUES (?, ?)", [(reason, self._counts[reason]) for reason in self._changed])
        db.executemany("INSERT INTO rejected (time, entry, signal, reason, payload) VALUES (?, ?, ?, ?, ?)", self._entries)
        if self._entries:
            db.execute("DELETE FROM rejected WHERE id <= (SELECT max(id) FROM rejected) - ?", (KEPT,))
        self._changed.clear()
        self._entries.clear()
