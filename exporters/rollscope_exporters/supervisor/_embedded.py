"""When an embedded bridge, started by a shipper for a run, has done its part."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from rollscope.locks import is_held

IDLE = 5.0
"""Seconds without a request after which it may end."""
IDLE_WAITING = 660.0
"""The same while the pipeline waits for the rest of a trace or the end of a run: longer than it waits at most."""
PATIENCE = 3600.0
"""The same while a backend takes nothing: the store keeps the rest for the next start."""
_SETTLED = 2.0


class Retirement:
    """Says when to go: no shipper lives, everything is delivered, and it was quiet for a while."""

    def __init__(
        self, shipper_lock: Path, idle_seconds: Callable[[], float], delivered: Callable[[], bool], waiting: Callable[[], bool]
    ) -> None:
        self._shipper_lock, self._idle_seconds = shipper_lock, idle_seconds
        self._delivered, self._waiting = delivered, waiting
        self._since: float | None = None

    def due(self, now: float) -> bool:
        """Look once; `now` is monotonic, in seconds. The answer must hold for a moment before it counts."""
        if not self._may_go():
            self._since = None
            return False
        if self._since is None:
            self._since = now
        return now - self._since >= _SETTLED

    def _may_go(self) -> bool:
        idle = self._idle_seconds()
        if idle < IDLE or is_held(self._shipper_lock):
            return False
        if idle >= PATIENCE:
            return True
        return self._delivered() and (idle >= IDLE_WAITING or not self._waiting())
