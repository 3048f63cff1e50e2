"""The inbox as the pipeline reads it: entries in the order they were accepted, from where the store says."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import msgspec

from rollscope.journal import LANES, Entry, LogReader, Position

_encode = msgspec.msgpack.Encoder().encode
_decode_position = msgspec.msgpack.Decoder(tuple[int, int, int]).decode


class Request(msgspec.Struct, array_like=True):
    """One inbox entry."""

    signal: str
    received: int
    """Unix ns."""
    payload: bytes


decode_request = msgspec.msgpack.Decoder(Request).decode


class Inbox:
    """Reads entries, remembers in the commit how far, and lets go of them after it."""

    def __init__(self, folder: Path, db: sqlite3.Connection) -> None:
        self._reader = LogReader(folder, _start(folder, db))
        self._read: dict[int, tuple[Position, int]] = {}
        self._damaged: dict[str, int] = {}

    def read(self, max_bytes: int) -> list[Entry]:
        """Return the next entries, about `max_bytes` of them; empty when there is nothing new."""
        found: list[Entry] = []
        for lane in range(LANES):
            left = max_bytes - sum(len(entry.payload) for entry in found)
            if left > 0 and (entries := self._reader.read(lane, left)):
                found += entries
                self._read[lane] = entries[-1].end, len(entries)
        return sorted(found, key=lambda entry: entry.sequence)

    def save(self, db: sqlite3.Connection) -> None:
        """Write the position behind what was read, in the commit of what followed from it."""
        rows = [(lane, _encode(tuple(end))) for lane, (end, _) in self._read.items()]
        db.executemany("INSERT OR REPLACE INTO inbox VALUES (?, ?)", rows)

    def acknowledge(self) -> None:
        """Let go of what was committed; its segments are deleted."""
        for lane, (end, count) in self._read.items():
            self._reader.acknowledge(lane, end, count)
        self._read.clear()

    def damaged(self) -> dict[str, int]:
        """Return the reason → places in the log found unreadable since the last call."""
        now, before = self._reader.damaged, self._damaged
        self._damaged = now
        return {reason: n - before.get(reason, 0) for reason, n in now.items() if n > before.get(reason, 0)}

    def close(self) -> None:
        """Close the files."""
        self._reader.close()


def _start(folder: Path, db: sqlite3.Connection) -> dict[int, Position] | None:
    """Return positions of the store; where the inbox or the store is a new one, None: behind what was acknowledged.

    What is then read twice is dropped as duplicate.
    """
    if not (folder / "acked").exists():
        return None
    return {lane: Position(*_decode_position(end)) for lane, end in db.execute("SELECT lane, position FROM inbox")} or None
