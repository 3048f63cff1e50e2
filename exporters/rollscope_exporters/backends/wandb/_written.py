"""Waits for what the library writes in the background: only what stands in a folder's transaction log, on the disk, survives a crash."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from .._logfile import LogFile
from ._compat import LoggedRow, abandon_client, artifact_id, client_id, is_alive, log_path, media_path, parse_record
from ._guard import ClientLost

if TYPE_CHECKING:
    from wandb import Artifact as WandbArtifact

_FLUSHED_WITHIN = 20.0
"""Seconds without a new row in the transaction log, with rows on their way, that mean that the client has died."""


class Written:
    """What one folder's transaction log holds, looked for every `interval` seconds."""

    def __init__(self, folder: Path, run_id: str, interval: float) -> None:
        self._folder, self._interval = folder, min(0.02, interval)
        self._path = log_path(folder, run_id)
        self._log = LogFile(self._path)
        self._rows = 0
        self._ended = False
        self._unsynced: list[str] = []

    def expect(self, names: Iterable[str]) -> None:
        """Have files that rows refer to on the disk, too, when a wait is over."""
        self._unsynced += names

    def wait_for_rows(self, rows: int) -> None:
        """Return when rows up to `rows` (not included) are written. Raises `ClientLost` when they never are."""
        self._until(lambda: self._rows >= rows)

    def wait_for_end(self) -> None:
        """Return when the end of the folder is written. Raises `ClientLost` when it never is."""
        self._until(lambda: self._ended)

    def holds(self, made: WandbArtifact) -> Callable[[], bool]:
        """Return what says whether an artifact is written; it reads on its own, for another thread."""
        log, wanted = LogFile(self._path), client_id(made)

        def is_held() -> bool:
            found = any(artifact_id(raw) == wanted for raw in log.read())
            if found:
                log.sync()
            return found

        return is_held

    def _until(self, is_written: Callable[[], bool]) -> None:
        until = time.monotonic() + _FLUSHED_WITHIN
        while True:
            if self._read():
                until = time.monotonic() + _FLUSHED_WITHIN
            if is_written():
                break
            if time.monotonic() > until or not is_alive():
                abandon_client()
                raise ClientLost("W&B's client does not write its transaction log any more")
            time.sleep(self._interval)
        for name in self._unsynced:
            with open(media_path(self._folder, name), "rb") as file:
                os.fsync(file.fileno())
        self._unsynced.clear()
        self._log.sync()

    def _read(self) -> bool:
        """Take note of what has been written since; whether that was any row."""
        before = self._rows
        for raw in self._log.read():
            record = parse_record(raw)
            if isinstance(record, LoggedRow):
                self._rows = max(self._rows, record.number + 1)
            elif record is not None and record.kind == "exit":
                self._ended = True
        return self._rows > before
