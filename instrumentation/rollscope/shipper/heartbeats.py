"""Heartbeats of the living: those that are due go out together, and their numbers follow as metrics."""

from __future__ import annotations

from .derived import DerivedGauges
from .fleet import Fleet
from .health import Health
from .member import Member
from .sender import Ended, Sender


class Heartbeats:
    """Speaks of the processes whose logs may be sent."""

    def __init__(self, sender: Sender, fleet: Fleet, derived: DerivedGauges, health: Health) -> None:
        self._sender = sender
        self._fleet = fleet
        self._derived = derived
        self._health = health

    @property
    def busy(self) -> bool:
        """Whether some are on their way."""
        return self._sender.busy

    def begin(self, now: float) -> None:
        """Begin to send the heartbeats that are due."""
        if not self._sender.free(now):
            return
        due = [member for member in self._fleet.speaking if member.pulse.due(now)]
        if due:
            self._sender.begin([member.pulse.beat() for member in due], lambda ended: self._after(ended, due, now), counted=False)
        elif self._sender.attempts.failing:  # and who was to be spoken of has died: its last words will say it
            self._health.after(self._sender, Ended(None, []))

    def _after(self, ended: Ended, members: list[Member], began: float) -> None:
        if self._health.after(self._sender, ended):
            for member in members:
                member.pulse.told(began)
                self._derived.add_latest(member.source.telemetry())
