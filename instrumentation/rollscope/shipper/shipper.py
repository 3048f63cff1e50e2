"""The shipper's loop: what has ended, heartbeats, what each class has to send, the next look; all of it from the journal.

This thread reads, encodes and remembers; each class has a `Sender` that does nothing but send. So a request that hangs until its
deadline delays what waits behind it in its own class, and a class holds one piece of work, about `TARGET` bytes, in memory.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from ..files import room
from ..settings import Redaction
from ..settings.endpoint import Endpoints
from .connection import Connection
from .delivery import TARGET, Postponed
from .derived import DerivedGauges
from .embedded import EmbeddedBridge
from .fleet import Fleet
from .hosts import Sampler, host_items
from .member import Member
from .otlp import Item
from .redactors import Redactors
from .schedule import Every
from .sender import Ended, Sender
from .source import LANES, Portion
from .status import Status
from .texts import NodeTexts
from .wake import Wake

GRACE = 5.0
"""Seconds without any producer after which the shipper ends; a program started meanwhile finds it running."""
DRAIN = 5.0
"""Seconds that a shipper told to end goes on sending."""
_DISCOVERY, _COMMIT, _STATUS = 0.25, 0.25, 2.0
_DISCOVERY_PER_LOG, _COMMIT_PER_LOG = 0.002, 0.002
"""Seconds more for each log: a node of a thousand stores its progress every two seconds, and repeats as much after a kill."""
_LONGEST_SLEEP = 1.0
_BRIDGE_LOOK, _BRIDGE_TAKES = 0.1, 15.0
_AT_ONCE = 200
"""Ended producers whose last words go together."""
_NEVER = float("inf")
_CLASSES = ("run records", "spans", "tokens")


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
        self._fleet = Fleet(directory, NodeTexts(directory), redactors, derive=self._connection.collector)
        self._lanes = {lane: Sender(_CLASSES[lane], self._wake.set) for lane in LANES}
        self._heartbeats, self._last_words = Sender("heartbeats", self._wake.set), Sender("last words", self._wake.set)
        self._metrics = Sender("derived metrics", self._wake.set)
        self._senders = [*self._lanes.values(), self._heartbeats, self._last_words, self._metrics]
        self._storing = ""
        """Why progress cannot be stored; empty where it can."""
        self._holding = ""
        """Why logs are held back; empty where none is."""
        self._derived = DerivedGauges()
        self._hosts = Sampler(directory, host_interval) if host_interval else None
        self._ours = ours
        self._stop_at = _NEVER
        self._bridge_look_at = 0.0
        self._without_bridge_since = _NEVER
        self._discovery, self._commit, self._write_status = Every(_DISCOVERY), Every(_COMMIT), Every(_STATUS)
        if isinstance(target, Endpoints) and self._connection.look():
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
        """Return whether something cannot be done now; derived metrics wait for nobody and nobody for them."""
        needed = (sender for sender in self._senders if sender is not self._metrics)
        return now < self._bridge_look_at or bool(self._storing or self._holding) or any(sender.attempts.failing for sender in needed)

    def _round(self, now: float) -> bool:
        """Do what can be done now; False when there was nothing."""
        ended = [sender.collect() for sender in self._senders]
        if self._discovery.due(now):
            self._fleet.discover()
            self._discovery.done(now, pause=len(self._fleet.members) * _DISCOVERY_PER_LOG)
            self._look_what_is_held()
        if self._commit.due(now):
            self._commit_now(now)
        if self._write_status.due(now):
            self._tell_status(now)
        if now < self._bridge_look_at or not (self._fleet.members or self._derived):
            return any(ended)
        another = self._connection.look()
        if another is None:
            self._wait_for_bridge(now)
            return any(ended)
        self._without_bridge_since = _NEVER
        if another:
            self._meet()
        self._beat(now)
        begun = [self._ship(lane, now) for lane in LANES]
        if not any(begun):
            self._bury(now)
        self._look_at_host()
        self._send_derived(now)
        return any(ended) or any(begun)

    def _look_what_is_held(self) -> None:
        held = "; ".join(f"{logs} {'log is' if logs == 1 else 'logs are'} held back: {why}" for why, logs in self._fleet.held.items())
        if held != self._holding:
            self._holding = held
            self._say_how_it_goes()

    def _meet(self) -> None:
        """Open connections to a peer that is new, and try everything at once with it: the embedded bridge after a restart."""
        for sender in self._senders:
            sender.meet(self._connection.open())

    @property
    def _speaking(self) -> list[Member]:
        """Logs of living processes, as far as anything of them may be sent."""
        return [member for member in self._fleet.members if not member.dead and not member.source.translation.held]

    def _look_at_host(self) -> None:
        """Queue what was sampled for the runs that live here; it stands for no record and holds up none."""
        if self._hosts is None:
            return
        self._hosts.start()
        for time_, readings in self._hosts.take():
            live = [member.source.translation.resource for member in self._speaking if member.source.producer.known]
            self._derived.add_latest(host_items(live, time_, readings))

    def _beat(self, now: float) -> None:
        """Send the heartbeats that are due."""
        if not self._heartbeats.free(now):
            return
        due = [member for member in self._speaking if member.pulse.due(now) and member.source.producer.known]
        if not due:
            if self._heartbeats.attempts.failing:  # and who was to be spoken of has died: its last words will say it
                self._ended(self._heartbeats, Ended(None, []))
            return

        def then(ended: Ended) -> None:
            if self._ended(self._heartbeats, ended):
                for member in due:
                    member.pulse.told(now)
                    self._derived.add_latest(member.source.telemetry())

        self._heartbeats.begin([member.pulse.beat() for member in due], then, counted=False)

    def _ship(self, lane: int, now: float) -> bool:
        """Begin to send what is new in `lane`; False when nothing is, or when it is not its time."""
        sender = self._lanes[lane]
        if not sender.free(now):
            return False
        portions = self._fleet.gather(lane, TARGET)
        if not portions:
            return False
        items = [item for portion in portions for item in portion.items]
        sender.begin([item for item in items if not item.derived], self._after(sender, portions, [item for item in items if item.derived]))
        return True

    def _after(self, sender: Sender, portions: list[Portion], derived: list[Item]) -> Callable[[Ended], None]:
        def then(ended: Ended) -> None:
            for item, reason in ended.aside:
                self._count_aside(item, reason, portions)
            if self._ended(sender, ended):
                self._fleet.delivered(portions)
                self._derived.add(derived)
            else:
                self._fleet.rewind(portions)

        return then

    def _bury(self, now: float) -> None:
        """Say the last words about producers that ended, and remove their logs once the peer has them."""
        if self._commit.due(now) or (not self._storing and self._fleet.finishing):
            self._commit_now(now)
        # Last words come last: not while a heartbeat of the same producer may still be on its way.
        free = self._last_words.free(now) and not self._heartbeats.busy
        ended = self._fleet.ended()[:_AT_ONCE] if free else []
        if not ended:
            return
        self._derived.add_latest(self._fleet.last_numbers(ended))
        self._last_words.begin(self._fleet.last_words(ended), lambda how: self._remove(ended, how))

    def _remove(self, members: list[Member], ended: Ended) -> None:
        if not self._ended(self._last_words, ended):
            return
        try:
            self._fleet.remove(members)
        except OSError as error:
            self._ended(self._last_words, Ended(Postponed(f"a log that is done with cannot be removed: {error}"), []))

    def _send_derived(self, now: float) -> None:
        if not self._derived or not self._metrics.free(now):
            return
        items = self._derived.take()

        def then(ended: Ended) -> None:
            if self._metrics.attempts.ended(ended.postponed):
                self._derived.sent()
            else:
                self._derived.give_back(items)

        self._metrics.begin(items, then)

    def _ended(self, sender: Sender, ended: Ended) -> bool:
        went = sender.attempts.ended(ended.postponed)
        self._say_how_it_goes()
        return went

    def _say_how_it_goes(self) -> None:
        failing: dict[str, list[str]] = {}
        for sender in self._senders:
            if sender.attempts.failing and sender is not self._metrics:
                failing.setdefault(sender.attempts.failing, []).append(sender.name)
        reasons = [f"{reason} ({', '.join(names)})" for reason, names in failing.items()]
        reasons += [reason for reason in (self._holding, self._storing) if reason]
        if reasons:
            self.status.failing("; ".join(reasons))
        else:
            self.status.working()

    def _wait_for_bridge(self, now: float) -> None:
        self._bridge_look_at = now + _BRIDGE_LOOK
        self._without_bridge_since = min(self._without_bridge_since, now)
        if why := self._connection.why_not:
            self.status.failing(why)
        elif now - self._without_bridge_since >= _BRIDGE_TAKES:
            self.status.failing("the embedded bridge does not come up; bridge.log in its storage folder says why")

    def _commit_now(self, now: float) -> None:
        before, self._storing, pause = self._storing, "", len(self._fleet.members) * _COMMIT_PER_LOG
        try:
            self._fleet.commit()
        except OSError as error:
            # What was delivered is delivered again after a restart, and the bridge knows it.
            self._storing = f"progress cannot be stored in {self.directory}: {error}; {room(self.directory)}, nothing is lost meanwhile"
            pause = _STATUS
        self._commit.done(now, pause=pause)
        if before != self._storing:
            self._say_how_it_goes()

    def _count_aside(self, item: Item, reason: str, portions: list[Portion]) -> None:
        self.status.set_aside[reason] = self.status.set_aside.get(reason, 0) + 1
        if item.sequence:
            portion = next(portion for portion in portions if any(item is each for each in portion.items))
            portion.lost[f"evicted {reason}"] += 1

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
        wake_at = min(self._discovery.next(), now + _LONGEST_SLEEP)
        for lane, sender in self._lanes.items():
            if not sender.busy:
                wake_at = min(wake_at, max(self._fleet.due_at(lane), sender.attempts.not_before))
        self._wake.sleep(max(wake_at, self._bridge_look_at if self._fleet.members else 0.0) - now)

    def _close(self) -> None:
        if self._hosts is not None:
            self._hosts.stop()
        self._commit_now(time.monotonic())
        self.status.state = "ended"
        self._tell_status(time.monotonic())
        for sender in self._senders:
            sender.close()
        if not any(sender.busy for sender in self._senders):  # else a thread is still to write into it
            self._wake.close()
