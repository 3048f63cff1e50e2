"""A journal that keeps its records in memory."""

from __future__ import annotations

from collections import Counter
from typing import Literal

from ..journal import Place
from ..records import Record, SpanStart, decode, decode_start

__all__ = ["MemoryJournal"]


class MemoryJournal:
    """Same interface as `rollscope.journal.Journal`; nothing is written anywhere."""

    def __init__(self) -> None:
        self.entries: list[tuple[int, int, bytes]] = []
        """Lane, sequence (0 for what began), payload."""
        self.last_sequence = 0
        self.dropped: Counter[str] = Counter()
        self.truncated: Counter[str] = Counter()
        self.failed: Counter[str] = Counter()
        self.closed = False
        self.full: set[int] = set()
        """Lanes that refuse records, to test what happens when space runs out."""

    def append(self, payload: bytes, lane: int = 1, over: Place | None = None, check: int | None = None) -> int:
        """Keep the record."""
        if lane in self.full:
            self.count("dropped", "full")
            return -1
        self.last_sequence += 1
        self.entries.append((lane, self.last_sequence, payload))
        return self.last_sequence

    def hold(self, payload: bytes, check: int) -> Place | None:
        """Keep what began; here it stays, so that tests can look at it."""
        self.entries.append((1, 0, payload))
        return None

    def count(self, kind: Literal["dropped", "truncated", "failed"], reason: str, n: int = 1) -> None:
        """Add to a counter."""
        {"dropped": self.dropped, "truncated": self.truncated, "failed": self.failed}[kind][reason] += n

    def records(self) -> list[Record | SpanStart]:
        """Return all records decoded, in the order they were written."""
        return [decode(payload) if sequence else decode_start(payload) for _, sequence, payload in self.entries]

    def stay_alive(self) -> None:
        """Nobody asks."""

    def deleted(self) -> bool:
        """Nobody can remove it."""
        return False

    def succeed(self) -> bytes:
        """Close it."""
        self.close()
        return b""

    def abandon(self) -> None:
        """Forget what the parent process wrote."""
        self.entries.clear()

    def close(self) -> None:
        """Mark the end."""
        self.closed = True
