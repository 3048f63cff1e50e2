"""All logs of the node: found, read by class, acknowledged together, removed when their producer is done with."""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from .member import Member
from .otlp import Item
from .otlp.tokens import Texts
from .redactors import Redactors
from .source import LANES, Portion, Source
from .state import Remembered, read_state, write_state

PRODUCERS = "producers"
_DONE = "done"
"""Where logs go of which nothing is left to be said, to be deleted."""
_PIECE = 64 << 10
"""Bytes of journal read at once."""
_GATHERING = 0.5
"""Seconds after which what was gathered is sent: a slow tokenizer must not hold up everything else."""
_SPARE_FILES = 64
"""Open files left for everything but logs."""
_MOST_FILES = 1 << 16
_LONGEST, _LONGEST_PER_LOG = 1.0, 0.002
"""Seconds after which an idle log is looked at again; more logs than 500 are looked at more rarely, so that looking stays cheap."""


class Fleet:
    """The logs below one node folder."""

    def __init__(self, directory: Path, texts: Texts, redactors: Redactors, *, derive: bool) -> None:
        self._directory = directory
        self._texts = texts
        self._redactors = redactors
        self._derive = derive
        self._state: dict[str, Remembered] = read_state(directory)
        self._members: dict[Path, Member] = {}
        self._first = 0
        self._forgot = False
        self._most_open = _raise_file_limit() // len(LANES)
        self._clean_up()

    @property
    def members(self) -> list[Member]:
        """All logs, in the order in which they were found."""
        return list(self._members.values())

    def discover(self) -> None:
        """Take in logs that are new, and leave those that are gone."""
        root = self._directory / PRODUCERS
        try:
            names = sorted(os.listdir(root))
        except FileNotFoundError:
            names = []
        there = set(names)
        for folder, member in self._members.items():
            member.there(folder.name in there)
        # What is known is not looked into: that would be a system call for each log and look.
        folders = [folder for folder in map(root.joinpath, names) if folder not in self._members and (folder / "alive").exists()]
        for folder in folders:
            source = Source(folder, self._texts, self._state.get(folder.name), self._redactors, derive=self._derive)
            self._members[folder] = Member(source)

    @property
    def speaking(self) -> list[Member]:
        """Logs of living processes, as far as anything of them may be sent."""
        return [member for member in self.members if member.speaking]

    @property
    def held(self) -> dict[str, int]:
        """Why logs must not be sent now, and how many for each reason."""
        return Counter(filter(None, (member.source.translation.held for member in self.members)))

    def look_everywhere(self) -> None:
        """Take in new logs and make every lane due now."""
        self.discover()
        for member in self.members:
            for lane in LANES:
                member.polls.now(lane)

    def gather(self, lane: int, target: int) -> list[Portion]:
        """Return what is new in `lane` of all logs that are due, about `target` bytes of items, no log favoured."""
        portions: list[Portion] = []
        size, start = 0, time.monotonic()
        for member in self._rotated():
            if not member.polls.due(lane, start):
                continue
            if member.source.translation.held:
                member.polls.nothing(lane, start, _LONGEST)
                continue
            while size < target and time.monotonic() - start < _GATHERING:
                portion = member.source.read(lane, _PIECE)
                if portion is None:
                    self._nothing(member, lane, start)
                    break
                member.polls.found(lane)
                portions.append(portion)
                size += sum(len(item.data) for item in portion.items)
            if size >= target:
                break
        return portions

    def delivered(self, portions: list[Portion]) -> None:
        """Note that the peer has them."""
        for portion in portions:
            portion.source.delivered(portion)

    def rewind(self, portions: list[Portion]) -> None:
        """Read them again later."""
        for folder, lane in {(portion.source.folder, portion.lane) for portion in portions}:
            if folder in self._members:  # else someone removed it meanwhile
                self._members[folder].rewind(lane)

    def commit(self) -> None:
        """Make lasting what was delivered: first what it said, then how far. Raises `OSError`."""
        if self._forgot or any(member.source.producer.changed for member in self.members):
            self._store()
        for member in self.members:
            if member.source.unacknowledged:
                member.source.acknowledge()

    @property
    def finishing(self) -> bool:
        """Whether a log of a dead process only lacks its acknowledgement."""
        return any(member.dead and member.source.unacknowledged for member in self._members.values())

    def ended(self) -> list[Member]:
        """Return logs that are done with but for the last words about them."""
        return [member for member in self.members if member.ended]

    def last_words(self, members: list[Member]) -> list[Item]:
        """Return what is still to be said of ended producers: spans they left open, then the final heartbeat."""
        known = [member.source for member in members if member.source.producer.known]
        aborted = [item for source in known for item in source.open_spans.aborted()]
        return aborted + [source.vitals.heartbeat(final=True) for source in known]

    @staticmethod
    def last_numbers(members: list[Member]) -> list[Item]:
        """Return the final numbers of ended producers as metrics."""
        return [item for member in members if member.source.producer.known for item in member.source.telemetry(final=True)]

    def remove(self, members: list[Member]) -> None:
        """Delete logs that are done with. Raises `OSError`."""
        # Each is no log any more in one step: half of one would be taken for one that counted nothing.
        done = self._directory / _DONE
        done.mkdir(exist_ok=True)
        for member in members:
            member.source.rest()
            with contextlib.suppress(FileNotFoundError):
                os.rename(member.source.folder, done / member.source.producer.id)
            self._members.pop(member.source.folder, None)
            self._forgot |= self._state.pop(member.source.producer.id, None) is not None
        self._clean_up()

    def due_at(self, lane: int) -> float:
        """Return the earliest time (monotonic, seconds) at which a log's `lane` is due."""
        return min((member.polls.next(lane) for member in self.members), default=float("inf"))

    def _clean_up(self) -> None:
        """Delete what was removed, also by a shipper that was killed meanwhile."""
        shutil.rmtree(self._directory / _DONE, ignore_errors=True)

    def _nothing(self, member: Member, lane: int, now: float) -> None:
        member.nothing(lane, now, max(_LONGEST, len(self._members) * _LONGEST_PER_LOG))
        if len(self._members) > self._most_open:
            member.source.rest()

    def _rotated(self) -> Iterator[Member]:
        members = self.members
        if members:
            self._first = (self._first + 1) % len(members)
        yield from members[self._first :]
        yield from members[: self._first]

    def _store(self) -> None:
        self._state = {member.source.producer.id: member.source.producer.remembered for member in self.members}
        write_state(self._directory, self._state)
        for member in self.members:
            member.source.producer.changed = False
        self._forgot = False


def _raise_file_limit() -> int:
    """Allow this process as many open files as it may have, within reason; returns how many logs' files may stay open."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MOST_FILES if hard == resource.RLIM_INFINITY else min(_MOST_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        soft = wanted
    return max(0, (wanted if soft == resource.RLIM_INFINITY else soft) - _SPARE_FILES)
