"""`Pipeline`: requests in, everything that follows from them out, one transaction at a time."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rollscope import vocabulary as v

from ..decode import Group, Point, decode
from ..store import Store
from .artifacts import Artifacts
from .delivered import Delivered
from .events import Events
from .hosts import SCOPE as HOSTS
from .hosts import Hosts
from .images import Images
from .outbox import Outbox
from .points import step_metrics
from .producers import Producers
from .redaction import Cleaner
from .rejected import Rejections
from .resources import Source, Sources
from .runs import Runs, Wanted
from .seen import Seen, point_key
from .settings import HOUR, PipelineSettings
from .texts import Texts
from .traces import Traces


class Pipeline:
    """The state of the bridge between two commits.

    What it holds in memory is a copy of the store with the changes of the commit under way. After an exception out of `commit`
    it is of no use any more: make a new one from the store, which then stands at the last commit.
    """

    def __init__(
        self,
        store: Store,
        settings: PipelineSettings,
        wanted: Wanted,
        now: int | None = None,
        still_alive: Callable[[], None] = lambda: None,
    ) -> None:
        """Read what the store holds.

        `wanted`: what a run asked for → the backends it is to reach. `now`: Unix ns, the clock's unless given. `still_alive` is called
        before whatever may take long.
        """
        db = store.db
        started = time.time_ns() if now is None else now
        self._store = store
        self._settings = settings
        self._waiting = -1
        self._outbox = Outbox(db)
        self._producers = Producers(db)
        self._runs = Runs(db, self._outbox, self._producers, settings, wanted, started)
        self._sources = Sources(db, self._runs, self._producers)
        self._images = Images(db, self._outbox)
        self._traces = Traces(db, self._outbox, self._sources, self._images, settings, started)
        self._cleaner = Cleaner(settings.redaction) if settings.redaction else None
        self._artifacts = Artifacts(db, self._outbox, settings, self._cleaner)
        self._seen = Seen(db)
        self._hosts = Hosts()
        self.rejections = Rejections(db)
        tokens = Texts([Path(folder) for folder in settings.tokenizers] if settings.token2text else [], still_alive=still_alive)
        self._events = Events(self._outbox, self._runs, self._traces, self._artifacts, self._images, self._seen, tokens, self._cleaner)

    @contextmanager
    def commit(self, now: Callable[[], int], wall: int) -> Iterator[None]:
        """One transaction: what `take` does inside it, and what time brings.

        `now` gives the time that waiting is measured by, asked for when everything is taken; `wall` is the clock's, for the rows.
        """
        with self._store.transaction() as db:
            yield
            self._traces.split_large()
            self._traces.tick(now())
            self._runs.tick(now(), self._settle)
            self._outbox.save(db, wall)
            self._traces.save(db, wall)
            self._sources.save(db)
            self._producers.save(db)
            self._runs.save(db)
            self._seen.save(db)
            self.rejections.save(db)
            self._save_waiting(db)

    def take(self, signal: str, payload: bytes, now: int) -> None:
        """Take one request, inside `commit`; `now` is when it was received. Raises `UndecodableError` before anything is changed."""
        for group in decode(signal, payload):
            withheld = self._cleaner.group(group) if self._cleaner else ()
            source = self._sources.resolve(group, now)
            for number, reason in withheld:
                if source.take(number):
                    source.set_aside(number, reason)
            self._take_spans(group, source, now)
            if group.logs:
                self._events.take(group, source, now)
            if group.points or group.numbers:
                self._take_points(group, source, now)
            if group.repaired:
                self._runs.repaired(source.run, group.repaired)
            if self._cleaner and (replaced := self._cleaner.take_replaced()):
                self._runs.redacted(source.run, replaced)
            for reason, records in group.invalid.items():
                self.rejections.count(reason, records)

    def _take_spans(self, group: Group, source: Source, now: int) -> None:
        if unnumbered := self._traces.add_spans(source, group.spans, now):
            self._runs.count_unnumbered(source.run, unnumbered)

    def _take_points(self, group: Group, source: Source, now: int) -> None:
        """Numbers tell what arrived; that no point counts twice is seen by series and time, as a request may have been split."""
        new = [number for number in group.numbers if source.take(number)]
        fresh = [
            point
            for point in group.points
            if self._seen.add(point_key(source.run, group.key, point.name, point.attributes, point.time), now)
        ]
        if fresh and all(point.scope == HOSTS for point in fresh):
            self._take_host(source, fresh)
            return
        records = step_metrics(source.run, source.name, fresh)
        if not group.numbers:
            self._runs.count_unnumbered(source.run, len(records))
        for n, record in enumerate(records):
            self._outbox.add(record, ({source.name: len(new)} if n == 0 and new else {}) if group.numbers else {"": 1})
        if new and not records:
            for number in new:
                source.set_aside(number, "metrics that were known already")

    def _take_host(self, source: Source, points: list[Point]) -> None:
        """What shippers say about their nodes is nobody's record: it is not counted."""
        for record in self._hosts.metrics(source.run, str(source.attributes.get(v.HOST_NAME, "unknown")), points):
            self._outbox.add(record, {})

    def _settle(self, run: str) -> None:
        self._traces.settle(run)
        self._artifacts.give_up(run)
        self._images.give_up(run)

    def _save_waiting(self, db: sqlite3.Connection) -> None:
        waiting = self._traces.open + self._outbox.held + self._runs.waiting
        if waiting != self._waiting:
            db.execute("INSERT OR REPLACE INTO meta VALUES ('waiting', ?)", (waiting,))
            self._waiting = waiting

    def forget(self, now: int) -> None:
        """Delete what is remembered longer than needed; inside a transaction of its own."""
        before = now - self._settings.remember
        with self._store.transaction() as db:
            Delivered.forget(db, before)
            Seen.forget(db, before)
            Images.forget(db, before)
        # A source refers to its producer: both go, or numbers would be counted on one that is no longer saved.
        self._sources.forget()
        self._producers.forget(now - HOUR)
