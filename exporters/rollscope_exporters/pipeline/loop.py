"""The pipeline at work: read the inbox, commit, acknowledge; what cannot be translated is set aside."""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from rollscope.files import room
from rollscope.journal import Entry

from ..beats import BeatFile
from ..decode import UndecodableError
from ..store import Store
from .engine import Pipeline
from .inbox import Inbox, decode_request
from .runs import Wanted
from .settings import SECOND, PipelineSettings
from .trial import Trial
from .upkeep import Upkeep, collecting_seldom

_IDLE = 0.05
"""Seconds between two looks into an empty inbox."""
_SET_BACK = 60 * SECOND
"""By how much the clock must have been set back for everything that waits to begin anew: less only makes it wait longer."""
_LONGEST_PAUSE = 30.0

log = logging.getLogger("rollscope.pipeline")


class Loop:
    """One pipeline process. `clock` gives Unix ns."""

    def __init__(
        self,
        storage: Path,
        store: Store,
        settings: PipelineSettings,
        wanted: Wanted,
        *,
        trial: Trial,
        beat: BeatFile,
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        self._storage = storage
        self._store = store
        self._settings = settings
        self._wanted = wanted
        self._clock = clock
        self._trial = trial
        self._beat = beat
        self._upkeep = Upkeep(storage, store, settings, wanted, self._still_alive)
        self._now = 0
        self._taken = 0
        self._committed = 0
        self._behind = False
        self._open()

    def _open(self) -> None:
        self._pipeline = Pipeline(self._store, self._settings, self._wanted, self._clock(), self._still_alive)
        self._inbox = Inbox(self._storage / "inbox", self._store.db)

    def run(self, stop: threading.Event) -> None:
        """Work until `stop`; what was read is committed first."""
        with collecting_seldom():
            self._run(stop)
        self._inbox.close()
        self._store.db.execute("PRAGMA wal_checkpoint(PASSIVE)")
        self._beat("ended", position=self._taken)

    def _run(self, stop: threading.Event) -> None:
        pause, failures = 0.1, 0
        while not stop.is_set():
            try:
                busy = self.turn()
                pause, failures = 0.1, 0
            except sqlite3.OperationalError as error:
                store, free = self._storage / "store.db", room(self._storage)
                log.error("%s cannot be written (%s; %s); trying again in %.1f s", store, error, free, pause)
                failures += 1
                self._beat("waiting", reason=f"{store} cannot be written: {error}", failures=failures, position=self._taken)
                stop.wait(pause)
                pause = min(pause * 2, _LONGEST_PAUSE)
                self._reopen()
            else:
                if not busy:
                    stop.wait(_IDLE)
                elif not self._behind:
                    since = max(0, self._clock() - self._committed)
                    stop.wait(max(0, self._settings.batch_time - since) / SECOND)

    def turn(self) -> bool:
        """One batch and what time brings; False when there was nothing in the inbox."""
        self._look_at_clock()
        self._upkeep.look(self._pipeline, self._clock(), busy=self._behind)
        budget = 1 if self._trial.active else self._settings.batch_bytes
        entries = [] if self._upkeep.full(self._clock()) else self._inbox.read(budget)
        self._behind = sum(len(entry.payload) for entry in entries) >= budget
        if not entries and self._clock() - self._committed > SECOND:  # seldom: another state is another file
            self._beat("idle", position=self._taken)
        try:
            self._commit(entries)
        except (sqlite3.Error, MemoryError):
            raise
        except Exception:
            log.exception("a batch of %d requests cannot be translated; taking them one by one", len(entries))
            self._singly(len(entries))
        return bool(entries)

    def _commit(self, entries: Sequence[Entry]) -> None:
        with self._pipeline.commit(lambda: self._time(entries), self._clock()):
            for entry in entries:
                self._take(entry)
            for reason, places in self._inbox.damaged().items():
                self._pipeline.rejections.count(f"inbox damaged: {reason}", places)
            self._inbox.save(self._store.db)
        if entries:
            self._committed = self._clock()
            self._acknowledge()
            self._trial.passed()

    def _singly(self, count: int) -> None:
        """Take the entries of a failed batch one by one and set aside the one that cannot be taken."""
        self._reopen()
        for _ in range(count):
            entries = self._inbox.read(1)
            try:
                self._commit(entries)
            except (sqlite3.Error, MemoryError):
                raise
            except Exception as error:
                log.exception("an inbox entry cannot be translated and is set aside")
                self._set_aside_first(f"{type(error).__name__}: {error}")

    def _set_aside_first(self, detail: str) -> None:
        self._reopen()
        entries = self._inbox.read(1)
        with self._pipeline.commit(lambda: self._time(()), self._clock()):
            for entry in entries:
                self._reject(entry, "translation failed", detail)
            self._inbox.save(self._store.db)
        self._acknowledge()

    def _acknowledge(self) -> None:
        """Let go of what was committed. What cannot be let go of now will be with the next commit."""
        try:
            self._inbox.acknowledge()
        except OSError as error:
            log.warning("the inbox cannot be acknowledged: %s", error)

    def _still_alive(self) -> None:
        self._beat("writing", position=self._taken)

    def _reopen(self) -> None:
        self._inbox.close()
        self._open()

    def _take(self, entry: Entry) -> None:
        if self._trial.failed(entry.sequence):
            self._reject(entry, self._trial.reason, "")
            return
        self._trial.begin(entry.sequence)
        self._taken = entry.sequence
        self._still_alive()
        try:
            request = decode_request(entry.payload)
            self._now = max(self._now, min(request.received, self._clock()))
            self._pipeline.take(request.signal, request.payload, self._now)
            self._trial.taken()
        except msgspec.DecodeError as error:
            self._reject(entry, "not an inbox entry", str(error))
        except UndecodableError as error:
            self._reject(entry, "undecodable request", str(error))

    def _reject(self, entry: Entry, reason: str, detail: str) -> None:
        try:
            request = decode_request(entry.payload)
            signal, payload = request.signal, request.payload
        except msgspec.DecodeError:
            signal, payload = "", entry.payload
        if self._settings.redaction:  # of what cannot be read nobody can say what must not be kept
            payload, detail = b"", detail.partition(":")[0]
        log.error("inbox entry %d set aside: %s %s", entry.sequence, reason, detail)
        self._pipeline.rejections.entry(self._clock(), f"inbox {entry.sequence}", signal, reason, detail, payload)

    def _look_at_clock(self) -> None:
        """Begin anew when the clock was set back: what waits would wait until it is as late again, for days after a wrong date."""
        back = self._now - self._clock()
        if back > _SET_BACK:
            log.warning("the clock was set back by %.0f s; what waits for its time begins to wait anew", back / SECOND)
            self._now = 0
            self._upkeep.begin_anew()
            self._reopen()

    def _time(self, entries: Sequence[Entry]) -> int:
        """Return what the time is for everything that waits: while there is a backlog, the time of its requests; then the clock's."""
        if not (entries and self._behind):
            self._now = max(self._now, self._clock())
        return self._now
