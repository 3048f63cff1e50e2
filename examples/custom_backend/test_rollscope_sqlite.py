"""The conformance suite, and one thing of our own."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest
from rollscope_sqlite import SqliteBackend

from rollscope_exporters.records import Record
from rollscope_exporters.testing import Contents, Sampler, SeenTrajectory
from rollscope_exporters.testing.conformance import BackendConformance


class TestSqlite(BackendConformance):
    """What every backend must do."""

    backend = "rollscope_sqlite:SqliteBackend"

    def read(self, storage: Path, run: str) -> Contents:
        database = sqlite3.connect(storage / "scores.db")
        contents = Contents(metrics={}, trajectories={})
        assert contents.metrics is not None
        assert contents.trajectories is not None
        for contents.name, contents.status in database.execute("SELECT name, status FROM runs WHERE run = ?", (run,)):
            pass
        for name, step, value in database.execute("SELECT name, step, value FROM metrics WHERE run = ?", (run,)):
            contents.metrics.setdefault(name, []).append((None if step == -1 else step, value))
        for id, spans, messages in database.execute("SELECT id, spans, messages FROM trajectories WHERE run = ?", (run,)):
            rewards = database.execute("SELECT name, value FROM rewards WHERE trajectory = ?", (id,)).fetchall()
            contents.trajectories[id] = SeenTrajectory(set(json.loads(spans)), json.loads(messages), rewards)
        database.close()
        return contents

    def poison(self) -> Record:
        return Sampler().metrics(5, {"x" * 201: 1.0})

    def test_keeps_odd_names_apart(self, tmp_path: Path) -> None:
        """Not for us: names of 300 characters are refused by configuration."""
        pytest.skip("long names are rejected, see `poison`")


def test_the_best_trajectory_is_one_query_away(tmp_path: Path) -> None:
    """Rewards can be joined with trajectories in SQL."""
    backend = SqliteBackend(SqliteBackend.Config(), tmp_path, {})
    backend.write([Sampler().trajectory(1, "a", 0, reward=0.1), Sampler().trajectory(1, "a", 1, reward=0.9)])
    backend.close()
    database = sqlite3.connect(tmp_path / "scores.db")
    query = "SELECT idx, value FROM trajectories JOIN rewards ON trajectory = id WHERE rewards.name = 'reward' ORDER BY value DESC"
    assert database.execute(query).fetchone() == (1, 0.9)
    database.close()
