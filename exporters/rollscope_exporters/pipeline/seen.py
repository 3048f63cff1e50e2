"""What was taken of records without number: the keys of foreign points and log lines, for a time.

A span without number is known by its id within its trace (`traces`). A point is known by its series and time. A log line is known
by its whole content and, as a program may say the same twice in a moment, by how often the request had said it before: a
request that is sent again says everything again.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Mapping

import msgspec

from .settings import HOUR

_encode = msgspec.msgpack.Encoder(order="sorted").encode


class Seen:
    """A set of 16-byte keys on disk; those of the commit under way are in memory."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._new: dict[bytes, int] = {}

    def add(self, key: bytes, now: int) -> bool:
        """Add `key`; False when it was there."""
        if key in self._new or self._db.execute("SELECT 1 FROM seen WHERE key = ?", (key,)).fetchone():
            return False
        self._new[key] = now // HOUR
        return True

    def save(self, db: sqlite3.Connection) -> None:
        """Write the new keys."""
        db.executemany("INSERT INTO seen VALUES (?, ?)", sorted(self._new.items()))
        self._new.clear()

    @staticmethod
    def forget(db: sqlite3.Connection, before: int) -> None:
        """Delete keys taken before `before` (Unix ns)."""
        db.execute("DELETE FROM seen WHERE hour < ?", (before // HOUR,))


def point_key(run: str, resource: bytes, name: str, attributes: Mapping[str, object], time: int) -> bytes:
    """Return the key of one point of one series."""
    return _digest("point", run, resource, name, dict(attributes), time)


def log_key(run: str, resource: bytes, content: tuple[object, ...], occurrence: int) -> bytes:
    """Return the key of the `occurrence`-th log line with this content in its request."""
    return _digest("log", run, resource, content, occurrence)


def _digest(*parts: object) -> bytes:
    return hashlib.blake2b(_encode(parts), digest_size=16).digest()
