"""Upkeep, now and then: garbage is collected, rows that every backend has passed are deleted, what need not be remembered is forgotten."""

from __future__ import annotations

import contextlib
import gc
import logging
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rollscope.files import Disk, disk, room

from ..positions import read_workers
from ..store import Store
from .engine import Pipeline
from .runs import Wanted
from .settings import HOUR, SECOND, PipelineSettings
from .trim import STEP, needed_from, trim

_BETWEEN_LOOKS, _WHEN_FULL = 10 * SECOND, SECOND
"""Between two looks at what can be deleted."""
_AT_MOST = 2
"""Times the limit of the store, whatever holds the space."""
_KEPT_FREE = 96 << 20
"""Bytes of the disk, or a third if that is less, that the store does not grow into: backends need some to work off what it holds, and
so does forgetting that, for which SQLite writes to its log first."""
_PAGES = "SELECT * FROM pragma_page_count, pragma_freelist_count, pragma_page_size"
"""Pages of the store, those of them that hold nothing, the bytes of one."""

log = logging.getLogger("rollscope.pipeline")


@contextmanager
def collecting_seldom() -> Iterator[None]:
    """Leave garbage collection to `Upkeep.look`.

    A batch is a hundred thousand objects that live until its commit and have no cycles; looking through them again and again takes
    a third of the time.
    """
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.unfreeze()


class Upkeep:
    """Looks after one store."""

    def __init__(self, storage: Path, store: Store, settings: PipelineSettings, wanted: Wanted, still_alive: Callable[[], None]) -> None:
        """`still_alive` is called before whatever may take long."""
        self._storage = storage
        self._store = store
        self._settings = settings
        self._wanted = wanted
        self._still_alive = still_alive
        self._looked = self._forgot = 0
        self._short = False
        """Whether the disk has no room for a larger store."""
        self._tight = False
        """Whether it has little: nothing is kept that only somebody might want, or the inbox would wait for its time to be up."""

    def begin_anew(self) -> None:
        """Be due at once: the clock was set back."""
        self._looked = self._forgot = 0

    def look(self, pipeline: Pipeline, now: int, *, busy: bool) -> None:
        """Do what is due at `now` (Unix ns). `busy`: there is a backlog, of which no time is taken that can be had later."""
        since = now - self._looked
        if since < _WHEN_FULL:
            return
        full = self._measured() > self._settings.store_bytes or self._tight
        if since < _BETWEEN_LOOKS and not full:
            return
        self._looked = now
        gc.collect()
        try:
            workers = read_workers(self._storage)
        except ValueError as error:
            log.error("%s; nothing is deleted from the store", error)
            return
        # Room for what comes is worth more than rows that only a backend might want that nobody has asked for yet.
        keep = 0 if full else self._settings.keep
        while True:
            if self._tight:
                self._empty_log()
            # What is deleted takes room in SQLite's log first: little at once where there is little.
            more = trim(self._store, workers, self._wanted, now, keep, 1 if self._tight else STEP)
            if not more or (busy and not self._tight):
                break
            self._still_alive()
        if self._tight or not busy:
            # As a script: `execute` takes one step of a statement, which is one page of these.
            self._store.db.executescript("PRAGMA incremental_vacuum(2000)")
        if now - self._forgot >= HOUR:
            self._forgot = now
            pipeline.forget(now)

    def _empty_log(self) -> None:
        """Give back the disk that SQLite's log takes, once all of it is in the store; not while somebody reads from it."""
        with contextlib.suppress(sqlite3.OperationalError):
            self._store.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def full(self, now: int) -> bool:
        """Return whether the inbox has to wait: the disk is nearly full, or the store is, of records that some backend still needs.

        Where every backend has everything, what is left goes with time, and in whole blocks: until twice the limit nothing waits for that.
        """
        over = self._measured() / self._settings.store_bytes
        if self._short or over <= 1:
            return self._short
        return over > _AT_MOST or needed_from(self._store, read_workers(self._storage, []), self._wanted, now) <= self._store.head()

    def _measured(self) -> int:
        """Return the bytes that the store holds; note whether the disk has room for more."""
        pages, unused, size = self._store.db.execute(_PAGES).fetchone()
        with contextlib.suppress(OSError):  # what was known holds
            self._note_room(disk(self._storage), unused * size)
        return int((pages - unused) * size)

    def _note_room(self, found: Disk, unused: int) -> None:
        """Note whether the store, which has `unused` bytes, may grow, and say so when that changes."""
        kept = min(_KEPT_FREE, found.whole // 3)
        # Pages of the store that hold nothing need no more disk, but they too are written to its log first.
        there_is = found.free + min(unused, kept // 2)
        # Some more than what is kept ends it, or it would come and go with each batch.
        short = there_is <= kept * (3 if self._short else 2) // 2
        self._tight = short or found.free <= 2 * kept
        if short is self._short:
            return
        self._short = short
        if short:
            said = "the last %d MiB are left to the backends, so what arrives waits in the inbox"
            log.warning(f"the disk under %s is nearly full: %s, {said}", self._storage, room(self._storage), kept >> 20)
        else:
            log.info("the disk under %s has room again", self._storage)
