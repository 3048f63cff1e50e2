"""A backend in one file: metrics, trajectories and rewards as tables of an SQLite database.

It shows all that a backend needs: a configuration, the signals it takes, translation of plain records, and a `write` that may
be repeated. Retries, positions, deadlines and counting are the worker's.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from pydantic import BaseModel, ConfigDict

from rollscope_exporters.backends import RejectedError, UnavailableError
from rollscope_exporters.records import LateFacts, Record, Reward, RunFinished, RunStarted, StepMetrics, Trajectory

TABLES = """
CREATE TABLE IF NOT EXISTS runs(run TEXT PRIMARY KEY, project TEXT, name TEXT, status TEXT, config TEXT);
CREATE TABLE IF NOT EXISTS metrics(run TEXT, name TEXT, step INTEGER, time INTEGER, value, UNIQUE(run, name, step, time));
CREATE TABLE IF NOT EXISTS trajectories(
    id TEXT PRIMARY KEY, run TEXT, step INTEGER, grp TEXT, idx INTEGER, outcome TEXT, spans TEXT, messages TEXT
);
CREATE TABLE IF NOT EXISTS rewards(uid TEXT, name TEXT, trajectory TEXT, value, PRIMARY KEY(uid, name));
"""


class SqliteConfig(BaseModel):
    """The section `backends.sqlite` of `rollscope.yaml`."""

    model_config = ConfigDict(extra="forbid")  # an unknown key is an error

    path: str = "scores.db"
    """Database file, relative to the storage folder."""
    longest_name: int = 200
    """Metrics with longer names are rejected."""


class SqliteBackend:
    """Named in `pyproject.toml` as an entry point of `rollscope.backends`; `backends: {sqlite: {}}` then switches it on."""

    Config: ClassVar[type[BaseModel]] = SqliteConfig
    accepts: ClassVar[frozenset[str]] = frozenset({"runs", "metrics", "trajectories"})
    per_run: ClassVar[bool] = False  # one process takes all runs

    def __init__(self, config: BaseModel, storage: Path, state: Mapping[str, object]) -> None:
        assert isinstance(config, SqliteConfig)
        self._config = config
        try:
            self._database = sqlite3.connect(storage / config.path)
            self._database.executescript(TABLES)
        except sqlite3.OperationalError as error:
            raise UnavailableError(f"{storage / config.path}: {error}. Check that the folder exists and can be written") from error

    def write(self, records: Sequence[Record]) -> None:
        """Whole or not at all: one transaction. Every statement replaces what it finds, so a repetition does no harm."""
        try:
            with self._database:
                for record in records:
                    self._write(record)
        except sqlite3.OperationalError as error:  # locked, disk full: the worker waits and tries again
            raise UnavailableError(str(error)) from error

    def checkpoint(self) -> dict[str, object]:
        """Each `write` was committed; nothing needs to be remembered."""
        return {}

    def close(self) -> None:
        self._database.close()

    def _write(self, record: Record) -> None:
        run = self._database.execute
        match record:
            case RunStarted():
                begun = (record.run, record.project, record.name, "running", json.dumps(record.config))
                run("INSERT OR REPLACE INTO runs VALUES(?, ?, ?, ?, ?)", begun)
            case RunFinished():
                run("UPDATE runs SET status = ? WHERE run = ?", (record.status, record.run))
            case StepMetrics():
                self._write_metrics(record)
            case Trajectory():
                row = (record.id, record.run, record.step, record.group, record.index, record.outcome, *_texts(record))
                run("INSERT OR REPLACE INTO trajectories VALUES(?, ?, ?, ?, ?, ?, ?, ?)", row)
                self._write_rewards(record.id, record.rewards)
            case LateFacts():
                self._write_rewards(record.trajectory, record.rewards)

    def _write_metrics(self, record: StepMetrics) -> None:
        for name in record.values:
            if len(name) > self._config.longest_name:  # the worker splits the batch and sets aside this record alone
                raise RejectedError(f"metric name of {len(name)} characters, {self._config.longest_name} are allowed: {name[:40]}…")
        step = -1 if record.step is None else record.step  # NULL would be unequal to itself in the unique index
        rows = ((record.run, name, step, record.time, _value(value)) for name, value in record.values.items())
        self._database.executemany("INSERT OR REPLACE INTO metrics VALUES(?, ?, ?, ?, ?)", rows)

    def _write_rewards(self, trajectory: str, rewards: Iterable[Reward]) -> None:
        for place, reward in enumerate(rewards):
            uid = reward.uid or f"{trajectory}-{place}"
            parts = {reward.name: reward.value, **{f"{reward.name}/{name}": value for name, value in reward.components.items()}}
            rows = ((uid, name, trajectory, _value(value)) for name, value in parts.items())
            self._database.executemany("INSERT OR REPLACE INTO rewards VALUES(?, ?, ?, ?)", rows)


def _texts(record: Trajectory) -> tuple[str, str]:
    return json.dumps([span.span_id for span in record.spans]), json.dumps(record.messages, ensure_ascii=False)


def _value(value: object) -> object:
    """SQLite turns NaN into NULL: keep it as text."""
    return str(value) if isinstance(value, float) and value != value else value
