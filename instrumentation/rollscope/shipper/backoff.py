"""Pauses between attempts: growing, with jitter, capped, and never shorter than the peer asked for."""

from __future__ import annotations

import random

_FIRST, _CAP = 0.2, 30.0
_LONGEST_ASKED = 300.0
_random = random.SystemRandom()


class Backoff:
    """State of one row of failures."""

    def __init__(self) -> None:
        self.failures = 0

    def failed(self, retry_after: float | None = None) -> float:
        """Note a failure and return the pause in seconds."""
        ceiling = min(_CAP, _FIRST * 2.0 ** min(self.failures, 20))
        self.failures += 1
        pause = ceiling * _random.uniform(0.5, 1.0)
        return pause if retry_after is None else max(min(retry_after, _LONGEST_ASKED), ceiling * _random.uniform(0.0, 0.1))

    def succeeded(self) -> None:
        """Start anew."""
        self.failures = 0
