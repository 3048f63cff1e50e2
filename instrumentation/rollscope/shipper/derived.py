"""Metrics derived from step metrics and heartbeats: extra to the records, so they wait for nothing and hold up nothing.

The records they come from are the truth and have been delivered by then; what is kept here while a metrics pipeline is away is
bounded, and what is lost of it is missing from Prometheus only.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

from .otlp import Item
from .sender import Ended, Sender

_LIMIT = 4 << 20


class DerivedGauges:
    """A queue of at most 4 MiB; the oldest go first when it is full."""

    def __init__(self) -> None:
        self.dropped = 0
        """Items that found no room."""
        self.failing = False
        """Whether the last try to send failed."""
        self._items: deque[Item] = deque()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._items)

    def add(self, items: Iterable[Item]) -> None:
        """Take items in."""
        for item in items:
            self._items.append(item)
            self._bytes += len(item.data)
        while self._bytes > _LIMIT:
            self._bytes -= len(self._items.popleft().data)
            self.dropped += 1

    def add_latest(self, items: Iterable[Item]) -> None:
        """Take in items that later ones stand in for: while nothing can be sent they shall not displace what is waiting."""
        if not self.failing:
            self.add(items)

    def take(self) -> list[Item]:
        """Return all there is, to be sent; the queue is empty then."""
        taken = list(self._items)
        self._items.clear()
        self._bytes = 0
        return taken

    def sent(self) -> None:
        """Note that what was taken has arrived."""
        self.failing = False

    def give_back(self, items: Sequence[Item]) -> None:
        """Put what was taken and could not be sent before what came meanwhile."""
        self.failing = True
        meanwhile = self.take()
        self.add([*items, *meanwhile])

    def send(self, sender: Sender, now: float) -> None:
        """Begin to send all there is, when it is the sender's time."""
        if not self or not sender.free(now):
            return
        items = self.take()

        def then(ended: Ended) -> None:
            if sender.attempts.ended(ended.postponed):
                self.sent()
            else:
                self.give_back(items)

        sender.begin(items, then)
