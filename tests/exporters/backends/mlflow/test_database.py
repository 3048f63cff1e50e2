"""The database of an SQLite store is whole or not there."""

from __future__ import annotations

import random
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rollscope_exporters.backends import UnavailableError
from rollscope_exporters.backends.mlflow import _database, ensure_database

_PROGRAM = "import sys; from rollscope_exporters.backends.mlflow import ensure_database; ensure_database(sys.argv[1])"


def started(uri: str) -> subprocess.Popen[bytes]:
    """Return a process that makes the database."""
    return subprocess.Popen([sys.executable, "-c", _PROGRAM, uri])


def migrated(path: Path) -> bool:
    """Whether MLflow's migrations have come to their end: the table of the last ones is there and the version is written."""
    db = sqlite3.connect(path)
    try:
        return bool(db.execute("SELECT version_num FROM alembic_version").fetchone()) and bool(
            db.execute("SELECT * FROM experiments").fetchall()
        )
    finally:
        db.close()


@pytest.mark.reliability
def test_kills_leave_a_whole_database_or_none(tmp_path: Path) -> None:
    """However often the process that creates the database is killed, the file is never there half-made."""
    path, chance = tmp_path / "mlflow.db", random.Random(5)
    for _ in range(3):
        process = started(f"sqlite:///{path}")
        time.sleep(chance.uniform(0.5, 2.5))
        process.kill()
        process.wait()
        assert not path.exists() or migrated(path)
    ensure_database(f"sqlite:///{path}")
    assert migrated(path)


def test_many_at_once_make_one(tmp_path: Path) -> None:
    """Server and backend may both be first; none fails and no helper file of the making is left."""
    path = tmp_path / "folder" / "mlflow.db"
    processes = [started(f"sqlite:///{path}?timeout=9") for _ in range(2)]
    assert [process.wait(60) for process in processes] == [0, 0]
    assert migrated(path)
    assert sorted(file.name for file in path.parent.iterdir()) == ["mlflow.db", "mlflow.db.lock"]


def test_other_stores_are_left_alone(tmp_path: Path) -> None:
    """A server's address or an existing file is none of its business."""
    path = tmp_path / "mlflow.db"
    path.write_bytes(b"something")
    ensure_database(f"sqlite:///{path}")
    ensure_database("http://127.0.0.1:1")
    assert path.read_bytes() == b"something"


def test_a_failure_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What MLflow says about its failure is in the error, and the next attempt may succeed."""
    monkeypatch.setattr(_database, "_BUILD", "raise SystemExit('disk is odd')")
    with pytest.raises(UnavailableError, match="disk is odd"):
        ensure_database(f"sqlite:///{tmp_path}/mlflow.db")
    assert not (tmp_path / "mlflow.db").exists()
