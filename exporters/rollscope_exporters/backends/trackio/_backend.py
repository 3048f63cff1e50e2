"""Sorts records by run and writes them into trackio's database."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

import trackio as _installed  # noqa: F401 - says at once what is missing
from pydantic import BaseModel

from ...records import Record
from .._by_run import ByRun
from .._protocol import UnavailableError
from ._compat import use_folder
from ._config import TrackioConfig
from ._run import Run


class TrackioBackend:
    """Writes to trackio. Spans of other traces, artifacts and log lines are not sent: it has no place for them."""

    Config: ClassVar[type[BaseModel]] = TrackioConfig
    accepts: ClassVar[frozenset[str]] = frozenset({"runs", "metrics", "trajectories", "tables", "histograms", "images"})
    per_run: ClassVar[bool] = False

    def __init__(self, config: BaseModel, storage: Path, state: Mapping[str, object]) -> None:
        assert isinstance(config, TrackioConfig)
        said = os.environ.get("TRACKIO_DIR", "")
        self._folder = config.path or (Path(said) if said else storage / "trackio")
        use_folder(self._folder)
        folder = self._folder
        self._runs = ByRun(lambda run, told: Run(config, folder, run, told), state)

    def write(self, records: Sequence[Record]) -> None:
        """Add `records`. A database that cannot be written now raises `UnavailableError`; a repetition changes nothing."""
        by_run: dict[str, list[Record]] = {}
        for record in records:
            by_run.setdefault(record.run, []).append(record)
        for run, batch in by_run.items():
            self._write(run, batch)
            self._runs.touch(run)

    def checkpoint(self) -> dict[str, object]:
        """Rows are in the database when `write` returns."""
        return self._runs.checkpoint()

    def close(self) -> None:
        """Nothing is kept open."""

    def _write(self, name: str, records: list[Record]) -> None:
        marks = None
        try:
            marks = self._runs[name].mark()
            self._runs[name].write(records)
        except BaseException as error:
            if marks:
                self._runs[name].restore(marks)
            if isinstance(error, (OSError, sqlite3.OperationalError)):
                raise UnavailableError(f"trackio's database below {self._folder} cannot be written: {error}") from error
            raise
