"""A backend for tests: writes the name of every record it gets into a file, and misbehaves when told to.

What it wrote and did not checkpoint is taken back when it is opened again, as a library with transactions would: after any kill
the file holds each delivered record once, or the worker has delivered something twice.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from pydantic import BaseModel, ConfigDict

from rollscope_exporters.backends import RejectedError, UnavailableError
from rollscope_exporters.records import SIGNALS, Record


class CountingConfig(BaseModel):
    """Words in a record's name, and what they bring about."""

    model_config = ConfigDict(extra="forbid")

    reject: str = "reject"
    explode: str = "explode"
    crash: str = "crash"
    hang: str = "hang"
    stuck: Path | None = None
    """While this file exists, nothing comes back."""
    away: Path | None = None
    """While this file exists, nothing can be reached."""
    slow: float = 0.0
    """Seconds a write takes."""


class CountingBackend:
    """Counts."""

    Config: ClassVar[type[BaseModel]] = CountingConfig
    accepts: ClassVar[frozenset[str]] = frozenset(SIGNALS)
    per_run: ClassVar[bool] = False

    def __init__(self, config: BaseModel, storage: Path, state: Mapping[str, object]) -> None:
        assert isinstance(config, CountingConfig)
        self._config = config
        self._storage = storage
        self._file = open(storage / f"{self.file_name()}", "ab")  # noqa: SIM115 - kept open
        self._file.truncate(int(str(state.get("size", 0))))

    def file_name(self) -> str:
        """Name of the file in the storage folder."""
        return "counted.txt"

    def write(self, records: Sequence[Record]) -> None:
        """Write a line for each record, or none at all."""
        if self._config.away and self._config.away.exists():
            raise UnavailableError("the counting house is closed; remove the file to open it")
        time.sleep(self._config.slow)
        while self._config.stuck and self._config.stuck.exists():
            self._hang(0.02)
        lines = [self._line(record) for record in records]
        self._file.write("".join(lines).encode())
        self._file.flush()

    def _line(self, record: Record) -> str:
        name = getattr(record, "body", "") or record.signal
        if self._config.reject in name:
            raise RejectedError(f"{name} is not to my taste")
        if self._config.explode in name:
            raise ValueError(f"{name} exploded")
        if self._config.crash in name:
            os.abort()
        while self._config.hang in name:
            self._hang(1)
        return f"{record.run} {name}\n"

    def _hang(self, seconds: float) -> None:
        """Say so once in a file, for who waits for it, and sleep."""
        (self._storage / f"hangs-{os.getpid()}").touch()
        time.sleep(seconds)

    def checkpoint(self) -> dict[str, object]:
        """Sync."""
        os.fsync(self._file.fileno())
        return {"size": self._file.tell()}

    def close(self) -> None:
        """Close."""
        self._file.close()


class PerRunBackend(CountingBackend):
    """The same, one process a run."""

    per_run: ClassVar[bool] = True

    def file_name(self) -> str:
        """A file for each process."""
        return f"counted-{os.getpid()}.txt"
