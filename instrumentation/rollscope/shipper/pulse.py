"""When a producer's heartbeat is due: at once, then every few seconds, sooner when it lost something."""

from __future__ import annotations

from .otlp import Item
from .vitals import Vitals

_INTERVAL, _SOONEST = 5.0, 1.0


class Pulse:
    """The heartbeat of one producer (times are seconds of the monotonic clock)."""

    def __init__(self, vitals: Vitals) -> None:
        self._vitals = vitals
        self._told_at = -_INTERVAL
        self._looked_at = 0.0
        self._saying: object = None
        self._told: object = None

    def due(self, now: float) -> bool:
        """Return whether to send one."""
        if now - self._told_at >= _INTERVAL:
            return True
        if now - max(self._told_at, self._looked_at) < _SOONEST:
            return False
        self._looked_at = now
        return self._vitals.loss_counts() != self._told

    def beat(self) -> Item:
        """Return the heartbeat."""
        self._saying = self._vitals.loss_counts()
        return self._vitals.heartbeat()

    def told(self, now: float) -> None:
        """Note that it was delivered."""
        self._told_at = now
        self._told = self._saying
