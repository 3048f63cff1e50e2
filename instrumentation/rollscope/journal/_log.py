"""What the cursors of one log share."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

from ._acked import Acked, read_acked
from ._alive import is_alive
from ._listing import Listing


class Log:
    """Folder, listing, damage counts and acknowledged positions of a log that is read."""

    def __init__(self, folder: Path, patience: float = 0.0) -> None:
        """`patience`: seconds for which a writer that was found alive is not looked for again."""
        self.folder = folder
        self._patience = patience
        self._alive_until = -1.0
        self.listing = Listing(folder)
        self.damaged: Counter[str] = Counter()
        self.acked: dict[int, Acked] = read_acked(folder)

    def alive(self) -> bool:
        """Return whether the writer lives, or did within the patience."""
        if self._patience and time.monotonic() < self._alive_until:
            return True
        alive = is_alive(self.folder / "alive")
        if alive and self._patience:
            self._alive_until = time.monotonic() + self._patience
        return alive

    def count_removed(self, lane: int, number: int, until: int) -> None:
        """Count the segments from `number` to `until` as lost, except those that were acknowledged, or before the first."""
        acked = self.acked.get(lane)
        start = max(number, acked.position.number if acked else 0)
        if start and until > start:
            self.damaged["segment removed"] += until - start
