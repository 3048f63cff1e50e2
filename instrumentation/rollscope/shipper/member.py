"""A log in the shipper's schedule: when to look into it, when to speak of it, when it is done with."""

from __future__ import annotations

import time

from .pulse import Pulse
from .schedule import Polls
from .source import LANES, Source

_COMES_BACK = 10.0
"""Seconds within which a process has made a new log in place of one that was deleted."""


class Member:
    """One source with its place in the schedule (times are seconds of the monotonic clock)."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.polls = Polls(len(LANES))
        self.pulse = Pulse(source.vitals)
        self.dead = False
        """Whether the process is known to be dead."""
        self._empty: set[int] = set()
        self._gone_at: float | None = None

    @property
    def speaking(self) -> bool:
        """Whether the process lives, its log says whose it is, and anything of it may be sent."""
        return not self.dead and not self.source.translation.held and self.source.producer.known

    @property
    def ended(self) -> bool:
        """Whether the process is dead and everything it wrote was delivered and acknowledged."""
        if self._gone_at is not None and time.monotonic() - self._gone_at < _COMES_BACK:
            return False
        return len(self._empty) == len(LANES) and self.source.settled

    def there(self, there: bool) -> None:
        """Note whether the folder is there: a living process whose log somebody removed makes a new one in its place."""
        if there and self._gone_at is not None:
            self._gone_at, self.dead = None, False
            self._empty.clear()
            self.polls = Polls(len(LANES))
        elif not there and self._gone_at is None:
            self._gone_at = time.monotonic()

    def nothing(self, lane: int, now: float, longest: float) -> None:
        """Note that `lane` holds nothing new; what a process wrote before its death is looked for once more after it.

        Both are looked at again after `longest` seconds at most.
        """
        self.polls.nothing(lane, now, longest)
        if self.dead:
            self._empty.add(lane)
        elif lane == LANES[-1] and not self.source.producer.alive():
            self.dead = True
            self.polls = Polls(len(LANES))

    def rewind(self, lane: int) -> None:
        """Read again of `lane` what was not delivered."""
        self.source.rewind(lane)
        self._empty.discard(lane)
        self.polls.now(lane)
