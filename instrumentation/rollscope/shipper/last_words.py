"""Last words: what is said of producers that ended, before their logs go."""

from __future__ import annotations

from .delivery import Postponed
from .derived import DerivedGauges
from .fleet import Fleet
from .health import Health
from .member import Member
from .sender import Ended, Sender

_AT_ONCE = 200
"""Ended producers whose last words go together."""


class LastWords:
    """Closes what dead processes left open, sends their final heartbeats, and removes their logs once the peer has those."""

    def __init__(self, sender: Sender, fleet: Fleet, derived: DerivedGauges, health: Health) -> None:
        self._sender = sender
        self._fleet = fleet
        self._derived = derived
        self._health = health

    def begin(self, now: float) -> None:
        """Begin to say them about producers that are done with but for this."""
        ended = self._fleet.ended()[:_AT_ONCE] if self._sender.free(now) else []
        if not ended:
            return
        self._derived.add(self._fleet.last_numbers(ended))  # no later ones will stand in for them
        self._sender.begin(self._fleet.last_words(ended), lambda how: self._remove(ended, how))

    def _remove(self, members: list[Member], ended: Ended) -> None:
        if not self._health.after(self._sender, ended):
            return
        try:
            self._fleet.remove(members)
        except OSError as error:
            self._health.after(self._sender, Ended(Postponed(f"a log that is done with cannot be removed: {error}"), []))
