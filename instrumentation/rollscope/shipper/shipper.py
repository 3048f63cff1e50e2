"""The shipper's loop: what has ended, heartbeats, what each class has to send, the next look; all of it from the journal.

This thread reads, encodes and remembers; each class has a `Sender` that does nothing but send. So a request that hangs until its
deadline delays what waits behind it in its own class, and a class holds one piece of work, about `TARGET` bytes, in memory.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from ..settings import Redaction
from ..settings.endpoint import Endpoints
from .connection import Connection
from .derived import DerivedGauges
from .embedded import EmbeddedBridge
from .fleet import Fleet
from .health import Health
from .heartbeats import Heartbeats
from .hosts import Sampler, host_items
from .last_words import LastWords
from .progress import Progress
from .record_class import RecordClass
from .redactors import Redactors
from .schedule import Every
from .sender import Sender
from .status import Status
from .texts import NodeTexts
from .wake import Wake

GRACE = 5.0
"""Seconds without any producer after which the shipper ends; a program started meanwhile finds it running."""
DRAIN = 5.0
"""Seconds that a shipper told to end goes on sending."""
_DISCOVERY, _STATUS = 0.25, 2.0
_DISCOVERY_PER_LOG = 0.002
"""Seconds more for each log, so that looking for others stays cheap."""
_LONGEST_SLEEP = 1.0
_NEVER = float("inf")
_CLASSES = ("run records", "spans", "tokens")
"""What each lane of a log holds."""


class Shipper:
    """Ships the logs of one node folder. Raises `TransportError` when configured endpoints cannot be used."""

    def __init__(
        self,
        directory: Path,
        target: Endpoints | EmbeddedBridge,
        *,
        host_interval: float = 0.0,
        redaction: Redaction | None = None,
        ours: Callable[[], bool] = lambda: True,
    ) -> None:
        """`host_interval`: seconds between two samples of the host, 0 for none. `redaction`: of all logs, besides what each asks for.

        `ours`: whether this shipper is still the folder's.
        """
        self.directory = directory
        self.status = Status()
        self._wake = Wake()
        self._connection = Connection(target)
        redactors = Redactors(redaction or Redaction())
        self._fleet = fleet = Fleet(directory, NodeTexts(directory), redactors, derive=self._connection.collector)
        self._derived = derived = DerivedGauges()
        lanes = [Sender(name, self._wake.set) for name in _CLASSES]
        beats, words, self._metrics = (Sender(name, self._wake.set) for name in ("heartbeats", "last words", "derived metrics"))
        self._senders = [*lanes, beats, words, self._metrics]
        self._health = health = Health(self.status, [*lanes, beats, words])
        self._classes = [RecordClass(lane, sender, fleet, derived, health) for lane, sender in enumerate(lanes)]
        self._heartbeats = Heartbeats(beats, fleet, derived, health)
        self._last_words = LastWords(words, fleet, derived, health)
        self._progress = Progress(directory, fleet, health)
        self._hosts = Sampler(directory, host_interval) if host_interval else None
        self._ours = ours
        self._stop_at = _NEVER
        self._discovery, self._write_status = Every(_DISCOVERY), Every(_STATUS)
        if isinstance(target, Endpoints) and self._connection.look(time.monotonic()):
            self._meet()

    def stop(self, drain: float = DRAIN) -> None:
        """Ask to end within `drain` seconds, sooner when the peer takes nothing; usable in a signal handler."""
        self._stop_at = time.monotonic() + drain
        self._wake.set()

    def run(self, *, grace: float = GRACE) -> bool:
        """Ship until there has been no producer for `grace` seconds (then True), or `stop`."""
        lonely_since = time.monotonic()
        last_look = False
        while (now := time.monotonic()) < self._stop_at:
            if self._round(now):
                continue
            now = time.monotonic()
            if self._fleet.members or self._sending:
                lonely_since = now
            if self._stop_at < _NEVER and not last_look:
                self._fleet.look_everywhere()
                last_look = True
            elif self._may_end(now, now - lonely_since >= grace):
                break
            else:
                self._sleep(now)
        self._close()
        return self._stop_at == _NEVER

    def drain(self, timeout: float) -> bool:
        """Ship what is there; True when all of it was acknowledged within `timeout` seconds."""
        end = time.monotonic() + timeout
        done = False
        while not done and (now := time.monotonic()) < min(end, self._stop_at):
            if not self._round(now):
                now = time.monotonic()
                done = self._quiet and not self._sending and not self._waiting(now)
                if not done:
                    self._sleep(now)
        self._close()
        return done

    def _may_end(self, now: float, lonely: bool) -> bool:
        if self._stop_at == _NEVER:
            return lonely
        return not self._sending and (self._quiet or self._waiting(now))

    @property
    def _quiet(self) -> bool:
        """Whether nothing is left to do for any log but to wait for what its process writes next."""
        return all(not member.dead and member.source.settled for member in self._fleet.members)

    @property
    def _sending(self) -> bool:
        """Whether something is on its way, or derived metrics could be."""
        return any(sender.busy for sender in self._senders) or (bool(self._derived) and not self._derived.failing)

    def _waiting(self, now: float) -> bool:
        """Return whether something cannot be done now."""
        return now < self._connection.look_at or self._health.hindered

    def _round(self, now: float) -> bool:
        """Do what can be done now; False when there was nothing."""
        ended = [sender.collect() for sender in self._senders]
        if self._discovery.due(now):
            self._fleet.discover()
            self._discovery.done(now, pause=len(self._fleet.members) * _DISCOVERY_PER_LOG)
            self._health.held(self._fleet.held)
        if self._progress.due(now):
            self._progress.commit(now)
        if self._write_status.due(now):
            self._tell_status(now)
        if now < self._connection.look_at or not (self._fleet.members or self._derived):
            return any(ended)
        another = self._connection.look(now)
        if another is None:
            if why := self._connection.why_away(now):
                self.status.failing(why)
            return any(ended)
        if another:
            self._meet()
        self._heartbeats.begin(now)
        begun = [records.begin(now) for records in self._classes]
        if not any(begun):
            self._bury(now)
        self._look_at_host()
        self._derived.send(self._metrics, now)
        return any(ended) or any(begun)

    def _meet(self) -> None:
        """Open connections to a peer that is new, and try everything at once with it: the embedded bridge after a restart."""
        for sender in self._senders:
            sender.meet(self._connection.open())

    def _bury(self, now: float) -> None:
        """Say the last words about producers that ended, and remove their logs once the peer has them."""
        if self._progress.due(now) or self._progress.awaited:
            self._progress.commit(now)
        # Last words come last: not while a heartbeat of the same producer may still be on its way.
        if not self._heartbeats.busy:
            self._last_words.begin(now)

    def _look_at_host(self) -> None:
        """Queue what was sampled for the runs that live here; it stands for no record and holds up none."""
        if self._hosts is None:
            return
        self._hosts.start()
        for time_, readings in self._hosts.take():
            live = [member.source.translation.resource for member in self._fleet.speaking]
            self._derived.add_latest(host_items(live, time_, readings))

    def _tell_status(self, now: float) -> None:
        self._write_status.done(now)
        if not (self.directory.is_dir() and self._ours()):
            self.stop(0.0)  # someone removed the node folder, and our lock with it; another shipper may be at work already
            return
        status = self.status
        status.endpoint = self._connection.address
        status.producers = len(self._fleet.members)
        status.waiting = sum(member.source.vitals.waiting() for member in self._fleet.members)
        status.count([sender.sent for sender in self._senders])
        if self._derived.dropped:
            status.set_aside["derived gauges"] = self._derived.dropped
        status.write(self.directory)

    def _sleep(self, now: float) -> None:
        """Sleep until something is due or has ended."""
        wake_at = min(self._discovery.next(), now + _LONGEST_SLEEP, *(records.due_at() for records in self._classes))
        self._wake.sleep(max(wake_at, self._connection.look_at if self._fleet.members else 0.0) - now)

    def _close(self) -> None:
        if self._hosts is not None:
            self._hosts.stop()
        self._progress.commit(time.monotonic())
        self.status.state = "ended"
        self._tell_status(time.monotonic())
        for sender in self._senders:
            sender.close()
        if not any(sender.busy for sender in self._senders):  # else a thread is still to write into it
            self._wake.close()
