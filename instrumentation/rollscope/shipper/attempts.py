"""One kind of work that is tried again after growing pauses."""

from __future__ import annotations

import time

from .backoff import Backoff
from .delivery import Postponed


class Attempts:
    """Whether it is time to try, and why the last try failed (times are seconds of the monotonic clock)."""

    def __init__(self) -> None:
        self.not_before = 0.0
        self.failing = ""
        """Why the last try failed; empty when it did not."""
        self._backoff = Backoff()

    def due(self, now: float) -> bool:
        """Return whether to try now."""
        return now >= self.not_before

    def ended(self, postponed: Postponed | None) -> bool:
        """Note how a try ended; True when it went well."""
        if postponed is None:
            self._backoff.succeeded()
            self.not_before, self.failing = 0.0, ""
            return True
        self.not_before = time.monotonic() + self._backoff.failed(postponed.retry_after)
        self.failing = postponed.detail or "no reason given"
        return False
