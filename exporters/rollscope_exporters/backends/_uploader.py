"""The thread that works orders off. A file that is done is noted before the next one: after `kill -9` at most one file goes again."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from ..records import Artifact
from ..uploads import ChangedError, Listed, Order, OrderFolder, check_file, place_of, reachable_files
from ._protocol import RejectedError, UnavailableError

_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 60.0
_TRIES = 5
"""Of an order that fails for no reason the backend names."""

log = logging.getLogger("rollscope.uploads")


class Target(Protocol):
    """How a backend takes a checkpoint. Both calls may come again for what they did before, and must then change nothing."""

    def upload(self, order: Order, file: Path, name: str) -> None:
        """Bring one file, `name` below the checkpoint, to its place; what is added to `order.target` is kept with it.

        Raises `UnavailableError` when a retry may help.
        """

    def finish(self, order: Order) -> None:
        """All files are there: make a version, set aliases."""


class Uploader:
    """Uploads one checkpoint after the other, in a daemon thread that starts when there is something to do."""

    def __init__(self, storage: Path, backend: str, target: Target, run: str | None = None) -> None:
        """`run`: the only one whose orders are worked off, where each run has a worker of its own."""
        self._orders = OrderFolder(storage, backend, run)
        self._target = target
        self._closed = threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        if self.busy:
            self._start()

    def order(self, artifact: Artifact, target: dict[str, str]) -> None:
        """Upload `artifact` soon; what was ordered before is not ordered again. Raises `OSError`."""
        if self._orders.add(Order(artifact=artifact, target=target)):
            self._start()

    def close(self) -> None:
        """End before the next file; what is left goes on with the next start."""
        self._closed.set()

    @property
    def busy(self) -> bool:
        """Whether something is left to do."""
        return next(self._orders.open_orders(), None) is not None

    def finished(self) -> Iterator[Order]:
        """Orders that were carried out, oldest first."""
        return self._orders.finished_orders()

    def drain(self, timeout: float) -> bool:
        """Wait until nothing is left to do, for tests and tools."""
        thread = self._thread
        if thread is not None:
            thread.join(timeout)
        return not self.busy

    def _start(self) -> None:
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="rollscope-uploads", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        pause, failures = _FIRST_PAUSE, 0
        while not self._closed.is_set():
            with self._lock:
                order = next(self._orders.open_orders(), None)
                if order is None:
                    self._thread = None
                    return
            try:
                self._upload(order)
                pause, failures = _FIRST_PAUSE, 0
            except ChangedError as error:
                self._give_up(order, str(error))
            except RejectedError as error:
                self._give_up(order, f"refused: {error}")
            except Exception as error:  # noqa: BLE001  # a client library may raise anything; it is kept under this name
                failures += not isinstance(error, (UnavailableError, ConnectionError, TimeoutError))
                log.warning("upload of %s waits: %s: %s", order.artifact.name, type(error).__name__, error)
                if failures >= _TRIES:
                    self._give_up(order, f"{type(error).__name__}: {error}")
                    failures = 0
                    continue
                self._closed.wait(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)

    def _upload(self, order: Order) -> None:
        place = place_of(order.artifact)
        for listed in reachable_files(order.artifact):
            if self._closed.is_set():
                return
            if listed[0] not in order.done:
                self._upload_file(order, place, listed)
        self._target.finish(order)
        order.finished = True
        self._orders.save(order)

    def _upload_file(self, order: Order, place: Path, listed: Listed) -> None:
        self._target.upload(order, check_file(place, listed), listed[0])
        check_file(place, listed)  # changed while it went: what arrived is nobody's checkpoint
        order.done.append(listed[0])
        self._orders.save(order)

    def _give_up(self, order: Order, reason: str) -> None:
        log.error("upload of %s given up: %s", order.artifact.name, reason)
        order.failed = reason[:1000]
        self._orders.save(order)
