"""Position files as readers see them."""

from __future__ import annotations

from pathlib import Path

import pytest

from rollscope_exporters.positions import SetAside, WorkerState, read_workers
from rollscope_exporters.records import SIGNALS


def write(storage: Path, folder: str, content: str) -> None:
    """A worker's position."""
    path = storage / "backends" / folder
    path.mkdir(parents=True)
    (path / "position.json").write_text(content)


def test_workers_of_all_runs_and_of_one(tmp_path: Path) -> None:
    """The folder says whose position it is; a run id that is no file name was quoted."""
    write(
        tmp_path, "mlflow", '{"position": 7, "state": {"x": 1}, "signals": ["runs", "metrics"], "left_out": {"sample_rate": {"run-1": 3}}}'
    )
    write(tmp_path, "swanlab/run%2F1", '{"position": 2, "set_aside": [{"id": 1, "run": "run/1", "what": "metrics", "reason": "no"}]}')
    assert read_workers(tmp_path) == [
        WorkerState("mlflow", None, 7, frozenset({"runs", "metrics"}), [], {"sample_rate": {"run-1": 3}}),
        WorkerState("swanlab", "run/1", 2, frozenset(SIGNALS), [SetAside(1, "run/1", "metrics", "no")]),
    ]
    assert [worker.name for worker in read_workers(tmp_path)] == ["mlflow", "swanlab/run/1"]


def test_nobody_yet(tmp_path: Path) -> None:
    """No folder is no worker."""
    assert read_workers(tmp_path) == []


def test_a_broken_file_is_named(tmp_path: Path) -> None:
    """The error names the file."""
    write(tmp_path, "mlflow", "[1")
    with pytest.raises(ValueError, match=r"mlflow/position\.json: not a position file"):
        read_workers(tmp_path)


def test_a_broken_file_hides_no_other(tmp_path: Path) -> None:
    """Whoever must go on gets the readable ones and the names of the others."""
    write(tmp_path, "mlflow", "[1")
    write(tmp_path, "console", '{"position": 7}')
    unreadable: list[str] = []
    assert [(worker.name, worker.position) for worker in read_workers(tmp_path, unreadable)] == [("console", 7)]
    assert "mlflow/position.json" in unreadable[0]
