"""How far the peers have the logs, made lasting a few times a second; rarer on a node of many logs, or while it fails."""

from __future__ import annotations

from pathlib import Path

from ..files import room
from .fleet import Fleet
from .health import Health
from .schedule import Every

_INTERVAL, _AFTER_FAILURE = 0.25, 2.0
_PER_LOG = 0.002
"""Seconds more for each log: a node of a thousand stores its progress every two seconds, and repeats as much after a kill."""


class Progress:
    """Commits what was delivered (times are seconds of the monotonic clock)."""

    def __init__(self, directory: Path, fleet: Fleet, health: Health) -> None:
        self._directory = directory
        self._fleet = fleet
        self._health = health
        self._every = Every(_INTERVAL)

    def due(self, now: float) -> bool:
        """Return whether it is time."""
        return self._every.due(now)

    @property
    def awaited(self) -> bool:
        """Whether a log of a dead process lacks nothing else: then it is not waited until it is time, unless it failed before."""
        return self._health.can_store and self._fleet.finishing

    def commit(self, now: float) -> None:
        """Store progress. A disk that is full or read-only stops no delivery."""
        why_not, pause = "", len(self._fleet.members) * _PER_LOG
        try:
            self._fleet.commit()
        except OSError as error:
            # What was delivered is delivered again after a restart, and the bridge knows it.
            why_not = f"progress cannot be stored in {self._directory}: {error}; {room(self._directory)}, nothing is lost meanwhile"
            pause = _AFTER_FAILURE
        self._every.done(now, pause=pause)
        self._health.stored(why_not)
