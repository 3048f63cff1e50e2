"""When to look again: often where something comes, ever more rarely where nothing does."""

from __future__ import annotations

import time

_FIRST = 0.05


class Polls:
    """Next times to look into the lanes of one log (seconds of the monotonic clock)."""

    def __init__(self, lanes: int) -> None:
        self._next = [0.0] * lanes
        self._pause = [_FIRST] * lanes

    def due(self, lane: int, now: float) -> bool:
        """Return whether to look into `lane`."""
        return now >= self._next[lane]

    def found(self, lane: int) -> None:
        """Something came in `lane`: there may be more at once, and in the others soon."""
        soon = time.monotonic() + _FIRST
        for other in range(len(self._next)):
            self._pause[other] = _FIRST
            self._next[other] = min(self._next[other], soon)
        self._next[lane] = 0.0

    def nothing(self, lane: int, now: float, longest: float) -> None:
        """Nothing came: wait twice as long as the last time, `longest` seconds at most."""
        self._next[lane] = now + self._pause[lane]
        self._pause[lane] = min(longest, 2 * self._pause[lane])

    def now(self, lane: int) -> None:
        """Make `lane` due."""
        self._next[lane] = 0.0

    def next(self, lane: int) -> float:
        """Return when `lane` is due."""
        return self._next[lane]


class Every:
    """Is due at once, then again `seconds` after each time it was done."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._next = 0.0

    def due(self, now: float) -> bool:
        """Return whether it is time."""
        return now >= self._next

    def done(self, now: float, *, pause: float = 0.0) -> None:
        """Note that it was done; it is due again after `pause` seconds where that is longer than usual."""
        self._next = now + max(self._seconds, pause)

    def next(self) -> float:
        """Return when it is time."""
        return self._next
