"""Upkeep, now and then: garbage is collected, rows that every backend has passed are deleted, what need not be remembered is forgotten."""

from __future__ import annotations

import gc
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rollscope.files import free_bytes, room

from ..positions import read_workers
from ..store import Store
from .engine import Pipeline
from .runs import Wanted
from .settings import HOUR, SECOND, PipelineSettings
from .trim import needed_from, trim

_BETWEEN_LOOKS, _WHEN_FULL = 10 * SECOND, SECOND
"""Between two looks at what can be deleted."""
_AT_MOST = 2
"""Times the limit of the store, whatever holds the space."""
_KEPT_FREE = 32 << 20
"""Bytes of the disk that the store does not grow into: backends need some to work off what it holds, and it to forget that."""

_PAGES = "SELECT * FROM pragma_page_count, pragma_freelist_count, pragma_page_size"

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
        """Whether the disk is what the store waits for."""

    def begin_anew(self) -> None:
        """Be due at once: the clock was set back."""
        self._looked = self._forgot = 0

    def look(self, pipeline: Pipeline, now: int, *, busy: bool) -> None:
        """Do what is due at `now` (Unix ns). `busy`: there is a backlog, of which no time is taken that can be had later."""
        since = now - self._looked
        if since < _WHEN_FULL:
            return
        full = self._taken() > 1
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
        while trim(self._store, workers, self._wanted, now, keep) and not busy:
            self._still_alive()
        if now - self._forgot >= HOUR:
            self._forgot = now
            pipeline.forget(now)

    def full(self, now: int) -> bool:
        """Return whether the store has reached its limit with records that some backend still needs; the inbox then waits.

        Where every backend has everything, what is left goes with time, and in whole blocks: until twice the limit nothing waits for that.
        """
        taken = self._taken()
        if taken <= 1:
            return False
        return taken > _AT_MOST or needed_from(self._store, read_workers(self._storage, []), self._wanted, now) <= self._store.head()

    def _taken(self) -> float:
        """Return what the store takes as a part of what it may: of its limit, or of what the disk has room for if that is less."""
        pages, unused, size = self._store.db.execute(_PAGES).fetchone()
        try:
            most = pages * size + free_bytes(self._storage) - _KEPT_FREE
        except OSError:
            most = self._settings.store_bytes
        taken = (pages - unused) * size
        if (short := most < min(self._settings.store_bytes, taken)) is not self._short:
            self._short = short
            said = f"{room(self._storage)}, and {_KEPT_FREE >> 20} are left to the backends: what arrives waits in the inbox"
            log.warning("the disk under %s is nearly full: %s", self._storage, said) if short else log.info("the store has room again")
        return float(taken / max(min(most, self._settings.store_bytes), 1))
